//! What kernels print, passed on to the program's own streams.

use std::sync::{Mutex, PoisonError};

use softhip::control::current;

unsafe extern "C" {
    static stdout: *mut libc::FILE;
    static stderr: *mut libc::FILE;
}

/// Writes what kernels have printed since the last call through C's streams, so that it stands in order with what the program prints. As
/// on ROCm, nothing is flushed here.
pub(crate) fn pass_on() {
    // One thread at a time, so that what was printed first is written first.
    static WRITING: Mutex<()> = Mutex::new(());
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let printed = current().take_printed();
    // SAFETY: C's library has set it before any code of this library runs.
    write(&printed.out, || unsafe { stdout });
    // SAFETY: as above.
    write(&printed.err, || unsafe { stderr });
}

fn write(bytes: &[u8], stream: impl FnOnce() -> *mut libc::FILE) {
    if !bytes.is_empty() {
        // SAFETY: the bytes are there, and the stream is C's. A program that has closed its streams gets none.
        unsafe { libc::fwrite(bytes.as_ptr().cast(), 1, bytes.len(), stream()) };
    }
}
