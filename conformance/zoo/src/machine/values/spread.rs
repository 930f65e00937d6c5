//! How far a difference in some bits comes.

use std::collections::BTreeSet;

use softhip::dataflow::{Effects, is_vector, successors};
use softhip::isa::inst::scalar;
use softhip::isa::table::Ty;
use softhip::isa::{Format, Inst, Mods, Op, Operand};
use softhip::waits::{Register, RegisterSet};

use super::bits::Bits;
use super::state::{Names, SCALAR, SCC, State};

/// Bits of registers that may not be what they would be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Difference(Vec<u32>);

impl Default for Difference {
    fn default() -> Self {
        Self(vec![0; Register::COUNT])
    }
}

impl Difference {
    pub fn add(&mut self, register: usize, bits: u32) {
        self.0[register] |= bits;
    }

    pub fn is_none(&self) -> bool {
        self.0.iter().all(|bits| *bits == 0)
    }

    fn meets(&self, set: &RegisterSet) -> bool {
        set.iter().any(|register| self.0[register.index()] != 0)
    }

    /// The bits of an operand that may differ, two words where it has two.
    fn of(&self, operand: Operand, ty: Ty) -> u64 {
        if operand == Operand::Special(softhip::isa::inst::SpecialSource::Scc) {
            return self.0[SCC].into();
        }
        let words = RegisterSet::of(operand, ty.dwords());
        words.iter().enumerate().fold(0, |bits, (word, register)| {
            bits | u64::from(self.0[register.index()]) << (32 * u32::from(word > 0))
        })
    }
}

/// A difference at a point of a kernel.
#[derive(Clone, PartialEq, Eq)]
struct Point {
    differs: Difference,
    /// Scalar pairs that hold, as masks, all lanes in which vector registers differ, by their first registers.
    around: u128,
    /// Scalar pairs that differ in lanes that are on alone.
    on: u128,
}

/// A difference behind an instruction.
pub(super) struct Start {
    pub difference: Difference,
    /// In lanes that are off, too.
    pub everywhere: bool,
    /// Scalar pairs that differ in lanes that are on alone, by their first registers.
    pub on: u128,
}

/// A scalar pair among all, by its first register.
pub(super) fn pair(operand: Operand) -> u128 {
    if let Operand::Scalar(first) = operand { 1 << first } else { 0 }
}

/// Whether a difference behind instruction `index` is gone, on every way, before something is done that depends on it and could be seen.
pub(super) fn comes_to_nothing(
    code: &[Inst],
    index: usize,
    Start { difference, everywhere, on }: Start,
    before: impl Fn(usize, &mut Names) -> Option<State>,
    names: &mut Names,
) -> bool {
    let around = if everywhere || difference.0[SCALAR..].iter().any(|bits| *bits != 0) {
        0
    } else {
        1 << scalar::EXEC
    };
    let start = Point { differs: difference, around, on };
    let mut known: Vec<Option<Point>> = vec![None; code.len()];
    let Some(next) = successors(code, index) else { return false };
    let mut waiting: BTreeSet<usize> = next.iter().copied().collect();
    for to in next {
        known[to] = Some(start.clone());
    }
    let mut steps = 0;
    while let Some(at) = waiting.pop_first() {
        let Some(mut point) = known[at].clone() else { continue };
        if point.differs.is_none() {
            continue;
        }
        steps += 1;
        // A difference that goes so far matters in all likelihood.
        if steps > 1000 {
            return false;
        }
        if !point.step(&code[at], |names| before(at, names), at, names) {
            return false;
        }
        let Some(next) = successors(code, at) else { return false };
        for to in next {
            let grown = match &mut known[to] {
                Some(known) => known.merge(&point),
                unknown => {
                    *unknown = Some(point.clone());
                    true
                }
            };
            if grown {
                waiting.insert(to);
            }
        }
    }
    true
}

impl Point {
    fn merge(&mut self, other: &Point) -> bool {
        let bits = self.differs.0.iter().zip(&other.differs.0).map(|(a, b)| a | b).collect();
        let mut both = Point { differs: Difference(bits), around: self.around & other.around, on: 0 };
        // A pair that differs on one of the ways alone differs in no other lanes than it does there.
        let same =
            |point: &Point, first: u8| !point.differs.meets(&RegisterSet::of(Operand::Scalar(first), 2));
        for first in 0..127u8 {
            let within = |point: &Point| point.on >> first & 1 == 1 || same(point, first);
            if (self.on | other.on) >> first & 1 == 1 && within(self) && within(other) {
                both.on |= 1 << first;
            }
        }
        let new = both != *self;
        *self = both;
        new
    }

