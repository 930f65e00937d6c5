//! Single-instruction faults.

use std::collections::HashSet;
use std::fmt;
use std::sync::LazyLock;

use softhip::isa::table::compare::{Relation, Test};
use softhip::isa::{self, Format, Inst, Mods, Op, table};
use softhip::trace::Traced;

/// What a fault changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// The instruction is not there.
    Dropped,
    /// A wait or a barrier is not there.
    Unordered,
    /// A write of EXEC is not there.
    ExecKept,
    /// Its first two sources change places.
    Swapped,
    /// Another operation of the same encoding.
    Operation,
    /// Another constant, offset or literal.
    Immediate,
    /// Another register of the same size.
    Register,
    /// Another modifier: negation, absolute value, clamp, half, lane pattern.
    Modifier,
    /// f32 is rounded towards zero in the whole kernel.
    Rounding,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Kind::Dropped => "dropped",
            Kind::Unordered => "wait or barrier dropped",
            Kind::ExecKept => "EXEC not written",
            Kind::Swapped => "sources swapped",
            Kind::Operation => "another operation",
            Kind::Immediate => "another constant",
            Kind::Register => "another register",
            Kind::Modifier => "another modifier",
            Kind::Rounding => "rounds towards zero",
        })
    }
}

/// A fault of one instruction of a kernel.
#[derive(Clone, Debug)]
pub struct Fault {
    /// What it changes.
    pub kind: Kind,
    /// The instruction, by its index in the kernel's code.
    pub index: usize,
    /// What stands in the object instead.
    pub words: Vec<u32>,
    /// The instruction instead; `None` where it is gone.
    pub now: Option<Inst>,
}

/// `s_nop 0`.
const NOP: u32 = 0xbf80_0000;

/// Every fault of the kernel's instructions that is made here.
pub fn faults(traced: &Traced) -> Vec<Fault> {
    let mut all = Vec::new();
    for (index, inst) in traced.code().iter().enumerate() {
        let Some(words) = traced.object().words(inst.range()) else { continue };
        let add = |kind, words, now| Fault { kind, index, words, now };
        if let Some(kind) = dropped(inst) {
            all.push(add(kind, vec![NOP; words.len()], None));
        }
        let turned = (0..32 * words.len()).map(|bit| {
            let mut words = words.clone();
            words[bit / 32] ^= 1 << (bit % 32);
            words
        });
        for other in swapped(inst, &words).into_iter().chain(turned) {
            let Ok(now) = isa::decode(&other, inst.pc) else { continue };
            if let Some(kind) = changed(inst, &now) {
                all.push(add(kind, other, Some(now)));
            }
        }
    }
    all
}

/// What dropping an instruction is; `None` where it says nothing: hints, padding, the end.
fn dropped(inst: &Inst) -> Option<Kind> {
    match inst.op {
        Op::s_nop | Op::s_endpgm | Op::s_setprio | Op::s_sleep | Op::v_nop | Op::s_branch => None,
        Op::s_waitcnt | Op::s_barrier => Some(Kind::Unordered),
        _ if writes_exec(inst) => Some(Kind::ExecKept),
        _ => Some(Kind::Dropped),
    }
}

fn writes_exec(inst: &Inst) -> bool {
    let exec = softhip::waits::RegisterSet::of(isa::Operand::Scalar(isa::inst::scalar::EXEC), 2);
    softhip::waits::Facts::of(inst).writes.meets(&exec)
}

/// The encoding with its first two sources in each other's places, where the encoding has them side by side.
fn swapped(inst: &Inst, words: &[u32]) -> Option<Vec<u32>> {
    if inst.src[0] == inst.src[1] || !inst.src[1].is_some() {
        return None;
    }
    let mut words = words.to_vec();
    let swap = |word: u32, low: u32, high: u32, bits: u32| {
        let mask = (1 << bits) - 1;
        let (a, b) = (word >> low & mask, word >> high & mask);
        word & !(mask << low | mask << high) | b << low | a << high
    };
    match inst.format {
        Format::Sop2 | Format::Sopc => words[0] = swap(words[0], 0, 8, 8),
        // The second source is a vector register; the first one must be one, too.
        Format::Vop2 | Format::Vopc if words[0] >> 8 & 1 == 1 => words[0] = swap(words[0], 0, 9, 8),
        Format::Vop3 | Format::Vop3p if words.len() == 2 => words[1] = swap(words[1], 0, 9, 9),
        _ => return None,
    }
    Some(words)
}

