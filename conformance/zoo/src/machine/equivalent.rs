//! Faults that change nothing, each by an argument.

use code_object::{CodeObject, Descriptor, UserSgpr};
use softhip::dataflow::{self, Effects, Impossible, skips_nothing};
use softhip::isa::inst::{SdwaSel, SdwaUnused, scalar};
use softhip::isa::{Format, Inst, Mods, Op, Operand};
use softhip::lint;
use softhip::trace::Traced;
use softhip::waits::RegisterSet;

use super::fault::{Fault, Kind};
use super::values::{Encoded, Sameness, Values};

/// Why a fault cannot be seen, whatever the input.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Argument {
    /// No wave comes to the instruction, or none goes the way of a branch that is different, by masks and numbers that are known there.
    Impossible,
    /// The branch jumps over instructions that do nothing while EXEC is zero: it saves time.
    SkipsNothing,
    /// The rules of the instruction set need no wait there: without it nothing new is found on any way through the kernel.
    NeedlessWait,
    /// What it writes is read on no way from there.
    DeadResult,
    /// The operation does not look at the bits that differ.
    IgnoredBits,
    /// Every register holds the same afterwards: the bits that the change touches are known there, or the values are equal.
    SameValues,
    /// Every register holds the same afterwards for all values that the operands may have: each was tried out on the device.
    Enumerated,
    /// What differs are bits of registers that nothing looks at.
    UnusedBits,
    /// The operation gives the same for all inputs, but for a condition bit that is read on no way from there.
    SameFunction,
}

impl Argument {
    /// In a sentence.
    pub fn text(self) -> &'static str {
        match self {
            Argument::Impossible => "an instruction to which, or a way of a branch that, no wave can go",
            Argument::SkipsNothing => "a branch over instructions that do nothing while EXEC is zero",
            Argument::NeedlessWait => "a wait that no rule of the instruction set needs there",
            Argument::DeadResult => "a result that is read on no way from there",
            Argument::IgnoredBits => "bits of a constant that the operation does not look at",
            Argument::SameValues => {
                "the same in all registers, by bits that are known there and values that are equal"
            }
            Argument::Enumerated => {
                "the same in all registers for every value that the operands may have, each tried out"
            }
            Argument::UnusedBits => "a difference in bits that nothing looks at on any way from there",
            Argument::SameFunction => "another operation or order with the same result for all inputs",
        }
    }
}

/// The argument by which a fault of a kernel changes nothing, if there is one. `object` is the one with the fault.
pub fn argument(
    traced: &Traced,
    values: Option<&Values<'_>>,
    impossible: &Impossible,
    fault: &Fault,
    object: &CodeObject,
) -> Option<Argument> {
    let inst = traced.code().get(fault.index)?;
    if is_impossible(impossible, fault) {
        return Some(Argument::Impossible);
    }
    match (fault.kind, inst.op) {
        (Kind::Dropped, Op::s_cbranch_execz) if skips_nothing(traced.code(), fault.index) => {
            Some(Argument::SkipsNothing)
        }
        (Kind::Unordered, Op::s_waitcnt) => (findings(object, traced.kernel())
            == findings(traced.object(), traced.kernel()))
        .then_some(Argument::NeedlessWait),
        _ => {
            let same = fault.now.and_then(|now| same_result(traced.code(), fault.index, &now));
            same.or_else(|| is_dead(traced, fault.index, fault.now.as_ref()).then_some(Argument::DeadResult))
                .or_else(|| by_values(traced, inst, values?, fault))
        }
    }
}

/// Whether no wave comes to the instruction of a fault, or it is a branch that is gone and that no wave takes.
fn is_impossible(impossible: &Impossible, fault: &Fault) -> bool {
    let gone = fault.kind == Kind::Dropped && fault.now.is_none();
    impossible.instructions.contains(&fault.index) || gone && impossible.ways.contains(&(fault.index, true))
}

/// The argument by what is known of values.
fn by_values(traced: &Traced, was: &Inst, values: &Values<'_>, fault: &Fault) -> Option<Argument> {
    if fault.now.is_some_and(|now| same_dwords(was, &now, |source| values.counts_dwords(fault.index, source)))
    {
        return Some(Argument::IgnoredBits);
    }
    if let Some(bits) = fault.now.and_then(|now| sign_of_load(was, &now)) {
        return values.ignores(fault.index, bits).then_some(Argument::UnusedBits);
    }
    let computes = |inst: &Inst| inst.format != Format::Mai && writes_registers_alone(inst);
    if !computes(was) || !fault.now.iter().all(computes) {
        return None;
    }
    let words = traced.object().words(was.range())?;
    let now = fault.now.as_ref().map(|inst| Encoded { inst, words: &fault.words });
    values.same(fault.index, &words, now).map(|same| match same {
        Sameness::Values => Argument::SameValues,
        Sameness::Enumerated => Argument::Enumerated,
        Sameness::Unused => Argument::UnusedBits,
    })
}

