//! The backends of this machine, by name.

use std::path::PathBuf;

use backend_cpu::fast::{Activations, Fast, Threads};
use backend_cpu::fence::Fence;
use backend_cpu::host::Compute;
use backend_cpu::reference::{Exact, Reference};
use backend_hip::audit::AuditOptions;
use backend_hip::objects::Objects;
use backend_hip::{HipBackend, Options};
use conformance::guard::{self, FencedError, Guard};
use conformance::registry::{Job, Registry};
use conformance::target::Target;
use kernels::{Backend, DeviceError};
use softhip::sched::Policy;
use zoo::mutant::Subject;
use zoo::sabotage::{Plan, PlanError};
use zoo::{catalogue, device};

/// A backend that can be asked for on the command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
}

/// All of them, in the order of tables and reports.
pub const KNOWN: &[Known] = &[
    Known { name: "ref", about: "f64 reference on the CPU, the oracle itself" },
    Known { name: "cpu", about: "vectors and threads on the CPU, 8-bit activations for quantised weights" },
    Known { name: "cpu-exact", about: "the same with exact activations" },
    Known {
        name: "soft",
        about: "HIP kernels on the software device; soft-deferred and soft-random for other schedules",
    },
    #[cfg(feature = "hip")]
    Known { name: "hip", about: "HIP kernels on an AMD GPU" },
];

/// A backend that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No backend has that name.
    #[error("unknown backend '{name}'; this program has {known}{without_hip}",
        known = KNOWN.iter().map(|k| k.name).collect::<Vec<_>>().join(", "),
        without_hip = if cfg!(feature = "hip") { "" } else { "; hip is in programs built with --features hip" })]
    Unknown {
        /// The name.
        name: String,
    },
    /// The device is not there, or does not answer.
    #[error("backend '{name}': {source}")]
    Device {
        /// The name.
        name: String,
        /// What it said.
        source: DeviceError,
    },
    /// No GPU is there.
    #[error("backend 'hip': {why}")]
    NoGpu {
        /// What is in the way.
        why: String,
    },
    /// Its log cannot be written.
    #[error("backend '{name}': the log of copies to the host: {error}")]
    Log {
        /// The name.
        name: String,
        /// Why not.
        error: std::io::Error,
    },
    /// A mutant that cannot be planted as asked.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Its buffers cannot be fenced.
    #[error("backend '{name}' cannot be run with --guard {guard}: {why}")]
    NoFence {
        /// The name.
        name: String,
        /// The guard that was asked for.
        guard: Guard,
        /// What is in the way.
        why: String,
    },
}

/// What a backend may be told besides its name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    /// Threads of a backend on the CPU; one per core for 0.
    pub threads: usize,
    /// Part of the name or architecture of the GPU to use; the first one without it.
    pub gpu: Option<String>,
    /// HIP backends synchronise after every op.
    pub sync_per_op: bool,
    /// What HIP backends log about copies to the host.
    pub audit: AuditOptions,
    /// Folder with code objects that stand in for the program's own.
    pub objects: Option<PathBuf>,
}

impl Settings {
    /// As the environment asks.
    pub fn from_env() -> Self {
        Settings {
            audit: AuditOptions::from_env(|variable| std::env::var(variable).ok()),
            objects: std::env::var_os("ASSAY_HIP_OBJECTS").map(PathBuf::from),
            ..Settings::default()
        }
    }

    /// How HIP backends are to run.
    pub fn hip(&self) -> Options {
        let own = Objects::default();
        let objects = match &self.objects {
            Some(folder) => Objects::in_folder(folder.clone()).over(own),
            None => own,
        };
        Options { sync_per_op: self.sync_per_op, audit: self.audit.clone(), objects }
    }
}

impl Registry for Settings {
    type Error = OpenError;

    fn on_backend<J: Job>(&self, name: &str, job: J) -> Result<J::Answer, OpenError> {
        on_backend(name, self, job)
    }
}

/// Does `job` on the backend called `name`.
pub fn on_backend<J: Job>(name: &str, settings: &Settings, job: J) -> Result<J::Answer, OpenError> {
    if let Some(plan) = name.strip_prefix("mutant:") {
        return on_mutant(name, plan.parse()?, job);
    }
    match name {
        "ref" => Ok(job.run(Reference::default())),
        "cpu" => Ok(job.run(Fast::with_threads(settings.threads))),
        "cpu-exact" => Ok(job.run(Fast::exact(settings.threads))),
        #[cfg(feature = "hip")]
        "hip" => Ok(job.run(gpu(settings)?)),
        _ => match (schedule(name), name.strip_prefix(device::PREFIX).and_then(device::find)) {
            (Some(policy), _) => Ok(job.run(software(name, policy, settings.hip())?)),
            (_, Some(mutant)) => {
                let mut options = settings.hip();
                options.objects = mutant.objects().over(options.objects);
                Ok(job.run(software(name, Policy::Eager, options)?))
            }
            (None, None) => Err(OpenError::Unknown { name: name.into() }),
        },
    }
}

