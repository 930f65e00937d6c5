//! Checking copies and fills when they are asked for.

use hip_api::Code;

use super::SoftDevice;
use crate::memory::AccessKind;
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
        // Host memory that is freed, or registered no longer, may be anything of the program's by now.
        let found = self.memory.allocation_at(address);
        found.is_some_and(|found| !(found.is_freed && found.kind.is_host()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Options;
    use crate::memory::AllocationKind;

    #[test]
    fn host_memory_that_was_freed_is_the_program_s_own_again() {
        let device = SoftDevice::new(Options::default());
        for (kind, still) in [(AllocationKind::Pinned, false), (AllocationKind::Device, true)] {
            let address = device.memory.allocate(64, kind, None).unwrap();
            assert!(device.is_device_address(address));
            device.memory.free(address, None).unwrap();
            assert_eq!(device.is_device_address(address), still, "{kind:?}");
        }
    }
}