    fn holds_all(&self, pair: Operand) -> bool {
        match pair {
            Operand::Scalar(first) => self.around >> first & 1 == 1,
            Operand::Int(-1) => true,
            _ => false,
        }
    }

    /// Executes an instruction; false where it does something that could be seen.
    fn step(
        &mut self,
        inst: &Inst,
        before: impl Fn(&mut Names) -> Option<State>,
        at: usize,
        names: &mut Names,
    ) -> bool {
        let effects = Effects::of(inst);
        let everywhere = self.holds_all(Operand::Scalar(scalar::EXEC)) || inst.format == Format::Mai;
        let mut results: Vec<(usize, u32)> = Vec::new();
        let scalars = self.differs.0[SCALAR..].iter().any(|bits| *bits != 0);
        if self.differs.meets(&effects.reads) {
            // What lanes do that are on the one way and off the other could be seen.
            if is_vector(inst.format)
                && self.differs.meets(&RegisterSet::of(Operand::Scalar(scalar::EXEC), 2))
            {
                return false;
            }
            if !self.takes_lanes_that_are_off(inst, &effects) {
                let Some(state) = before(names) else { return false };
                let Some(bits) = self.result(inst, &effects, &state, at, names) else { return false };
                results = bits;
            }
        }
        let replaced =
            if everywhere || !is_vector(inst.format) { effects.replaces } else { effects.replaces.scalar() };
        for register in replaced.iter() {
            self.differs.0[register.index()] = 0;
        }
        self.masks(inst, &effects);
        if effects.writes.meets(&RegisterSet::of(Operand::Scalar(scalar::EXEC), 2)) {
            self.on = 0;
        }
        for first in 0..127u8 {
            if effects.writes.meets(&RegisterSet::of(Operand::Scalar(first), 2)) {
                self.on &= !(1 << first);
            }
        }
        for (register, bits) in results {
            self.differs.0[register] |= bits;
            // From scalar registers a difference comes to all lanes that are on.
            if register < SCALAR && bits != 0 && scalars {
                self.around = 0;
            }
        }
        true
    }

    /// Whether an instruction takes from a mask that differs in lanes that are on those that are off, or adds it to those that are on: all
    /// that it reads besides is the same, and so is what it makes of it.
    fn takes_lanes_that_are_off(&self, inst: &Inst, effects: &Effects) -> bool {
        let takes = matches!(inst.op, Op::s_andn2_saveexec_b64 | Op::s_or_saveexec_b64);
        let Operand::Scalar(first) = inst.src[0] else { return false };
        let mask = RegisterSet::of(inst.src[0], 2);
        let others = effects.reads.without(&mask);
        takes && self.on >> first & 1 == 1 && !self.differs.meets(&others)
    }

    /// What of an instruction's results may differ; `None` where that could be seen.
    fn result(
        &self,
        inst: &Inst,
        effects: &Effects,
        state: &State,
        at: usize,
        names: &mut Names,
    ) -> Option<Vec<(usize, u32)>> {
        let types = inst.operand_types();
        let differs: [u64; 3] =
            std::array::from_fn(|i| self.differs.of(inst.src[i], types[i + 1]) & looked_at(inst, i));
        let besides = self.differs.meets(&unnamed(inst));
        if differs == [0; 3] && !besides {
            return Some(Vec::new());
        }
        if !is_lanewise(inst) {
            return None;
        }
        let known = |source: usize| {
            let words = state.operand(&mut *names, at, inst.src[source], types[source + 1]);
            words.first().map_or(Bits::WORD, |value| value.bits)
        };
        let exact = if besides { None } else { exact(inst, differs, known) };
        let words = inst.operand_types()[0].dwords();
        let dst = RegisterSet::of(inst.dst, words);
        let mut results = Vec::new();
        let mut word = 0;
        for register in effects.writes.iter().map(Register::index) {
            let in_dst = dst.iter().any(|own| own.index() == register);
            let bits = match exact {
                Some(bits) if in_dst => {
                    let part = if word == 0 { bits & 0xffff_ffff } else { bits >> 32 };
                    word += 1;
                    u32::try_from(part).unwrap_or(u32::MAX)
                }
                Some(0) => 0,
                _ => u32::MAX,
            };
            results.push((register, bits));
        }
        Some(results)
    }

