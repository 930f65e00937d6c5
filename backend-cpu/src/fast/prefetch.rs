//! Which weights a thread reads after which, so that they are on their way before it comes to them.
//!
//! A model reads its weights in the same order for every token. Where a thread walked after a walk through memory the last time, it will
//! walk again, as a rule; where not, some lines of memory were fetched in vain. Without this every product would begin by waiting for
//! memory, which takes longer than the arithmetic of a small one.

use std::cell::RefCell;
use std::ops::Range;

use super::simd::{LINE, prefetch};

/// How many bytes in advance weights are asked for.
#[derive(Clone, Copy)]
pub struct Reach {
    /// While others are read. Many rows side by side are no pattern that a processor foresees.
    ahead: usize,
    /// While there is nothing to do. It must stay in the second cache until it is used.
    idle: usize,
}

impl Reach {
    /// For weights of less than a byte.
    pub const SHORT: Reach = Reach { ahead: 5 << 12, idle: 1 << 17 };
    /// For weights of a byte or more, which pass by faster: there is less to compute with each byte.
    pub const LONG: Reach = Reach { ahead: 7 << 12, idle: 1 << 18 };
}

/// Bytes that are asked for between two looks for work.
const AT_ONCE: usize = 8 * LINE;

/// Bits of the number of walks that are known: several times as many as a token of a small model takes.
const KNOWN_BITS: u32 = 10;

/// An odd number that spreads addresses: 2^64 over the golden ratio.
#[expect(clippy::cast_possible_truncation, reason = "the lower half will do where an address has no more")]
const SCATTER: usize = 0x9E37_79B9_7F4A_7C15_u64 as usize;

/// Where a thread walks through memory. Addresses only: what is asked for need not be there any more.
struct Trail {
    /// Where a walk begins and where the next one does, at a place that follows from the first.
    known: Box<[(usize, usize)]>,
    /// Where the current walk began.
    walk: usize,
    /// Whether the next piece begins a walk.
    begins: bool,
    /// What is to be asked for while there is nothing to do.
    idle: Range<usize>,
}

thread_local! {
    static TRAIL: RefCell<Trail> = RefCell::new(Trail {
        known: vec![(0, 0); 1 << KNOWN_BITS].into(),
        walk: 0,
        begins: true,
        idle: 0..0,
    });
}

impl Trail {
    /// Where it is known what comes after the walk that begins at `start`.
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
    ahead: usize,
}

/// This thread is about to begin a walk.
pub fn begin() {
    TRAIL.with_borrow_mut(|trail| trail.begins = true);
}

/// This thread is about to read `piece`, and then, unless it is the `last`, what lies behind it.
pub fn enter(piece: &[u8], last: bool, Reach { ahead, idle }: Reach) -> Way {
    let Range { start, end } = piece.as_ptr_range();
    let (start, end) = (start.addr(), end.addr());
    TRAIL.with_borrow_mut(|trail| {
        if std::mem::take(&mut trail.begins) {
            let walk = std::mem::replace(&mut trail.walk, start);
            *trail.entry(walk) = (walk, start);
        }
        let walk = trail.walk;
        let next = match *trail.entry(walk) {
            (known, next) if last && known == walk => next,
            _ => end,
        };
        trail.idle = next + ahead..next + idle;
        Way { end, next, ahead }
    })
}

impl Way {
    /// What to ask for while what lies at `at` is read.
    #[inline(always)]
    pub fn ahead(self, at: *const u8) -> usize {
        let ahead = at.addr() + self.ahead;
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

    const AHEAD: usize = Reach::SHORT.ahead;

    #[test]
    fn a_walk_is_expected_to_be_followed_by_the_same_again() {
        let memory = vec![0; 1 << 20];
        let [a, b, c] = [0, 300_000, 600_000].map(|at| &memory[at..at + 100_000]);
        let address = |piece: &[u8], at: usize| piece[at..].as_ptr().addr();
        let walk = |piece: &[u8]| {
            begin();
            enter(piece, true, Reach::SHORT)
        };
        let unknown = walk(a);
        assert_eq!(unknown.ahead(a.as_ptr()), address(a, AHEAD));
        assert_eq!(unknown.ahead(&raw const a[90_000]), address(a, 0) + 90_000 + AHEAD);
        for piece in [b, c, a, b, c] {
            walk(piece);
        }
        let known = walk(a);
        assert_eq!(known.ahead(a.as_ptr()), address(a, AHEAD));
        assert_eq!(known.ahead(&raw const a[90_000]), address(b, 90_000 + AHEAD - 100_000));
        let more = enter(&memory[700_000..750_000], true, Reach::SHORT);
        assert_eq!(more.ahead(&raw const memory[749_999]), address(b, AHEAD - 1), "as after the first piece");
        walk(c);
        assert_eq!(walk(a).ahead(&raw const a[99_999]), address(c, AHEAD - 1), "the last time counts");
        begin();
        let more_to_come = enter(a, false, Reach::SHORT);
        assert_eq!(more_to_come.ahead(&raw const a[99_999]), address(a, 99_999) + AHEAD);
    }

    #[test]
    fn a_thread_that_waits_asks_for_so_much_and_no_more() {
        let memory = vec![0; 1 << 10];
        enter(&memory, true, Reach::SHORT);
        for _ in 0..2 * Reach::SHORT.idle / AT_ONCE {
            look_ahead();
        }
        TRAIL.with_borrow(|trail| assert!(trail.idle.is_empty()));
    }
}
