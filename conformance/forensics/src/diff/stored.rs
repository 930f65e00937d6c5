//! Two runs from files: what `assay run --tap-out` writes, or another engine's dumps in the same form.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use engine::taps::Point;
use kernels::{DType, Expected, Layout, Numerics, Phase, Record, Site, Spread, Stem};
use safetensors::SafeTensors;
use safetensors::tensor::Dtype;
use serde::Deserialize;

use super::{Cell, Diff, Drift, Finding, Histogram, KEPT, Kind, Side};
use crate::pattern::{self, Evidence};

/// Files that cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// The file system's answer.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: std::io::Error,
    },
    /// It holds no taps.
    #[error("{path}: {what}")]
    Content {
        /// The file.
        path: PathBuf,
        /// What is missing or wrong.
        what: String,
    },
    /// The files have no tap in common.
    #[error("{left} and {right} have no tap in common")]
    Nothing {
        /// One file.
        left: PathBuf,
        /// The other.
        right: PathBuf,
    },
    /// A run compared with itself says nothing.
    #[error("{0} is compared with itself")]
    Itself(PathBuf),
}

/// An entry of the key `taps`.
#[derive(Deserialize)]
struct Entry {
    name: String,
    point: String,
    step: usize,
    phase: Phase,
    layer: i64,
    shape: Vec<usize>,
}

/// Compares the taps that both files have, in the left one's order. Two tensors further apart than `limit`, relative to the
/// left one, are a finding; the first one ends the comparison unless `collect`.
pub fn compare(left: &Path, right: &Path, limit: f64, collect: bool) -> Result<Diff, StoredError> {
    let begin = Instant::now();
    let (left_bytes, right_bytes) = (read(left)?, read(right)?);
    if left_bytes == right_bytes {
        return Err(StoredError::Itself(right.into()));
    }
    let entries = taps(left, &left_bytes)?;
    let others: HashMap<String, Entry> =
        taps(right, &right_bytes)?.into_iter().map(|e| (e.name.clone(), e)).collect();
    let (left_file, right_file) = (open(left, &left_bytes)?, open(right, &right_bytes)?);
    let side = |path: &Path| Side { name: path.display().to_string(), device: "from a file".into() };
    let mut diff = Diff {
        left: side(left),
        right: side(right),
        model: None,
        prompt_tokens: 0,
        steps: 0,
        cells: Vec::new(),
        findings: Vec::new(),
        found: 0,
        compared: 0,
        seconds: 0.0,
    };
    for entry in entries.iter().filter(|e| others.contains_key(&e.name)) {
        let (want, got) = (values(left, &left_file, &entry.name)?, values(right, &right_file, &entry.name)?);
        let elements = entry.shape.iter().try_fold(1, |count: usize, extent| count.checked_mul(*extent));
        if elements != Some(want.len()) {
            let what = format!(
                "tap '{}' is listed as {:?} and has {} elements",
                entry.name,
                entry.shape,
                want.len()
            );
            return Err(content(left, what));
        }
        let site = Site {
            step: entry.step,
            phase: entry.phase,
            layer: usize::try_from(entry.layer).ok(),
            point: entry.point.clone().into(),
        };
        let drift = Drift::between(&want, &got);
        diff.compared += want.len().min(got.len());
        diff.steps = diff.steps.max(entry.step.saturating_add(1));
        diff.cells.push(Cell { drift, ..Cell::new(site.clone(), &entry.point) });
        if drift.is_some_and(|drift| !drift.exceeds(limit)) {
            continue;
        }
        diff.found += 1;
        if diff.findings.len() < KEPT {
            diff.findings.push(finding(entry, site, &want, &got, drift, limit));
        }
        if !collect {
            break;
        }
    }
    if diff.cells.is_empty() {
        return Err(StoredError::Nothing { left: left.into(), right: right.into() });
    }
    diff.seconds = begin.elapsed().as_secs_f64();
    Ok(diff)
}

fn finding(
    entry: &Entry,
    site: Site,
    want: &[f64],
    got: &[f64],
    drift: Option<Drift>,
    limit: f64,
) -> Finding {
    let what = match drift {
        None => format!("{} elements on the left, {} on the right", want.len(), got.len()),
        Some(d) if d.incomparable > 0 => format!("{} elements are numbers on one side only", d.incomparable),
        Some(d) => format!(
            "relative distance {:.3e}, the limit is {limit:.1e}; most at element {}: left {}, right {}",
            d.relative, d.at, want[d.at], got[d.at]
        ),
    };
    let layout = Layout::contiguous(DType::F32, &entry.shape);
    let verdict = drift.map(|_| {
        // What the pattern guesser calls wrong: further off than the limit allows an element of usual size to be.
        let usual = (want.iter().map(|v| v * v).sum::<f64>() / want.len() as f64).sqrt();
        let expected = Expected::Within {
            value: want.to_vec(),
            bound: want.iter().map(|v| limit * (v.abs() + usual)).collect(),
            typical: vec![0.0; want.len()],
            spread: vec![Spread::default(); want.len()],
        };
        let bytes: Vec<u8> = got.iter().flat_map(|v| narrow(*v).to_le_bytes()).collect();
        let verdict = expected.judge(&layout, &bytes);
        // A tap has no op: the record says nothing, and only what follows from the tensors is guessed.
        let record = Record::new(Stem::Copy);
        let guesses = pattern::guess(&Evidence {
            record: &record,
            output: 0,
            layout: &layout,
            expected: &expected,
            got: &bytes,
            numerics: &Numerics::F32,
            earlier: &[],
        });
        (verdict, guesses)
    });
    let (verdict, guesses) = verdict.map_or((None, Vec::new()), |(v, g)| (Some(v), g));
    Finding {
        kind: Kind::Inherited,
        site,
        op: entry.point.clone(),
        operand: entry.name.clone(),
        layout: format!("{layout:?}"),
        what,
        left: verdict.as_ref().and_then(|v| v.worst.as_ref()).map(|w| w.want),
        verdict,
        guesses,
        histogram: Some(Histogram::new(want, got)),
        capsule: None,
    }
}

