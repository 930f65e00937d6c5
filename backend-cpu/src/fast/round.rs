//! Rounding of results that are computed in f64.

/// Nearest f32.
#[expect(clippy::cast_possible_truncation, reason = "rounding is meant")]
pub fn round(x: f64) -> f32 {
    x as f32
}
