//! MUBUF: loads, stores and atomics through a buffer resource in four scalar registers.
//!
//! The resource has its own range, and an access beyond it is no fault: a load gives 0 there, a store or an atomic does
//! nothing. Kernels use that to mask lanes. What is in range passes the same door as every other access, so that a
//! resource with a wrong range is found.
//!
//! Range checking, as the CDNA3 manual has it: with `idxen` and a stride, an index is compared with the number of
//! records. Otherwise the records are bytes, and each dword must end within `records - soffset`. Atomics are in range as
//! a whole or not at all. Where the lane's number is added to the index, nothing is checked. That is also what gfx950
//! was seen to do (ROCm/rocm-systems, pull request 10928).

use super::global::{self, Place};
use super::narrow::Width;
use crate::exec::core::cx::{Cx, Handler, Step};
use crate::exec::core::uop::{Scalar, Uop};
use crate::exec::resolve::scalar_source;
use crate::isa::table::memory::{Data, MemoryOp};
use crate::isa::table::rule::Mem;
use crate::isa::table::{self, Ty};
use crate::isa::{Mods, Op};
use crate::memory::WAVE;
use crate::report::Segment;

/// The fields of a resource that say where its elements are.
struct Resource {
    base: u64,
    /// Bytes from one index to the next; 0 for a raw buffer.
    stride: u64,
    /// Bytes, or elements: see above.
    records: u64,
    /// Swizzled: records that stand side by side, see [`Resource::offset`].
    index_stride: Option<u64>,
    /// The lane's number is added to the index.
    adds_lane: bool,
}

/// Bytes of one record that stay together in a swizzled buffer.
const ELEMENT: u64 = 4;

impl Resource {
    fn new(words: [u32; 4]) -> Self {
        let adds_lane = (words[3] >> 23) & 1 != 0;
        // The format's bits extend the stride where the lane's number is added.
        let more = if adds_lane { u64::from((words[3] >> 15) & 15) << 14 } else { 0 };
        Self {
            base: u64::from(words[0]) | (u64::from(words[1] & 0xffff) << 32),
            stride: u64::from((words[1] >> 16) & 0x3fff) | more,
            records: words[2].into(),
            index_stride: (words[1] >> 31 != 0).then_some(8 << ((words[3] >> 21) & 3)),
            adds_lane,
        }
    }

    /// Bytes from the base to a byte of a record.
    fn offset(&self, index: u64, offset: u64) -> u64 {
        match self.index_stride {
            None => index * self.stride + offset,
            Some(side) => {
                (index / side * self.stride + offset / ELEMENT * ELEMENT) * side
                    + index % side * ELEMENT
                    + offset % ELEMENT
            }
        }
    }
}

/// Where the active lanes access memory.
pub(super) struct Lanes {
    addresses: [u64; WAVE],
    /// Lanes whose access is in range as a whole.
    pub(super) inside: u64,
    /// Lanes that have a dword in range and one out of range.
    pub(super) across: u64,
    /// For those: how many dwords are in range.
    dwords: [u8; WAVE],
    /// The other active lanes.
    pub(super) outside: u64,
}

/// The words of an instruction's resource.
pub(super) fn words(c: &Cx<'_>, u: &Uop) -> Option<[u32; 4]> {
    let Scalar::Register(first) = u.scalar[2] else { return None };
    c.wave.s[usize::from(first)..].first_chunk().copied()
}

