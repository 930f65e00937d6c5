//! The second judgement: the signed errors of many elements together.
//!
//! The bound of an element leaves room for all of its roundings to point the same way. Those of a whole tensor do not, unless
//! something pushes them: a sum that is truncated instead of rounded, a constant with a wrong digit, a factor that a function is off by.
//! Such a bias can be far below the bound of every element. It shows in a mean.
//!
//! # Model
//!
//! The error of an element is taken apart ([`Spread`], derived on the op's page) into
//!
//! * a *systematic* part, at most `b`: what a correct implementation may do alike to all elements. The errors of elementary functions,
//!   of constants, of operands that were rounded before the op (all outputs of a row share them), and underflows;
//! * the part of roundings that elements of a row *share*, of scale `h`: those of a sum that the whole row is divided by;
//! * the part of its *own* roundings, of scale `o`.
//!
//! Roundings to nearest are taken as independent of each other, with mean 0. A rounding is bounded by `u`, so that it is sub-Gaussian
//! of scale `u` (Hoeffding's lemma) and `k` of them are of scale `√k·u`; in a sum of depth `d` the additions of one level act on
//! disjoint terms, so that the squares of their weights add up to at most 1 and `d` levels are of scale `√d·u`. This is the model of
//! probabilistic error analysis. It fails where a sum swallows terms below half of its last place, always downwards: of relative
//! size `γ(d)²` in f32 and f64, and of any size up to `γ(d)` in shorter formats; and where nearly equal terms are added one after the other, as
//! they may be in a sum of any order, which all round alike: `γ(d)` again. [`Numerics::drift`] counts both as systematic.
//!
//! # Bound
//!
//! Let `cᵢ` be numbers that depend on exact results alone. Whatever the systematic parts are, with `r` for the rows and `λ² = 2·ln(4/α)`
//!
//! `|Σ cᵢ·eᵢ| ≤ Σ |cᵢ|·bᵢ + λ·(√Σ_r (Σ_{i∈r} |cᵢ|·hᵢ)² + √Σ (cᵢ·oᵢ)²)`
//!
//! but for a probability of `α/2`. Scales of sub-Gaussian variables add up even where these depend on each other, so that nothing is
//! assumed about shared and own roundings. Two sums are formed, which halves `α` once more; `ρᵢ² = hᵢ² + oᵢ²`:
//!
//! * `cᵢ = yᵢ/ρᵢ²` estimates a common *factor* by weighted least squares: all results too large or too small by the same share;
//! * `cᵢ = 1/ρᵢ` estimates a common *offset*: all results too high or too low by the same multiple of their `ρ`.
//!
//! Elements with a large systematic part say little. They are put in the order of `b` against what the bias would do to them, and those
//! from the first on are taken for which the bound allows the least bias. That choice does not depend on what was computed. Of elements
//! that are equal in magnitude, which are computed from equal numbers as a rule, one is taken.
//!
//! `α` is [`FALSE_ALARM`].
//!
//! # References
//!
//! Higham and Mary, *A New Approach to Probabilistic Rounding Error Analysis* (2019). Hoeffding, *Probability Inequalities for Sums of
//! Bounded Random Variables* (1963).

use std::fmt;

use serde::{Deserialize, Serialize};

#[cfg(doc)]
use crate::Numerics;

/// Probability that a tensor without a bias is said to have one, under the model of this page: one false alarm in a million sweeps of a
/// million tensors.
pub const FALSE_ALARM: f64 = 1e-12;

/// Parts of the error that a correct implementation can make in an element.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Spread {
    /// Largest error that may have the same sign in all elements.
    pub systematic: f64,
    /// Scale of the roundings that it shares with the other elements of its row.
    pub shared: f64,
    /// Scale of its own roundings.
    pub own: f64,
}

/// What all elements may be off by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A share of the result.
    Factor,
    /// A multiple of the scale of the roundings.
    Offset,
}

/// The mean signed error of a tensor.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Bias {
    /// What it is measured in.
    pub kind: Kind,
    /// The estimate.
    pub measured: f64,
    /// The largest magnitude that systematic parts and chance explain.
    pub room: f64,
    /// Elements that it is estimated from.
    pub elements: usize,
}

