//! HIP's calls: what they answer when they are used as HIP's documentation says.
#![allow(unsafe_code, reason = "HIP is a C interface")]
#![allow(clippy::multiple_unsafe_ops_per_block, reason = "a host program is a sequence of calls")]

mod hip;

use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};

use hip::{Arg, D2D, D2H, DEFAULT, H2D, Handle, Hip, INVALID_VALUE, Launch, SUCCESS, offset, packed};
use hip_api::{DeviceProperties, FunctionAttributes, PointerAttributes};
use softhip::sched::Policy;

const POLICIES: [Policy; 3] = [Policy::Eager, Policy::Deferred, Policy::Random(3)];
const NOT_READY: i32 = 600;
const INVALID_HANDLE: i32 = 400;
const NOT_FOUND: i32 = 500;

#[test]
fn there_is_one_gfx942_device() {
    let hip = Hip::new();
    let (mut count, mut device) = (-1, -1);
    // SAFETY: the destinations are valid.
    unsafe {
        assert_eq!((hip.api.init)(0), SUCCESS);
        assert_eq!((hip.api.get_device_count)(&raw mut count), SUCCESS);
        assert_eq!((hip.api.get_device)(&raw mut device), SUCCESS);
        assert_eq!((hip.api.set_device)(0), SUCCESS);
        assert_eq!((hip.api.set_device)(1), 101);
        assert_eq!((hip.api.get_device_count)(null_mut()), INVALID_VALUE);
    }
    assert_eq!((count, device), (1, 0));

    let mut properties = std::mem::MaybeUninit::<DeviceProperties>::uninit();
    // SAFETY: the destination is valid, and initialised by a call that succeeds.
    let properties = unsafe {
        assert_eq!((hip.api.get_device_properties)(properties.as_mut_ptr(), 0), SUCCESS);
        properties.assume_init()
    };
    // SAFETY: the field ends with zeros.
    let arch = unsafe { CStr::from_ptr(properties.gcn_arch_name.as_ptr()) };
    assert!(arch.to_str().unwrap().starts_with("gfx942"));
    let attribute = |number| {
        let mut value = -1;
        // SAFETY: the destination is valid.
        (unsafe { (hip.api.device_get_attribute)(&raw mut value, number, 0) }, value)
    };
    assert_eq!(attribute(87), (SUCCESS, properties.warp_size));
    assert_eq!(attribute(56), (SUCCESS, properties.max_threads_per_block));
    assert_eq!(attribute(63), (SUCCESS, properties.multi_processor_count));
    assert_eq!(attribute(99999).0, INVALID_VALUE);
}

#[test]
fn copies_go_in_every_direction() {
    for policy in POLICIES {
        let hip = Hip::policy(policy);
        let (a, b) = (hip.malloc(64), hip.malloc(64));
        let data: Vec<u8> = (0..64).collect();
        let mut out = vec![0u8; 64];
        // SAFETY: host slices are valid for 64 bytes until the calls return.
        unsafe {
            assert_eq!((hip.api.memcpy)(a, data.as_ptr().cast(), 64, H2D), SUCCESS);
            assert_eq!((hip.api.memcpy)(b, a, 64, D2D), SUCCESS);
            assert_eq!((hip.api.memcpy)(out.as_mut_ptr().cast(), b, 64, D2H), SUCCESS);
        }
        assert_eq!(out, data, "{policy:?}");
        out.fill(0);
        // SAFETY: as before.
        unsafe {
            assert_eq!((hip.api.memcpy)(b, data.as_ptr().cast(), 32, DEFAULT), SUCCESS);
            assert_eq!((hip.api.memcpy)(offset(b, 32), a, 32, DEFAULT), SUCCESS);
            assert_eq!((hip.api.memcpy)(out.as_mut_ptr().cast(), b, 64, DEFAULT), SUCCESS);
            assert_eq!((hip.api.memcpy)(a, data.as_ptr().cast(), 64, 9), 21);
            assert_eq!((hip.api.memcpy)(a, null(), 64, H2D), INVALID_VALUE);
            assert_eq!((hip.api.memcpy)(a, null(), 0, H2D), SUCCESS);
        }
        assert_eq!((&out[..32], &out[32..]), (&data[..32], &data[..32]));
        assert!(hip.reports().is_empty());
    }
}

