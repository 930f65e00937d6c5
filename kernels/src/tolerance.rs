//! What an oracle answers, and how an output is compared with it.
//!
//! An oracle gives for each output either its exact bits or, per element, the value and the largest error that
//! a correct implementation can make. [`Expected::judge`] compares. A comparison passes only where
//! `error <= bound` holds, so a NaN that should not be there fails. An infinite bound says that the op's page leaves the
//! element unspecified; only there does anything pass.

use serde::{Deserialize, Serialize};

use crate::bias::{self, Bias, Spread};
use crate::quant;
use crate::{DType, Float, Layout, Numerics};

/// The right answer for one output of an op.
#[derive(Clone, PartialEq, Debug)]
pub enum Expected {
    /// Exactly these bytes, elements in row-major order; where the elements are floats, any NaN stands for any NaN.
    Bits(Vec<u8>),
    /// For each element in row-major order: the value, and how far from it a correct result can be.
    Within {
        /// Value in f64.
        value: Vec<f64>,
        /// Largest error.
        bound: Vec<f64>,
        /// Usual error, for the tensor as a whole.
        typical: Vec<f64>,
        /// Parts of the error, for the mean over the tensor.
        spread: Vec<Spread>,
    },
}

/// An element of an exact result, with what its error scales with. Each bounded op's page defines one, and
/// derives the bound.
pub trait Judged {
    /// The exact result.
    fn value(&self) -> f64;

    /// Largest error of a correct implementation that computes as `numerics` says and stores the result as `out`.
    fn bound(&self, numerics: &Numerics, out: Float) -> f64;

    /// Parts of that error, for [`bias`](crate::bias).
    fn spread(&self, numerics: &Numerics, out: Float) -> Spread;
}

/// The element that used most of its bound.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Worst {
    /// Position in the tensor.
    pub index: Vec<usize>,
    /// What the backend computed.
    #[serde(with = "crate::extended")]
    pub got: f64,
    /// What the oracle computed.
    #[serde(with = "crate::extended")]
    pub want: f64,
    /// Largest permissible difference.
    #[serde(with = "crate::extended")]
    pub bound: f64,
    /// Difference in units in the last place of the output's type at `want`.
    #[serde(with = "crate::extended")]
    pub ulps: f64,
    /// Difference divided by bound; infinite where the bound is 0 and the difference is not.
    #[serde(with = "crate::extended")]
    pub share: f64,
}

/// Outcome of a comparison.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Verdict {
    /// Elements compared.
    pub compared: usize,
    /// Elements outside their bound.
    pub outside: usize,
    /// The element that used most of its bound; `None` only where nothing was compared.
    pub worst: Option<Worst>,
    /// Root mean square error divided by its estimate, where there are enough elements to say.
    pub rms_share: Option<f64>,
    /// Mean signed error, where roundings are expected.
    #[serde(default)]
    pub bias: Option<Bias>,
}

/// Elements from which on the error of a tensor as a whole is judged.
const RMS_ELEMENTS: usize = 64;

/// The estimate of the root mean square error takes roundings as independent and magnitudes as equal; a correct
/// implementation stays well below it. This factor is the room for what is not independent.
const RMS_ROOM: f64 = 4.0;

impl Verdict {
    /// True where something was compared and everything is inside its bound.
    pub fn passed(&self) -> bool {
        let explained = self.bias.as_ref().is_none_or(|bias| bias.share() <= 1.0);
        self.passed_but_for_bias() && explained
    }

    /// True where something was compared, everything is inside its bound, and the tensor's error is no larger than usual, whatever its
    /// mean.
    pub fn passed_but_for_bias(&self) -> bool {
        self.compared > 0 && self.outside == 0 && self.rms_share.is_none_or(|share| share <= 1.0)
    }
}

impl Expected {
    /// The answer made of `elements`, for a backend that computes as `numerics` says and stores the results as `out`.
    pub fn within<'e, J: Judged + 'e>(
        elements: impl IntoIterator<Item = &'e J>,
        numerics: &Numerics,
        out: Float,
    ) -> Self {
        let estimate = numerics.typical();
        let (mut value, mut bound, mut typical) = (Vec::new(), Vec::new(), Vec::new());
        let mut spread = Vec::new();
        for element in elements {
            value.push(element.value());
            let largest = element.bound(numerics, out);
            // What is unspecified has no bias either.
            let specified = if largest < f64::INFINITY { 0.0 } else { f64::INFINITY };
            let parts = element.spread(numerics, out);
            bound.push(largest);
            typical.push(element.bound(&estimate, out));
            spread.push(Spread { systematic: parts.systematic + specified, ..parts });
        }
        Expected::Within { value, bound, typical, spread }
    }

