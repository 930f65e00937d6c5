//! Files mapped into memory.
//!
//! [`MappedFile::open`] maps a file read-only. What it gives is as stable as the file is: a program that rewrites the file changes the
//! bytes, and one that shortens it ends this process by `SIGBUS` at the next access to a page that is gone. Whoever cannot rule
//! that out reads the file instead. [`explain_bus_errors`] makes the end a message that names the file, and exit code 2.
//!
//! `unsafe` stands here for the mapping and in `bus_error` for the signal's handler.

#[cfg(unix)]
mod bus_error;

use std::io;
use std::path::Path;

use memmap2::Mmap;

/// A file's bytes.
#[derive(Debug)]
pub struct MappedFile {
    /// Dropped before the mapping, so that no entry outlives its addresses.
    #[cfg(unix)]
    _entry: Option<bus_error::Entry>,
    map: Mmap,
}

impl MappedFile {
    /// Maps the whole of the file at `path` read-only.
    ///
    /// The file should not be shortened or rewritten while the map lives. Downloaders and converters that write a temporary file
    /// and rename it are safe.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = input_file::open(path)?;
        #[expect(unsafe_code, reason = "a file mapping is outside what the compiler can check")]
        // SAFETY: the map is read-only and private to this process's view, so no Rust code can write through it. That no other
        // process changes the file meanwhile cannot be checked: the documentation says what happens then. Bytes have no invalid
        // values, and all reads are bounds-checked.
        let map = unsafe { Mmap::map(&file) }?;
        Ok(MappedFile {
            #[cfg(unix)]
            _entry: bus_error::Entry::new(path, &map),
            map,
        })
    }
}

impl AsRef<[u8]> for MappedFile {
    fn as_ref(&self) -> &[u8] {
        &self.map
    }
}

/// From now on, an access to a page of a mapped file that is gone ends the process with a message that names the file, and exit
/// code 2. For programs: a library must not decide about signals.
pub fn explain_bus_errors() -> io::Result<()> {
    #[cfg(unix)]
    bus_error::handle()?;
    Ok(())
}
