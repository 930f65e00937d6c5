//! The right run: each of its ops is put to the oracle, and compared with the left run's.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;

use conformance::guard::Guard;
use conformance::oracle::answers;
use conformance::trial::describe;
use kernels::decor::{Seen, Watch};
use kernels::{Backend, DeviceError, Expected, Layout, Numerics, Pending, Record, Role, Site, Stem, Verdict};

use super::left::{Told, fingerprint, is_constant};
use super::{Cell, Drift, Finding, Histogram, KEPT, Kind};
use crate::capsule::crop::{self, Given, elements};
use crate::capsule::{self, CapsuleError, Origin};
use crate::pattern::{self, Evidence, Guess};
use crate::provenance::{self, ModelId};

/// Outputs up to this size are kept until the next step, to be recognised where they should not be.
const REMEMBERED: usize = 1 << 18;

/// What the right run has come to.
#[derive(Default)]
pub(super) struct Log {
    pub(super) cells: Vec<Cell>,
    pub(super) findings: Vec<Finding>,
    pub(super) found: usize,
    pub(super) compared: usize,
    /// The run was ended by its first finding.
    pub(super) stopped: bool,
    /// The run was ended by the end of the left one.
    pub(super) orphaned: bool,
    /// The op under way.
    pub(super) current: Option<(Stem, Site)>,
    /// Its capsule, where the device failed.
    pub(super) kept: Option<PathBuf>,
    /// Outputs by layer and point, as they last were.
    last: HashMap<(Option<usize>, Cow<'static, str>), Vec<u8>>,
    /// Outputs by point, of whatever layer came last.
    nearest: HashMap<Cow<'static, str>, Vec<u8>>,
}

/// What to do about findings.
pub(super) struct Settings<'a> {
    /// Goes on after a finding.
    pub(super) collect: bool,
    /// Folder for capsules.
    pub(super) capsules: Option<&'a Path>,
    /// Name of the backend.
    pub(super) backend: &'a str,
    pub(super) model: Option<&'a ModelId>,
    /// Told of each op.
    pub(super) progress: &'a RefCell<dyn FnMut(&Cell) + 'a>,
}

/// Puts each op to the oracle.
pub(super) struct Shadow<'a> {
    pub(super) left: Receiver<Told>,
    pub(super) log: &'a RefCell<Log>,
    pub(super) settings: Settings<'a>,
    /// The op under way, as it was before it ran.
    pub(super) before: RefCell<Option<Record>>,
}

impl<D: Backend> Watch<D> for Shadow<'_> {
    /// NaN in every float format, so that reads of memory that was never written show.
    fn fill(&self) -> Option<u8> {
        Some(0xff)
    }

    fn before(&self, seen: &Seen<'_, D>) -> Result<(), DeviceError> {
        self.log.borrow_mut().current = Some((seen.op.stem(), site(seen)));
        let content = |buffer: &D::Buffer, range| {
            seen.backend.read_bytes(seen.stream, buffer, range, &Site::outside("operand"))?.wait()
        };
        self.before.replace(Some(Record::cropped(seen.op, content)?));
        Ok(())
    }

    fn after(&self, seen: &Seen<'_, D>, ran: Result<(), DeviceError>) -> Result<(), DeviceError> {
        let record = self.before.take();
        let record = record.ok_or_else(|| DeviceError::Watch("an op ended that had not begun".into()))?;
        let site = site(seen);
        // Reading something back waits for the op: where it faults, it is this one and not the next.
        if let Err(error) = ran.and_then(|()| seen.backend.synchronize(seen.stream)) {
            self.log.borrow_mut().kept = self.settings.capsules.and_then(|folder| {
                let device = seen.backend.identity().device;
                self.keep(&record, &site, device, &[], &[], folder).ok()
            });
            return Err(error);
        }
        let Ok(told) = self.left.recv() else {
            self.log.borrow_mut().orphaned = true;
            return Err(DeviceError::Stopped("the left run has ended".into()));
        };
        if told.stem != record.stem {
            let what = format!("the left run computes {}, this one {}: not in step", told.stem, record.stem);
            return Err(DeviceError::Watch(what));
        }
        let found_before = self.log.borrow().found;
        self.operands(seen, &record, &told, &site)?;
        let numerics = seen.backend.numerics(&record.form());
        let expected =
            answers(&record, &numerics).map_err(|e| DeviceError::Watch(format!("the oracle: {e}")))?;
        let mut cell = Cell::new(site.clone(), record.stem.name());
        let op = Underway {
            record: &record,
            numerics,
            site: &site,
            device: seen.backend.identity().device,
            told: &told,
        };
        let outputs = seen.op.operands().into_iter().filter(|o| o.role == Role::Output);
        for (at, (operand, expected)) in outputs.zip(&expected).enumerate() {
            let got = elements(seen, &operand)?;
            let output =
                Output { at, name: operand.name, layout: operand.layout.densified(), expected, got: &got };
            self.output(&op, &output, &mut cell);
            if got.len() <= REMEMBERED && at == 0 {
                let mut log = self.log.borrow_mut();
                log.nearest.insert(site.point.clone(), got.clone());
                log.last.insert((site.layer, site.point.clone()), got);
            }
        }
        (self.settings.progress.borrow_mut())(&cell);
        self.log.borrow_mut().cells.push(cell);
        if self.log.borrow().found > found_before && !self.settings.collect {
            self.log.borrow_mut().stopped = true;
            return Err(DeviceError::Stopped("stopped at the first finding".into()));
        }
        Ok(())
    }
}

