//! Launches that failed, as values that another device can run again.

use std::sync::Arc;

use hip_api::Code;

use super::SoftDevice;
use crate::memory::{AccessFault, AllocationKind, RestoreError, Snapshot};
use crate::report::{HostCall, Report};
use crate::sched::{Dispatch, FailedLaunch, Given, RecordLaunches, Shape, StreamId, explicit_size};

/// A launch with everything that it needs, and what it said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchRecord {
    /// The code object.
    pub image: Arc<[u8]>,
    /// Where it was loaded.
    pub image_base: u64,
    /// The kernel's symbol.
    pub kernel: String,
    /// Grid, block and LDS.
    pub shape: Shape,
    /// The arguments.
    pub given: Given,
    /// What the launch could reach, as it was before the launch if all launches were recorded.
    pub memory: Vec<Snapshot>,
    /// The call that launched it.
    pub call: HostCall,
}

/// Why a launch cannot be run again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// Its memory cannot be put back.
    #[error(transparent)]
    Memory(#[from] RestoreError),
    /// A piece of its image cannot be.
    #[error("the image's content: {0}")]
    Image(#[from] AccessFault),
    /// Its code object or its kernel is refused.
    #[error("the code object is refused: {}", .0.name().to_string_lossy())]
    Refused(Code),
}

impl SoftDevice {
    /// Changes what is kept of launches that fail.
    pub fn record_launches(&self, record: RecordLaunches) {
        self.state().sched.record_launches(record);
    }

    /// The launches that failed since the last call, with their reports.
    pub fn take_failed_launches(&self) -> Vec<(Report, LaunchRecord)> {
        let mut state = self.state();
        let ran = state.sched.take_failed();
        let files: Vec<_> =
            ran.iter().map(|(_, failed)| state.modules.file(base(&failed.dispatch))).collect();
        let ran = ran.into_iter().zip(files).filter_map(|((report, failed), file)| {
            let FailedLaunch { dispatch, memory } = failed;
            let explicit = dispatch.kernel.metadata().map_or(0, explicit_size);
            let record = LaunchRecord {
                image: file?,
                image_base: base(&dispatch),
                kernel: dispatch.kernel.name().to_owned(),
                shape: dispatch.shape(),
                given: Given::Packed(dispatch.kernarg.get(..explicit)?.to_vec()),
                memory,
                call: HostCall::new("hipLaunchKernel", dispatch.site),
            };
            Some((report, record))
        });
        let ran: Vec<_> = ran.collect();
        ran.into_iter().chain(std::mem::take(&mut state.refused)).collect()
    }

    /// Puts the memory of a launch back and runs it, on a device on which nothing has happened. What is found is in [`reports`](Self::reports).
    pub fn replay(&self, record: &LaunchRecord) -> Result<(), ReplayError> {
        let module = self.load_module_at(&record.image, record.image_base, &record.call)?;
        for snapshot in &record.memory {
            if snapshot.info.base == record.image_base && snapshot.info.kind == AllocationKind::Image {
                for piece in &snapshot.pieces {
                    self.memory.write(record.image_base.saturating_add(piece.offset), &piece.bytes)?;
                }
            } else {
                self.memory.restore(snapshot)?;
            }
        }
        let function = self.function(module, &record.kernel).and_then(|function| self.kernel(function));
        let function = function.map_err(ReplayError::Refused)?;
        // A refusal or a fault is a report.
        if self.launch(function, record.shape, &record.given, StreamId::NULL, record.call.clone()).is_ok() {
            let _ = self.synchronise();
        }
        Ok(())
    }
}

fn base(dispatch: &Dispatch) -> u64 {
    dispatch.kernel.image_base().unwrap_or(0)
}
