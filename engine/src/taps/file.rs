//! Taps in a safetensors file.
//!
//! A tensor is called `step0.pos0.layer3.q_rope`: step, position of its first row (with `seq2.` before it for a sequence other than 0),
//! layer where there is one, point. The key `taps` of the file's metadata is a JSON list, in the order in which they
//! were taken, of `name`, `point`, `step`, `phase`, `layer` (−1 outside the layers), `seqs`, `positions`, `shape`.

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Value, json};

use super::{Point, Selection, Tap, TapError, TapSink};
use crate::safetensors_file::SafetensorsFile;

/// A file that takes the taps of a selection as they come.
#[derive(Debug)]
pub struct TapFile {
    selection: Selection,
    file: SafetensorsFile,
    names: HashSet<String>,
    taps: Vec<Value>,
}

impl TapFile {
    /// A file at `path`, which appears there when [`TapFile::finish`] is called.
    pub fn create(path: &Path, selection: Selection) -> Result<Self, TapError> {
        let file = SafetensorsFile::create(path).map_err(|e| io_error(path, e))?;
        Ok(TapFile { selection, file, names: HashSet::new(), taps: Vec::new() })
    }

    /// Taps taken so far.
    pub fn count(&self) -> usize {
        self.taps.len()
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

    /// Puts the file in its place, with `metadata` besides the list of taps.
    pub fn finish(self, metadata: &[(&str, String)]) -> Result<(), TapError> {
        let taps = Value::Array(self.taps).to_string();
        let all = metadata.iter().cloned().chain([("taps", taps)]);
        let path = self.file.path().to_owned();
        self.file.finish(all).map_err(|e| io_error(&path, e))
    }

    fn write(&mut self, name: String, shape: &[usize], values: &[f32]) -> Result<(), TapError> {
        if !self.names.insert(name.clone()) {
            return Err(TapError::Twice { name });
        }
        let written = self.file.tensor(&name, shape).and_then(|()| self.file.append(values));
        written.map_err(|e| io_error(self.file.path(), e))
    }
}

impl TapSink for TapFile {
    fn wants(&self, point: Point, layer: Option<usize>) -> bool {
        self.selection.includes(point, layer)
    }

    fn take(&mut self, tap: &Tap<'_>) -> Result<(), TapError> {
        let name = name(tap);
        self.write(name.clone(), tap.shape, tap.values)?;
        self.taps.push(json!({
            "name": name,
            "point": tap.point.name(),
            "step": tap.step,
            "phase": tap.phase.name(),
            "layer": tap.layer.map_or(json!(-1), |l| json!(l)),
            "seqs": tap.seqs,
            "positions": tap.positions,
            "shape": tap.shape,
        }));
        Ok(())
    }
}

fn name(tap: &Tap<'_>) -> String {
    let first = |values: &[u32]| values.first().copied().unwrap_or_default();
    let seq = match first(tap.seqs) {
        0 => String::new(),
        seq => format!("seq{seq}."),
    };
    let layer = tap.layer.map_or(String::new(), |l| format!("layer{l}."));
    format!("step{}.{seq}pos{}.{layer}{}", tap.step, first(tap.positions), tap.point)
}

fn io_error(path: &Path, source: std::io::Error) -> TapError {
    TapError::Io { path: path.to_owned(), source }
}
