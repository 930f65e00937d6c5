//! In which recognisable way a result is wrong.
//!
//! Each guess is a hypothesis with a prediction: what the output would hold if, say, the heads were permuted. The prediction is
//! computed from the same data and compared with what the backend gave; a guess is reported with the share of the wrong elements
//! that it explains, and only where that is most of them.
//!
//! * `moves`: right numbers in wrong places.
//! * `values`: numbers that follow from the right ones, or are something else altogether.
//! * `recomputed`: the right answer to another question: the op with other parameters or operands.
//! * `places`: where the wrong elements lie.

mod moves;
mod places;
mod recomputed;
#[cfg(test)]
mod tests;
mod values;

use kernels::{Expected, Layout, Numerics, Record, quant};
use serde::{Deserialize, Serialize};

/// Share of the wrong elements that a guess must explain to be worth a line.
const WORTH_SAYING: f64 = 0.75;

/// Guesses reported.
const REPORTED: usize = 3;

/// What is known of a wrong output.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'e> {
    /// The op, with the inputs that the backend had.
    pub record: &'e Record,
    /// Which of its outputs, counted from 0.
    pub output: usize,
    /// Type and shape of the output.
    pub layout: &'e Layout,
    /// What is right.
    pub expected: &'e Expected,
    /// What the backend gave, elements in row-major order.
    pub got: &'e [u8],
    /// How the backend computes.
    pub numerics: &'e Numerics,
    /// Other tensors that may have been left in the output, with what they are.
    pub earlier: &'e [(&'static str, &'e [u8])],
}

/// A hypothesis that fits.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Guess {
    /// What happened, in a few words.
    pub what: String,
    /// Share of the wrong elements that it explains, 0 to 1.
    pub explained: f64,
}

/// The output as numbers.
struct Case {
    shape: Vec<usize>,
    want: Vec<f64>,
    bound: Vec<f64>,
    got: Vec<f64>,
    /// Elements outside their bounds.
    wrong: Vec<usize>,
}

impl Case {
    fn new(evidence: &Evidence<'_>) -> Option<Self> {
        let shape = evidence.layout.shape().to_vec();
        let got = numbers(evidence.layout, evidence.got)?;
        let (want, bound) = wanted(evidence.layout, evidence.expected)?;
        if got.len() != want.len() {
            return None;
        }
        let wrong = (0..got.len()).filter(|&i| !near(got[i], want[i], bound[i])).collect();
        Some(Case { shape, want, bound, got, wrong })
    }

    /// Columns: the innermost extent.
    fn columns(&self) -> usize {
        self.shape.last().copied().unwrap_or(1).max(1)
    }

    /// Rows: everything outside it.
    fn rows(&self) -> usize {
        self.got.len() / self.columns()
    }

    /// Share of the wrong elements for which `predicted` gives a value that is met within its bound.
    fn explained(&self, predicted: impl Fn(usize) -> Option<(f64, f64)>) -> f64 {
        let met = |i: &&usize| predicted(**i).is_some_and(|(value, bound)| near(self.got[**i], value, bound));
        self.wrong.iter().filter(met).count() as f64 / self.wrong.len().max(1) as f64
    }

    /// As [`Case::explained`], where element `i` should be element `from(i)`.
    fn moved(&self, from: impl Fn(usize) -> Option<usize>) -> f64 {
        self.explained(|i| {
            let source = from(i).filter(|&source| source < self.want.len())?;
            Some((self.want[source], self.bound[source]))
        })
    }
}

/// Whether `got` is `want` within `bound`; a NaN is a NaN, and an infinity that infinity.
#[expect(clippy::float_cmp, reason = "the distance of two infinities is no number")]
fn near(got: f64, want: f64, bound: f64) -> bool {
    (got.is_nan() && want.is_nan()) || got == want || (got - want).abs() <= bound
}

/// Value and bound of each element.
fn wanted(layout: &Layout, expected: &Expected) -> Option<(Vec<f64>, Vec<f64>)> {
    match expected {
        Expected::Within { value, bound, .. } => Some((value.clone(), bound.clone())),
        Expected::Bits(bytes) => {
            let values = numbers(layout, bytes)?;
            let bound = vec![0.0; values.len()];
            Some((values, bound))
        }
    }
}

/// The elements of a tensor, dense in `bytes`.
pub fn numbers(layout: &Layout, bytes: &[u8]) -> Option<Vec<f64>> {
    if layout.dtype() == kernels::DType::U32 {
        return Some(bytemuck::pod_collect_to_vec::<u8, u32>(bytes).into_iter().map(f64::from).collect());
    }
    let mut values = vec![0.0f32; layout.elements()?];
    quant::decode_row(layout.dtype(), bytes, &mut values).ok()?;
    Some(values.into_iter().map(f64::from).collect())
}

/// The best guesses, the one that explains most first.
pub fn guess(evidence: &Evidence<'_>) -> Vec<Guess> {
    let Some(case) = Case::new(evidence).filter(|case| !case.wrong.is_empty()) else { return Vec::new() };
    let mut guesses = values::guesses(&case, evidence);
    guesses.extend(moves::guesses(&case));
    if guesses.iter().all(|g| g.explained < 1.0) {
        guesses.extend(recomputed::guesses(&case, evidence));
    }
    guesses.retain(|g| g.explained >= WORTH_SAYING);
    // Stable: of guesses that explain as much, the simpler kind stays in front.
    guesses.sort_by(|a, b| b.explained.total_cmp(&a.explained));
    guesses.truncate(REPORTED);
    guesses.extend(places::guess(&case));
    guesses
}
