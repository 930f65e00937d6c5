//! Bank conflicts of LDS.

use super::active;
use super::lds::WORDS;
use crate::memory::{Lanes, WAVE};

/// Banks of 4 bytes, and words that they serve at once.
const BANKS: usize = 32;

/// Patterns of addresses that have been looked at before: instructions repeat theirs, and another start changes nothing.
#[derive(Debug)]
pub(super) struct Patterns {
    known: Vec<Pattern>,
    /// The workgroup, to tell what was checked in it from what was checked before.
    turn: u32,
}

#[derive(Debug, Clone)]
struct Pattern {
    /// Each lane's distance from the first lane's word.
    distances: Lanes,
    exec: u64,
    bytes: u32,
    conflicts: u64,
    /// Some starts of accesses whose words had all been written, see [`Patterns::checked`].
    checked: [u32; CHECKED],
}

impl Pattern {
    #[cold]
    fn learn(&mut self, addresses: &Lanes, exec: u64, bytes: u32) {
        let start = addresses[0] & !3;
        let distances = addresses.map(|address| address.wrapping_sub(start));
        let conflicts = conflicts(addresses, exec, bytes);
        *self = Self { distances, exec, bytes, conflicts, checked: [0; CHECKED] };
    }
}

/// How many patterns are remembered.
const REMEMBERED: usize = 32;
/// How many starts of each.
const CHECKED: usize = 64;
/// Bits of a word's number.
const WORD_BITS: u32 = 14;
const _: () = assert!(WORDS == 1 << WORD_BITS);

impl Patterns {
    pub(super) fn new() -> Self {
        Self { known: Vec::new(), turn: 1 }
    }

    /// Makes room; most kernels never ask.
    #[cold]
    fn begin(&mut self) {
        let none = Pattern { distances: [0; WAVE], exec: 0, bytes: 0, conflicts: 0, checked: [0; CHECKED] };
        self.known.resize(REMEMBERED, none);
    }

    /// As [`conflicts`], for the instruction with a number.
    #[inline(always)]
    pub(super) fn conflicts(&mut self, instruction: u32, addresses: &Lanes, exec: u64, bytes: u32) -> u64 {
        self.of(instruction, addresses, exec, bytes).conflicts
    }

    /// Where to note that all words of an access have been written, and what to note there. The words of all accesses are
    /// below [`WORDS`].
    pub(super) fn checked(
        &mut self,
        instruction: u32,
        addresses: &Lanes,
        exec: u64,
        bytes: u32,
    ) -> (&mut u32, u32) {
        let word = addresses[0] / 4;
        let mark = (self.turn << WORD_BITS) | word;
        // Spread by a multiplication: waves are apart by multiples of large powers of two.
        let at = (word.wrapping_mul(0x9E37_79B1) >> (32 - CHECKED.ilog2())) as usize;
        (&mut self.of(instruction, addresses, exec, bytes).checked[at], mark)
    }

    /// No word has been written any more.
    pub(super) fn forget_checked(&mut self) {
        self.turn += 1;
        if self.turn >> (32 - WORD_BITS) != 0 {
            self.turn = 1;
            self.known.iter_mut().for_each(|known| known.checked = [0; CHECKED]);
        }
    }

    #[inline(always)]
    fn of(&mut self, instruction: u32, addresses: &Lanes, exec: u64, bytes: u32) -> &mut Pattern {
        if self.known.is_empty() {
            self.begin();
        }
        let start = addresses[0] & !3;
        let known = &mut self.known[instruction as usize % REMEMBERED];
        let mut differs = u32::from((known.exec, known.bytes) != (exec, bytes));
        for (address, distance) in addresses.iter().zip(&known.distances) {
            differs |= address.wrapping_sub(start) ^ distance;
        }
        if differs != 0 {
            known.learn(addresses, exec, bytes);
        }
        known
    }
}

