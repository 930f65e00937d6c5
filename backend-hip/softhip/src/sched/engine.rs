//! The scheduler: takes work, and runs it when the policy says so.

use std::time::Duration;

use super::Policy;
use super::clock::Clock;
use super::counters::Counters;
use super::dispatch::{Faulted, Limits, Ran};
use super::failed::{FailedLaunch, RecordLaunches};
use super::queue::Queues;
use super::race::{History, Past};
use super::run::{Failed, Mode, Outcome};
use super::work::Work;
use crate::host;
use crate::hostcall::Printed;
use crate::memory::{Checks, Memory, splitmix64};
use crate::report::{HostCall, Operation, Report};

/// A stream, by the order of creation. The null stream is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StreamId(pub(super) usize);

impl StreamId {
    /// The null stream.
    pub const NULL: Self = Self(0);

    pub(crate) fn from_number(number: usize) -> Self {
        Self(number)
    }

    /// The stream's number, in order of creation; 0 is the null stream.
    pub fn number(self) -> usize {
        self.0
    }
}

/// An event, by the order of creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EventId(pub(super) usize);

impl EventId {
    pub(crate) fn from_number(number: usize) -> Self {
        Self(number)
    }

    /// The event's number, in order of creation.
    pub fn number(self) -> usize {
        self.0
    }
}

/// An operation of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    stream: usize,
    number: u64,
}

/// What a query answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// All of it has run.
    Done,
    /// Some has not.
    Pending,
}

/// Why streams and events refuse something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// The stream has been destroyed.
    #[error("stream {} has been destroyed", .0.0)]
    DestroyedStream(StreamId),
    /// The event has been destroyed.
    #[error("event {} has been destroyed", .0.0)]
    DestroyedEvent(EventId),
    /// The event has never been recorded.
    #[error("event {} has not been recorded", .0.0)]
    NotRecorded(EventId),
    /// The event's recording has not run yet.
    #[error("event {} is not complete", .0.0)]
    NotReady(EventId),
}

/// The streams of one device.
#[derive(Debug)]
pub struct Scheduler {
    queues: Queues,
    policy: Policy,
    random: u64,
    history: History,
    /// What the host has waited for.
    host: Clock,
    checks: Checks,
    limits: Limits,
    record: RecordLaunches,
    counters: Counters,
    findings: Vec<Report>,
    /// The launches of findings.
    failed: Vec<(Report, FailedLaunch)>,
    notes: Vec<Report>,
    printed: Printed,
    /// After a fault nothing runs any more.
    halted: bool,
}

impl Scheduler {
    /// A scheduler with the null stream alone.
    pub fn new(policy: Policy, checks: Checks, limits: Limits) -> Self {
        Self {
            queues: Queues::new(),
            policy,
            random: if let Policy::Random(seed) = policy { seed } else { 0 },
            history: History::default(),
            host: Clock::default(),
            checks,
            limits,
            record: RecordLaunches::Never,
            counters: Counters::default(),
            findings: Vec::new(),
            failed: Vec::new(),
            notes: Vec::new(),
            printed: Printed::default(),
            halted: false,
        }
    }

    /// Changes the policy for work that is queued from now on.
    pub fn set_policy(&mut self, policy: Policy) {
        self.policy = policy;
        if let Policy::Random(seed) = policy {
            self.random = seed;
        }
    }

    /// Changes the checks for work that runs from now on.
    pub fn set_checks(&mut self, checks: Checks) {
        self.checks = checks;
    }

    /// The checks in force.
    pub fn checks(&self) -> Checks {
        self.checks
    }

    /// Changes how launches use the host.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Changes what is kept of launches that fail.
    pub fn record_launches(&mut self, record: RecordLaunches) {
        self.record = record;
    }

    /// What is kept of launches that fail.
    pub fn recorded_launches(&self) -> RecordLaunches {
        self.record
    }

