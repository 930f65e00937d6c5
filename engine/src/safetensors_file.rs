//! Writing f32 tensors to a safetensors file without holding them in memory.
//!
//! The header of such a file comes first and names all tensors, so their data are spooled to a file beside it; at the end
//! the header is written and the data follow. Nothing stands at the file's own path before it is whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::spill_file::{Spool, beside};

/// A file under way. It holds neither tensors nor their names: a name must be given once only.
#[derive(Debug)]
pub struct SafetensorsFile {
    path: PathBuf,
    data: Spool,
    /// Header entries as text, each with a comma before it.
    entries: Spool,
    /// The tensor that was begun last.
    last: String,
    /// Where it ends.
    end: u64,
}

impl SafetensorsFile {
    /// A file that will stand at `path`.
    pub fn create(path: &Path) -> io::Result<Self> {
        let (data, entries) = (Spool::create(path, "data")?, Spool::create(path, "entries")?);
        Ok(SafetensorsFile { path: path.to_owned(), data, entries, last: String::new(), end: 0 })
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
        write!(self.entries, ",{}:{entry}", Value::from(name))?;
        name.clone_into(&mut self.last);
        self.end = end;
        Ok(())
    }

    /// The next values of the tensor that was begun last.
    pub fn append(&mut self, values: &[f32]) -> io::Result<()> {
        values.iter().try_for_each(|value| self.data.write_all(&value.to_le_bytes()))
    }

    /// Writes the header with `metadata` and puts the file in its place.
    pub fn finish<'m>(self, metadata: impl IntoIterator<Item = (&'m str, String)>) -> io::Result<()> {
        self.finish_with(metadata, None)
    }

    /// As [`SafetensorsFile::finish`], with one key more, whose value is spooled as it stands inside a JSON string.
    pub fn finish_with<'m>(
        mut self,
        metadata: impl IntoIterator<Item = (&'m str, String)>,
        long: Option<(&str, Spool)>,
    ) -> io::Result<()> {
        self.check_complete()?;
        let keys: Vec<String> = metadata
            .into_iter()
            .map(|(key, value)| format!("{}:{}", Value::from(key), Value::from(value)))
            .collect();
        let opening = match &long {
            Some((key, _)) => format!("{}{}:\"", if keys.is_empty() { "" } else { "," }, Value::from(*key)),
            None => String::new(),
        };
        let head = format!("{{\"__metadata__\":{{{}{opening}", keys.join(","));
        let mut long = long.map(|(_, spool)| spool);
        let middle = if long.is_some() { "\"}" } else { "}" };
        let long_len = long.as_ref().map_or(0, Spool::len);
        let len = head.len() as u64 + long_len + middle.len() as u64 + self.entries.len() + 1;
        let padded = len.next_multiple_of(8);

        let part_path = beside(&self.path, "part");
        let mut part = File::create(&part_path)?;
        part.write_all(&padded.to_le_bytes())?;
        part.write_all(head.as_bytes())?;
        if let Some(long) = &mut long {
            long.copy_to(&mut part)?;
        }
        part.write_all(middle.as_bytes())?;
        self.entries.copy_to(&mut part)?;
        write!(part, "}}{}", " ".repeat(usize::try_from(padded - len).unwrap_or(0)))?;
        self.data.copy_to(&mut part)?;
        fs::rename(part_path, &self.path)
    }

    /// Each tensor has as many values as its shape says.
    fn check_complete(&self) -> io::Result<()> {
        if self.data.len() == self.end {
            return Ok(());
        }
        let (last, end, written) = (&self.last, self.end, self.data.len());
        Err(invalid(format!("tensor '{last}' ends at byte {end}, {written} were written")))
    }
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}
