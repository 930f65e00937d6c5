//! Accesses of LDS whose lanes are looked at together.
//!
//! One look at the addresses tells whether all lanes are inside and in what pattern; then words are checked, not bytes
//! of lanes. Whatever is wrong, or merely odd, is left to the check lane by lane ([`Lds::touch`]), which finds out what
//! it is: to have recorded some of the access before changes nothing about that.

use super::lds::{Lds, Records, SEVERAL, WORDS};
use super::narrow::Width;
use super::{active, columns};
use crate::exec::core::lanes::expand;
use crate::memory::{Lanes, WAVE};
use crate::wide::Job;

/// An access that is inside of LDS, and of which no lane straddles a word that it does not fill.
#[derive(Debug)]
pub(super) struct Together {
    /// Where each lane accesses; inactive lanes have the address of an active one.
    pub addresses: Lanes,
    pub exec: u64,
    pub bytes: u32,
    pub pattern: Pattern,
    /// The lowest and the highest address.
    pub span: [u32; 2],
}

/// How the lanes' addresses follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    /// All the same.
    Same,
    /// All lanes are active, each right after the one before.
    Packed,
    /// Any other.
    Any,
}

impl Together {
    /// The access of `bytes` per lane, if it is one for this way.
    pub(super) fn of(addresses: &[u64; WAVE], exec: u64, bytes: u32, len: u64) -> Option<Self> {
        let high = active(exec).fold(0, |high, lane| high | (addresses[lane] >> 32));
        if high != 0 {
            return None;
        }
        Self::of_register(&addresses.map(|address| address as u32), 0, exec, bytes, len)
    }

    /// As [`of`](Self::of), at an offset from the addresses in a register.
    #[inline(always)]
    pub(super) fn of_register(
        register: &Lanes,
        offset: u32,
        exec: u64,
        bytes: u32,
        len: u64,
    ) -> Option<Self> {
        if exec == 0 {
            return None;
        }
        let mut addresses = *register;
        if exec != u64::MAX {
            let any = register[exec.trailing_zeros() as usize % WAVE];
            for (address, is_active) in addresses.iter_mut().zip(expand(exec)) {
                *address = (*address & is_active) | (any & !is_active);
            }
        }
        // Not lane 0: see `Access::in_a_row`. Lanes before it have its address.
        let first = addresses[exec.trailing_zeros() as usize % WAVE];
        let (mut highest, mut bits, mut apart, mut unpacked) = (0, 0, 0, 0);
        let mut lowest = u32::MAX;
        for (lane, &address) in (0..).zip(&addresses) {
            highest = address.max(highest);
            lowest = address.min(lowest);
            bits |= address.wrapping_add(offset);
            apart |= address ^ first;
            unpacked |= address ^ first.wrapping_add(bytes.wrapping_mul(lane));
        }
        let inside = u64::from(highest) + u64::from(offset) + u64::from(bytes) <= len;
        let aligned = bits & (bytes.min(4) - 1) == 0;
        if !inside || !aligned {
            return None;
        }
        let pattern = if apart == 0 {
            Pattern::Same
        } else if unpacked == 0 && exec == u64::MAX {
            Pattern::Packed
        } else {
            Pattern::Any
        };
        for address in &mut addresses {
            *address += offset;
        }
        Some(Self { addresses, exec, bytes, pattern, span: [lowest + offset, highest + offset] })
    }

    #[inline(always)]
    fn word(&self, lane: usize) -> usize {
        self.addresses[lane] as usize / 4
    }
}

/// Four marks of one wave.
const fn marks(mark: u8) -> u32 {
    u32::from_ne_bytes([mark; 4])
}

/// One wave's access, as it is compared with the records.
pub(super) struct Marks {
    epoch: u32,
    own: u32,
    offset: u32,
}

impl Marks {
    #[inline(always)]
    pub(super) fn new(epoch: u32, wave: u32, offset: u32) -> Self {
        Self { epoch, own: marks(wave as u8 + 1), offset }
    }