/// Where the op stands; the engine says so of every op.
fn site<D: Backend>(seen: &Seen<'_, D>) -> Site {
    seen.site.clone().unwrap_or_else(|| Site::outside(""))
}

/// The op under way.
struct Underway<'u> {
    /// As it was before it ran.
    record: &'u Record,
    numerics: Numerics,
    site: &'u Site,
    device: String,
    /// The left run's.
    told: &'u Told,
}

/// An output of the op under way.
struct Output<'o> {
    /// Number among the outputs.
    at: usize,
    name: &'static str,
    layout: Layout,
    expected: &'o Expected,
    got: &'o [u8],
}

impl Shadow<'_> {
    /// Inputs unchanged; weights and indices as on the left.
    fn operands<D: Backend>(
        &self,
        seen: &Seen<'_, D>,
        record: &Record,
        told: &Told,
        site: &Site,
    ) -> Result<(), DeviceError> {
        for operand in seen.op.operands().iter().filter(|o| o.role != Role::Output) {
            let now = elements(seen, operand)?;
            let held = record.find(operand.name).and_then(|o| o.layout.gather(&o.bytes, 0));
            let finding = |kind, what: String| Finding {
                kind,
                site: site.clone(),
                op: record.stem.name().into(),
                operand: operand.name.into(),
                layout: format!("{:?}", operand.layout),
                what,
                verdict: None,
                left: None,
                guesses: Vec::new(),
                histogram: None,
                capsule: None,
            };
            if let Some(at) = held.as_ref().and_then(|held| held.iter().zip(&now).position(|(a, b)| a != b)) {
                let what = format!("the op changed its input '{}' from byte {at} on", operand.name);
                self.add(finding(Kind::InputChanged, what));
            }
            let left = told.constants.iter().find(|(name, _)| *name == operand.name).map(|(_, hash)| *hash);
            let own = held.filter(|_| is_constant(operand)).map(|held| fingerprint(&held));
            if let (Some(left), Some(own)) = (left, own)
                && left != own
            {
                let what = format!("the bytes of '{}' are not those of the left run", operand.name);
                self.add(finding(Kind::Operand, what));
            }
        }
        Ok(())
    }

    /// Reads an output in both ways.
    fn output(&self, op: &Underway<'_>, output: &Output<'_>, cell: &mut Cell) {
        let verdict = output.expected.judge(&output.layout, output.got);
        if let Some(worst) = &verdict.worst
            && cell.share.is_none_or(|share| worst.share > share)
        {
            (cell.share, cell.ulps) = (Some(worst.share), Some(worst.ulps));
        }
        cell.rms = [cell.rms, verdict.rms_share].into_iter().flatten().reduce(f64::max);
        self.log.borrow_mut().compared += verdict.compared;
        let left = op.told.outputs.get(output.at).filter(|(layout, _)| *layout == output.layout);
        let left = left.and_then(|(layout, bytes)| pattern::numbers(layout, bytes));
        // The slots of a cache that nobody has written hold whatever they held.
        if let (Some(left), false) = (&left, op.record.stem == Stem::KvWrite)
            && let Some(right) = pattern::numbers(&output.layout, output.got)
        {
            cell.drift = Drift::between(left, &right);
        }
        if !verdict.passed() {
            self.add(self.finding(op, output, left.as_deref(), verdict));
        }
    }

    fn finding(
        &self,
        op: &Underway<'_>,
        output: &Output<'_>,
        left: Option<&[f64]>,
        verdict: Verdict,
    ) -> Finding {
        let index = verdict.worst.as_ref().map(|w| w.index.clone()).unwrap_or_default();
        let flat = index.iter().zip(output.layout.shape()).fold(0, |at, (i, extent)| at * extent + i);
        let want = match output.expected {
            Expected::Within { value, .. } => Some(value.clone()),
            Expected::Bits(bytes) => pattern::numbers(&output.layout, bytes),
        };
        let got = pattern::numbers(&output.layout, output.got);
        let mut what = describe(output.name, &output.layout, &verdict);
        let capsule = self.settings.capsules.and_then(|folder| {
            let elements = output.got.to_vec();
            let given = Given { name: output.name.into(), layout: output.layout, elements };
            let kept = self.keep(op.record, op.site, op.device.clone(), &[given], &index, folder);
            kept.map_err(|error| what = format!("{what}; no capsule: {error}")).ok()
        });
        Finding {
            kind: Kind::Local,
            site: op.site.clone(),
            op: op.record.stem.name().into(),
            operand: output.name.into(),
            layout: format!("{:?}", output.layout),
            what,
            verdict: Some(verdict),
            left: left.and_then(|left| left.get(flat).copied()),
            guesses: self.guesses(op, output),
            histogram: want.zip(got).map(|(want, got)| Histogram::new(&want, &got)),
            capsule,
        }
    }

    fn guesses(&self, op: &Underway<'_>, output: &Output<'_>) -> Vec<Guess> {
        let log = self.log.borrow();
        let earlier: Vec<(&'static str, &[u8])> = [
            ("the previous step's value", log.last.get(&(op.site.layer, op.site.point.clone()))),
            ("the previous layer's value: never written", log.nearest.get(&op.site.point)),
        ]
        .into_iter()
        .filter_map(|(what, bytes)| Some((what, bytes?.as_slice())))
        .filter(|(_, bytes)| bytes.len() == output.got.len())
        .collect();
        pattern::guess(&Evidence {
            record: op.record,
            output: output.at,
            layout: &output.layout,
            expected: output.expected,
            got: output.got,
            numerics: &op.numerics,
            earlier: &earlier,
        })
    }

    /// Writes a capsule of the op, cut to a size that can be sent.
    fn keep(
        &self,
        record: &Record,
        site: &Site,
        device: String,
        given: &[Given],
        index: &[usize],
        folder: &Path,
    ) -> Result<PathBuf, CapsuleError> {
        let origin = Origin {
            backend: self.settings.backend.into(),
            device,
            build: provenance::build().into(),
            guard: Some(Guard::Off),
            model: self.settings.model.cloned(),
            site: Some(site.clone()),
            cut: None,
        };
        let name = crop::name(record.stem, site);
        let path = folder.join(format!("{name}.capsule"));
        capsule::write(&path, provenance::build(), &[crop::cropped(name, record, given, index, origin)])?;
        Ok(path)
    }

    fn add(&self, finding: Finding) {
        let mut log = self.log.borrow_mut();
        log.found += 1;
        if log.findings.len() < KEPT {
            log.findings.push(finding);
        }
    }
}
