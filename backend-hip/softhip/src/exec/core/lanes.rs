//! The lane kernels: one function of values, applied to all lanes of registers.

use std::marker::PhantomData;

use super::cx::{Cx, Step};
use super::uop::Uop;
use super::word::Word;
use crate::exec::float::Float;
use crate::memory::{Lanes, WAVE};
use crate::wide::{Job, widest};

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

/// All bits of a lane's word set where its bit is: eight lanes by one byte of a mask.
static EXPANDED: [[u32; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            if (byte >> bit) & 1 != 0 {
                table[byte][bit] = u32::MAX;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
};

/// One word per lane, all ones where its bit is set.
#[inline(always)]
pub(in crate::exec) fn expand(mask: u64) -> Lanes {
    let mut words = [[0; 8]; WAVE / 8];
    for (eight, byte) in words.iter_mut().zip(mask.to_le_bytes()) {
        *eight = EXPANDED[usize::from(byte)];
    }
    let mut lanes = [0; WAVE];
    lanes.copy_from_slice(words.as_flattened());
    lanes
}

/// Writes the active lanes of one register.
#[inline(always)]
fn put(to: &mut Lanes, from: &Lanes, exec: u64) {
    if exec == u64::MAX {
        *to = *from;
        return;
    }
    let write = expand(exec);
    for ((to, from), write) in to.iter_mut().zip(from).zip(write) {
        *to = (from & write) | (*to & !write);
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
        put(self.to, self.from, self.exec);
    }
}

/// Writes the active lanes of one register.
#[inline]
pub(in crate::exec) fn commit(to: &mut Lanes, from: &Lanes, exec: u64) {
    widest(Commit { to, from, exec });
}

/// The sources of an operation: a tuple of up to three values.
trait Operands {
    /// Their registers.
    type Sources<'a>: Copy;
    fn sources(file: &[Lanes], slots: [u16; 3]) -> Self::Sources<'_>;
    fn get(sources: Self::Sources<'_>, lane: usize) -> Self;
}

macro_rules! operands {
    ($($ty:ident $at:tt),*) => {
        impl<$($ty: Word),*> Operands for ($($ty,)*) {
            type Sources<'a> = ($(Source<'a, $ty>,)*);
            #[inline(always)]
            fn sources(file: &[Lanes], slots: [u16; 3]) -> Self::Sources<'_> {
                ($(Source::<$ty>::new(file, slots[$at]),)*)
            }
            #[inline(always)]
            fn get(sources: Self::Sources<'_>, lane: usize) -> Self {
                ($(sources.$at.get(lane),)*)
            }
        }
    };
}

operands!(A 0);
operands!(A 0, B 1);
operands!(A 0, B 1, C 2);

/// `file[to] = f(file[slots], lane)` for the lanes of `exec`.
struct Assign<'a, S, D, F> {
    file: &'a mut [Lanes],
    slots: [u16; 3],
    to: u16,
    exec: u64,
    f: F,
    ty: PhantomData<(S, D)>,
}

impl<S: Operands, D: Word, F: Fn(S, usize) -> D> Job for Assign<'_, S, D, F> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let sources = S::sources(self.file, self.slots);
        let value = |lane| (self.f)(S::get(sources, lane), lane).to_registers();
        let to = usize::from(self.to);
        // All results come before the first write: a destination may be a source, too.
        if D::REGISTERS == 2 {
            let (mut low, mut high) = ([0; WAVE], [0; WAVE]);
            for lane in 0..WAVE {
                (low[lane], high[lane]) = value(lane);
            }
            put(&mut self.file[to], &low, self.exec);
            put(&mut self.file[to + 1], &high, self.exec);
        } else {
            let mut low = [0; WAVE];
            for (lane, low) in low.iter_mut().enumerate() {
                *low = value(lane).0;
            }
            put(&mut self.file[to], &low, self.exec);
        }
    }
}

#[inline(always)]
fn assign<S: Operands, D: Word>(c: &mut Cx<'_>, u: &Uop, f: impl Fn(S, usize) -> D) -> Step {
    let exec = c.wave.exec();
    if exec != 0 {
        Assign { file: &mut c.wave.v, slots: u.src, to: u.dst, exec, f, ty: PhantomData }.run();
    }
    Step::Next
}

/// `dst = f(src0)`.
#[inline(always)]
pub(in crate::exec) fn map1<A: Word, D: Word>(c: &mut Cx<'_>, u: &Uop, f: impl Fn(A) -> D) -> Step {
    assign(c, u, |(a,), _| f(a))
}

/// As [`map1`], of the source before its modifiers.
#[inline(always)]
pub(in crate::exec) fn map_unmodified<A: Word, D: Word>(c: &mut Cx<'_>, u: &Uop, f: impl Fn(A) -> D) -> Step {
    let exec = c.wave.exec();
    let f = |(a,): (A,), _| f(a);
    Assign { file: &mut c.wave.v, slots: u.raw_src, to: u.dst, exec, f, ty: PhantomData }.run();
    Step::Next
}