/// Finds the lanes' addresses; the error says what is not supported.
pub(super) fn lanes(c: &Cx<'_>, u: &Uop, bytes: u32) -> Result<Lanes, &'static str> {
    let (Mods::Buffer(mods), Some(words)) = (u.inst.mods, words(c, u)) else { return Err("resource") };
    let resource = Resource::new(words);
    let soffset = u64::from(c.read32(scalar_source(mods.soffset, Ty::B32)));
    let first = usize::from(u.src[0]);
    let offsets = first + usize::from(mods.idxen && mods.offen);
    let exec = c.wave.exec();
    let structured = mods.idxen && resource.stride != 0;
    let mut lanes = Lanes { addresses: [0; WAVE], inside: 0, across: 0, dwords: [0; WAVE], outside: 0 };
    for lane in super::active(exec) {
        let mut index = if mods.idxen { u64::from(c.wave.v[first][lane]) } else { 0 };
        if resource.adds_lane {
            index += lane as u64;
        }
        let register = if mods.offen { c.wave.v[offsets][lane] } else { 0 };
        let offset = u64::from(register.wrapping_add(mods.offset.into()));
        let from_base = resource.offset(index, offset);
        lanes.addresses[lane] = resource.base.wrapping_add(soffset).wrapping_add(from_base);
        // Bytes from the start of the access to the end of the range.
        let left = if resource.adds_lane || (structured && index < resource.records) {
            u64::MAX
        } else if structured {
            0
        } else {
            resource.records.saturating_sub(soffset).saturating_sub(from_base)
        };
        let bit = 1 << lane;
        if left >= u64::from(bytes) {
            lanes.inside |= bit;
        } else if bytes > 4 && left >= 4 {
            lanes.across |= bit;
            lanes.dwords[lane] = (left / 4) as u8;
        } else {
            lanes.outside |= bit;
        }
    }
    Ok(lanes)
}

impl Lanes {
    pub(super) fn place(&self) -> Place {
        Place::of(self.inside, &self.addresses)
    }

    pub(super) fn count(&self, c: &mut Cx<'_>) {
        c.counters.out_of_range += u64::from((self.outside | self.across).count_ones());
    }

    /// The dwords of lanes that reach across the end of the range: calls `each` with the lanes that have the dword
    /// with a number, its place, and those that do not have it.
    fn by_dwords(&self, count: usize, mut each: impl FnMut(usize, u64, &Place, u64) -> Step) -> Step {
        for i in 0..count {
            let has = super::active(self.across).filter(|&lane| i < usize::from(self.dwords[lane]));
            let has = has.fold(0, |mask, lane| mask | 1 << lane);
            let addresses = self.addresses.map(|address| address.wrapping_add(4 * i as u64));
            let step = each(i, has, &Place::of(has, &addresses), self.across & !has);
            if step != Step::Next {
                return step;
            }
        }
        Step::Next
    }
}

fn zero(c: &mut Cx<'_>, u: &Uop, register: usize, lanes: u64) {
    for lane in super::active(lanes) {
        let value = &mut c.wave.v[register][lane];
        *value = u.width.place(0, *value);
    }
}

fn load(c: &mut Cx<'_>, u: &Uop) -> Step {
    let lanes = match lanes(c, u, u.width.bytes) {
        Ok(lanes) => lanes,
        Err(what) => return c.unsupported(u, what),
    };
    lanes.count(c);
    let mut step = global::load_from(c, u, &lanes.place(), lanes.inside, u.width, Segment::Global);
    let first = usize::from(u.dst);
    for register in first..first + u.width.registers() {
        zero(c, u, register, lanes.outside);
    }
    if lanes.across != 0 && step == Step::Next {
        step = lanes.by_dwords(u.width.registers(), |i, has, place, lacks| {
            let piece = Uop { dst: u.dst + i as u16, ..u.clone() };
            zero(c, u, first + i, lacks);
            global::load_from(c, &piece, place, has, Width::dwords(1), Segment::Global)
        });
    }
    match u.inst.mods {
        Mods::Buffer(mods) if mods.lds && step == Step::Next => {
            global::store_to_lds(c, u, lanes.inside | lanes.outside, mods.offset.into())
        }
        _ => step,
    }
}

fn store(c: &mut Cx<'_>, u: &Uop) -> Step {
    let lanes = match lanes(c, u, u.width.bytes) {
        Ok(lanes) => lanes,
        Err(what) => return c.unsupported(u, what),
    };
    lanes.count(c);
    let step = global::store_to(c, u, &lanes.place(), lanes.inside, u.width, Segment::Global);
    if lanes.across == 0 || step != Step::Next {
        return step;
    }
    lanes.by_dwords(u.width.registers(), |i, has, place, _| {
        let mut piece = u.clone();
        piece.src[1] += i as u16;
        global::store_to(c, &piece, place, has, Width::dwords(1), Segment::Global)
    })
}

fn atomic(c: &mut Cx<'_>, u: &Uop) -> Step {
    let lanes = match lanes(c, u, u.width.bytes) {
        Ok(lanes) => lanes,
        Err(what) => return c.unsupported(u, what),
    };
    lanes.count(c);
    let step = super::atomic::global(c, u, &lanes.place(), lanes.inside, Segment::Global);
    if step == Step::Next && u.inst.dst.is_some() {
        let first = usize::from(u.dst);
        for register in first..first + u.width.registers() {
            for lane in super::active(lanes.outside | lanes.across) {
                c.wave.v[register][lane] = 0;
            }
        }
    }
    step
}

/// Stores a dword of LDS per lane: that at M0 + offset + 4 * lane.
fn store_lds(c: &mut Cx<'_>, u: &Uop) -> Step {
    let lanes = match lanes(c, u, 4) {
        Ok(lanes) => lanes,
        Err(what) => return c.unsupported(u, what),
    };
    lanes.count(c);
    let Mods::Buffer(mods) = u.inst.mods else { unreachable!("the instruction has the MUBUF encoding") };
    match global::load_from_lds(c, u, lanes.inside, mods.offset.into()) {
        Step::Next => {
            let mut piece = u.clone();
            piece.src[1] = u.dst;
            global::store_to(c, &piece, &lanes.place(), lanes.inside, u.width, Segment::Global)
        }
        step => step,
    }
}

/// The handler of a MUBUF operation on untyped data, or of cache maintenance.
pub(in crate::exec) fn handler(op: Op) -> Option<Handler> {
    match table::memory(op)? {
        MemoryOp::Buffer(Mem::Load(Data::Untyped(_)) | Mem::LoadOrLds(Data::Untyped(_))) => Some(load),
        MemoryOp::Buffer(Mem::Store(Data::Untyped(_))) => Some(store),
        MemoryOp::Buffer(Mem::Atomic(_)) => Some(atomic),
        MemoryOp::Buffer(Mem::StoreLds(_)) => Some(store_lds),
        // Memory is sequentially consistent: there is no cache to write back or to invalidate.
        MemoryOp::Buffer(Mem::Cache) => Some(|_, _| Step::Next),
        _ => None,
    }
}
