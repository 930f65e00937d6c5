//! Running all workgroups of a launch, on one thread or several.

use std::collections::VecDeque;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};

use super::core::counters::Tally;
use super::go_on::{Finding, Findings};
use super::group::{Failure, Finished, Notes, Pace, Sizes, Worker};
use super::program::Program;
use super::progress::Watch;
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

/// What workgroups leave behind.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) counters: Counters,
    pub(super) notes: Notes,
    /// What was wrong, that of the lowest workgroup first.
    pub(super) findings: Vec<Finding>,
    /// Some workgroup raced with another: what is reported depends on their order.
    pub(super) raced: bool,
    /// Some workgroup has not run to its end.
    pub(super) unfinished: bool,
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

/// What ended workgroups so far.
#[derive(Debug, Default)]
struct Failures(Mutex<Vec<Finding>>);

impl Failures {
    fn add(&self, group: u32, failure: Failure) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Finding::new(group, failure));
    }
}

/// Sums up what the threads of a run leave behind.
#[derive(Debug)]
struct Sum(Outcome);

impl Sum {
    fn new(program: &Program) -> Self {
        let counters = Counters { launches: 1, untested: program.untested().clone(), ..Counters::default() };
        let (notes, findings) = (Notes::new(), Vec::new());
        Self(Outcome { counters, notes, findings, raced: false, unfinished: false })
    }

    fn add(&mut self, Finished { tally, mut notes, mut findings }: Finished) {
        tally.add_to(&mut self.0.counters);
        self.0.notes.append(&mut notes);
        self.0.findings.append(&mut findings);
    }

    /// The outcome, with what ended workgroups. Of those after `last`, some may not have run.
    fn end(self, failures: Failures, last: u32) -> Outcome {
        let Self(mut outcome) = self;
        let mut ended = failures.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        outcome.unfinished = !ended.is_empty();
        outcome.findings.append(&mut ended);
        if outcome.findings.is_empty() && outcome.notes.is_empty() {
            return outcome;
        }
        outcome.raced = outcome.findings.iter().any(|finding| finding.failure.is_race());
        outcome.findings.retain(|finding| finding.group <= last);
        outcome.findings = Findings::first_of_each(outcome.findings);
        // What one wave only reads may be what another one depends on.
        let findings = &outcome.findings;
        let is_note = |note: &Failure| findings.iter().all(|finding| finding.failure.sides() != note.sides());
        outcome.notes.retain(|(_, note)| is_note(note));
        outcome.notes = first_of_each(outcome.notes);
        outcome
    }
}

/// What the threads of a run share.
#[derive(Debug)]
struct Run<'a> {
    groups: &'a Groups<'a>,
    memory: &'a LaunchMemory,
    shares: Shares,
    failures: Failures,
    watch: Option<Watch<'a>>,
}

impl<'a> Run<'a> {
    fn new(groups: &'a Groups<'a>, memory: &'a LaunchMemory, threads: usize) -> Self {
        let count = groups.dispatch.groups();
        let watch = Watch::new(groups.dispatch.kernel.name(), count);
        Self { groups, memory, shares: Shares::new(count, threads), failures: Failures::default(), watch }
    }

    /// What a worker's progress is counted from.
    fn told(&self, tally: &Tally) -> u64 {
        self.watch.as_ref().map_or(0, |_| tally.instructions())
    }

    /// Tells how far a worker has come.
    fn tell(&self, told: &mut u64, tally: &Tally, ended: bool) {
        if let Some(watch) = &self.watch {
            let all = tally.instructions();
            watch.add(all - std::mem::replace(told, all), ended);
        }
    }

    fn worker(&self) -> Worker<'_> {
        let Groups { program, start, sizes, spares, pace, host, .. } = *self.groups;
        Worker::new(program, self.memory, start, sizes, spares, (pace, host))
    }

    fn run(&self, worker: &mut Worker<'_>, numbers: Range<u32>) {
        for number in numbers {
            if self.shares.is_beyond_failure(number) {
                return;
            }
            let mut told = self.told(&worker.tally);
            let at = coordinates(self.groups.dispatch.grid, number);
            let result = worker.run(number, at, |tally| self.tell(&mut told, tally, false));
            self.tell(&mut told, &worker.tally, true);
            if let Err(failure) = result {
                if !self.memory.checks().go_on || failure.ends_launch() {
                    self.shares.fail(number);
                }
                self.failures.add(number, *failure);
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
    fn help(&self) -> Finished {
        let mut worker = self.worker();
        self.run_all(&mut worker);
        worker.finish(self.groups.spares)
    }
}

impl Groups<'_> {
    /// Runs them on up to `threads` threads.
    pub(super) fn run(&self, memory: &LaunchMemory, threads: usize) -> Outcome {
        memory.set_alone(threads == 1);
        let run = Run::new(self, memory, threads);
        let mut sum = Sum::new(self.program);
        let mut worker = run.worker();
        if threads > 1 {
            run.run_some(&mut worker, ALONE);
        }
        let helpers = if run.shares.is_left() { threads - 1 } else { 0 };
        if helpers == 0 {
            run.run_all(&mut worker);
            sum.add(worker.finish(self.spares));
        } else {
            std::thread::scope(|scope| {
                let others: Vec<_> = (0..helpers).map(|_| scope.spawn(|| run.help())).collect();
                run.run_all(&mut worker);
                sum.add(worker.finish(self.spares));
                for other in others {
                    sum.add(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
                }
            });
        }
        sum.end(run.failures, run.shares.last())
    }

    /// Runs them together: all are there from the beginning, and get their turns one after the other, so that they can
    /// wait for each other.
    pub(super) fn run_together(&self, memory: &LaunchMemory) -> Outcome {
        memory.set_alone(true);
        let run = Run::new(self, memory, 1);
        let begin = |number| {
            let mut worker = run.worker();
            let group = worker.begin(number, coordinates(self.dispatch.grid, number));
            (worker, group)
        };
        let mut going: VecDeque<_> = (0..self.dispatch.groups()).map(begin).collect();
        let mut sum = Sum::new(self.program);
        while let Some((mut worker, mut group)) = going.pop_front() {
            let mut told = run.told(&worker.tally);
            let goes_on = worker.go_on(&mut group);
            run.tell(&mut told, &worker.tally, !matches!(goes_on, Ok(true)));
            let result = match goes_on {
                Ok(true) => {
                    going.push_back((worker, group));
                    continue;
                }
                Ok(false) => worker.end(&mut group),
                Err(failure) => Err(failure),
            };
            sum.add(worker.finish(self.spares));
            if let Err(failure) = result {
                run.failures.add(group.id(), *failure);
                // The others may wait for it.
                break;
            }
        }
        going.into_iter().for_each(|(worker, _)| sum.add(worker.finish(self.spares)));
        sum.end(run.failures, u32::MAX)
    }
}