    /// Records that some bytes of a word, those of `mask`, are accessed, if that is surely no race.
    fn pass_bytes<const WRITE: bool>(&self, records: &mut Records, word: usize, mask: u32) -> bool {
        let own = self.own & mask;
        let mut record = records.get(word, self.epoch);
        let (writer, reader) = (u32::from_ne_bytes(record.writer), u32::from_ne_bytes(record.reader));
        let (wrote, read) = (writer & mask, reader & mask);
        if wrote != 0 && wrote != own {
            return false;
        }
        if WRITE {
            if read != 0 && read != own {
                return false;
            }
            record.writer = ((writer & !mask) | own).to_ne_bytes();
            record.write_offset = self.offset;
        } else {
            let mark = if read == 0 || read == own {
                own
            } else if read == marks(SEVERAL) & mask {
                read
            } else {
                return false;
            };
            record.reader = ((reader & !mask) | mark).to_ne_bytes();
            record.read_offset = self.offset;
        }
        records.put(word, record);
        true
    }

    /// Records that `count` neighbouring words are accessed. `false` if that may be a race; the words about which it is
    /// the case stay as they are.
    #[inline(always)]
    fn pass_words<const WRITE: bool>(&self, records: &mut Records, first: usize, count: usize) -> bool {
        let Records { epoch, writer, reader, write_offset, read_offset } = records;
        let range = first..first + count;
        let (epoch, writer, reader) =
            (&mut epoch[range.clone()], &mut writer[range.clone()], &mut reader[range.clone()]);
        let (write_offset, read_offset) = (&mut write_offset[range.clone()], &mut read_offset[range]);
        let columns = epoch.iter_mut().zip(writer).zip(reader).zip(write_offset).zip(read_offset);
        let mut bad = 0;
        for ((((epoch, writer), reader), write_offset), read_offset) in columns {
            // All bits set if the record is of this epoch.
            let keep = if *epoch == self.epoch { u32::MAX } else { 0 };
            *epoch = self.epoch;
            *writer &= keep;
            *reader &= keep;
            *write_offset &= keep;
            *read_offset &= keep;
            let (wrote, read) = (*writer, *reader);
            let foreign = wrote != 0 && wrote != self.own;
            let alone = read == 0 || read == self.own;
            if WRITE {
                let wrong = foreign || !alone;
                bad |= u32::from(wrong);
                *writer = if wrong { wrote } else { self.own };
                *write_offset = if wrong { *write_offset } else { self.offset };
            } else {
                // Readers that differ from byte to byte are for the other check.
                let wrong = foreign || (!alone && read != read.rotate_left(8));
                let mark = if alone { self.own } else { marks(SEVERAL) };
                bad |= u32::from(wrong);
                *reader = if wrong { read } else { mark };
                *read_offset = if wrong { *read_offset } else { self.offset };
            }
        }
        bad == 0
    }

    /// As [`pass_words`](Self::pass_words), of one word.
    #[inline(always)]
    fn pass_word<const WRITE: bool>(&self, records: &mut Records, word: usize) -> bool {
        // One check of the bounds is enough for all columns.
        let words = records.epoch.len();
        let (epoch, writer) = (&mut records.epoch[..words], &mut records.writer[..words]);
        let reader = &mut records.reader[..words];
        let (write_offset, read_offset) =
            (&mut records.write_offset[..words], &mut records.read_offset[..words]);
        if epoch[word] != self.epoch {
            epoch[word] = self.epoch;
            (writer[word], reader[word], write_offset[word], read_offset[word]) = (0, 0, 0, 0);
        }
        let (wrote, read) = (writer[word], reader[word]);
        let alone = read == 0 || read == self.own;
        if (wrote != 0 && wrote != self.own) || (!alone && (WRITE || read != read.rotate_left(8))) {
            return false;
        }
        if WRITE {
            writer[word] = self.own;
            write_offset[word] = self.offset;
        } else {
            reader[word] = if alone { self.own } else { marks(SEVERAL) };
            read_offset[word] = self.offset;
        }
        true
    }
}

