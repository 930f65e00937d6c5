//! The backends of this machine, by name.

use std::fmt;

use backend_cpu::fast::Threads;
use backend_cpu::fence::{Fence, FenceError};
use backend_cpu::host::{Compute, Host};
use backend_cpu::reference::Exact;
use clap::ValueEnum;
use kernels::{Backend, DeviceError};

use crate::target::{Bare, Guards, Target};
use crate::zoo;
use crate::zoo::mutant::Subject;

/// A backend that can be asked for on the command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
}

/// All of them, in the order of tables and reports.
pub const KNOWN: [Known; 2] = [
    Known { name: "ref", about: "f64 reference on the CPU, the oracle itself" },
    Known { name: "cpu", about: "threaded f32 on the CPU" },
];

/// A backend that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No backend has that name.
    #[error("unknown backend '{name}'; this program has {known}", known = KNOWN.map(|k| k.name).join(", "))]
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

/// What notices an access outside a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Guard {
    /// Canaries on both sides of each buffer: a write outside is found after the op.
    #[default]
    Canaries,
    /// Each buffer ends at an unmapped page: a read or a write past the end kills the worker at once. CPU backends only.
    FenceAfter,
    /// Each buffer starts at an unmapped page: a read or a write before the start does the same. CPU backends only.
    FenceBefore,
    /// Nothing, for comparison.
    Off,
}

impl Guard {
    /// Which edge of a buffer is fenced.
    pub const fn fence(self) -> Option<Fence> {
        match self {
            Guard::FenceAfter => Some(Fence::After),
            Guard::FenceBefore => Some(Fence::Before),
            Guard::Canaries | Guard::Off => None,
        }
    }
}

impl fmt::Display for Guard {
    /// As on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Guard::Canaries => "canaries",
            Guard::FenceAfter => "fence-after",
            Guard::FenceBefore => "fence-before",
            Guard::Off => "off",
        })
    }
}

/// Opens the backend called `name`, as a target. `mutant:NAME` is a mutant of the zoo.
pub fn open(name: &str, guard: Guard) -> Result<Box<dyn Target>, OpenError> {
    match name {
        "ref" => host::<Exact>(name, guard),
        "cpu" => host::<Threads>(name, guard),
        _ => match name.strip_prefix("mutant:").and_then(zoo::find) {
            Some(_) if guard.fence().is_some() => Err(unfenced(name, guard)),
            Some(mutant) => opened(name, Subject::new(mutant)),
            None => Err(OpenError::Unknown { name: name.into() }),
        },
    }
}

/// A backend in host memory, which can be fenced.
fn host<C: Compute + Default + 'static>(name: &str, guard: Guard) -> Result<Box<dyn Target>, OpenError> {
    let refused = |e: FenceError| OpenError::NoFence { name: name.into(), guard, why: e.to_string() };
    match guard.fence() {
        Some(fence) => opened(name, Bare::new(Host::with_fence(C::default(), fence).map_err(refused)?)),
        None => target(name, Host::new(C::default()), guard),
    }
}

/// A backend of which nothing is known about its memory.
fn target<D: Backend + 'static>(name: &str, backend: D, guard: Guard) -> Result<Box<dyn Target>, OpenError> {
    match guard {
        Guard::Canaries => opened(name, Guards::new(backend)),
        Guard::Off => opened(name, Bare::new(backend)),
        Guard::FenceAfter | Guard::FenceBefore => Err(unfenced(name, guard)),
    }
}

fn opened<T: Target + 'static>(
    name: &str,
    target: Result<T, DeviceError>,
) -> Result<Box<dyn Target>, OpenError> {
    match target {
        Ok(target) => Ok(Box::new(target)),
        Err(source) => Err(OpenError::Device { name: name.into(), source }),
    }
}

fn unfenced(name: &str, guard: Guard) -> OpenError {
    let why = "only the CPU backends, ref and cpu, have buffers against unmapped pages".into();
    OpenError::NoFence { name: name.into(), guard, why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_is_called_as_on_the_command_line() {
        for guard in Guard::value_variants() {
            assert_eq!(Guard::from_str(&guard.to_string(), false), Ok(*guard));
        }
    }

    #[test]
    fn only_cpu_backends_are_fenced() {
        let mutant = format!("mutant:{}", zoo::mutants()[0].name);
        for guard in [Guard::FenceAfter, Guard::FenceBefore] {
            assert!(matches!(open(&mutant, guard), Err(OpenError::NoFence { .. })));
            assert_eq!(open("ref", guard).is_ok(), cfg!(unix));
            assert_eq!(open("cpu", guard).is_ok(), cfg!(unix));
        }
    }
}