/// What is different in `now`; `None` where nothing is, or where it is another kind of instruction altogether.
fn changed(was: &Inst, now: &Inst) -> Option<Kind> {
    if now.size != was.size || now.format != was.format || hinted(now) == hinted(was) {
        return None;
    }
    // Waits, padding and jumps: dropping them is the fault that is made.
    if matches!(was.format, Format::Sopp) {
        return None;
    }
    if now.op != was.op {
        let operands = (now.dst, now.dst2, now.src) == (was.dst, was.dst2, was.src);
        return (operands && is_executed(now.op)).then_some(Kind::Operation);
    }
    let sources = (0..3).filter(|i| now.src[*i] != was.src[*i]).count();
    let registers = usize::from(now.dst != was.dst) + usize::from(now.dst2 != was.dst2);
    if sources == 2 && (now.src[0], now.src[1]) == (was.src[1], was.src[0]) {
        return (!is_commutative(was)).then_some(Kind::Swapped);
    }
    match (sources + registers, now.mods == was.mods) {
        (0, _) => Some(if offset(was) == offset(now) { Kind::Modifier } else { Kind::Immediate }),
        (1, true) => {
            let of = |inst: &Inst| (inst.dst, inst.dst2, inst.src);
            constant_or_register(of(was), of(now))
        }
        _ => None,
    }
}

/// Whether the device executes an operation: one that it does not know is no fault of the kernel.
fn is_executed(op: Op) -> bool {
    static EXECUTED: LazyLock<HashSet<Op>> = LazyLock::new(|| {
        let executed = |(op, support)| (support == softhip::exec::Support::Executed).then_some(op);
        softhip::exec::coverage().filter_map(executed).collect()
    });
    EXECUTED.contains(&op)
}

/// Whether the first two sources may change places, with their modifiers staying where they are. Of two NaN the first may be the
/// result: which NaN it is is not compared.
fn is_commutative(inst: &Inst) -> bool {
    let apart = |mask: u8| mask & 1 != mask >> 1 & 1;
    let (signs, others) = match inst.mods {
        Mods::Vop(mods) => (
            apart(mods.neg) || apart(mods.neg_hi),
            apart(mods.abs) || apart(mods.op_sel) || apart(mods.op_sel_hi),
        ),
        _ => (false, false),
    };
    match symmetry(inst.op) {
        Symmetry::None => false,
        Symmetry::Sum => !signs && !others,
        // The sign of either factor is the sign of the product.
        Symmetry::Product => !others,
    }
}

/// What an operation is in its first two sources.
enum Symmetry {
    /// It matters which is which.
    None,
    /// It does not.
    Sum,
    /// It does not, nor which of them is negated.
    Product,
}

fn symmetry(op: Op) -> Symmetry {
    if is_product(op) {
        Symmetry::Product
    } else if is_scalar_sum(op) || is_vector_sum(op) || compares_alike(op) {
        Symmetry::Sum
    } else {
        Symmetry::None
    }
}

/// Scalar operations whose sources may change places. Not minima: SCC says which of the two it was.
fn is_scalar_sum(op: Op) -> bool {
    matches!(
        op,
        Op::s_add_u32
            | Op::s_add_i32
            | Op::s_addc_u32
            | Op::s_and_b32
            | Op::s_and_b64
            | Op::s_or_b32
            | Op::s_or_b64
            | Op::s_xor_b32
            | Op::s_xor_b64
            | Op::s_nand_b32
            | Op::s_nand_b64
            | Op::s_nor_b32
            | Op::s_nor_b64
            | Op::s_xnor_b32
            | Op::s_xnor_b64
            | Op::s_mul_i32
            | Op::s_mul_hi_u32
            | Op::s_mul_hi_i32
            | Op::s_absdiff_i32
            | Op::s_cmp_eq_i32
            | Op::s_cmp_eq_u32
            | Op::s_cmp_eq_u64
            | Op::s_cmp_lg_i32
            | Op::s_cmp_lg_u32
            | Op::s_cmp_lg_u64
    )
}

