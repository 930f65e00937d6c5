//! The threads of the backend, and what they keep between ops.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;

use kernels::{Source, ViewMut};

use super::blocks::decode_row;
use super::int8_block::Int8Block;
use super::pool::Pool;
use super::prefetch;
use super::rope_table::RopeTableCache;
use super::rows::{Rows, floats_mut, rows_mut};
use super::simd::{Arch, Kernel, UnavailableInstructions};
use super::work_stealing::{WorkQueues, split_evenly};
use crate::HostBuffer;

/// Elementary operations below which starting the pool costs more than it saves.
const MIN_PARALLEL_WORK: usize = 1 << 14;

/// Elements of a task: some microseconds of work.
const ELEMENTS_PER_TASK: usize = 1 << 12;

/// How activations enter a product with quantised weights.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Activations {
    /// Quantised to 8 bits, 32 to a scale.
    #[default]
    Int8,
    /// As f32.
    Exact,
}

/// The fast backend's threads, instruction set and settings. Clones share the threads.
#[derive(Clone, Debug)]
pub struct Threads {
    /// `None` if the caller's thread does everything.
    pool: Option<Arc<Pool>>,
    arch: Arch,
    activations: Activations,
    rope_table: Arc<RopeTableCache>,
    /// Memory for quantised activations, reused from product to product.
    int8_blocks: Arc<Mutex<Vec<Int8Block>>>,
}

impl Default for Threads {
    /// One thread per core.
    fn default() -> Self {
        Threads::new(0)
    }
}

impl Threads {
    /// `count` threads; one per core for 0. If the system does not grant them, the caller's thread does the work alone, with the same
    /// results. They use the set of vector instructions that `ASSAY_SIMD` names, or the best one; see [`Threads::selected_instructions`].
    pub fn new(count: usize) -> Self {
        let count = if count == 0 { available_parallelism().map_or(1, usize::from) } else { count };
        let pool =
            if count == 1 { None } else { Pool::new(count, prefetch::prefetch_while_idle).map(Arc::new) };
        Threads {
            pool,
            arch: Arch::select().unwrap_or_else(|_| Arch::best()),
            activations: Activations::Int8,
            rope_table: Arc::default(),
            int8_blocks: Arc::default(),
        }
    }

    /// The same threads with this treatment of activations.
    #[must_use]
    pub fn with_activations(mut self, activations: Activations) -> Self {
        self.activations = activations;
        self
    }

    /// The same threads with another set of vector instructions, one of [`Threads::instruction_sets`]; `None` if the machine lacks
    /// it. The results are the same.
    #[must_use]
    pub fn with_instructions(mut self, name: &str) -> Option<Self> {
        self.arch = Arch::named(name).ok()?;
        Some(self)
    }

    /// Name of the set of vector instructions that new threads use: the one that `ASSAY_SIMD` names, or the best one. A program that
    /// lets its user choose asks here first, for threads take the best one where the choice cannot be met.
    pub fn selected_instructions() -> Result<&'static str, UnavailableInstructions> {
        Arch::select().map(Arch::name)
    }

    /// Names of the sets of vector instructions that this machine has, the best one last.
    pub fn instruction_sets() -> impl Iterator<Item = &'static str> {
        Arch::available().map(Arch::name)
    }

    /// Number of threads, the caller's among them.
    pub fn count(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.count())
    }

    /// How activations enter a product with quantised weights.
    pub(super) const fn activations(&self) -> Activations {
        self.activations
    }

    /// The vector instructions that are used.
    pub(super) const fn arch(&self) -> Arch {
        self.arch
    }

    /// The cached rotations of the last `rope`.
    pub(super) fn rope_table(&self) -> &RopeTableCache {
        &self.rope_table
    }

    /// Memory that an earlier product has released, or an empty vector.
    pub(super) fn acquire_int8_blocks(&self) -> Vec<Int8Block> {
        std::mem::take(&mut self.int8_blocks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Releases memory for a later product. The larger of this and what is there already stays.
    pub(super) fn release_int8_blocks(&self, blocks: Vec<Int8Block>) {
        let mut free = self.int8_blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if blocks.capacity() > free.capacity() {
            *free = blocks;
        }
    }

    /// Runs `kernel` on the caller's thread.
    pub(super) fn compute<K: Kernel>(&self, kernel: K) -> K::Output {
        self.arch.run(kernel)
    }

    /// Runs `f` on each item, given its index. Neighbouring items go to the same thread as far as possible. `work` estimates the
    /// elementary operations of all items together.
    pub(super) fn parallel_for<T: Send>(
        &self,
        items: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
        work: usize,
        f: impl Fn(usize, T) + Sync,
    ) {
        let items = items.into_iter();
        if self.is_worth_sharing(work) {
            self.parallel_queues(|threads| split_evenly(items, threads), work, |(i, item)| f(i, item));
        } else {
            items.enumerate().for_each(|(i, item)| f(i, item));
        }
    }

    /// Runs `f` on every task, with work stealing. `queues` returns one queue of tasks for each of so many threads.
    pub(super) fn parallel_queues<I: DoubleEndedIterator + Send>(
        &self,
        queues: impl FnOnce(usize) -> Vec<I>,
        work: usize,
        f: impl Fn(I::Item) + Sync,
    ) {
        match &self.pool {
            Some(pool) if self.is_worth_sharing(work) => {
                let queues = WorkQueues::new(queues(pool.count()));
                pool.run(&|thread| {
                    prefetch::begin_stream();
                    queues.run(thread, &f);
                });
            }
            _ => {
                prefetch::begin_stream();
                queues(1).into_iter().flatten().for_each(f);
            }
        }
    }

    /// True if so many elementary operations should be shared among the threads.
    fn is_worth_sharing(&self, work: usize) -> bool {
        self.pool.is_some() && work >= MIN_PARALLEL_WORK
    }

    /// Copies each row of the f32 tensor `x` to its place in `out`, and runs `f` on it there, given its index. If `x` is in place,
    /// nothing is copied.
    pub(super) fn map_rows(
        &self,
        x: &Source<'_, HostBuffer>,
        out: ViewMut<'_, HostBuffer>,
        f: impl Fn(usize, &mut [f32]) + Sync,
    ) {
        let x = match x {
            Source::Of(view) => Some(Rows::of(*view)),
            Source::InPlace => None,
        };
        let (dtype, work) =
            (out.layout.dtype(), out.layout.elements().expect("validation has checked the size"));
        let per_task = (ELEMENTS_PER_TASK / out.layout.shape().last().copied().unwrap_or(1).max(1)).max(1);
        let mut rows = rows_mut(out);
        self.parallel_for(rows.chunks_mut(per_task), work, |task, rows| {
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
