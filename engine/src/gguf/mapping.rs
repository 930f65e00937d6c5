//! The file's bytes, memory-mapped. The engine's only `unsafe` block is here.

use std::io;
use std::path::Path;

use memmap2::Mmap;

/// Maps the whole of the file at `path` read-only.
///
/// The file must not be shortened or rewritten while the map lives: a reader would see the new
/// bytes, and touching a page past the new end ends the process (`SIGBUS`). Downloaders and
/// converters that write a temporary file and rename it are safe.
pub(super) fn map(path: &Path) -> io::Result<Mmap> {
    let file = input_file::open(path)?;
    #[expect(unsafe_code, reason = "a file mapping is outside what the compiler can check")]
    // SAFETY: the map is read-only and private to this process's view, so no Rust code can write
    // through it; that no other process changes the file meanwhile is the documented duty of
    // whoever opens a model. Bytes have no invalid values, and all reads are bounds-checked.
    unsafe {
        Mmap::map(&file)
    }
}
