//! The checks on what the host does: each finds its fault, and each lets the correct program pass.

mod hip;

use hip::{Arg, Hip, INVALID_VALUE, Launch, SUCCESS, object_file, offset, packed};
use softhip::control::Options;
use softhip::memory::Checks;
use softhip::sched::Policy;

const CONTEXT_IS_DESTROYED: i32 = 709;
const ILLEGAL_ADDRESS: i32 = 700;
const INVALID_CONFIGURATION: i32 = 9;

#[test]
fn a_double_free_is_reported_with_both_sites() {
    let hip = Hip::new();
    let x = hip.labelled("x", 64);
    assert_eq!(hip.free(x), SUCCESS);
    assert!(hip.reports().is_empty());
    assert_eq!(hip.free(x), INVALID_VALUE);
    let text = hip.only_report();
    assert!(text.starts_with("Double free\n  by hipFree at "), "{text}");
    assert!(text.contains("is the start of 'x' (64 bytes), freed before\n"), "{text}");
    assert!(text.contains("allocated at ") && text.contains(", freed at "), "{text}");
    assert_eq!(hip.device.fault(), None, "the real runtime refuses a bad free and goes on");
}

#[test]
fn a_free_of_the_middle_is_reported() {
    let hip = Hip::new();
    let x = hip.malloc(64);
    assert_eq!(hip.free(offset(x, 16)), INVALID_VALUE);
    assert!(hip.only_report().starts_with("Invalid free"));
    assert_eq!(hip.free(x), SUCCESS);
}

#[test]
fn a_copy_past_either_end_is_refused() {
    let hip = Hip::new();
    let x = hip.labelled("x", 64);
    assert_eq!(hip.copy_to(x, &[0; 64]), SUCCESS);
    assert!(hip.reports().is_empty());

    assert_eq!(hip.copy_to(x, &[0; 65]), INVALID_VALUE);
    assert_eq!(hip.copy_to(offset(x, -1), &[0; 4]), INVALID_VALUE);
    assert_eq!(hip.copy_from(offset(x, 61), &mut [0; 4]), INVALID_VALUE);
    assert_eq!(hip.memset(x, 0, 65), INVALID_VALUE);
    let texts: Vec<String> = hip.reports().iter().map(ToString::to_string).collect();
    assert!(texts[0].starts_with("Invalid copy write of size 65 bytes\n  by hipMemcpy at "), "{}", texts[0]);
    assert!(texts[0].contains("the last 1 byte are past the end of 'x' (64 bytes)"), "{}", texts[0]);
    assert!(texts[1].contains("1 byte before the start of 'x' (64 bytes)"), "{}", texts[1]);
    assert!(texts[2].starts_with("Invalid copy read of size 4 bytes"), "{}", texts[2]);
    assert!(texts[3].contains("by hipMemset"), "{}", texts[3]);
}

#[test]
fn a_copy_from_freed_memory_is_refused() {
    let hip = Hip::new();
    let x = hip.upload(&[1u8; 64]);
    assert_eq!(hip.copy_from(x, &mut [0; 64]), SUCCESS);
    hip.free(x);
    assert_eq!(hip.copy_from(x, &mut [0; 64]), INVALID_VALUE);
    assert!(hip.only_report().contains("is freed memory: 0 bytes into "));
}

#[test]
fn a_copy_of_bytes_that_nobody_wrote_is_a_fault() {
    let hip = Hip::new();
    let x = hip.labelled("x", 64);
    assert_eq!(hip.copy_to(x, &[1; 60]), SUCCESS);
    assert_eq!(hip.copy_from(x, &mut [0; 60]), SUCCESS);
    assert_eq!(hip.copy_from(x, &mut [0; 64]), ILLEGAL_ADDRESS);
    assert!(hip.only_report().contains("has never been written: byte 60 of 'x' (64 bytes)"));

    let lax =
        Hip::with(Options { checks: Checks { uninitialised: false, ..Checks::ALL }, ..Options::default() });
    let x = lax.malloc(64);
    assert_eq!(lax.copy_from(x, &mut [0; 64]), SUCCESS);
}

/// `silu_mul_f32` with its arguments for `n` elements.
fn silu(hip: &Hip, n: u32) -> (hip::Handle, [Arg; 4]) {
    let function = hip.kernel("silu_mul", "silu_mul_f32");
    let bytes = vec![0u8; n as usize * 4];
    let [gate, up, out] = ["gate", "up", "out"].map(|label| {
        let pointer = hip.upload(&bytes);
        hip.device.label(pointer.addr() as u64, label);
        pointer
    });
    (function, [Arg::Pointer(gate), Arg::Pointer(up), Arg::Pointer(out), Arg::Word(n)])
}

