//! Writing f32 tensors to a safetensors file without holding them in memory.
//!
//! The header of such a file comes first and names all tensors, so their data are spooled to a file beside it; at the end
//! the header is written and the data follow. Nothing stands at the file's own path before it is whole.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

/// A file under way.
#[derive(Debug)]
pub struct SafetensorsFile {
    path: PathBuf,
    spool_path: PathBuf,
    spool: BufWriter<File>,
    /// Header entries, without the metadata.
    header: Map<String, Value>,
    /// Bytes spooled.
    written: u64,
    /// Where the last tensor ends.
    end: u64,
}

impl SafetensorsFile {
    /// A file that will stand at `path`.
    pub fn create(path: &Path) -> io::Result<Self> {
        let spool_path = beside(path, "spool");
        let spool = File::options().read(true).write(true).create(true).truncate(true).open(&spool_path)?;
        Ok(SafetensorsFile {
            path: path.to_owned(),
            spool_path,
            spool: BufWriter::new(spool),
            header: Map::new(),
            written: 0,
            end: 0,
        })
    }

    /// Where it will stand.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins the tensor `name`, whose values follow by [`SafetensorsFile::append`].
    pub fn tensor(&mut self, name: &str, shape: &[usize]) -> io::Result<()> {
        self.check_complete()?;
        let bytes = shape.iter().try_fold(4_u64, |n, &d| n.checked_mul(d as u64));
        let end = bytes.and_then(|bytes| self.end.checked_add(bytes));
        let end = end.ok_or_else(|| invalid(format!("tensor '{name}' {shape:?} is too large")))?;
        let entry = json!({ "dtype": "F32", "shape": shape, "data_offsets": [self.end, end] });
        if self.header.insert(name.to_owned(), entry).is_some() {
            return Err(invalid(format!("tensor '{name}' occurs twice")));
        }
        self.end = end;
        Ok(())
    }

    /// The next values of the tensor that was begun last.
    pub fn append(&mut self, values: &[f32]) -> io::Result<()> {
        for value in values {
            self.spool.write_all(&value.to_le_bytes())?;
        }
        self.written += 4 * values.len() as u64;
        Ok(())
    }

    /// Writes the header with `metadata` and puts the file in its place.
    pub fn finish<'m>(mut self, metadata: impl IntoIterator<Item = (&'m str, String)>) -> io::Result<()> {
        self.check_complete()?;
        let metadata: Map<String, Value> =
            metadata.into_iter().map(|(key, value)| (key.to_owned(), Value::String(value))).collect();
        let mut header = Map::new();
        header.insert("__metadata__".into(), Value::Object(metadata));
        header.append(&mut self.header);
        let mut text = Value::Object(header).to_string().into_bytes();
        text.resize(text.len().next_multiple_of(8), b' ');

        self.spool.flush()?;
        let spool = self.spool.get_mut();
        spool.rewind()?;
        let part_path = beside(&self.path, "part");
        let mut part = File::create(&part_path)?;
        part.write_all(&(text.len() as u64).to_le_bytes())?;
        part.write_all(&text)?;
        io::copy(spool, &mut part)?;
        fs::rename(part_path, &self.path)
    }

    /// Each tensor has as many values as its shape says.
    fn check_complete(&self) -> io::Result<()> {
        if self.written == self.end {
            return Ok(());
        }
        let last = self.header.keys().next_back().map_or("", String::as_str);
        Err(invalid(format!("tensor '{last}' ends at byte {}, {} were written", self.end, self.written)))
    }
}

impl Drop for SafetensorsFile {
    fn drop(&mut self) {
        // A spool that cannot be removed is left behind; there is nobody to tell.
        let _ = fs::remove_file(&self.spool_path);
    }
}

fn beside(path: &Path, what: &str) -> PathBuf {
    let mut name = OsString::from(path.file_name().unwrap_or_default());
    name.push(format!(".{}.{what}", std::process::id()));
    path.with_file_name(name)
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}
