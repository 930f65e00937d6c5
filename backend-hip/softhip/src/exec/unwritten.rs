//! Values from LDS that nothing has written, followed until something depends on them.
//!
//! Such a read alone does no harm: kernels multiply whole tiles and store only the rows that there are. So the lanes of the registers that
//! it fills are marked, and every instruction passes the marks of its sources on to its results. The read is reported as soon as a marked
//! lane reaches memory, an address, a scalar register, a lane mask or the condition of a branch. If none does until the wave ends, the read is a note.
//!
//! Nothing that depends on such a value is missed: where it is not known which lanes of a result depend on a marked one, all do; a result that keeps
//! a part of what stood there keeps its mark. So a report may still be about a value that changes nothing, such as a product with 0.

use std::collections::HashMap;

use super::core::cx::{Cx, Step};
use super::core::trap::Trap;
use super::core::uop::Uop;
use super::group::Failure;
use super::modifiers::is_valu;
use super::resolve::is_vector;
use crate::dataflow::keeps_part;
use crate::isa::{Format, Mods, Op};
use crate::waits::{Class, Facts, LdsEffect, RegisterSet};

/// Instructions whose reads are told apart.
const MOST_READS: usize = 64;

/// A read of LDS that nothing had written.
#[derive(Debug)]
struct Read {
    /// What it would be reported as, of its first lane.
    failure: Failure,
    /// How many lanes did so.
    times: u64,
}

/// A read whose value something depends on.
#[derive(Debug)]
pub(super) struct Reached {
    pub(super) failure: Failure,
    pub(super) times: u64,
}

/// What an instruction does with marks.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says one thing of an instruction, and all combinations occur"
)]
struct Rule {
    /// Slots of the vector file.
    reads: Vec<u16>,
    writes: Vec<u16>,
    /// Something depends on its sources.
    uses: bool,
    /// Lane `i` of a result depends on lane `i` of the sources, and on no other.
    by_lane: bool,
    /// It may read and write lanes that are not active.
    all_lanes: bool,
    /// A result may keep a part of what stood there.
    keeps: bool,
}

impl Rule {
    fn of(u: &Uop, vgprs: u16) -> Self {
        let facts = Facts::of(&u.inst);
        let slots = |set: &RegisterSet| {
            let slot =
                |index: usize| (index as u16).checked_sub(256).map_or(index as u16, |index| vgprs + index);
            set.vector().iter().map(|register| slot(register.index())).collect::<Vec<_>>()
        };
        let (valu, format) = (is_valu(u.inst.format), u.inst.format);
        let matrix = format == Format::Mai && facts.passes > 0;
        let memory = !valu && format != Format::Mai;
        let lane = facts.class.is(Class::ANY_LANE);
        let selects = matches!(format, Format::Sdwa | Format::Dpp)
            || matches!(u.inst.mods, Mods::Dpp(..) | Mods::Sdwa(..));
        let eighths = matches!(
            u.inst.op,
            Op::v_cvt_pk_fp8_f32 | Op::v_cvt_pk_bf8_f32 | Op::v_cvt_sr_fp8_f32 | Op::v_cvt_sr_bf8_f32
        );
        let partly = keeps_part(&u.inst) || eighths || facts.class.is(Class::SHIFTED_RESULT);
        Self {
            reads: slots(&facts.reads),
            writes: slots(&facts.writes),
            uses: memory || !facts.writes.scalar().is_empty(),
            by_lane: valu && !lane && format != Format::Dpp || format == Format::Mai && !matrix,
            // Exchanges between lanes are LDS instructions without an effect on LDS.
            all_lanes: matrix
                || lane
                || format == Format::Dpp
                || format == Format::Ds && facts.lds == LdsEffect::None,
            keeps: selects || partly || lane,
        }
    }
}

/// The marks of one wave.
#[derive(Debug)]
pub(in crate::exec) struct Marks {
    /// Marked lanes, by slots of the vector file.
    lanes: Vec<u64>,
    /// Where the marks of a slot came from: bit `i` for read `i`.
    origins: Vec<u64>,
    /// Slots with a mark.
    live: usize,
    reads: Vec<Read>,
    /// By addresses of instructions.
    rules: HashMap<u64, Rule>,
    /// Reads that the instruction which is about to run depends on.
    reached: Vec<Reached>,
}

impl Marks {
    fn new(slots: usize) -> Self {
        let (lanes, origins) = (vec![0; slots], vec![0; slots]);
        Self { lanes, origins, live: 0, reads: Vec::new(), rules: HashMap::new(), reached: Vec::new() }
    }

