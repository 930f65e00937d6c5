//! Ops run in ways that honest kernels do not notice.

use conformance::oracle;
use conformance::suite::{self, Filter};
use conformance::taken::Taken;
use conformance::target::RunError;
use kernels::{Backend, Expected, Layout, Record, RecordOperand, Role, Site, Stem, Support, quant};
use serde::{Deserialize, Serialize};

use super::sweep::reseeded;

/// A trick, by name and in a sentence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Trick {
    /// Its name.
    pub name: String,
    /// What was seen.
    pub what: String,
}

/// Cases whose ops are probed.
const PROBED: usize = 6;

/// Elements from which on a coincidence is none.
const ENOUGH: usize = 4;

/// Two ops of the same form on different data.
pub(super) struct Pair {
    /// The case that they come from.
    pub name: String,
    pub first: Record,
    pub second: Record,
}

/// A way to run an op that honest kernels do not notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Probe {
    /// Over the results of other data.
    LeftOver,
    /// On other data in the buffers of an earlier run.
    SameBuffers,
    /// On other data of the shape of an earlier run.
    SameShape,
    /// With another input, one at a time.
    OtherInput,
    /// With inputs that change as soon as the work is said to be done.
    AfterLaunch,
}

impl Probe {
    /// Every way.
    pub const ALL: [Probe; 5] =
        [Probe::LeftOver, Probe::SameBuffers, Probe::SameShape, Probe::OtherInput, Probe::AfterLaunch];

    /// The tricks that kernels of `stem` play on devices made by `open`, which have run nothing.
    pub fn tricks<B: Backend, E>(
        self,
        stem: Stem,
        seed: u64,
        taken: &Taken,
        mut open: impl FnMut() -> Result<B, E>,
    ) -> Result<Vec<Trick>, E> {
        let mut tricks = Vec::new();
        for pair in pairs(stem, seed, taken, &open()?) {
            let backend = open()?;
            let found = match self {
                Probe::LeftOver => left_over(&open()?, &backend, &pair),
                Probe::SameBuffers => remembered(&backend, &pair, true),
                Probe::SameShape => remembered(&backend, &pair, false),
                Probe::OtherInput => independent(&backend, &pair),
                Probe::AfterLaunch => after_launch(&open()?, &backend, &pair),
            };
            tricks.extend(found.ok().flatten());
        }
        Ok(tricks)
    }
}

/// What the tricks that the probes found come to: each once, and none that follows from another.
pub fn settled(found: impl IntoIterator<Item = Trick>) -> Vec<Trick> {
    let mut tricks: Vec<Trick> = Vec::new();
    for trick in found {
        if !tricks.iter().any(|known| known.name == trick.name) {
            tricks.push(trick);
        }
    }
    let has = |tricks: &[Trick], name: &str| tricks.iter().any(|trick| trick.name == name);
    // Who remembers by shape remembers by address as well, and over other results.
    if has(&tricks, "remembered_by_shape") {
        tricks.retain(|trick| !["remembered_by_pointer", "left_over"].contains(&trick.name.as_str()));
    }
    // A left-over is also a result that does not depend on the data.
    if tricks.iter().any(|trick| trick.name == "left_over" || trick.name.starts_with("remembered")) {
        tricks.retain(|trick| trick.name != "constant");
    }
    tricks
}

/// Pairs of ops that the kernels take: of different formats, with outputs that count as blank.
pub(super) fn pairs<B: Backend>(stem: Stem, seed: u64, taken: &Taken, backend: &B) -> Vec<Pair> {
    let names = |kind: &str| taken.pose_all(suite::names("soft", &Filter::new(&format!("{stem}/ /{kind},"))));
    let (names, exact) = (names("bounded"), names("exact"));
    let mut pairs: Vec<Pair> = Vec::new();
    let all: Vec<&String> =
        names.iter().chain(&exact).filter(|n| n.starts_with(&format!("{stem}/"))).collect();
    let step = (all.len() / 64).max(1);
    for name in all.into_iter().step_by(step) {
        if pairs.len() == PROBED {
            break;
        }
        let of = |seed: u64| suite::record(&reseeded(name, seed)).ok();
        let (Some(first), Some(second)) = (of(seed ^ 0x51), of(seed ^ 0xa7)) else { continue };
        let bytes: usize = first.operands().iter().map(|operand| operand.bytes.len()).sum();
        let form = first.form();
        let outputs = first.operands().iter().filter(|operand| operand.role == Role::Output);
        let elements: usize = outputs.map(|o| o.layout.elements().unwrap_or(0)).max().unwrap_or(0);
        let fits = form == second.form()
            && !form.reads_outputs()
            && (8..1 << 16).contains(&elements)
            && bytes < 1 << 20;
        if fits && backend.supports(&form) == Support::Yes {
            pairs.push(Pair { name: name.clone(), first, second });
        }
    }
    pairs
}