/// Whether two instructions that look at whole dwords of an address alone differ in its offset by less: `counts` tells whether a source is
/// a multiple of 4.
fn same_dwords(was: &Inst, now: &Inst, counts: impl Fn(usize) -> bool) -> bool {
    if (Inst { mods: was.mods, ..*now }) != *was {
        return false;
    }
    match (was.mods, now.mods) {
        (Mods::Smem(before), Mods::Smem(after)) => {
            let dwords = |offset: Option<i32>| offset.map(|offset| offset >> 2);
            let alone = !was.src[1].is_some() && before.glc == after.glc;
            alone && is_load(was) && dwords(before.offset) == dwords(after.offset) && counts(0)
        }
        (Mods::Ds(before), Mods::Ds(after)) => {
            let permutes = matches!(was.op, Op::ds_bpermute_b32 | Op::ds_permute_b32);
            let lanes = |offset: u32| offset / 4 % 64;
            let same = lanes(before.offset().into()) == lanes(after.offset().into());
            permutes && before.gds == after.gds && same && counts(0)
        }
        _ => false,
    }
}

/// Whether a scalar instruction loads dwords.
fn is_load(inst: &Inst) -> bool {
    inst.op.mnemonic().starts_with("s_load_dword")
}

/// The bits in which a load with a sign and one without differ, where that is all.
fn sign_of_load(was: &Inst, now: &Inst) -> Option<u32> {
    const BYTES: [[Op; 2]; 2] =
        [[Op::global_load_ubyte, Op::global_load_sbyte], [Op::ds_read_u8, Op::ds_read_i8]];
    const SHORTS: [[Op; 2]; 2] =
        [[Op::global_load_ushort, Op::global_load_sshort], [Op::ds_read_u16, Op::ds_read_i16]];
    let alone = Inst { op: was.op, ..*now } == *was;
    let among = |pairs: &[[Op; 2]]| pairs.iter().any(|pair| pair.contains(&was.op) && pair.contains(&now.op));
    match (among(&BYTES), among(&SHORTS)) {
        (true, _) if alone => Some(0xffff_ff00),
        (_, true) if alone => Some(0xffff_0000),
        _ => None,
    }
}

fn findings(object: &CodeObject, kernel: &str) -> usize {
    let functions = lint::functions(object);
    let function = functions.iter().find(|function| function.name == kernel);
    function.map_or(0, |function| lint::lint(object, function).found.len())
}

/// Whether what an instruction writes, before and after the change, is replaced before it is read, on every way from it. It must do nothing
/// but write registers, with the change and without.
fn is_dead(traced: &Traced, index: usize, now: Option<&Inst>) -> bool {
    let inst = &traced.code()[index];
    let instructions = [Some(inst), now];
    let mut written = RegisterSet::EMPTY;
    for inst in instructions.into_iter().flatten() {
        if !writes_registers_alone(inst) {
            return false;
        }
        written = written.or(&Effects::of(inst).writes);
    }
    !written.is_empty() && dataflow::is_dead(traced.code(), index, &written)
}

fn writes_registers_alone(inst: &Inst) -> bool {
    match inst.format {
        Format::Vop1
        | Format::Vop2
        | Format::Vop3
        | Format::Vop3p
        | Format::Vopc
        | Format::Sdwa
        | Format::Dpp
        | Format::Mai => true,
        Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk => {
            inst.branch_target().is_none()
                && !matches!(
                    inst.op,
                    Op::s_setreg_b32 | Op::s_setreg_imm32_b32 | Op::s_setpc_b64 | Op::s_swappc_b64
                )
        }
        _ => false,
    }
}

