//! Two runs of a model side by side: which op is the first to go wrong, and how far apart the two are.
//!
//! Both backends compute the same steps from the same tokens, op by op ([`lockstep`]). Each op of the right one has two readings:
//!
//! * *local*: the oracle computes the op on exactly the inputs that the right backend had. What lies outside the bound that follows
//!   from its declared numerics is this op's fault, and no other's.
//! * *inherited*: how far the result is from the left backend's, whose inputs may have differed. It says how far the stream has
//!   drifted, and blames nobody.
//!
//! Besides, weights and indices must have the same bytes on both sides, and no op may change its inputs.
//!
//! [`stored`] compares two runs that were written to files, perhaps by another engine; only the second reading exists there.

mod drift;
mod left;
pub mod lockstep;
mod right;
pub mod stored;

use std::path::PathBuf;

use kernels::{Identity, Site, Verdict, Worst};
use serde::{Deserialize, Serialize};

pub use drift::Drift;

use crate::pattern::Guess;
use crate::provenance::ModelId;

/// Findings that are kept; the heat map has all.
pub const KEPT: usize = 200;

/// A comparison of two runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Diff {
    /// The left run.
    pub left: Side,
    /// The right run, which is judged.
    pub right: Side,
    /// The model.
    pub model: Option<ModelId>,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Passes through the model.
    pub steps: usize,
    /// Each op that was compared, in order.
    pub cells: Vec<Cell>,
    /// What is wrong, in order; the first one is the first divergence. At most [`KEPT`].
    pub findings: Vec<Finding>,
    /// Findings in all.
    pub found: usize,
    /// Elements compared with the oracle.
    pub compared: usize,
    /// Time, in seconds.
    pub seconds: f64,
}

/// One of two runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Side {
    /// Backend, as on the command line, or file.
    pub name: String,
    /// What it ran on.
    pub device: String,
}

impl Side {
    /// The backend that was asked for by `name`.
    pub fn new(name: &str, identity: &Identity) -> Self {
        Side { name: name.into(), device: identity.device.clone() }
    }
}

/// The readings of one op.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// Where.
    #[serde(flatten)]
    pub site: Site,
    /// The op, or the tensor's name where only that is known.
    pub op: String,
    /// Local: largest share of the budget that an element used; `None` where there is no oracle.
    #[serde(with = "extended_option")]
    pub share: Option<f64>,
    /// Local: distance of that element from the oracle's value, in units in the last place. At most 0.5 is the correctly rounded value.
    #[serde(with = "extended_option", default)]
    pub ulps: Option<f64>,
    /// Local: error of the tensor as a whole, divided by what rounding explains.
    pub rms: Option<f64>,
    /// Inherited: distance from the left run.
    pub drift: Option<Drift>,
}

impl Cell {
    /// The op called `op` at `site`, before anything is known of it.
    fn new(site: Site, op: &str) -> Self {
        Cell { site, op: op.into(), share: None, ulps: None, rms: None, drift: None }
    }
}

/// What kind of thing is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The op's result is outside its bound, on the inputs that it had.
    Local,
    /// Weights or indices are not the same on both sides.
    Operand,
    /// The op changed one of its inputs.
    InputChanged,
    /// The device failed.
    Fault,
    /// The two runs are further apart than they may be.
    Inherited,
}

/// Something wrong.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// What kind.
    pub kind: Kind,
    /// Where.
    pub site: Site,
    /// The op.
    pub op: String,
    /// The operand.
    pub operand: String,
    /// Its type and shape.
    pub layout: String,
    /// What is wrong, in a sentence.
    pub what: String,
    /// The comparison with the oracle.
    pub verdict: Option<Verdict>,
    /// The left run's value of the worst element.
    pub left: Option<f64>,
    /// In which way it is wrong.
    pub guesses: Vec<Guess>,
    /// Values that are right, and values that came out, counted by magnitude.
    pub histogram: Option<Histogram>,
    /// The file that shows it.
    pub capsule: Option<PathBuf>,
}

impl Finding {
    /// The worst element.
    pub fn worst(&self) -> Option<&Worst> {
        self.verdict.as_ref()?.worst.as_ref()
    }
}

/// Columns of a [`Histogram`].
pub const COLUMNS: usize = 40;

/// How often values occur in a right and in a wrong tensor, over the range that both have together.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Histogram {
    /// Smallest finite value.
    pub low: f64,
    /// Largest.
    pub high: f64,
    /// Counts of the right tensor in equal columns.
    pub want: Vec<usize>,
    /// Counts of the other.
    pub got: Vec<usize>,
    /// Values of the other that are not finite.
    pub not_finite: usize,
}

impl Histogram {
    /// The histogram of two tensors.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the columns")]
    pub fn new(want: &[f64], got: &[f64]) -> Self {
        let finite = || want.iter().chain(got).copied().filter(|v| v.is_finite());
        let (low, high) =
            (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 0.0) };
        let width = ((high - low) / COLUMNS as f64).max(f64::MIN_POSITIVE);
        let count = |values: &[f64]| {
            let mut columns = vec![0; COLUMNS];
            for v in values.iter().filter(|v| v.is_finite()) {
                columns[(((v - low) / width) as usize).min(COLUMNS - 1)] += 1;
            }
            columns
        };
        let not_finite = got.iter().filter(|v| !v.is_finite()).count();
        Histogram { low, high, want: count(want), got: count(got), not_finite }
    }
}

impl Diff {
    /// Whether nothing is wrong, and something was compared.
    pub fn agrees(&self) -> bool {
        self.found == 0 && !self.cells.is_empty()
    }

    /// The first divergence.
    pub fn first(&self) -> Option<&Finding> {
        self.findings.first()
    }
}

/// Shares can be infinite, which JSON cannot say.
mod extended_option {
    use serde::{Deserialize, Deserializer, Serializer};
    use serde_json::Value;

    #[expect(clippy::ref_option, reason = "the signature that serde calls")]
    pub fn serialize<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) if value.is_finite() => serializer.serialize_f64(*value),
            Some(_) => serializer.serialize_str("inf"),
            None => serializer.serialize_none(),
        }
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(None),
            Value::String(word) if word == "inf" => Ok(Some(f64::INFINITY)),
            other => match other.as_f64() {
                Some(value) => Ok(Some(value)),
                None => Err(serde::de::Error::custom(format!("{other} is no share"))),
            },
        }
    }
}