/// A device with buffers for one form of an op.
pub(super) struct Bench<'b, B: Backend> {
    backend: &'b B,
    stream: B::Stream,
    buffers: Vec<B::Buffer>,
}

/// The first output of an op: where it lies, its elements, and what is right.
struct Seen {
    layout: Layout,
    got: Vec<u8>,
    expected: Expected,
}

impl<'b, B: Backend> Bench<'b, B> {
    pub fn new(backend: &'b B, record: &Record) -> Result<Self, RunError> {
        let stream = backend.stream()?;
        let buffers = record.upload(backend, &stream)?;
        Ok(Bench { backend, stream, buffers })
    }

    /// Runs `record` in the buffers.
    fn run(&mut self, record: &Record) -> Result<Seen, RunError> {
        self.finish(record)?;
        self.seen(record)
    }

    /// The same without a look at the result.
    pub fn finish(&mut self, record: &Record) -> Result<(), RunError> {
        self.write(record, |_| true)?;
        let op = record.bind(&mut self.buffers)?.validate()?;
        self.backend.launch(&self.stream, op)?;
        Ok(self.backend.synchronize(&self.stream)?)
    }

    /// Puts the operands of the roles that count into the buffers.
    fn write(&mut self, record: &Record, counts: impl Fn(Role) -> bool) -> Result<(), RunError> {
        for (operand, buffer) in record.operands().iter().zip(&mut self.buffers) {
            if counts(operand.role) {
                self.backend.write(&self.stream, buffer, 0, &operand.bytes)?;
            }
        }
        Ok(())
    }

    /// What the buffers hold, against the right results of `record`.
    fn seen(&self, record: &Record) -> Result<Seen, RunError> {
        let at = record.operands().iter().position(|operand| operand.role == Role::Output);
        let (operand, buffer) = at.map_or((&record.operands()[0], &self.buffers[0]), |at| {
            (&record.operands()[at], &self.buffers[at])
        });
        let site = Site::outside(operand.name.clone());
        let bytes = self.backend.read_bytes(&self.stream, buffer, 0..operand.bytes.len(), &site)?;
        let bytes = kernels::Pending::wait(bytes)?;
        let layout = operand.layout;
        let got = layout.gather(&bytes, 0).unwrap_or_default();
        let numerics = self.backend.numerics(&record.form());
        let expected = oracle::answers(record, &numerics)?.into_iter().next();
        let expected = expected.unwrap_or_else(|| Expected::Bits(Vec::new()));
        Ok(Seen { layout, got, expected })
    }
}

impl Seen {
    /// The elements, and whether each is wrong.
    fn elements(&self) -> Vec<(&[u8], bool)> {
        let size = self.layout.dtype().block_bytes();
        let chunks = self.got.chunks_exact(size);
        match &self.expected {
            Expected::Bits(want) => {
                chunks.zip(want.chunks_exact(size)).map(|(got, want)| (got, got != want)).collect()
            }
            Expected::Within { value, bound, .. } => {
                let outside = |(got, (value, bound)): (&'_ [u8], (&f64, &f64))| {
                    let mut number = [f32::NAN];
                    // Bytes that are no float stay a NaN.
                    let _ = quant::decode_row(self.layout.dtype(), got, &mut number);
                    let [number] = number;
                    !((f64::from(number) - value).abs() <= *bound || (number.is_nan() && value.is_nan()))
                };
                chunks.zip(value.iter().zip(bound)).map(|(got, want)| (got, outside((got, want)))).collect()
            }
        }
    }

    /// How many elements are wrong.
    fn wrong(&self) -> usize {
        self.elements().iter().filter(|(_, wrong)| *wrong).count()
    }

    /// Whether there are wrong elements, and all of them are right results of `earlier`.
    fn is_explained_by(&self, earlier: &Seen) -> bool {
        let (elements, earlier) = (self.elements(), earlier.elements());
        let mut wrong = elements.iter().zip(&earlier).filter(|((_, wrong), _)| *wrong);
        self.wrong() >= ENOUGH && wrong.all(|((got, _), (before, was_wrong))| got == before && !was_wrong)
    }
}

