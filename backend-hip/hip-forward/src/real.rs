//! The real library's functions: the next of each name behind this library.

use std::ffi::{CStr, c_void};

/// The address of the next function of a name, or of one that answers `hipErrorNotSupported`.
pub(crate) fn next(name: &CStr) -> *mut c_void {
    // SAFETY: the name is a string.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if found.is_null() { missing as *mut c_void } else { found }
}

/// Stands for a function that the real library does not have. It looks at no argument, so it may be called with any.
extern "C" fn missing() -> i32 {
    hip_api::Code::NOT_SUPPORTED.0
}

/// `real!(name: type)`: the real function, looked up once.
macro_rules! real {
    ($name:ident: $type:ty) => {{
        static FOUND: std::sync::OnceLock<$type> = std::sync::OnceLock::new();
        *FOUND.get_or_init(|| {
            const NAME: &std::ffi::CStr =
                match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a name has no zero inside"),
                };
            // SAFETY: the real library's function of this name has HIP's signature.
            unsafe { std::mem::transmute::<*mut std::ffi::c_void, $type>(crate::real::next(NAME)) }
        })
    }};
}

/// C functions that call the real one and check the status: `name(arguments);`, or with what happens then, `name(arguments) => |code| body;`.
macro_rules! forwarded {
    ($($name:ident($($argument:ident: $type:ty),* $(,)?) $(=> |$code:ident| $then:expr)?;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`.")]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> i32 {
                let function = real!($name: unsafe extern "C" fn($($type),*) -> i32);
                // SAFETY: the caller keeps to HIP's contract, which is the real function's.
                let code = unsafe { function($($argument),*) };
                $(
                    let $code = code;
                    $then;
                )?
                crate::session::answered(stringify!($name), code);
                code
            }
        )*
    };
}
