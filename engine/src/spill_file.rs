//! Bytes spilled to disk until their place in the output is known.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::Path;

/// A temporary file without a name: nothing is left of it when it is dropped or the process dies.
#[derive(Debug)]
pub struct SpillFile {
    file: BufWriter<File>,
    len: u64,
}

impl SpillFile {
    /// An empty file on the disk of `directory`.
    pub fn create(directory: &Path) -> io::Result<Self> {
        Ok(SpillFile { file: BufWriter::new(tempfile::tempfile_in(directory)?), len: 0 })
    }

    /// Bytes written so far.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// True if nothing was written.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies the whole content to `out`.
    pub fn copy_to(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.file.flush()?;
        let file = self.file.get_mut();
        file.rewind()?;
        io::copy(file, out).map(drop)
    }
}

impl Write for SpillFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.len += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
