//! The run itself, in a process that may die.

use std::cell::Cell;
use std::io::Write;
use std::ops::Range;
use std::path::Path;

use conformance::guard::Guard;
use conformance::registry::Job;
use engine::generate::GenerateError;
use kernels::decor::{AnyWatch, Seen, Wait, Watch};
use kernels::{Backend, Buffer, DeviceError, Pending, Record, Site};

use super::{Argument, Call, CopyCall, Event};
use crate::capsule::{self, Capsule, Origin, right_answers};
use crate::provenance::{self, ModelId};
use crate::run::Run;

/// Tells an event to whoever started this process. A line is flushed before anything else happens.
pub fn tell(event: &Event) {
    let mut out = std::io::stdout().lock();
    // A parent that has gone away is told nothing; the run ends by itself.
    let _ = serde_json::to_writer(&mut out, event).map_err(std::io::Error::other);
    let _ = out.write_all(b"\n").and_then(|()| out.flush());
}

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Inside<'a> {
    /// The run.
    pub run: Run<'a>,
    /// The model's file.
    pub model: &'a ModelId,
    /// Name of the backend.
    pub backend: &'a str,
    /// Whether to wait for each op.
    pub synced: bool,
    /// Where each op is stored before it starts; the file of the last one stays.
    pub capsule: Option<&'a Path>,
}

impl Job for Inside<'_> {
    type Answer = Result<(), GenerateError>;

    fn run<B: Backend + 'static>(self, backend: B) -> Result<(), GenerateError> {
        let watch: AnyWatch<'_, B> = if self.synced {
            Box::new(Locator { inside: self, started: Cell::new(0) })
        } else {
            Box::new(())
        };
        self.run.go(backend, watch)
    }
}

/// Tells of each op before it starts, and waits for it.
struct Locator<'a> {
    inside: Inside<'a>,
    /// Ops started.
    started: Cell<usize>,
}

impl<D: Backend> Watch<D> for Locator<'_> {
    /// A capsule holds whole buffers, and a checking device reports reads of bytes that were never written.
    fn fill(&self) -> Option<u8> {
        self.inside.capsule.map(|_| 0xff)
    }

    fn before(&self, seen: &Seen<'_, D>) -> Result<(), DeviceError> {
        tell(&Event::Op(Box::new(call(seen, self.started.replace(self.started.get() + 1)))));
        match self.inside.capsule {
            Some(path) => self.store(seen, path),
            None => Ok(()),
        }
    }

    fn after(&self, seen: &Seen<'_, D>, ran: Result<(), DeviceError>) -> Result<(), DeviceError> {
        let ended = ran.and_then(|()| seen.backend.synchronize(seen.stream));
        if let Err(error) = &ended {
            tell(&Event::Fault { what: error.to_string(), launch: seen.backend.last_launch(seen.stream) });
        }
        ended
    }

    fn wait(&self, wait: &Wait<'_>) -> Result<(), DeviceError> {
        if let Wait::Copy { label, range, site } = wait {
            tell(&Event::Copy(CopyCall {
                site: (*site).clone(),
                extent: range.clone(),
                owner: (*label).into(),
            }));
        }
        Ok(())
    }
}

impl Locator<'_> {
    fn store<D: Backend>(&self, seen: &Seen<'_, D>, path: &Path) -> Result<(), DeviceError> {
        let content = |buffer: &D::Buffer, range: Range<usize>| {
            let (site, owner) = (Site::outside(buffer.label().to_owned()), buffer.label().to_owned());
            let copy = seen.backend.read_bytes(seen.stream, buffer, range.clone(), &site);
            // The op has not begun: if this fails, a copy does.
            copy.and_then(Pending::wait)
                .inspect_err(|_| tell(&Event::Copy(CopyCall { site, extent: range, owner })))
        };
        let record = Record::cropped(seen.op, content)?;
        let origin = Origin {
            backend: self.inside.backend.into(),
            device: seen.backend.identity().device,
            build: provenance::build().into(),
            guard: Some(Guard::Off),
            model: Some(self.inside.model.clone()),
            site: seen.site.clone(),
            cut: None,
        };
        let expected = right_answers(&record);
        let name = format!("op {} of a run that faulted: {}", self.started.get() - 1, record.stem);
        let case = Capsule { name, record, expected, observed: Vec::new(), origin: Some(origin) };
        capsule::write(path, provenance::build(), &[case]).map_err(|e| DeviceError::Watch(e.to_string()))
    }
}

/// The op, with all its arguments.
fn call<D: Backend>(seen: &Seen<'_, D>, number: usize) -> Call {
    let arguments = seen.op.operands().into_iter().map(|o| {
        let extent = o.layout.byte_range().unwrap_or(0..0);
        Argument {
            name: o.name.into(),
            role: o.role,
            layout: format!("{:?}", o.layout.densified()),
            address: seen.backend.address(o.buffer).map(|at| at + extent.start as u64),
            owner: o.buffer.label().into(),
            allocation: o.buffer.len(),
            extent,
        }
    });
    Call {
        number,
        site: seen.site.clone(),
        op: seen.op.stem().name().into(),
        params: seen.op.params(),
        launch: None,
        arguments: arguments.collect(),
    }
}
