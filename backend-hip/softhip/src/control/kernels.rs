//! Running one kernel without HIP's calls: for tools that are given a code object and arguments.

use hip_api::Code;

use super::{CallSite, SoftDevice};
use crate::report::HostCall;
use crate::sched::{Given, Shape, StreamId};

impl SoftDevice {
    /// Loads a code object, launches its kernel `name` on the null stream and waits for it.
    ///
    /// Buffers come from [`memory`](Self::memory). What a check finds is in [`reports`](Self::reports), and the code
    /// is what a HIP program would have seen.
    pub fn run_kernel(&self, image: &[u8], name: &str, shape: Shape, given: &Given) -> Result<(), Code> {
        let call = || HostCall::new("run_kernel", CallSite::get());
        let module = self.load_module(image, call())?;
        let function = self.kernel(self.function(module, name)?)?;
        self.launch(function, shape, given, StreamId::NULL, call())?;
        self.synchronise()?;
        self.unload_module(module)
    }
}
