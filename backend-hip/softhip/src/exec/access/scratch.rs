//! Private memory: one segment per lane, with bounds and initialisation checked.

use crate::memory::{AccessKind, Lanes, WAVE};
use crate::report::{LdsFault, LdsProblem, Segment};

/// The private segments of one wave, dword by dword: `words[i][lane]`.
#[derive(Debug, Default)]
pub(in crate::exec) struct Scratch {
    words: Vec<Lanes>,
    /// Per dword and byte, the lanes that have written it.
    written: Vec<[u64; 4]>,
    len: u32,
    check_uninitialised: bool,
}

impl Scratch {
    /// `len` bytes per lane.
    pub fn new(len: u32, check_uninitialised: bool) -> Self {
        let words = len.div_ceil(4) as usize;
        Self { words: vec![[0; WAVE]; words], written: vec![[0; 4]; words], len, check_uninitialised }
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        self.words.fill([0; WAVE]);
        self.written.fill([0; 4]);
    }

    /// Checks one lane's access, and marks what it writes.
    #[inline]
    pub fn touch(&mut self, kind: AccessKind, lane: usize, at: u64, size: u32) -> Result<(), LdsFault> {
        let fault = |problem| LdsFault {
            segment: Segment::Scratch,
            problem,
            access: kind,
            offset: at,
            size: size.into(),
        };
        let end = at.saturating_add(size.into());
        if end > self.len.into() {
            return Err(fault(LdsProblem::OutOfBounds { limit: self.len.into() }));
        }
        for byte in at..end {
            let (word, part) = ((byte / 4) as usize, (byte % 4) as usize);
            if kind == AccessKind::Write {
                self.written[word][part] |= 1 << lane;
            } else if self.check_uninitialised && (self.written[word][part] >> lane) & 1 == 0 {
                return Err(fault(LdsProblem::Uninitialised { byte }));
            }
        }
        Ok(())
    }

    /// An access of all of `exec` to whole dwords at one offset: checks and marks it, if nothing is wrong.
    #[inline]
    pub fn touch_uniform(&mut self, kind: AccessKind, exec: u64, at: u64, dwords: usize) -> Option<usize> {
        let first = (at / 4) as usize;
        if !at.is_multiple_of(4) || at + 4 * dwords as u64 > self.len.into() {
            return None;
        }
        let marks = &mut self.written[first..first + dwords];
        if kind == AccessKind::Write {
            for word in marks {
                *word = word.map(|lanes| lanes | exec);
            }
        } else if self.check_uninitialised && marks.iter().flatten().any(|lanes| lanes & exec != exec) {
            return None;
        }
        Some(first)
    }

    /// The dword of all lanes with an index.
    pub fn word(&mut self, index: usize) -> &mut Lanes {
        &mut self.words[index]
    }

    /// The low `bytes` (1 to 4) bytes at `at` of one lane, zero-extended. Bounds have been checked.
    pub fn read(&self, lane: usize, at: u64, bytes: u32) -> u32 {
        (0..bytes).fold(0, |value, i| {
            let byte = at + u64::from(i);
            let word = self.words[(byte / 4) as usize][lane];
            value | (((word >> (8 * (byte % 4))) & 0xff) << (8 * i))
        })
    }

    /// Stores the low `bytes` (1 to 4) bytes of `value`. Bounds have been checked.
    pub fn write(&mut self, lane: usize, at: u64, bytes: u32, value: u32) {
        for i in 0..bytes {
            let byte = at + u64::from(i);
            let word = &mut self.words[(byte / 4) as usize][lane];
            let shift = 8 * (byte % 4);
            *word = (*word & !(0xff << shift)) | (((value >> (8 * i)) & 0xff) << shift);
        }
    }
}
