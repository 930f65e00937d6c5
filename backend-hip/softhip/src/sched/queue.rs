//! The queues of streams, and what orders the operations in them.

use std::collections::VecDeque;
use std::time::Instant;

use super::clock::Clock;
use super::work::Work;
use crate::report::HostCall;

/// A queued operation.
#[derive(Debug)]
pub(super) struct Entry {
    /// From 1, within its stream.
    pub(super) number: u64,
    pub(super) work: Work,
    pub(super) call: HostCall,
    /// What happened before it, itself excluded.
    pub(super) clock: Clock,
    /// Operations `(stream, number)` of other streams that must have run.
    pub(super) after: Vec<(usize, u64)>,
    /// The event that it completes.
    pub(super) event: Option<usize>,
}

/// A stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) alive: bool,
    /// It is ordered with the null stream.
    pub(super) blocking: bool,
    pub(super) queue: VecDeque<Entry>,
    /// Operations queued so far.
    pub(super) issued: u64,
    /// Operations that have run.
    pub(super) done: u64,
    /// What happened before its next operation.
    pub(super) clock: Clock,
}

/// An event.
#[derive(Debug, Default)]
pub(super) struct Event {
    pub(super) destroyed: bool,
    pub(super) point: Option<Point>,
}

/// The latest recording of an event.
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub(super) stream: usize,
    pub(super) number: u64,
    pub(super) clock: Clock,
    /// When it ran.
    pub(super) time: Option<Instant>,
}

/// All streams and events. Stream 0 is the null stream.
#[derive(Debug)]
pub(super) struct Queues {
    pub(super) streams: Vec<Stream>,
    pub(super) events: Vec<Event>,
}

impl Queues {
    pub(super) fn new() -> Self {
        let mut queues = Self { streams: Vec::new(), events: Vec::new() };
        queues.add_stream(true, Clock::default());
        queues
    }

    pub(super) fn add_stream(&mut self, blocking: bool, clock: Clock) -> usize {
        self.streams.push(Stream {
            alive: true,
            blocking,
            queue: VecDeque::new(),
            issued: 0,
            done: 0,
            clock,
        });
        self.streams.len() - 1
    }

    /// Queues `work` behind everything it must follow; `host` is what the host has waited for.
    pub(super) fn push(
        &mut self,
        stream: usize,
        host: &Clock,
        call: HostCall,
        work: Work,
        wait: Option<Point>,
    ) -> u64 {
        let mut after: Vec<(usize, u64)> = Vec::new();
        let mut clock = std::mem::take(&mut self.streams[stream].clock);
        clock.join(host);
        for (other, peer) in self.streams.iter().enumerate() {
            let null_and_blocking =
                (stream == 0 && peer.blocking) || (other == 0 && self.streams[stream].blocking);
            if other != stream && null_and_blocking && peer.issued > 0 {
                clock.join(&peer.clock);
                if peer.done < peer.issued {
                    after.push((other, peer.issued));
                }
            }
        }
        if let Some(point) = wait {
            clock.join(&point.clock);
            after.push((point.stream, point.number));
        }
        let queue = &mut self.streams[stream];
        queue.issued += 1;
        let number = queue.issued;
        let before = clock.clone();
        queue.clock = clock;
        queue.clock.reach(stream, number);
        queue.queue.push_back(Entry { number, work, call, clock: before, after, event: None });
        number
    }

    /// Queues a recording of `event`.
    pub(super) fn record(&mut self, stream: usize, host: &Clock, call: HostCall, event: usize) {
        let number = self.push(stream, host, call, Work::Marker, None);
        let clock = self.streams[stream].clock.clone();
        self.events[event].point = Some(Point { stream, number, clock, time: None });
        if let Some(entry) = self.streams[stream].queue.back_mut() {
            entry.event = Some(event);
        }
    }

    /// May the first operation of `stream` run now? If not, what must run first?
    pub(super) fn obstacle(&self, stream: usize) -> Option<(usize, u64)> {
        let entry = self.streams[stream].queue.front()?;
        entry.after.iter().copied().find(|&(other, number)| self.streams[other].done < number)
    }

    /// Takes the first operation of `stream`, which is about to run.
    pub(super) fn pop(&mut self, stream: usize) -> Option<Entry> {
        self.streams[stream].queue.pop_front()
    }

    /// Notes that `entry` of `stream` has run.
    pub(super) fn finish(&mut self, stream: usize, number: u64, event: Option<usize>) {
        self.streams[stream].done = number;
        let point = event.and_then(|event| self.events[event].point.as_mut());
        if let Some(point) = point.filter(|point| (point.stream, point.number) == (stream, number)) {
            point.time = Some(Instant::now());
        }
    }

    /// Streams whose first operation may run now.
    pub(super) fn ready(&self) -> Vec<usize> {
        let waiting = (0..self.streams.len()).filter(|&stream| !self.streams[stream].queue.is_empty());
        waiting.filter(|&stream| self.obstacle(stream).is_none()).collect()
    }
}
