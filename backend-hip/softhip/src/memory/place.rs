//! Moving lanes' data between registers and a checked place in memory.

#![expect(
    clippy::inline_always,
    reason = "lane loops must take on the vector features of their caller, see crate::wide"
)]

use std::sync::atomic::{AtomicU32, Ordering};

use super::allocation::Allocation;
use super::blocks::BLOCK;
use super::bulk;
use super::cells::index;
use super::run::Run;
use super::stretch::{self, Stretch};
use super::wave::{Lanes, WAVE, for_each_lane};
use crate::wide::{Job, widest};

/// Bytes of an allocation that have passed the checks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) allocation: &'a Allocation,
    pub(super) offset: u64,
}

/// The active lanes with their places.
pub(super) fn placed<'a>(places: &[Option<Place<'a>>; WAVE]) -> impl Iterator<Item = (usize, Place<'a>)> {
    places.iter().enumerate().filter_map(|(lane, place)| Some((lane, (*place)?)))
}

impl Place<'_> {
    /// Loads a run of lanes that begins here.
    #[inline]
    pub(super) fn load_run(self, run: Run, bytes: u32, out: &mut [Lanes]) {
        let whole_words = (self.offset | run.step()).is_multiple_of(4);
        match bytes {
            1 if run.is_contiguous(1) => self.load_packed(run, out, |[byte]: [u8; 1]| u32::from(byte)),
            2 if run.is_contiguous(2) => self.load_packed(run, out, |b| u32::from(u16::from_le_bytes(b))),
            1 => self.load_bytes(run, out),
            2 => {
                let register = &mut out[0];
                run.for_each(|lane, distance| {
                    register[lane] = self.allocation.cells.load_narrow(self.offset + distance, bytes);
                });
            }
            4 if whole_words => self.load_words(run, out),
            4 => self.load_rows::<1>(run, out),
            8 => self.load_rows::<2>(run, out),
            12 => self.load_rows::<3>(run, out),
            _ => self.load_quads(run, out),
        }
    }

    /// Stores a run of lanes that begins here, and marks its bytes as initialised.
    #[inline]
    pub(super) fn store_run(self, run: Run, bytes: u32, data: &[Lanes]) {
        let whole_words = self.offset.is_multiple_of(4);
        match bytes {
            _ if !run.is_contiguous(bytes) => return self.store_apart(run, bytes, data),
            1 => self.store_packed(run, data, |value| [value.to_le_bytes()[0]]),
            2 => self.store_packed(run, data, |value| [value.to_le_bytes()[0], value.to_le_bytes()[1]]),
            4 if whole_words => self.store_words::<1>(run, data),
            8 if whole_words => self.store_words::<2>(run, data),
            12 if whole_words => self.store_words::<3>(run, data),
            16 if whole_words => self.store_words::<4>(run, data),
            _ => return self.store_apart(run, bytes, data),
        }
        self.allocation.init.cover(self.offset, run.span(bytes));
    }

    fn store_apart(self, run: Run, bytes: u32, data: &[Lanes]) {
        run.for_each(|lane, distance| {
            Self { offset: self.offset + distance, ..self }.store_lane(lane, bytes, data);
        });
    }

    /// Loads one lane.
    #[inline]
    pub(super) fn load_lane(self, lane: usize, bytes: u32, out: &mut [Lanes]) {
        let cells = &self.allocation.cells;
        if bytes < 4 {
            out[0][lane] = cells.load_narrow(self.offset, bytes);
            return;
        }
        let mut at = self.offset;
        for register in &mut out[..bytes as usize / 4] {
            register[lane] = cells.load_u32(at);
            at += 4;
        }
    }

    /// Stores one lane, and marks its bytes as initialised.
    #[inline]
    pub(super) fn store_lane(self, lane: usize, bytes: u32, data: &[Lanes]) {
        let cells = &self.allocation.cells;
        if bytes < 4 {
            cells.store(self.offset, bytes, data[0][lane]);
        } else {
            let mut at = self.offset;
            for register in &data[..bytes as usize / 4] {
                cells.store(at, 4, register[lane]);
                at += 4;
            }
        }
        self.allocation.init.cover(self.offset, u64::from(bytes));
    }

    /// Loads lanes of one byte each.
    #[inline]
    fn load_bytes(self, run: Run, out: &mut [Lanes]) {
        let register = &mut out[0];
        let first = self.offset % 4;
        let count = (first + run.span(1)).div_ceil(4);
        let words = self.allocation.cells.words(self.offset - first, index(count));
        run.for_each(|lane, distance| {
            let at = first + distance;
            register[lane] = words[index(at / 4)].load(Ordering::Relaxed) >> (8 * (at % 4)) & 0xff;
        });
    }

    /// Loads lanes of one dword each, at whole words.
    #[inline]
    fn load_words(self, run: Run, out: &mut [Lanes]) {
        let register = &mut out[0];
        let cells = &self.allocation.cells;
        if run.is_contiguous(4)
            && run.lanes().len() == WAVE
            && let Ok(words) = cells.words(self.offset, WAVE).try_into()
        {
            return bulk::load_row(words, register);
        }
        let words = cells.words(self.offset, index(run.words::<1>()));
        run.for_each(|lane, distance| register[lane] = words[index(distance / 4)].load(Ordering::Relaxed));
    }

    /// Loads lanes of four dwords each.
    #[inline]
    fn load_quads(self, run: Run, out: &mut [Lanes]) {
        if run.lanes().len() == WAVE
            && let Some(registers) = out.first_chunk_mut()
        {
            let first = self.offset % 4;
            let words = (first + run.span(16)).div_ceil(4);
            let words = self.allocation.cells.words(self.offset - first, index(words));
            let (first, step) = (index(first), index(run.step()));
            if bulk::load_quads(words, |lane| first + step * lane, registers) {
                return;
            }
        }
        self.load_rows::<4>(run, out);
    }

    /// Loads lanes of several dwords each.
    #[inline]
    fn load_rows<const N: usize>(self, run: Run, out: &mut [Lanes]) {
        let cells = &self.allocation.cells;
        let mut rows = [[0; N]; WAVE];
        run.for_each(|lane, distance| rows[lane] = cells.load_dwords(self.offset + distance));
        widest(Columns { rows: &rows, exec: run.exec(), out });
    }

    #[inline]
    fn store_words<const N: usize>(self, run: Run, data: &[Lanes]) {
        let Some(registers) = data.first_chunk::<N>() else { return };
        let words: &[AtomicU32] = self.allocation.cells.words(self.offset, N * run.lanes().len());
        let words = words.as_chunks::<N>().0;
        for (dword, register) in registers.iter().enumerate() {
            for (lane, words) in register[run.lanes()].iter().zip(words) {
                words[dword].store(*lane, Ordering::Relaxed);
            }
        }
    }

    /// Narrow loads side by side: whole words but for the ends.
    fn load_packed<const N: usize>(self, run: Run, out: &mut [Lanes], value: impl Fn([u8; N]) -> u32) {
        let mut packed = [[0; N]; WAVE];
        let lanes = &mut out[0][run.lanes()];
        let packed = &mut packed[..lanes.len()];
        self.allocation.cells.read(self.offset, packed.as_flattened_mut());
        for (lane, &bytes) in lanes.iter_mut().zip(&*packed) {
            *lane = value(bytes);
        }
    }

    /// Narrow stores side by side: whole words but for the ends.
    fn store_packed<const N: usize>(self, run: Run, data: &[Lanes], bytes: impl Fn(u32) -> [u8; N]) {
        let mut packed = [[0; N]; WAVE];
        let lanes = &data[0][run.lanes()];
        for (slot, &value) in packed.iter_mut().zip(lanes) {
            *slot = bytes(value);
        }
        self.allocation.cells.write(self.offset, packed[..lanes.len()].as_flattened());
    }
}