impl Bias {
    /// How much of the room is used.
    pub fn share(&self) -> f64 {
        self.measured.abs() / self.room
    }
}

impl fmt::Display for Bias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bias { kind, measured, room, elements } = self;
        match kind {
            Kind::Factor => write!(
                f,
                "{elements} results together are too large by a factor of 1 {} {:.2e}; systematic errors and chance explain {room:.2e}",
                if *measured < 0.0 { '-' } else { '+' },
                measured.abs()
            ),
            Kind::Offset => write!(
                f,
                "{elements} results together are too {} by {:.2} of the scale of their roundings; systematic errors and chance explain {room:.2}",
                if *measured < 0.0 { "low" } else { "high" },
                measured.abs()
            ),
        }
    }
}

/// An element that takes part.
struct Element {
    /// Its row.
    row: usize,
    /// The exact result.
    y: f64,
    /// Its signed error.
    error: f64,
    /// The error's parts.
    spread: Spread,
    /// `ρ`.
    scale: f64,
}

/// The bias of a tensor whose rows have `width` elements; the worse of the two kinds. `None` where no element takes part.
pub fn estimate(width: usize, got: &[f64], want: &[f64], spread: &[Spread]) -> Option<Bias> {
    let numbers = got.iter().zip(want).zip(spread).enumerate();
    let elements = numbers.filter_map(|(at, ((&got, &y), &spread))| {
        let scale = spread.shared.hypot(spread.own);
        let numbers = got.is_finite() && y.is_finite() && scale > 0.0 && scale.is_finite();
        let takes_part = numbers && spread.systematic.is_finite();
        takes_part.then(|| Element { row: at / width.max(1), y, error: got - y, spread, scale })
    });
    let mut elements: Vec<Element> = elements.collect();
    elements.sort_unstable_by_key(|element| element.y.abs().to_bits());
    elements.dedup_by_key(|element| element.y.abs().to_bits());
    let rows = got.len() / width.max(1) + 1;
    let of = |kind| along(kind, rows, &elements);
    [of(Kind::Factor), of(Kind::Offset)].into_iter().flatten().max_by(|a, b| a.share().total_cmp(&b.share()))
}

