//! One op of a model's run as a capsule, whichever is asked for, right or wrong.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;

use conformance::guard::Guard;
use conformance::oracle::answers;
use conformance::registry::Job;
use engine::generate::GenerateError;
use kernels::decor::{Seen, Watch};
use kernels::{Backend, DeviceError, Pending, Record, Role, Site, SiteFilter, Verdict};

use super::crop::{self, Given};
use super::{Capsule, Origin};
use crate::provenance::{self, ModelId};
use crate::run::Run;

/// Which op of which run.
#[derive(Clone, Copy, Debug)]
pub struct Extract<'a> {
    /// The run; it ends at the op.
    pub run: Run<'a>,
    /// The model's file.
    pub model: &'a ModelId,
    /// Name of the backend.
    pub backend: &'a str,
    /// Where the op stands; the first one there is extracted.
    pub filter: &'a SiteFilter,
}

/// What came of it.
#[derive(Debug)]
pub enum Extracted {
    /// The op, and how it did against the oracle; no verdict where the device failed.
    Op(Box<Capsule>, Option<Verdict>),
    /// The run ended without such an op; the layers and points that it has.
    Nowhere {
        /// Layers that ran.
        layers: usize,
        /// Trace points.
        points: BTreeSet<Cow<'static, str>>,
    },
}

impl Job for Extract<'_> {
    type Answer = Result<Extracted, GenerateError>;

    fn run<B: Backend + 'static>(self, backend: B) -> Self::Answer {
        let state = RefCell::new(State::default());
        let ended = self.run.go(backend, Box::new(Extractor { extract: self, state: &state }));
        let State { extracted, layers, points, .. } = state.into_inner();
        match (extracted, ended) {
            (Some((capsule, verdict)), _) => Ok(Extracted::Op(Box::new(capsule), verdict)),
            (None, Ok(())) => Ok(Extracted::Nowhere { layers, points }),
            (None, Err(error)) => Err(error),
        }
    }
}

#[derive(Default)]
struct State {
    /// The op under way, where it is the one.
    before: Option<Record>,
    extracted: Option<(Capsule, Option<Verdict>)>,
    layers: usize,
    points: BTreeSet<Cow<'static, str>>,
}

/// Waits for the op.
struct Extractor<'a> {
    extract: Extract<'a>,
    state: &'a RefCell<State>,
}

impl<D: Backend> Watch<D> for Extractor<'_> {
    /// A capsule holds whole buffers, and a checking device reports reads of bytes that were never written.
    fn fill(&self) -> Option<u8> {
        Some(0xff)
    }

    fn before(&self, seen: &Seen<'_, D>) -> Result<(), DeviceError> {
        let mut state = self.state.borrow_mut();
        if let Some(site) = &seen.site {
            state.layers = state.layers.max(site.layer.map_or(0, |l| l + 1));
            state.points.insert(site.point.clone());
        }
        if self.extract.filter.includes(seen.site.as_ref()) {
            let content = |buffer: &D::Buffer, range| {
                seen.backend.read_bytes(seen.stream, buffer, range, &Site::outside("operand"))?.wait()
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
                let elements = crop::elements(seen, &o)?;
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
            backend: self.extract.backend.into(),
            device: seen.backend.identity().device,
            build: provenance::build().into(),
            guard: Some(Guard::Off),
            model: Some(self.extract.model.clone()),
            site: seen.site.clone(),
            cut: None,
        };
        let name =
            seen.site.as_ref().map_or_else(|| record.stem.to_string(), |site| crop::name(record.stem, site));
        let worst = verdict.as_ref().and_then(|v| v.worst.as_ref());
        let index = worst.map(|w| w.index.clone()).unwrap_or_default();
        let capsule = crop::cropped(name, &record, given.as_deref().unwrap_or_default(), &index, origin);
        self.state.borrow_mut().extracted = Some((capsule, verdict));
        Err(DeviceError::Stopped("the op is extracted".into()))
    }
}

/// The verdict on the output that is worst off.
fn judge<D: Backend>(record: &Record, given: &[Given], seen: &Seen<'_, D>) -> Result<Verdict, DeviceError> {
    let oracle = |e| DeviceError::Watch(format!("the oracle: {e}"));
    let expected = answers(record, &seen.backend.numerics(&record.form())).map_err(oracle)?;
    let verdicts = given.iter().zip(&expected).map(|(g, expected)| expected.judge(&g.layout, &g.elements));
    let share = |verdict: &Verdict| verdict.worst.as_ref().map_or(0.0, |w| w.share);
    let worst = verdicts.max_by(|a, b| share(a).total_cmp(&share(b)));
    worst.ok_or_else(|| DeviceError::Lost(format!("{} has no output", record.stem)))
}