/// The passes beyond the first that an access of `bytes` at the `addresses` of the lanes in `exec` needs.
pub(super) fn conflicts(addresses: &Lanes, exec: u64, bytes: u32) -> u64 {
    // As many lanes at a time as fill the banks once.
    let at_once = match bytes {
        0..=4 => 32,
        8 => 16,
        _ => 8,
    };
    let dwords = bytes.div_ceil(4);
    let mut extra = 0;
    for start in (0..WAVE).step_by(at_once) {
        let together = exec & ((u64::MAX >> (WAVE - at_once)) << start);
        let mut words = [0; BANKS];
        let mut count = 0;
        for lane in active(together) {
            for i in 0..dwords {
                words[count] = addresses[lane] / 4 + i;
                count += 1;
            }
        }
        let words = &words[..count];
        if !is_free_of_conflicts(words) {
            extra += passes(words) - 1;
        }
    }
    extra
}

/// No bank is asked for two different words.
fn is_free_of_conflicts(words: &[u32]) -> bool {
    // No word has this number.
    let mut asked = [u32::MAX; BANKS];
    words.iter().all(|&word| {
        let bank = &mut asked[word as usize % BANKS];
        let free = *bank == u32::MAX || *bank == word;
        *bank = word;
        free
    })
}

/// How many different words the busiest bank is asked for.
fn passes(words: &[u32]) -> u64 {
    let mut load = [0; BANKS];
    for (i, word) in words.iter().enumerate() {
        if !words[..i].contains(word) {
            load[*word as usize % BANKS] += 1;
        }
    }
    load.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::splitmix64;

    #[test]
    fn banks_serve_one_word_at_a_time() {
        for (words, expected) in [
            ((0..32).collect::<Vec<u32>>(), 1),
            (vec![5; 32], 1),
            ((0..32).map(|lane| 33 * lane).collect(), 1),
            ((0..32).map(|lane| 2 * lane).collect(), 2),
            ((0..32).map(|lane| 32 * lane).collect(), 32),
        ] {
            assert_eq!(is_free_of_conflicts(&words), expected == 1);
            assert_eq!(passes(&words), expected);
        }
    }

    #[test]
    fn lanes_that_are_served_together_conflict_and_others_do_not() {
        let strided = |step: u32| std::array::from_fn(|lane| step * lane as u32);
        assert_eq!(conflicts(&strided(4), u64::MAX, 4), 0);
        assert_eq!(conflicts(&strided(8), u64::MAX, 4), 2);
        assert_eq!(conflicts(&strided(8), u64::MAX, 8), 0);
        assert_eq!(conflicts(&strided(128), u64::MAX, 4), 62);
        assert_eq!(conflicts(&strided(128), 0x1_0000_0001, 4), 0);
        assert_eq!(conflicts(&strided(128), u64::MAX, 16), 56);
        assert_eq!(conflicts(&strided(0), u64::MAX, 16), 0);
    }

    #[test]
    fn what_is_remembered_is_what_would_be_counted() {
        let (mut patterns, mut state) = (Patterns::new(), 1);
        for turn in 0..20_000u64 {
            let mut below = |end: u64| (splitmix64(&mut state) % end) as u32;
            let bytes = [1, 2, 4, 8, 12, 16][below(6) as usize];
            let (start, step, fold) = (below(300), 4 * below(40), 1 << below(7));
            let addresses =
                std::array::from_fn(|lane| start + step * (lane as u32 % fold) + 4 * (lane as u32 / fold));
            let exec = if turn % 3 == 0 { u64::from(below(1 << 32)) << 16 } else { u64::MAX };
            // Few numbers, so that most find the pattern of another.
            let counted = patterns.conflicts(below(3), &addresses, exec, bytes);
            assert_eq!(counted, conflicts(&addresses, exec, bytes));
            assert_eq!(patterns.conflicts(0, &addresses, exec, bytes), counted);
            let further = addresses.map(|address| address + 12);
            assert_eq!(patterns.conflicts(0, &further, exec, bytes), counted);
        }
    }
}
