//! Controls: the suite shows that it can fail before anybody trusts that it passes.
//!
//! Each control poses something that is known to be wrong, or known to be right, to the parts of the suite that decide, and
//! says what they should have said. `assay check` runs them first; the zoo runs them on parts with a planted bug.

use kernels::{DType, Expected, Layout, Spread, Verdict};

use crate::expectations::Expectations;
use crate::outcome::{CaseResult, Outcome, Totals};
use crate::suite::Filter;
use crate::trial::{Finder, Judge};

/// The parts of the suite that decide.
#[derive(Clone, Copy)]
pub struct Parts {
    /// Compares an output with the oracle's answer.
    pub judge: Judge,
    /// Whether a comparison passes.
    pub passed: fn(&Verdict) -> bool,
    /// Whether a sweep as a whole conforms.
    pub conforms: fn(&Totals) -> bool,
    /// What an expectation makes of a result.
    pub expect: fn(&Expectations, CaseResult) -> CaseResult,
    /// Whether a name passes a filter.
    pub matches: fn(&Filter, &str) -> bool,
    /// Two pieces of data for the same seed.
    pub data: fn(u64) -> Vec<f32>,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Parts")
    }
}

/// The parts that `assay check` uses.
pub const REAL: Parts = Parts {
    judge: Expected::judge,
    passed: Verdict::passed,
    conforms: Totals::conform,
    expect: Expectations::apply,
    matches: Filter::matches,
    data: |seed| crate::data::Data::Gauss.values(&mut crate::data::Random::new(seed), 3, 17),
};

/// Poses every control; returns what the parts got wrong.
pub fn violated(parts: &Parts) -> Vec<&'static str> {
    let mut wrong = Vec::new();
    let mut control = |what: &'static str, holds: bool| {
        if !holds {
            wrong.push(what);
        }
    };
    let n = 100;
    let want: Vec<f64> = (0..n).map(|i| 1.0 + f64::from(i)).collect();
    let small = vec![1e-4; want.len()];
    let spread = vec![Spread { own: 1e-4, ..Spread::default() }; want.len()];
    let expected = Expected::Within { value: want.clone(), bound: small.clone(), typical: small, spread };
    let layout = Layout::contiguous(DType::F32, &[10, 10]);
    let passes = |got: &[f32]| (parts.passed)(&(parts.judge)(&expected, &layout, bytemuck::cast_slice(got)));
    let right: Vec<f32> = (0..100u8).map(|i| 1.0 + f32::from(i)).collect();
    let with = |at: usize, value: f32| {
        let mut got = right.clone();
        got[at] = value;
        got
    };
    control("the right answer passes", passes(&right));
    control("NaN fails", !passes(&with(50, f32::NAN)));
    control("NaN everywhere fails", !passes(&[f32::NAN; 100]));
    control("zeros fail", !passes(&[0.0; 100]));
    control("a constant fails", !passes(&[50.0; 100]));
    control("an infinity fails", !passes(&with(99, f32::INFINITY)));
    control("one wrong element at the end fails", !passes(&with(99, 101.0)));
    control("twice the bound fails", !passes(&with(10, 11.0002)));
    control("half the bound passes", passes(&with(10, 11.00005)));
    let off = |signs: [f32; 2]| -> Vec<f32> {
        right.iter().enumerate().map(|(at, value)| value + 9e-5 * signs[at % 2]).collect()
    };
    control("small errors of both signs pass", passes(&off([1.0, -1.0])));
    control("small errors of one sign fail together", !passes(&off([1.0, 1.0])));
    control("an answer of the wrong length fails", !passes(&right[..99]));
    control("a comparison of nothing is no pass", !(parts.passed)(&Verdict::default()));

    let totals = |passed, failed, unsupported| Totals { passed, failed, unsupported, ..Totals::default() };
    control("a failure among passes does not conform", !(parts.conforms)(&totals(10, 1, 0)));
    control("nothing but unsupported does not conform", !(parts.conforms)(&totals(0, 0, 10)));
    control("an empty sweep does not conform", !(parts.conforms)(&totals(0, 0, 0)));
    control("passes conform", (parts.conforms)(&totals(10, 0, 3)));

    let case = |outcome| CaseResult {
        name: "add/cpu/f32/exact".into(),
        outcome,
        worst: None,
        compared: 1,
        micros: 1,
        fidelity: None,
    };
    let expectations = Expectations::of("add", "known");
    let unexpected = (parts.expect)(&expectations, case(Outcome::Passed)).outcome;
    control(
        "an unexpected pass fails",
        matches!(&unexpected, Outcome::Failed(f) if f[0].found_by == Finder::Expectation),
    );
    control(
        "an unknown filter finds nothing",
        !(parts.matches)(&Filter::new("no-such-op"), "add/cpu/f32/exact"),
    );
    control("a filter finds its case", (parts.matches)(&Filter::new("add exact"), "add/cpu/f32/exact"));
    control("the same seed gives the same data", (parts.data)(7) == (parts.data)(7));
    control("another seed gives other data", (parts.data)(7) != (parts.data)(8));
    wrong
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_real_parts_satisfy_every_control() {
        assert_eq!(super::violated(&super::REAL), Vec::<&str>::new());
    }
}
