//! How C functions are made, and what every call does last.

use std::ffi::c_void;

use hip_api::{Code, HipApi};

use crate::{host_access, printed, session};

/// The software device's functions.
pub(crate) const HIP: HipApi = softhip::api::table();

/// The status of one of [`HIP`]'s calls.
pub(crate) fn status(code: i32) -> Result<(), Code> {
    if code == Code::SUCCESS.0 { Ok(()) } else { Err(Code(code)) }
}

/// Writes an output of a call.
///
/// # Safety
///
/// `to` is null or valid for a write of `T`.
pub(crate) unsafe fn put<T>(to: *mut T, value: T) -> Result<(), Code> {
    if to.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: not null, so the caller vouches for it.
    unsafe { to.write(value) };
    Ok(())
}

/// Makes the call `name`, and tells what it found.
pub(crate) fn call(name: &'static str, body: impl FnOnce() -> i32) -> i32 {
    session::begin_call(name);
    host_access::begin_call();
    let fault = session::fault_before();
    let code = answer(name, softhip::api::called_as(name, body), fault);
    host_access::end_call();
    printed::pass_on();
    session::end_call(name, code);
    code
}

/// What a call answers on a device that had a fault before it. What the compiler puts around a launch answers none.
fn answer(name: &str, code: i32, fault: Option<Code>) -> i32 {
    match fault {
        Some(_) if session::is_around_launch(name) => code,
        Some(fault) if code == Code::SUCCESS.0 || code == Code::NOT_READY.0 => {
            softhip::api::remember(Err(fault))
        }
        _ => code,
    }
}

/// Runs when the program has ended, after its static destructors.
extern "C" fn end() {
    host_access::end();
    session::end();
}

#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

/// The address of a function that the library exports.
pub(crate) type Lookup = fn(&str) -> Option<*mut c_void>;

/// C functions that call a function of the software device: `name(arguments) = field of HipApi;`.
macro_rules! forward {
    ($($name:ident($($argument:ident: $type:ty),* $(,)?) = $target:ident;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`.")]
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> i32 {
                crate::export::call(stringify!($name), || {
                    // SAFETY: the caller keeps to HIP's contract, which is the target's.
                    unsafe { (crate::export::HIP.$target)($($argument),*) }
                })
            }
        )*
        lookup! { $($name)* }
    };
}

/// C functions made of several calls. The body is a `Result<(), Code>`; an error is remembered for `hipGetLastError`.
macro_rules! compose {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(
            $(#[$attribute])*
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> i32 {
                crate::export::call(stringify!($name), || {
                    let body = || -> Result<(), hip_api::Code> { $body };
                    softhip::api::remember(body())
                })
            }
        )*
        lookup! { $($name)* }
    };
}

/// The functions' addresses by their names.
macro_rules! lookup {
    ($($name:ident)*) => {
        pub(crate) fn address(name: &str) -> Option<*mut std::ffi::c_void> {
            match name {
                $(stringify!($name) => Some($name as *mut std::ffi::c_void),)*
                _ => None,
            }
        }
    };
}
