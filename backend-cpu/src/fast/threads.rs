//! Who does the work: a pool of threads of the backend's own.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;

use kernels::{Source, ViewMut};

use super::blocks::decode_row;
use super::matmul::Block;
use super::pool::Pool;
use super::prefetch;
use super::rope_table::Turns;
use super::rows::{Rows, floats_mut, rows_mut};
use super::simd::{Arch, Kernel};
use super::work_stealing::{Hand, deal};
use crate::HostBuffer;

/// Elementary operations below which waking a pool costs more than it saves.
const WORTH_WAKING: usize = 1 << 14;

/// What enters a product with quantised weights.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Activations {
    /// Activations rounded to 8 bits, 32 to a scale.
    #[default]
    Int8,
    /// Activations as they are.
    Exact,
}

/// Computes by the functions of this module, on a number of threads.
#[derive(Clone, Debug)]
pub struct Threads {
    /// Absent where the caller's thread does everything.
    pool: Option<Arc<Pool>>,
    arch: Arch,
    activations: Activations,
    turns: Arc<Turns>,
    /// Memory for rounded activations, where no product has it.
    blocks: Arc<Mutex<Vec<Block>>>,
}

impl Default for Threads {
    /// One thread per core.
    fn default() -> Self {
        Threads::new(0)
    }
}

impl Threads {
    /// `count` threads; one per core for 0. Where the system does not grant them, the caller's thread does the work alone,
    /// with the same results.
    pub fn new(count: usize) -> Self {
        let count = if count == 0 { available_parallelism().map_or(1, usize::from) } else { count };
        let pool = if count == 1 { None } else { Pool::new(count, prefetch::look_ahead).map(Arc::new) };
        Threads {
            pool,
            arch: Arch::detect(),
            activations: Activations::Int8,
            turns: Arc::default(),
            blocks: Arc::default(),
        }
    }

    /// The same threads with this treatment of activations.
    #[must_use]
    pub fn with_activations(mut self, activations: Activations) -> Self {
        self.activations = activations;
        self
    }

    /// The same threads with another set of vector instructions, one of [`Threads::instruction_sets`]; `None` where the machine
    /// lacks it. The results are the same.
    #[must_use]
    pub fn with_instructions(mut self, name: &str) -> Option<Self> {
        self.arch = Arch::available().find(|arch| arch.name() == name)?;
        Some(self)
    }

    /// Names of the sets of vector instructions that this machine has, the best one last.
    pub fn instruction_sets() -> impl Iterator<Item = &'static str> {
        Arch::available().map(Arch::name)
    }

    /// Threads that work.
    pub fn count(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.count())
    }

    /// What enters a product with quantised weights.
    pub(super) const fn activations(&self) -> Activations {
        self.activations
    }

    /// The vector instructions that are used.
    pub(super) const fn arch(&self) -> Arch {
        self.arch
    }

    /// The rotations of the last `rope`.
    pub(super) fn turns(&self) -> &Turns {
        &self.turns
    }

    /// The memory that the last product left, or none.
    pub(super) fn take_blocks(&self) -> Vec<Block> {
        std::mem::take(&mut self.blocks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Leaves memory to the next product, unless more has been left.
    pub(super) fn keep_blocks(&self, blocks: Vec<Block>) {
        let mut kept = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if blocks.capacity() > kept.capacity() {
            *kept = blocks;
        }
    }

    /// Runs `kernel` on the caller's thread.
    pub(super) fn compute<K: Kernel>(&self, kernel: K) -> K::Output {
        self.arch.run(kernel)
    }

    /// Does `f` to each item, given its number, neighbouring items on one thread as far as possible. `work` estimates the elementary operations of all items together.
    pub(super) fn each<T: Send>(
        &self,
        items: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
        work: usize,
        f: impl Fn(usize, T) + Sync,
    ) {
        let items = items.into_iter();
        if self.worth_waking(work) {
            self.share_out(|threads| deal(items, threads), work, |(i, item)| f(i, item));
        } else {
            items.enumerate().for_each(|(i, item)| f(i, item));
        }
    }

    /// Does `f` to each piece of the work that `share` deals out to so many threads.
    pub(super) fn share_out<I: DoubleEndedIterator + Send>(
        &self,
        share: impl FnOnce(usize) -> Vec<I>,
        work: usize,
        f: impl Fn(I::Item) + Sync,
    ) {
        match &self.pool {
            Some(pool) if self.worth_waking(work) => {
                let hand = Hand::new(share(pool.count()));
                pool.run(&|thread| {
                    prefetch::begin();
                    hand.play(thread, &f);
                });
            }
            _ => {
                prefetch::begin();
                share(1).into_iter().flatten().for_each(f);
            }
        }
    }

    /// Whether so many elementary operations are more than one thread should do.
    fn worth_waking(&self, work: usize) -> bool {
        self.pool.is_some() && work >= WORTH_WAKING
    }

    /// Puts each row of the f32 tensor `x` where it belongs in `out`, and lets `f` change it there, given its number.
    /// In place or not makes no other difference.
    pub(super) fn transform(
        &self,
        x: &Source<'_, HostBuffer>,
        out: ViewMut<'_, HostBuffer>,
        f: impl Fn(usize, &mut [f32]) + Sync,
    ) {
        let x = match x {
            Source::Of(view) => Some(Rows::of(*view)),
            Source::InPlace => None,
        };
        let (dtype, work) = (out.layout.dtype(), out.layout.elements().unwrap_or(0));
        let per_task = (ELEMENTS_PER_TASK / out.layout.shape().last().copied().unwrap_or(1).max(1)).max(1);
        let mut rows = rows_mut(out);
        self.each(rows.chunks_mut(per_task), work, |task, rows| {
            for (i, row) in (task * per_task..).zip(rows) {
                let row = floats_mut(row);
                if let Some(x) = &x {
                    decode_row(dtype, x.bytes(i), row);
                }
                f(i, row);
            }
        });
    }
}

/// Elements that a thread takes at a time: some microseconds of work.
const ELEMENTS_PER_TASK: usize = 1 << 12;