#[test]
fn a_launch_on_a_destroyed_stream_is_refused() {
    let hip = Hip::new();
    let (function, args) = silu(&hip, 64);
    let stream = hip.stream(0);
    assert_eq!(hip.launch(function, Launch { stream, ..Launch::new(1, 64) }, &args), SUCCESS);
    assert_eq!(hip.destroy_stream(stream), SUCCESS);
    assert_eq!(hip.launch(function, Launch { stream, ..Launch::new(1, 64) }, &args), INVALID_VALUE);
    assert!(hip.only_report().starts_with("Invalid stream\n  by hipModuleLaunchKernel at "));
    assert_eq!(hip.destroy_stream(stream), CONTEXT_IS_DESTROYED);
}

#[test]
fn a_block_larger_than_the_kernel_allows_is_refused() {
    let hip = Hip::new();
    let (function, args) = silu(&hip, 64);
    assert_eq!(hip.launch(function, Launch::new(1, 1024), &args), SUCCESS);
    assert!(hip.reports().is_empty());
    assert_eq!(hip.launch(function, Launch::new(1, 1025), &args), INVALID_CONFIGURATION);
    let text = hip.only_report();
    assert!(text.starts_with("Invalid launch of silu_mul_f32\n  by hipModuleLaunchKernel at "), "{text}");
    assert!(text.contains("a block of 1025 threads; the kernel was compiled for at most 1024"), "{text}");
    for empty in [Launch::new(0, 64), Launch::new(1, 0)] {
        assert_eq!(hip.launch(function, empty, &args), INVALID_CONFIGURATION);
    }
}

#[test]
fn more_lds_than_a_block_has_is_refused() {
    let hip = Hip::new();
    let (function, args) = silu(&hip, 64);
    assert_eq!(hip.launch(function, Launch { lds: 65536, ..Launch::new(1, 64) }, &args), SUCCESS);
    assert_eq!(hip.launch(function, Launch { lds: 65537, ..Launch::new(1, 64) }, &args), INVALID_VALUE);
    assert!(hip.only_report().contains("0 + 65537 bytes of LDS; a block has at most 65536"));
}

#[test]
fn a_missing_argument_is_named() {
    let hip = Hip::new();
    let (function, args) = silu(&hip, 64);
    let mut values: Vec<u64> = args.iter().map(|_| 0).collect();
    let mut params: Vec<hip::Handle> =
        values.iter_mut().map(|value| std::ptr::from_mut(value).cast()).collect();
    params[2] = std::ptr::null_mut();
    assert_eq!(hip.launch_params(function, Launch::new(1, 64), &mut params), INVALID_VALUE);
    assert!(hip.only_report().contains("argument 2 'out' is missing"), "{}", hip.only_report());
}

#[test]
fn packed_arguments_must_have_the_kernels_size() {
    let hip = Hip::new();
    let (function, args) = silu(&hip, 64);
    let bytes = packed(&args);
    assert_eq!(bytes.len(), 28);
    assert_eq!(hip.launch_packed(function, Launch::new(1, 64), &bytes), SUCCESS);
    let padded: Vec<u8> = bytes.iter().copied().chain([0; 4]).collect();
    assert_eq!(hip.launch_packed(function, Launch::new(1, 64), &padded), SUCCESS);
    assert!(hip.reports().is_empty());

    let one_missing = packed(&args[..3]);
    assert_eq!(hip.launch_packed(function, Launch::new(1, 64), &one_missing), INVALID_VALUE);
    // A pointer passed as 4 bytes.
    let narrow = packed(&[args[0], args[1], Arg::Word(0), args[3]]);
    assert_eq!(hip.launch_packed(function, Launch::new(1, 64), &narrow), INVALID_VALUE);
    let extra = packed(&[args[0], args[1], args[2], args[3], args[0]]);
    assert_eq!(hip.launch_packed(function, Launch::new(1, 64), &extra), INVALID_VALUE);
    let texts: Vec<String> = hip.reports().iter().map(ToString::to_string).collect();
    let short = "bytes of arguments; the kernel takes 28: argument 3 'n' is not all there";
    assert!(texts[0].contains(&format!("24 {short}")), "{}", texts[0]);
    assert!(texts[1].contains(&format!("24 {short}")), "{}", texts[1]);
    assert!(texts[2].contains("40 bytes of arguments; the kernel takes 28"), "{}", texts[2]);
}

#[test]
fn a_pointer_to_freed_memory_is_a_stale_argument() {
    let hip = Hip::new();
    let (function, args) = silu(&hip, 64);
    let Arg::Pointer(up) = args[1] else { unreachable!() };
    assert_eq!(hip.launch(function, Launch::new(1, 64), &args), SUCCESS);
    assert_eq!(hip.free(up), SUCCESS);
    assert_eq!(hip.launch(function, Launch::new(1, 64), &args), INVALID_VALUE);
    let text = hip.only_report();
    assert!(text.contains("argument 1 'up' is address 0x"), "{text}");
    assert!(text.contains("freed memory of 'up' (256 bytes)"), "{text}");
    assert!(text.contains(", freed at "), "{text}");
}

