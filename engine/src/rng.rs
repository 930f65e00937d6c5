//! The engine's random numbers: xoshiro256++ seeded by `SplitMix64`.
//!
//! Both are public-domain generators by Blackman and Vigna. The sequence is a function of the seed alone,
//! on every machine.

use kernels::SplitMix64;

/// A generator of 64-bit numbers with a period of 2^256 − 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// The generator of `seed`. `SplitMix64` spreads the seed over the state, which is never all zero.
    pub(crate) const fn new(seed: u64) -> Self {
        let mut spread = SplitMix64::new(seed);
        Self { state: [spread.next_u64(), spread.next_u64(), spread.next_u64(), spread.next_u64()] }
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        let [s0, s1, s2, s3] = &mut self.state;
        let result = s0.wrapping_add(*s3).rotate_left(23).wrapping_add(*s0);
        let t = *s1 << 17;
        *s2 ^= *s0;
        *s3 ^= *s1;
        *s1 ^= *s2;
        *s0 ^= *s3;
        *s2 ^= t;
        *s3 = s3.rotate_left(45);
        result
    }

    /// Uniform in `[0, 1)`: the upper 53 bits.
    pub(crate) fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeding_follows_the_published_splitmix64() {
        let published =
            [0x599E_D017_FB08_FC85, 0x2C73_F084_5854_0FA5, 0x883E_BCE5_A3F2_7C77, 0x3FBE_F740_E917_7B3F];
        assert_eq!(Rng::new(1_234_567).state, published);
    }

    #[test]
    fn sequence_follows_the_published_xoshiro256_plus_plus() {
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let published = [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386];
        assert_eq!([(); 4].map(|()| rng.next_u64()), published);
    }

    #[test]
    fn fractions_stay_below_one() {
        let mut rng = Rng::new(7);
        let mut sum = 0.0;
        for _ in 0..10_000 {
            let x = rng.next_f64();
            assert!((0.0..1.0).contains(&x));
            sum += x;
        }
        assert!((sum / 10_000.0 - 0.5).abs() < 0.02, "{sum}");
    }
}
