//! What the blocks that a launch wrote held before, so that it can be undone.
//!
//! A launch on several threads that meets a race is undone and run again on one: so what it reports does not depend
//! on the threads. A block is kept when the launch first writes to it, under the lock of its page in the race
//! detector and before the bytes change.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use bytemuck::allocation::zeroed_slice_box;

use super::blocks::BLOCK;
use super::cells::{Cells, index};
use super::init::Init;

/// Words in a block.
const WORDS: usize = index(BLOCK / 4);

/// The kept blocks of one allocation. Most are never written by several threads, and have none.
#[derive(Debug, Default)]
pub(super) struct Undo(OnceLock<Kept>);

#[derive(Debug)]
struct Kept {
    /// The last launch for which each block was kept.
    launches: Box<[AtomicU32]>,
    words: Box<[AtomicU32]>,
    /// Which bytes were initialised.
    init: Box<[AtomicU64]>,
}

/// The bytes of an allocation and which of them are initialised.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contents<'a> {
    pub(super) cells: &'a Cells,
    pub(super) init: &'a Init,
}

impl Contents<'_> {
    /// The words of a block, as far as the allocation has them.
    fn words(&self, block: u64) -> &[AtomicU32] {
        let bytes = (self.init.len() - block * BLOCK).min(BLOCK);
        self.cells.words(block * BLOCK, index(bytes.div_ceil(4)))
    }
}

impl Undo {
    /// Keeps what `block` holds, unless `launch` has done so before.
    pub(super) fn keep(&self, launch: u32, block: u64, from: Contents<'_>) {
        let kept = self.0.get_or_init(|| {
            let blocks = index(from.init.len().div_ceil(BLOCK));
            Kept {
                launches: zeroed_slice_box(blocks),
                words: zeroed_slice_box(blocks * WORDS),
                init: zeroed_slice_box(blocks),
            }
        });
        let at = index(block);
        if kept.launches[at].load(Ordering::Relaxed) == launch {
            return;
        }
        for (kept, word) in kept.words[at * WORDS..].iter().zip(from.words(block)) {
            kept.store(word.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        kept.init[at].store(from.init.block(block), Ordering::Relaxed);
        kept.launches[at].store(launch, Ordering::Relaxed);
    }

    /// Gives every block that `launch` wrote its bytes back.
    pub(super) fn restore(&self, launch: u32, to: Contents<'_>) {
        let Some(kept) = self.0.get() else { return };
        for (block, last) in (0u64..).zip(&kept.launches) {
            if last.load(Ordering::Relaxed) != launch {
                continue;
            }
            let at = index(block);
            for (word, kept) in to.words(block).iter().zip(&kept.words[at * WORDS..]) {
                word.store(kept.load(Ordering::Relaxed), Ordering::Relaxed);
            }
            to.init.put_block(block, kept.init[at].load(Ordering::Relaxed));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_launch_wrote_comes_back_with_its_initialised_bits() {
        let (cells, init, undo) = (Cells::zeroed(150).unwrap(), Init::clear(150).unwrap(), Undo::default());
        let from = Contents { cells: &cells, init: &init };
        cells.write(10, &[1; 60]);
        init.cover(10, 60);
        undo.keep(5, 1, from);
        undo.keep(5, 2, from);
        cells.write(0, &[2; 150]);
        init.cover(0, 150);
        undo.keep(5, 1, from);
        undo.restore(4, from);
        assert!(init.is_complete());
        undo.restore(5, from);
        let mut bytes = [0; 150];
        cells.read(0, &mut bytes);
        let expected: Vec<u8> = (0..150).map(|at| if at < 64 { 2 } else { u8::from(at < 70) }).collect();
        assert_eq!(bytes.to_vec(), expected);
        assert_eq!((init.first_missing(0, 150), init.first_missing(70, 80)), (Some(70), Some(70)));
    }
}
