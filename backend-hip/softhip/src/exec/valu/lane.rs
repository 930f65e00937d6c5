//! Moves between lanes and between the two register files.

use crate::exec::core::cx::{Cx, Handler, Step};
use crate::exec::core::lanes::{self, commit, map2_lane};
use crate::exec::core::uop::Uop;
use crate::exec::core::vectorised::lanewise;
use crate::isa::Op;
use crate::memory::WAVE;

#[inline(always)]
fn select(c: &mut Cx<'_>, u: &Uop) -> Step {
    let mask = c.read64(u.scalar[2]);
    lanes::select(c, u, mask)
}

fn read_first_lane(c: &mut Cx<'_>, u: &Uop) -> Step {
    // With no lane active, lane 0 is read.
    let lane = c.wave.exec().trailing_zeros() as usize % WAVE;
    let value = c.wave.v[usize::from(u.src[0])][lane];
    c.write32(u, value);
    Step::Next
}

fn read_lane(c: &mut Cx<'_>, u: &Uop) -> Step {
    let lane = c.read32(u.scalar[1]) as usize % WAVE;
    let value = c.wave.v[usize::from(u.src[0])][lane];
    c.write32(u, value);
    Step::Next
}

fn write_lane(c: &mut Cx<'_>, u: &Uop) -> Step {
    let lane = c.read32(u.scalar[1]) as usize % WAVE;
    let value = c.read32(u.scalar[0]);
    c.wave.v[usize::from(u.dst)][lane] = value;
    Step::Next
}

#[inline(always)]
fn swap(c: &mut Cx<'_>, u: &Uop) -> Step {
    let exec = c.wave.exec();
    let (a, b) = (usize::from(u.dst), usize::from(u.src[0]));
    let (old_a, old_b) = (c.wave.v[a], c.wave.v[b]);
    commit(&mut c.wave.v[a], &old_b, exec);
    commit(&mut c.wave.v[b], &old_a, exec);
    Step::Next
}

/// The lanes below `lane`.
const fn below(lane: usize) -> u64 {
    (1 << lane) - 1
}

pub(super) fn handler(op: Op) -> Option<Handler> {
    let handler: Handler = match op {
        Op::v_nop | Op::v_clrexcp => |_, _| Step::Next,
        Op::v_cndmask_b32 => lanewise!(select),
        Op::v_readfirstlane_b32 => read_first_lane,
        Op::v_readlane_b32 => read_lane,
        Op::v_writelane_b32 => write_lane,
        Op::v_swap_b32 => lanewise!(swap),
        Op::v_mbcnt_lo_u32_b32 => lanewise!(|c, u| {
            map2_lane(c, u, |a: u32, b: u32, lane| (a & below(lane) as u32).count_ones().wrapping_add(b))
        }),
        Op::v_mbcnt_hi_u32_b32 => lanewise!(|c, u| {
            map2_lane(c, u, |a: u32, b: u32, lane| {
                (a & (below(lane) >> 32) as u32).count_ones().wrapping_add(b)
            })
        }),
        _ => return None,
    };
    Some(handler)
}
