//! The host's memory and functions, as queued work holds them.

use std::ffi::c_void;

use super::enter::in_host_function;
use crate::sched::HostBytes;

/// Host bytes behind a raw pointer.
pub(super) struct HostSpan {
    start: *mut u8,
    len: usize,
}

// SAFETY: the span stands for bytes, not for a thread's data; the contract of `new` covers every thread.
unsafe impl Send for HostSpan {}

impl HostSpan {
    /// The bytes `start..start + len`.
    ///
    /// # Safety
    ///
    /// Until the span is dropped the bytes are valid for reads; if `write` is called, they are valid for writes
    /// too. Nobody accesses them while a method runs. This is what a HIP copy demands of its caller until
    /// the stream has been synchronised.
    pub(super) unsafe fn new(start: *mut c_void, len: usize) -> Self {
        Self { start: start.cast(), len }
    }

    /// A copy of all bytes.
    pub(super) fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len];
        self.read(0, &mut bytes);
        bytes
    }

    /// The part `offset..offset + len`, if it is inside.
    fn part(&self, offset: usize, len: usize) -> Option<*mut u8> {
        let inside = offset.checked_add(len).is_some_and(|end| end <= self.len);
        inside.then(|| self.start.wrapping_add(offset))
    }
}

impl HostBytes for HostSpan {
    fn read(&self, offset: usize, out: &mut [u8]) {
        if let Some(from) = self.part(offset, out.len()) {
            // SAFETY: `from` has `out.len()` bytes of the span, which are valid for reads; `out` is exclusively ours.
            unsafe { from.copy_to(out.as_mut_ptr(), out.len()) };
        }
    }

    fn write(&mut self, offset: usize, data: &[u8]) {
        if let Some(to) = self.part(offset, data.len()) {
            // SAFETY: `to` has `data.len()` bytes of the span, which are valid for writes when this is called.
            unsafe { to.copy_from(data.as_ptr(), data.len()) };
        }
    }
}

/// A C function with its argument.
pub(super) struct HostFunction {
    function: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
}

// SAFETY: the contract of `new` lets any thread call the function.
unsafe impl Send for HostFunction {}

impl HostFunction {
    /// `function`, to be called with `argument`.
    ///
    /// # Safety
    ///
    /// `function` may be called with `argument` once, on any thread, at any later time.
    pub(super) unsafe fn new(function: unsafe extern "C" fn(*mut c_void), argument: *mut c_void) -> Self {
        Self { function, argument }
    }

    /// Calls it.
    pub(super) fn run(self) {
        // SAFETY: `new` demands that one call be allowed, and `self` is used up by it.
        in_host_function(|| unsafe { (self.function)(self.argument) });
    }
}