impl Lds {
    /// Checks and records an access. `false`: it may be wrong, to be checked lane by lane.
    #[inline(always)]
    pub(super) fn pass<const WRITE: bool>(&mut self, lanes: &Together, wave: u32, offset: u32) -> bool {
        if lanes.bytes >= 4 && self.defer::<WRITE>(lanes, wave, offset) {
            return true;
        }
        if self.checks.races {
            self.meet_deferred(lanes, WRITE);
        }
        self.record::<WRITE>(&Marks::new(self.epoch, wave, offset), lanes)
    }

    /// Checks an access, and records it at once.
    #[inline(always)]
    pub(super) fn record<const WRITE: bool>(&mut self, marks: &Marks, lanes: &Together) -> bool {
        match lanes.bytes {
            0..4 => self.pass_narrow::<WRITE>(marks, lanes),
            4 => self.pass_dwords::<WRITE, 1>(marks, lanes),
            8 => self.pass_dwords::<WRITE, 2>(marks, lanes),
            12 => self.pass_dwords::<WRITE, 3>(marks, lanes),
            _ => self.pass_dwords::<WRITE, 4>(marks, lanes),
        }
    }

    fn pass_narrow<const WRITE: bool>(&mut self, marks: &Marks, lanes: &Together) -> bool {
        active(lanes.exec).all(|lane| {
            let (word, first) = (lanes.word(lane), lanes.addresses[lane] % 4);
            let bits = (((1u32 << lanes.bytes) - 1) << first) as u8;
            let mask = (u32::MAX >> (32 - 8 * lanes.bytes)) << (8 * first);
            if !WRITE && self.checks.uninitialised && self.written[word] & bits != bits {
                return false;
            }
            if self.checks.races && !marks.pass_bytes::<WRITE>(&mut self.records, word, mask) {
                return false;
            }
            if WRITE {
                self.written[word] |= bits;
            }
            true
        })
    }

    /// Of `N` whole words per lane.
    #[inline(always)]
    fn pass_dwords<const WRITE: bool, const N: usize>(&mut self, marks: &Marks, lanes: &Together) -> bool {
        match lanes.pattern {
            Pattern::Same => self.pass_words::<WRITE>(marks, lanes.word(0), N),
            Pattern::Packed => self.pass_words::<WRITE>(marks, lanes.word(0), WAVE * N),
            // A write that may be wrong has made bytes written; the check lane by lane does so, too.
            Pattern::Any if lanes.exec == u64::MAX => {
                for lane in 0..WAVE {
                    if !self.pass_lane::<WRITE, N>(marks, lanes.word(lane)) {
                        return false;
                    }
                }
                true
            }
            Pattern::Any => {
                for lane in active(lanes.exec) {
                    if !self.pass_lane::<WRITE, N>(marks, lanes.word(lane)) {
                        return false;
                    }
                }
                true
            }
        }
    }

    /// The `N` words of one lane.
    #[inline(always)]
    fn pass_lane<const WRITE: bool, const N: usize>(&mut self, marks: &Marks, first: usize) -> bool {
        for word in first..first + N {
            if WRITE {
                self.written[word] = 15;
            } else if self.checks.uninitialised && self.written[word] != 15 {
                return false;
            }
            if self.checks.races && !marks.pass_word::<WRITE>(&mut self.records, word) {
                return false;
            }
        }
        true
    }

    /// Neighbouring words.
    #[inline(always)]
    fn pass_words<const WRITE: bool>(&mut self, marks: &Marks, first: usize, count: usize) -> bool {
        let written = &mut self.written[first..first + count];
        if !WRITE && self.checks.uninitialised && written.iter().fold(15, |all, word| all & word) != 15 {
            return false;
        }
        if self.checks.races && !marks.pass_words::<WRITE>(&mut self.records, first, count) {
            return false;
        }
        if WRITE {
            written.fill(15);
        }
        true
    }

    /// Passes beyond the first that the banks need for an access of the instruction at `offset`.
    #[inline(always)]
    pub(super) fn bank_conflicts(&mut self, lanes: &Together, offset: u32) -> u64 {
        match lanes.pattern {
            Pattern::Same | Pattern::Packed => 0,
            Pattern::Any => self.patterns.conflicts(offset / 4, &lanes.addresses, lanes.exec, lanes.bytes),
        }
    }

