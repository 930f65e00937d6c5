//! Launching kernels.

use std::sync::Arc;

use code_object::{ArgumentKind, Kernel};
use hip_api::Code;

use super::{LaunchRecord, SoftDevice};
use crate::exec::LoadedKernel;
use crate::report::{HostCall, LaunchProblem, Problem, Report};
use crate::sched::{
    Dispatch, Execute as _, Given, RecordLaunches, Shape, StreamId, Work, assemble, check_pointers, reachable,
};

impl SoftDevice {
    /// Checks a launch and queues it.
    pub(crate) fn launch(
        &self,
        function: Arc<LoadedKernel>,
        shape: Shape,
        given: &Given,
        stream: StreamId,
        call: HostCall,
    ) -> Result<(), Code> {
        let kernel = function.kernel();
        let arguments = shape.check(kernel).and_then(|()| {
            let segment = assemble(kernel, shape, given)?;
            check_pointers(kernel, &segment, &self.memory)?;
            Ok(segment)
        });
        let kernarg = arguments.map_err(|problem| {
            let code = refusal_code(&problem);
            let problem = Problem::Launch { kernel: kernel.name.clone(), problem };
            let report = Report::new(problem).call(call.clone());
            self.record_refused(&function, shape, given, &report, &call);
            self.state().reports.push(report);
            code
        })?;
        let (labels, bounds_only) = {
            let mut state = self.state();
            (state.label_by_arguments, !state.selects(&kernel.name))
        };
        if labels {
            self.label_arguments(kernel, &kernarg);
        }
        let dispatch = Dispatch {
            kernel: function,
            grid: shape.grid,
            block: shape.block,
            dynamic_lds: shape.dynamic_lds,
            kernarg,
            kernarg_address: 0,
            packet_address: 0,
            queue_address: 0,
            hostcall_address: 0,
            printf_address: 0,
            cooperative: shape.cooperative,
            bounds_only,
            site: call.site.clone(),
        };
        self.enqueue(stream, call, Work::Launch(Box::new(dispatch))).map_err(|code| match code {
            // Launches, unlike other calls, answer this for a stream that is gone.
            Code::CONTEXT_IS_DESTROYED => Code::INVALID_VALUE,
            other => other,
        })
    }

    /// Keeps a launch that was refused, if failures are recorded.
    fn record_refused(
        &self,
        kernel: &LoadedKernel,
        shape: Shape,
        given: &Given,
        report: &Report,
        call: &HostCall,
    ) {
        let mut state = self.state();
        let image_base = kernel.image_base().unwrap_or(0);
        let Some(image) = state.modules.file(image_base) else { return };
        if state.sched.recorded_launches() == RecordLaunches::Never {
            return;
        }
        let arguments = match given {
            Given::Packed(bytes) => bytes.clone(),
            Given::Each(values) => values
                .iter()
                .flatten()
                .filter(|value| value.len().is_multiple_of(8))
                .flatten()
                .copied()
                .collect(),
        };
        let record = LaunchRecord {
            image,
            image_base,
            kernel: kernel.name().to_owned(),
            shape,
            given: given.clone(),
            memory: reachable(&self.memory, &arguments),
            call: call.clone(),
        };
        state.refused.push((report.clone(), record));
    }

    /// Names what pointer arguments point to, after the arguments.
    fn label_arguments(&self, kernel: &Kernel, kernarg: &[u8]) {
        for argument in kernel.explicit_arguments() {
            let start = argument.offset as usize;
            let value = kernarg.get(start..start + 8).and_then(|bytes| bytes.try_into().ok());
            if let (ArgumentKind::GlobalBuffer, Some(name), Some(value)) =
                (&argument.kind, &argument.name, value)
            {
                self.memory.suggest_label(u64::from_le_bytes(value), name);
            }
        }
    }
}

fn refusal_code(problem: &LaunchProblem) -> Code {
    match problem {
        LaunchProblem::Empty { .. }
        | LaunchProblem::GridTooLarge { .. }
        | LaunchProblem::BlockTooLarge { .. }
        | LaunchProblem::BlockShape { .. } => Code::INVALID_CONFIGURATION,
        LaunchProblem::TooManyGroups { .. } => Code::COOPERATIVE_LAUNCH_TOO_LARGE,
        _ => Code::INVALID_VALUE,
    }
}
