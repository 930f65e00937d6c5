//! A loaded kernel as the scheduler runs it.

use std::sync::{Arc, Mutex, PoisonError};

use code_object::{CodeObject, Kernel, UserSgpr};

use super::go_on::Finding;
use super::group::{Failure, Pace, Sizes};
use super::groups::{Groups, coordinates};
use super::program::{Program, Registers};
use super::spare::Spares;
use super::start::Start;
use crate::hostcall::{Host, buffered};
use crate::isa::Inst;
use crate::memory::{LaunchMemory, Site};
use crate::report::{CodePlace, Problem, Report, ThreadPlace};
use crate::sched::{Dispatch, Execute, Faulted, Limits, Ran};
use crate::trace;

/// Bytes of code that firmware skips when it has preloaded the arguments.
const PRELOADED: u64 = 256;

/// A kernel of a code object that has been loaded into device memory.
#[derive(Debug)]
pub struct LoadedKernel {
    object: Arc<CodeObject>,
    kernel: Kernel,
    program: Program,
    spares: Spares,
    /// Device address of the image's first byte.
    base: u64,
}

impl LoadedKernel {
    /// The kernel `name` of `object`, whose image is loaded at `base`; `None` if there is no such kernel.
    pub fn new(object: Arc<CodeObject>, name: &str, base: u64) -> Option<Self> {
        let kernel = object.kernel(name)?.clone();
        let image = object.image();
        let segment = image.segments().iter().find(|segment| segment.range().contains(&kernel.entry))?;
        let (words, _) = segment.bytes.as_chunks::<4>();
        let text: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let descriptor = kernel.descriptor;
        let total = descriptor.allocated_vgprs().min(512);
        let vgprs = descriptor.accum_offset().min(total);
        let registers = Registers { vgprs: vgprs as u16, agprs: (total - vgprs) as u16 };
        let entry = base.wrapping_add(kernel.entry);
        let mut program = Program::new(&text, base.wrapping_add(segment.address), entry, registers);
        program.look_for_missing_waits(&[entry, entry + PRELOADED]);
        program.trace(|uops| {
            let code = uops.iter().map(|uop| Inst { pc: uop.inst.pc.wrapping_sub(base), ..uop.inst });
            trace::of(&object, name, code)
        });
        Some(Self { object, kernel, program, spares: Spares::default(), base })
    }

    /// What the code object says about the kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn report(&self, dispatch: &Dispatch, number: u32, failure: Failure) -> Report {
        let (_, other) = failure.sides();
        let mut problem = failure.trap.problem;
        if let Some(first) = problem.first_mut()
            && let Some(inst) = self.program.inst_at(first.offset)
        {
            *first = self.place(&inst);
        }
        let mut report = Report::new(problem);
        if let Some(inst) = failure.inst {
            report = report.at(self.place(&inst));
        }
        let other = other.and_then(|offset| self.program.at_offset(u32::try_from(offset).ok()?));
        if let Some(other) = other {
            report = report.note(format!("the other side is {}", self.place(&other.inst)));
        }
        let block = coordinates(dispatch.grid, number);
        report = report.by(match failure.trap.lane {
            Some(lane) => ThreadPlace::of_lane(block, dispatch.block, failure.wave, lane),
            None => ThreadPlace::of_wave(block, dispatch.block, failure.wave),
        });
        failure.trap.notes.into_iter().fold(report, Report::note)
    }

    fn report_of(&self, dispatch: &Dispatch, finding: Finding) -> Report {
        let Finding { group, failure, times } = finding;
        let report = self.report(dispatch, group, failure);
        match times {
            0 | 1 => report,
            2 => report.note("this instruction did so once more"),
            times => report.note(format!("this instruction did so {} more times", times - 1)),
        }
    }

    fn place(&self, inst: &Inst) -> CodePlace {
        let address = inst.pc.wrapping_sub(self.base);
        let source = self.object.location(address).map(|at| Site::new(at.file.to_owned(), at.line));
        CodePlace {
            kernel: self.kernel.name.clone(),
            offset: address.wrapping_sub(self.kernel.entry),
            instruction: inst.to_string(),
            source,
        }
    }

    fn refuse(&self, reason: &str) -> Box<Report> {
        Box::new(Report::new(Problem::CodeObject { reason: format!("{}: {reason}", self.kernel.name) }))
    }
}