#[test]
fn the_driver_style_copies_do_the_same() {
    for policy in POLICIES {
        let hip = Hip::policy(policy);
        let (a, b, stream) = (hip.malloc(16), hip.malloc(16), hip.stream(0));
        let mut data = *b"sixteen bytes !!";
        let mut out = [[0u8; 16]; 2];
        let [first, second] = out.each_mut().map(|out| out.as_mut_ptr().cast::<c_void>());
        let from = data.as_mut_ptr().cast();
        // SAFETY: host arrays are valid for 16 bytes until the stream has been synchronised.
        unsafe {
            assert_eq!((hip.api.memcpy_htod)(a, from, 16), SUCCESS);
            assert_eq!((hip.api.memcpy_dtod)(b, a, 16), SUCCESS);
            assert_eq!((hip.api.memcpy_dtoh)(first, b, 16), SUCCESS);
            assert_eq!((hip.api.memcpy_htod_async)(b, from, 8, stream), SUCCESS);
            assert_eq!((hip.api.memcpy_dtod_async)(offset(b, 8), a, 8, stream), SUCCESS);
            assert_eq!((hip.api.memcpy_dtoh_async)(second, b, 16, stream), SUCCESS);
            assert_eq!((hip.api.stream_synchronize)(stream), SUCCESS);
        }
        assert_eq!(out, [*b"sixteen bytes !!", *b"sixteen sixteen "], "{policy:?}");
    }
}

#[test]
fn rows_are_copied_with_their_pitches() {
    for policy in POLICIES {
        let hip = Hip::policy(policy);
        let device = hip.malloc(100);
        assert_eq!(hip.memset(device, 0xEE, 100), SUCCESS);
        let data: Vec<u8> = (0..24).collect();
        let mut out = vec![0u8; 12];
        // SAFETY: rows 0..3 of 4 bytes at a pitch of 8 (device: 30, out: 4) are within the buffers.
        unsafe {
            assert_eq!((hip.api.memcpy_2d)(device, 30, data.as_ptr().cast(), 8, 4, 3, H2D), SUCCESS);
            assert_eq!((hip.api.memcpy_2d)(out.as_mut_ptr().cast(), 4, device, 30, 4, 3, D2H), SUCCESS);
            assert_eq!((hip.api.memcpy_2d)(device, 3, data.as_ptr().cast(), 8, 4, 3, H2D), 12);
        }
        assert_eq!(out, [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19], "{policy:?}");
        assert_eq!(hip.download::<u8>(offset(device, 4), 26), [0xEE; 26]);
        assert!(hip.reports().is_empty());
        // 48 + 2 * 24 + 5 is past the end.
        // SAFETY: rows of the host's side are within the buffer.
        let code = unsafe { (hip.api.memcpy_2d)(offset(device, 48), 24, data.as_ptr().cast(), 8, 5, 3, H2D) };
        assert_eq!(code, INVALID_VALUE);
        assert_eq!(hip.reports().len(), 1);
    }
}

#[test]
fn fills_write_bytes_and_words() {
    let hip = Hip::new();
    let x = hip.malloc(16);
    // SAFETY: any address is allowed.
    unsafe {
        assert_eq!((hip.api.memset_d32)(x, 0x0102_0304, 4), SUCCESS);
        assert_eq!((hip.api.memset_async)(offset(x, 4), 0x1FF, 4, null_mut()), SUCCESS);
    }
    assert_eq!(hip.download::<u32>(x, 4), [0x0102_0304, 0xFFFF_FFFF, 0x0102_0304, 0x0102_0304]);
}

#[test]
fn an_asynchronous_copy_takes_pageable_bytes_when_asked_and_pinned_bytes_when_it_runs() {
    let hip = Hip::policy(Policy::Deferred);
    let (from_pageable, from_pinned) = (hip.malloc(4), hip.malloc(4));
    let mut pageable = [1u8; 4];
    let mut pinned: Handle = null_mut();
    // SAFETY: the destination is valid, pinned memory has 4 bytes, and both outlive the synchronisation.
    unsafe {
        assert_eq!((hip.api.host_malloc)(&raw mut pinned, 4, 0), SUCCESS);
        pinned.cast::<[u8; 4]>().write([1; 4]);
        let stream = null_mut();
        assert_eq!(
            (hip.api.memcpy_async)(from_pageable, (&raw const pageable).cast(), 4, H2D, stream),
            SUCCESS
        );
        assert_eq!((hip.api.memcpy_async)(from_pinned, pinned, 4, H2D, stream), SUCCESS);
        // Both staging buffers are reused while the copies are in flight.
        (&raw mut pageable).write_volatile([2; 4]);
        pinned.cast::<[u8; 4]>().write([2; 4]);
    }
    assert_eq!(hip.download::<u8>(from_pageable, 4), [1; 4]);
    assert_eq!(hip.download::<u8>(from_pinned, 4), [2; 4]);
    // SAFETY: nothing uses it any more.
    unsafe {
        assert_eq!((hip.api.free)(pinned), INVALID_VALUE, "pinned memory has its own free");
        assert_eq!((hip.api.host_free)(pinned), SUCCESS);
    }
}

