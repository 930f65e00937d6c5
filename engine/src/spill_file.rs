//! Bytes that wait on the disk until it is their turn.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

/// A file beside another one; it goes when this does.
#[derive(Debug)]
pub struct Spool {
    path: PathBuf,
    file: BufWriter<File>,
    len: u64,
}

impl Spool {
    /// An empty one beside `path`; `what` tells it from others there.
    pub fn create(path: &Path, what: &str) -> io::Result<Self> {
        let path = beside(path, what);
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
        Ok(Spool { path, file: BufWriter::new(file), len: 0 })
    }

    /// Bytes in it.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing is in it.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies everything to `out`.
    pub fn copy_to(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.file.flush()?;
        let file = self.file.get_mut();
        file.rewind()?;
        io::copy(file, out).map(drop)
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.len += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        // A spool that cannot be removed is left behind; there is nobody to tell.
        let _ = fs::remove_file(&self.path);
    }
}

/// The name of a file beside `path` that no other process uses.
pub(crate) fn beside(path: &Path, what: &str) -> PathBuf {
    let mut name = OsString::from(path.file_name().unwrap_or_default());
    name.push(format!(".{}.{what}", std::process::id()));
    path.with_file_name(name)
}