impl Execute for LoadedKernel {
    fn name(&self) -> &str {
        &self.kernel.name
    }

    fn metadata(&self) -> Option<&Kernel> {
        Some(&self.kernel)
    }

    fn image_base(&self) -> Option<u64> {
        Some(self.base)
    }

    fn packet(&self, dispatch: &Dispatch) -> Option<[u8; 64]> {
        let descriptor = self.kernel.descriptor;
        descriptor
            .has_user_sgpr(UserSgpr::DispatchPtr)
            .then(|| dispatch.packet(descriptor.lds_size, descriptor.scratch_size))
    }

    /// What is reported does not depend on the number of threads: it is what one thread that runs the workgroups in
    /// their order reports. Every workgroup below a failed one is run to its end, and a launch with a race between
    /// workgroups is undone and run again on one thread. Kernels whose workgroups can see each other through atomics
    /// run on one thread anyway.
    fn run(&self, dispatch: &Dispatch, memory: &LaunchMemory, limits: Limits) -> Result<Ran, Box<Faulted>> {
        let descriptor = self.kernel.descriptor;
        let preloads = descriptor.kernarg_preload & 127 != 0;
        // Firmware that preloads arguments skips the code that loads them otherwise.
        let entry = self.base.wrapping_add(self.kernel.entry) + if preloads { PRELOADED } else { 0 };
        let Some(entry) = self.program.index_of(entry) else {
            return Err(self.refuse("the entry is no instruction").into());
        };
        let start = Start::new(descriptor, dispatch, entry, memory)
            .map_err(|error| self.refuse(&error.to_string()))?;
        let sizes = Sizes {
            lds: u64::from(descriptor.lds_size) + u64::from(dispatch.dynamic_lds),
            scratch: descriptor.scratch_size,
        };
        let host = (dispatch.hostcall_address != 0).then(|| Mutex::new(Host::new(dispatch.hostcall_address)));
        let groups = Groups {
            program: &self.program,
            start: &start,
            sizes,
            dispatch,
            spares: &self.spares,
            pace: Pace::new(limits.budget, dispatch.cooperative),
            host: host.as_ref(),
        };
        let threads = if self.program.has_global_atomics() { 1 } else { limits.threads };
        let threads = threads.clamp(1, dispatch.groups().max(1) as usize);
        let outcome = if dispatch.cooperative {
            groups.run_together(memory)
        } else if threads == 1 {
            groups.run(memory, 1)
        } else {
            let attempt = memory.revocable();
            let outcome = groups.run(&attempt, threads);
            if outcome.raced { groups.run(&attempt.undo(), 1) } else { outcome }
        };
        let mut printed = host
            .map(|host| host.into_inner().unwrap_or_else(PoisonError::into_inner).printed())
            .unwrap_or_default();
        let mut messages = Ok(());
        if dispatch.printf_address != 0 {
            let (text, whole) =
                buffered::printed(memory, dispatch.printf_address, |hash| self.object.printf_format(hash));
            printed.extend(text);
            messages = whole;
        }
        if outcome.notes.is_empty() && outcome.findings.is_empty() && messages.is_ok() {
            return Ok(Ran { counters: outcome.counters, notes: Vec::new(), printed });
        }
        let note = |(group, failure)| self.report(dispatch, group, failure);
        let notes = outcome.notes.into_iter().map(note).collect();
        let ran = Ran { counters: outcome.counters, notes, printed };
        let unfinished = outcome.unfinished;
        let mut reports =
            outcome.findings.into_iter().map(|finding| self.report_of(dispatch, finding)).collect::<Vec<_>>();
        if let (Err(reason), true) = (messages, reports.is_empty()) {
            reports.push(Report::new(Problem::HostRequest { reason }));
        }
        let Some(first) = reports.first_mut() else { return Ok(ran) };
        if let Some(last) = ran.printed.last_line().filter(|_| unfinished) {
            first.notes.push(format!("the kernel's last words are: {last}"));
        }
        Err(Box::new(Faulted { reports, unfinished, ran }))
    }
}
