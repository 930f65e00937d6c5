//! The local data share of one workgroup, with every access checked.
//!
//! Per byte there is a bit that says whether it has been written, and a record of which waves read and wrote
//! it since the last barrier. Two waves that touch one byte between two barriers, one of them writing, race:
//! nothing orders them. Atomics do not race with atomics.
//!
//! Races that cannot change a result are notes, unless they are asked for as faults: waves write equal values to a byte
//! that only they read, and a plain load of what others change by atomics begins a loop of compare-and-swaps.

use std::collections::HashMap;

use super::banks::Patterns;
use super::deferred::Deferred;
use super::landing::Landings;
use crate::host;
use crate::memory::{AccessKind, Checks};
use crate::report::{LdsFault, LdsProblem, Segment};

/// Set in a writer's mark when it was an atomic.
const ATOMIC: u8 = 0x80;
/// The mark of several waves.
pub(super) const SEVERAL: u8 = 0x7f;

/// Who touched the four bytes of a word in an epoch; a mark is a wave's number plus 1, or 0.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Record {
    pub(super) epoch: u32,
    pub(super) writer: [u8; 4],
    pub(super) reader: [u8; 4],
    pub(super) write_offset: u32,
    pub(super) read_offset: u32,
}

/// One access of one lane.
#[derive(Debug, Clone, Copy)]
pub(in crate::exec) struct Touch {
    pub kind: AccessKind,
    /// The wave within the workgroup.
    pub wave: u32,
    /// First byte.
    pub at: u64,
    /// Bytes.
    pub size: u32,
    /// Bytes from the kernel's entry to the instruction.
    pub offset: u32,
    /// The lane that does it.
    pub lane: u8,
    /// Bytes of a write that are there already: bit `i` is byte `at + i`.
    pub equal: u16,
}

/// One [`Record`] per word, field by field, so that those of neighbouring words are vectors.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) epoch: Vec<u32>,
    pub(super) writer: Vec<u32>,
    pub(super) reader: Vec<u32>,
    pub(super) write_offset: Vec<u32>,
    pub(super) read_offset: Vec<u32>,
}

impl Records {
    fn new(words: usize) -> Self {
        let column = || vec![0; words];
        Self {
            epoch: column(),
            writer: column(),
            reader: column(),
            write_offset: column(),
            read_offset: column(),
        }
    }

    fn clear(&mut self) {
        self.epoch.fill(0);
    }

    /// The record of a word; empty if it is of an earlier epoch.
    #[inline(always)]
    pub(super) fn get(&self, word: usize, epoch: u32) -> Record {
        if self.epoch[word] != epoch {
            return Record { epoch, ..Record::default() };
        }
        Record {
            epoch,
            writer: self.writer[word].to_ne_bytes(),
            reader: self.reader[word].to_ne_bytes(),
            write_offset: self.write_offset[word],
            read_offset: self.read_offset[word],
        }
    }

    #[inline(always)]
    pub(super) fn put(&mut self, word: usize, record: Record) {
        self.epoch[word] = record.epoch;
        self.writer[word] = u32::from_ne_bytes(record.writer);
        self.reader[word] = u32::from_ne_bytes(record.reader);
        self.write_offset[word] = record.write_offset;
        self.read_offset[word] = record.read_offset;
    }
}

/// A byte to which several waves have written one value since the last barrier: which waves, and who read it.
#[derive(Debug, Clone, Copy, Default)]
struct Common {
    writers: u32,
    readers: u32,
}

/// A race, and who completed it.
#[derive(Debug, Clone)]
pub(in crate::exec) struct LdsNote {
    pub wave: u32,
    pub lane: u8,
    /// Bytes from the kernel's entry to the instruction.
    pub offset: u32,
    pub fault: LdsFault,
}

/// Words of the largest LDS that the hardware has. All have so many of the host, so that an index below needs no check.
pub(super) const WORDS: usize = 16 << 10;

/// Notes that are kept until they are taken: more would only repeat them.
const MOST_NOTES: usize = 64;

