//! Results bit by bit: which of them two operations take from the same bits of the same values.

use softhip::isa::{Format, Inst, Mods, Op};

use super::bits::Bits;
use super::state::{Names, State, Value};

/// A bit of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bit {
    Constant(bool),
    /// A bit of a value, as it is or turned.
    Of {
        name: u32,
        at: usize,
        turned: bool,
    },
    /// Not known.
    Any,
}

impl Bit {
    fn not(self) -> Self {
        match self {
            Bit::Constant(bit) => Bit::Constant(!bit),
            Bit::Of { name, at, turned } => Bit::Of { name, at, turned: !turned },
            Bit::Any => Bit::Any,
        }
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Bit::Constant(false), _) | (_, Bit::Constant(false)) => Bit::Constant(false),
            (Bit::Constant(true), bit) | (bit, Bit::Constant(true)) => bit,
            (a, b) if a == b => a,
            _ => Bit::Any,
        }
    }

    fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }

    fn xor(self, other: Self) -> Self {
        match (self, other) {
            (Bit::Constant(false), bit) | (bit, Bit::Constant(false)) => bit,
            (Bit::Constant(true), bit) | (bit, Bit::Constant(true)) => bit.not(),
            _ => Bit::Any,
        }
    }
}

type Word = [Bit; 32];

fn word(value: &Value) -> Word {
    std::array::from_fn(|at| match (value.bits.zeros >> at & 1, value.bits.ones >> at & 1) {
        (1, _) => Bit::Constant(false),
        (_, 1) => Bit::Constant(true),
        _ => Bit::Of { name: value.name, at, turned: false },
    })
}

/// `word << count`, zeros from below.
fn left(word: &Word, count: usize) -> Word {
    std::array::from_fn(|at| at.checked_sub(count).map_or(Bit::Constant(false), |from| word[from]))
}

/// `word >> count`, `fill` from above.
fn right(word: &Word, count: usize, fill: Bit) -> Word {
    std::array::from_fn(|at| word.get(at + count).copied().unwrap_or(fill))
}

/// `width` bits of `word` from `offset` on.
fn field(word: &Word, offset: usize, width: usize) -> Word {
    let shifted = right(word, offset, Bit::Constant(false));
    std::array::from_fn(|at| if at < width { shifted[at] } else { Bit::Constant(false) })
}

/// The bits in which the results of two operations to the same register may differ; `None` for operations that are not known here.
pub(super) fn differing(was: &Inst, now: &Inst, state: &State, at: usize, names: &mut Names) -> Option<u32> {
    if (was.dst, was.dst2) != (now.dst, now.dst2) {
        return None;
    }
    let (one, other) = (result(was, state, at, names)?, result(now, state, at, names)?);
    let differs = |bit: &usize| one[*bit] != other[*bit] || one[*bit] == Bit::Any;
    Some((0..32).filter(differs).fold(0, |bits, bit| bits | 1 << bit))
}

fn result(inst: &Inst, state: &State, at: usize, names: &mut Names) -> Option<Word> {
    let plain =
        matches!(inst.mods, Mods::None) || inst.mods == Mods::Vop(softhip::isa::inst::VopMods::default());
    if !plain || matches!(inst.format, Format::Sdwa | Format::Dpp) {
        return None;
    }
    let types = inst.operand_types();
    let values: [Option<Value>; 3] = std::array::from_fn(|source| {
        state.operand(names, at, inst.src[source], types[source + 1]).first().copied()
    });
    let known = |source: usize| values[source].map_or(Bits::WORD, |value| value.bits);
    let of = |source: usize| values[source].as_ref().map(word);
    let count = |source: usize| usize::try_from(known(source).value()? & 31).ok();
    let both =
        |f: fn(Bit, Bit) -> Bit, a: Word, b: Word| -> Word { std::array::from_fn(|at| f(a[at], b[at])) };
    Some(match inst.op {
        Op::s_mov_b32 | Op::v_mov_b32 => of(0)?,
        Op::s_not_b32 | Op::v_not_b32 => of(0)?.map(Bit::not),
        Op::s_and_b32 | Op::v_and_b32 => both(Bit::and, of(0)?, of(1)?),
        Op::s_or_b32 | Op::v_or_b32 => both(Bit::or, of(0)?, of(1)?),
        Op::s_xor_b32 | Op::v_xor_b32 => both(Bit::xor, of(0)?, of(1)?),
        Op::v_and_or_b32 => both(Bit::or, both(Bit::and, of(0)?, of(1)?), of(2)?),
        Op::v_or3_b32 => both(Bit::or, both(Bit::or, of(0)?, of(1)?), of(2)?),
        Op::s_lshl_b32 => left(&of(0)?, count(1)?),
        Op::v_lshlrev_b32 => left(&of(1)?, count(0)?),
        Op::v_lshl_or_b32 => both(Bit::or, left(&of(0)?, count(1)?), of(2)?),
        Op::s_lshr_b32 => right(&of(0)?, count(1)?, Bit::Constant(false)),
        Op::v_lshrrev_b32 => right(&of(1)?, count(0)?, Bit::Constant(false)),
        Op::s_ashr_i32 => right(&of(0)?, count(1)?, of(0)?[31]),
        Op::v_ashrrev_i32 => right(&of(1)?, count(0)?, of(1)?[31]),
        Op::v_bfe_u32 => field(&of(0)?, count(1)?, count(2)?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use softhip::isa::decode;

    use super::*;

    fn differ(was: &[u32], now: &[u32]) -> Option<u32> {
        let names = &mut Names::default();
        let state = State::entry(names, 64, None);
        let inst = |words: &[u32]| decode(words, 0).unwrap();
        differing(&inst(was), &inst(now), &state, 0, names)
    }

    #[test]
    fn shifts_with_and_without_a_sign_differ_in_the_bits_from_above() {
        // v_lshrrev_b32 v4, 7, v5; v_ashrrev_i32 v4, 7, v5; by 6.
        let (lshr, ashr) = ([0x2008_0a87], [0x2208_0a87]);
        assert_eq!(decode(&lshr, 0).unwrap().op, Op::v_lshrrev_b32);
        assert_eq!(differ(&lshr, &ashr), Some(0xfe00_0000));
        assert_eq!(differ(&lshr, &[0x2008_0a86]), Some(0x03ff_ffff));
        // Another source.
        assert_eq!(differ(&lshr, &[0x2008_0c87]), Some(0x01ff_ffff));
    }

    #[test]
    fn fields_differ_where_one_is_wider_and_offsets_count_modulo_the_width() {
        // v_bfe_u32 v2, v1, 4, 4, then 6 wide, then from 36 on.
        let field =
            |offset: u32, width: u32| [0xd1c8_0002, 0x101 | (128 + offset) << 9 | (128 + width) << 18];
        assert_eq!(decode(&field(4, 4), 0).unwrap().op, Op::v_bfe_u32);
        assert_eq!(differ(&field(4, 4), &field(4, 6)), Some(0x30));
        assert_eq!(differ(&field(4, 4), &field(36, 4)), Some(0));
        assert_eq!(differ(&field(4, 4), &field(5, 4)), Some(0xf));
    }

    #[test]
    fn turned_bits_are_not_the_bits_that_they_are_made_of() {
        // v_xor_b32 v6, 0x80 and 0x80000080 (literals), v5
        let xor = |mask: u32| [0x2a0c_0aff, mask];
        assert_eq!(decode(&xor(0x80), 0).unwrap().op, Op::v_xor_b32);
        assert_eq!(differ(&xor(0x80), &xor(0x8000_0080)), Some(0x8000_0000));
    }
}
