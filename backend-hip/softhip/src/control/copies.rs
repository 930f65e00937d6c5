//! Checking copies and fills when they are asked for.

use hip_api::Code;

use super::SoftDevice;
use crate::memory::{AccessKind, AllocationKind};
use crate::report::{HostCall, Problem, Report, Segment};

impl SoftDevice {
    /// Refuses device bytes that are not all within one live allocation. The report names the call.
    pub(crate) fn check_range(
        &self,
        access: AccessKind,
        address: u64,
        len: u64,
        call: &HostCall,
    ) -> Result<(), Code> {
        if len == 0 {
            return Ok(());
        }
        self.memory.check(access, address, len).map_err(|fault| {
            let problem = Problem::Access { segment: Segment::Copy, fault };
            self.state().reports.push(Report::new(problem).call(call.clone()));
            Code::INVALID_VALUE
        })
    }

    /// Is `address` pinned host memory?
    pub(crate) fn is_pinned(&self, address: u64) -> bool {
        let found = self.memory.allocation_at(address);
        found.is_some_and(|found| found.kind.is_host() && !found.is_freed)
    }

    /// Is `address` one that kernels can reach?
    pub(crate) fn is_device_address(&self, address: u64) -> bool {
        // Memory that is registered no longer is the host's alone.
        let found = self.memory.allocation_at(address);
        found.is_some_and(|found| !(found.is_freed && found.kind == AllocationKind::Registered))
    }
}