    /// Loads what has been checked.
    #[inline(always)]
    pub(super) fn load(&self, lanes: &Together, to: &mut [Lanes], width: Width) {
        match lanes.bytes {
            4 => self.load_dwords::<1>(lanes, to),
            8 => self.load_dwords::<2>(lanes, to),
            12 => self.load_dwords::<3>(lanes, to),
            16 => self.load_dwords::<4>(lanes, to),
            _ => {
                for lane in active(lanes.exec) {
                    let loaded = self.read(lanes.addresses[lane].into(), lanes.bytes);
                    to[0][lane] = width.place(loaded, to[0][lane]);
                }
            }
        }
    }

    #[inline(always)]
    fn load_dwords<const N: usize>(&self, lanes: &Together, to: &mut [Lanes]) {
        let Some(registers) = to.first_chunk_mut::<N>() else {
            unreachable!("an access of {N} dwords has as many registers")
        };
        let first = lanes.word(0);
        if lanes.pattern == Pattern::Any
            && lanes.exec == u64::MAX
            && let Ok(words) = <&[u32; WORDS]>::try_from(self.words.as_slice())
        {
            return columns::load(words, |lane| lanes.word(lane), registers);
        }
        match lanes.pattern {
            Pattern::Packed => self.load_packed(first, registers),
            Pattern::Same if lanes.exec == u64::MAX => {
                for (register, &word) in registers.iter_mut().zip(&self.words[first..first + N]) {
                    *register = [word; WAVE];
                }
            }
            _ if lanes.exec == u64::MAX => {
                for lane in 0..WAVE {
                    self.load_lane(registers, lanes.word(lane), lane);
                }
            }
            _ => {
                for lane in active(lanes.exec) {
                    self.load_lane(registers, lanes.word(lane), lane);
                }
            }
        }
    }

    /// Loads neighbouring words from `first` on, `N` per lane.
    #[inline(always)]
    fn load_packed<const N: usize>(&self, first: usize, registers: &mut [Lanes; N]) {
        let words = self.words[first..first + N * WAVE].as_chunks::<N>().0;
        for (i, register) in registers.iter_mut().enumerate() {
            for (lane, words) in register.iter_mut().zip(words) {
                *lane = words[i];
            }
        }
    }

    /// Loads words without gaps that have been checked, from `first` on.
    #[inline(always)]
    fn load_row(&self, first: usize, pattern: Pattern, to: &mut [Lanes]) {
        if pattern == Pattern::Same {
            for (register, &word) in to.iter_mut().zip(&self.words[first..]) {
                *register = [word; WAVE];
            }
            return;
        }
        if let Ok(registers) = <&mut [Lanes; 1]>::try_from(&mut *to) {
            self.load_packed(first, registers);
        } else if let Ok(registers) = <&mut [Lanes; 2]>::try_from(&mut *to) {
            self.load_packed(first, registers);
        } else if let Ok(registers) = <&mut [Lanes; 3]>::try_from(&mut *to) {
            self.load_packed(first, registers);
        } else if let Ok(registers) = <&mut [Lanes; 4]>::try_from(to) {
            self.load_packed(first, registers);
        }
    }

    #[inline(always)]
    fn load_lane<const N: usize>(&self, registers: &mut [Lanes; N], first: usize, lane: usize) {
        for (register, &word) in registers.iter_mut().zip(&self.words[first..first + N]) {
            register[lane] = word;
        }
    }

    /// Stores what has been checked; narrow values from `shift` bits up.
    #[inline(always)]
    pub(super) fn store(&mut self, lanes: &Together, from: &[Lanes], shift: u32) {
        match lanes.bytes {
            4 => self.store_dwords::<1>(lanes, from),
            8 => self.store_dwords::<2>(lanes, from),
            12 => self.store_dwords::<3>(lanes, from),
            16 => self.store_dwords::<4>(lanes, from),
            _ => {
                for lane in active(lanes.exec) {
                    self.write(lanes.addresses[lane].into(), lanes.bytes, from[0][lane] >> shift);
                }
            }
        }
    }