    fn set(&mut self, slot: usize, lanes: u64, origins: u64) {
        let was = self.lanes[slot] != 0;
        self.lanes[slot] = lanes;
        self.origins[slot] = if lanes == 0 { 0 } else { origins };
        match (was, lanes != 0) {
            (false, true) => self.live += 1,
            (true, false) => self.live -= 1,
            _ => {}
        }
    }

    /// The number of a read of an instruction.
    fn number(&mut self, failure: Failure, times: u64) -> usize {
        let same = |read: &Read| read.failure.sides() == failure.sides();
        if let Some(known) = self.reads.iter().position(same) {
            self.reads[known].times += times;
            return known;
        }
        self.reads.push(Read { failure, times });
        self.reads.len() - 1
    }

    /// The instruction depends on marked lanes of these origins, which are no longer followed.
    fn reach(&mut self, origins: u64, u: &Uop) {
        for (at, read) in self.reads.iter_mut().enumerate().filter(|(at, _)| origins >> at & 1 == 1) {
            let mut failure = read.failure.clone();
            let offset = u.offset.cast_signed();
            let sign = if offset < 0 { '-' } else { '+' };
            let note = format!("the value reaches `{}` at {sign}{:#x}", u.inst, offset.unsigned_abs());
            failure.trap = failure.trap.note(note);
            let times = std::mem::take(&mut read.times);
            debug_assert!(at < MOST_READS, "there are no more");
            self.reached.push(Reached { failure, times });
        }
        for slot in 0..self.lanes.len() {
            let left = self.origins[slot] & !origins;
            let lanes = if left == 0 { 0 } else { self.lanes[slot] };
            self.set(slot, lanes, left);
        }
    }

    /// Takes the reads out that the next instruction depends on.
    pub(super) fn take_reached(&mut self) -> Vec<Reached> {
        std::mem::take(&mut self.reached)
    }

    /// The reads that nothing has depended on.
    pub(super) fn harmless(self) -> impl Iterator<Item = Failure> {
        let left = self.reads.into_iter().filter(|read| read.times > 0);
        left.map(|Read { mut failure, .. }| {
            failure.trap = failure.trap.note("nothing depends on the value".to_owned());
            failure
        })
    }
}

/// Marks lanes of the registers at `first` that a load has filled from LDS that nothing has written. The trap is that of the first lane;
/// it comes back if there is no room for another read.
#[cold]
pub(in crate::exec) fn mark(
    c: &mut Cx<'_>,
    u: &Uop,
    lanes: u64,
    registers: std::ops::Range<usize>,
    trap: Trap,
) -> Result<(), Trap> {
    let slots = c.wave.v.len();
    let marks = c.wave.marks.get_or_insert_with(|| Box::new(Marks::new(slots)));
    let failure = Failure { trap, wave: c.wave.id, inst: Some(u.inst) };
    let known = marks.reads.iter().any(|read| read.failure.sides() == failure.sides());
    if !known && marks.reads.len() == MOST_READS {
        return Err(failure.trap);
    }
    let number = marks.number(failure, lanes.count_ones().into());
    for slot in registers {
        let (lanes, origins) = (marks.lanes[slot] | lanes, marks.origins[slot] | 1 << number);
        marks.set(slot, lanes, origins);
    }
    Ok(())
}