#[test]
fn pointers_say_what_they_are() {
    let hip = Hip::new();
    let device = hip.malloc(64);
    let mut pinned: Handle = null_mut();
    // SAFETY: the destination is valid.
    assert_eq!(unsafe { (hip.api.host_malloc)(&raw mut pinned, 64, 0) }, SUCCESS);
    let attributes = |pointer: Handle| {
        let mut out = std::mem::MaybeUninit::<PointerAttributes>::uninit();
        // SAFETY: the destination is valid.
        let code = unsafe { (hip.api.pointer_get_attributes)(out.as_mut_ptr(), pointer) };
        // SAFETY: a call that succeeds has written it.
        if code == SUCCESS { Ok(unsafe { out.assume_init() }) } else { Err(code) }
    };
    let inside = attributes(offset(device, 8)).unwrap();
    assert_eq!((inside.memory_type, inside.host_pointer.is_null()), (2, true));
    let host = attributes(pinned).unwrap();
    assert_eq!((host.memory_type, host.host_pointer), (1, pinned));
    let mut local = 0u32;
    assert_eq!(attributes((&raw mut local).cast()).unwrap_err(), INVALID_VALUE);

    let mut mapped = null_mut();
    // SAFETY: the destination is valid.
    unsafe {
        assert_eq!((hip.api.host_get_device_pointer)(&raw mut mapped, pinned, 0), SUCCESS);
        assert_eq!((hip.api.host_get_device_pointer)(&raw mut mapped, device, 0), INVALID_VALUE);
    }
    assert_eq!(mapped, pinned);
}

#[test]
fn memory_information_follows_allocations() {
    let hip = Hip::new();
    let info = || {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the destinations are valid.
        assert_eq!(unsafe { (hip.api.mem_get_info)(&raw mut free, &raw mut total) }, SUCCESS);
        (free, total)
    };
    let (before, total) = info();
    assert_eq!(before, total);
    let x = hip.malloc(1000);
    assert_eq!(info(), (total - 1000, total));
    hip.free(x);
    assert_eq!(info(), (total, total));
    assert_eq!(hip.malloc(0), null_mut());
    assert_eq!(hip.free(null_mut()), SUCCESS);
}

#[test]
fn the_last_error_is_kept_until_it_is_fetched() {
    let hip = Hip::new();
    let text = |pointer: *const std::ffi::c_char| {
        // SAFETY: names and texts are static strings.
        unsafe { CStr::from_ptr(pointer) }.to_str().unwrap()
    };
    // SAFETY: these calls take no pointers, or null where null is refused.
    unsafe {
        assert_eq!((hip.api.get_last_error)(), SUCCESS);
        assert_eq!((hip.api.malloc)(null_mut(), 4), INVALID_VALUE);
        assert_eq!((hip.api.device_synchronize)(), SUCCESS);
        assert_eq!((hip.api.peek_at_last_error)(), INVALID_VALUE);
        assert_eq!((hip.api.get_last_error)(), INVALID_VALUE);
        assert_eq!((hip.api.get_last_error)(), SUCCESS);
        assert_eq!(text((hip.api.get_error_name)(700)), "hipErrorIllegalAddress");
        assert_eq!(text((hip.api.get_error_string)(700)), "an illegal memory access was encountered");
        assert_eq!(text((hip.api.get_error_name)(12345)), "hipErrorUnknown");
    }
}

