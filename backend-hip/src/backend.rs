//! [`HipBackend`]: the contract, on any runtime.

use std::fmt::Write;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use code_object::TargetId;
use d2h_audit::{Audit, AuditOptions};
use kernels::{
    Adoption, Backend, Breakpoint, Buffer, DeviceError, DeviceKind, HostMemory, Identity, Numerics, Op,
    OpForm, Site, Stem, Support, Valid,
};
use softhip::control::{Options as SoftOptions, SoftDevice};
use softhip::sched::Policy;

use crate::api::Api;
use crate::foreign::{Foreign, ForeignKernels};
use crate::memory::DeviceBuffer;
use crate::module::Modules;
use crate::objects::{Objects, Provided};
use crate::ops::{self, Queue};
use crate::planted::HostBug;
use crate::readback::HipReadback;
use crate::stream::{HipEvent, HipStream};
use crate::upload::Uploads;

/// How a backend runs.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Synchronise after every op, so that the first failing op is reported and not the next checked call.
    pub sync_per_op: bool,
    /// The log of copies to the host.
    pub audit: AuditOptions,
    /// Device code that stands in for the program's own, kernel by kernel.
    pub objects: Objects,
    /// The call of HIP, counted from 0, that fails instead of being made: for tests of what failures lead to.
    pub failing_call: Option<u64>,
    /// A bug of host code on the software device: for tests of what finds it.
    pub bug: Option<HostBug>,
}