/// The argument by which `now` in the place of instruction `index` of `code` gives the same result for all inputs.
fn same_result(code: &[Inst], index: usize, now: &Inst) -> Option<Argument> {
    let was = &code[index];
    if was.op == now.op {
        let same = same_shift(was, now) || same_permutation(was, now) || same_modifiers(was, now);
        return same.then_some(Argument::IgnoredBits).or_else(|| swapped_minimum(code, index, now));
    }
    let operands = (was.dst, was.dst2, was.src, was.mods) == (now.dst, now.dst2, now.src, now.mods);
    if !operands {
        return None;
    }
    let differs_in_scc =
        matches!(pair(was.op, now.op), (Op::s_add_i32, Op::s_add_u32) | (Op::s_sub_i32, Op::s_sub_u32));
    let same = if differs_in_scc {
        dataflow::is_dead(code, index, &RegisterSet::SCC)
    } else {
        compares_equality(was.op, now.op) || compares_with_zero(was, now)
    };
    same.then_some(Argument::SameFunction)
}

/// Two operations, in the order of the instruction set.
fn pair(a: Op, b: Op) -> (Op, Op) {
    match (a, b) {
        (Op::s_add_u32, Op::s_add_i32) | (Op::s_sub_u32, Op::s_sub_i32) => (b, a),
        other => other,
    }
}

/// The smaller and the larger of two numbers are the same in either order; SCC, which says where it stood, is read on no way.
fn swapped_minimum(code: &[Inst], index: usize, now: &Inst) -> Option<Argument> {
    let was = &code[index];
    let minimum = matches!(was.op, Op::s_min_i32 | Op::s_min_u32 | Op::s_max_i32 | Op::s_max_u32);
    let swapped = (was.src[0], was.src[1]) == (now.src[1], now.src[0]) && was.dst == now.dst;
    (minimum && swapped && dataflow::is_dead(code, index, &RegisterSet::SCC))
        .then_some(Argument::SameFunction)
}

/// Whether two shifts by constants are the same: a shift looks at the lowest bits of its count.
fn same_shift(was: &Inst, now: &Inst) -> bool {
    let (source, bits) = match was.op {
        Op::v_lshlrev_b32 | Op::v_lshrrev_b32 | Op::v_ashrrev_i32 => (0, 5),
        Op::v_lshlrev_b64 | Op::v_lshrrev_b64 | Op::v_ashrrev_i64 => (0, 6),
        Op::s_lshl_b32 | Op::s_lshr_b32 | Op::s_ashr_i32 | Op::v_lshl_add_u32 | Op::v_lshl_or_b32 => (1, 5),
        Op::s_lshl_b64 | Op::s_lshr_b64 | Op::s_ashr_i64 => (1, 6),
        Op::v_lshl_add_u64 => (1, 3),
        Op::v_add_lshl_u32 | Op::v_alignbit_b32 => (2, 5),
        Op::v_alignbyte_b32 => (2, 2),
        _ => return false,
    };
    let others = |inst: &Inst| {
        let mut src = inst.src;
        src[source] = Operand::None;
        (inst.dst, inst.dst2, src, inst.mods)
    };
    let low = |inst: &Inst| match inst.src[source] {
        Operand::Int(count) => Some(i32::from(count) & ((1 << bits) - 1)),
        _ => None,
    };
    others(was) == others(now) && low(was).is_some() && low(was) == low(now)
}

/// Whether two instructions differ in modifiers alone that say nothing: what becomes of the bits of a destination that is written whole,
/// the extension of sources that are taken whole, which block of a matrix is broadcast where none is.
fn same_modifiers(was: &Inst, now: &Inst) -> bool {
    let plain = |inst: &Inst| {
        let mut inst = *inst;
        match &mut inst.mods {
            Mods::Sdwa(_, sdwa) => {
                if sdwa.dst_sel == SdwaSel::Dword {
                    sdwa.dst_unused = SdwaUnused::Pad;
                }
                for source in 0..2 {
                    sdwa.sext[source] &= sdwa.src_sel[source] != SdwaSel::Dword;
                }
            }
            Mods::Mfma(mods) if mods.cbsz == 0 => mods.abid = 0,
            _ => {}
        }
        inst
    };
    plain(was) == plain(now)
}

/// Whether two exchanges of lanes are the same: addresses count in bytes, modulo the 256 bytes of 64 lanes.
fn same_permutation(was: &Inst, now: &Inst) -> bool {
    let permutes = matches!(was.op, Op::ds_bpermute_b32 | Op::ds_permute_b32);
    let (Mods::Ds(before), Mods::Ds(after)) = (was.mods, now.mods) else { return false };
    let operands = (was.dst, was.dst2, was.src) == (now.dst, now.dst2, now.src);
    permutes && operands && before.gds == after.gds && before.offset() % 256 == after.offset() % 256
}

