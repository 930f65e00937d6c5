//! The one shape that every sum of this backend has: term `i` goes to lane `i mod 16`, and the lanes are added by halves.
//!
//! The shape depends on the number of terms alone, so results do not depend on how work was divided. A term passes through
//! `⌈n/16⌉ + 4` additions at most: [`Depth::Lanes`](kernels::Depth::Lanes) of [`LANES`].

/// Partial sums that grow side by side: enough to fill the vector units and to hide the latency of an addition.
pub const LANES: usize = 16;

/// `Σ aᵢ·bᵢ`, each product rounded.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a_full, a_tail) = a.as_chunks::<LANES>();
    let (b_full, b_tail) = b.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (a, b) in a_full.iter().zip(b_full) {
        for i in 0..LANES {
            lanes[i] += a[i] * b[i];
        }
    }
    for ((lane, a), b) in lanes.iter_mut().zip(a_tail).zip(b_tail) {
        *lane += a * b;
    }
    total(lanes)
}

/// `Σ xᵢ`.
pub fn sum(x: &[f32]) -> f32 {
    let (full, tail) = x.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for x in full {
        for i in 0..LANES {
            lanes[i] += x[i];
        }
    }
    for (lane, x) in lanes.iter_mut().zip(tail) {
        *lane += x;
    }
    total(lanes)
}

/// Sum of the lanes, the upper half onto the lower until one is left.
fn total(mut lanes: [f32; LANES]) -> f32 {
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            lanes[i] += lanes[i + width];
        }
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_stay_apart_until_the_end() {
        for n in [1usize, 15, 16, 17, 100, 576] {
            let ones = vec![1.0f32; n];
            assert_eq!(dot(&ones, &ones).to_bits(), (n as f32).to_bits());
            assert_eq!(sum(&ones).to_bits(), (n as f32).to_bits());
        }
        // Half an epsilon that meets 1 is rounded off; two of them that meet each other first are not.
        let mut x = vec![0.0f32; 64];
        (x[0], x[16], x[17]) = (1.0, f32::EPSILON / 2.0, f32::EPSILON / 2.0);
        assert_eq!(sum(&x).to_bits(), 1.0f32.to_bits(), "lanes 0 and 1 must be apart");
        x[1] = f32::EPSILON / 2.0;
        assert!(sum(&x) > 1.0, "lane 1 must be added up before it meets lane 0");
    }
}