/// Vector operations whose sources may change places.
fn is_vector_sum(op: Op) -> bool {
    matches!(
        op,
        Op::v_add_co_u32
            | Op::v_addc_co_u32
            | Op::v_add_f16
            | Op::v_add_f32
            | Op::v_add_f64
            | Op::v_add_i16
            | Op::v_add_i32
            | Op::v_add_u16
            | Op::v_add_u32
            | Op::v_add3_u32
            | Op::v_add_lshl_u32
            | Op::v_and_b32
            | Op::v_and_or_b32
            | Op::v_or_b32
            | Op::v_or3_b32
            | Op::v_xor_b32
            | Op::v_xnor_b32
            | Op::v_xad_u32
            | Op::v_min_f16
            | Op::v_min_f32
            | Op::v_min_f64
            | Op::v_min_i16
            | Op::v_min_i32
            | Op::v_min_u16
            | Op::v_min_u32
            | Op::v_max_f16
            | Op::v_max_f32
            | Op::v_max_f64
            | Op::v_max_i16
            | Op::v_max_i32
            | Op::v_max_u16
            | Op::v_max_u32
            | Op::v_min3_f32
            | Op::v_min3_i32
            | Op::v_min3_u32
            | Op::v_max3_f32
            | Op::v_max3_i32
            | Op::v_max3_u32
            | Op::v_med3_f32
            | Op::v_med3_i32
            | Op::v_med3_u32
            | Op::v_mul_lo_u16
            | Op::v_mul_lo_u32
            | Op::v_mul_hi_u32
            | Op::v_mul_hi_i32
            | Op::v_mul_u32_u24
            | Op::v_mul_i32_i24
            | Op::v_mul_hi_u32_u24
            | Op::v_mul_hi_i32_i24
            | Op::v_mad_u32_u24
            | Op::v_mad_i32_i24
            | Op::v_mad_u32_u16
            | Op::v_mad_i32_i16
            | Op::v_mad_u64_u32
            | Op::v_mad_i64_i32
            | Op::v_pk_add_f16
            | Op::v_pk_add_f32
            | Op::v_pk_add_u16
            | Op::v_pk_add_i16
            | Op::v_pk_mul_lo_u16
            | Op::v_pk_min_f16
            | Op::v_pk_max_f16
            | Op::v_pk_min_u16
            | Op::v_pk_max_u16
    )
}

/// Products of floats.
fn is_product(op: Op) -> bool {
    matches!(
        op,
        Op::v_mul_f16
            | Op::v_mul_f32
            | Op::v_mul_f64
            | Op::v_mul_legacy_f32
            | Op::v_fma_f16
            | Op::v_fma_f32
            | Op::v_fma_f64
            | Op::v_fmac_f32
            | Op::v_fmac_f64
            | Op::v_fma_mix_f32
            | Op::v_fma_mixlo_f16
            | Op::v_fma_mixhi_f16
            | Op::v_pk_mul_f16
            | Op::v_pk_mul_f32
            | Op::v_pk_fma_f16
            | Op::v_pk_fma_f32
    )
}

/// Comparisons that are the same from either side: equal, unequal, ordered.
fn compares_alike(op: Op) -> bool {
    let either = |relation: Relation| {
        (relation.bits() & Relation::LESS != 0) == (relation.bits() & Relation::GREATER != 0)
    };
    table::compare(op)
        .is_some_and(|compare| matches!(compare.test, Test::Relation(relation) if either(relation)))
}

