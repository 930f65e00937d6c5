//! Taps in a safetensors file.
//!
//! A tensor is called `step0.pos0.layer3.q_rope`: step, position of its first row (with `seq2.` before it for a sequence other than 0),
//! layer where there is one, point. The key `taps` of the file's metadata is a JSON list, in the order in which they
//! were recorded, of `name`, `point`, `step`, `phase`, `layer` (−1 outside the layers), `seqs`, `positions`, `shape`.
//!
//! Tensors, names and list are spilled to disk; the memory in use grows by a few bytes a pass.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::{Point, Selection, Tap, TapError, TapSink};
use crate::safetensors_file::SafetensorsFile;
use crate::spill_file::SpillFile;

/// Writes the taps of a selection to a file as they are computed.
#[derive(Debug)]
pub struct TapFile {
    selection: Selection,
    file: SafetensorsFile,
    /// The list of taps, as it is written inside a JSON string.
    list: SpillFile,
    count: usize,
    /// Rows whose taps are complete. The name of a tap starts with its rows: taps of different rows never have the same name.
    rows: HashSet<Rows>,
    /// The current rows.
    current: Option<Rows>,
    /// Names of the taps of the current rows.
    names: HashSet<String>,
}

/// Step, sequence and position of the first row.
type Rows = (usize, u32, u32);

impl TapFile {
    /// Starts a file that [`TapFile::finish`] puts at `path`.
    pub fn create(path: &Path, selection: Selection) -> Result<Self, TapError> {
        let created = SafetensorsFile::create(path).and_then(|file| Ok((file.spill_file()?, file)));
        let (list, file) = created.map_err(|e| io_error(path, e))?;
        Ok(TapFile {
            selection,
            file,
            list,
            count: 0,
            rows: HashSet::new(),
            current: None,
            names: HashSet::new(),
        })
    }

    /// Taps recorded so far.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Adds keys or values of a layer's cache, `[length, kv_heads, head_dim]`, as `kv_cache.layer3.k`.
    pub fn cache(
        &mut self,
        layer: usize,
        which: &str,
        shape: &[usize],
        values: &[f32],
    ) -> Result<(), TapError> {
        let name = format!("kv_cache.layer{layer}.{which}");
        self.write(name, shape, values)
    }

    /// Puts the file at its path, with `metadata` besides the list of taps.
    pub fn finish(mut self, metadata: &[(&str, String)]) -> Result<(), TapError> {
        let path = self.file.path().to_owned();
        let closed = self.list.write_all(if self.count == 0 { b"[]" } else { b"]" });
        closed
            .and_then(|()| self.file.finish_with(metadata.iter().cloned(), Some(("taps", self.list))))
            .map_err(|e| io_error(&path, e))
    }

    fn write(&mut self, name: String, shape: &[usize], values: &[f32]) -> Result<(), TapError> {
        if !self.names.insert(name.clone()) {
            return Err(TapError::Twice { name });
        }
        let written = self.file.tensor(&name, shape).and_then(|()| self.file.append(values));
        written.map_err(|e| io_error(self.file.path(), e))
    }

    fn list_entry(&mut self, entry: &Value) -> io::Result<()> {
        self.list.write_all(if self.count == 0 { b"[" } else { b"," })?;
        // As it is written inside a JSON string: escaped, without the quotes.
        let escaped = Value::from(entry.to_string()).to_string();
        self.list.write_all(&escaped.as_bytes()[1..escaped.len() - 1])?;
        self.count += 1;
        Ok(())
    }
}

impl TapSink for TapFile {
    fn wants(&self, point: Point, layer: Option<usize>) -> bool {
        self.selection.includes(point, layer)
    }

    fn record(&mut self, tap: &Tap<'_>) -> Result<(), TapError> {
        let (name, rows) = (name(tap), (tap.step, first(tap.seqs), first(tap.positions)));
        if self.current != Some(rows) {
            if self.rows.contains(&rows) {
                return Err(TapError::Twice { name });
            }
            self.rows.extend(self.current.replace(rows));
            self.names.clear();
        }
        self.write(name.clone(), tap.shape, tap.values)?;
        let entry = json!({
            "name": name,
            "point": tap.point.name(),
            "step": tap.step,
            "phase": tap.phase.name(),
            "layer": tap.layer.map_or(json!(-1), |l| json!(l)),
            "seqs": tap.seqs,
            "positions": tap.positions,
            "shape": tap.shape,
        });
        let listed = self.list_entry(&entry);
        listed.map_err(|e| io_error(self.file.path(), e))
    }
}

fn first(values: &[u32]) -> u32 {
    values.first().copied().unwrap_or_default()
}

fn name(tap: &Tap<'_>) -> String {
    let seq = match first(tap.seqs) {
        0 => String::new(),
        seq => format!("seq{seq}."),
    };
    let layer = tap.layer.map_or(String::new(), |l| format!("layer{l}."));
    format!("step{}.{seq}pos{}.{layer}{}", tap.step, first(tap.positions), tap.point)
}

fn io_error(path: &Path, source: io::Error) -> TapError {
    TapError::Io { path: path.to_owned(), source }
}
