//! One op taken out of a run, as a capsule: whichever is asked for, right or wrong.

use std::cell::RefCell;
use std::collections::BTreeSet;

use engine::generate::GenerateError;
use kernels::decor::{Seen, Watch};
use kernels::{Backend, DeviceError, Pending, Record, Role, Tag, Verdict};

use crate::backends::{Guard, Job};
use crate::capsule::{Capsule, Origin};
use crate::keep::{self, Given};
use crate::place::Where;
use crate::provenance::{self, ModelId};
use crate::run::Run;
use crate::trial::answers;

/// Which op of which run.
#[derive(Clone, Copy, Debug)]
pub struct Take<'a> {
    /// The run; it ends at the op.
    pub run: Run<'a>,
    /// The model's file.
    pub model: &'a ModelId,
    /// Name of the backend.
    pub backend: &'a str,
    /// Where the op stands; the first one there is taken.
    pub place: &'a Where,
}

/// What came of it.
#[derive(Debug)]
pub enum Taken {
    /// The op, and how it did against the oracle; no verdict where the device failed.
    Op(Box<Capsule>, Option<Verdict>),
    /// The run ended without such an op; the layers and points that it has.
    Nowhere {
        /// Layers that ran.
        layers: usize,
        /// Trace points.
        points: BTreeSet<&'static str>,
    },
}

impl Job for Take<'_> {
    type Answer = Result<Taken, GenerateError>;

    fn run<B: Backend + 'static>(self, backend: B) -> Self::Answer {
        let state = RefCell::new(State::default());
        let ended = self.run.go(backend, Box::new(Taker { take: self, state: &state }));
        let State { taken, layers, points, .. } = state.into_inner();
        match (taken, ended) {
            (Some((capsule, verdict)), _) => Ok(Taken::Op(Box::new(capsule), verdict)),
            (None, Ok(())) => Ok(Taken::Nowhere { layers, points }),
            (None, Err(error)) => Err(error),
        }
    }
}

#[derive(Default)]
struct State {
    /// The op under way, where it is the one.
    before: Option<Record>,
    taken: Option<(Capsule, Option<Verdict>)>,
    layers: usize,
    points: BTreeSet<&'static str>,
}

/// Waits for the op.
struct Taker<'a> {
    take: Take<'a>,
    state: &'a RefCell<State>,
}

impl<D: Backend> Watch<D> for Taker<'_> {
    /// A capsule holds all of a buffer, and a device that checks minds reading what nobody wrote.
    fn fill(&self) -> Option<u8> {
        Some(0xff)
    }

    fn before(&self, seen: &Seen<'_, D>) -> Result<(), DeviceError> {
        let mut state = self.state.borrow_mut();
        if let Some(site) = seen.site {
            state.layers = state.layers.max(site.layer.map_or(0, |l| l + 1));
            state.points.insert(site.point);
        }
        if self.take.place.includes(seen.site) {
            let content = |buffer: &D::Buffer, range| {
                seen.backend.read_bytes(seen.stream, buffer, range, Tag::of("operand"))?.wait()
            };
            state.before = Some(Record::cropped(seen.op, content)?);
        }
        Ok(())
    }

    fn after(&self, seen: &Seen<'_, D>, ran: Result<(), DeviceError>) -> Result<(), DeviceError> {
        let Some(record) = self.state.borrow_mut().before.take() else { return ran };
        let outputs = || -> Result<Vec<Given>, DeviceError> {
            let operands = seen.op.operands().into_iter().filter(|o| o.role == Role::Output);
            let given = operands.map(|o| {
                let elements = keep::elements(seen, &o)?;
                Ok(Given { name: o.name.into(), layout: o.layout.densified(), elements })
            });
            given.collect()
        };
        let given = ran.and_then(|()| outputs());
        let verdict = match &given {
            Ok(given) => Some(judge(&record, given, seen)?),
            Err(_) => None,
        };
        let origin = Origin {
            backend: self.take.backend.into(),
            device: seen.backend.identity().device,
            build: provenance::build().into(),
            guard: Some(Guard::Off),
            model: Some(self.take.model.clone()),
            site: seen.site.map(Into::into),
            cut: None,
        };
        let name = seen.site.map_or_else(|| record.stem.to_string(), |site| keep::name(record.stem, site));
        let worst = verdict.as_ref().and_then(|v| v.worst.as_ref());
        let index = worst.map(|w| w.index.clone()).unwrap_or_default();
        let capsule = keep::capsule(name, &record, given.as_deref().unwrap_or_default(), &index, origin);
        self.state.borrow_mut().taken = Some((capsule, verdict));
        Err(DeviceError::Lost("the op is taken".into()))
    }
}

/// The verdict on the output that is worst off.
fn judge<D: Backend>(record: &Record, given: &[Given], seen: &Seen<'_, D>) -> Result<Verdict, DeviceError> {
    let oracle = |e| DeviceError::Lost(format!("the oracle: {e}"));
    let expected = answers(record, &seen.backend.numerics(&record.form())).map_err(oracle)?;
    let verdicts = given.iter().zip(&expected).map(|(g, expected)| expected.judge(&g.layout, &g.elements));
    let share = |verdict: &Verdict| verdict.worst.as_ref().map_or(0.0, |w| w.share);
    let worst = verdicts.max_by(|a, b| share(a).total_cmp(&share(b)));
    worst.ok_or_else(|| DeviceError::Lost(format!("{} has no output", record.stem)))
}