#[test]
fn events_order_streams_and_measure_time() {
    for policy in POLICIES {
        let hip = Hip::policy(policy);
        let (a, b) = (hip.stream(1), hip.stream(1));
        let (mut start, mut end): (Handle, Handle) = (null_mut(), null_mut());
        let x = hip.malloc(4);
        let mut milliseconds = -1.0;
        // SAFETY: the destinations are valid.
        unsafe {
            assert_eq!((hip.api.event_create)(&raw mut start), SUCCESS);
            assert_eq!((hip.api.event_create_with_flags)(&raw mut end, 2), SUCCESS);
            assert_eq!((hip.api.event_elapsed_time)(&raw mut milliseconds, start, end), INVALID_HANDLE);
            assert_eq!((hip.api.event_record)(start, a), SUCCESS);
            assert_eq!((hip.api.memset_async)(x, 1, 4, a), SUCCESS);
            assert_eq!((hip.api.event_record)(end, a), SUCCESS);
            assert_eq!((hip.api.stream_wait_event)(b, end, 0), SUCCESS);
            assert_eq!((hip.api.memset_async)(x, 2, 4, b), SUCCESS);
            let polls = (0..100).take_while(|_| (hip.api.event_query)(end) == NOT_READY).count();
            assert!(polls < 100 && (policy != Policy::Deferred || polls > 0), "{polls} polls");
            assert_eq!((hip.api.event_elapsed_time)(&raw mut milliseconds, start, end), SUCCESS);
            assert_eq!((hip.api.event_synchronize)(end), SUCCESS);
            assert_eq!((hip.api.stream_synchronize)(b), SUCCESS);
            assert_eq!((hip.api.stream_query)(b), SUCCESS);
            assert_eq!((hip.api.event_destroy)(end), SUCCESS);
            assert_eq!((hip.api.event_destroy)(end), 709);
            assert_eq!((hip.api.event_destroy)(null_mut()), INVALID_HANDLE);
        }
        assert!(milliseconds >= 0.0);
        assert_eq!(hip.download::<u8>(x, 4), [2; 4]);
    }
}

#[test]
fn host_functions_run_in_order_and_make_no_calls() {
    static CODE: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn call_hip(argument: *mut c_void) {
        let api = softhip::api::table();
        // SAFETY: null is refused.
        let code = unsafe { (api.malloc)(null_mut(), 4) };
        // SAFETY: the test passes a counter that outlives the stream's work.
        let counter = unsafe { &*argument.cast::<AtomicU32>() };
        counter.store(code.unsigned_abs(), Ordering::Relaxed);
    }
    let hip = Hip::policy(Policy::Deferred);
    let argument = (&raw const CODE).cast_mut().cast();
    // SAFETY: the argument is static.
    unsafe {
        assert_eq!((hip.api.launch_host_func)(null_mut(), Some(call_hip), argument), SUCCESS);
        assert_eq!((hip.api.launch_host_func)(null_mut(), None, argument), INVALID_VALUE);
    }
    assert_eq!(CODE.load(Ordering::Relaxed), 0);
    assert_eq!(hip.synchronize(), SUCCESS);
    assert_eq!(CODE.load(Ordering::Relaxed), 801);
}

#[test]
fn a_stream_ordered_free_waits_for_its_stream() {
    for policy in POLICIES {
        let hip = Hip::policy(policy);
        let stream = hip.stream(0);
        let mut x = null_mut();
        // SAFETY: the destination is valid.
        unsafe {
            assert_eq!((hip.api.malloc_async)(&raw mut x, 64, stream), SUCCESS);
            assert_eq!((hip.api.memset_async)(x, 1, 64, stream), SUCCESS);
            assert_eq!((hip.api.free_async)(x, stream), SUCCESS);
            assert_eq!((hip.api.stream_synchronize)(stream), SUCCESS);
        }
        assert_eq!(hip.free(x), INVALID_VALUE, "{policy:?}: it is gone");
    }
}

fn silu(x: f32) -> f32 {
    x / (1.0 + (-x).exp())
}

#[test]
fn a_kernel_computes_the_same_with_both_argument_conventions() {
    for policy in POLICIES {
        let hip = Hip::policy(policy);
        let function = hip.kernel("silu_mul", "silu_mul_f32");
        let n = 300u32;
        let gate: Vec<f32> = (0..n).map(|i| i as f32 * 0.05 - 7.0).collect();
        let up: Vec<f32> = (0..n).map(|i| 1.0 + i as f32).collect();
        let args = |out| {
            [Arg::Pointer(hip.upload(&gate)), Arg::Pointer(hip.upload(&up)), Arg::Pointer(out), Arg::Word(n)]
        };
        let outs = [hip.malloc(1200), hip.malloc(1200)];
        assert_eq!(hip.launch(function, Launch::new(3, 128), &args(outs[0])), SUCCESS);
        assert_eq!(hip.launch_packed(function, Launch::new(2, 256), &packed(&args(outs[1]))), SUCCESS);
        for out in outs {
            let got: Vec<f32> = hip.download(out, n as usize);
            for i in 0..n as usize {
                let want = silu(gate[i]) * up[i];
                assert!(
                    (got[i] - want).abs() <= 1e-5 * want.abs().max(1e-3),
                    "{policy:?} {i}: {} {want}",
                    got[i]
                );
            }
        }
        assert!(hip.reports().is_empty(), "{:?}", hip.reports());
        let counters = hip.device.counters();
        assert_eq!((counters.launches, counters.groups), (2, 5));
        assert!(counters.instructions > 0);
    }
}

