//! Races between streams: what earlier operations touched, as long as something may still be unordered with them.

use super::clock::Clock;
use crate::memory::{Footprint, Memory};
use crate::report::{Operation, Problem, Report};

/// Beyond this many operations the oldest count as ordered before everything.
const REMEMBERED: usize = 1024;

/// An operation that has run.
#[derive(Debug)]
pub(super) struct Past {
    pub(super) stream: usize,
    pub(super) number: u64,
    pub(super) operation: Operation,
    pub(super) footprint: Footprint,
}

/// The operations that later ones are compared with.
#[derive(Debug, Default)]
pub(super) struct History {
    past: Vec<Past>,
    /// Operations that are no longer remembered.
    forgotten: Clock,
}

impl History {
    /// What a new stream counts as ordered after, besides what the host has waited for.
    pub(super) fn forgotten(&self) -> &Clock {
        &self.forgotten
    }

    /// Counts everything that all of `clocks` cover as ordered before all that comes.
    pub(super) fn forget<'a>(&mut self, clocks: &(impl Iterator<Item = &'a Clock> + Clone)) {
        self.past.retain(|past| {
            let ordered = clocks.clone().all(|clock| clock.covers(past.stream, past.number));
            if ordered {
                self.forgotten.reach(past.stream, past.number);
            }
            !ordered
        });
    }

    /// Counts what was never remembered as ordered before all that comes.
    pub(super) fn skip(&mut self, clock: &Clock) {
        self.forgotten.join(clock);
    }

    /// Remembers `now`, which happened after `clock`; answers its race with an earlier operation.
    pub(super) fn add(&mut self, memory: &Memory, clock: &Clock, now: Past) -> Option<Report> {
        let race = self
            .past
            .iter()
            .filter(|past| !clock.covers(past.stream, past.number))
            .find_map(|past| report(memory, past, &now));
        if self.past.len() == REMEMBERED {
            let oldest = self.past.remove(0);
            self.forgotten.reach(oldest.stream, oldest.number);
        }
        self.past.push(now);
        race
    }
}

fn report(memory: &Memory, first: &Past, second: &Past) -> Option<Report> {
    let (a, b) = (&first.footprint, &second.footprint);
    let pairs = [
        (&a.writes, &b.writes, true, true),
        (&a.writes, &b.reads, true, false),
        (&a.reads, &b.writes, false, true),
    ];
    pairs.into_iter().find_map(|(x, y, first_writes, second_writes)| {
        let (start, end) = x.overlap(y)?;
        let side = |past: &Past, writes| Box::new(Operation { writes, ..past.operation.clone() });
        Some(Report::new(Problem::StreamRace {
            address: start,
            size: end - start,
            allocation: memory.allocation_at(start).map(Box::new),
            first: side(first, first_writes),
            second: side(second, second_writes),
        }))
    })
}