    #[inline(always)]
    fn store_dwords<const N: usize>(&mut self, lanes: &Together, from: &[Lanes]) {
        let Some(registers) = from.first_chunk::<N>() else {
            unreachable!("an access of {N} dwords has as many registers")
        };
        let first = lanes.word(0);
        if lanes.pattern == Pattern::Packed {
            let words = self.words[first..first + N * WAVE].as_chunks_mut::<N>().0;
            for (lane, words) in words.iter_mut().enumerate() {
                for (word, register) in words.iter_mut().zip(registers) {
                    *word = register[lane];
                }
            }
            return;
        }
        if lanes.exec == u64::MAX
            && let Ok(words) = <&mut [u32; WORDS]>::try_from(self.words.as_mut_slice())
        {
            if let Ok(registers) = <&[Lanes; 4]>::try_from(registers.as_slice())
                && columns::store_four(words, |lane| lanes.word(lane), registers)
            {
                return;
            }
            for lane in 0..WAVE {
                for (i, register) in registers.iter().enumerate() {
                    words[(lanes.word(lane) + i) % WORDS] = register[lane];
                }
            }
            return;
        }
        for lane in active(lanes.exec) {
            let first = lanes.word(lane);
            for (word, register) in self.words[first..first + N].iter_mut().zip(registers) {
                *word = register[lane];
            }
        }
    }
}

/// A whole access by all lanes together, at an offset from the addresses in a register.
pub(super) struct Access<'a> {
    pub lds: &'a mut Lds,
    pub addresses: &'a Lanes,
    pub offset: u32,
    pub exec: u64,
    pub width: Width,
    pub wave: u32,
    /// Bytes from the kernel's entry to the instruction.
    pub instruction: u32,
}

impl Access<'_> {
    /// The first address and the pattern, if the lanes access whole words without gaps, and inside of LDS.
    #[inline(always)]
    fn in_a_row(&self) -> Option<(u32, Pattern)> {
        let bytes = self.width.bytes;
        // Lane 0 if all are active, but not known to be: it would be left out of the comparisons, and vectors loaded from lane 1
        // on have to wait for the store of a register that has just been written.
        let first = self.addresses[self.exec.trailing_zeros() as usize % WAVE];
        let apart = self.addresses.iter().fold(0, |apart, address| apart | (address ^ first));
        let (pattern, lanes) = if apart == 0 {
            (Pattern::Same, 1)
        } else {
            let gaps = (0..).zip(self.addresses).fold(0, |gaps, (lane, address)| {
                gaps | (address ^ first.wrapping_add(bytes.wrapping_mul(lane)))
            });
            if gaps != 0 {
                return None;
            }
            (Pattern::Packed, WAVE as u64)
        };
        let at = first.wrapping_add(self.offset);
        let inside = u64::from(at) + lanes * u64::from(bytes) <= self.lds.len();
        // The sum has 32 bits here, and more in the general way.
        let whole = self.exec == u64::MAX && at >= first && (at | bytes).is_multiple_of(4);
        (inside && whole).then_some((at, pattern))
    }

    /// Answers the bank conflicts, if the access is one for this way and has been checked and recorded.
    #[inline(always)]
    fn pass<const WRITE: bool>(&mut self) -> Option<(Together, u64)> {
        let Self { addresses, offset, exec, width, wave, instruction, .. } = *self;
        let lanes = Together::of_register(addresses, offset, exec, width.bytes, self.lds.len())?;
        if !self.lds.pass::<WRITE>(&lanes, wave, instruction) {
            return None;
        }
        let conflicts = self.lds.bank_conflicts(&lanes, instruction);
        Some((lanes, conflicts))
    }
}

/// Loads; answers the bank conflicts, or `None` if nothing has been loaded.
pub(super) struct Load<'a>(pub Access<'a>, pub &'a mut [Lanes]);