#[test]
fn functions_say_what_they_need() {
    let hip = Hip::new();
    let function = hip.kernel("softmax", "softmax_f32");
    let mut attributes = FunctionAttributes::default();
    let mut value = 0;
    // SAFETY: the destinations are valid.
    unsafe {
        assert_eq!((hip.api.func_get_attributes)(&raw mut attributes, function), SUCCESS);
        assert_eq!((hip.api.func_get_attribute)(&raw mut value, 0, function), SUCCESS);
        assert_eq!((hip.api.func_get_attribute)(&raw mut value, 77, function), INVALID_VALUE);
    }
    assert_eq!(value, attributes.max_threads_per_block);
    assert_eq!(attributes.shared_size_bytes, 128, "two reductions with one float for each of 16 waves");
    assert!(attributes.num_regs > 0);
}

#[test]
fn modules_know_their_functions_until_they_are_unloaded() {
    let hip = Hip::new();
    let module = hip.try_load(&hip::object_file("rope")).unwrap();
    let find = |name: &CStr| {
        let mut function = null_mut();
        // SAFETY: the destination is valid.
        (unsafe { (hip.api.module_get_function)(&raw mut function, module, name.as_ptr()) }, function)
    };
    let (code, function) = find(c"rope_f32");
    assert_eq!(code, SUCCESS);
    assert_eq!(find(c"rope_f32"), (SUCCESS, function));
    assert_eq!(find(c"rope_f64").0, 500);
    // SAFETY: any handle is allowed.
    unsafe {
        assert_eq!((hip.api.module_unload)(module), SUCCESS);
        assert_eq!((hip.api.module_unload)(module), NOT_FOUND);
    }
    assert_eq!(hip.launch(function, Launch::new(1, 64), &[]), INVALID_HANDLE);
    assert_eq!(
        hip.try_load(b"\x7fELF but nothing like a code object follows: 64 bytes at the least, please"),
        Err(200)
    );
}

#[test]
fn a_reset_makes_a_faulted_device_usable() {
    let hip = Hip::new();
    let function = hip.kernel("silu_mul", "silu_mul_f32");
    let null_args =
        [Arg::Pointer(null_mut()), Arg::Pointer(null_mut()), Arg::Pointer(null_mut()), Arg::Word(64)];
    hip.launch(function, Launch::new(1, 64), &null_args);
    assert_eq!(hip.synchronize(), 700);
    // SAFETY: no pinned memory is in use.
    unsafe {
        assert_eq!((hip.api.get_last_error)(), 700);
        assert_eq!((hip.api.get_last_error)(), 700, "a fault is not cleared by asking");
        assert_eq!((hip.api.device_reset)(), SUCCESS);
    }
    assert_eq!(hip.synchronize(), SUCCESS);
    assert!(hip.reports().is_empty());
    let x = hip.upload(&[1u8; 4]);
    assert_eq!(hip.download::<u8>(x, 4), [1; 4]);
}

#[test]
fn addresses_and_results_follow_from_the_seed() {
    let run = |seed| {
        let hip = Hip::with(softhip::control::Options { seed, ..Default::default() });
        hip.malloc(16).addr()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn the_dispatch_packet_tells_the_shape_of_the_launch() {
    let hip = Hip::new();
    let function = hip.kernel("buffers", "packet");
    let out = hip.malloc(24);
    let launch = Launch { block: [64, 2, 4], ..Launch::new(1, 1) };
    assert_eq!(hip.launch(function, launch, &[Arg::Pointer(out)]), SUCCESS);
    assert_eq!(hip.synchronize(), SUCCESS, "{:?}", hip.reports());
    assert_eq!(hip.download::<u32>(out, 6), [3, 64 | (2 << 16), 4, 64, 2, 4]);
}
