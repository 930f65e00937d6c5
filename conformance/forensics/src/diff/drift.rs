//! How far two tensors are apart.

use serde::{Deserialize, Serialize};

/// Distance of a tensor from another.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Drift {
    /// Root mean square of the difference, divided by that of the left tensor.
    pub relative: f64,
    /// Largest difference.
    pub largest: f64,
    /// Element where it is, in row-major order.
    pub at: usize,
    /// Elements of which one is a number and the other is not.
    pub incomparable: usize,
}

impl Drift {
    /// The distance of `right` from `left`; `None` where they have not the same number of elements.
    pub fn between(left: &[f64], right: &[f64]) -> Option<Self> {
        if left.len() != right.len() || left.is_empty() {
            return None;
        }
        let mut drift = Drift { relative: 0.0, largest: 0.0, at: 0, incomparable: 0 };
        let (mut error, mut size) = (0.0, 0.0);
        for (at, (l, r)) in left.iter().zip(right).enumerate() {
            if !l.is_finite() || !r.is_finite() {
                drift.incomparable += usize::from(l.to_bits() != r.to_bits() && !(l.is_nan() && r.is_nan()));
                continue;
            }
            let difference = (l - r).abs();
            error += difference * difference;
            size += l * l;
            if difference > drift.largest {
                (drift.largest, drift.at) = (difference, at);
            }
        }
        drift.relative = match (error > 0.0, size > 0.0) {
            (false, _) => 0.0,
            (true, true) => (error / size).sqrt(),
            (true, false) => f64::MAX,
        };
        Some(drift)
    }

    /// Whether this is further apart than `limit`, a relative distance.
    pub fn exceeds(&self, limit: f64) -> bool {
        self.incomparable > 0 || self.relative > limit || self.relative.is_nan()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nan_on_one_side_exceeds_every_limit() {
        let drift = Drift::between(&[1.0, 2.0], &[1.0, f64::NAN]).unwrap();
        assert!(drift.exceeds(1e300));
        assert!(!Drift::between(&[f64::NAN, 1.0], &[f64::NAN, 1.0]).unwrap().exceeds(0.0));
        assert!(Drift::between(&[1.0], &[1.0, 2.0]).is_none());
    }

    #[test]
    fn the_largest_difference_is_named() {
        let drift = Drift::between(&[3.0, 4.0, 0.0], &[3.0, 4.0, 1.0]).unwrap();
        assert_eq!((drift.relative, drift.largest, drift.at), (0.2, 1.0, 2));
        assert!(drift.exceeds(0.19) && !drift.exceeds(0.2));
        assert!(Drift::between(&[0.0], &[1.0]).unwrap().exceeds(1e300));
    }
}