    /// The launches that failed since the last call, with their reports.
    pub fn take_failed(&mut self) -> Vec<(Report, FailedLaunch)> {
        std::mem::take(&mut self.failed)
    }

    /// The sum over all launches.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The sum over all launches since the last call.
    pub fn take_counters(&mut self) -> Counters {
        std::mem::take(&mut self.counters)
    }

    /// What went wrong since the last call, in the order in which it happened.
    pub fn take_findings(&mut self) -> Vec<Report> {
        std::mem::take(&mut self.findings)
    }

    /// The latest operation of a stream: what the host has to wait for, to know that all of the stream's work so far is done.
    pub fn ticket(&self, stream: StreamId) -> Result<Ticket, StreamError> {
        self.alive(stream)?;
        Ok(Ticket { stream: stream.0, number: self.queues.streams[stream.0].issued })
    }

    /// Has the host waited for an operation? That it has run is not enough.
    pub fn host_has_waited(&self, ticket: Ticket) -> bool {
        self.host.covers(ticket.stream, ticket.number)
    }

    /// Operations that have not run, without those that only order others.
    pub fn queued(&self) -> u64 {
        let all = self.queues.streams.iter().flat_map(|stream| &stream.queue);
        all.filter(|entry| !matches!(entry.work, Work::Marker)).count() as u64
    }

    /// Creates a stream; a blocking one is ordered with the null stream.
    pub fn create_stream(&mut self, blocking: bool) -> StreamId {
        if self.queues.streams.len() == 1 {
            self.history.skip(&self.queues.streams[0].clock);
        }
        let mut clock = self.host.clone();
        clock.join(self.history.forgotten());
        StreamId(self.queues.add_stream(blocking, clock))
    }

    /// Runs what is left on a stream and ends it.
    pub fn destroy_stream(&mut self, memory: &Memory, stream: StreamId) -> Result<(), StreamError> {
        self.alive(stream)?;
        self.run_until(memory, stream.0, self.queues.streams[stream.0].issued);
        self.queues.streams[stream.0].alive = false;
        Ok(())
    }

    /// Creates an event.
    pub fn create_event(&mut self) -> EventId {
        self.queues.events.push(super::queue::Event::default());
        EventId(self.queues.events.len() - 1)
    }

    /// Ends an event. Work that waits for its recording still does.
    pub fn destroy_event(&mut self, event: EventId) -> Result<(), StreamError> {
        self.existing(event)?;
        self.queues.events[event.0].destroyed = true;
        Ok(())
    }

    /// Queues `work`; `call` is the HIP call that asked for it.
    pub fn enqueue(
        &mut self,
        memory: &Memory,
        stream: StreamId,
        call: HostCall,
        mut work: Work,
    ) -> Result<(), StreamError> {
        self.alive(stream)?;
        if self.policy != Policy::Eager {
            work.poison(memory);
        }
        self.queues.push(stream.0, &self.host, call, work, None);
        self.after_enqueue(memory, stream);
        Ok(())
    }

    /// Queues a recording of `event`.
    pub fn record(
        &mut self,
        memory: &Memory,
        stream: StreamId,
        call: HostCall,
        event: EventId,
    ) -> Result<(), StreamError> {
        self.alive(stream)?;
        self.existing(event)?;
        self.queues.record(stream.0, &self.host, call, event.0);
        self.after_enqueue(memory, stream);
        Ok(())
    }

    /// Makes all later work of `stream` wait for the latest recording of `event`, if there is one.
    pub fn wait(
        &mut self,
        memory: &Memory,
        stream: StreamId,
        call: HostCall,
        event: EventId,
    ) -> Result<(), StreamError> {
        self.alive(stream)?;
        self.existing(event)?;
        if let Some(point) = self.queues.events[event.0].point.clone() {
            self.queues.push(stream.0, &self.host, call, Work::Marker, Some(point));
            self.after_enqueue(memory, stream);
        }
        Ok(())
    }