/// The bias of one kind.
fn along(kind: Kind, rows: usize, elements: &[Element]) -> Option<Bias> {
    // What a bias of 1 does to an element, in units of its ρ.
    let effect = |element: &Element| match kind {
        Kind::Factor => element.y / element.scale,
        Kind::Offset => 1.0,
    };
    let mut chosen: Vec<(f64, f64, &Element)> = elements
        .iter()
        .map(|element| (element, effect(element)))
        .filter(|(_, effect)| *effect != 0.0)
        .map(|(element, effect)| {
            (element.spread.systematic / (element.scale * effect.abs()), effect, element)
        })
        .collect();
    chosen.sort_unstable_by(|(a, ..), (b, ..)| a.total_cmp(b));

    let lambda = (2.0 * (4.0 / FALSE_ALARM).ln()).sqrt();
    let mut shared = vec![0.0; rows];
    let (mut weight, mut systematic, mut shared_squares, mut own_squares) = (0.0, 0.0, 0.0, 0.0f64);
    let mut best: Option<(f64, usize)> = None;
    for (at, (_, effect, Element { row, spread, scale, .. })) in chosen.iter().enumerate() {
        let size = effect.abs();
        weight += size * size;
        systematic += size * spread.systematic / scale;
        own_squares += (size * spread.own / scale).powi(2);
        let of_row: &mut f64 = &mut shared[*row];
        let more = size * spread.shared / scale;
        shared_squares += more * (2.0 * *of_row + more);
        *of_row += more;
        let chance = lambda * (shared_squares.sqrt() + own_squares.sqrt());
        let room = (systematic + chance) / weight;
        if best.is_none_or(|(least, _)| room < least) {
            best = Some((room, at + 1));
        }
    }
    let (room, elements) = best?;
    let taken = &chosen[..elements];
    let (mut sum, mut weight) = (0.0, 0.0);
    for (_, effect, element) in taken {
        sum += effect * element.error / element.scale;
        weight += effect * effect;
    }
    Some(Bias { kind, measured: sum / weight, room, elements })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix64;

    const U: f64 = 1.0 / 16_777_216.0;

    /// Numbers between 1 and 2 with errors drawn by `error`, and the bias that is seen in rows of `width`.
    fn seen(n: usize, width: usize, spread: Spread, mut error: impl FnMut(usize, f64) -> f64) -> Bias {
        let mut random = SplitMix64::new(7);
        let want: Vec<f64> = (0..n).map(|i| (1.0 + random.unit_f64()) * [1.0, -1.0][i % 2]).collect();
        let got: Vec<f64> = want.iter().enumerate().map(|(i, y)| y + error(i, *y)).collect();
        estimate(width, &got, &want, &vec![spread; n]).unwrap()
    }

    fn rounding(random: &mut SplitMix64) -> f64 {
        U * (2.0 * random.unit_f64() - 1.0)
    }

    const OWN: Spread = Spread { systematic: 0.0, shared: 0.0, own: U };

    #[test]
    fn roundings_have_no_bias_and_a_small_factor_among_them_shows() {
        let n = 1 << 14;
        let mut random = SplitMix64::new(1);
        let honest = seen(n, 16, OWN, |_, _| rounding(&mut random));
        assert!(honest.share() < 0.5, "{honest:?}");
        let mut random = SplitMix64::new(1);
        let biased = seen(n, 16, OWN, |_, y| rounding(&mut random) + 0.1 * U * y);
        assert!(biased.share() > 1.0 && biased.kind == Kind::Factor, "{biased:?}");
        assert!((biased.measured - 0.1 * U).abs() < 0.03 * U, "{biased:?}");
    }

    #[test]
    fn an_offset_shows_where_signs_alternate() {
        let mut random = SplitMix64::new(1);
        let biased = seen(1 << 14, 16, OWN, |_, _| rounding(&mut random) + 0.1 * U);
        assert!(biased.share() > 1.0 && biased.kind == Kind::Offset, "{biased:?}");
    }

    #[test]
    fn what_a_row_shares_counts_once_per_row() {
        let shared = Spread { shared: U, own: 0.0, ..OWN };
        let of_rows = [0.9, -0.2, 0.5, 0.8].map(|error| error * U);
        let share = |spread| seen(1 << 14, 1 << 12, spread, |i, y| y * of_rows[i >> 12]).share();
        assert!(share(shared) < 0.5, "{}", share(shared));
        // Taken as the elements' own, the same errors would be no accident.
        assert!(share(OWN) > 2.0, "{}", share(OWN));
    }

    #[test]
    fn a_systematic_part_excuses_what_it_covers_and_steers_clear_of_elements_that_have_more() {
        let b = 2.0 * U;
        let spread = Spread { systematic: b, ..OWN };
        assert!(seen(1 << 14, 16, spread, |_, y| 0.9 * b * y.signum()).share() < 1.0);
        assert!(seen(1 << 14, 16, spread, |_, y| 1.3 * b * y).share() > 1.0);
        let want: Vec<f64> = (0..4096).map(|i| 1.0 + f64::from(i) / 4096.0).collect();
        let got: Vec<f64> = want.iter().map(|y| y * (1.0 + b)).collect();
        let spread: Vec<_> =
            (0..4096).map(|i| Spread { systematic: if i % 8 == 0 { 0.0 } else { 1.0 }, ..OWN }).collect();
        let bias = estimate(16, &got, &want, &spread).unwrap();
        assert_eq!(bias.elements, 512);
        assert!(bias.share() > 1.0);
    }

    #[test]
    fn equal_results_count_once() {
        let want = vec![1.5; 1 << 14];
        let got = vec![1.5 + U; 1 << 14];
        let bias = estimate(16, &got, &want, &vec![OWN; 1 << 14]).unwrap();
        assert!(bias.elements == 1 && bias.share() < 1.0, "{bias:?}");
    }

    #[test]
    fn exact_results_and_those_that_are_no_numbers_take_no_part() {
        assert_eq!(estimate(1, &[1.0, 2.0], &[1.0, 2.0], &[Spread::default(); 2]), None);
        assert_eq!(estimate(1, &[f64::NAN], &[1.0], &[OWN]), None);
        let open = Spread { systematic: f64::INFINITY, ..OWN };
        assert_eq!(estimate(1, &[1.0], &[2.0], &[open]), None);
    }
}
