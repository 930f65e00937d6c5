//! Writing f32 tensors to a safetensors file without holding them in memory.
//!
//! The header of such a file comes first and names all tensors. Their data are therefore spilled to a temporary file; at the
//! end the header is written and the data are copied after it. The output appears at its path when it is complete.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::spill_file::SpillFile;
use output_file::OutputFile;

/// The header's length is padded to a multiple of this, so that the data are aligned.
const HEADER_ALIGNMENT: u64 = 8;

/// A file being written. It holds neither tensors nor their names in memory: the caller must not use a name twice.
#[derive(Debug)]
pub struct SafetensorsFile {
    path: PathBuf,
    output: OutputFile,
    data: SpillFile,
    /// Header entries as text, each with a comma before it.
    entries: SpillFile,
    /// Name of the current tensor.
    current: String,
    /// End of the current tensor in the data, in bytes.
    end: u64,
}

impl SafetensorsFile {
    /// Starts a file that [`SafetensorsFile::finish`] puts at `path`.
    pub fn create(path: &Path) -> io::Result<Self> {
        let output = OutputFile::create(path)?;
        let directory = output.temporary_directory();
        let (data, entries) = (SpillFile::create(&directory)?, SpillFile::create(&directory)?);
        Ok(SafetensorsFile { path: path.to_owned(), output, data, entries, current: String::new(), end: 0 })
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// An empty temporary file on the same disk, for [`SafetensorsFile::finish_with`].
    pub fn spill_file(&self) -> io::Result<SpillFile> {
        SpillFile::create(&self.output.temporary_directory())
    }

    /// Starts the tensor `name`, whose values follow by [`SafetensorsFile::append`].
    pub fn tensor(&mut self, name: &str, shape: &[usize]) -> io::Result<()> {
        self.check_complete()?;
        let bytes = shape.iter().try_fold(4_u64, |n, &d| n.checked_mul(d as u64));
        let end = bytes.and_then(|bytes| self.end.checked_add(bytes));
        let end = end.ok_or_else(|| invalid(format!("tensor '{name}' {shape:?} is too large")))?;
        let entry = json!({ "dtype": "F32", "shape": shape, "data_offsets": [self.end, end] });
        write!(self.entries, ",{}:{entry}", Value::from(name))?;
        name.clone_into(&mut self.current);
        self.end = end;
        Ok(())
    }

    /// Appends values to the current tensor.
    pub fn append(&mut self, values: &[f32]) -> io::Result<()> {
        values.iter().try_for_each(|value| self.data.write_all(&value.to_le_bytes()))
    }

    /// Writes header, `metadata` and data, and puts the file at its path.
    pub fn finish<'m>(self, metadata: impl IntoIterator<Item = (&'m str, String)>) -> io::Result<()> {
        self.finish_with(metadata, None)
    }

    /// As [`SafetensorsFile::finish`], with one more key of the metadata. Its value comes from a file that holds it as it is
    /// written inside a JSON string, without the quotes.
    pub fn finish_with<'m>(
        mut self,
        metadata: impl IntoIterator<Item = (&'m str, String)>,
        long: Option<(&str, SpillFile)>,
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
        let mut long = long.map(|(_, file)| file);
        let middle = if long.is_some() { "\"}" } else { "}" };
        let long_len = long.as_ref().map_or(0, SpillFile::len);
        let len = head.len() as u64 + long_len + middle.len() as u64 + self.entries.len() + 1;
        let padded = len.next_multiple_of(HEADER_ALIGNMENT);

        let out = &mut self.output;
        out.write_all(&padded.to_le_bytes())?;
        out.write_all(head.as_bytes())?;
        if let Some(long) = &mut long {
            long.copy_to(out)?;
        }
        out.write_all(middle.as_bytes())?;
        self.entries.copy_to(out)?;
        out.write_all(b"}")?;
        for _ in len..padded {
            out.write_all(b" ")?;
        }
        self.data.copy_to(out)?;
        self.output.commit()
    }

    /// Refuses to go on if the current tensor has more or fewer values than its shape says.
    fn check_complete(&self) -> io::Result<()> {
        if self.data.len() == self.end {
            return Ok(());
        }
        let (current, end, written) = (&self.current, self.end, self.data.len());
        Err(invalid(format!("tensor '{current}' ends at byte {end}, {written} were written")))
    }
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}