/// Why the backend cannot be opened on a GPU.
#[derive(Debug, thiserror::Error)]
pub enum OpenGpuError {
    /// No GPU can be used.
    #[error(transparent)]
    Gpu(#[from] crate::gpu::NoGpu),
    /// The log of copies cannot be created.
    #[error("the log of copies to the host: {0}")]
    Log(#[from] io::Error),
}

/// Ops as HIP kernels. A clone is the same device.
#[derive(Clone, Debug)]
pub struct HipBackend {
    api: Arc<Api>,
    identity: Identity,
    /// The GPU that code objects must be for.
    target: TargetId,
    objects: Objects,
    modules: Arc<Modules>,
    foreign: Option<Arc<ForeignKernels>>,
    uploads: Arc<Mutex<Uploads>>,
    audit: Arc<Audit>,
    sync_per_op: bool,
}

impl HipBackend {
    /// The backend on a new software device. Fails if the log of copies cannot be created.
    pub fn software(device: SoftOptions, options: Options) -> io::Result<Self> {
        Self::on_software(Arc::new(SoftDevice::new(device)), options)
    }

    /// The backend on a given software device.
    pub fn on_software(device: Arc<SoftDevice>, options: Options) -> io::Result<Self> {
        let (name, schedule) = match device.options().policy {
            Policy::Eager => ("soft", "eager"),
            Policy::Deferred => ("soft-deferred", "deferred"),
            Policy::Random(_) => ("soft-random", "random"),
        };
        let device_name = format!(
            "softhip gfx942, {schedule} schedule (software device: checked emulation, not a run on silicon)"
        );
        let identity = Identity { name, device: device_name, kind: DeviceKind::Software };
        Self::new(Api::software(device), identity, TargetId::gfx942(), options, Objects::own())
    }

    /// The backend with `own` objects, and those of the options before them.
    fn new(
        api: Api,
        mut identity: Identity,
        target: TargetId,
        options: Options,
        own: Objects,
    ) -> io::Result<Self> {
        if let Some(bug) = options.bug {
            let _ = write!(identity.device, ", with a planted bug: {}", bug.fault());
        }
        let api = Arc::new(api.failing(options.failing_call).with_bug(options.bug));
        for (origin, stems) in options.objects.stand_ins() {
            let _ = write!(identity.device, "; code objects of {} from {origin}", stems.join(", "));
        }
        let objects = options.objects.over(own);
        Ok(HipBackend {
            identity,
            target,
            foreign: None,
            modules: Arc::new(Modules::new(&api, objects.clone())),
            objects,
            uploads: Arc::default(),
            audit: Arc::new(Audit::new(options.audit)?),
            sync_per_op: options.sync_per_op,
            api,
        })
    }

    /// The backend on a GPU: the first one, or one whose name or architecture contains `wanted`. For a GPU other than a gfx942
    /// the kernels are compiled when they are first used.
    pub fn gpu(wanted: Option<&str>, options: Options) -> Result<Self, OpenGpuError> {
        let api = Api::rocm().map_err(crate::gpu::NoGpu::from)?;
        let gpu = crate::gpu::pick(&api, wanted)?;
        let own = if code_object::GFX942.name() == Some(gpu.arch.as_str()) {
            Objects::own()
        } else {
            let arch = gpu.arch.clone();
            Objects::new(format!("compiled for {arch} by hiprtc"), move |stem| {
                crate::objects::source(stem)?;
                Some(crate::hiprtc::object(stem, &arch).map(Into::into).map_err(Into::into))
            })
        };
        let device = format!("{} ({})", gpu.name, gpu.arch);
        let target = gpu.arch.parse().unwrap_or_else(|_| TargetId::gfx942());
        Ok(Self::new(api, Identity { name: "hip", device, kind: DeviceKind::Gpu }, target, options, own)?)
    }

    /// The same device with `foreign` kernels in the place of ours, for the ops that their manifest has.
    #[must_use]
    pub fn with_foreign(mut self, foreign: Foreign) -> Self {
        let _ = write!(self.identity.device, "; {foreign}");
        self.foreign = Some(Arc::new(ForeignKernels::new(&self.api, foreign)));
        self
    }

    /// The foreign kernels, if there are any.
    pub fn foreign(&self) -> Option<&ForeignKernels> {
        self.foreign.as_deref()
    }

    /// The GPU that code objects must be for.
    pub const fn target(&self) -> &TargetId {
        &self.target
    }

    /// Which objects provide the kernels of an op.
    pub fn provided(&self, stem: Stem) -> Result<Vec<Provided>, Box<dyn std::error::Error + Send + Sync>> {
        match self.foreign().filter(|foreign| foreign.has(stem)) {
            Some(foreign) => Ok(foreign.provided(stem)),
            None => self.objects.provided(stem.name()),
        }
    }

    /// The device code that it runs.
    pub const fn objects(&self) -> &Objects {
        &self.objects
    }

    /// The software device, if it runs on one.
    pub fn software_device(&self) -> Option<&Arc<SoftDevice>> {
        self.api.software_device()
    }
}

impl HipBackend {
    /// Starts an op on our kernels, which take f32 and, but for `copy` and outputs, rows in one piece.
    #[track_caller]
    fn launch_own(&self, stream: &HipStream, op: Op<'_, DeviceBuffer>) -> Result<(), DeviceError> {
        let queue = Queue { modules: &self.modules, stream };
        let alloc = |bytes, label: &str| DeviceBuffer::new(&self.api, bytes, label);
        if op.stem() != Stem::Copy && op.has_transposed_inputs() {
            op.in_rows(alloc, |op| self.launch_own(stream, op))
        } else if op.has_short_floats() {
            op.widened(alloc, |op| ops::launch(queue, op))
        } else {
            ops::launch(queue, op)
        }
    }
}

impl Backend for HipBackend {
    type Buffer = DeviceBuffer;
    type Stream = HipStream;
    type Event = HipEvent;
    type Pending = HipReadback;

    fn identity(&self) -> Identity {
        self.identity.clone()
    }

    fn numerics(&self, op: &OpForm) -> Numerics {
        match self.foreign().and_then(|foreign| foreign.numerics(op)) {
            Some(declared) => declared,
            None => ops::numerics(op),
        }
    }

    fn breakpoints(&self, op: &OpForm) -> Vec<Breakpoint> {
        match self.foreign() {
            // Where foreign kernels change their way, nobody has said.
            Some(foreign) if foreign.has(op.stem) => Vec::new(),
            _ => ops::breakpoints(op),
        }
    }

    fn supports(&self, op: &OpForm) -> Support {
        match self.foreign().and_then(|foreign| foreign.supports(op)) {
            Some(support) => support,
            None => ops::supports(op),
        }
    }

    fn alloc(&self, bytes: usize, label: &str) -> Result<DeviceBuffer, DeviceError> {
        DeviceBuffer::new(&self.api, bytes, label)
    }

    fn adopt(&self, _: &HostMemory, _: &str) -> Result<Adoption<DeviceBuffer>, DeviceError> {
        Ok(Adoption::NeedsCopy)
    }

    fn stream(&self) -> Result<HipStream, DeviceError> {
        HipStream::new(&self.api)
    }

    fn record(&self, stream: &HipStream) -> Result<HipEvent, DeviceError> {
        HipEvent::record(&self.api, stream)
    }

    fn wait_event(&self, stream: &HipStream, event: &HipEvent) -> Result<(), DeviceError> {
        event.holds_back(stream)
    }

    fn synchronize(&self, stream: &HipStream) -> Result<(), DeviceError> {
        stream.synchronize()
    }

    fn write(
        &self,
        stream: &HipStream,
        to: &mut DeviceBuffer,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), DeviceError> {
        let (end, len) = (offset.saturating_add(bytes.len()), to.len());
        if end > len {
            let label = to.label().into();
            return Err(DeviceError::Extent { call: "write", label, start: offset, end, len });
        }
        let mut uploads = self.uploads.lock().unwrap_or_else(PoisonError::into_inner);
        uploads.copy(&self.api, stream, to, offset, bytes)
    }

    fn read_bytes(
        &self,
        stream: &HipStream,
        from: &DeviceBuffer,
        range: Range<usize>,
        site: &Site,
    ) -> Result<HipReadback, DeviceError> {
        HipReadback::start(&self.api, &self.audit, stream, from, range, site)
    }

    fn address(&self, buffer: &DeviceBuffer) -> Option<u64> {
        Some(buffer.address(0))
    }

    fn checks_bounds(&self) -> bool {
        self.api.software_device().is_some()
    }

    fn last_launch(&self, stream: &HipStream) -> Option<String> {
        stream.last_launch()
    }

    fn launch(&self, stream: &HipStream, op: Valid<Op<'_, DeviceBuffer>>) -> Result<(), DeviceError> {
        stream.begin_op();
        match &self.foreign {
            Some(foreign) if foreign.takes(&op) => foreign.launch(&self.api, stream, &op)?,
            _ => self.launch_own(stream, op.into_inner())?,
        }
        if self.sync_per_op { stream.synchronize() } else { Ok(()) }
    }
}
