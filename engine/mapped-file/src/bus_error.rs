//! The handler of `SIGBUS`, and the table in which it finds the file of an address.
//!
//! A handler may interrupt any code, so it takes no lock and allocates nothing: the table has a fixed size and consists of atomics.
#![expect(unsafe_code, reason = "signal handlers are set and run outside what the compiler can check")]

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// Mapped files that the handler knows. A model of more parts is mapped all the same; the rest have no name in a message.
const ENTRIES: usize = 64;

/// Exit code of a process whose file is gone: bad input.
const EXIT_CODE: libc::c_int = 2;

/// Bytes of a path that a message shows.
const PATH_BYTES: usize = 4096;

struct Slot {
    taken: AtomicBool,
    start: AtomicUsize,
    end: AtomicUsize,
    /// A path of `len` bytes that is never freed: the handler may be reading it.
    path: AtomicPtr<u8>,
    len: AtomicUsize,
}

static SLOTS: [Slot; ENTRIES] = [const {
    Slot {
        taken: AtomicBool::new(false),
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        path: AtomicPtr::new(ptr::null_mut()),
        len: AtomicUsize::new(0),
    }
}; ENTRIES];

/// A mapped file in the table, as long as it lives.
#[derive(Debug)]
pub(crate) struct Entry(usize);

impl Entry {
    /// An entry for the bytes of `path`; `None` if the table is full.
    pub(crate) fn new(path: &Path, bytes: &[u8]) -> Option<Self> {
        let at = SLOTS.iter().position(|slot| !slot.taken.swap(true, Ordering::AcqRel))?;
        let slot = &SLOTS[at];
        let path = path.as_os_str().as_bytes();
        let path: &'static mut [u8] = Box::leak(path[..path.len().min(PATH_BYTES)].into());
        slot.len.store(path.len(), Ordering::Release);
        slot.path.store(path.as_mut_ptr(), Ordering::Release);
        let start = bytes.as_ptr().addr();
        slot.start.store(start, Ordering::Release);
        slot.end.store(start + bytes.len(), Ordering::Release);
        Some(Entry(at))
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let slot = &SLOTS[self.0];
        slot.end.store(0, Ordering::Release);
        slot.taken.store(false, Ordering::Release);
    }
}

/// Sets the handler.
pub(crate) fn handle() -> io::Result<()> {
    // SAFETY: all zeros are a valid `sigaction`: no flags, an empty mask, the default action.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_bus_error;
    action.sa_sigaction = handler as *const () as libc::sighandler_t;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: `action` is initialised, its handler has the signature that SA_SIGINFO asks for, and the old action is not wanted.
    match unsafe { libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

extern "C" fn on_bus_error(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the system passes a valid `siginfo_t` to a handler with SA_SIGINFO.
    let info = unsafe { &*info };
    // SAFETY: `si_addr` is set for SIGBUS, whose handler this is.
    let address = unsafe { info.si_addr() }.addr();
    let of = |slot: &&Slot| {
        (slot.start.load(Ordering::Acquire)..slot.end.load(Ordering::Acquire)).contains(&address)
    };
    if let Some(slot) = SLOTS.iter().find(of) {
        let (path, len) = (slot.path.load(Ordering::Acquire), slot.len.load(Ordering::Acquire));
        // SAFETY: an entry with a range has a path of `len` bytes that is never freed.
        let path = unsafe { std::slice::from_raw_parts(path, len) };
        write(b"error: ");
        write(path);
        write(b": a part of the file is gone: it was shortened, or its disk failed, while it was mapped; ");
        write(b"--no-mmap reads it into memory first\n");
        // SAFETY: `_exit` ends the process, and is allowed in a handler.
        unsafe { libc::_exit(EXIT_CODE) };
    }
    // Not one of ours. The access happens again when the handler returns, and ends the process as without a handler.
    // SAFETY: `signal` is allowed in a handler.
    unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
}

/// Writes to standard error, without a lock or a buffer. Where nobody reads it, nothing is to be done.
fn write(bytes: &[u8]) {
    // SAFETY: `bytes` is valid for its length, and `write` is allowed in a handler.
    let _ = unsafe { libc::write(libc::STDERR_FILENO, bytes.as_ptr().cast(), bytes.len()) };
}
