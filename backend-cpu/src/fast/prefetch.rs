//! Software prefetching of weights across products.
//!
//! A model reads its weights in the same order for every token. Each thread remembers which stream of weights it read after which one,
//! and near the end of a stream it prefetches the start of the predicted next. A wrong prediction costs some cache lines fetched in vain.
//! Without this every product would begin by waiting for memory, which takes longer than the arithmetic of a small one.

use std::cell::RefCell;
use std::ops::Range;

use super::simd::{CACHE_LINE, prefetch};

/// Prefetch distance in bytes.
#[derive(Clone, Copy)]
pub struct PrefetchDistance {
    /// While weights are read. Hardware prefetchers do not follow sixteen rows read side by side.
    streaming: usize,
    /// While the thread waits for work. So much must stay in L2 until it is used.
    idle: usize,
}

impl PrefetchDistance {
    /// For weights of less than a byte each.
    pub const SHORT: PrefetchDistance = PrefetchDistance { streaming: 5 << 12, idle: 1 << 17 };
    /// For weights of a byte or more each. They stream faster, because there is less to compute per byte.
    pub const LONG: PrefetchDistance = PrefetchDistance { streaming: 7 << 12, idle: 1 << 18 };
}

/// Bytes that an idle thread prefetches between two looks for work.
const IDLE_CHUNK: usize = 8 * CACHE_LINE;

/// Log2 of the entries of the prediction table: several times as many as a token of a small model has streams.
const TABLE_BITS: u32 = 10;

/// Multiplier of Fibonacci hashing: 2^64 over the golden ratio, which is odd.
#[expect(clippy::cast_possible_truncation, reason = "the low half is enough where an address has 32 bits")]
const HASH_MULTIPLIER: usize = 0x9E37_79B9_7F4A_7C15_u64 as usize;

/// Predicts the stream after the current one, for one thread. It holds addresses only and never reads what they point to, so memory may
/// have been freed since.
struct StreamPredictor {
    /// Hash table from the start of a stream to the start of the one that followed it: `(start, next)`.
    table: Box<[(usize, usize)]>,
    /// Start of the current stream.
    stream: usize,
    /// True if the next block starts a new stream.
    starts_stream: bool,
    /// What to prefetch while the thread waits for work.
    idle: Range<usize>,
}

thread_local! {
    static PREDICTOR: RefCell<StreamPredictor> = RefCell::new(StreamPredictor {
        table: vec![(0, 0); 1 << TABLE_BITS].into(),
        stream: 0,
        starts_stream: true,
        idle: 0..0,
    });
}

impl StreamPredictor {
    /// The table entry of the stream that starts at `start`.
    fn entry(&mut self, start: usize) -> &mut (usize, usize) {
        let hash = start.wrapping_mul(HASH_MULTIPLIER) >> (usize::BITS - TABLE_BITS);
        &mut self.table[hash]
    }
}

/// What a thread prefetches while it reads a block of weights.
#[derive(Clone, Copy)]
pub struct PrefetchPlan {
    /// End of the block.
    end: usize,
    /// Predicted address of what is read after the block.
    next: usize,
    distance: usize,
}

/// Says that this thread's next block starts a stream.
pub fn begin_stream() {
    PREDICTOR.with_borrow_mut(|predictor| predictor.starts_stream = true);
}

/// The plan for a block of weights that this thread is about to read. `last` is true if it is the thread's last block of this matrix;
/// otherwise the thread goes on with what lies behind the block.
pub fn plan(
    block: &[u8],
    last: bool,
    PrefetchDistance { streaming, idle }: PrefetchDistance,
) -> PrefetchPlan {
    let Range { start, end } = block.as_ptr_range();
    let (start, end) = (start.addr(), end.addr());
    PREDICTOR.with_borrow_mut(|predictor| {
        if std::mem::take(&mut predictor.starts_stream) {
            let previous = std::mem::replace(&mut predictor.stream, start);
            *predictor.entry(previous) = (previous, start);
        }
        let stream = predictor.stream;
        let next = match *predictor.entry(stream) {
            (known, next) if last && known == stream => next,
            _ => end,
        };
        predictor.idle = next + streaming..next + idle;
        PrefetchPlan { end, next, distance: streaming }
    })
}

impl PrefetchPlan {
    /// The address to prefetch while `at` is read.
    #[inline(always)]
    pub fn address(self, at: *const u8) -> usize {
        let ahead = at.addr() + self.distance;
        if ahead < self.end { ahead } else { self.next.wrapping_add(ahead - self.end) }
    }
}

/// Prefetches some of what this thread is predicted to read next. For threads that wait for work.
pub fn prefetch_while_idle() {
    PREDICTOR.with_borrow_mut(|predictor| {
        for _ in 0..IDLE_CHUNK / CACHE_LINE {
            if predictor.idle.is_empty() {
                return;
            }
            prefetch(predictor.idle.start);
            predictor.idle.start += CACHE_LINE;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISTANCE: usize = PrefetchDistance::SHORT.streaming;

    #[test]
    fn a_stream_is_predicted_to_be_followed_by_the_same_again() {
        let memory = vec![0; 1 << 20];
        let [a, b, c] = [0, 300_000, 600_000].map(|at| &memory[at..at + 100_000]);
        let address = |block: &[u8], at: usize| block[at..].as_ptr().addr();
        let stream = |block: &[u8]| {
            begin_stream();
            plan(block, true, PrefetchDistance::SHORT)
        };
        let unknown = stream(a);
        assert_eq!(unknown.address(a.as_ptr()), address(a, DISTANCE));
        assert_eq!(unknown.address(&raw const a[90_000]), address(a, 0) + 90_000 + DISTANCE);
        for block in [b, c, a, b, c] {
            stream(block);
        }
        let known = stream(a);
        assert_eq!(known.address(a.as_ptr()), address(a, DISTANCE));
        assert_eq!(known.address(&raw const a[90_000]), address(b, 90_000 + DISTANCE - 100_000));
        let more = plan(&memory[700_000..750_000], true, PrefetchDistance::SHORT);
        assert_eq!(more.address(&raw const memory[749_999]), address(b, DISTANCE - 1), "same stream");
        stream(c);
        assert_eq!(stream(a).address(&raw const a[99_999]), address(c, DISTANCE - 1), "the last time counts");
        begin_stream();
        let more_to_come = plan(a, false, PrefetchDistance::SHORT);
        assert_eq!(more_to_come.address(&raw const a[99_999]), address(a, 99_999) + DISTANCE);
    }

    #[test]
    fn an_idle_thread_prefetches_its_distance_and_no_more() {
        let memory = vec![0; 1 << 10];
        plan(&memory, true, PrefetchDistance::SHORT);
        for _ in 0..2 * PrefetchDistance::SHORT.idle / IDLE_CHUNK {
            prefetch_while_idle();
        }
        PREDICTOR.with_borrow(|predictor| assert!(predictor.idle.is_empty()));
    }
}
