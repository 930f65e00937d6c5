//! Read-modify-write operations, on global memory and on LDS.

use half::{bf16, f16};

use super::global::{Place, count};
use crate::exec::core::cx::{Cx, Step};
use crate::exec::core::lanes::commit;
use crate::exec::core::trap::Trap;
use crate::exec::core::uop::Uop;
use crate::exec::float;
pub(in crate::exec) use crate::isa::table::memory::Rmw;
use crate::memory::{WAVE, WaveAccess};
use crate::report::Segment;

/// The new value of a word. `data` are the instruction's, in the order of the enumeration's descriptions.
macro_rules! apply {
    ($name:ident, $word:ty, $signed:ty, $float:ty) => {
        impl Rmw {
            pub(in crate::exec) fn $name(self, old: $word, [x, y]: [$word; 2]) -> $word {
                let float = <$float>::from_bits;
                let choose = |first: bool, a, b| if first { a } else { b };
                match self {
                    Self::Swap => x,
                    Self::CompareSwap => choose(old == y, x, old),
                    Self::CompareSwapFloat => choose(float(old) == float(y), x, old),
                    Self::Add => old.wrapping_add(x),
                    Self::Sub => old.wrapping_sub(x),
                    Self::ReverseSub => x.wrapping_sub(old),
                    Self::Inc => choose(old >= x, 0, old.wrapping_add(1)),
                    Self::Dec => choose(old == 0 || old > x, x, old.wrapping_sub(1)),
                    Self::SignedMin => (old as $signed).min(x as $signed) as $word,
                    Self::SignedMax => (old as $signed).max(x as $signed) as $word,
                    Self::UnsignedMin => old.min(x),
                    Self::UnsignedMax => old.max(x),
                    Self::And => old & x,
                    Self::Or => old | x,
                    Self::Xor => old ^ x,
                    Self::MaskedOr => (old & !x) | y,
                    Self::Wrap => choose(old >= x, old.wrapping_sub(x), old.wrapping_add(y)),
                    Self::AddFloat => float::add(float(old), float(x)).to_bits(),
                    Self::MinFloat => choose(float(x) < float(old), x, old),
                    Self::MaxFloat => choose(float(x) > float(old), x, old),
                    Self::AddPairF16 => <$word>::from(pairwise(old as u32, x as u32, |a, b| {
                        float::add(f16::from_bits(a), f16::from_bits(b)).to_bits()
                    })),
                    Self::AddPairBf16 => <$word>::from(pairwise(old as u32, x as u32, |a, b| {
                        bf16::from_f32(bf16::from_bits(a).to_f32() + bf16::from_bits(b).to_f32()).to_bits()
                    })),
                }
            }
        }
    };
}

apply!(apply32, u32, i32, f32);
apply!(apply64, u64, i64, f64);

fn pairwise(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16)) | (u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16)
}

/// An atomic on global memory; the old values go to the destination if there is one.
pub(in crate::exec) fn global(c: &mut Cx<'_>, u: &Uop, place: &Place, exec: u64, segment: Segment) -> Step {
    let Some(rmw) = u.rmw else { unreachable!("an atomic has an operation") };
    if exec == 0 {
        return Step::Next;
    }
    let bytes = u.width.bytes;
    count(c, place, exec, bytes, true);
    let access =
        WaveAccess { exec, addresses: place.view(), bytes, align: bytes, pc: u.offset, atomic: true };
    let data = usize::from(u.src[1]);
    let (to, returns) = (usize::from(u.dst), u.inst.dst.is_some());
    let two = rmw == Rmw::CompareSwap;
    let file = &mut c.wave.v;
    let result = if bytes == 8 {
        let word = |lane: usize, i: usize| u64::from(file[data + i][lane]);
        let pair = |lane: usize, i: usize| word(lane, 2 * i) | (word(lane, 2 * i + 1) << 32);
        let mut old = [0; WAVE];
        let result = c.memory.atomic_u64(c.group, &access, &mut old, |lane, old| {
            rmw.apply64(old, [pair(lane, 0), if two { pair(lane, 1) } else { 0 }])
        });
        if returns && result.is_ok() {
            commit(&mut file[to], &old.map(|value| value as u32), exec);
            commit(&mut file[to + 1], &old.map(|value| (value >> 32) as u32), exec);
        }
        result
    } else {
        let word = |lane: usize, i: usize| file[data + i][lane];
        let mut old = [0; WAVE];
        let result = c.memory.atomic_u32(c.group, &access, &mut old, |lane, old| {
            rmw.apply32(old, [word(lane, 0), if two { word(lane, 1) } else { 0 }])
        });
        if returns && result.is_ok() {
            commit(&mut file[to], &old, exec);
        }
        result
    };
    match result {
        Ok(()) => {
            if two {
                c.memory.settle_compare_swap(c.group, &access);
            }
            Step::Next
        }
        Err(fault) => c.fault(Trap::lane(segment, *fault)),
    }
}
