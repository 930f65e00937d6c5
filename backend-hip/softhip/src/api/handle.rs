//! Handles and device addresses: numbers that C sees as pointers.
//!
//! A handle cannot be mistaken for a host pointer, and it says what kind of object it names.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr::without_provenance_mut;
use std::sync::{Arc, Weak};

use hip_api::Code;

use crate::control::{FunctionId, ModuleId, SoftDevice, current};
use crate::host;
use crate::sched::{EventId, StreamId};

/// `hipStreamLegacy`, another name of the null stream.
const LEGACY: usize = 1;
/// `hipStreamPerThread`: each thread has a default stream of its own, which is ordered with the null stream.
const PER_THREAD: usize = 2;

thread_local! {
    static DEFAULT_IS_OWN: Cell<bool> = const { Cell::new(false) };
    /// The thread's own default stream, with the device that it is a stream of.
    static OWN_STREAM: RefCell<Option<(Weak<SoftDevice>, StreamId)>> = const { RefCell::new(None) };
}

/// The thread's own default stream, made when it is first used.
fn per_thread() -> StreamId {
    let device = current();
    let own = OWN_STREAM.try_with(|own| {
        let mut own = own.borrow_mut();
        match &*own {
            Some((of, stream)) if of.ptr_eq(&Arc::downgrade(&device)) && device.has_stream(*stream) => {
                *stream
            }
            _ => {
                let stream = device.create_stream(true);
                *own = Some((Arc::downgrade(&device), stream));
                stream
            }
        }
    });
    // A static destructor of a C++ program may call after the thread's variables have gone.
    own.unwrap_or(StreamId::NULL)
}
/// Above the tag's position, addresses of user programs have no bits.
const TAG_SHIFT: u32 = 48;

/// The kind of object that a handle names.
#[derive(Clone, Copy)]
enum Tag {
    Stream = 0x51,
    Event = 0x52,
    Module = 0x53,
    Function = 0x54,
}

fn encode(tag: Tag, number: usize) -> *mut c_void {
    without_provenance_mut(((tag as usize) << TAG_SHIFT) | (number + 1))
}

fn decode(tag: Tag, handle: *mut c_void) -> Result<usize, Code> {
    let (found, number) = (handle.addr() >> TAG_SHIFT, handle.addr() & ((1 << TAG_SHIFT) - 1));
    number.checked_sub(1).filter(|_| found == tag as usize).ok_or(Code::INVALID_HANDLE)
}

pub(super) fn of_stream(stream: StreamId) -> *mut c_void {
    encode(Tag::Stream, stream.number())
}

/// Runs a call of a program that is compiled with a default stream for each thread: no stream means the thread's own.
pub fn on_thread_stream<T>(body: impl FnOnce() -> T) -> T {
    let outer = DEFAULT_IS_OWN.replace(true);
    let outcome = body();
    DEFAULT_IS_OWN.set(outer);
    outcome
}

/// The stream of calls that are given none.
pub(super) fn default_stream() -> StreamId {
    if DEFAULT_IS_OWN.get() { per_thread() } else { StreamId::NULL }
}

/// The stream of a handle; null is the default stream.
pub(super) fn stream(handle: *mut c_void) -> Result<StreamId, Code> {
    match handle.addr() {
        0 => Ok(default_stream()),
        LEGACY => Ok(StreamId::NULL),
        PER_THREAD => Ok(per_thread()),
        _ => created_stream(handle),
    }
}

/// The stream of a handle that a program was given; default streams have none.
pub(super) fn created_stream(handle: *mut c_void) -> Result<StreamId, Code> {
    decode(Tag::Stream, handle).map(StreamId::from_number)
}

pub(super) fn of_event(event: EventId) -> *mut c_void {
    encode(Tag::Event, event.number())
}

pub(super) fn event(handle: *mut c_void) -> Result<EventId, Code> {
    decode(Tag::Event, handle).map(EventId::from_number)
}

pub(super) fn of_module(module: ModuleId) -> *mut c_void {
    encode(Tag::Module, module.0)
}

pub(super) fn module(handle: *mut c_void) -> Result<ModuleId, Code> {
    decode(Tag::Module, handle).map(ModuleId)
}

pub(super) fn of_function(function: FunctionId) -> *mut c_void {
    encode(Tag::Function, function.0)
}

pub(super) fn function(handle: *mut c_void) -> Result<FunctionId, Code> {
    decode(Tag::Function, handle).map(FunctionId)
}

/// A device address as C sees it.
pub(super) fn pointer(address: u64) -> *mut c_void {
    // Pinned memory is the host's own, and its provenance was exposed when it was allocated; other addresses are
    // numbers that nobody on the host may use.
    std::ptr::with_exposed_provenance_mut(host::size(address))
}

/// The number of a pointer.
pub(super) fn address(pointer: *const c_void) -> u64 {
    pointer.addr() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_what_it_was_made_for_and_nothing_else() {
        let handle = of_stream(StreamId::from_number(3));
        assert_eq!(stream(handle), Ok(StreamId::from_number(3)));
        assert_eq!(event(handle), Err(Code::INVALID_HANDLE));
        assert_eq!(stream(std::ptr::null_mut()), Ok(StreamId::NULL));
        assert_eq!(event(std::ptr::null_mut()), Err(Code::INVALID_HANDLE));
        assert_eq!(module(without_provenance_mut(0x7f00_1234_5678)), Err(Code::INVALID_HANDLE));
    }
}
