//! The log of copies to the host, where the variables `GCORE_D2H_AUDIT` and its relatives ask for one.
//!
//! A copy that is queued is logged around the call that queues it. With `GRETA_D2H_DEBUG` the device is synchronised before and after.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::OnceLock;

use d2h_audit::{Audit, AuditOptions, Copy};
use hip_api::Code;
use softhip::control::current;

use crate::export::HIP;
use crate::session::{count_copy, counts_copies, print_line};

/// `None` inside: nothing is logged.
static AUDIT: OnceLock<Option<Audit>> = OnceLock::new();

fn audit() -> Option<&'static Audit> {
    let open = || {
        let options = AuditOptions::from_env(|name| std::env::var(name).ok());
        if !options.any() {
            return None;
        }
        let opened = Audit::new(options);
        opened.inspect_err(|error| print_line(&format!("assay: GCORE_D2H_AUDIT_LOG: {error}"))).ok()
    };
    AUDIT.get_or_init(open).as_ref()
}

/// Makes a copy of `size` bytes, and logs it if it is one to the host.
pub(crate) fn copy(
    to: *mut c_void,
    from: *const c_void,
    size: usize,
    stream: *mut c_void,
    run: impl FnOnce() -> i32,
) -> i32 {
    let audit = audit();
    if audit.is_none() && !counts_copies() {
        return run();
    }
    let device = current();
    let allocation = |pointer: *const c_void| device.allocation_at(pointer.addr() as u64);
    let is_host = allocation(to).is_none_or(|to| to.kind.is_host());
    let Some(source) = allocation(from).filter(|from| is_host && !from.kind.is_host()) else {
        return run();
    };
    count_copy();
    let Some(audit) = audit else { return run() };
    let mut copy = Copy::of(source.label.unwrap_or_else(|| "unnamed".to_owned()));
    copy.stream = stream.addr();
    copy.source = from.addr() as u64;
    copy.destination = to.addr();
    copy.offset = from.addr().saturating_sub(host_size(source.base));
    copy.bytes = size;
    copy.allocation = host_size(source.size);
    let synchronise = || {
        if audit.synchronises() {
            // SAFETY: the software device checks the handle; a fault is the copy's answer, too.
            unsafe { (HIP.stream_synchronize)(null_mut()) };
        }
    };
    synchronise();
    audit.started(&mut copy);
    let code = run();
    synchronise();
    let name = Code(code).name().to_string_lossy();
    audit.ended(&copy, if code == Code::SUCCESS.0 { Ok(()) } else { Err(&name) });
    code
}

/// Addresses and sizes of the device are those of a 64-bit host.
fn host_size(number: u64) -> usize {
    usize::try_from(number).expect("the library is for 64-bit hosts")
}