impl Job for Load<'_> {
    type Out = Option<u64>;
    #[inline(always)]
    fn run(self) -> Option<u64> {
        let Self(mut access, to) = self;
        if let Some((at, pattern)) = access.in_a_row()
            && access.lds.defer_read_in_a_row(
                at,
                pattern,
                access.width.bytes,
                access.wave,
                access.instruction,
            )
        {
            access.lds.load_row(at as usize / 4, pattern, to);
            return Some(0);
        }
        let (lanes, conflicts) = access.pass::<false>()?;
        access.lds.load(&lanes, to, access.width);
        Some(conflicts)
    }
}

/// Stores; answers the bank conflicts, or `None` if nothing has been stored.
pub(super) struct Store<'a>(pub Access<'a>, pub &'a [Lanes]);

impl Job for Store<'_> {
    type Out = Option<u64>;
    #[inline(always)]
    fn run(self) -> Option<u64> {
        let Self(mut access, from) = self;
        let (lanes, conflicts) = access.pass::<true>()?;
        access.lds.store(&lanes, from, access.width.shift());
        Some(conflicts)
    }
}

#[cfg(test)]
mod tests {
    use super::super::lds::Touch;
    use super::*;
    use crate::memory::{AccessKind, Checks, splitmix64};
    use crate::report::LdsFault;

    const LEN: u64 = 3000;

    /// Checks lane by lane.
    fn apart(
        lds: &mut Lds,
        kind: AccessKind,
        wave: u32,
        offset: u32,
        (addresses, exec, size): (&[u64; WAVE], u64, u32),
    ) -> Result<(), LdsFault> {
        active(exec).try_for_each(|lane| {
            lds.touch(Touch { kind, wave, at: addresses[lane], size, offset, lane: lane as u8, equal: 0 })
        })
    }

    /// Addresses, active lanes and bytes of an access: packed, equal, strided or scattered, seldom wrong.
    fn draw(state: &mut u64) -> ([u64; WAVE], u64, u32) {
        let mut below = |end: u64| splitmix64(state) % end;
        let bytes = [1, 2, 4, 8, 12, 16][below(6) as usize];
        let align = if below(20) == 0 { 1 } else { u64::from(bytes.min(4)) };
        let step = [0, u64::from(bytes), 4 * below(8), u64::from(bytes)][below(4) as usize];
        let start = below(400) * align;
        let scattered = below(4) == 0;
        let addresses =
            std::array::from_fn(
                |lane| {
                    if scattered { below(700) * align } else { start + step * lane as u64 }
                },
            );
        let exec = [u64::MAX, u64::MAX, u64::MAX << below(64), splitmix64(state)][lane_choice(state)];
        (addresses, exec, bytes)
    }

    fn lane_choice(state: &mut u64) -> usize {
        (splitmix64(state) % 4) as usize
    }

    #[test]
    fn the_last_byte_is_inside_and_the_next_one_is_not() {
        for bytes in [1u32, 2, 4, 8, 12, 16] {
            let at =
                |end: u64| std::array::from_fn(|lane| if lane == 63 { end - u64::from(bytes) } else { 0 });
            let fits = |end, len| Together::of(&at(end), u64::MAX, bytes, len).is_some();
            assert!(fits(64, 64) && !fits(64, 63), "{bytes} bytes");
            // What an inactive lane's register holds is no address.
            assert!(Together::of(&at(64), u64::MAX >> 1, bytes, 32).is_some(), "{bytes} bytes");
            let wrapped = [(1 << 32) + 16; WAVE];
            assert!(Together::of(&wrapped, u64::MAX, bytes, 64).is_none(), "{bytes} bytes");
        }
    }

