//! What calls answer, as on ROCm 6.3: the codes of wrong arguments, and what the program has set before.
#![allow(unsafe_code, reason = "the library is opened as a program would open it")]

use std::ffi::{CString, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::ptr::{null, null_mut};

use libloading::Library;

const SUCCESS: i32 = 0;
const INVALID_VALUE: i32 = 1;
const OUT_OF_MEMORY: i32 = 2;
const INVALID_SYMBOL: i32 = 13;
const INVALID_DEVICE: i32 = 101;
const INVALID_HANDLE: i32 = 400;
const UNSUPPORTED_LIMIT: i32 = 215;
const CONTEXT_IS_DESTROYED: i32 = 709;
const PAGE: usize = 4096;

fn library() -> Library {
    let path = std::env::current_exe().expect("the test has a path").with_file_name("libamdhip64.so");
    // SAFETY: the library's first code to run reads environment variables alone.
    unsafe { Library::new(&path) }.expect("cargo builds the library with the tests")
}

/// Calls a function of the library: `call!(library, name(value: type, ...))`.
macro_rules! call {
    ($library:ident, $name:ident($($value:expr => $type:ty),* $(,)?)) => {{
        type Function = unsafe extern "C" fn($($type),*) -> i32;
        // SAFETY: the signature is HIP's.
        let function = unsafe { $library.get::<Function>(stringify!($name).as_bytes()) }.expect("it is exported");
        // SAFETY: outputs are valid, and all else is checked by the call.
        unsafe { function($($value),*) }
    }};
}

/// The output of a call that succeeds.
macro_rules! output {
    ($library:ident, $name:ident($type:ty $(, $value:expr => $other:ty)* $(,)?)) => {{
        // SAFETY: numbers and pointers may be all zeros.
        let mut out: $type = unsafe { std::mem::zeroed() };
        assert_eq!(call!($library, $name(&raw mut out => *mut $type $(, $value => $other)*)), SUCCESS);
        out
    }};
}

fn malloc(library: &Library, size: usize) -> *mut c_void {
    output!(library, hipMalloc(*mut c_void, size => usize))
}

fn managed(library: &Library, size: usize) -> *mut c_void {
    output!(library, hipMallocManaged(*mut c_void, size => usize, 1 => c_uint))
}

#[test]
fn a_stream_has_the_priority_that_it_was_given() {
    let library = library();
    let (mut least, mut greatest) = (0, 0);
    let range = call!(library, hipDeviceGetStreamPriorityRange(&raw mut least => *mut c_int, &raw mut greatest => *mut c_int));
    assert_eq!((range, least, greatest), (SUCCESS, 1, -1));
    for (asked, given) in [(-1, -1), (0, 0), (1, 1), (i32::MIN, -1), (i32::MAX, 1)] {
        let stream = output!(library, hipStreamCreateWithPriority(*mut c_void, 0 => c_uint, asked => c_int));
        let mut found = 7;
        let code = call!(library, hipStreamGetPriority(stream => *mut c_void, &raw mut found => *mut c_int));
        assert_eq!((code, found), (SUCCESS, given));
        assert_eq!(call!(library, hipStreamDestroy(stream => *mut c_void)), SUCCESS);
        let code = call!(library, hipStreamGetPriority(stream => *mut c_void, &raw mut found => *mut c_int));
        assert_eq!(code, CONTEXT_IS_DESTROYED);
    }
    let mut found = 7;
    assert_eq!(
        call!(library, hipStreamGetPriority(null_mut() => *mut c_void, &raw mut found => *mut c_int)),
        SUCCESS
    );
    assert_eq!(found, 0);
}

#[test]
fn a_mask_without_compute_units_stands_for_all() {
    let library = library();
    let none = [0u32; 10];
    let stream = output!(library, hipExtStreamCreateWithCUMask(*mut c_void, 10 => c_uint, none.as_ptr() => *const c_uint));
    let mut mask = [0u32; 10];
    let code = call!(library, hipExtStreamGetCUMask(stream => *mut c_void, 10 => c_uint, mask.as_mut_ptr() => *mut c_uint));
    assert_eq!((code, mask.iter().map(|word| word.count_ones()).sum::<u32>()), (SUCCESS, 304));
    let code = call!(library, hipExtStreamCreateWithCUMask(null_mut() => *mut *mut c_void, 10 => c_uint, none.as_ptr() => *const c_uint));
    assert_eq!(code, INVALID_HANDLE);
}

#[test]
fn limits_can_be_set_and_asked_for() {
    let library = library();
    let old = output!(library, hipDeviceGetLimit(usize, 0 => c_int));
    assert_eq!(call!(library, hipDeviceSetLimit(0 => c_int, old + 8 => usize)), SUCCESS);
    assert_eq!(output!(library, hipDeviceGetLimit(usize, 0 => c_int)), old + 16);
    assert_eq!(call!(library, hipDeviceSetLimit(1 => c_int, 8 => usize)), UNSUPPORTED_LIMIT);
    assert_eq!(call!(library, hipDeviceSetLimit(0xffff => c_int, 8 => usize)), INVALID_VALUE);
}

#[test]
fn an_event_has_one_release_and_a_time_needs_two_events() {
    let library = library();
    let mut event = null_mut();
    let mut create = |flags: c_uint| call!(library, hipEventCreateWithFlags(&raw mut event => *mut *mut c_void, flags => c_uint));
    // hipEventReleaseToDevice, hipEventReleaseToSystem, hipEventInterprocess.
    for flags in [0x4000_0000 | 0x8000_0000, 4, 0x0800_0000] {
        assert_eq!(create(flags), INVALID_VALUE, "{flags:#x}");
    }
    assert_eq!(create(0x4000_0000), SUCCESS);
    let mut time = 0.0;
    let elapsed = |out: *mut f32, start: *mut c_void| call!(library, hipEventElapsedTime(out => *mut f32, start => *mut c_void, event => *mut c_void));
    assert_eq!(elapsed(null_mut(), event), INVALID_VALUE);
    assert_eq!(elapsed(&raw mut time, null_mut()), INVALID_HANDLE);
    // hipEventDisableTiming.
    let untimed = output!(library, hipEventCreateWithFlags(*mut c_void, 2 => c_uint));
    for event in [event, untimed] {
        assert_eq!(call!(library, hipEventRecord(event => *mut c_void, null_mut() => *mut c_void)), SUCCESS);
    }
    assert_eq!((elapsed(&raw mut time, event), elapsed(&raw mut time, untimed)), (SUCCESS, INVALID_HANDLE));
}

#[test]
fn there_is_one_device_to_choose_and_no_link() {
    let library = library();
    let wanted = [0u8; 4096];
    assert_eq!(output!(library, hipChooseDeviceR0600(c_int, wanted.as_ptr() => *const u8)), 0);
    assert_eq!(
        call!(library, hipChooseDevice(null_mut() => *mut c_int, wanted.as_ptr() => *const u8)),
        INVALID_VALUE
    );
    let link = |first: c_int, second: c_int| {
        let (mut kind, mut hops) = (0, 0);
        call!(library, hipExtGetLinkTypeAndHopCount(first => c_int, second => c_int, &raw mut kind => *mut u32, &raw mut hops => *mut u32))
    };
    assert_eq!((link(0, 0), link(-1, 0), link(0, 1)), (INVALID_VALUE, INVALID_VALUE, INVALID_DEVICE));
}

#[test]
fn attributes_of_a_pointer_are_told_together() {
    let library = library();
    let memory = malloc(&library, 4000);
    let inside = memory.wrapping_byte_add(100);
    let (mut device, mut size, mut host, mut start) =
        (-7, [0u32, 99], null_mut::<c_void>(), null_mut::<c_void>());
    // The ordinal of the device, the size of the allocation, the host's pointer, the first address.
    let attributes = [9, 12, 4, 11];
    let outs: [*mut c_void; 4] =
        [(&raw mut device).cast(), (&raw mut size).cast(), (&raw mut host).cast(), (&raw mut start).cast()];
    let told = |count: c_uint, pointer: *mut c_void| {
        call!(library, hipDrvPointerGetAttributes(
            count => c_uint, attributes.as_ptr() => *const c_int, outs.as_ptr() => *const *mut c_void, pointer => *mut c_void,
        ))
    };
    assert_eq!((told(0, inside), told(4, null_mut())), (INVALID_VALUE, INVALID_VALUE));
    assert_eq!(told(4, inside), SUCCESS);
    assert_eq!((device, size, host, start), (0, [4000, 99], null_mut(), memory));
}

#[test]
fn advice_is_about_pages_of_managed_memory() {
    let library = library();
    let memory = managed(&library, 3 * PAGE);
    let prefetched = |size: usize| {
        let mut place = 7;
        // hipMemRangeAttributeLastPrefetchLocation.
        let code = call!(library, hipMemRangeGetAttribute(
            (&raw mut place).cast() => *mut c_void, 4 => usize, 4 => c_int, memory => *const c_void, size => usize,
        ));
        assert_eq!(code, SUCCESS);
        place
    };
    let prefetch = |at: *mut c_void, size: usize, device: c_int, stream: *mut c_void| call!(library, hipMemPrefetchAsync(at => *const c_void, size => usize, device => c_int, stream => *mut c_void));
    assert_eq!(prefetch(memory.wrapping_byte_add(PAGE / 2), PAGE, 0, null_mut()), SUCCESS);
    assert_eq!((prefetched(PAGE), prefetched(2 * PAGE), prefetched(3 * PAGE)), (0, 0, -2));
    assert_eq!(prefetch(memory, PAGE, 3, null_mut()), INVALID_DEVICE);
    assert_eq!(prefetch(memory, 3 * PAGE + 1, 0, null_mut()), INVALID_VALUE);
    let stream = output!(library, hipStreamCreate(*mut c_void));
    assert_eq!(call!(library, hipStreamDestroy(stream => *mut c_void)), SUCCESS);
    assert_eq!(prefetch(memory, PAGE, 0, stream), CONTEXT_IS_DESTROYED);
    let other = malloc(&library, PAGE);
    // hipMemAdviseSetReadMostly.
    let advise = |at: *mut c_void, size: usize| call!(library, hipMemAdvise(at => *const c_void, size => usize, 1 => c_int, 0 => c_int));
    assert_eq!(
        (advise(memory, PAGE), advise(memory, 0), advise(other, PAGE)),
        (SUCCESS, INVALID_VALUE, INVALID_VALUE)
    );
}

#[test]
fn memory_that_is_shared_by_a_file_is_one_memory() {
    let library = library();
    // Pinned, by file descriptor, of device 0.
    let properties: [c_int; 8] = [1, 1, 1, 0, 0, 0, 0, 0];
    let handle = output!(library, hipMemCreate(*mut c_void, PAGE => usize, properties.as_ptr() => *const c_int, 0 => c_ulonglong));
    let mut file: c_int = -1;
    let mut export = |handle: *mut c_void, kind: c_int, flags: c_ulonglong| {
        call!(library, hipMemExportToShareableHandle(
            (&raw mut file).cast() => *mut c_void, handle => *mut c_void, kind => c_int, flags => c_ulonglong,
        ))
    };
    assert_eq!(
        (export(null_mut(), 1, 0), export(handle, 2, 0), export(handle, 1, 1)),
        (INVALID_VALUE, INVALID_VALUE, INVALID_VALUE)
    );
    assert_eq!(export(handle, 1, 0), SUCCESS);
    let import = |from: *mut c_int| {
        let mut imported = null_mut::<c_void>();
        let code = call!(library, hipMemImportFromShareableHandle(
            &raw mut imported => *mut *mut c_void, from.cast() => *mut c_void, 1 => c_int,
        ));
        (code, imported)
    };
    assert_eq!(import(null_mut()).0, INVALID_VALUE);
    let mut closed = -1;
    assert_eq!(import(&raw mut closed).0, INVALID_VALUE);
    let (code, imported) = import(&raw mut file);
    assert_eq!(code, SUCCESS);
    let place = |handle: *mut c_void| {
        let at = output!(library, hipMemAddressReserve(
            *mut c_void, PAGE => usize, 0 => usize, null_mut() => *mut c_void, 0 => c_ulonglong,
        ));
        let mapped = call!(library, hipMemMap(
            at => *mut c_void, PAGE => usize, 0 => usize, handle => *mut c_void, 0 => c_ulonglong,
        ));
        // Device 0 reads and writes.
        let access: [c_int; 3] = [1, 0, 3];
        let set = call!(library, hipMemSetAccess(
            at => *mut c_void, PAGE => usize, access.as_ptr() => *const c_int, 1 => usize,
        ));
        assert_eq!((mapped, set), (SUCCESS, SUCCESS));
        at
    };
    let (here, there) = (place(handle), place(imported));
    let mut value = 0x1234_5678;
    assert_eq!(
        call!(library, hipMemcpyHtoD(here => *mut c_void, (&raw mut value).cast() => *mut c_void, 4 => usize)),
        SUCCESS
    );
    let mut read = 0;
    assert_eq!(
        call!(library, hipMemcpyDtoH((&raw mut read).cast() => *mut c_void, there => *mut c_void, 4 => usize)),
        SUCCESS
    );
    assert_eq!(read, value);
    let mut nowhere = null_mut();
    let odd = call!(library, hipMemAddressReserve(
        &raw mut nowhere => *mut *mut c_void, PAGE - 1 => usize, 0 => usize, null_mut() => *mut c_void, 0 => c_ulonglong,
    ));
    assert_eq!(odd, OUT_OF_MEMORY);
}

#[test]
fn wrong_arguments_of_modules_symbols_and_pools_have_their_codes() {
    let library = library();
    let mut module = null_mut();
    let mut load = |path: &str| {
        let path = CString::new(path).expect("a path has no null");
        call!(library, hipModuleLoad(&raw mut module => *mut *mut c_void, path.as_ptr() => *const c_char))
    };
    assert_eq!((load(""), load("no such file")), (INVALID_VALUE, 301));
    assert_eq!(call!(library, hipModuleUnload(null_mut() => *mut c_void)), INVALID_HANDLE);
    let mut value = 0;
    let to = call!(library, hipMemcpyToSymbol(
        null() => *const c_void, (&raw mut value).cast() => *const c_void, 4 => usize, 0 => usize, 2 => c_int,
    ));
    let from = call!(library, hipMemcpyFromSymbol(
        (&raw mut value).cast() => *mut c_void, null() => *const c_void, 4 => usize, 0 => usize, 2 => c_int,
    ));
    assert_eq!((to, from), (21, INVALID_SYMBOL), "the direction is looked at first");
    let pool = output!(library, hipDeviceGetDefaultMemPool(*mut c_void, 0 => c_int));
    let access = |location: [c_int; 2]| {
        let description = [location[0], location[1], 3];
        call!(library, hipMemPoolSetAccess(pool => *mut c_void, description.as_ptr() => *const c_int, 1 => usize))
    };
    assert_eq!((access([1, 0]), access([1, 1]), access([0, 0])), (SUCCESS, INVALID_DEVICE, INVALID_VALUE));
    let launch = call!(library, hipHccModuleLaunchKernel(
        null_mut() => *mut c_void, 1 => c_uint, 1 => c_uint, 1 => c_uint, 1 => c_uint, 1 => c_uint, 1 => c_uint, 0 => usize,
        null_mut() => *mut c_void, null_mut() => *mut *mut c_void, null_mut() => *mut *mut c_void, null_mut() => *mut c_void,
        null_mut() => *mut c_void,
    ));
    assert_eq!(launch, INVALID_HANDLE);
}