/// `dst = f(src0, src1)`.
#[inline(always)]
pub(in crate::exec) fn map2<A: Word, B: Word, D: Word>(
    c: &mut Cx<'_>,
    u: &Uop,
    f: impl Fn(A, B) -> D,
) -> Step {
    assign(c, u, |(a, b), _| f(a, b))
}

/// `dst = f(src0, src1, src2)`. Operations that accumulate have their destination as `src2`.
#[inline(always)]
pub(in crate::exec) fn map3<A: Word, B: Word, C: Word, D: Word>(
    c: &mut Cx<'_>,
    u: &Uop,
    f: impl Fn(A, B, C) -> D,
) -> Step {
    assign(c, u, |(s0, s1, s2), _| f(s0, s1, s2))
}

/// `dst = f(src0, src1, lane)`.
#[inline(always)]
pub(in crate::exec) fn map2_lane<A: Word, B: Word, D: Word>(
    c: &mut Cx<'_>,
    u: &Uop,
    f: impl Fn(A, B, usize) -> D,
) -> Step {
    assign(c, u, |(a, b), lane| f(a, b, lane))
}

/// A result that may be a NaN.
pub(in crate::exec) trait MaybeNan: Word {
    fn has_nan(self) -> bool;
}

impl<F: Float> MaybeNan for F {
    #[inline(always)]
    fn has_nan(self) -> bool {
        self.is_nan()
    }
}

impl<F: Float> MaybeNan for [F; 2]
where
    Self: Word,
{
    #[inline(always)]
    fn has_nan(self) -> bool {
        self[0].is_nan() | self[1].is_nan()
    }
}

/// As [`Assign`]: by `plain`, or by `settled` if some lane's result is a NaN.
struct Settle<'a, S, D, P, F> {
    file: &'a mut [Lanes],
    slots: [u16; 3],
    to: u16,
    exec: u64,
    plain: P,
    settled: F,
    ty: PhantomData<(S, D)>,
}

impl<S: Operands, D: MaybeNan, P: Fn(S) -> D, F: Fn(S) -> D> Job for Settle<'_, S, D, P, F> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let Self { file, slots, to, exec, plain, settled, .. } = self;
        let sources = S::sources(file, slots);
        let (mut low, mut high) = ([0; WAVE], [0; WAVE]);
        let mut any_nan = false;
        for lane in 0..WAVE {
            let value = plain(S::get(sources, lane));
            any_nan |= value.has_nan();
            (low[lane], high[lane]) = value.to_registers();
        }
        if any_nan {
            for lane in 0..WAVE {
                (low[lane], high[lane]) = settled(S::get(sources, lane)).to_registers();
            }
        }
        put(&mut file[usize::from(to)], &low, exec);
        if D::REGISTERS == 2 {
            put(&mut file[usize::from(to) + 1], &high, exec);
        }
    }
}

#[inline(always)]
fn settle<S: Operands, D: MaybeNan>(
    c: &mut Cx<'_>,
    u: &Uop,
    plain: impl Fn(S) -> D,
    settled: impl Fn(S) -> D,
) -> Step {
    let exec = c.wave.exec();
    if exec != 0 {
        let file = &mut c.wave.v;
        Settle { file, slots: u.src, to: u.dst, exec, plain, settled, ty: PhantomData }.run();
    }
    Step::Next
}

/// `dst = settled(src0, src1)`, which is `plain(src0, src1)` unless that is a NaN.
#[inline(always)]
pub(in crate::exec) fn settle2<A: Word, B: Word, D: MaybeNan>(
    c: &mut Cx<'_>,
    u: &Uop,
    plain: impl Fn(A, B) -> D,
    settled: impl Fn(A, B) -> D,
) -> Step {
    settle(c, u, |(a, b)| plain(a, b), |(a, b)| settled(a, b))
}

/// As [`settle2`], of three sources.
#[inline(always)]
pub(in crate::exec) fn settle3<A: Word, B: Word, C: Word, D: MaybeNan>(
    c: &mut Cx<'_>,
    u: &Uop,
    plain: impl Fn(A, B, C) -> D,
    settled: impl Fn(A, B, C) -> D,
) -> Step {
    settle(c, u, |(s0, s1, s2)| plain(s0, s1, s2), |(s0, s1, s2)| settled(s0, s1, s2))
}

/// The first registers of `plain` of the sources in all lanes, or of `settled` if some lane's result is a NaN.
#[inline(always)]
fn settled_register<S: Operands, D: MaybeNan>(
    sources: S::Sources<'_>,
    plain: impl Fn(S) -> D,
    settled: impl Fn(S) -> D,
) -> Lanes {
    let mut out = [0; WAVE];
    let mut any_nan = false;
    for (lane, out) in out.iter_mut().enumerate() {
        let value = plain(S::get(sources, lane));
        any_nan |= value.has_nan();
        *out = value.to_registers().0;
    }
    if any_nan {
        for (lane, out) in out.iter_mut().enumerate() {
            *out = settled(S::get(sources, lane)).to_registers().0;
        }
    }
    out
}