/// The memory of one workgroup.
#[derive(Debug)]
pub(in crate::exec) struct Lds {
    /// At least [`WORDS`], if it has bytes at all.
    pub(super) words: Vec<u32>,
    /// How many of them there are for the kernel.
    pub(super) count: usize,
    /// Low four bits: which bytes of the word have been written.
    pub(super) written: Vec<u8>,
    pub(super) records: Records,
    len: u64,
    pub(super) epoch: u32,
    pub(super) checks: Checks,
    pub(super) patterns: Patterns,
    pub(super) deferred: Deferred,
    common: HashMap<u64, Common>,
    notes: Vec<LdsNote>,
    /// Plain loads of what others change by atomics: faults, unless a compare-and-swap follows.
    pending: Vec<LdsNote>,
    pub(in crate::exec) landings: Landings,
}

impl Lds {
    /// `len` bytes that nobody has written.
    pub fn new(len: u64, checks: Checks) -> Self {
        let words = host::size(len.div_ceil(4));
        let records = if checks.races { words } else { 0 };
        let padded = if words == 0 { 0 } else { words.max(WORDS) };
        Self {
            words: vec![0; padded],
            count: words,
            written: vec![0; padded],
            records: Records::new(records),
            len,
            epoch: 1,
            checks,
            patterns: Patterns::new(),
            deferred: Deferred::default(),
            common: HashMap::new(),
            notes: Vec::new(),
            pending: Vec::new(),
            landings: Landings::default(),
        }
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    /// Bytes of the host that it takes, records included.
    pub fn bytes(&self) -> usize {
        5 * self.words.len() + 20 * self.records.epoch.len()
    }

    /// Forgets everything: the next workgroup begins.
    pub fn reset(&mut self) {
        if self.words.is_empty() {
            return;
        }
        self.words[..self.count].fill(0);
        self.written[..self.count].fill(0);
        self.patterns.forget_checked();
        self.pending.clear();
        self.landings.clear();
        self.pass_barrier();
        self.deferred.reset();
    }

    /// All waves have met: what was before is ordered before what comes.
    pub fn pass_barrier(&mut self) {
        self.deferred.pass_barrier();
        if self.epoch == u32::MAX {
            self.records.clear();
            self.epoch = 0;
        }
        self.epoch += 1;
        if !self.common.is_empty() {
            self.common.clear();
        }
    }

    /// Takes the races out that cannot change a result.
    pub fn take_notes(&mut self) -> Vec<LdsNote> {
        std::mem::take(&mut self.notes)
    }

    /// Takes the first plain load out that no compare-and-swap followed: a race.
    pub fn take_unsettled(&mut self) -> Option<LdsNote> {
        (!self.pending.is_empty()).then(|| self.pending.remove(0))
    }

    /// A lane has done a compare-and-swap: its plain load of the same bytes was the beginning, and stands for nothing
    /// any more.
    pub fn settle_compare_swap(&mut self, wave: u32, lane: usize, at: u64, size: u32) {
        if !self.checks.races || self.checks.strict_races {
            return;
        }
        let own = wave as u8 + 1;
        for byte in at..at + u64::from(size) {
            let word = (byte / 4) as usize;
            let mut record = self.records.get(word, self.epoch);
            let reader = &mut record.reader[(byte % 4) as usize];
            if *reader == own {
                *reader = 0;
                self.records.put(word, record);
            }
        }
        let overlaps =
            |fault: &LdsFault| fault.offset < at + u64::from(size) && at < fault.offset + fault.size;
        let settled =
            |note: &LdsNote| note.wave == wave && usize::from(note.lane) == lane && overlaps(&note.fault);
        if self.pending.iter().any(settled) {
            let (begun, rest) = std::mem::take(&mut self.pending).into_iter().partition(settled);
            self.pending = rest;
            Vec::into_iter(begun).for_each(|note| keep(&mut self.notes, note));
        }
    }

    fn fault(touch: Touch, problem: LdsProblem) -> LdsFault {
        let size = u64::from(touch.size);
        LdsFault { segment: Segment::Lds, problem, access: touch.kind, offset: touch.at, size }
    }

    /// Checks and records one access.
    #[inline]
    pub fn touch(&mut self, touch: Touch) -> Result<(), LdsFault> {
        let end = touch.at + u64::from(touch.size);
        if end > self.len {
            return Err(Self::fault(touch, LdsProblem::OutOfBounds { limit: self.len }));
        }
        if touch.kind == AccessKind::Atomic && !touch.at.is_multiple_of(touch.size.into()) {
            return Err(Self::fault(touch, LdsProblem::Misaligned { required: touch.size.into() }));
        }
        if self.checks.races {
            self.meet_deferred_touch(touch);
        }
        let (first, last) = ((touch.at / 4) as usize, (end.saturating_sub(1) / 4) as usize);
        let mut missing = None;
        for word in first..=last {
            let start = 4 * word as u64;
            let low = touch.at.saturating_sub(start) as u32;
            let high = (end - start).min(4) as u32;
            let bytes = ((1u32 << high) - (1 << low)) as u8;
            let unwritten = self.touch_word(touch, word, bytes)?;
            missing = missing.or(unwritten);
        }
        missing.map_or(Ok(()), |byte| Err(Self::fault(touch, LdsProblem::Uninitialised { byte })))
    }

    /// Checks and records the bytes of one word; the first one that is read and that nothing has written.
    #[inline]
    fn touch_word(&mut self, touch: Touch, word: usize, bytes: u8) -> Result<Option<u64>, LdsFault> {
        let mut unwritten = None;
        if touch.kind == AccessKind::Write {
            self.written[word] |= bytes;
        } else if self.checks.uninitialised && self.written[word] & bytes != bytes {
            let missing = (bytes & !self.written[word]).trailing_zeros();
            unwritten = Some(4 * word as u64 + u64::from(missing));
        }
        if self.checks.races {
            self.order(touch, word, bytes)?;
        }
        Ok(unwritten)
    }

    #[inline]
    fn order(&mut self, touch: Touch, word: usize, bytes: u8) -> Result<(), LdsFault> {
        let mut record = self.records.get(word, self.epoch);
        let own = touch.wave as u8 + 1;
        for byte in 0..4 {
            if (bytes >> byte) & 1 == 0 {
                continue;
            }
            let (writer, reader) = (record.writer[byte], record.reader[byte]);
            let at = 4 * word as u64 + byte as u64;
            let equal = (touch.equal >> (at - touch.at)) & 1 != 0 && touch.kind == AccessKind::Write;
            if writer == SEVERAL {
                let common = self.common.entry(at).or_default();
                if !common.pass(touch, equal) {
                    let wave = common.other(touch.wave);
                    let record = Record { writer: [wave as u8 + 1; 4], ..record };
                    return Err(Self::race(touch, word, byte, record, true));
                }
                continue;
            }
            let atomic = touch.kind == AccessKind::Atomic;
            let foreign_writer = writer != 0 && writer & !ATOMIC != own && !(atomic && writer & ATOMIC != 0);
            let foreign_reader = touch.kind != AccessKind::Read && reader != 0 && reader != own;
            if foreign_writer || foreign_reader {
                let fault = Self::race(touch, word, byte, record, foreign_writer);
                let tolerant = foreign_writer && !self.checks.strict_races;
                let note = LdsNote { wave: touch.wave, lane: touch.lane, offset: touch.offset, fault };
                if tolerant && equal && writer & ATOMIC == 0 && [0, own, writer].contains(&reader) {
                    // Both wrote the same, and only they read it.
                    let bit = |mark: u8| if mark == 0 { 0 } else { 1 << (mark - 1) };
                    self.common.insert(at, Common { writers: bit(writer) | bit(own), readers: bit(reader) });
                    record.writer[byte] = SEVERAL;
                    keep(&mut self.notes, note);
                    continue;
                }
                if !(tolerant && touch.kind == AccessKind::Read && writer & ATOMIC != 0) {
                    return Err(note.fault);
                }
                let known = |other: &LdsNote| (other.wave, other.lane, other.offset) == note.place();
                if !self.pending.last().is_some_and(known) {
                    self.pending.push(note);
                }
            }
            match touch.kind {
                AccessKind::Read => {
                    record.reader[byte] = if reader == 0 || reader == own { own } else { SEVERAL }
                }
                AccessKind::Write => record.writer[byte] = own,
                AccessKind::Atomic => {
                    let mixed = writer != 0 && writer & !ATOMIC != own;
                    record.writer[byte] = ATOMIC | if mixed { SEVERAL } else { own };
                }
            }
        }
        if touch.kind == AccessKind::Read {
            record.read_offset = touch.offset;
        } else {
            record.write_offset = touch.offset;
        }
        self.records.put(word, record);
        Ok(())
    }

    #[cold]
    fn race(touch: Touch, word: usize, byte: usize, record: Record, by_writer: bool) -> LdsFault {
        let (mark, other, offset) = if by_writer {
            let mark = record.writer[byte];
            let other = if mark & ATOMIC != 0 { AccessKind::Atomic } else { AccessKind::Write };
            (mark & !ATOMIC, other, record.write_offset)
        } else {
            (record.reader[byte], AccessKind::Read, record.read_offset)
        };
        let problem = LdsProblem::Race {
            byte: 4 * word as u64 + byte as u64,
            wave: u32::from(mark) - 1,
            other,
            other_offset: Some(offset.into()),
        };
        Self::fault(touch, problem)
    }

    /// The low `bytes` (1 to 4) bytes at `at`, zero-extended. Bounds have been checked.
    #[inline]
    pub fn read(&self, at: u64, bytes: u32) -> u32 {
        let word = (at / 4) as usize;
        let shift = 8 * (at % 4) as u32;
        let low = u64::from(self.words[word]);
        let high = if shift + 8 * bytes > 32 { u64::from(self.words[word + 1]) } else { 0 };
        let mask = u32::MAX >> (32 - 8 * bytes);
        ((low | (high << 32)) >> shift) as u32 & mask
    }

    /// Stores the low `bytes` (1 to 4) bytes of `value` at `at`. Bounds have been checked.
    #[inline]
    pub fn write(&mut self, at: u64, bytes: u32, value: u32) {
        let word = (at / 4) as usize;
        let shift = 8 * (at % 4) as u32;
        let mask = u64::from(u32::MAX >> (32 - 8 * bytes)) << shift;
        let value = (u64::from(value) << shift) & mask;
        self.words[word] = (self.words[word] & !(mask as u32)) | value as u32;
        if mask >> 32 != 0 {
            self.words[word + 1] = (self.words[word + 1] & !((mask >> 32) as u32)) | (value >> 32) as u32;
        }
    }
}

fn keep(notes: &mut Vec<LdsNote>, note: LdsNote) {
    if notes.len() < MOST_NOTES {
        notes.push(note);
    }
}

impl LdsNote {
    fn place(&self) -> (u32, u8, u32) {
        (self.wave, self.lane, self.offset)
    }
}

impl Common {
    /// Records an access, if it cannot change a result.
    fn pass(&mut self, touch: Touch, equal: bool) -> bool {
        let bit = 1 << touch.wave;
        match touch.kind {
            AccessKind::Write if equal => self.writers |= bit,
            // Its own write gave it the value, whoever came last.
            AccessKind::Read if self.writers & bit != 0 => self.readers |= bit,
            _ => return false,
        }
        true
    }