    /// What becomes of the masks around the lanes that differ.
    fn masks(&mut self, inst: &Inst, effects: &Effects) {
        let sources = [inst.src[0], inst.src[1]].map(|source| self.holds_all(source));
        let exec = self.holds_all(Operand::Scalar(scalar::EXEC));
        for pair in 0..127u8 {
            if effects.writes.meets(&RegisterSet::of(Operand::Scalar(pair), 2)) {
                self.around &= !(1 << pair);
            }
        }
        let (holds, new_exec) = match inst.op {
            Op::s_mov_b64 => (sources[0], None),
            Op::s_or_b64 => (sources[0] || sources[1], None),
            Op::s_and_b64 => (sources[0] && sources[1], None),
            Op::s_and_saveexec_b64 => (exec, Some(sources[0] && exec)),
            Op::s_or_saveexec_b64 => (exec, Some(sources[0] || exec)),
            Op::s_xor_saveexec_b64 | Op::s_andn2_saveexec_b64 | Op::s_orn2_saveexec_b64 => (exec, None),
            _ => return,
        };
        if let (Operand::Scalar(first), true) = (inst.dst, holds) {
            self.around |= 1 << first;
        }
        if new_exec == Some(true) {
            self.around |= 1 << scalar::EXEC;
        }
    }
}

/// What of an instruction's results may differ where some bits of a register do.
#[cfg(test)]
pub(super) fn results(
    inst: &Inst,
    register: usize,
    bits: u32,
    state: &State,
    names: &mut Names,
) -> Option<Vec<(usize, u32)>> {
    let mut differs = Difference::default();
    differs.add(register, bits);
    Point { differs, around: 0, on: 0 }.result(inst, &Effects::of(inst), state, 1, names)
}

/// The bits in which the results of two instructions may differ that differ in their sources alone, two words where there are two, as far
/// as that is known.
pub(super) fn of_sources(was: &Inst, now: &Inst, state: &State, at: usize, names: &mut Names) -> Option<u64> {
    if (Inst { src: was.src, ..*now }) != *was || !is_lanewise(was) {
        return None;
    }
    let types = was.operand_types();
    let mut values =
        |inst: &Inst, source: usize| state.operand(names, at, inst.src[source], types[source + 1]);
    let mut known = [Bits::WORD; 3];
    let mut differs = [0; 3];
    for source in 0..3 {
        let (one, other) = (values(was, source), values(now, source));
        known[source] = one.first().map_or(Bits::WORD, |value| value.bits);
        for (word, (one, other)) in one.iter().zip(&other).enumerate() {
            if one.name != other.name {
                let alike = one.bits.zeros & other.bits.zeros | one.bits.ones & other.bits.ones;
                differs[source] |= (!alike & 0xffff_ffff) << (32 * u32::from(word > 0));
            }
        }
        differs[source] &= looked_at(was, source);
    }
    exact(was, differs, |source| known[source])
}

/// What an instruction reads without naming it: carries, SCC, EXEC, M0, what its destination held.
pub(super) fn unnamed(inst: &Inst) -> RegisterSet {
    Effects::of(&Inst { src: [Operand::None; 3], ..*inst }).reads
}

/// Whether an instruction does nothing but compute registers, each lane from its own.
pub(super) fn is_lanewise(inst: &Inst) -> bool {
    let format = matches!(
        inst.format,
        Format::Vop1
            | Format::Vop2
            | Format::Vop3
            | Format::Vop3p
            | Format::Vopc
            | Format::Sdwa
            | Format::Sop1
            | Format::Sop2
            | Format::Sopc
            | Format::Sopk
    );
    let name = inst.op.mnemonic();
    let special = [
        "readlane",
        "readfirstlane",
        "writelane",
        "setreg",
        "setpc",
        "swappc",
        "call",
        "swap",
        "movrel",
        "cmpx",
        "saveexec",
        "wrexec",
    ];
    format && inst.branch_target().is_none() && !special.iter().any(|special| name.contains(special))
}