#[test]
fn a_null_pointer_faults_in_the_kernel_and_the_next_call_says_so() {
    for policy in [Policy::Eager, Policy::Deferred] {
        let hip = Hip::policy(policy);
        let (function, mut args) = silu(&hip, 64);
        args[1] = Arg::Pointer(std::ptr::null_mut());
        assert_eq!(hip.launch(function, Launch::new(1, 64), &args), SUCCESS, "a launch does not wait");
        assert_eq!(hip.synchronize(), ILLEGAL_ADDRESS);
        let text = hip.only_report();
        assert!(text.starts_with("Invalid global read of size 4 bytes\n  at silu_mul_f32+0x"), "{text}");
        assert!(text.contains("is a null pointer"), "{text}");
        assert!(text.contains("launched at "), "{text}");
        // The device stays unusable.
        let Arg::Pointer(gate) = args[0] else { unreachable!() };
        assert_eq!(hip.copy_from(gate, &mut [0; 4]), ILLEGAL_ADDRESS);
        assert_eq!(hip.reports().len(), 1);
    }
}

#[test]
fn a_code_object_for_another_gpu_is_refused() {
    let hip = Hip::new();
    let mut image = object_file("rope");
    assert!(hip.try_load(&image).is_ok());
    // The processor is the low byte of e_flags; 0x3f is gfx90a.
    image[0x30] = 0x3f;
    assert_eq!(hip.try_load(&image), Err(209));
    assert!(hip.only_report().contains("the code object is for gfx90a, not for gfx942"));
}

#[test]
fn a_pageable_destination_is_poison_until_the_stream_is_synchronised() {
    let deferred = Hip::policy(Policy::Deferred);
    assert_eq!(read_without_waiting(&deferred), ([u8::MAX; 8], [5; 8]));
    let eager = Hip::policy(Policy::Eager);
    assert_eq!(read_without_waiting(&eager), ([5; 8], [5; 8]));
}

/// What a destination holds after `hipMemcpyAsync`, and after `hipStreamSynchronize`.
#[allow(unsafe_code, reason = "HIP is a C interface")]
fn read_without_waiting(hip: &Hip) -> ([u8; 8], [u8; 8]) {
    let x = hip.upload(&[5u8; 8]);
    let stream = hip.stream(1);
    let mut out = [0u8; 8];
    let to = (&raw mut out).cast();
    // SAFETY: `out` lives until the stream has been synchronised.
    assert_eq!(unsafe { (hip.api.memcpy_async)(to, x, 8, hip::D2H, stream) }, SUCCESS);
    // SAFETY: `out` is initialised and nothing runs now; the device may have written to it.
    let before = unsafe { (&raw const out).read_volatile() };
    // SAFETY: `out` is alive.
    assert_eq!(unsafe { (hip.api.stream_synchronize)(stream) }, SUCCESS);
    // SAFETY: as before.
    (before, unsafe { (&raw const out).read_volatile() })
}

#[test]
fn the_position_vector_of_the_true_story_is_caught_and_named() {
    let hip = Hip::new();
    let function = hip.kernel("rope", "rope_f32");
    let (tokens, heads, dim) = (8u32, 2u32, 64u32);
    let x = hip.upload(&vec![1f32; (tokens * heads * dim) as usize]);
    let table = hip.upload(&vec![0f32; 64 * dim as usize]);
    let run = |positions: hip::Handle| {
        let args =
            [Arg::Pointer(x), Arg::Pointer(positions), Arg::Pointer(table), Arg::Word(heads), Arg::Word(dim)];
        let launch = Launch { grid: [tokens, heads, 1], ..Launch::new(1, dim / 2) };
        assert_eq!(hip.launch(function, launch, &args), SUCCESS);
        hip.synchronize()
    };
    let right = hip.upload(&(0..tokens).collect::<Vec<u32>>());
    assert_eq!(run(right), SUCCESS, "{:?}", hip.reports());
    // Two bytes per position, as the engine allocated it.
    let wrong = hip.upload(&vec![0u16; tokens as usize]);
    hip.device.label(wrong.addr() as u64, "positions");
    assert_eq!(run(wrong), ILLEGAL_ADDRESS);
    let text = hip.only_report();
    assert!(text.starts_with("Invalid scalar (s_load) read of size 4 bytes\n  at rope_f32+0x"), "{text}");
    assert!(text.contains("(rope.hip:"), "{text}");
    assert!(text.contains("out of bounds: at the end of 'positions' (16 bytes)"), "{text}");
}

#[test]
fn a_failing_allocation_is_an_error_code() {
    let hip = Hip::new();
    hip.device.fail_allocation(2);
    hip.malloc(16);
    let mut pointer = std::ptr::null_mut();
    #[allow(unsafe_code, reason = "HIP is a C interface")]
    // SAFETY: the destination is valid.
    let code = unsafe { (hip.api.malloc)(&raw mut pointer, 16) };
    assert_eq!(code, 2);
    hip.malloc(16);
}
