//! Moving lanes' data between registers and a checked place in memory.

use std::sync::atomic::{AtomicU32, Ordering};

use super::allocation::Allocation;
use super::wave::{Lanes, Run, WAVE, for_each_lane};

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
        let aligned = self.offset.is_multiple_of(4);
        match bytes {
            1 => self.load_packed(run, out, |[byte]: [u8; 1]| u32::from(byte)),
            2 => self.load_packed(run, out, |bytes| u32::from(u16::from_le_bytes(bytes))),
            4 if aligned => self.load_words::<1>(run, out),
            8 if aligned => self.load_words::<2>(run, out),
            12 if aligned => self.load_words::<3>(run, out),
            16 if aligned => self.load_words::<4>(run, out),
            _ => {
                for (place, lane) in self.steps(run, bytes) {
                    place.load_lane(lane, bytes, out);
                }
            }
        }
    }

    /// Stores a run of lanes that begins here, and marks its bytes as initialised.
    #[inline]
    pub(super) fn store_run(self, run: Run, bytes: u32, data: &[Lanes]) {
        let aligned = self.offset.is_multiple_of(4);
        match bytes {
            1 => self.store_packed(run, data, |value| [value.to_le_bytes()[0]]),
            2 => self.store_packed(run, data, |value| [value.to_le_bytes()[0], value.to_le_bytes()[1]]),
            4 if aligned => self.store_words::<1>(run, data),
            8 if aligned => self.store_words::<2>(run, data),
            12 if aligned => self.store_words::<3>(run, data),
            16 if aligned => self.store_words::<4>(run, data),
            _ => {
                for (place, lane) in self.steps(run, bytes) {
                    place.store_lane(lane, bytes, data);
                }
                return;
            }
        }
        self.allocation.init.cover(self.offset, run.len(bytes));
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

    fn steps(self, run: Run, bytes: u32) -> impl Iterator<Item = (Self, usize)> {
        (self.offset..).step_by(bytes as usize).map(move |offset| Self { offset, ..self }).zip(run.lanes())
    }

    #[inline]
    fn words<const N: usize>(&self, run: Run) -> &[[AtomicU32; N]] {
        self.allocation.cells.words(self.offset, N * run.count as usize).as_chunks::<N>().0
    }

    #[inline]
    fn load_words<const N: usize>(self, run: Run, out: &mut [Lanes]) {
        let Some(registers) = out.first_chunk_mut::<N>() else { return };
        for (dword, register) in registers.iter_mut().enumerate() {
            for (lane, words) in register[run.lanes()].iter_mut().zip(self.words::<N>(run)) {
                *lane = words[dword].load(Ordering::Relaxed);
            }
        }
    }

    #[inline]
    fn store_words<const N: usize>(self, run: Run, data: &[Lanes]) {
        let Some(registers) = data.first_chunk::<N>() else { return };
        for (dword, register) in registers.iter().enumerate() {
            for (lane, words) in register[run.lanes()].iter().zip(self.words::<N>(run)) {
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
            _ => self.load_dwords::<4>(out),
        }
    }

    #[inline]
    fn load_dwords<const N: usize>(self, out: &mut [Lanes]) {
        let Self { allocation: Allocation { cells, base, .. }, addresses, exec } = self;
        let Some(registers) = out.first_chunk_mut::<N>() else { return };
        for_each_lane(exec, |lane| {
            let dwords = cells.load_dwords::<N>(addresses[lane] - base);
            for (register, dword) in registers.iter_mut().zip(dwords) {
                register[lane] = dword;
            }
        });
    }

    /// Stores every lane, and marks the bytes as initialised.
    #[inline]
    pub(super) fn store(self, bytes: u32, data: &[Lanes]) {
        let Self { allocation, addresses, exec } = self;
        for_each_lane(exec, |lane| {
            Place { allocation, offset: addresses[lane] - allocation.base }.store_lane(lane, bytes, data);
        });
    }
}