/// Equality of integers is the same with and without a sign.
fn compares_equality(was: Op, now: Op) -> bool {
    const SAME: [[Op; 2]; 8] = [
        [Op::s_cmp_eq_i32, Op::s_cmp_eq_u32],
        [Op::s_cmp_lg_i32, Op::s_cmp_lg_u32],
        [Op::v_cmp_eq_i32, Op::v_cmp_eq_u32],
        [Op::v_cmp_ne_i32, Op::v_cmp_ne_u32],
        [Op::v_cmp_eq_i16, Op::v_cmp_eq_u16],
        [Op::v_cmp_ne_i16, Op::v_cmp_ne_u16],
        [Op::v_cmp_eq_i64, Op::v_cmp_eq_u64],
        [Op::v_cmp_ne_i64, Op::v_cmp_ne_u64],
    ];
    SAME.iter().any(|same| same.contains(&was) && same.contains(&now))
}

/// No unsigned number is below zero: 0 = x is 0 >= x and 0 <> x is 0 < x; x = 0 is x <= 0 and x <> 0 is x > 0.
fn compares_with_zero(was: &Inst, now: &Inst) -> bool {
    const ZERO_FIRST: [[Op; 2]; 6] = [
        [Op::v_cmp_eq_u32, Op::v_cmp_ge_u32],
        [Op::v_cmp_ne_u32, Op::v_cmp_lt_u32],
        [Op::v_cmp_eq_u64, Op::v_cmp_ge_u64],
        [Op::v_cmp_ne_u64, Op::v_cmp_lt_u64],
        [Op::s_cmp_eq_u32, Op::s_cmp_ge_u32],
        [Op::s_cmp_lg_u32, Op::s_cmp_lt_u32],
    ];
    const ZERO_SECOND: [[Op; 2]; 6] = [
        [Op::v_cmp_eq_u32, Op::v_cmp_le_u32],
        [Op::v_cmp_ne_u32, Op::v_cmp_gt_u32],
        [Op::v_cmp_eq_u64, Op::v_cmp_le_u64],
        [Op::v_cmp_ne_u64, Op::v_cmp_gt_u64],
        [Op::s_cmp_eq_u32, Op::s_cmp_le_u32],
        [Op::s_cmp_lg_u32, Op::s_cmp_gt_u32],
    ];
    let same = |pairs: &[[Op; 2]]| pairs.iter().any(|pair| pair.contains(&was.op) && pair.contains(&now.op));
    let zero = |source: usize| was.src[source] == Operand::Int(0);
    zero(0) && same(&ZERO_FIRST) || zero(1) && same(&ZERO_SECOND)
}

/// Whether lint finds a fault without running it: a wait that is missing, or a register that nothing has written.
pub fn is_linted(traced: &Traced, fault: &Fault, object: &CodeObject) -> bool {
    if fault.kind == Kind::Unordered {
        return findings(object, traced.kernel()) > findings(traced.object(), traced.kernel());
    }
    let Some(now) = fault.now else { return false };
    let kernel = traced.object().kernels().iter().find(|kernel| kernel.name == traced.kernel());
    let Some(descriptor) = kernel.map(|kernel| kernel.descriptor) else { return false };
    let mut code = traced.code().to_vec();
    let begins_with = begins_with(&descriptor);
    let before = dataflow::reads_unwritten(&code, &begins_with);
    code[fault.index] = now;
    dataflow::reads_unwritten(&code, &begins_with).is_some_and(|read| before != Some(read))
}

/// The first scalar register of the address of a kernel's arguments.
pub fn arguments_at(descriptor: &Descriptor) -> Option<u8> {
    let before = UserSgpr::ALL.into_iter().take_while(|which| *which != UserSgpr::KernargSegmentPtr);
    let first: u32 = before.filter(|which| descriptor.has_user_sgpr(*which)).map(UserSgpr::registers).sum();
    descriptor.has_user_sgpr(UserSgpr::KernargSegmentPtr).then(|| u8::try_from(first).ok()).flatten()
}

/// Registers that hold something when a wave begins: user data, workgroup ids, the work-item's ids in v0, and those that the hardware sets.
fn begins_with(descriptor: &Descriptor) -> RegisterSet {
    let ids = (0..3).filter(|dimension| descriptor.has_workgroup_id(*dimension)).count();
    let scalars = usize::try_from(descriptor.user_sgprs()).unwrap_or(usize::MAX).saturating_add(ids + 2);
    let fixed = [scalar::EXEC, scalar::M0, scalar::FLAT_SCRATCH, scalar::XNACK_MASK];
    let set = RegisterSet::of(Operand::Scalar(0), u8::try_from(scalars).unwrap_or(u8::MAX));
    let set = fixed.iter().fold(set, |set, first| set.or(&RegisterSet::of(Operand::Scalar(*first), 2)));
    set.or(&RegisterSet::of(Operand::Vgpr(0), 1))
}