/// Passes marks on, before an instruction runs. Called only while the wave has marks. A trap: the instruction depends on some.
#[cold]
pub(super) fn gate(c: &mut Cx<'_>, u: &Uop) -> Step {
    let (exec, moved) = (c.wave.exec(), c.wave.gpr_index);
    let vgprs = c.program.vgprs() as u16;
    let Some(marks) = c.wave.marks.as_deref_mut() else { return Step::Next };
    if marks.live == 0 || !is_vector(u.inst.format) || c.wave.vskip {
        return Step::Next;
    }
    let rule = marks.rules.remove(&u.inst.pc).unwrap_or_else(|| Rule::of(u, vgprs));
    let considered = if rule.all_lanes { u64::MAX } else { exec };
    let (mut lanes, mut origins) = (0, 0);
    for slot in rule.reads.iter().map(|&slot| usize::from(slot)) {
        if let Some(marked) =
            marks.lanes.get(slot).map(|marked| marked & considered).filter(|&marked| marked != 0)
        {
            lanes |= marked;
            origins |= marks.origins[slot];
        }
    }
    // Operands that M0 moves are not those that the instruction names.
    if moved && is_valu(u.inst.format) {
        origins = marks.origins.iter().fold(0, |all, origins| all | origins);
        lanes = u64::MAX;
    }
    if lanes != 0 && (rule.uses || moved) {
        marks.reach(origins, u);
        marks.rules.insert(u.inst.pc, rule);
        let trap = marks.reached.first().map(|reached| Box::new(reached.failure.trap.clone()));
        c.trap = trap;
        return if c.trap.is_some() { Step::Trap } else { Step::Next };
    }
    let new = if lanes != 0 && !rule.by_lane { considered } else { lanes };
    for slot in rule.writes.iter().map(|&slot| usize::from(slot)) {
        let Some(&marked) = marks.lanes.get(slot) else { continue };
        let kept = marked & if rule.keeps { u64::MAX } else { !considered };
        let before = if kept == 0 { 0 } else { marks.origins[slot] };
        marks.set(slot, kept | new, before | if new == 0 { 0 } else { origins });
    }
    marks.rules.insert(u.inst.pc, rule);
    Step::Next
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::program::Registers;
    use crate::exec::resolve::Layout;
    use crate::isa::decode;

    fn rule(words: &[u32]) -> Rule {
        let mut layout = Layout::new(Registers { vgprs: 32, agprs: 32 });
        Rule::of(&layout.resolve(decode(words, 0).unwrap()), 32)
    }

    fn kind(words: &[u32]) -> [bool; 4] {
        let Rule { uses, by_lane, all_lanes, keeps, .. } = rule(words);
        [uses, by_lane, all_lanes, keeps]
    }

    #[test]
    fn a_read_that_is_reported_leaves_the_marks_of_others() {
        let failure = |pc| {
            let inst = crate::isa::Inst { pc, ..decode(&[0x7e02_0300], 0).unwrap() };
            Failure { trap: Trap::new(crate::report::Problem::Trap { number: 0 }), wave: 0, inst: Some(inst) }
        };
        let mut marks = Marks::new(4);
        let (a, b) = (marks.number(failure(4), 1), marks.number(failure(8), 1));
        marks.set(0, 1, 1 << a);
        marks.set(1, 6, 1 << a | 1 << b);
        let mut layout = Layout::new(Registers { vgprs: 4, agprs: 0 });
        let store = layout.resolve(decode(&[0xdc70_8000, 0x007f_0200], 0).unwrap());
        marks.reach(1 << a, &store);
        assert_eq!((marks.lanes[0], marks.lanes[1], marks.origins[1], marks.live), (0, 6, 1 << b, 1));
        assert_eq!(marks.take_reached().len(), 1);
        let left: Vec<_> = marks.harmless().map(|failure| failure.sides().0).collect();
        assert_eq!(left, [Some(8)]);
    }

    #[test]
    fn arithmetic_passes_marks_on_lane_by_lane() {
        // v_mov_b32 v1, v0
        let moved = rule(&[0x7e02_0300]);
        assert_eq!((moved.reads, moved.writes), (vec![0], vec![1]));
        assert_eq!(kind(&[0x7e02_0300]), [false, true, false, false]);
        // v_add_f16 v0, v1, v2 keeps the high half.
        assert_eq!(kind(&[0x3e00_0501]), [false, true, false, true]);
        // v_accvgpr_write_b32 a1, v0
        let written = rule(&[0xd3d9_4001, 0x1800_0100]);
        assert_eq!((written.reads, written.writes, written.by_lane), (vec![0], vec![33], true));
    }

    #[test]
    fn what_leaves_a_lane_marks_all() {
        // v_mov_b32_dpp v1, v0 row_shr:1
        assert_eq!(kind(&[0x7e02_02fa, 0xff01_1100]), [false, false, true, true]);
        // v_mfma_f32_4x4x1_16b_f32 a[0:3], v0, v1, a[0:3]
        assert_eq!(kind(&[0xd3c2_8000, 0x0402_0300])[..3], [false, false, true]);
    }

    #[test]
    fn memory_masks_and_scalars_depend_on_values() {
        // v_cmp_gt_i32 vcc, v0, v1; v_readfirstlane_b32 s0, v1; v_add_co_u32 v0, vcc, v1, v2
        for word in [0x7d88_0300, 0x7e00_0501, 0x3200_0501] {
            assert!(rule(&[word]).uses, "{word:#x}");
        }
        // global_store_dword v[0:1], v2, off; ds_write_b32 v0, v1; ds_bpermute_b32 v0, v1, v2
        for words in [[0xdc70_8000, 0x007f_0200], [0xd81a_0000, 0x0000_0100], [0xd87e_0000, 0x0000_0201]] {
            assert!(rule(&words).uses, "{words:x?}");
        }
        assert_eq!(rule(&[0xdc70_8000, 0x007f_0200]).reads, [0, 1, 2]);
    }
}
