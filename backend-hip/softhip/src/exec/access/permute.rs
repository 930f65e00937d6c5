//! DS operations that move data between lanes and touch no memory.

use super::columns;
use crate::exec::core::cx::{Cx, Handler, Step};
use crate::exec::core::lanes::commit;
use crate::exec::core::uop::Uop;
use crate::isa::{Mods, Op};
use crate::memory::{Lanes, WAVE};

fn offset(u: &Uop) -> u32 {
    match u.inst.mods {
        Mods::Ds(mods) => mods.offset().into(),
        _ => unreachable!("the instruction has the DS encoding"),
    }
}

/// The lane that a byte address names.
const fn lane_of(address: u32) -> usize {
    (address / 4) as usize % WAVE
}

/// Every lane pulls from the lane it names; inactive lanes give 0.
fn bpermute(c: &mut Cx<'_>, u: &Uop) -> Step {
    let exec = c.wave.exec();
    let offset = offset(u);
    let (address, data) = (&c.wave.v[usize::from(u.src[0])], &c.wave.v[usize::from(u.src[1])]);
    let mut pulled = [0; WAVE];
    if exec == u64::MAX {
        columns::fill(|lane| data[lane_of(address[lane].wrapping_add(offset))], &mut pulled);
    } else {
        for lane in 0..WAVE {
            let from = lane_of(address[lane].wrapping_add(offset));
            pulled[lane] = if (exec >> from) & 1 != 0 { data[from] } else { 0 };
        }
    }
    commit(&mut c.wave.v[usize::from(u.dst)], &pulled, exec);
    Step::Next
}

/// Every active lane pushes to the lane it names; the highest wins, lanes that get nothing read 0.
fn permute(c: &mut Cx<'_>, u: &Uop) -> Step {
    let exec = c.wave.exec();
    let offset = offset(u);
    let (address, data) = (&c.wave.v[usize::from(u.src[0])], &c.wave.v[usize::from(u.src[1])]);
    let mut pushed = [0; WAVE];
    for lane in super::active(exec) {
        pushed[lane_of(address[lane].wrapping_add(offset))] = data[lane];
    }
    commit(&mut c.wave.v[usize::from(u.dst)], &pushed, exec);
    Step::Next
}

/// The lane that `lane` reads under a swizzle pattern.
fn swizzled(pattern: u32, lane: usize) -> usize {
    const FULL: u32 = 0x8000;
    const ROTATE: u32 = 0xc000;
    if pattern & 0xf000 == ROTATE {
        // Within 32 lanes: rotate by bits 9:5, those of the mask in bits 4:0 stay.
        let (half, within) = (lane & 32, lane & 31);
        let (by, keep) = ((pattern >> 5) as usize & 31, pattern as usize & 31);
        let rotated = if pattern & 0x400 == 0 { within + by } else { within + 32 - by } & 31;
        return half | (within & keep) | (rotated & !keep & 31);
    }
    if pattern & FULL != 0 {
        let select = (pattern >> (2 * (lane & 3))) as usize & 3;
        return (lane & !3) | select;
    }
    let field = |at: u32| (pattern >> at) as usize & 31;
    let (and, or, xor) = (field(0), field(5), field(10));
    (lane & 32) | (((lane & 31 & and) | or) ^ xor)
}

fn swizzle(c: &mut Cx<'_>, u: &Uop) -> Step {
    let exec = c.wave.exec();
    let pattern = offset(u);
    let data = &c.wave.v[usize::from(u.src[0])];
    let pulled: Lanes = std::array::from_fn(|lane| {
        let from = swizzled(pattern, lane);
        if (exec >> from) & 1 != 0 { data[from] } else { 0 }
    });
    commit(&mut c.wave.v[usize::from(u.dst)], &pulled, exec);
    Step::Next
}

pub(in crate::exec) fn handler(op: Op) -> Option<Handler> {
    Some(match op {
        Op::ds_bpermute_b32 => bpermute,
        Op::ds_permute_b32 => permute,
        Op::ds_swizzle_b32 => swizzle,
        _ => return None,
    })
}
