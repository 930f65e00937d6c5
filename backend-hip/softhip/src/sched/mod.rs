//! Streams, events and the order of work.
//!
//! Work is queued on streams and runs one operation at a time. *When* it runs is the [`Policy`]'s choice;
//! what may run before what is fixed by the program: the order within a stream, events, the null stream.
//! A correct program gives the same result under every policy. The null stream follows HIP's legacy rule:
//! it waits for all blocking streams, and they wait for it.
//!
//! Each operation carries a vector [`clock`](Clock): what happened before it. Two operations of which
//! neither is before the other, and which touch a common byte with a write, are a race, whatever order the
//! policy happened to run them in.

mod arguments;
mod clock;
mod counters;
mod dispatch;
mod engine;
mod failed;
mod implicit;
mod queue;
mod race;
mod run;
mod work;

pub(crate) use arguments::explicit_size;
pub(crate) use failed::reachable;
pub(crate) use run::free_report;

pub use crate::hostcall::Printed;
pub use arguments::{COMPUTE_UNITS, Given, LDS_LIMIT, Shape, assemble, check_pointers};
pub use clock::Clock;
pub use counters::Counters;
pub use dispatch::{Dispatch, Execute, Faulted, Limits, Ran};
pub use engine::{Completion, EventId, Scheduler, StreamError, StreamId, Ticket};
pub use failed::{FailedLaunch, RecordLaunches};
pub use work::{CopyShape, End, HostBytes, POISON, Work};

/// When queued work runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// At once.
    Eager,
    /// Only when a synchronisation demands it, and not more than it demands. Until then, the destination
    /// of a copy to the host holds [`POISON`]. A missing synchronisation is a wrong answer, every time.
    Deferred,
    /// At moments, and in an order between streams, drawn from a generator with this seed.
    Random(u64),
}
