//! How C functions are made, and what every call does last.

use std::ffi::c_void;
use std::io::Write as _;

use hip_api::{Code, HipApi};

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

/// Prints what has been found since the last call.
pub(crate) fn print_reports() {
    for report in softhip::control::current().take_reports() {
        print_line(&format!("assay: {report}"));
    }
}

/// Prints a line. A program that has closed its standard error stream gets none.
pub(crate) fn print_line(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// The address of a function that the library exports.
pub(crate) type Lookup = fn(&str) -> Option<*mut c_void>;

/// C functions that call a function of the software device: `name(arguments) = field of HipApi;`.
macro_rules! forward {
    ($($name:ident($($argument:ident: $type:ty),* $(,)?) = $target:ident;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`.")]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> i32 {
                let code = softhip::api::called_as(stringify!($name), || {
                    // SAFETY: the caller keeps to HIP's contract, which is the target's.
                    unsafe { (crate::export::HIP.$target)($($argument),*) }
                });
                crate::export::print_reports();
                code
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
            unsafe extern "C" fn $name($($argument: $type),*) -> i32 {
                let outcome: Result<(), hip_api::Code> = softhip::api::called_as(stringify!($name), || $body);
                crate::export::print_reports();
                softhip::api::remember(outcome)
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
