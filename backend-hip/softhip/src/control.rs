//! The software device as a Rust value: choose its seed, schedule and checks, label allocations, read its reports
//! and counters.
//!
//! A [`SoftDevice`] is what the HIP calls of [`api`](crate::api) act on. Which one that is: the one that the calling
//! thread has [bound](SoftDevice::bind), else the one that was [installed](SoftDevice::install) for the process, else
//! one with the default [`Options`].
//!
//! ```
//! use std::sync::Arc;
//! use softhip::control::{Options, SoftDevice};
//! use softhip::sched::Policy;
//!
//! let device = Arc::new(SoftDevice::new(Options { policy: Policy::Deferred, seed: 7, ..Options::default() }));
//! let _bound = device.bind();
//! let hip = softhip::api::table();
//! // ... a backend that is given this table runs on `device` ...
//! # let mut count = 0;
//! # // SAFETY: `count` is a valid destination.
//! # assert_eq!(unsafe { (hip.get_device_count)(&raw mut count) }, 0);
//! assert!(device.reports().is_empty());
//! ```

mod copies;
mod current;
mod kernels;
mod launches;
mod modules;
mod options;
mod record;
mod state;
mod streams;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use current::{Bound, CallSite, current};
pub use modules::{FunctionId, ModuleId};
pub use options::{Options, Selection};
pub use record::{LaunchRecord, ReplayError};

use hip_api::Code;

use crate::memory::{AllocationInfo, AllocationKind, Checks, Memory, MemoryError, Site};
use crate::report::{HostCall, Report};
use crate::sched::{Counters, Limits, Policy, Printed, StreamId, Ticket, free_report};
use state::State;

/// A software HIP device.
#[derive(Debug)]
pub struct SoftDevice {
    options: Options,
    memory: Memory,
    state: Mutex<State>,
}

impl SoftDevice {
    /// A fresh device.
    pub fn new(options: Options) -> Self {
        let memory = Memory::new(options.seed, options.memory_bytes).straddling(options.straddle);
        let state = Mutex::new(State::new(&options));
        Self { options, memory, state }
    }

    /// The device's memory.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The options it was made with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Changes when work runs that is queued from now on.
    pub fn set_policy(&self, policy: Policy) {
        self.state().sched.set_policy(policy);
    }

    /// Changes what is checked from now on.
    pub fn set_checks(&self, checks: Checks) {
        self.state().sched.set_checks(checks);
    }

    /// Chooses the launches that are checked in full, from now on.
    pub fn select_launches(&self, selection: Selection) {
        self.state().selection = selection;
    }

    /// Changes how launches use the host.
    pub fn set_limits(&self, limits: Limits) {
        self.state().sched.set_limits(limits);
    }

    /// Names the allocation that holds `address`, for reports; `false` when there is none.
    pub fn label(&self, address: u64, label: &str) -> bool {
        self.memory.label(address, label)
    }

    /// Every report so far, the first finding first.
    pub fn reports(&self) -> Vec<Report> {
        self.state().reports.clone()
    }

    /// Takes the reports out; a fault stays.
    pub fn take_reports(&self) -> Vec<Report> {
        std::mem::take(&mut self.state().reports)
    }

    /// Races so far that cannot change a result: equal values written by several, and plain loads at the beginning of a
    /// loop of compare-and-swaps. [`Checks::strict_races`](crate::memory::Checks) makes them faults.
    pub fn notes(&self) -> Vec<Report> {
        self.state().notes.clone()
    }

    /// Takes out what kernels printed since the last call.
    pub fn take_printed(&self) -> Printed {
        self.state().sched.take_printed()
    }

    /// What made the device unusable, if anything did. All calls fail with its code from then on. Where launches
    /// [go on](Checks::go_on), only those do that wait for work; who makes the calls answers for the others.
    pub fn fault(&self) -> Option<Code> {
        self.state().fault
    }

    /// Lets no finding make the device unusable, from now on: with launches that [go on](Checks::go_on), programs then run to their end.
    pub fn forgive(&self) {
        self.state().forgives = true;
    }

    /// What every call answers before it does anything.
    pub(crate) fn refusal(&self) -> Option<Code> {
        self.state().refusal()
    }

    /// What all launches together cost.
    pub fn counters(&self) -> Counters {
        self.state().sched.counters().clone()
    }

    /// As [`counters`](Self::counters), and begins to count anew.
    pub fn take_counters(&self) -> Counters {
        self.state().sched.take_counters()
    }

    /// Kernels that were launched so far, whether they have run or not.
    pub fn launched(&self) -> u64 {
        self.state().launched
    }

    /// Kernels that were launched since the last call, if launches are [selected](Self::select_launches), and whether the launch was: each
    /// pair is told once.
    pub fn take_new_kernels(&self) -> Vec<(String, bool)> {
        std::mem::take(&mut self.state().new_kernels)
    }

    /// Launches, copies, fills and functions that are queued and have not run.
    pub fn queued(&self) -> u64 {
        self.state().sched.queued()
    }

    /// Names allocations after the arguments of the first kernel that is given them, from now on.
    pub fn label_by_arguments(&self) {
        self.state().label_by_arguments = true;
    }

    /// Has the host waited for an operation? That it has run is not enough.
    pub fn host_has_waited(&self, ticket: Ticket) -> bool {
        self.state().sched.host_has_waited(ticket)
    }

    /// Adds a report about the host's own code.
    pub fn add_report(&self, report: Report) {
        self.state().reports.push(report);
    }

    /// Lets the `n`-th allocation from now on (1 is the next) fail for want of memory, once.
    pub fn fail_allocation(&self, n: u64) {
        self.state().failing_allocation = Some(n);
    }

    /// Drops all allocations, streams, events, modules, reports and faults.
    pub fn reset(&self) {
        let mut state = self.state();
        self.memory.clear();
        *state = State::new(&self.options);
    }

    pub(crate) fn ticket(&self, stream: StreamId) -> Result<Ticket, Code> {
        Ok(self.state().sched.ticket(stream)?)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `hipMalloc` and its relatives.
    pub(crate) fn allocate(&self, size: u64, kind: AllocationKind, site: Option<Site>) -> Result<u64, Code> {
        if self.state().allocation_fails() {
            return Err(Code::OUT_OF_MEMORY);
        }
        self.memory.allocate(size, kind, site).map_err(|error| match error {
            MemoryError::OutOfMemory { .. } => Code::OUT_OF_MEMORY,
            _ => Code::INVALID_VALUE,
        })
    }

    /// `hipFree` and `hipHostFree`: they wait for everything first.
    pub(crate) fn free(&self, address: u64, pinned: bool, call: HostCall) -> Result<(), Code> {
        let mut state = self.state();
        let settled = state.synchronise(&self.memory);
        if settled.is_err() && state.refusal().is_some() {
            return settled;
        }
        let found = self.memory.allocation_at(address);
        let other = |kind: AllocationKind| match kind {
            AllocationKind::Registered | AllocationKind::Mapped => true,
            kind => (kind == AllocationKind::Pinned) != pinned,
        };
        if found.is_some_and(|found| other(found.kind)) {
            return Err(Code::INVALID_VALUE);
        }
        self.memory.free(address, call.site.clone()).map_err(|error| {
            state.reports.push(free_report(address, error).call(call));
            Code::INVALID_VALUE
        })?;
        settled
    }

    /// The allocation, live or freed, that holds `address`.
    pub fn allocation_at(&self, address: u64) -> Option<AllocationInfo> {
        self.memory.allocation_at(address)
    }
}