#[cfg(test)]
mod tests {
    use softhip::isa::decode;

    use super::*;

    /// `s_endpgm`
    const END: u32 = 0xbf81_0000;

    fn inst(words: &[u32]) -> Inst {
        decode(words, 0).unwrap()
    }

    fn argument(was: &[u32], now: &[u32], after: &[u32]) -> Option<Argument> {
        let mut code = vec![inst(was)];
        for words in after.iter().chain(&[END]) {
            let pc = code.last().unwrap().next_pc();
            code.push(decode(&[*words], pc).unwrap());
        }
        same_result(&code, 0, &inst(now))
    }

    #[test]
    fn a_branch_that_no_wave_takes_may_be_gone_and_one_that_every_wave_takes_may_not() {
        let of = |taken: bool, kind: Kind, now: Option<Inst>| {
            let impossible = Impossible { ways: [(3, taken)].into(), instructions: [7].into() };
            let fault = |index| Fault { kind, index, words: Vec::new(), now };
            [3, 7, 8].map(|index| is_impossible(&impossible, &fault(index)))
        };
        assert_eq!(of(true, Kind::Dropped, None), [true, true, false]);
        assert_eq!(of(false, Kind::Dropped, None), [false, true, false]);
        assert_eq!(of(true, Kind::Operation, Some(inst(&[END]))), [false, true, false]);
    }

    #[test]
    fn counts_of_shifts_are_taken_modulo_the_width() {
        // v_lshlrev_b32 v1, 2, v3; then by 34 and by 3.
        let shift = |count: u32| [0x2402_0600 | (128 + count)];
        assert_eq!(argument(&shift(2), &shift(34), &[]), Some(Argument::IgnoredBits));
        assert_eq!(argument(&shift(2), &shift(3), &[]), None);
    }

    #[test]
    fn modifiers_that_say_nothing_change_nothing() {
        // v_cvt_f32_f16_sdwa v3, v11 with src0_sel:WORD_1 and dst_sel:DWORD or BYTE_0; the rest padded or kept.
        let convert = |dst: u32, unused: u32| [0x7e06_16f9, 0x0005_000b | dst << 8 | unused << 11];
        assert_eq!(argument(&convert(6, 0), &convert(6, 2), &[]), Some(Argument::IgnoredBits));
        assert_eq!(argument(&convert(0, 0), &convert(0, 2), &[]), None);
        // v_alignbyte_b32 v4, v11, v10, 2 and 34 and 3.
        let align = |count: u32| [0xd1cf_0004, 0x0002_150b | (128 + count) << 18];
        assert_eq!(inst(&align(2)).op, Op::v_alignbyte_b32);
        assert_eq!(argument(&align(2), &align(34), &[]), Some(Argument::IgnoredBits));
        assert_eq!(argument(&align(2), &align(3), &[]), None);
    }

    #[test]
    fn sums_with_and_without_a_sign_differ_in_the_condition_bit_alone() {
        let (unsigned, signed) = ([0x8001_0302], [0x8101_0302]);
        assert_eq!(inst(&unsigned).op, Op::s_add_u32);
        assert_eq!(inst(&signed).op, Op::s_add_i32);
        assert_eq!(argument(&unsigned, &signed, &[]), Some(Argument::SameFunction));
        // s_addc_u32 s1, s2, s3 reads it.
        assert_eq!(argument(&unsigned, &signed, &[0x8201_0302]), None);
    }

    #[test]
    fn no_unsigned_number_is_below_zero() {
        // v_cmp_eq_u32 vcc, 0, v1; v_cmp_ge_u32 vcc, 0, v1; v_cmp_le_u32 vcc, 0, v1; and with 1.
        let compare = |code: u32, constant: u32| [0x7c00_0200 | code << 17 | (128 + constant)];
        let (eq, ge, le) = (0xca, 0xce, 0xcb);
        assert_eq!(inst(&compare(eq, 0)).op, Op::v_cmp_eq_u32);
        assert_eq!(inst(&compare(ge, 0)).op, Op::v_cmp_ge_u32);
        assert_eq!(argument(&compare(eq, 0), &compare(ge, 0), &[]), Some(Argument::SameFunction));
        assert_eq!(argument(&compare(eq, 0), &compare(le, 0), &[]), None);
        assert_eq!(argument(&compare(eq, 1), &compare(ge, 1), &[]), None);
    }
}