/// The bits of a source at which an instruction looks.
fn looked_at(inst: &Inst, source: usize) -> u64 {
    let plain = matches!(inst.mods, Mods::None) || matches!(inst.mods, Mods::Vop(mods) if mods.op_sel == 0);
    let ty = inst.operand_types()[source + 1];
    if let Mods::Sdwa(_, sdwa) = inst.mods
        && let Some(select) = sdwa.src_sel.get(source)
    {
        use softhip::isa::inst::SdwaSel;
        return match select {
            SdwaSel::Byte0 => 0xff,
            SdwaSel::Byte1 => 0xff00,
            SdwaSel::Byte2 => 0xff_0000,
            SdwaSel::Byte3 => 0xff00_0000,
            SdwaSel::Word0 => 0xffff,
            SdwaSel::Word1 => 0xffff_0000,
            SdwaSel::Dword => 0xffff_ffff,
        };
    }
    match inst.op {
        Op::v_cvt_f32_ubyte0 => 0xff,
        Op::v_cvt_f32_ubyte1 => 0xff00,
        Op::v_cvt_f32_ubyte2 => 0xff_0000,
        Op::v_cvt_f32_ubyte3 => 0xff00_0000,
        Op::v_mul_u32_u24 | Op::v_mad_u32_u24 | Op::v_mul_i32_i24 | Op::v_mad_i32_i24 if source < 2 => {
            0xff_ffff
        }
        // Of an address in bytes, which of 64 lanes.
        Op::ds_bpermute_b32 | Op::ds_permute_b32 if source == 0 => {
            if matches!(inst.mods, Mods::Ds(mods) if mods.offset() % 4 == 0) { 0xfc } else { 0xff }
        }
        // The data of stores.
        Op::global_store_byte | Op::flat_store_byte | Op::ds_write_b8 if source == 1 => 0xff,
        Op::global_store_short | Op::flat_store_short | Op::ds_write_b16 if source == 1 => 0xffff,
        _ if matches!(ty, Ty::B16 | Ty::F16) && plain && !matches!(inst.mods, Mods::Sdwa(..)) => 0xffff,
        _ => u64::MAX,
    }
}

/// The bits of a result that may differ where those of the sources do, for operations of which that is known.
fn exact(inst: &Inst, differs: [u64; 3], mut known: impl FnMut(usize) -> Bits) -> Option<u64> {
    const LOW: u64 = 0xffff_ffff;
    if !matches!(inst.mods, Mods::None) && inst.mods != Mods::Vop(softhip::isa::inst::VopMods::default()) {
        return if differs == [0; 3] { Some(0) } else { None };
    }
    let [a, b, c] = differs;
    let upwards = |bits: u64| if bits == 0 { 0 } else { u64::MAX << bits.trailing_zeros() & LOW };
    let mut count = |source: usize, width: u64| {
        let count = (differs[source] == 0).then(|| known(source).value()).flatten()?;
        u32::try_from(count & (width - 1)).ok()
    };
    Some(match inst.op {
        _ if differs == [0; 3] => 0,
        Op::s_mov_b32 | Op::v_mov_b32 | Op::s_mov_b64 | Op::v_mov_b64 | Op::s_not_b32 | Op::v_not_b32 => a,
        Op::s_and_b32 | Op::v_and_b32 => {
            // Where one is surely 0 the other does not matter.
            (a & !(known(1).zeros & !b) | b & !(known(0).zeros & !a)) & LOW
        }
        Op::s_or_b32 | Op::v_or_b32 => a & !(known(1).ones & !b) | b & !(known(0).ones & !a),
        Op::s_xor_b32 | Op::v_xor_b32 => a | b,
        Op::v_lshlrev_b32 => b << count(0, 32)? & LOW,
        Op::v_lshrrev_b32 => b >> count(0, 32)?,
        Op::s_lshl_b32 => a << count(1, 32)? & LOW,
        Op::s_lshr_b32 => a >> count(1, 32)?,
        Op::v_lshlrev_b64 => b << count(0, 64)?,
        Op::v_lshrrev_b64 => b >> count(0, 64)?,
        Op::s_lshl_b64 => a << count(1, 64)?,
        Op::s_lshr_b64 => a >> count(1, 64)?,
        Op::v_bfe_u32 => {
            let (offset, width) = (count(1, 32)?, count(2, 32)?);
            a >> offset & ((1 << width) - 1)
        }
        Op::v_and_or_b32 => (a & !(known(1).zeros & !b) | b & !(known(0).zeros & !a) | c) & LOW,
        Op::v_or3_b32 => a | b | c,
        Op::v_lshl_or_b32 => a << count(1, 32)? & LOW | c,
        // A difference in a bit of a summand or factor comes to higher bits alone.
        Op::v_add_u32
        | Op::v_sub_u32
        | Op::v_subrev_u32
        | Op::v_mul_lo_u32
        | Op::v_add3_u32
        | Op::s_mul_i32 => upwards(a | b | c),
        Op::v_lshl_add_u32 => upwards(a << count(1, 32)? & LOW | c),
        Op::v_add_lshl_u32 => upwards(upwards(a | b) << count(2, 32)? & LOW),
        _ => return None,
    })
}
