//! Random numbers for test data: reproducible from a seed, never from the clock.

/// The `SplitMix64` generator (Steele, Lea, Flood: *Fast splittable pseudorandom number generators*, 2014).
///
/// Every seed is a good one, and all 2^64 outputs occur once per period. Not for secrets.
///
/// ```
/// let mut random = kernels::SplitMix64::new(0);
/// assert_eq!(random.next_u64(), 0xe220_a839_7b1d_cdaf);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The stream of `seed`.
    pub const fn new(seed: u64) -> Self {
        SplitMix64 { state: seed }
    }

    /// 64 uniform bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = self.state;
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `[0, 1)`, a multiple of 2^−53.
    pub const fn unit_f64(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        (self.next_u64() >> 11) as f64 * STEP
    }

    /// Uniform in `0..end`; 0 for an empty range. The probabilities differ by 2^−64 at most.
    pub const fn below(&mut self, end: u64) -> u64 {
        ((self.next_u64() as u128 * end as u128) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_0_gives_the_published_outputs() {
        let mut random = SplitMix64::new(0);
        for published in [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f] {
            assert_eq!(random.next_u64(), published);
        }
    }

    #[test]
    fn unit_floats_cover_the_unit_interval() {
        let mut random = SplitMix64::new(1);
        let values: Vec<f64> = (0..10_000).map(|_| random.unit_f64()).collect();
        assert!(values.iter().all(|x| (0.0..1.0).contains(x)));
        for tenth in 0..10u8 {
            let range = f64::from(tenth) / 10.0..f64::from(tenth + 1) / 10.0;
            let count = values.iter().filter(|x| range.contains(x)).count();
            assert!((850..1150).contains(&count), "{count} of 10000 in {range:?}");
        }
    }

    #[test]
    fn every_number_below_the_end_occurs_and_none_beyond() {
        let mut random = SplitMix64::new(2);
        let mut counts = [0; 7];
        for _ in 0..7000 {
            counts[usize::try_from(random.below(7)).unwrap()] += 1;
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
        assert_eq!((random.below(1), random.below(0)), (0, 0));
        assert!(random.below(u64::MAX) < u64::MAX);
    }
}