/// The record with `bytes` as the elements of its first output.
fn holding(record: &Record, elements: &[u8]) -> Record {
    let mut filled = Record::new(record.stem);
    filled.params.clone_from(&record.params);
    let mut first = true;
    for operand in record.operands() {
        let mut bytes = operand.bytes.clone();
        if operand.role == Role::Output && std::mem::take(&mut first) {
            let mut from = elements;
            for row in operand.layout.rows() {
                let (part, rest) = from.split_at(row.len().min(from.len()));
                bytes[row.start..row.start + part.len()].copy_from_slice(part);
                from = rest;
            }
        }
        filled = filled.operand(&operand.name, operand.role, operand.layout, bytes);
    }
    filled
}

/// Whether an output that already holds results is left as it is.
fn left_over<B: Backend>(earlier: &B, backend: &B, pair: &Pair) -> Result<Option<Trick>, RunError> {
    let before = Bench::new(earlier, &pair.first)?.run(&pair.first)?;
    let over = holding(&pair.second, &before.got);
    let seen = Bench::new(backend, &over)?.run(&over)?;
    let what = format!(
        "an output that holds the results of other data is left as it is: {}, over the result of another seed",
        pair.name
    );
    Ok(seen.is_explained_by(&before).then_some(Trick { name: "left_over".into(), what }))
}

/// Whether the results of other data come again, in the same buffers or in new ones.
fn remembered<B: Backend>(backend: &B, pair: &Pair, same: bool) -> Result<Option<Trick>, RunError> {
    let mut bench = Bench::new(backend, &pair.first)?;
    let before = bench.run(&pair.first)?;
    let mut other = Bench::new(backend, &pair.second)?;
    let seen = if same { bench.run(&pair.second)? } else { other.run(&pair.second)? };
    let (name, by) = if same {
        ("remembered_by_pointer", "the same buffers")
    } else {
        ("remembered_by_shape", "other buffers, the same shape")
    };
    let what = format!("results of an earlier run come again for other data: {}, {by}", pair.name);
    Ok(seen.is_explained_by(&before).then_some(Trick { name: name.into(), what }))
}

/// Whether the result stays the same when one of the inputs changes.
fn independent<B: Backend>(backend: &B, pair: &Pair) -> Result<Option<Trick>, RunError> {
    for input in pair.first.operands().iter().filter(|operand| operand.role == Role::Input) {
        if let Some(trick) = independent_of(backend, pair, input)? {
            return Ok(Some(trick));
        }
    }
    Ok(None)
}

/// Whether the result stays the same when `input` changes.
fn independent_of<B: Backend>(
    backend: &B,
    pair: &Pair,
    input: &RecordOperand,
) -> Result<Option<Trick>, RunError> {
    let mut changed = Record::new(pair.first.stem);
    changed.params.clone_from(&pair.first.params);
    for (operand, other) in pair.first.operands().iter().zip(pair.second.operands()) {
        let bytes = if operand.name == input.name { &other.bytes } else { &operand.bytes };
        changed = changed.operand(&operand.name, operand.role, operand.layout, bytes.clone());
    }
    let first = Bench::new(backend, &pair.first)?.run(&pair.first)?;
    let second = Bench::new(backend, &changed)?.run(&changed)?;
    if first.got != second.got || first.wrong().max(second.wrong()) < ENOUGH {
        return Ok(None);
    }
    let zero = first.got.iter().all(|byte| *byte == 0);
    let kind = if zero { "the output is zero" } else { "the output is constant" };
    let what = format!("{kind}: it does not depend on '{}': {}", input.name, pair.name);
    Ok(Some(Trick { name: "constant".into(), what }))
}

/// Whether the result is that of data which came only after the work was said to be done.
fn after_launch<B: Backend>(honest: &B, backend: &B, pair: &Pair) -> Result<Option<Trick>, RunError> {
    let right = Bench::new(honest, &pair.first)?.run(&pair.first)?;
    let mut bench = Bench::new(backend, &pair.first)?;
    bench.finish(&pair.first)?;
    bench.write(&pair.second, |role| role == Role::Input)?;
    let seen = bench.seen(&pair.first)?;
    let moved = right.wrong() == 0 && seen.wrong() >= ENOUGH;
    let what = format!(
        "it computes after launch and synchronisation have returned: with inputs that change then, the result changes: {}",
        pair.name
    );
    Ok(moved.then_some(Trick { name: "work_moved".into(), what }))
}
