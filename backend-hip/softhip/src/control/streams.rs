//! Streams and events of a device.

use std::time::Duration;

use hip_api::Code;

use super::SoftDevice;
use super::state::State;
use crate::report::{HandleKind, HostCall, Problem, Report};
use crate::sched::{Completion, EventId, StreamError, StreamId, Work};

impl SoftDevice {
    /// Is this a stream that has not been destroyed?
    pub(crate) fn has_stream(&self, stream: StreamId) -> bool {
        self.state().sched.ticket(stream).is_ok()
    }

    pub(crate) fn create_stream(&self, blocking: bool) -> StreamId {
        self.state().sched.create_stream(blocking)
    }

    pub(crate) fn destroy_stream(&self, stream: StreamId, call: HostCall) -> Result<(), Code> {
        let mut state = self.state();
        let outcome = state.sched.destroy_stream(&self.memory, stream);
        state.checked(outcome, call)?;
        state.settle()
    }

    pub(crate) fn create_event(&self) -> EventId {
        self.state().sched.create_event()
    }

    pub(crate) fn destroy_event(&self, event: EventId, call: HostCall) -> Result<(), Code> {
        let mut state = self.state();
        let outcome = state.sched.destroy_event(event);
        state.checked(outcome, call)
    }

    /// Queues work. A fault that it leads to belongs to a later call.
    pub(crate) fn enqueue(&self, stream: StreamId, call: HostCall, work: Work) -> Result<(), Code> {
        let mut state = self.state();
        let outcome = state.sched.enqueue(&self.memory, stream, call.clone(), work);
        state.collect();
        state.checked(outcome, call)
    }

    /// Queues work and waits for it.
    pub(crate) fn perform(&self, stream: StreamId, call: HostCall, work: Work) -> Result<(), Code> {
        self.enqueue(stream, call.clone(), work)?;
        self.synchronise_stream(stream, call)
    }

    pub(crate) fn record_event(&self, stream: StreamId, event: EventId, call: HostCall) -> Result<(), Code> {
        let mut state = self.state();
        let outcome = state.sched.record(&self.memory, stream, call.clone(), event);
        state.collect();
        state.checked(outcome, call)
    }

    pub(crate) fn wait_event(&self, stream: StreamId, event: EventId, call: HostCall) -> Result<(), Code> {
        let mut state = self.state();
        let outcome = state.sched.wait(&self.memory, stream, call.clone(), event);
        state.collect();
        state.checked(outcome, call)
    }

    pub(crate) fn synchronise(&self) -> Result<(), Code> {
        self.state().synchronise(&self.memory)
    }

    pub(crate) fn synchronise_stream(&self, stream: StreamId, call: HostCall) -> Result<(), Code> {
        let mut state = self.state();
        let outcome = state.sched.synchronise_stream(&self.memory, stream);
        state.checked(outcome, call)?;
        state.settle()
    }

    pub(crate) fn synchronise_event(&self, event: EventId, call: HostCall) -> Result<(), Code> {
        let mut state = self.state();
        let outcome = state.sched.synchronise_event(&self.memory, event);
        state.checked(outcome, call)?;
        state.settle()
    }

    pub(crate) fn query_stream(&self, stream: StreamId, call: HostCall) -> Result<(), Code> {
        let mut state = self.state();
        let outcome = state.sched.query_stream(&self.memory, stream);
        let completion = state.checked(outcome, call)?;
        state.answer(completion)
    }

    pub(crate) fn query_event(&self, event: EventId, call: HostCall) -> Result<(), Code> {
        let mut state = self.state();
        let outcome = state.sched.query_event(&self.memory, event);
        let completion = state.checked(outcome, call)?;
        state.answer(completion)
    }

    pub(crate) fn elapsed(&self, start: EventId, end: EventId, call: HostCall) -> Result<Duration, Code> {
        let mut state = self.state();
        let outcome = state.sched.elapsed(start, end);
        state.checked(outcome, call)
    }
}

impl State {
    /// The code of a refusal, with a report when it is about a handle that no longer exists.
    fn checked<T>(&mut self, outcome: Result<T, StreamError>, call: HostCall) -> Result<T, Code> {
        outcome.map_err(|error| {
            let gone = match error {
                StreamError::DestroyedStream(stream) => Some((HandleKind::Stream, stream.number())),
                StreamError::DestroyedEvent(event) => Some((HandleKind::Event, event.number())),
                StreamError::NotRecorded(_) | StreamError::NotReady(_) => None,
            };
            if let Some((what, number)) = gone {
                let problem = Problem::Handle { what, value: number as u64, destroyed: true };
                self.reports.push(Report::new(problem).call(call));
            }
            error.into()
        })
    }

    fn answer(&mut self, completion: Completion) -> Result<(), Code> {
        self.settle()?;
        match completion {
            Completion::Done => Ok(()),
            Completion::Pending => Err(Code::NOT_READY),
        }
    }
}
