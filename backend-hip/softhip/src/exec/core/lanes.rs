//! The lane kernels: one function of values, applied to all lanes of registers.

use std::marker::PhantomData;

use super::cx::{Cx, Step};
use super::uop::Uop;
use super::wide::{Job, widest};
use super::word::Word;
use crate::memory::{Lanes, WAVE};

/// Two registers of results; the second is unused by values of one register.
type Pair = (Lanes, Lanes);

/// Source registers of all lanes.
#[derive(Clone, Copy)]
struct Source<'a, T> {
    low: &'a Lanes,
    high: &'a Lanes,
    ty: PhantomData<T>,
}

impl<'a, T: Word> Source<'a, T> {
    #[inline(always)]
    fn new(file: &'a [Lanes], slot: u16) -> Self {
        let low = usize::from(slot);
        Self { low: &file[low], high: &file[low + T::REGISTERS - 1], ty: PhantomData }
    }

    #[inline(always)]
    fn get(self, lane: usize) -> T {
        T::from_registers(self.low[lane], if T::REGISTERS == 2 { self.high[lane] } else { 0 })
    }
}

struct Map<D, F> {
    f: F,
    ty: PhantomData<D>,
}

impl<D: Word, F: Fn(usize) -> D> Job for Map<D, F> {
    type Out = Pair;
    #[inline(always)]
    fn run(self) -> Pair {
        let mut low = [0; WAVE];
        let mut high = [0; WAVE];
        for lane in 0..WAVE {
            let (l, h) = (self.f)(lane).to_registers();
            low[lane] = l;
            if D::REGISTERS == 2 {
                high[lane] = h;
            }
        }
        (low, high)
    }
}

struct Commit<'a> {
    to: &'a mut Lanes,
    from: &'a Lanes,
    exec: u64,
}

impl Job for Commit<'_> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let halves = [self.exec as u32, (self.exec >> 32) as u32];
        for (half, exec) in halves.into_iter().enumerate() {
            for lane in 0..32 {
                let at = 32 * half + lane;
                self.to[at] = if exec & (1 << lane) != 0 { self.from[at] } else { self.to[at] };
            }
        }
    }
}

/// Writes the active lanes of one register.
#[inline]
pub(in crate::exec) fn commit(to: &mut Lanes, from: &Lanes, exec: u64) {
    if exec == u64::MAX {
        *to = *from;
    } else {
        widest(Commit { to, from, exec });
    }
}

#[inline]
fn put<D: Word>(c: &mut Cx<'_>, slot: u16, (low, high): &Pair, exec: u64) {
    let at = usize::from(slot);
    commit(&mut c.wave.v[at], low, exec);
    if D::REGISTERS == 2 {
        commit(&mut c.wave.v[at + 1], high, exec);
    }
}

/// `dst = f(src0)`.
#[inline]
pub(in crate::exec) fn map1<A: Word, D: Word>(c: &mut Cx<'_>, u: &Uop, f: impl Fn(A) -> D) -> Step {
    let exec = c.wave.exec();
    if exec != 0 {
        let a = Source::<A>::new(&c.wave.v, u.src[0]);
        let out = widest(Map { f: move |lane| f(a.get(lane)), ty: PhantomData });
        put::<D>(c, u.dst, &out, exec);
    }
    Step::Next
}

/// `dst = f(src0, src1)`.
#[inline]
pub(in crate::exec) fn map2<A: Word, B: Word, D: Word>(c: &mut Cx<'_>, u: &Uop, f: impl Fn(A, B) -> D) -> Step {
    let exec = c.wave.exec();
    if exec != 0 {
        let a = Source::<A>::new(&c.wave.v, u.src[0]);
        let b = Source::<B>::new(&c.wave.v, u.src[1]);
        let out = widest(Map { f: move |lane| f(a.get(lane), b.get(lane)), ty: PhantomData });
        put::<D>(c, u.dst, &out, exec);
    }
    Step::Next
}

/// `dst = f(src0, src1, src2)`. Operations that accumulate have their destination as `src2`.
#[inline]
pub(in crate::exec) fn map3<A: Word, B: Word, C: Word, D: Word>(
    c: &mut Cx<'_>,
    u: &Uop,
    f: impl Fn(A, B, C) -> D,
) -> Step {
    let exec = c.wave.exec();
    if exec != 0 {
        let sources = (
            Source::<A>::new(&c.wave.v, u.src[0]),
            Source::<B>::new(&c.wave.v, u.src[1]),
            Source::<C>::new(&c.wave.v, u.src[2]),
        );
        let f = move |lane| f(sources.0.get(lane), sources.1.get(lane), sources.2.get(lane));
        let out = widest(Map { f, ty: PhantomData });
        put::<D>(c, u.dst, &out, exec);
    }
    Step::Next
}

/// One flag per lane to one bit per lane.
#[inline(always)]
fn pack(flags: &[u8; WAVE]) -> u64 {
    let mut mask = 0;
    for (i, eight) in flags.as_chunks::<8>().0.iter().enumerate() {
        // Byte j's lowest bit lands at bit 56 + j, without carries between them.
        let bits = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask |= bits << (8 * i);
    }
    mask
}

struct Test<F>(F);