    /// Runs all of a stream's work.
    pub fn synchronise_stream(&mut self, memory: &Memory, stream: StreamId) -> Result<(), StreamError> {
        self.alive(stream)?;
        self.run_until(memory, stream.0, self.queues.streams[stream.0].issued);
        self.host_reaches_end(stream.0);
        Ok(())
    }

    /// Runs everything.
    pub fn synchronise(&mut self, memory: &Memory) {
        for stream in 0..self.queues.streams.len() {
            self.run_until(memory, stream, self.queues.streams[stream].issued);
            self.host_reaches_end(stream);
        }
    }

    /// Runs what the latest recording of `event` waits for.
    pub fn synchronise_event(&mut self, memory: &Memory, event: EventId) -> Result<(), StreamError> {
        self.existing(event)?;
        if let Some(point) = self.queues.events[event.0].point.clone() {
            self.run_until(memory, point.stream, point.number);
            self.host_reaches(&point.clock);
        }
        Ok(())
    }

    /// Has all of a stream's work run? Each question lets one more operation run, so that polling ends.
    pub fn query_stream(&mut self, memory: &Memory, stream: StreamId) -> Result<Completion, StreamError> {
        self.alive(stream)?;
        let (issued, done) = (self.queues.streams[stream.0].issued, self.queues.streams[stream.0].done);
        if done < issued {
            self.run_until(memory, stream.0, done + 1);
            return Ok(Completion::Pending);
        }
        let clock = self.queues.streams[stream.0].clock.clone();
        self.host_reaches(&clock);
        Ok(Completion::Done)
    }

    /// Has the latest recording of `event` run? Each question lets one more operation run.
    pub fn query_event(&mut self, memory: &Memory, event: EventId) -> Result<Completion, StreamError> {
        self.existing(event)?;
        let Some(point) = self.queues.events[event.0].point.clone() else { return Ok(Completion::Done) };
        let done = self.queues.streams[point.stream].done;
        if done < point.number {
            self.run_until(memory, point.stream, done + 1);
            return Ok(Completion::Pending);
        }
        self.host_reaches(&point.clock);
        Ok(Completion::Done)
    }

    /// Host time between the recordings of two events. It says nothing about a GPU.
    pub fn elapsed(&self, start: EventId, end: EventId) -> Result<Duration, StreamError> {
        let time = |event: EventId| {
            self.existing(event)?;
            let point = self.queues.events[event.0].point.as_ref().ok_or(StreamError::NotRecorded(event))?;
            point.time.ok_or(StreamError::NotReady(event))
        };
        Ok(time(end)?.saturating_duration_since(time(start)?))
    }

    fn alive(&self, stream: StreamId) -> Result<(), StreamError> {
        let alive = self.queues.streams.get(stream.0).is_some_and(|stream| stream.alive);
        if alive { Ok(()) } else { Err(StreamError::DestroyedStream(stream)) }
    }

    fn existing(&self, event: EventId) -> Result<(), StreamError> {
        let exists = self.queues.events.get(event.0).is_some_and(|event| !event.destroyed);
        if exists { Ok(()) } else { Err(StreamError::DestroyedEvent(event)) }
    }

    fn host_reaches(&mut self, clock: &Clock) {
        self.host.join(clock);
        self.forget();
    }

    /// The host has waited for all of a stream.
    fn host_reaches_end(&mut self, stream: usize) {
        self.host.join(&self.queues.streams[stream].clock);
        self.forget();
    }

    /// Forgets what happened before everything that is to come.
    fn forget(&mut self) {
        let queued = self.queues.streams.iter().flat_map(|stream| &stream.queue).map(|entry| &entry.clock);
        self.history.forget(&std::iter::once(&self.host).chain(queued));
    }

    fn after_enqueue(&mut self, memory: &Memory, stream: StreamId) {
        match self.policy {
            Policy::Eager => self.run_until(memory, stream.0, self.queues.streams[stream.0].issued),
            Policy::Deferred => {}
            Policy::Random(_) => {
                while splitmix64(&mut self.random).is_multiple_of(2) && self.run_any(memory) {}
            }
        }
    }

