//! A mutant in a model's path: its bug strikes at chosen places only, and a fault surfaces where the host next waits.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::str::FromStr;

use backend_cpu::reference::Reference;
use kernels::decor::{Guarded, Seen, Wait, Watch, Watched};
use kernels::{
    Backend, Buffer, DeviceError, Identity, Pending, Record, Role, Site, SiteFilter, SiteFilterError,
};

use crate::mutant::{Mutant, Plant, Work, illegal_address};
use crate::probe::Probe;
use crate::{catalogue, faults};

/// A mutant and where it strikes, as on the command line: `NAME` or `NAME@layer=3,phase=decode,step=2,point=q`.
#[derive(Clone, Debug)]
pub struct Plan {
    mutant: Mutant,
    filter: SiteFilter,
    probe: Probe,
}

/// A plan that cannot be carried out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlanError {
    /// No mutant has that name.
    #[error("unknown mutant '{0}' (see assay zoo --list)")]
    Unknown(String),
    /// The bug sits in the test's surroundings, which a model has not.
    #[error("mutant '{0}' cannot be planted in a model: its bug is not in a kernel")]
    NotInAModel(&'static str),
    /// A filter that cannot be read.
    #[error(transparent)]
    Filter(#[from] SiteFilterError),
}

impl FromStr for Plan {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let (name, conditions) = text.split_once('@').unwrap_or((text, ""));
        let mutant = catalogue::find(name).ok_or_else(|| PlanError::Unknown(name.into()))?;
        if let Plant::Around(_) = mutant.plant {
            return Err(PlanError::NotInAModel(mutant.name));
        }
        Ok(Plan { mutant, filter: conditions.parse()?, probe: Probe::default() })
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.mutant.name)
    }
}

impl Plan {
    /// The plan with a probe that counts where it strikes.
    #[must_use]
    pub fn watched_by(self, probe: &Probe) -> Self {
        Plan { probe: probe.clone(), ..self }
    }

    /// Whether the mutant faults, rather than computing something else.
    pub fn faults(&self) -> bool {
        faults::mutants().iter().any(|m| m.name == self.mutant.name)
    }

    /// The reference, spoilt by a bug about values. Guard zones stand around its buffers.
    pub fn backend(self) -> Result<Guarded<Watched<Reference, Sabotage>>, DeviceError> {
        Guarded::new(self.faulting())
    }

    /// The reference, spoilt by a fault. There are no guard zones, whose inspection would wait for every op.
    pub fn faulting(self) -> Watched<Reference, Sabotage> {
        let Plan { mutant, filter, probe } = self;
        let sabotage = Sabotage {
            mutant,
            filter,
            probe,
            calls: Cell::new(0),
            previous: RefCell::new(Vec::new()),
            dead: Cell::new(false),
        };
        Watched::new(Reference::default(), sabotage)
    }
}

/// Spoils ops by a mutant's bug. As on a GPU, a fault does not show at the launch: nothing runs after it, and the next call that
/// waits is the one that fails.
#[derive(Debug)]
pub struct Sabotage {
    mutant: Mutant,
    filter: SiteFilter,
    probe: Probe,
    calls: Cell<usize>,
    previous: RefCell<Vec<Vec<u8>>>,
    dead: Cell<bool>,
}

impl<D: Backend> Watch<D> for Sabotage {
    fn identity(&self, inner: Identity) -> Identity {
        let device = format!("{}, with a planted bug: {}", inner.device, self.mutant.fault);
        Identity { name: "mutant", device, ..inner }
    }

    fn instead(&self, seen: &Seen<'_, D>) -> Result<Option<Vec<Vec<u8>>>, DeviceError> {
        if self.dead.get() {
            return Ok(Some(Vec::new()));
        }
        let Plant::Kernel(plant) = self.mutant.plant else { return Ok(None) };
        if seen.op.stem() != self.mutant.stem || !self.filter.includes(seen.site.as_ref()) {
            return Ok(None);
        }
        self.probe.reach();
        let content = |buffer: &D::Buffer| {
            seen.backend
                .read_bytes(seen.stream, buffer, 0..buffer.len(), &Site::outside(buffer.label().to_owned()))?
                .wait()
        };
        let record = Record::of(seen.op, content)?;
        let outputs = record.operands().iter().filter(|o| o.role == Role::Output);
        let outputs = outputs.map(|o| o.bytes.clone()).collect();
        let previous = self.previous.borrow().clone();
        let mut work = Work { record, outputs, calls: self.calls.get(), previous: &previous };
        plant(&mut work)?;
        self.calls.set(work.calls + 1);
        self.previous.replace(work.outputs.clone());
        Ok(Some(work.outputs))
    }

    fn after(&self, _: &Seen<'_, D>, ran: Result<(), DeviceError>) -> Result<(), DeviceError> {
        match ran {
            Err(DeviceError::Fault(_)) => {
                self.dead.set(true);
                Ok(())
            }
            other => other,
        }
    }

    fn wait(&self, wait: &Wait<'_>) -> Result<(), DeviceError> {
        if let (Plant::Copy(plant), Wait::Copy { site, range, .. }) = (self.mutant.plant, wait) {
            plant(site, range).inspect_err(|_| self.probe.reach())?;
        }
        match wait {
            _ if !self.dead.get() => Ok(()),
            Wait::Copy { .. } => Err(illegal_address("hipMemcpyAsync").in_copy()),
            Wait::Synchronize => Err(illegal_address("hipStreamSynchronize")),
        }
    }
}