    /// A writer, another one than `wave` if there is one.
    fn other(self, wave: u32) -> u32 {
        let others = self.writers & !(1 << wave);
        if others == 0 { wave } else { others.trailing_zeros() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(kind: AccessKind, wave: u32, at: u64, size: u32) -> Touch {
        Touch { kind, wave, at, size, offset: 0x40, lane: 0, equal: 0 }
    }

    fn lds() -> Lds {
        let mut lds = Lds::new(64, Checks::ALL);
        for at in (0..64).step_by(4) {
            lds.touch(touch(AccessKind::Write, 0, at, 4)).unwrap();
        }
        lds.pass_barrier();
        lds
    }

    #[test]
    fn bytes_read_back_at_every_offset_and_width() {
        for at in 0..8 {
            for bytes in 1..=4 {
                let mut lds = lds();
                lds.write(at, bytes, 0x8765_4321);
                assert_eq!(lds.read(at, bytes), 0x8765_4321 & (u32::MAX >> (32 - 8 * bytes)));
                assert_eq!(lds.read(at + u64::from(bytes), 4), 0);
            }
        }
    }

    #[test]
    fn the_last_byte_is_inside_and_the_next_one_is_not() {
        let mut lds = lds();
        assert!(lds.touch(touch(AccessKind::Write, 0, 63, 1)).is_ok());
        let fault = lds.touch(touch(AccessKind::Write, 0, 61, 4)).unwrap_err();
        assert_eq!(fault.problem, LdsProblem::OutOfBounds { limit: 64 });
    }

    #[test]
    fn unwritten_bytes_are_named() {
        let mut lds = Lds::new(16, Checks::ALL);
        lds.touch(touch(AccessKind::Write, 0, 0, 2)).unwrap();
        let fault = lds.touch(touch(AccessKind::Read, 0, 0, 4)).unwrap_err();
        assert_eq!(fault.problem, LdsProblem::Uninitialised { byte: 2 });
        assert!(lds.touch(touch(AccessKind::Read, 0, 0, 2)).is_ok());
    }

    #[test]
    fn waves_race_within_an_epoch_and_not_across_a_barrier() {
        use AccessKind::{Atomic, Read, Write};
        for (first, second, races) in [
            (Read, Read, false),
            (Read, Write, true),
            (Write, Read, true),
            (Write, Write, true),
            (Atomic, Atomic, false),
            (Write, Atomic, true),
            (Read, Atomic, true),
        ] {
            let mut lds = lds();
            lds.touch(touch(first, 1, 8, 4)).unwrap();
            let result = lds.touch(touch(second, 2, 8, 4));
            assert_eq!(result.is_err(), races, "{first:?} then {second:?}");
            if let Err(fault) = result {
                let expected = LdsProblem::Race { byte: 8, wave: 1, other: first, other_offset: Some(0x40) };
                assert_eq!(fault.problem, expected);
            }
            let mut lds = self::lds();
            lds.touch(touch(first, 1, 8, 4)).unwrap();
            lds.pass_barrier();
            assert!(lds.touch(touch(second, 2, 8, 4)).is_ok());
        }
    }

    #[test]
    fn writes_of_equal_values_are_notes_for_those_who_wrote() {
        use AccessKind::{Read, Write};
        let write = |wave, equal| Touch { equal, ..touch(Write, wave, 8, 4) };
        let mut lds = lds();
        lds.touch(write(1, 0)).unwrap();
        lds.touch(touch(Read, 1, 8, 4)).unwrap();
        lds.touch(write(2, 15)).unwrap();
        lds.touch(write(3, 15)).unwrap();
        let notes = lds.take_notes();
        assert_eq!(notes.len(), 4, "a note per byte, once");
        let race = LdsProblem::Race { byte: 8, wave: 1, other: Write, other_offset: Some(0x40) };
        assert_eq!(notes[0].fault.problem, race);
        lds.touch(touch(Read, 2, 8, 4)).unwrap();
        lds.touch(write(1, 15)).unwrap();
        // Another value, and another reader.
        assert!(lds.touch(write(2, 7)).is_err());
        assert!(lds.touch(touch(Read, 4, 8, 4)).is_err());
        lds.pass_barrier();
        lds.touch(touch(Read, 4, 8, 4)).unwrap();
        // A foreign reader before is one too many.
        assert!(lds.touch(write(1, 15)).is_err());
        let mut strict = Lds::new(64, Checks { strict_races: true, ..Checks::ALL });
        strict.touch(write(1, 0)).unwrap();
        assert!(strict.touch(write(2, 15)).is_err());
    }

    #[test]
    fn a_plain_load_before_a_compare_and_swap_is_a_note() {
        use AccessKind::{Atomic, Read};
        let mut lds = lds();
        for wave in 1..4 {
            lds.touch(touch(Read, wave, 8, 4)).unwrap();
            lds.touch(touch(Atomic, wave, 8, 4)).unwrap();
            lds.settle_compare_swap(wave, 0, 8, 4);
        }
        assert_eq!(lds.take_notes().len(), 2);
        assert!(lds.take_unsettled().is_none());
        lds.touch(touch(Read, 4, 8, 4)).unwrap();
        let fault = lds.take_unsettled().unwrap().fault;
        assert!(matches!(fault.problem, LdsProblem::Race { other: Atomic, .. }));
    }

    #[test]
    fn neighbouring_bytes_do_not_race() {
        let mut lds = lds();
        lds.touch(touch(AccessKind::Write, 1, 8, 1)).unwrap();
        assert!(lds.touch(touch(AccessKind::Write, 2, 9, 1)).is_ok());
        assert!(lds.touch(touch(AccessKind::Write, 2, 8, 1)).is_err());
    }
}
