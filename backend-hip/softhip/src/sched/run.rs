//! Running one operation.

use super::dispatch::{Dispatch, Faulted, Limits, Ran};
use super::failed::{FailedLaunch, RecordLaunches, add_nearest, reachable};
use super::work::{CopyShape, End, POISON, Work};
use crate::memory::{AccessFault, AllocationKind, Checks, Footprint, Memory, MemoryError, Ranges};
use crate::report::{Problem, Report, Segment};

/// What an operation did.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) footprint: Footprint,
    pub(super) ran: Option<Ran>,
}

/// Why an operation did not end well.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) fault: Box<Faulted>,
    /// The launch, if it was one and failures are recorded.
    pub(super) launch: Option<Box<FailedLaunch>>,
}

impl From<Box<Faulted>> for Failed {
    fn from(fault: Box<Faulted>) -> Self {
        Self { fault, launch: None }
    }
}

impl From<Box<Report>> for Failed {
    fn from(report: Box<Report>) -> Self {
        Self::from(Box::<Faulted>::from(report))
    }
}

/// How operations run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mode {
    pub(super) checks: Checks,
    pub(super) limits: Limits,
    /// Whether the footprints of launches are wanted.
    pub(super) footprints: bool,
    /// What is kept of launches that fail.
    pub(super) record: RecordLaunches,
}

impl Work {
    /// Runs the operation.
    pub(super) fn run(self, memory: &Memory, mode: Mode) -> Result<Outcome, Failed> {
        match self {
            Self::Copy { mut to, from, shape } => {
                let footprint = shape.footprint(&to, &from);
                shape.run(memory, &mut to, &from, mode.checks.uninitialised).map_err(copy_fault)?;
                Ok(Outcome { footprint, ran: None })
            }
            Self::Fill { to, pattern, count } => {
                memory.fill(to, &pattern, count).map_err(copy_fault)?;
                let writes = Ranges::one(to, pattern.len() as u64 * count);
                Ok(Outcome { footprint: Footprint { writes, ..Footprint::default() }, ran: None })
            }
            Self::Launch(dispatch) => launch(dispatch, memory, mode),
            Self::Host(function) => {
                function();
                Ok(Outcome::default())
            }
            Self::Free { address, site } => {
                let size = memory.allocation_at(address).map_or(0, |allocation| allocation.size);
                memory.free(address, site).map_err(|error| Box::new(free_report(address, error)))?;
                let writes = Ranges::one(address, size);
                Ok(Outcome { footprint: Footprint { writes, ..Footprint::default() }, ran: None })
            }
            Self::Marker => Ok(Outcome::default()),
        }
    }

    /// Marks what the host must not look at before the operation has run.
    ///
    /// A destination that cannot be written stays as it is: the copy itself will say what is wrong with it.
    pub(super) fn poison(&mut self, memory: &Memory) {
        let Self::Copy { to, from: End::Device(_), shape } = self else { return };
        let row = vec![POISON; shape.width];
        for (at, _) in shape.rows() {
            match to {
                End::Host(host) => host.write(at, &row),
                End::Device(address) => {
                    let address = *address + at as u64;
                    let kind = memory.allocation_at(address).map(|allocation| allocation.kind);
                    if !kind.is_some_and(AllocationKind::is_host) || memory.write(address, &row).is_err() {
                        return;
                    }
                }
            }
        }
    }
}

/// A refused free as a report.
pub(crate) fn free_report(address: u64, error: MemoryError) -> Report {
    Report::new(match error {
        MemoryError::DoubleFree { allocation, .. } => Problem::DoubleFree { address, allocation },
        MemoryError::NotAnAllocation { nearest, .. } => Problem::InvalidFree { address, nearest },
        MemoryError::Empty | MemoryError::Taken { .. } | MemoryError::OutOfMemory { .. } => {
            Problem::InvalidFree { address, nearest: None }
        }
    })
}

pub(super) fn copy_fault(fault: AccessFault) -> Box<Report> {
    Box::new(Report::new(Problem::Access { segment: Segment::Copy, fault }))
}

