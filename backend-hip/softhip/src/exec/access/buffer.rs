//! MUBUF: loads and stores through a buffer resource in four scalar registers.
//!
//! The resource has its own bounds, which are not faults: loads beyond them give 0, stores there do nothing. What is
//! within them passes the same door as every other access, so that a resource with wrong bounds is found.

use super::global::{self, Place};
use crate::exec::core::cx::{Cx, Handler, Step};
use crate::exec::core::uop::{Scalar, Uop};
use crate::exec::resolve::scalar_source;
use crate::isa::table::memory::{Data, MemoryOp};
use crate::isa::table::rule::Mem;
use crate::isa::table::{self, Ty};
use crate::isa::{Mods, Op};
use crate::memory::WAVE;
use crate::report::Segment;

/// The fields of a resource that matter to untyped accesses.
struct Resource {
    base: u64,
    /// Bytes from one index to the next; 0 for a raw buffer.
    stride: u64,
    /// Bytes of a raw buffer, elements of another.
    records: u64,
}

impl Resource {
    /// `None`: swizzled, or with the thread's number added to addresses.
    fn new(words: [u32; 4]) -> Option<Self> {
        let (swizzled, adds_thread) = (words[1] >> 31 != 0, (words[3] >> 23) & 1 != 0);
        (!swizzled && !adds_thread).then(|| Self {
            base: u64::from(words[0]) | (u64::from(words[1] & 0xffff) << 32),
            stride: u64::from((words[1] >> 16) & 0x3fff),
            records: words[2].into(),
        })
    }
}

/// Where the active lanes access memory.
struct Lanes {
    place: Place,
    /// Lanes within the resource.
    inside: u64,
    /// The other active lanes.
    outside: u64,
}

/// Finds the lanes' addresses; the error says what is not supported.
fn lanes(c: &Cx<'_>, u: &Uop, bytes: u32) -> Result<Lanes, &'static str> {
    let (Mods::Buffer(mods), Scalar::Register(first)) = (u.inst.mods, u.scalar[2]) else {
        return Err("resource");
    };
    let words = c.wave.s[usize::from(first)..].first_chunk().ok_or("resource")?;
    let resource = Resource::new(*words).ok_or("swizzled resource")?;
    let soffset = u64::from(c.read32(scalar_source(mods.soffset, Ty::B32)));
    let first = usize::from(u.src[0]);
    let offsets = first + usize::from(mods.idxen && mods.offen);
    let exec = c.wave.exec();
    let (mut addresses, mut inside) = ([0; WAVE], 0);
    for lane in super::active(exec) {
        let index = if mods.idxen { u64::from(c.wave.v[first][lane]) } else { 0 };
        let register = if mods.offen { u64::from(c.wave.v[offsets][lane]) } else { 0 };
        let offset = u64::from(mods.offset) + register;
        let (start, end) =
            if resource.stride == 0 { (offset, offset + u64::from(bytes)) } else { (index, index + 1) };
        if end <= resource.records {
            inside |= 1 << lane;
        } else if start < resource.records {
            return Err("access across the end of its resource");
        }
        addresses[lane] = resource.base + soffset + index * resource.stride + offset;
    }
    Ok(Lanes { place: Place::of(inside, &addresses), inside, outside: exec & !inside })
}

fn load(c: &mut Cx<'_>, u: &Uop) -> Step {
    let Lanes { place, inside, outside } = match lanes(c, u, u.width.bytes) {
        Ok(lanes) => lanes,
        Err(what) => return c.unsupported(u, what),
    };
    let step = global::load_from(c, u, &place, inside, u.width, Segment::Global);
    for register in usize::from(u.dst)..usize::from(u.dst) + u.width.registers() {
        for lane in super::active(outside) {
            let value = &mut c.wave.v[register][lane];
            *value = u.width.place(0, *value);
        }
    }
    match u.inst.mods {
        Mods::Buffer(mods) if mods.lds && step == Step::Next => {
            global::store_to_lds(c, u, inside | outside, mods.offset.into())
        }
        _ => step,
    }
}

fn store(c: &mut Cx<'_>, u: &Uop) -> Step {
    match lanes(c, u, u.width.bytes) {
        Ok(Lanes { place, inside, .. }) => global::store_to(c, u, &place, inside, u.width, Segment::Global),
        Err(what) => c.unsupported(u, what),
    }
}

/// The handler of a MUBUF operation on untyped data, or of cache maintenance.
pub(in crate::exec) fn handler(op: Op) -> Option<Handler> {
    match table::memory(op)? {
        MemoryOp::Buffer(Mem::Load(Data::Untyped(_)) | Mem::LoadOrLds(Data::Untyped(_))) => Some(load),
        MemoryOp::Buffer(Mem::Store(Data::Untyped(_))) => Some(store),
        // Memory is sequentially consistent: there is no cache to write back or to invalidate.
        MemoryOp::Buffer(Mem::Cache) => Some(|_, _| Step::Next),
        _ => None,
    }
}
