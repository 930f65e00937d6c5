//! Running all workgroups of a launch, on one thread or several.

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};

use super::core::counters::Tally;
use super::group::{Failure, Notes, Pace, Sizes, Worker};
use super::program::Program;
use super::share::Shares;
use super::spare::Spares;
use super::start::Start;
use crate::hostcall::Host;
use crate::memory::LaunchMemory;
use crate::sched::{Counters, Dispatch};

/// Wave instructions that the first thread runs before it calls others: below a fraction of a millisecond, starting
/// threads takes longer than what they would save.
const ALONE: u64 = 4096;

/// The workgroups of one launch.
#[derive(Debug)]
pub(super) struct Groups<'a> {
    pub(super) program: &'a Program,
    pub(super) start: &'a Start,
    pub(super) sizes: Sizes,
    pub(super) dispatch: &'a Dispatch,
    pub(super) spares: &'a Spares,
    pub(super) pace: Pace,
    pub(super) host: Option<&'a Mutex<Host>>,
}

/// Something was wrong.
#[derive(Debug)]
pub(super) struct Failed {
    /// The lowest workgroup that failed.
    pub(super) group: u32,
    pub(super) failure: Box<Failure>,
    /// Some workgroup, not necessarily this one, raced with another: what is reported depends on their order.
    pub(super) raced: bool,
}

/// One note for each pair of instructions: that of the lowest workgroup, whichever thread ran it.
fn first_of_each(mut notes: Notes) -> Notes {
    notes.sort_by_key(|(group, failure)| (failure.sides(), *group));
    notes.dedup_by_key(|(_, failure)| failure.sides());
    notes
}

/// The coordinates of a block with a linear number; x runs fastest.
pub(super) fn coordinates([x, y, _]: [u32; 3], number: u32) -> [u32; 3] {
    [number % x, number / x % y, number / x / y]
}

/// What has gone wrong so far.
#[derive(Debug, Default)]
struct Failures(Mutex<Option<Failed>>);

impl Failures {
    fn add(&self, group: u32, failure: Box<Failure>) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let raced = failure.is_race() || first.as_ref().is_some_and(|failed| failed.raced);
        match &mut *first {
            Some(failed) if failed.group < group => failed.raced = raced,
            first => *first = Some(Failed { group, failure, raced }),
        }
    }
}

/// What the threads of a run share.
#[derive(Debug)]
struct Run<'a> {
    groups: &'a Groups<'a>,
    memory: &'a LaunchMemory,
    shares: Shares,
    failures: Failures,
}

impl Run<'_> {
    fn worker(&self) -> Worker<'_> {
        let Groups { program, start, sizes, spares, pace, host, .. } = *self.groups;
        Worker::new(program, self.memory, start, sizes, spares, (pace, host))
    }

    fn run(&self, worker: &mut Worker<'_>, numbers: Range<u32>) {
        for number in numbers {
            if self.shares.is_beyond_failure(number) {
                return;
            }
            if let Err(failure) = worker.run(number, coordinates(self.groups.dispatch.grid, number)) {
                self.shares.fail(number);
                self.failures.add(number, failure);
            }
        }
    }

    /// Runs workgroups, one at a time, until they have executed so many instructions.
    fn run_some(&self, worker: &mut Worker<'_>, instructions: u64) {
        while worker.tally.instructions() < instructions
            && let Some(numbers) = self.shares.take(1)
        {
            self.run(worker, numbers);
        }
    }

    /// Runs workgroups until none is left.
    fn run_all(&self, worker: &mut Worker<'_>) {
        while let Some(numbers) = self.shares.take(u32::MAX) {
            self.run(worker, numbers);
        }
    }

    /// As [`run_all`](Self::run_all), on a thread of its own.
    fn help(&self) -> (Tally, Notes) {
        let mut worker = self.worker();
        self.run_all(&mut worker);
        worker.finish(self.groups.spares)
    }
}

impl Groups<'_> {
    /// Runs them on up to `threads` threads.
    pub(super) fn run(&self, memory: &LaunchMemory, threads: usize) -> Result<(Counters, Notes), Failed> {
        memory.set_alone(threads == 1);
        let shares = Shares::new(self.dispatch.groups(), threads);
        let run = Run { groups: self, memory, shares, failures: Failures::default() };
        let untested = self.program.untested().clone();
        let mut counters = Counters { launches: 1, untested, ..Counters::default() };
        let mut notes = Notes::new();
        let mut add = |(tally, mut found): (Tally, Notes)| {
            tally.add_to(&mut counters);
            notes.append(&mut found);
        };
        let mut worker = run.worker();
        if threads > 1 {
            run.run_some(&mut worker, ALONE);
        }
        let helpers = if run.shares.is_left() { threads - 1 } else { 0 };
        if helpers == 0 {
            run.run_all(&mut worker);
            add(worker.finish(self.spares));
        } else {
            std::thread::scope(|scope| {
                let others: Vec<_> = (0..helpers).map(|_| scope.spawn(|| run.help())).collect();
                run.run_all(&mut worker);
                add(worker.finish(self.spares));
                for other in others {
                    add(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
                }
            });
        }
        match run.failures.0.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None => Ok((counters, first_of_each(notes))),
            Some(failed) => Err(failed),
        }
    }

    /// Runs them together: all are there from the beginning, and get their turns one after the other, so that they can
    /// wait for each other.
    pub(super) fn run_together(&self, memory: &LaunchMemory) -> Result<(Counters, Notes), Failed> {
        memory.set_alone(true);
        let shares = Shares::new(self.dispatch.groups(), 1);
        let run = Run { groups: self, memory, shares, failures: Failures::default() };
        let begin = |number| {
            let mut worker = run.worker();
            let group = worker.begin(number, coordinates(self.dispatch.grid, number));
            (worker, group)
        };
        let mut going: Vec<_> = (0..self.dispatch.groups()).map(begin).collect();
        let untested = self.program.untested().clone();
        let mut counters = Counters { launches: 1, untested, ..Counters::default() };
        let mut notes = Notes::new();
        while !going.is_empty() {
            for (mut worker, mut group) in std::mem::take(&mut going) {
                let number = group.id();
                let failed = |failure| Failed { group: number, failure, raced: false };
                if worker.go_on(&mut group).map_err(failed)? {
                    going.push((worker, group));
                    continue;
                }
                worker.end(&mut group).map_err(failed)?;
                let (tally, mut found) = worker.finish(self.spares);
                tally.add_to(&mut counters);
                notes.append(&mut found);
            }
        }
        Ok((counters, first_of_each(notes)))
    }
}
