//! Every other call: it answers `hipErrorNotSupported` and prints one line that names it.

use hip_api::Code;

use crate::export::print_line;

fn refuse(name: &str) -> i32 {
    print_line(&format!("assay: {name} is not supported by the software device"));
    softhip::api::remember(Err(Code::NOT_SUPPORTED))
}

/// One C function per name. It looks at no argument, so it may be called with any.
macro_rules! unsupported {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> i32 {
                refuse(stringify!($name))
            }
        )*
        lookup! { $($name)* }
    };
}

include!(concat!(env!("OUT_DIR"), "/unsupported.rs"));