impl<F: Fn(usize) -> bool> Job for Test<F> {
    type Out = u64;
    #[inline(always)]
    fn run(self) -> u64 {
        let mut flags = [0; WAVE];
        for (lane, flag) in flags.iter_mut().enumerate() {
            *flag = u8::from((self.0)(lane));
        }
        pack(&flags)
    }
}

/// The lanes for which `f(src0, src1)` holds, whether active or not.
#[inline]
pub(in crate::exec) fn test2<A: Word, B: Word>(c: &Cx<'_>, u: &Uop, f: impl Fn(A, B) -> bool) -> u64 {
    let a = Source::<A>::new(&c.wave.v, u.src[0]);
    let b = Source::<B>::new(&c.wave.v, u.src[1]);
    widest(Test(move |lane| f(a.get(lane), b.get(lane))))
}

struct MapTest<D, F> {
    f: F,
    mask: u64,
    ty: PhantomData<D>,
}

impl<D: Word, F: Fn(usize, bool) -> (D, bool)> Job for MapTest<D, F> {
    type Out = (Pair, u64);
    #[inline(always)]
    fn run(self) -> (Pair, u64) {
        let mut low = [0; WAVE];
        let mut high = [0; WAVE];
        let mut flags = [0; WAVE];
        for lane in 0..WAVE {
            let (value, flag) = (self.f)(lane, (self.mask >> lane) & 1 != 0);
            let (l, h) = value.to_registers();
            low[lane] = l;
            if D::REGISTERS == 2 {
                high[lane] = h;
            }
            flags[lane] = u8::from(flag);
        }
        ((low, high), pack(&flags))
    }
}

/// `(dst, flags) = f(src0, src1, bit)`, where `bit` is the lane's bit of `mask`; answers the flags of active lanes.
#[inline]
pub(in crate::exec) fn map2_flags<A: Word, B: Word, D: Word>(
    c: &mut Cx<'_>,
    u: &Uop,
    mask: u64,
    f: impl Fn(A, B, bool) -> (D, bool),
) -> u64 {
    let exec = c.wave.exec();
    let a = Source::<A>::new(&c.wave.v, u.src[0]);
    let b = Source::<B>::new(&c.wave.v, u.src[1]);
    let f = move |lane, bit| f(a.get(lane), b.get(lane), bit);
    let (out, flags) = widest(MapTest { f, mask, ty: PhantomData });
    put::<D>(c, u.dst, &out, exec);
    flags & exec
}

/// As [`map2_flags`] with a third source.
#[inline]
pub(in crate::exec) fn map3_flags<A: Word, B: Word, C: Word, D: Word>(
    c: &mut Cx<'_>,
    u: &Uop,
    mask: u64,
    f: impl Fn(A, B, C, bool) -> (D, bool),
) -> u64 {
    let exec = c.wave.exec();
    let s0 = Source::<A>::new(&c.wave.v, u.src[0]);
    let s1 = Source::<B>::new(&c.wave.v, u.src[1]);
    let s2 = Source::<C>::new(&c.wave.v, u.src[2]);
    let f = move |lane, bit| f(s0.get(lane), s1.get(lane), s2.get(lane), bit);
    let (out, flags) = widest(MapTest { f, mask, ty: PhantomData });
    put::<D>(c, u.dst, &out, exec);
    flags & exec
}

/// `dst = f(src0, src1, lane)`.
#[inline]
pub(in crate::exec) fn map2_lane<A: Word, B: Word, D: Word>(
    c: &mut Cx<'_>,
    u: &Uop,
    f: impl Fn(A, B, usize) -> D,
) -> Step {
    let exec = c.wave.exec();
    let a = Source::<A>::new(&c.wave.v, u.src[0]);
    let b = Source::<B>::new(&c.wave.v, u.src[1]);
    let out = widest(Map { f: move |lane| f(a.get(lane), b.get(lane), lane), ty: PhantomData });
    put::<D>(c, u.dst, &out, exec);
    Step::Next
}

/// `registers[to] = f(registers[from])` for every lane, active or not.
#[inline]
pub(in crate::exec) fn transform<A: Word, D: Word>(file: &mut [Lanes], from: u16, to: u16, f: impl Fn(A) -> D) {
    let a = Source::<A>::new(file, from);
    let (low, high) = widest(Map { f: move |lane| f(a.get(lane)), ty: PhantomData });
    file[usize::from(to)] = low;
    if D::REGISTERS == 2 {
        file[usize::from(to) + 1] = high;
    }
}

/// As [`transform`] with the old value of `to`, for the lanes of `exec` only.
#[inline]
pub(in crate::exec) fn merge<A: Word, D: Word>(
    file: &mut [Lanes],
    from: u16,
    to: u16,
    exec: u64,
    f: impl Fn(A, D) -> D,
) {
    let a = Source::<A>::new(file, from);
    let d = Source::<D>::new(file, to);
    let (low, high) = widest(Map { f: move |lane| f(a.get(lane), d.get(lane)), ty: PhantomData });
    commit(&mut file[usize::from(to)], &low, exec);
    if D::REGISTERS == 2 {
        commit(&mut file[usize::from(to) + 1], &high, exec);
    }
}
