//! The backends of this machine, by name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use backend_cpu::fast::{Activations, Fast, Threads};
use backend_cpu::fence::Fence;
use backend_cpu::host::Compute;
use backend_cpu::reference::{Exact, Reference};
use backend_hip::foreign::ForeignError;
use backend_hip::objects::{FolderError, Objects, Provided};
use backend_hip::{HipBackend, HostBug, Options};
use conformance::guard::{self, FencedError, Guard};
use conformance::registry::{Job, Registry};
use conformance::target::Target;
use d2h_audit::AuditOptions;
use kernels::{Backend, DeviceError, Stem};
use plugin::{PluginBackend, PluginError};
use softhip::control::SoftDevice;
use softhip::sched::Policy;
use zoo::mutant::Subject;
use zoo::probe::Probe;
use zoo::sabotage::{Plan, PlanError};
use zoo::{catalogue, device};

use crate::foreign::{ForeignFiles, Promised};
use crate::spelling;

/// Prefix of the name of a mutant of a backend.
const MUTANT: &str = "mutant:";

/// Prefix of the name of the software device behind host code with a bug.
const HOST: &str = "host:";

/// Name of the backend that is somebody else's.
pub const PLUGIN: &str = "plugin";

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
    #[error("unknown backend '{name}'; {}", instead_of(name))]
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
    /// The code objects that were asked for cannot be used.
    #[error("ASSAY_HIP_OBJECTS: {0}")]
    Objects(#[from] FolderError),
    /// A code object cannot be read.
    #[error("backend '{name}': the code object of {stem}: {why}")]
    Object {
        /// The name.
        name: String,
        /// The op.
        stem: String,
        /// What is wrong with it.
        why: String,
    },
    /// Foreign kernels cannot be used.
    #[error(transparent)]
    Foreign(#[from] ForeignError),
    /// Its log cannot be written.
    #[error("backend '{name}': the log of copies to the host: {error}")]
    Log {
        /// The name.
        name: String,
        /// Why not.
        error: std::io::Error,
    },
    /// A plug-in cannot be used.
    #[error(transparent)]
    Plugin(#[from] PluginError),
    /// The plug-in was not said.
    #[error("backend 'plugin': --plugin FILE or the variable ASSAY_PLUGIN says which")]
    NoPlugin,
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

/// The names of all backends of this program, those of mutants by their pattern.
pub fn names() -> String {
    let known: Vec<&str> = KNOWN.iter().map(|k| k.name).collect();
    format!(
        "{}, soft-deferred, soft-random, mutant:NAME, soft:NAME and host:NAME (see assay zoo --list), {PLUGIN} (with --plugin FILE)",
        known.join(", ")
    )
}

/// What to ask for instead of a backend that is not there.
fn instead_of(name: &str) -> String {
    let (hip, built_with) = ("hip", "programs built with --features hip");
    match (name == hip, cfg!(feature = "hip")) {
        (true, false) => format!("it is in {built_with}. Here are {}", names()),
        (_, true) => format!("did you mean {}? There are {}", nearest(name), names()),
        (_, false) => {
            format!("did you mean {}? There are {}; {hip} is in {built_with}", nearest(name), names())
        }
    }
}

/// The name of a backend that is most like `name`.
fn nearest(name: &str) -> String {
    let prefixed = |prefix: &str, near: Option<&str>| format!("{prefix}{}", near.unwrap_or_default());
    if let Some(mutant) = name.strip_prefix(device::PREFIX) {
        let near = spelling::nearest(mutant, device::mutants().iter().map(|m| m.name.as_str()));
        return prefixed(device::PREFIX, near);
    }
    if let Some(bug) = name.strip_prefix(HOST) {
        return prefixed(HOST, spelling::nearest(bug, HostBug::ALL.iter().map(|bug| bug.name())));
    }
    if let Some(plan) = name.strip_prefix(MUTANT) {
        let mutant = plan.split('@').next().unwrap_or_default();
        return prefixed(MUTANT, spelling::nearest(mutant, catalogue::mutants().iter().map(|m| m.name)));
    }
    let known = KNOWN.iter().map(|k| k.name).chain(["soft-deferred", "soft-random", PLUGIN]);
    spelling::nearest(name, known).unwrap_or_default().into()
}

/// What a backend may be told besides its name.
#[derive(Clone, Debug, Default)]
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
    /// When the software device runs queued work; as the backend's name says without it.
    pub policy: Option<Policy>,
    /// The software device lets reads of bytes that nothing has written pass, to see what comes after them.
    pub unwritten_may_be_read: bool,
    /// Kernels of other people that take the place of ours on HIP backends.
    pub foreign: Option<ForeignFiles>,
    /// The file of the backend that is somebody else's.
    pub plugin: Option<PathBuf>,
    /// The call of HIP, counted from 0, that fails instead of being made: for tests.
    pub failing_call: Option<u64>,
    /// Says whether a planted bug, or a plug-in, was reached.
    pub probe: Probe,
}

impl Settings {
    /// As the environment asks.
    pub fn from_env() -> Self {
        Settings {
            audit: AuditOptions::from_env(|variable| std::env::var(variable).ok()),
            objects: std::env::var_os("ASSAY_HIP_OBJECTS").map(PathBuf::from),
            plugin: std::env::var_os("ASSAY_PLUGIN").map(PathBuf::from),
            failing_call: std::env::var("ASSAY_FAILING_HIP_CALL").ok().and_then(|call| call.parse().ok()),
            ..Settings::default()
        }
    }

    /// `backend` with the foreign kernels, if there are any.
    fn equip(&self, backend: HipBackend) -> Result<HipBackend, OpenError> {
        match &self.foreign {
            Some(foreign) => Ok(foreign.on(backend)?),
            None => Ok(backend),
        }
    }

    /// The same with the plug-in that a flag names, if one does.
    #[must_use]
    pub fn with_plugin(mut self, flag: Option<&Path>) -> Self {
        self.plugin = flag.map(Into::into).or(self.plugin);
        self
    }

    /// The plug-in, whose code runs from here on: this process may die of it.
    pub fn open_plugin(&self) -> Result<PluginBackend, OpenError> {
        Ok(plugin::open(self.plugin.as_deref().ok_or(OpenError::NoPlugin)?)?)
    }

    /// How HIP backends are to run.
    pub fn hip(&self) -> Result<Options, OpenError> {
        let objects = match &self.objects {
            Some(folder) => Objects::in_folder(folder.clone())?,
            None => Objects::default(),
        };
        Ok(Options {
            sync_per_op: self.sync_per_op,
            audit: self.audit.clone(),
            objects,
            failing_call: self.failing_call,
            ..Options::default()
        })
    }
}

impl Registry for Settings {
    type Error = OpenError;

    fn on_backend<J: Job>(&self, name: &str, job: J) -> Result<J::Answer, OpenError> {
        on_backend(name, self, job)
    }
}

/// Does `job` on the backend called `name`. A plug-in gets the ops that it lacks from the CPU here.
pub fn on_backend<J: Job>(name: &str, settings: &Settings, job: J) -> Result<J::Answer, OpenError> {
    if let Some(plan) = name.strip_prefix(MUTANT) {
        let plan: Plan = plan.parse().map_err(|error| match error {
            PlanError::Unknown(_) => OpenError::Unknown { name: name.into() },
            error => error.into(),
        })?;
        return on_mutant(name, plan.watched_by(&settings.probe), job);
    }
    match name {
        "ref" => Ok(job.run(Reference::default())),
        "cpu" => Ok(job.run(Fast::with_threads(settings.threads))),
        "cpu-exact" => Ok(job.run(Fast::exact(settings.threads))),
        PLUGIN => {
            let probe = settings.probe.clone();
            Ok(job.run(settings.open_plugin()?.completed(move || probe.reach())))
        }
        _ => match hip_backend(name, settings)? {
            Some(backend) => Ok(job.run(backend)),
            None => Err(OpenError::Unknown { name: name.into() }),
        },
    }
}

/// As [`on_backend`], with the software device that the backend runs on, if it does.
pub fn on_backend_with_device<J: Job>(
    name: &str,
    settings: &Settings,
    job: J,
) -> Result<(J::Answer, Option<Arc<SoftDevice>>), OpenError> {
    match hip_backend(name, settings)? {
        Some(backend) => {
            let device = backend.software_device().cloned();
            Ok((job.run(backend), device))
        }
        None => Ok((on_backend(name, settings, job)?, None)),
    }
}

/// The HIP backend called `name`; `None` where no HIP backend has that name.
fn hip_backend(name: &str, settings: &Settings) -> Result<Option<HipBackend>, OpenError> {
    #[cfg(feature = "hip")]
    if name == "hip" {
        return settings.equip(gpu(settings)?).map(Some);
    }
    if let Some(policy) = schedule(name) {
        return settings.equip(software(name, policy, settings, settings.hip()?)?).map(Some);
    }
    if let Some(bug) = host_bug(name) {
        let options = Options { bug: Some(bug), ..settings.hip()? };
        return settings.equip(software(name, Policy::Eager, settings, options)?).map(Some);
    }
    let Some(mutant) = name.strip_prefix(device::PREFIX).and_then(device::find) else { return Ok(None) };
    let mut options = settings.hip()?;
    options.objects = mutant.objects(&settings.probe).over(options.objects);
    software(name, Policy::Eager, settings, options).map(Some)
}

/// The HIP backend called `name`.
pub fn hip(name: &str, settings: &Settings) -> Result<HipBackend, OpenError> {
    hip_backend(name, settings)?.ok_or_else(|| OpenError::Unknown { name: name.into() })
}

/// The code objects that the backend called `name` runs for the ops `stems`; none where it has no device code.
pub fn device_code(name: &str, settings: &Settings, stems: &[Stem]) -> Result<Vec<Provided>, OpenError> {
    let Some(backend) = hip_backend(name, settings)? else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for stem in stems {
        let provided = backend.provided(*stem).map_err(|why| OpenError::Object {
            name: name.into(),
            stem: stem.name().into(),
            why: why.to_string(),
        })?;
        all.extend(provided);
    }
    Ok(all)
}

/// The op that the mutant called `name` has its bug in; `None` where that is no mutant.
pub fn mutated(name: &str) -> Option<Stem> {
    match name.strip_prefix(MUTANT) {
        Some(plan) => catalogue::find(plan.split('@').next()?).map(|mutant| mutant.stem),
        None => device::find(name.strip_prefix(device::PREFIX)?).map(|mutant| mutant.stem),
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

/// The bug of the host code behind which the backend called `name` runs.
fn host_bug(name: &str) -> Option<HostBug> {
    let bug = name.strip_prefix(HOST)?;
    HostBug::ALL.into_iter().find(|known| known.name() == bug)
}

/// Whether `name` is a backend on which foreign kernels can run.
pub fn runs_device_code(name: &str) -> bool {
    schedule(name).is_some() || (cfg!(feature = "hip") && name == "hip")
}

/// Whether `name` is a backend whose device checks every access by itself.
pub fn checks_itself(name: &str) -> bool {
    schedule(name).is_some() || name.starts_with(device::PREFIX) || host_bug(name).is_some()
}

/// HIP kernels on a software device of their own.
fn software(
    name: &str,
    policy: Policy,
    settings: &Settings,
    options: Options,
) -> Result<HipBackend, OpenError> {
    let policy = settings.policy.unwrap_or(policy);
    let mut device = softhip::control::Options {
        seed: SEED,
        policy,
        straddle: true,
        memory_bytes: MEMORY,
        ..softhip::control::Options::default()
    };
    device.checks.uninitialised &= !settings.unwritten_may_be_read;
    HipBackend::software(device, options).map_err(|error| OpenError::Log { name: name.into(), error })
}

/// Bytes of the software device. Operands with rows far apart need more than a GPU has; what nothing touches costs nothing.
const MEMORY: u64 = 1 << 40;

/// HIP kernels on a GPU.
#[cfg(feature = "hip")]
fn gpu(settings: &Settings) -> Result<HipBackend, OpenError> {
    use backend_hip::backend::OpenGpuError;
    HipBackend::gpu(settings.gpu.as_deref(), settings.hip()?).map_err(|error| match error {
        OpenGpuError::Log(error) => OpenError::Log { name: "hip".into(), error },
        OpenGpuError::Gpu(missing) => OpenError::NoGpu { why: missing.to_string() },
    })
}

/// Opens the backend called `name`, as a target. `mutant:NAME` is a mutant of the zoo, `soft:NAME` one of its
/// mutants of device code, `host:NAME` a bug of host code.
pub fn open(name: &str, guard: Guard) -> Result<Box<dyn Target>, OpenError> {
    open_with(name, guard, &Settings::from_env())
}

/// The same, as `settings` say.
pub fn open_with(name: &str, guard: Guard, settings: &Settings) -> Result<Box<dyn Target>, OpenError> {
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
    if name == PLUGIN {
        return AsTarget { name, guard }.run(settings.open_plugin()?);
    }
    // A single op stands nowhere in a model: wherever a mutant is to strike, it strikes.
    let mutant = name.strip_prefix(MUTANT).and_then(|m| m.split('@').next());
    if let Some(plan) = mutant.and_then(|m| m.parse::<Plan>().ok()).filter(Plan::faults) {
        return opened(name, guard::without(plan.faulting()));
    }
    match mutant.and_then(catalogue::find) {
        Some(mutant) => {
            opened(name, Subject::new(mutant).map(|subject| Box::new(subject) as Box<dyn Target>))
        }
        None => match hip_backend(name, settings)? {
            Some(backend) => hip_target(name, guard, backend),
            None => on_backend(name, settings, AsTarget { name, guard })?,
        },
    }
}

/// A backend, and the software device that it runs on, if it does.
pub type Opened = (Box<dyn Target>, Option<Arc<SoftDevice>>);

/// As [`open_with`], with the software device that the backend runs on, if it does.
pub fn open_with_device(name: &str, guard: Guard, settings: &Settings) -> Result<Opened, OpenError> {
    if guard.fence().is_none()
        && let Some(backend) = hip_backend(name, settings)?
    {
        let device = backend.software_device().cloned();
        return Ok((hip_target(name, guard, backend)?, device));
    }
    Ok((open_with(name, guard, settings)?, None))
}

/// A HIP backend as a target, with the promises of its foreign kernels.
fn hip_target(name: &str, guard: Guard, backend: HipBackend) -> Result<Box<dyn Target>, OpenError> {
    let target = AsTarget { name, guard }.run(backend.clone())?;
    Ok(if backend.foreign().is_some() { Box::new(Promised { target, backend }) } else { target })
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
            Guard::Far if schedule(self.name).is_some() || self.name.starts_with(device::PREFIX) => {
                opened(self.name, guard::with_rows_far_apart(backend))
            }
            Guard::Far => {
                let why = "only the software device has room for gigabytes that nothing touches".into();
                Err(OpenError::NoFence { name: self.name.into(), guard: self.guard, why })
            }
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
    fn a_misspelt_backend_is_told_the_nearest_name() {
        let (mutant, soft) = (catalogue::mutants()[0].name, &device::mutants()[0].name);
        for (asked, meant) in [
            ("sfot".to_owned(), "soft".to_owned()),
            (format!("mutant:{mutant}x"), format!("mutant:{mutant}")),
            (format!("mutant:{mutant}x@layer=1"), format!("mutant:{mutant}")),
            (format!("soft:{soft}x"), format!("soft:{soft}")),
            ("host:staging-reuse".into(), "host:staging-reused".into()),
        ] {
            let Err(error) = open(&asked, Guard::Off) else { panic!("{asked} was opened") };
            assert!(matches!(error, OpenError::Unknown { .. }));
            let said = error.to_string();
            assert!(said.contains(&format!("did you mean {meant}? There are ref, cpu,")), "{said}");
        }
    }

    #[test]
    fn only_cpu_backends_are_fenced_and_only_the_software_device_has_rows_far_apart() {
        let mutant = format!("mutant:{}", catalogue::mutants()[0].name);
        for guard in [Guard::FenceAfter, Guard::FenceBefore] {
            assert!(matches!(open(&mutant, guard), Err(OpenError::NoFence { .. })));
            assert_eq!(open("ref", guard).is_ok(), cfg!(unix));
            assert_eq!(open("cpu", guard).is_ok(), cfg!(unix));
        }
        assert!(matches!(open("cpu", Guard::Far), Err(OpenError::NoFence { .. })));
        assert!(open("soft", Guard::Far).is_ok());
    }
}