    #[test]
    fn waves_that_share_a_block_are_told_apart_by_words() {
        let row = |start: u64| std::array::from_fn(|lane| start + 4 * lane as u64);
        let whole = |addresses: [u64; WAVE]| Together::of(&addresses, u64::MAX, 4, LEN).unwrap();
        let mut lds = Lds::new(LEN, Checks::ALL);
        // The first row ends in the block in which the second one begins.
        assert!(lds.pass::<true>(&whole(row(4)), 0, 1));
        assert!(lds.pass::<true>(&whole(row(260)), 1, 2));
        assert!(lds.pass::<false>(&whole([256; WAVE]), 0, 3), "its own");
        assert!(!lds.defer_read_in_a_row(260, Pattern::Same, 4, 0, 4));
        assert!(!lds.defer_read_in_a_row(8, Pattern::Packed, 4, 0, 4), "the last word is the other's");
        assert!(!lds.pass::<false>(&whole([260; WAVE]), 0, 4));
        assert!(apart(&mut lds, AccessKind::Read, 0, 4, (&[260; WAVE], u64::MAX, 4)).is_err());
    }

    #[test]
    fn what_was_written_before_a_reset_is_not_there_any_more() {
        let rows = std::array::from_fn(|lane| 12 * lane as u64);
        let lanes = Together::of(&rows, u64::MAX, 8, LEN).unwrap();
        let mut lds = Lds::new(LEN, Checks::ALL);
        for workgroup in 0..3 {
            assert!(!lds.pass::<false>(&lanes, 0, 1), "workgroup {workgroup}");
            assert!(lds.pass::<true>(&lanes, 0, 2) && lds.pass::<false>(&lanes, 0, 1));
            lds.pass_barrier();
            assert!(lds.pass::<false>(&lanes, 1, 1));
            lds.reset();
        }
    }

    #[test]
    fn lanes_together_fare_as_lanes_apart() {
        let mut state = 1;
        let (mut passed, mut failed) = (0, 0);
        for checks in [Checks::ALL, Checks::BOUNDS, Checks { races: false, ..Checks::ALL }] {
            let [mut fast, mut slow] = [(); 2].map(|()| Lds::new(LEN, checks));
            for turn in 0..20_000u32 {
                let access = draw(&mut state);
                let (addresses, exec, bytes) = (&access.0, access.1, access.2);
                let wave = (splitmix64(&mut state) % 3) as u32;
                let write = turn % 500 < 100 || splitmix64(&mut state).is_multiple_of(4);
                let kind = if write { AccessKind::Write } else { AccessKind::Read };
                let together = Together::of(addresses, exec, bytes, LEN).filter(|lanes| {
                    if write {
                        fast.pass::<true>(lanes, wave, turn)
                    } else {
                        fast.pass::<false>(lanes, wave, turn)
                    }
                });
                let expected = apart(&mut slow, kind, wave, turn, (addresses, exec, bytes));
                if let Some(lanes) = together {
                    passed += 1;
                    assert_eq!(expected, Ok(()), "{lanes:?}");
                    let data: [Lanes; 4] =
                        std::array::from_fn(|_| std::array::from_fn(|_| splitmix64(&mut state) as u32));
                    let registers = bytes.div_ceil(4) as usize;
                    let part = bytes.min(4);
                    if write {
                        fast.store(&lanes, &data[..registers], 0);
                        for lane in active(exec) {
                            for (i, register) in data[..registers].iter().enumerate() {
                                slow.write(addresses[lane] + 4 * i as u64, part, register[lane]);
                            }
                        }
                        assert!(fast.words == slow.words);
                    } else {
                        let mut got = data;
                        let width = Width { bytes, signed: false, half: None };
                        fast.load(&lanes, &mut got[..registers], width);
                        for lane in 0..WAVE {
                            for i in 0..registers {
                                let active = (exec >> lane) & 1 != 0;
                                let at = addresses[lane] + 4 * i as u64;
                                let word = if active { slow.read(at, part) } else { data[i][lane] };
                                assert_eq!(got[i][lane], word);
                            }
                        }
                    }
                } else {
                    let got = apart(&mut fast, kind, wave, turn, (addresses, exec, bytes));
                    failed += u32::from(got.is_err());
                    assert_eq!(got, expected);
                }
                if splitmix64(&mut state).is_multiple_of(3) || expected.is_err() {
                    fast.pass_barrier();
                    slow.pass_barrier();
                }
            }
        }
        assert!(passed > 10_000 && failed > 1_000, "{passed} accesses passed together, {failed} failed");
    }
}
