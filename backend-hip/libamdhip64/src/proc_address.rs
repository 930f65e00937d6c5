//! `hipGetProcAddress`.

use std::ffi::{CStr, c_char, c_int, c_void};

use hip_api::Code;

use crate::export::{Lookup, put};
use crate::{
    advice, array, context, device, event, forward, function, graph, host_memory, launch, launch_threads,
    memory, other, per_thread, pool, queued, registered, registration, shared_memory, stream, symbol,
    unsupported, virtual_memory, volume,
};

const LOOKUPS: [Lookup; 28] = [
    advice::address,
    array::address,
    event::address,
    forward::address,
    queued::address,
    queued::last_address,
    graph::address,
    graph::events_address,
    graph::parameters_address,
    context::address,
    device::address,
    function::address,
    host_memory::address,
    launch::address,
    launch_threads::address,
    memory::address,
    other::address,
    per_thread::address,
    pool::address,
    registered::address,
    registration::address,
    shared_memory::address,
    stream::address,
    symbol::address,
    virtual_memory::address,
    volume::address,
    address,
    unsupported::address,
];

/// `HIP_GET_PROC_ADDRESS_SUCCESS`.
const FOUND: c_int = 0;
/// `HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND`.
const NOT_FOUND: c_int = 1;

/// The exported name that a caller of `hipGetProcAddress` means: of calls with two layouts, the newer one.
fn newest(name: &str) -> &str {
    match name {
        "hipGetDeviceProperties" => "hipGetDevicePropertiesR0600",
        "hipChooseDevice" => "hipChooseDeviceR0600",
        other => other,
    }
}

compose! {
    /// `hipGetProcAddress`: all versions of the runtime are in this one.
    fn hipGetProcAddress(
        name: *const c_char,
        function: *mut *mut c_void,
        _version: c_int,
        _flags: u64,
        result: *mut c_int,
    ) {
        if name.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, so a string by HIP's contract.
        let name = unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| Code::INVALID_VALUE)?;
        let found = LOOKUPS.iter().find_map(|lookup| lookup(newest(name)));
        if !result.is_null() {
            // SAFETY: not null, so valid by HIP's contract.
            unsafe { put(result, if found.is_some() { FOUND } else { NOT_FOUND }) }?;
        }
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(function, found.unwrap_or_default()) }?;
        found.map(|_| ()).ok_or(Code::INVALID_VALUE)
    }
}
