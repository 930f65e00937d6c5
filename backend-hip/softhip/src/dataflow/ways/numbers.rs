//! Sets of numbers that a scalar register may hold, and what comparisons leave of them.

use crate::isa::Op;

/// Numbers of 32 bits, as runs from the first to the last, in order and apart.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Numbers(Vec<(u32, u32)>);

impl Numbers {
    /// One number.
    pub fn of(number: u32) -> Self {
        Numbers(vec![(number, number)])
    }

    /// The numbers whose relation to `other` is one of those asked for.
    pub fn related(relation: Relation, other: u32) -> Self {
        // Order without a sign, of numbers whose highest bit is turned where they have one.
        let turn = if relation.signed { 1 << 31 } else { 0 };
        let pivot = other ^ turn;
        let mut runs = Vec::new();
        let mut add = |wanted: u8, run: Option<(u32, u32)>| {
            if let (true, Some((first, last))) = (relation.outcomes & wanted != 0, run) {
                // A run across the turned bit is two.
                let (low, high) = (first ^ turn, last ^ turn);
                if low <= high {
                    runs.push((low, high));
                } else {
                    runs.extend([(low, u32::MAX), (0, high)]);
                }
            }
        };
        add(LESS, pivot.checked_sub(1).map(|last| (0, last)));
        add(EQUAL, Some((pivot, pivot)));
        add(GREATER, pivot.checked_add(1).map(|first| (first, u32::MAX)));
        Numbers(runs).ordered()
    }

    fn ordered(mut self) -> Self {
        self.0.sort_unstable();
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for (first, last) in self.0 {
            match runs.last_mut() {
                Some(before) if u64::from(first) <= u64::from(before.1) + 1 => before.1 = before.1.max(last),
                _ => runs.push((first, last)),
            }
        }
        Numbers(runs)
    }

    /// Those that are in both.
    pub fn and(&self, other: &Self) -> Self {
        let meet = |a: &(u32, u32), b: &(u32, u32)| (a.0.max(b.0), a.1.min(b.1));
        let runs = self.0.iter().flat_map(|a| other.0.iter().map(move |b| meet(a, b)));
        Numbers(runs.filter(|(first, last)| first <= last).collect()).ordered()
    }

    /// Those that are in either.
    pub fn or(&self, other: &Self) -> Self {
        Numbers(self.0.iter().chain(&other.0).copied().collect()).ordered()
    }

    pub fn is_all(&self) -> bool {
        self.0 == [(0, u32::MAX)]
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

pub(super) const LESS: u8 = 1;
pub(super) const EQUAL: u8 = 2;
pub(super) const GREATER: u8 = 4;
pub(super) const ALL: u8 = 7;

/// What a scalar comparison asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Relation {
    /// Outcomes that satisfy it.
    pub outcomes: u8,
    pub signed: bool,
}

impl Relation {
    /// That of a comparison of words.
    pub fn of(op: Op) -> Option<Self> {
        let (outcomes, signed) = match op {
            Op::s_cmp_eq_i32 | Op::s_cmp_eq_u32 => (EQUAL, false),
            Op::s_cmp_lg_i32 | Op::s_cmp_lg_u32 => (LESS | GREATER, false),
            Op::s_cmp_lt_i32 => (LESS, true),
            Op::s_cmp_le_i32 => (LESS | EQUAL, true),
            Op::s_cmp_gt_i32 => (GREATER, true),
            Op::s_cmp_ge_i32 => (GREATER | EQUAL, true),
            Op::s_cmp_lt_u32 => (LESS, false),
            Op::s_cmp_le_u32 => (LESS | EQUAL, false),
            Op::s_cmp_gt_u32 => (GREATER, false),
            Op::s_cmp_ge_u32 => (GREATER | EQUAL, false),
            _ => return None,
        };
        Some(Relation { outcomes, signed })
    }

    pub fn not(self) -> Self {
        Relation { outcomes: ALL & !self.outcomes, ..self }
    }

    /// The same with its sides exchanged.
    pub fn turned(self) -> Self {
        let swap = |from: u8, to: u8| if self.outcomes & from != 0 { to } else { 0 };
        Relation { outcomes: swap(LESS, GREATER) | self.outcomes & EQUAL | swap(GREATER, LESS), ..self }
    }

    /// Whether it holds of equality alone, with a sign or without.
    pub fn is_equality(self) -> bool {
        matches!(self.outcomes, EQUAL | 5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_leaves_the_numbers_for_which_it_holds() {
        let corners =
            [0u32, 1, 2, 3, 0x7fff_fffe, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, u32::MAX - 1, u32::MAX];
        for outcomes in 0..=ALL {
            for signed in [false, true] {
                for other in corners {
                    let left = Numbers::related(Relation { outcomes, signed }, other);
                    for number in corners {
                        let order = if signed {
                            number.cast_signed().cmp(&other.cast_signed())
                        } else {
                            number.cmp(&other)
                        };
                        let outcome = [LESS, EQUAL, GREATER][(order as i8 + 1).cast_unsigned() as usize];
                        let holds = outcomes & outcome != 0;
                        assert_eq!(
                            !left.and(&Numbers::of(number)).is_empty(),
                            holds,
                            "{outcomes} {signed} {other} {number}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn runs_side_by_side_are_one() {
        let below = Numbers::related(Relation { outcomes: LESS, signed: false }, 7);
        let rest = Numbers::related(Relation { outcomes: GREATER | EQUAL, signed: false }, 7);
        assert_eq!(below.or(&rest), Numbers(vec![(0, u32::MAX)]));
        assert!(below.and(&rest).is_empty());
    }
}