    /// Runs an operation that may run, drawn at random. `false`: there is none.
    fn run_any(&mut self, memory: &Memory) -> bool {
        let ready = self.queues.ready();
        if ready.is_empty() {
            return false;
        }
        let pick = splitmix64(&mut self.random) % ready.len() as u64;
        self.run_next(memory, ready[host::size(pick)]);
        true
    }

    /// Runs `stream` up to its operation `number`, and of the other streams what that needs.
    fn run_until(&mut self, memory: &Memory, stream: usize, number: u64) {
        let is_random = matches!(self.policy, Policy::Random(_));
        while self.queues.streams[stream].done < number
            && !is_random
            && self.queues.obstacle(stream).is_none()
        {
            self.run_next(memory, stream);
        }
        if self.queues.streams[stream].done >= number {
            return;
        }
        let mut goals = vec![(stream, number)];
        while let Some(&(stream, number)) = goals.last() {
            if self.queues.streams[stream].done >= number {
                goals.pop();
            } else if let Some(first) = self.queues.obstacle(stream) {
                goals.push(first);
            } else if is_random && splitmix64(&mut self.random).is_multiple_of(2) {
                self.run_any(memory);
            } else {
                self.run_next(memory, stream);
            }
        }
    }

    /// Races since the last call that cannot change a result.
    pub fn take_notes(&mut self) -> Vec<Report> {
        std::mem::take(&mut self.notes)
    }

    /// What kernels printed since the last call.
    pub fn take_printed(&mut self) -> Printed {
        std::mem::take(&mut self.printed)
    }

    /// Runs the first operation of `stream`, which may run.
    fn run_next(&mut self, memory: &Memory, stream: usize) {
        let Some(entry) = self.queues.pop(stream) else { return };
        if !self.halted {
            let several = self.queues.streams.len() > 1;
            let mode = Mode {
                checks: self.checks,
                limits: self.limits,
                footprints: several && self.checks.races,
                record: self.record,
            };
            // Needed only to be told apart from operations of other streams.
            let operation = mode.footprints.then(|| Operation {
                call: entry.call.clone(),
                kernel: match &entry.work {
                    Work::Launch(dispatch) => Some(dispatch.kernel.name().to_owned()),
                    _ => None,
                },
                stream: u32::try_from(stream).expect("streams are fewer than 2^32"),
                writes: false,
            });
            match entry.work.run(memory, mode) {
                Ok(Outcome { footprint, ran }) => {
                    if let Some(ran) = ran {
                        self.add(ran);
                    }
                    if let Some(operation) = operation {
                        let past = Past { stream, number: entry.number, operation, footprint };
                        if let Some(race) = self.history.add(memory, &entry.clock, past) {
                            self.fault(race);
                        }
                    }
                }
                Err(Failed { fault, launch }) => {
                    let Faulted { reports, unfinished, ran } = *fault;
                    if self.checks.go_on {
                        self.add(ran);
                    } else {
                        self.printed.extend(ran.printed);
                    }
                    // Later reads of what is missing would be consequences.
                    self.checks.uninitialised &= !unfinished;
                    let call = |report: Report| {
                        if report.launched.is_some() { report } else { report.call(entry.call.clone()) }
                    };
                    let reports: Vec<_> = reports.into_iter().map(call).collect();
                    self.failed.extend(reports.first().cloned().zip(launch.map(|launch| *launch)));
                    reports.into_iter().for_each(|report| self.fault(report));
                }
            }
        }
        self.queues.finish(stream, entry.number, entry.event);
    }

    fn add(&mut self, ran: Ran) {
        self.counters += &ran.counters;
        self.notes.extend(ran.notes);
        self.printed.extend(ran.printed);
    }

    fn fault(&mut self, report: Report) {
        self.halted = !self.checks.go_on;
        self.findings.push(report);
    }
}