/// As [`settle3`] of one register each, for both registers of a pair: the sources are those that the instruction selects
/// from the pairs at its unmodified sources.
#[inline(always)]
pub(in crate::exec) fn settle_halves<A: Word, B: Word, C: Word, D: MaybeNan>(
    c: &mut Cx<'_>,
    u: &Uop,
    plain: impl Fn(A, B, C) -> D,
    settled: impl Fn(A, B, C) -> D,
) -> Step {
    let exec = c.wave.exec();
    let (file, to) = (&mut *c.wave.v, usize::from(u.raw_dst));
    let (plain, settled) = (|(a, b, d)| plain(a, b, d), |(a, b, d)| settled(a, b, d));
    let slot = |i: usize, half: usize| u.raw_src[i] + u16::from((u.select[half] >> i) & 1);
    let slots = |half: usize| [slot(0, half), slot(1, half), slot(2, half)];
    let [low, high] = [slots(0), slots(1)];
    // Both come before the first write: the destination may be a source, too.
    let low = settled_register(<(A, B, C)>::sources(file, low), plain, settled);
    let high = settled_register(<(A, B, C)>::sources(file, high), plain, settled);
    put(&mut file[to], &low, exec);
    put(&mut file[to + 1], &high, exec);
    Step::Next
}

struct Select<'a> {
    mask: u64,
    set: &'a Lanes,
    clear: &'a Lanes,
}

impl Job for Select<'_> {
    type Out = Lanes;
    #[inline(always)]
    fn run(self) -> Lanes {
        let pick = expand(self.mask);
        let mut out = [0; WAVE];
        for lane in 0..WAVE {
            out[lane] = (self.set[lane] & pick[lane]) | (self.clear[lane] & !pick[lane]);
        }
        out
    }
}

/// `dst = src1` where the lane's bit of `mask` is set, `src0` elsewhere.
#[inline(always)]
pub(in crate::exec) fn select(c: &mut Cx<'_>, u: &Uop, mask: u64) -> Step {
    let exec = c.wave.exec();
    let (clear, set) = (&c.wave.v[usize::from(u.src[0])], &c.wave.v[usize::from(u.src[1])]);
    let out = Select { mask, set, clear }.run();
    put(&mut c.wave.v[usize::from(u.dst)], &out, exec);
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
#[inline(always)]
pub(in crate::exec) fn test2<A: Word, B: Word>(c: &Cx<'_>, u: &Uop, f: impl Fn(A, B) -> bool) -> u64 {
    let a = Source::<A>::new(&c.wave.v, u.src[0]);
    let b = Source::<B>::new(&c.wave.v, u.src[1]);
    Test(|lane| f(a.get(lane), b.get(lane))).run()
}

struct MapTest<D, F> {
    f: F,
    mask: u64,
    ty: PhantomData<D>,
}

impl<D: Word, F: Fn(usize, bool) -> (D, bool)> Job for MapTest<D, F> {
    type Out = ([Lanes; 2], u64);
    #[inline(always)]
    fn run(self) -> ([Lanes; 2], u64) {
        let bits = expand(self.mask);
        let (mut low, mut high, mut flags) = ([0; WAVE], [0; WAVE], [0; WAVE]);
        for lane in 0..WAVE {
            let (value, flag) = (self.f)(lane, bits[lane] != 0);
            (low[lane], high[lane]) = value.to_registers();
            flags[lane] = u8::from(flag);
        }
        ([low, high], pack(&flags))
    }
}

/// `(dst, flag) = f(src0, src1, src2, bit)`, where `bit` is the lane's of `mask`; answers the flags of active lanes.
#[inline(always)]
pub(in crate::exec) fn map_flags<A: Word, B: Word, C: Word, D: Word>(
    c: &mut Cx<'_>,
    u: &Uop,
    mask: u64,
    f: impl Fn(A, B, C, bool) -> (D, bool),
) -> u64 {
    let exec = c.wave.exec();
    let s0 = Source::<A>::new(&c.wave.v, u.src[0]);
    let s1 = Source::<B>::new(&c.wave.v, u.src[1]);
    let s2 = Source::<C>::new(&c.wave.v, u.src[2]);
    let f = |lane, bit| f(s0.get(lane), s1.get(lane), s2.get(lane), bit);
    let ([low, high], flags) = MapTest { f, mask, ty: PhantomData }.run();
    let at = usize::from(u.dst);
    put(&mut c.wave.v[at], &low, exec);
    if D::REGISTERS == 2 {
        put(&mut c.wave.v[at + 1], &high, exec);
    }
    flags & exec
}

/// `registers[to] = f(registers[from])` for every lane, active or not.
#[inline]
pub(in crate::exec) fn transform<A: Word, D: Word>(
    file: &mut [Lanes],
    from: u16,
    to: u16,
    f: impl Fn(A) -> D,
) {
    let f = |(a,): (A,), _| f(a);
    widest(Assign { file, slots: [from; 3], to, exec: u64::MAX, f, ty: PhantomData });
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
    let f = |(a, d): (A, D), _| f(a, d);
    widest(Assign { file, slots: [from, to, to], to, exec, f, ty: PhantomData });
}