fn read(path: &Path) -> Result<Vec<u8>, StoredError> {
    input_file::read(path, input_file::BINARY).map_err(|source| StoredError::Io { path: path.into(), source })
}

fn content(path: &Path, what: impl std::fmt::Display) -> StoredError {
    StoredError::Content { path: path.into(), what: what.to_string() }
}

fn open<'b>(path: &Path, bytes: &'b [u8]) -> Result<SafeTensors<'b>, StoredError> {
    SafeTensors::deserialize(bytes).map_err(|e| content(path, e))
}

/// The list of taps; from the tensors' names where the file has no such list.
fn taps(path: &Path, bytes: &[u8]) -> Result<Vec<Entry>, StoredError> {
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|e| content(path, e))?;
    let listed = metadata.metadata().as_ref().and_then(|keys| keys.get("taps"));
    if let Some(list) = listed {
        return serde_json::from_str(list).map_err(|e| content(path, format!("metadata key 'taps': {e}")));
    }
    let file = open(path, bytes)?;
    let mut entries: Vec<Entry> =
        file.tensors().into_iter().filter_map(|(name, view)| named(name, view.shape())).collect();
    let order = |point: &str| point.parse::<Point>().ok();
    entries.sort_by_key(|e| {
        let point = order(&e.point);
        let last = point.is_some_and(|p| !p.in_layer() && p != Point::EmbedOut);
        (e.step, last, e.layer, point)
    });
    Ok(entries)
}

/// `step0.pos0.layer3.q_rope` as an entry.
fn named(name: String, shape: &[usize]) -> Option<Entry> {
    let mut entry = Entry {
        point: String::new(),
        step: 0,
        phase: Phase::Prefill,
        layer: -1,
        shape: shape.to_vec(),
        name,
    };
    for part in entry.name.clone().split('.') {
        if let Some(step) = part.strip_prefix("step").and_then(|n| n.parse().ok()) {
            entry.step = step;
            entry.phase = if step == 0 { Phase::Prefill } else { Phase::Decode };
        } else if let Some(layer) = part.strip_prefix("layer").and_then(|n| n.parse().ok()) {
            entry.layer = layer;
        } else if part.parse::<Point>().is_ok() {
            entry.point = part.into();
        }
    }
    (!entry.point.is_empty()).then_some(entry)
}

fn values(path: &Path, file: &SafeTensors<'_>, name: &str) -> Result<Vec<f64>, StoredError> {
    let tensor = file.tensor(name).map_err(|e| content(path, format!("tensor '{name}': {e}")))?;
    let data = tensor.data();
    Ok(match tensor.dtype() {
        Dtype::F32 => bytemuck::pod_collect_to_vec::<u8, f32>(data).into_iter().map(f64::from).collect(),
        Dtype::F64 => bytemuck::pod_collect_to_vec(data),
        Dtype::F16 => {
            bytemuck::pod_collect_to_vec::<u8, half::f16>(data).into_iter().map(f64::from).collect()
        }
        Dtype::BF16 => {
            bytemuck::pod_collect_to_vec::<u8, half::bf16>(data).into_iter().map(f64::from).collect()
        }
        other => {
            return Err(content(path, format!("tensor '{name}' is {other:?}: want F32, F64, F16 or BF16")));
        }
    })
}

#[expect(clippy::cast_possible_truncation, reason = "the tensors of a run are f32")]
fn narrow(x: f64) -> f32 {
    x as f32
}

#[cfg(test)]
mod tests {
    use engine::safetensors_file::SafetensorsFile;

    use super::*;

    fn stored(path: &Path, value: f32, shape: &[usize], step: usize) {
        let mut file = SafetensorsFile::create(path).unwrap();
        file.tensor("q", &[1, 4]).unwrap();
        file.append(&[value, 1.0, 2.0, 3.0]).unwrap();
        let entry = serde_json::json!({
            "name": "q", "point": "q", "step": step, "phase": "prefill", "layer": 0, "shape": shape
        });
        file.finish([("taps", serde_json::json!([entry]).to_string())]).unwrap();
    }

    #[test]
    fn a_list_that_tells_of_other_shapes_than_the_tensors_have_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (left, right) = (folder.path().join("left"), folder.path().join("right"));
        stored(&right, 0.5, &[1, 4], 0);
        for shape in [&[1 << 40][..], &[usize::MAX, 2], &[3]] {
            stored(&left, 0.0, shape, 0);
            let error = compare(&left, &right, 0.1, true).unwrap_err().to_string();
            assert!(error.contains("tap 'q' is listed as") && error.contains("has 4 elements"), "{error}");
        }
        stored(&left, 0.0, &[1, 4], usize::MAX);
        assert_eq!(compare(&left, &right, 0.1, true).unwrap().found, 1);
    }
}
