//! A scheduler with kernels written in Rust.
#![allow(clippy::unwrap_used, reason = "a test's equipment fails the test")]

use std::sync::Arc;

use softhip::memory::{
    Addresses, AllocationKind, Checks, LaneFault, LaunchMemory, Memory, Site, WAVE, WaveAccess,
};
use softhip::report::{CodePlace, HostCall, Problem, Report, Segment, ThreadPlace};
use softhip::sched::{
    CopyShape, Counters, Dispatch, End, Execute, Faulted, Limits, Policy, Ran, Scheduler, StreamId, Work,
};

/// A kernel of one wave.
#[derive(Debug)]
pub enum Kernel {
    /// Doubles 64 dwords.
    Double { buffer: u64 },
}

impl Execute for Kernel {
    fn name(&self) -> &'static str {
        "double"
    }

    fn run(&self, dispatch: &Dispatch, memory: &LaunchMemory, _: Limits) -> Result<Ran, Box<Faulted>> {
        let Self::Double { buffer } = self;
        let addresses: [u64; WAVE] = std::array::from_fn(|lane| buffer + 4 * lane as u64);
        let access = WaveAccess {
            exec: u64::MAX,
            addresses: Addresses::of(u64::MAX, &addresses),
            bytes: 4,
            align: 1,
            pc: 0,
            atomic: false,
        };
        let mut group = memory.group(0);
        let mut values = [[0; WAVE]];
        let fail = |fault: Box<LaneFault>| {
            let place = ThreadPlace::of_lane([0; 3], dispatch.block, 0, fault.lane);
            let code = CodePlace {
                kernel: "double".into(),
                offset: 0,
                instruction: "global_load_dword".into(),
                source: None,
            };
            Box::<Faulted>::from(Box::new(
                Report::new(Problem::Access { segment: Segment::Global, fault: fault.fault })
                    .at(code)
                    .by(place),
            ))
        };
        memory.load(&mut group, &access, &mut values).map_err(fail)?;
        values[0].iter_mut().for_each(|value| *value *= 2);
        memory.store(&mut group, &access, &values).map_err(fail)?;
        Ok(Counters { launches: 1, ..Counters::default() }.into())
    }
}

pub fn call(function: &'static str) -> HostCall {
    HostCall::new(function, Some(Site::new("host.rs", 1)))
}

/// A memory and its scheduler.
pub struct Rig {
    pub memory: Memory,
    pub sched: Scheduler,
}

impl Rig {
    pub fn new(policy: Policy) -> Self {
        let limits = Limits { threads: 1, budget: 1000 };
        Self { memory: Memory::new(3, 1 << 30), sched: Scheduler::new(policy, Checks::ALL, limits) }
    }

    pub fn device(&self, size: u64) -> u64 {
        self.memory.allocate(size, AllocationKind::Device, None).unwrap()
    }

    pub fn push(&mut self, stream: StreamId, work: Work) {
        let function = match work {
            Work::Launch(_) => "hipModuleLaunchKernel",
            Work::Copy { .. } => "hipMemcpyAsync",
            Work::Fill { .. } => "hipMemsetAsync",
            _ => "hipLaunchHostFunc",
        };
        self.sched.enqueue(&self.memory, stream, call(function), work).unwrap();
    }

    pub fn fill(&mut self, stream: StreamId, to: u64, value: u8, count: u64) {
        self.push(stream, Work::Fill { to, pattern: vec![value], count });
    }

    pub fn copy(&mut self, stream: StreamId, to: End, from: End, len: usize) {
        self.push(stream, Work::Copy { to, from, shape: CopyShape::flat(len) });
    }

    pub fn launch(&mut self, stream: StreamId, kernel: Kernel) {
        let dispatch = Dispatch {
            kernel: Arc::new(kernel),
            grid: [1; 3],
            block: [64, 1, 1],
            dynamic_lds: 0,
            kernarg: vec![0; 8],
            kernarg_address: 0,
            packet_address: 0,
            queue_address: 0,
            hostcall_address: 0,
            printf_address: 0,
            cooperative: false,
            bounds_only: false,
            site: Some(Site::new("launch.rs", 9)),
        };
        self.push(stream, Work::Launch(Box::new(dispatch)));
    }
}
