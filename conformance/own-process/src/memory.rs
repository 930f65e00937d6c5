//! Memory that the system does not give.
//!
//! A Rust program that needs memory and gets none says so and aborts, which is a crash to whoever started it. With [`Allocator`] as its
//! global allocator and [`an_error`] at its beginning, it ends with an error and exit code 2 instead. What asks for memory and can do
//! without (`try_reserve`) is told no, as ever.
#![expect(
    unsafe_code,
    reason = "a global allocator is an unsafe trait, and signal handlers run outside what the compiler can check"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which remembers on which threads a request was refused.
#[derive(Debug)]
pub struct Allocator;

thread_local! {
    static REFUSED: Cell<bool> = const { Cell::new(false) };
}

/// Remembers a refusal. It is not forgotten at the next success: before it aborts, the runtime may print a backtrace.
fn note(given: *mut u8) -> *mut u8 {
    if given.is_null() {
        REFUSED.set(true);
    }
    given
}

// SAFETY: every call is handed to the system's allocator with the caller's own arguments; the note is a thread-local cell without a
// destructor and allocates nothing.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller promises a layout of non-zero size.
        note(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller promises a layout of non-zero size.
        note(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that `ptr` came from this allocator, which is the system's, with `layout`, and a size that is not 0.
        note(unsafe { System.realloc(ptr, layout, size) })
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller promises that `ptr` came from this allocator, which is the system's, with `layout`.
        unsafe { System.dealloc(ptr, layout) }
    }
}

/// From now on, the program ends with exit code 2 when it needs memory and gets none. `tidy` runs before.
pub fn an_error(tidy: fn()) {
    #[cfg(unix)]
    unix::handle(tidy);
    #[cfg(not(unix))]
    let _ = tidy;
}

#[cfg(unix)]
mod unix {
    use std::cell::Cell;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::REFUSED;

    /// Exit code of a process without memory.
    const EXIT_CODE: libc::c_int = 2;

    /// What it says last.
    const WORDS: &[u8] = b"error: out of memory\n";

    static TIDY: OnceLock<fn()> = OnceLock::new();

    /// Whether a thread ends the program.
    static ENDING: AtomicBool = AtomicBool::new(false);

    thread_local! {
        /// Whether this thread does.
        static ENDS: Cell<bool> = const { Cell::new(false) };
    }

    pub(super) fn handle(tidy: fn()) {
        // There is one program, and it says once what is to be tidied up.
        let _ = TIDY.set(tidy);
        let handler: extern "C" fn(libc::c_int) = on_abort;
        // SAFETY: the handler has the signature that `signal` asks for.
        unsafe { libc::signal(libc::SIGABRT, handler as *const () as libc::sighandler_t) };
    }

    /// The runtime has said how many bytes it needed, and aborts. It does so between two statements, not in the middle of an allocation,
    /// so that ordinary code may run here; locks may be held, though, by this thread too.
    extern "C" fn on_abort(_: libc::c_int) {
        if !REFUSED.get() {
            // Another reason to abort. It ends the process as without a handler.
            // SAFETY: both are allowed in a handler.
            unsafe { libc::signal(libc::SIGABRT, libc::SIG_DFL) };
            // SAFETY: as above.
            unsafe { libc::raise(libc::SIGABRT) };
            return;
        }
        // A second failure on this thread is one of tidying up, which ends then.
        if !ENDS.replace(true) {
            if ENDING.swap(true, Ordering::AcqRel) {
                // Another thread ends the program.
                thread::sleep(Duration::from_secs(10));
            }
            if let Some(tidy) = TIDY.get() {
                tidy();
            }
        }
        // SAFETY: the bytes are valid for their length, and `write` is allowed in a handler. Where nobody reads it, nothing is to be done.
        let _ = unsafe { libc::write(libc::STDERR_FILENO, WORDS.as_ptr().cast(), WORDS.len()) };
        // SAFETY: `_exit` ends the process, and is allowed in a handler.
        unsafe { libc::_exit(EXIT_CODE) };
    }
}