    /// Compares `got`, the elements of a tensor of type and shape `layout` in row-major order.
    pub fn judge(&self, layout: &Layout, got: &[u8]) -> Verdict {
        let elements = layout.elements().unwrap_or(0);
        match self {
            Expected::Bits(want) => judge_bits(layout, want, got),
            Expected::Within { value, bound, typical, spread } => {
                let got = numbers(layout.dtype(), got);
                if [got.len(), value.len(), bound.len(), typical.len(), spread.len()] != [elements; 5] {
                    return Verdict::default();
                }
                let out = float_of(layout.dtype());
                let pairs = got.iter().zip(value).zip(bound);
                let mut verdict = collect(layout, pairs.map(|((&g, &w), &b)| compare(out, g, w, b)));
                verdict.rms_share = rms_share(&got, value, typical);
                let width = layout.shape().last().copied().unwrap_or(1);
                verdict.bias = bias::estimate(width, &got, value, spread);
                verdict
            }
        }
    }
}

/// Difference of one element, before it has a place.
struct Difference {
    got: f64,
    want: f64,
    bound: f64,
    ulps: f64,
    share: f64,
}

fn compare(out: Float, got: f64, want: f64, bound: f64) -> Difference {
    let error = if same_special(out, got, want, bound) { 0.0 } else { (got - want).abs() };
    let share = if error == 0.0 {
        0.0
    } else if error <= bound {
        error / bound
    } else if bound > 0.0 && error.is_finite() {
        // Rounding of the quotient must not turn an error beyond the bound into a share of 1.
        (error / bound).max(1.0 + f64::EPSILON)
    } else {
        f64::INFINITY
    };
    Difference { got, want, bound, ulps: error / out.ulp(want), share }
}

/// Unspecified, NaN where NaN is right, an infinity where it is right, or an overflow that the bound allows.
#[expect(clippy::float_cmp, reason = "equality is the question")]
fn same_special(out: Float, got: f64, want: f64, bound: f64) -> bool {
    if bound == f64::INFINITY {
        return true;
    }
    if want.is_nan() || got.is_nan() {
        return want.is_nan() && got.is_nan();
    }
    if got.is_infinite() {
        return got == want || (want.signum() == got.signum() && want.abs() + bound > out.largest());
    }
    got == want
}

fn rms_share(got: &[f64], want: &[f64], typical: &[f64]) -> Option<f64> {
    let (mut errors, mut estimates, mut n) = (0.0, 0.0, 0usize);
    for ((g, w), t) in got.iter().zip(want).zip(typical) {
        if g.is_finite() && w.is_finite() && t.is_finite() {
            errors += (g - w) * (g - w);
            estimates += t * t;
            n += 1;
        }
    }
    (n >= RMS_ELEMENTS && estimates > 0.0).then(|| (errors / estimates).sqrt() / RMS_ROOM)
}

fn judge_bits(layout: &Layout, want: &[u8], got: &[u8]) -> Verdict {
    if want.len() != got.len() || layout.densified().byte_range().map(|r| r.len()) != Some(got.len()) {
        return Verdict::default();
    }
    let dtype = layout.dtype();
    let mut differences = Vec::new();
    for (got, want) in got.chunks_exact(dtype.block_bytes()).zip(want.chunks_exact(dtype.block_bytes())) {
        let equal = got == want;
        for (g, w) in numbers(dtype, got).into_iter().zip(numbers(dtype, want)) {
            // A quantised block is right or wrong as a whole; its elements are only shown.
            let nan = g.is_nan() && w.is_nan() && !dtype.is_quantised();
            differences.push(exact_difference(float_of(dtype), g, w, equal || nan));
        }
    }
    collect(layout, differences)
}

fn exact_difference(out: Float, got: f64, want: f64, equal: bool) -> Difference {
    let share = if equal { 0.0 } else { f64::INFINITY };
    Difference {
        got,
        want,
        bound: 0.0,
        ulps: if equal { 0.0 } else { (got - want).abs() / out.ulp(want) },
        share,
    }
}

fn collect(layout: &Layout, differences: impl IntoIterator<Item = Difference>) -> Verdict {
    let mut verdict = Verdict::default();
    for (at, d) in differences.into_iter().enumerate() {
        verdict.compared += 1;
        verdict.outside += usize::from(d.share > 1.0);
        if verdict.worst.as_ref().is_none_or(|w| d.share > w.share) {
            let index = place(layout.shape(), at);
            verdict.worst =
                Some(Worst { index, got: d.got, want: d.want, bound: d.bound, ulps: d.ulps, share: d.share });
        }
    }
    verdict
}

/// Index in a tensor of shape `shape` of its element number `at` in row-major order.
fn place(shape: &[usize], mut at: usize) -> Vec<usize> {
    let mut index: Vec<_> = shape
        .iter()
        .rev()
        .map(|&extent| {
            let i = at % extent.max(1);
            at /= extent.max(1);
            i
        })
        .collect();
    index.reverse();
    index
}

/// The format in which an output's units in the last place are counted.
fn float_of(dtype: DType) -> Float {
    dtype.float().unwrap_or(Float::F32)
}

