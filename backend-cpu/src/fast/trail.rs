//! Which weights a thread reads after which, so that they are on their way before it comes to them.
//!
//! A model reads its weights in the same order for every token. What a thread read after a piece of memory the last time, it will read
//! after it the next time, as a rule; where not, some lines of memory were fetched in vain. Without this every product would begin by
//! waiting for memory, which takes longer than the arithmetic of a small one.

use std::cell::RefCell;
use std::ops::Range;

use super::simd::{LINE, prefetch};

/// How far ahead of their use weights are asked for. Many rows side by side are no pattern that a processor foresees.
const AHEAD: usize = 1 << 14;

/// How much a thread that has nothing to do asks for in advance: it must stay in the second cache until it is used.
const IDLE: usize = 1 << 17;

/// Bytes that are asked for between two looks for work.
const AT_ONCE: usize = 16 * LINE;

/// Bits of the number of jumps that are known: several times as many as a token of a small model makes.
const KNOWN_BITS: u32 = 11;

/// An odd number that spreads addresses: 2^64 over the golden ratio.
#[expect(clippy::cast_possible_truncation, reason = "the lower half will do where an address has no more")]
const SCATTER: usize = 0x9E37_79B9_7F4A_7C15_u64 as usize;

/// The pieces of memory that a thread reads. Addresses only: what is asked for need not be there any more.
struct Trail {
    /// Where a piece begins and where the one after it does, at a place that follows from the first; unless it follows at once.
    known: Box<[(usize, usize)]>,
    /// The last piece.
    last: Range<usize>,
    /// What is to be asked for while there is nothing to do.
    idle: Range<usize>,
}

thread_local! {
    static TRAIL: RefCell<Trail> = RefCell::new(Trail {
        known: vec![(0, 0); 1 << KNOWN_BITS].into(),
        last: 0..0,
        idle: 0..0,
    });
}

impl Trail {
    /// Where it is known what comes after the piece that begins at `start`.
    fn entry(&mut self, start: usize) -> &mut (usize, usize) {
        let scattered = start.wrapping_mul(SCATTER) >> (usize::BITS - KNOWN_BITS);
        &mut self.known[scattered]
    }
}

/// What a thread asks for while it reads a piece of memory.
#[derive(Clone, Copy)]
pub struct Way {
    end: usize,
    next: usize,
}

/// This thread is about to read `piece`.
pub fn enter(piece: &[u8]) -> Way {
    let Range { start, end } = piece.as_ptr_range();
    let (start, end) = (start.addr(), end.addr());
    TRAIL.with_borrow_mut(|trail| {
        let last = std::mem::replace(&mut trail.last, start..end);
        let known = trail.entry(last.start);
        if start != last.end || known.0 == last.start {
            *known = (last.start, start);
        }
        let known = *trail.entry(start);
        // What nothing is known of goes on as it began.
        let next = if known.0 == start { known.1 } else { end };
        trail.idle = next + AHEAD..next + IDLE;
        Way { end, next }
    })
}

impl Way {
    /// What to ask for while what lies at `at` is read.
    #[inline(always)]
    pub fn ahead(self, at: *const u8) -> usize {
        let ahead = at.addr() + AHEAD;
        if ahead < self.end { ahead } else { self.next.wrapping_add(ahead - self.end) }
    }
}

/// Asks for some of what this thread will read next.
pub fn look_ahead() {
    TRAIL.with_borrow_mut(|trail| {
        for _ in 0..AT_ONCE / LINE {
            if trail.idle.is_empty() {
                return;
            }
            prefetch(trail.idle.start);
            trail.idle.start += LINE;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_after_a_piece_is_expected_again() {
        let memory = vec![0; 1 << 20];
        let [a, b, c] = [0, 300_000, 600_000].map(|at| &memory[at..at + 100_000]);
        let address = |piece: &[u8], at: usize| piece[at..].as_ptr().addr();
        let unknown = enter(a);
        assert_eq!(unknown.ahead(a.as_ptr()), address(a, AHEAD));
        assert_eq!(unknown.ahead(&raw const a[90_000]), address(a, 0) + 90_000 + AHEAD);
        for piece in [b, c, a, b, c] {
            enter(piece);
        }
        let known = enter(a);
        assert_eq!(known.ahead(a.as_ptr()), address(a, AHEAD));
        assert_eq!(known.ahead(&raw const a[90_000]), address(b, 90_000 + AHEAD - 100_000));
        enter(c);
        assert_eq!(enter(a).ahead(&raw const a[99_999]), address(c, AHEAD - 1), "the last time counts");
    }

    #[test]
    fn a_thread_that_waits_asks_for_so_much_and_no_more() {
        let memory = vec![0; 1 << 10];
        enter(&memory);
        for _ in 0..2 * IDLE / AT_ONCE {
            look_ahead();
        }
        TRAIL.with_borrow(|trail| assert!(trail.idle.is_empty()));
    }
}
