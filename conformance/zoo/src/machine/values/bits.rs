//! Bits that are the same whatever the input.

/// What is known of a number of up to 64 bits. Bits above its width are known to be zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bits {
    /// Bits that are 0.
    pub zeros: u64,
    /// Bits that are 1.
    pub ones: u64,
}

const LOW: u64 = 0xffff_ffff;

impl Bits {
    /// A word of which nothing is known.
    pub const WORD: Self = Self { zeros: !LOW, ones: 0 };

    /// A known number.
    pub const fn constant(value: u64) -> Self {
        Self { zeros: !value, ones: value }
    }

    /// A number of `max` at most.
    pub fn up_to(max: u64) -> Self {
        Self { zeros: u64::MAX.checked_shl(64 - max.leading_zeros()).unwrap_or(0), ones: 0 }
    }

    /// The number, if all of its bits are known.
    pub fn value(self) -> Option<u64> {
        (self.zeros | self.ones == u64::MAX).then_some(self.ones)
    }

    /// The largest number that it may be.
    pub const fn max(self) -> u64 {
        !self.zeros
    }

    /// Two words as one number.
    pub const fn pair(low: Self, high: Self) -> Self {
        Self { zeros: low.zeros & LOW | high.zeros << 32, ones: low.ones & LOW | high.ones << 32 }
    }

    /// The low word.
    pub const fn low(self) -> Self {
        Self { zeros: self.zeros | !LOW, ones: self.ones & LOW }
    }

    /// The high word.
    pub const fn high(self) -> Self {
        Self { zeros: self.zeros >> 32 | !LOW, ones: self.ones >> 32 }
    }

    /// What holds of both numbers.
    pub const fn meet(self, other: Self) -> Self {
        Self { zeros: self.zeros & other.zeros, ones: self.ones & other.ones }
    }

    /// The bits that are not in a number.
    pub const fn not(self) -> Self {
        Self { zeros: self.ones, ones: self.zeros }
    }

    /// The bits that are in both.
    pub const fn and(self, other: Self) -> Self {
        Self { zeros: self.zeros | other.zeros, ones: self.ones & other.ones }
    }

    /// The bits that are in either.
    pub const fn or(self, other: Self) -> Self {
        Self { zeros: self.zeros & other.zeros, ones: self.ones | other.ones }
    }

    /// The bits that are in one alone.
    pub const fn xor(self, other: Self) -> Self {
        Self {
            zeros: self.zeros & other.zeros | self.ones & other.ones,
            ones: self.zeros & other.ones | self.ones & other.zeros,
        }
    }

    /// `self << count`, modulo 2^64.
    pub const fn shl(self, count: u32) -> Self {
        Self { zeros: self.zeros << count | !(u64::MAX << count), ones: self.ones << count }
    }

    /// `self >> count`.
    pub const fn shr(self, count: u32) -> Self {
        Self { zeros: self.zeros >> count | !(u64::MAX >> count), ones: self.ones >> count }
    }

    /// The sum and a carry that is 0, 1, or not known, modulo 2^64.
    pub const fn add(self, other: Self, carry: Option<bool>) -> Self {
        let (least, most) = match carry {
            Some(true) => (1, 1),
            Some(false) => (0, 0),
            None => (0, 1),
        };
        let max = self.max().wrapping_add(other.max()).wrapping_add(most);
        let min = self.ones.wrapping_add(other.ones).wrapping_add(least);
        let carry_zeros = !(max ^ self.zeros ^ other.zeros);
        let carry_ones = min ^ self.ones ^ other.ones;
        let known = (self.zeros | self.ones) & (other.zeros | other.ones) & (carry_zeros | carry_ones);
        Self { zeros: !max & known, ones: min & known }
    }

    /// The difference of two words.
    pub const fn sub(self, other: Self) -> Self {
        self.add(other.not(), Some(true)).low()
    }

    /// The product of two words.
    pub fn mul(self, other: Self) -> Self {
        if let (Some(a), Some(b)) = (self.value(), other.value()) {
            return Self::constant(a.wrapping_mul(b));
        }
        let bound = self.max().checked_mul(other.max()).map_or(Self { zeros: 0, ones: 0 }, Self::up_to);
        let even = (self.zeros.trailing_ones() + other.zeros.trailing_ones()).min(63);
        Self { zeros: bound.zeros | !(u64::MAX << even), ones: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number of four bits that `bits` allows.
    fn numbers(bits: Bits) -> impl Iterator<Item = u64> {
        (0..16).filter(move |value| value & bits.zeros == 0 && value & bits.ones == bits.ones)
    }

    #[test]
    fn what_is_said_of_a_result_holds_for_all_numbers_that_the_operands_may_be() {
        let all = (0..16u64).flat_map(|zeros| (0..16u64).map(move |ones| (zeros, ones)));
        let all: Vec<Bits> = all
            .filter(|(zeros, ones)| zeros & ones == 0)
            .map(|(zeros, ones)| Bits { zeros: zeros | !15, ones })
            .collect();
        let holds = |bits: Bits, value: u64| value & bits.zeros == 0 && value & bits.ones == bits.ones;
        for &a in &all {
            for &b in &all {
                for x in numbers(a) {
                    for y in numbers(b) {
                        assert!(holds(a.and(b), x & y) && holds(a.or(b), x | y) && holds(a.xor(b), x ^ y));
                        assert!(holds(a.add(b, Some(false)), x + y) && holds(a.add(b, None), x + y + 1));
                        assert!(holds(a.sub(b), x.wrapping_sub(y) & LOW), "{a:?} {b:?} {x} {y}");
                        assert!(holds(a.mul(b), x * y) && holds(a.meet(b), x) && holds(a.meet(b), y));
                        assert!(holds(a.shl(3), x << 3) && holds(a.shr(1), x >> 1) && x <= a.max());
                    }
                }
            }
        }
        assert_eq!((Bits::up_to(63).max(), Bits::up_to(40).max()), (63, 63));
        assert_eq!((Bits::up_to(0).max(), Bits::up_to(u64::MAX).max()), (0, u64::MAX));
    }
}
