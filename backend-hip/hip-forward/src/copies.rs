//! Copies, and the log of those to the host.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

use d2h_audit::{Audit, AuditOptions, Copy};
use hip_api::Code;
use softhip::memory::AllocationKind;

use crate::{memory, session};

/// `None` inside: nothing is logged.
static AUDIT: OnceLock<Option<Audit>> = OnceLock::new();

fn audit() -> Option<&'static Audit> {
    let open = || {
        let options = AuditOptions::from_env(|name| std::env::var(name).ok());
        if !options.any() {
            return None;
        }
        let opened = Audit::new(options);
        opened.inspect_err(|error| session::print_line(&format!("assay: GCORE_D2H_AUDIT_LOG: {error}"))).ok()
    };
    AUDIT.get_or_init(open).as_ref()
}

/// The log entry of a copy from device memory to the host's.
fn begin(
    to: *mut c_void,
    from: *const c_void,
    size: usize,
    stream: *mut c_void,
) -> Option<(&'static Audit, Copy)> {
    let audit = audit()?;
    let source = memory::at(from.addr() as u64).filter(|from| from.kind == AllocationKind::Device)?;
    let is_host = memory::at(to.addr() as u64).is_none_or(|to| to.kind.is_host());
    if !is_host {
        return None;
    }
    let number = |value: u64| usize::try_from(value).expect("the library is for 64-bit hosts");
    let mut copy = Copy::of(source.label.unwrap_or_else(|| "unnamed".to_owned()));
    copy.stream = stream.addr();
    copy.source = from.addr() as u64;
    copy.destination = to.addr();
    copy.offset = from.addr().saturating_sub(number(source.base));
    copy.bytes = size;
    copy.allocation = number(source.size);
    audit.started(&mut copy);
    Some((audit, copy))
}

fn end(begun: Option<(&'static Audit, Copy)>, code: i32) {
    if let Some((audit, copy)) = begun {
        let name = Code(code).name().to_string_lossy();
        audit.ended(&copy, if code == Code::SUCCESS.0 { Ok(()) } else { Err(&name) });
    }
}

/// Copies: `name(arguments) [to, from, size, stream];`.
macro_rules! copies {
    ($($name:ident($($argument:ident: $type:ty),* $(,)?) [$to:ident, $from:ident, $size:ident, $stream:expr];)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`.")]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> i32 {
                let function = real!($name: unsafe extern "C" fn($($type),*) -> i32);
                let begun = begin($to, $from, $size, $stream);
                // SAFETY: the caller keeps to HIP's contract, which is the real function's.
                let code = unsafe { function($($argument),*) };
                end(begun, code);
                session::answered(stringify!($name), code);
                code
            }
        )*
    };
}

copies! {
    hipMemcpy(to: *mut c_void, from: *const c_void, size: usize, kind: c_int) [to, from, size, null_mut()];
    hipMemcpyDtoH(to: *mut c_void, from: *mut c_void, size: usize) [to, from, size, null_mut()];
    hipMemcpyHtoD(to: *mut c_void, from: *mut c_void, size: usize) [to, from, size, null_mut()];
    hipMemcpyAsync(to: *mut c_void, from: *const c_void, size: usize, kind: c_int, stream: *mut c_void) [to, from, size, stream];
    hipMemcpyDtoHAsync(to: *mut c_void, from: *mut c_void, size: usize, stream: *mut c_void) [to, from, size, stream];
    hipMemcpyHtoDAsync(to: *mut c_void, from: *mut c_void, size: usize, stream: *mut c_void) [to, from, size, stream];
}