/// Puts the `N` dwords that each lane of `exec` has loaded into as many registers.
struct Columns<'a, const N: usize> {
    rows: &'a [[u32; N]; WAVE],
    exec: u64,
    out: &'a mut [Lanes],
}

impl<const N: usize> Job for Columns<'_, N> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        for (i, register) in self.out[..N].iter_mut().enumerate() {
            if self.exec == u64::MAX {
                for (lane, row) in register.iter_mut().zip(self.rows) {
                    *lane = row[i];
                }
            } else {
                for_each_lane(self.exec, |lane| register[lane] = self.rows[lane][i]);
            }
        }
    }
}

/// Lanes that are all within one allocation, each at its own address.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scattered<'a> {
    pub(super) allocation: &'a Allocation,
    pub(super) addresses: &'a [u64; WAVE],
    pub(super) exec: u64,
}

impl Scattered<'_> {
    /// Loads every lane.
    #[inline]
    pub(super) fn load(self, bytes: u32, out: &mut [Lanes]) {
        let Self { allocation: Allocation { cells, base, .. }, addresses, exec } = self;
        match bytes {
            1 | 2 => {
                let register = &mut out[0];
                for_each_lane(exec, |lane| register[lane] = cells.load_narrow(addresses[lane] - base, bytes));
            }
            4 => {
                let register = &mut out[0];
                for_each_lane(exec, |lane| register[lane] = cells.load_u32(addresses[lane] - base));
            }
            8 => self.load_dwords::<2>(out),
            12 => self.load_dwords::<3>(out),
            _ => self.load_quads(out),
        }
    }

    #[inline]
    fn load_quads(self, out: &mut [Lanes]) {
        let Self { allocation: Allocation { cells, base, .. }, addresses, exec } = self;
        if exec == u64::MAX
            && let Some(registers) = out.first_chunk_mut()
        {
            let at = |lane: usize| {
                let offset = addresses[lane] - base;
                cells.prefetch(offset + BLOCK);
                index(offset)
            };
            if bulk::load_quads(cells.all(), at, registers) {
                return;
            }
        }
        self.load_dwords::<4>(out);
    }

    #[inline]
    fn load_dwords<const N: usize>(self, out: &mut [Lanes]) {
        let Self { allocation: Allocation { cells, base, .. }, addresses, exec } = self;
        let mut rows = [[0; N]; WAVE];
        for_each_lane(exec, |lane| {
            let offset = addresses[lane] - base;
            rows[lane] = cells.load_dwords(offset);
            // Rows of a matrix are mostly walked through, and too far apart for the host to see it.
            cells.prefetch(offset + BLOCK);
        });
        widest(Columns { rows: &rows, exec, out });
    }

    /// Stores every lane, and marks the bytes as initialised.
    #[inline]
    pub(super) fn store(self, bytes: u32, data: &[Lanes]) {
        let Self { allocation, addresses, exec } = self;
        let together = match bytes {
            4 => self.store_stretches::<1>(data),
            8 => self.store_stretches::<2>(data),
            12 => self.store_stretches::<3>(data),
            16 => self.store_stretches::<4>(data),
            _ => false,
        };
        if together {
            return;
        }
        for_each_lane(exec, |lane| {
            Place { allocation, offset: addresses[lane] - allocation.base }.store_lane(lane, bytes, data);
        });
    }

    /// Stores neighbouring lanes of `N` dwords together, if all 64 access whole words, and none the words of the one
    /// before. Otherwise nothing happens.
    fn store_stretches<const N: usize>(self, data: &[Lanes]) -> bool {
        let Self { allocation: Allocation { cells, base, init, .. }, addresses, exec } = self;
        let size = 4 * N as u64;
        let Some(registers) = data.first_chunk::<N>() else { return false };
        if exec != u64::MAX || addresses.iter().fold(0, |bits, address| bits | (address - base)) % 4 != 0 {
            return false;
        }
        stretch::for_each_distinct(exec, addresses, size, |Stretch { start, end, lane }| {
            let (offset, first) = (start - base, lane as usize);
            let words = cells.words(offset, index((end - start) / 4)).as_chunks::<N>().0;
            for (dword, register) in registers.iter().enumerate() {
                for (value, words) in register[first..].iter().zip(words) {
                    words[dword].store(*value, Ordering::Relaxed);
                }
            }
            init.cover(offset, end - start);
        })
    }
}
