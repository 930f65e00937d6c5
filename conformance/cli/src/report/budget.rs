//! How near results came to their error bounds.

use std::fmt;

use kernels::Worst;

/// How much of the error budget some results used.
///
/// A share by itself misleads where the bound is the rounding of the output and nothing else, as in `add`: the best result that
/// exists then uses up to 100 %. Such results have a name of their own.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Default)]
pub enum Budget {
    /// Every element equals the oracle's.
    #[default]
    Exact,
    /// The element that came nearest to its bound is the correctly rounded value: its type has none that is nearer.
    Rounded,
    /// Largest share of its bound that an element used.
    Share(f64),
}

impl Budget {
    /// That of the element that used most of its bound.
    pub fn of(worst: &Worst) -> Self {
        Self::new(worst.share, worst.ulps)
    }

    /// That of an element which used `share` of its bound and is `ulps` away from the oracle's value.
    pub fn new(share: f64, ulps: f64) -> Self {
        if share == 0.0 {
            Budget::Exact
        } else if share <= 1.0 && ulps <= 0.5 {
            Budget::Rounded
        } else {
            Budget::Share(share)
        }
    }

    /// The larger one.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        if other > self { other } else { self }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Budget::Exact => f.pad("exact"),
            Budget::Rounded => f.pad("rounded"),
            Budget::Share(share) if !share.is_finite() => f.pad("beyond"),
            Budget::Share(share) if *share > 10.0 => f.pad(&format!("{share:.0e} x")),
            Budget::Share(share) if *share < 0.001 => f.pad("< 0.1 %"),
            Budget::Share(share) => f.pad(&format!("{:.1} %", share * 100.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_correctly_rounded_result_has_no_share() {
        assert_eq!(Budget::new(0.999, 0.4999), Budget::Rounded);
        assert_eq!(Budget::new(1.0, 0.5), Budget::Rounded);
        assert_eq!(Budget::new(0.999, 0.51), Budget::Share(0.999));
        assert_eq!(Budget::new(0.0, 0.0), Budget::Exact);
        assert_eq!(Budget::new(f64::INFINITY, 0.5), Budget::Share(f64::INFINITY));
    }

    #[test]
    fn the_larger_one_is_the_one_nearer_to_the_bound() {
        assert_eq!(Budget::Exact.max(Budget::Rounded), Budget::Rounded);
        assert_eq!(Budget::Share(0.01).max(Budget::Rounded), Budget::Share(0.01));
        assert_eq!(Budget::Share(0.01).max(Budget::Share(0.02)), Budget::Share(0.02));
    }

    #[test]
    fn it_is_short_enough_for_a_column() {
        let text = |share| Budget::Share(share).to_string();
        assert_eq!([text(0.474), text(1e-9), text(2.0)], ["47.4 %", "< 0.1 %", "200.0 %"]);
        assert_eq!([text(1234.0), text(f64::INFINITY)], ["1e3 x", "beyond"]);
    }
}