/// Decodes whole blocks; empty where the bytes are not whole blocks.
fn numbers(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    if dtype == DType::U32 {
        let words = bytes.chunks_exact(4);
        return words.map(|w| f64::from(u32::from_le_bytes([w[0], w[1], w[2], w[3]]))).collect();
    }
    let mut row = vec![0.0f32; bytes.len() / dtype.block_bytes() * dtype.block_len()];
    match quant::decode_row(dtype, bytes, &mut row) {
        Ok(()) => row.into_iter().map(f64::from).collect(),
        Err(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::float_cmp, reason = "the numbers are exact")]

    use super::*;

    fn f32_bytes(values: &[f32]) -> Vec<u8> {
        bytemuck::cast_slice(values).to_vec()
    }

    fn within(value: &[f64], bound: f64) -> Expected {
        Expected::Within {
            value: value.to_vec(),
            bound: vec![bound; value.len()],
            typical: vec![bound; value.len()],
            spread: vec![Spread::default(); value.len()],
        }
    }

    fn judge(expected: &Expected, got: &[f32]) -> Verdict {
        expected.judge(&Layout::contiguous(DType::F32, &[got.len()]), &f32_bytes(got))
    }

    #[test]
    fn a_nan_where_a_number_is_due_fails() {
        let verdict = judge(&within(&[1.0, 2.0], 1e30), &[1.0, f32::NAN]);
        assert_eq!((verdict.passed(), verdict.outside), (false, 1));
        assert_eq!(verdict.worst.unwrap().index, [1]);
        assert!(!judge(&within(&[f64::NAN], 1.0), &[0.0]).passed());
        assert!(judge(&within(&[f64::NAN], 1.0), &[f32::NAN]).passed());
    }

    #[test]
    fn the_bound_itself_passes_and_the_next_number_fails() {
        let bound = 0.25;
        assert!(judge(&within(&[1.0], bound), &[1.25]).passed());
        assert!(!judge(&within(&[1.0], bound), &[1.25f32.next_up()]).passed());
    }

    #[test]
    fn nothing_compared_is_no_pass() {
        assert!(!Verdict::default().passed());
        assert!(!judge(&within(&[1.0, 2.0], 1.0), &[1.0]).passed());
    }

    #[test]
    fn an_overflow_passes_only_where_the_bound_reaches_the_largest_number() {
        assert!(judge(&within(&[3.402_823_466e38], 1e32), &[f32::INFINITY]).passed());
        assert!(!judge(&within(&[1e38], 1e32), &[f32::INFINITY]).passed());
        assert!(!judge(&within(&[-3.5e38], 1e32), &[f32::INFINITY]).passed());
        assert!(judge(&within(&[f64::NEG_INFINITY], 0.0), &[f32::NEG_INFINITY]).passed());
    }

    #[test]
    fn many_small_errors_fail_together() {
        let value = vec![1.0; 256];
        let spread = vec![Spread::default(); 256];
        let expected = Expected::Within { value, bound: vec![1.0; 256], typical: vec![1e-3; 256], spread };
        let layout = Layout::contiguous(DType::F32, &[256]);
        let off_by = |e: f32| expected.judge(&layout, &f32_bytes(&vec![1.0 + e; 256]));
        assert!(off_by(3e-3).passed());
        let verdict = off_by(6e-3);
        assert_eq!(verdict.outside, 0);
        assert!(!verdict.passed());
    }

    #[test]
    fn bits_distinguish_signed_zeros_but_not_nans() {
        let layout = Layout::contiguous(DType::F32, &[2]);
        let want = Expected::Bits(f32_bytes(&[0.0, f32::NAN]));
        assert!(want.judge(&layout, &f32_bytes(&[0.0, -f32::NAN])).passed());
        assert!(!want.judge(&layout, &f32_bytes(&[-0.0, f32::NAN])).passed());
    }

    #[test]
    fn a_quantised_block_is_judged_by_its_bytes() {
        let layout = Layout::contiguous(DType::Q8_0, &[2, 32]);
        let want = vec![0u8; 68];
        let mut got = want.clone();
        assert!(Expected::Bits(want.clone()).judge(&layout, &got).passed());
        got[40] = 1; // scale 0, so the decoded values are equal
        let verdict = Expected::Bits(want).judge(&layout, &got);
        assert_eq!((verdict.outside, verdict.worst.unwrap().index), (32, vec![1, 0]));
    }

    #[test]
    fn a_verdict_survives_json_whatever_its_numbers() {
        let verdict = judge(&within(&[1.0, 2.0], 0.0), &[1.0, f32::INFINITY]);
        let json = serde_json::to_string(&verdict).unwrap();
        assert_eq!(serde_json::from_str::<Verdict>(&json).unwrap(), verdict, "{json}");
    }

    #[test]
    fn ulps_count_neighbouring_numbers() {
        let verdict = judge(&within(&[1.5], 1.0), &[1.5f32.next_up().next_up().next_up()]);
        assert_eq!(verdict.worst.unwrap().ulps, 3.0);
    }
}
