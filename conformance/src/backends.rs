//! The backends of this machine, by name.

use backend_cpu::fast::Fast;
use backend_cpu::reference::Reference;
use kernels::DeviceError;

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
}

/// Whether buffers are guarded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Guard {
    /// Canaries on both sides of each allocation.
    #[default]
    Canaries,
    /// None, for comparison.
    Off,
}

/// Opens the backend called `name`, as a target. `mutant:NAME` is a mutant of the zoo.
pub fn open(name: &str, guard: Guard) -> Result<Box<dyn Target>, OpenError> {
    match name {
        "ref" => target(name, Reference::default(), guard),
        "cpu" => target(name, Fast::default(), guard),
        _ => match name.strip_prefix("mutant:").and_then(zoo::find) {
            Some(mutant) => Subject::new(mutant)
                .map(|subject| Box::new(subject) as _)
                .map_err(|source| OpenError::Device { name: name.into(), source }),
            None => Err(OpenError::Unknown { name: name.into() }),
        },
    }
}

fn target<D: kernels::Backend + 'static>(
    name: &str,
    backend: D,
    guard: Guard,
) -> Result<Box<dyn Target>, OpenError> {
    let opened: Result<Box<dyn Target>, DeviceError> = match guard {
        Guard::Canaries => Guards::new(backend).map(|t| Box::new(t) as _),
        Guard::Off => Bare::new(backend).map(|t| Box::new(t) as _),
    };
    opened.map_err(|source| OpenError::Device { name: name.into(), source })
}