impl CopyShape {
    fn run(self, memory: &Memory, to: &mut End, from: &End, initialised: bool) -> Result<(), AccessFault> {
        let mut row = vec![0; self.width];
        for (to_at, from_at) in self.rows() {
            match (&mut *to, from) {
                (End::Device(to), End::Device(from)) => {
                    memory.copy(*to + to_at as u64, *from + from_at as u64, self.width as u64)?;
                }
                (End::Device(to), End::Host(from)) => {
                    from.read(from_at, &mut row);
                    memory.write(*to + to_at as u64, &row)?;
                }
                (End::Host(to), End::Device(from)) => {
                    memory.read(*from + from_at as u64, &mut row, initialised)?;
                    to.write(to_at, &row);
                }
                (End::Host(to), End::Host(from)) => {
                    from.read(from_at, &mut row);
                    to.write(to_at, &row);
                }
            }
        }
        Ok(())
    }

    fn footprint(self, to: &End, from: &End) -> Footprint {
        let mut footprint = Footprint::default();
        for (to_at, from_at) in self.rows() {
            for (end, at, ranges) in
                [(to, to_at, &mut footprint.writes), (from, from_at, &mut footprint.reads)]
            {
                if let End::Device(address) = end {
                    let start = address + at as u64;
                    ranges.push(start, start + self.width as u64);
                }
            }
        }
        footprint
    }
}

fn launch(dispatch: Box<Dispatch>, memory: &Memory, mode: Mode) -> Result<Outcome, Failed> {
    if mode.record == RecordLaunches::Never {
        return Ok(execute(dispatch, memory, mode)?);
    }
    let kept = (*dispatch).clone();
    let before = (mode.record == RecordLaunches::Before).then(|| reachable(memory, &kept.kernarg));
    execute(dispatch, memory, mode).map_err(|fault| {
        let mut contents = before.unwrap_or_else(|| reachable(memory, &kept.kernarg));
        fault.reports.iter().take(1).for_each(|first| add_nearest(memory, first, &mut contents));
        Failed { fault, launch: Some(Box::new(FailedLaunch { dispatch: kept, memory: contents })) }
    })
}

fn execute(mut dispatch: Box<Dispatch>, memory: &Memory, mode: Mode) -> Result<Outcome, Box<Faulted>> {
    let site = dispatch.site.clone();
    let mut addresses = Vec::new();
    let provided = dispatch.provide(memory, &mut addresses);
    if provided.is_err() {
        release(&addresses, memory)?;
    }
    provided?;
    let arguments = stage(&dispatch.kernarg, &dispatch, memory)?;
    dispatch.kernarg_address = arguments.unwrap_or(0);
    let packet =
        dispatch.kernel.packet(&dispatch).map_or(Ok(None), |packet| stage(&packet, &dispatch, memory))?;
    dispatch.packet_address = packet.unwrap_or(0);
    let bounds = Checks { go_on: mode.checks.go_on, ..Checks::BOUNDS };
    let checks = if dispatch.bounds_only { bounds } else { mode.checks };
    let view = memory.launch(dispatch.groups(), checks);
    let view = if mode.footprints { view } else { view.without_footprint() };
    let result = dispatch.kernel.run(&dispatch, &view, mode.limits);
    let footprint = if mode.footprints { view.footprint() } else { Footprint::default() };
    drop(view);
    // Most launches have nothing but arguments, which need no list.
    release(&addresses, memory)?;
    release(arguments.as_slice(), memory)?;
    release(packet.as_slice(), memory)?;
    let launched = |reports: &mut Vec<Report>| {
        reports.iter_mut().for_each(|report| report.launched.clone_from(&site));
    };
    match result {
        Ok(mut ran) => {
            launched(&mut ran.notes);
            Ok(Outcome { footprint, ran: Some(ran) })
        }
        Err(mut fault) => {
            launched(&mut fault.reports);
            launched(&mut fault.ran.notes);
            Err(fault)
        }
    }
}

fn release(addresses: &[u64], memory: &Memory) -> Result<(), Box<Report>> {
    addresses.iter().try_for_each(|&address| {
        memory.free(address, None).map_err(|error| Box::new(free_report(address, error)))
    })
}

/// Puts what the runtime gives to a launch into device memory, which kernels only read; `None` if it is nothing.
pub(super) fn stage(bytes: &[u8], dispatch: &Dispatch, memory: &Memory) -> Result<Option<u64>, Box<Report>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let size = bytes.len() as u64;
    let site = dispatch.site.clone();
    let staged = memory.allocate_with(size, AllocationKind::Kernarg, site, bytes);
    let refuse = |error| {
        let reason = format!("no room for {size} bytes of arguments: {error}");
        Box::new(Report::new(Problem::CodeObject { reason }))
    };
    staged.map(Some).map_err(refuse)
}