type Operands = (isa::Operand, isa::Operand, [isa::Operand; 3]);

fn constant_or_register(was: Operands, now: Operands) -> Option<Kind> {
    use isa::Operand::{Agpr, Float, Int, Literal, Scalar, Vgpr};
    let all = |(dst, dst2, [a, b, c]): Operands| [dst, dst2, a, b, c];
    let (was, now) = all(was).into_iter().zip(all(now)).find(|(was, now)| was != now)?;
    match (was, now) {
        (Int(_) | Float(_), Int(_) | Float(_)) | (Literal(_), Literal(_)) => Some(Kind::Immediate),
        (Scalar(_), Scalar(_)) | (Vgpr(_), Vgpr(_)) | (Agpr(_), Agpr(_)) => Some(Kind::Register),
        _ => None,
    }
}

/// The instruction without what is a hint to caches, and at no address.
fn hinted(inst: &Inst) -> Inst {
    let mut inst = Inst { pc: 0, ..*inst };
    match &mut inst.mods {
        Mods::Flat(mods) => mods.cache = isa::inst::Cache::default(),
        Mods::Buffer(mods) => mods.cache = isa::inst::Cache::default(),
        Mods::Smem(mods) => mods.glc = false,
        _ => {}
    }
    inst
}

/// The constant in the modifiers.
fn offset(inst: &Inst) -> Option<i64> {
    match inst.mods {
        Mods::Imm(imm) => Some(imm.into()),
        Mods::Flat(mods) => Some(mods.offset.into()),
        Mods::Ds(mods) => Some(mods.offset().into()),
        Mods::Smem(mods) => mods.offset.map(i64::from),
        Mods::Buffer(mods) => Some(mods.offset.into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inst(words: &[u32]) -> Inst {
        isa::decode(words, 0).unwrap()
    }

    #[test]
    fn changes_are_called_what_they_are() {
        // s_sub_u32 s0, s1, s2
        let sub = [0x8080_0201u32 | 1 << 23];
        let kind = |words: &[u32]| changed(&inst(&sub), &inst(words));
        assert_eq!(inst(&sub).op, Op::s_sub_u32, "{}", inst(&sub));
        assert_eq!(swapped(&inst(&sub), &sub).and_then(|words| kind(&words)), Some(Kind::Swapped));
        assert_eq!(kind(&[sub[0] ^ 1 << 16]), Some(Kind::Register));
        assert_eq!(kind(&[sub[0] ^ 1 << 23]), Some(Kind::Operation));
        assert_eq!(kind(&sub), None);
        // s_movk_i32 s0, 5
        assert_eq!(changed(&inst(&[0xb000_0005]), &inst(&[0xb000_0004])), Some(Kind::Immediate));
    }

    #[test]
    fn sources_of_sums_may_change_places_and_those_of_differences_may_not() {
        let plain = inst(&[0x8080_0201]);
        for (op, commutes) in [
            (Op::v_add_f32, true),
            (Op::v_mul_lo_u32, true),
            (Op::v_cmp_eq_u32, true),
            (Op::v_cmp_neq_f32, true),
            (Op::v_cmp_o_f32, true),
            (Op::v_sub_f32, false),
            (Op::v_lshlrev_b32, false),
            (Op::v_cmp_lt_f32, false),
            (Op::v_cmp_class_f32, false),
            (Op::s_andn2_b64, false),
            // SCC says which of them is the smaller one.
            (Op::s_min_u32, false),
            (Op::v_cndmask_b32, false),
            (Op::v_lshl_add_u32, false),
        ] {
            assert_eq!(is_commutative(&Inst { op, ..plain }), commutes, "{op:?}");
        }
        let negated = isa::inst::VopMods { neg: 1, ..isa::inst::VopMods::default() };
        let with = |op| Inst { op, mods: Mods::Vop(negated), ..plain };
        assert!(is_commutative(&with(Op::v_fma_f32)), "the sign of a factor is the product's");
        assert!(!is_commutative(&with(Op::v_add_f32)), "a - b is not b - a");
    }
}
