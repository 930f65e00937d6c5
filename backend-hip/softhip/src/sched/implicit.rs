//! What the runtime lays out in device memory for a launch, because the kernel asks for it.

use std::sync::Arc;

use code_object::{ArgumentKind, Hidden, Kernel, UserSgpr};

use super::dispatch::Dispatch;
use super::run::{copy_fault, stage};
use crate::hostcall::{Layout, buffered};
use crate::memory::{AllocationKind, Memory, PRIVATE_APERTURE, SHARED_APERTURE, WAVE};
use crate::report::{Problem, Report};

/// Dwords of a queue.
const QUEUE: usize = 64;

impl Dispatch {
    /// Lays out what the kernel's hidden arguments and registers point to, and passes it. All that is allocated is in
    /// `addresses`, even after an error.
    pub(super) fn provide(&mut self, memory: &Memory, addresses: &mut Vec<u64>) -> Result<(), Box<Report>> {
        let shared = Arc::clone(&self.kernel);
        let Some(kernel) = shared.metadata() else { return Ok(()) };
        let asks = kernel.arguments.iter().any(|argument| argument.kind.is_hidden());
        if !asks && !kernel.descriptor.has_user_sgpr(UserSgpr::QueuePtr) {
            return Ok(());
        }
        if asks_for(kernel, &Hidden::QueuePtr) || kernel.descriptor.has_user_sgpr(UserSgpr::QueuePtr) {
            self.queue_address = stage(&queue(), self, memory)?.unwrap_or(0);
            addresses.push(self.queue_address);
            self.pass(kernel, &Hidden::QueuePtr, self.queue_address);
        }
        if asks_for(kernel, &Hidden::HostcallBuffer) {
            let resident = if self.cooperative { u64::from(self.groups()) } else { 1 };
            let threads: u32 = self.block.iter().product();
            let layout = Layout::new(resident * u64::from(threads).div_ceil(WAVE as u64));
            let address = self.room(layout.size(), "requests to the host", memory)?;
            addresses.push(address);
            memory.fill(address, &[0], layout.size()).map_err(copy_fault)?;
            memory.write(address, &layout.image(address)).map_err(copy_fault)?;
            self.hostcall_address = address;
            self.pass(kernel, &Hidden::HostcallBuffer, address);
        }
        if asks_for(kernel, &Hidden::PrintfBuffer) {
            let address = self.room(buffered::SIZE.into(), "messages to be printed", memory)?;
            addresses.push(address);
            memory.write(address, &buffered::head()).map_err(copy_fault)?;
            self.printf_address = address;
            self.pass(kernel, &Hidden::PrintfBuffer, address);
        }
        // Without it, a kernel knows that its workgroups cannot meet.
        if self.cooperative && asks_for(kernel, &Hidden::MultigridSyncArg) {
            // No other grids; two counters; the number of workgroups.
            let words = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, self.groups(), 0];
            let address = self.room(size_of_val(&words) as u64, "the meeting of workgroups", memory)?;
            addresses.push(address);
            memory.write(address, &words.map(u32::to_le_bytes).concat()).map_err(copy_fault)?;
            self.pass(kernel, &Hidden::MultigridSyncArg, address);
        }
        self.pass(kernel, &Hidden::PrivateBase, PRIVATE_APERTURE.into());
        self.pass(kernel, &Hidden::SharedBase, SHARED_APERTURE.into());
        Ok(())
    }

    /// Memory that the kernel may write.
    fn room(&self, size: u64, label: &str, memory: &Memory) -> Result<u64, Box<Report>> {
        let address = memory.allocate(size, AllocationKind::Device, self.site.clone()).map_err(|error| {
            let reason = format!("no room for {label}: {error}");
            Box::new(Report::new(Problem::CodeObject { reason }))
        })?;
        memory.label(address, label);
        Ok(address)
    }

    fn pass(&mut self, kernel: &Kernel, which: &Hidden, value: u64) {
        for argument in kernel.arguments.iter().filter(|argument| is(&argument.kind, which)) {
            let (at, size) = (argument.offset as usize, argument.size as usize);
            for (to, from) in self.kernarg[at..at + size].iter_mut().zip(value.to_le_bytes()) {
                *to = from;
            }
        }
    }
}

fn is(kind: &ArgumentKind, which: &Hidden) -> bool {
    matches!(kind, ArgumentKind::Hidden(hidden) if hidden == which)
}

fn asks_for(kernel: &Kernel, which: &Hidden) -> bool {
    kernel.arguments.iter().any(|argument| is(&argument.kind, which))
}

/// A queue of several producers that takes kernels, as HSA lays it out. It holds no packets: launches do not come from it.
fn queue() -> Vec<u8> {
    let mut words = [0; QUEUE];
    words[1] = 1;
    words[16] = SHARED_APERTURE;
    words[17] = PRIVATE_APERTURE;
    words.map(u32::to_le_bytes).concat()
}