/// Does `job` on the reference with a mutant planted.
fn on_mutant<J: Job>(name: &str, plan: Plan, job: J) -> Result<J::Answer, OpenError> {
    if plan.faults() {
        return Ok(job.run(plan.faulting()));
    }
    let backend = plan.backend().map_err(|source| OpenError::Device { name: name.into(), source })?;
    Ok(job.run(backend))
}

/// Seed of the software device: of its addresses, and of a random schedule.
const SEED: u64 = 1;

/// The schedule that a name of the software device asks for.
fn schedule(name: &str) -> Option<Policy> {
    match name {
        "soft" => Some(Policy::Eager),
        "soft-deferred" => Some(Policy::Deferred),
        "soft-random" => Some(Policy::Random(SEED)),
        _ => None,
    }
}

/// Whether `name` is a backend whose device checks every access by itself.
pub fn checks_itself(name: &str) -> bool {
    schedule(name).is_some() || name.starts_with(device::PREFIX)
}

/// HIP kernels on a software device of their own.
fn software(name: &str, policy: Policy, options: Options) -> Result<HipBackend, OpenError> {
    let device = softhip::control::Options { seed: SEED, policy, ..softhip::control::Options::default() };
    HipBackend::software(device, options).map_err(|error| OpenError::Log { name: name.into(), error })
}

/// HIP kernels on a GPU.
#[cfg(feature = "hip")]
fn gpu(settings: &Settings) -> Result<HipBackend, OpenError> {
    use backend_hip::backend::OpenGpuError;
    HipBackend::gpu(settings.gpu.as_deref(), settings.hip()).map_err(|error| match error {
        OpenGpuError::Log(error) => OpenError::Log { name: "hip".into(), error },
        OpenGpuError::Gpu(missing) => OpenError::NoGpu { why: missing.to_string() },
    })
}

/// Opens the backend called `name`, as a target. `mutant:NAME` is a mutant of the zoo, `soft:NAME` one of its
/// mutants of device code.
pub fn open(name: &str, guard: Guard) -> Result<Box<dyn Target>, OpenError> {
    if let Some(fence) = guard.fence() {
        return match name {
            "ref" => fenced(Exact::default(), name, guard, fence),
            "cpu" => fenced(Threads::default(), name, guard, fence),
            "cpu-exact" => {
                fenced(Threads::default().with_activations(Activations::Exact), name, guard, fence)
            }
            _ => Err(unfenced(name, guard)),
        };
    }
    // A single op stands nowhere in a model: wherever a mutant is to strike, it strikes.
    let mutant = name.strip_prefix("mutant:").and_then(|m| m.split('@').next());
    if let Some(plan) = mutant.and_then(|m| m.parse::<Plan>().ok()).filter(Plan::faults) {
        return opened(name, guard::without(plan.faulting()));
    }
    match mutant.and_then(catalogue::find) {
        Some(mutant) => {
            opened(name, Subject::new(mutant).map(|subject| Box::new(subject) as Box<dyn Target>))
        }
        None => on_backend(name, &Settings::from_env(), AsTarget { name, guard })?,
    }
}

/// Makes a target of a backend.
struct AsTarget<'n> {
    name: &'n str,
    guard: Guard,
}

impl Job for AsTarget<'_> {
    type Answer = Result<Box<dyn Target>, OpenError>;

    fn run<B: Backend + 'static>(self, backend: B) -> Self::Answer {
        match self.guard {
            Guard::Canaries => opened(self.name, guard::with_canaries(backend)),
            Guard::Off | Guard::FenceAfter | Guard::FenceBefore => opened(self.name, guard::without(backend)),
        }
    }
}

/// A backend in host memory, each buffer against an unmapped page.
fn fenced<C: Compute + 'static>(
    compute: C,
    name: &str,
    guard: Guard,
    fence: Fence,
) -> Result<Box<dyn Target>, OpenError> {
    guard::with_fence(compute, fence).map_err(|error| match error {
        FencedError::Fence(e) => OpenError::NoFence { name: name.into(), guard, why: e.to_string() },
        FencedError::Device(source) => OpenError::Device { name: name.into(), source },
    })
}

fn opened(name: &str, target: Result<Box<dyn Target>, DeviceError>) -> Result<Box<dyn Target>, OpenError> {
    target.map_err(|source| OpenError::Device { name: name.into(), source })
}

fn unfenced(name: &str, guard: Guard) -> OpenError {
    let why = "only the CPU backends, ref, cpu and cpu-exact, have buffers against unmapped pages".into();
    OpenError::NoFence { name: name.into(), guard, why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cpu_backends_are_fenced() {
        let mutant = format!("mutant:{}", catalogue::mutants()[0].name);
        for guard in [Guard::FenceAfter, Guard::FenceBefore] {
            assert!(matches!(open(&mutant, guard), Err(OpenError::NoFence { .. })));
            assert_eq!(open("ref", guard).is_ok(), cfg!(unix));
            assert_eq!(open("cpu", guard).is_ok(), cfg!(unix));
        }
    }
}
