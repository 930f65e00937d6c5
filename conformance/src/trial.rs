//! One case under way: what it runs, what it finds.
//!
//! Every run of an op goes through [`Trial::outputs`], which applies the checks that hold for any op: inputs unmodified,
//! nothing written between or around the elements, the same bits again from other poison and in a second run.
//! [`Trial::conform`] adds the comparison with the oracle.

use std::borrow::Cow;
use std::fmt;

use kernels::decor::Poison;
use kernels::{
    Check, DType, Expected, Float, Layout, Numerics, Record, RecordOperand, Role, Spread, Support, Verdict,
    Worst,
};
use serde::{Deserialize, Serialize};

use crate::floats::Floats;
use crate::oracle;
use crate::target::{Promises, RunError, Target};

/// Bytes of operands above which an op runs once: large cases are about the borders of indices, and smaller ones of the same op show
/// whether it repeats itself.
const LARGE: usize = 512 << 10;

/// Elements from which on an output of zeros has to be far from the oracle's: of fewer, chance may make all small.
const VISIBLE: usize = 8;

/// What can be found wrong, by the check that finds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finder {
    /// An element is further from the oracle's value than its bound.
    Oracle,
    /// Every element is inside its bound, but the tensor's error as a whole is larger than rounding explains.
    Rms,
    /// Every element is inside its bound, but their errors have more of one sign than systematic errors and chance explain.
    Bias,
    /// A result that is exact in any order of summation has other bits.
    Exact,
    /// An input has changed.
    Inputs,
    /// A byte between the elements of an output, or around them in its buffer, has changed.
    Padding,
    /// A guard zone has changed.
    Guard,
    /// The result depends on what memory held before.
    Poison,
    /// Two runs of the same op differ.
    Determinism,
    /// An op that must be refused was not, or for another reason.
    Refusal,
    /// A relation between runs does not hold.
    Law,
    /// The device reported an error.
    Device,
    /// A constant output would have passed: the case proves nothing.
    Vacuous,
    /// The process died.
    Crash,
    /// The process did not answer in time.
    Hang,
    /// A case that is expected to fail has passed.
    Expectation,
}

impl fmt::Display for Finder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = format!("{self:?}").to_lowercase();
        f.pad(&name)
    }
}

/// Something wrong.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// Which check found it.
    pub found_by: Finder,
    /// What it is, with the numbers.
    pub what: String,
}

/// Why a case ends early.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The backend does not implement the op; its reason.
    Unsupported(String),
    /// A failure was recorded after which going on is pointless.
    Failed,
}

/// How outputs are compared; exchangeable so that the comparison itself can be put to the test.
pub type Judge = fn(&Expected, &Layout, &[u8]) -> Verdict;

/// A case under way on a target.
pub struct Trial<'t> {
    target: &'t dyn Target,
    judge: Judge,
    /// Types of the floats of every op that runs.
    floats: Floats,
    failures: Vec<Failure>,
    worst: Option<Worst>,
    compared: usize,
    /// What the target promises of all ops that ran.
    promises: Promises,
}

/// What a case found.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    /// Everything wrong.
    pub failures: Vec<Failure>,
    /// The element that used most of its bound.
    pub worst: Option<Worst>,
    /// Elements compared with the oracle.
    pub compared: usize,
}

/// The outputs of an op: name, layout, and the bytes of the elements in row-major order.
pub type Outputs = Vec<(String, Layout, Vec<u8>)>;

impl<'t> Trial<'t> {
    /// A case on `target`, compared by `judge`.
    pub fn new(target: &'t dyn Target, judge: Judge) -> Self {
        Trial {
            target,
            judge,
            floats: Floats::default(),
            failures: Vec::new(),
            worst: None,
            compared: 0,
            promises: Promises::ALL,
        }
    }

    /// The case with floats of these types in all of its ops.
    #[must_use]
    pub fn with_floats(mut self, floats: Floats) -> Self {
        self.floats = floats;
        self
    }

    /// What has been found.
    pub fn found(self) -> Found {
        Found { failures: self.failures, worst: self.worst, compared: self.compared }
    }

    /// Records a failure.
    pub fn fail(&mut self, found_by: Finder, what: impl Into<String>) {
        self.failures.push(Failure { found_by, what: what.into() });
    }

    /// Records the failure of a law unless it holds.
    pub fn law(&mut self, name: &str, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.fail(Finder::Law, format!("{name}: {}", what()));
        }
    }

    /// Records the failure of a law unless two results have the same bits. Of a target that does not promise equal bits each result
    /// has been compared with the oracle instead.
    pub fn same_bits(&mut self, name: &str, left: &[u8], right: &[u8]) {
        if self.promises.deterministic {
            self.equal(name, left, right);
        }
    }

    /// As [`Trial::same_bits`], of results that come from ops of different sizes, or on data of different magnitude.
    pub fn same_rows(&mut self, name: &str, left: &[u8], right: &[u8]) {
        if self.promises == Promises::ALL {
            self.equal(name, left, right);
        }
    }

    fn equal(&mut self, name: &str, left: &[u8], right: &[u8]) {
        let differ = left.iter().zip(right).position(|(l, r)| l != r);
        self.law(name, left.len() == right.len() && differ.is_none(), || match differ {
            Some(at) => format!("byte {at} is {:#04x} in one, {:#04x} in the other", left[at], right[at]),
            None => format!("{} bytes against {}", left.len(), right.len()),
        });
    }

    /// How the target computes an op.
    pub fn numerics(&self, record: &Record) -> Numerics {
        self.target.numerics(&self.floats.apply(record).form())
    }

    /// Runs an op, applies the checks that hold for any op, and returns its outputs. Outputs whose bits the target does not promise are
    /// compared with the oracle, so that a law about them is never empty.
    pub fn outputs(&mut self, record: &Record) -> Result<Outputs, Stop> {
        let record = &*self.floats.apply(record);
        let outputs = self.observed(record)?;
        if self.promises != Promises::ALL {
            let expected = self.expected(record)?;
            self.compare(&outputs, &expected, Finder::Oracle);
        }
        Ok(outputs)
    }

    /// The promises for an op. In a format shorter than f32, a power of two or a shift is no longer exact everywhere.
    fn promised(&self, record: &Record) -> Promises {
        let form = record.form();
        let exact = matches!(self.target.numerics(&form).accumulator, Float::F32 | Float::F64);
        let promised = self.target.promises(&form);
        Promises { batch_invariant: promised.batch_invariant && exact, ..promised }
    }

    fn observed(&mut self, record: &Record) -> Result<Outputs, Stop> {
        if let Support::No(reason) = self.target.supports(&record.form()) {
            return Err(Stop::Unsupported(reason));
        }
        let promised = self.promised(record);
        self.promises.deterministic &= promised.deterministic;
        self.promises.batch_invariant &= promised.batch_invariant;
        let first = self.run(record)?;
        self.untouched(record, &first);
        let outputs = outputs(record, &first);
        if record.operands().iter().map(|operand| operand.bytes.len()).sum::<usize>() > LARGE {
            return Ok(outputs);
        }
        let other = record.refilled(|len| Poison::Ramp.bytes(len));
        let second = self.run(&other)?;
        self.untouched(&other, &second);
        let others = crate::trial::outputs(&other, &second);
        if outputs != others && !promised.deterministic {
            // Equal bits were not promised; a right result was, whatever the output held before.
            let expected = self.expected(record)?;
            self.compare(&others, &expected, Finder::Poison);
        } else if outputs != others {
            let again = self.run(record)?;
            let (finder, what) = if outputs == crate::trial::outputs(record, &again) {
                (Finder::Poison, "the result depends on what the output held before")
            } else {
                (Finder::Determinism, "two runs on the same data differ")
            };
            self.fail(finder, what);
        }
        Ok(outputs)
    }

    fn run(&mut self, record: &Record) -> Result<Vec<Vec<u8>>, Stop> {
        self.target.run(record).map_err(|error| {
            let finder = match &error {
                RunError::Device(kernels::DeviceError::Overrun(_)) => Finder::Guard,
                RunError::Refused(_) => Finder::Refusal,
                RunError::Device(_) | RunError::Bind(_) => Finder::Device,
            };
            self.fail(finder, error.to_string());
            Stop::Failed
        })
    }

    /// Inputs as before; of the outputs' buffers, everything that belongs to no element as before.
    fn untouched(&mut self, record: &Record, after: &[Vec<u8>]) {
        for (operand, after) in record.operands().iter().zip(after) {
            let (finder, before) = match operand.role {
                Role::Output => (Finder::Padding, Cow::Owned(around(operand, after))),
                Role::Input | Role::Indices => (Finder::Inputs, Cow::Borrowed(&operand.bytes)),
            };
            if *before == *after {
                continue;
            }
            let changed = |at: &usize| before.get(*at) != after.get(*at);
            if let Some(at) = (0..before.len()).find(changed) {
                let (was, is) = (before[at], after[at]);
                let what =
                    format!("byte {at} of the buffer of '{}' was {was:#04x}, is {is:#04x}", operand.name);
                self.fail(finder, what);
            }
        }
    }

    /// Runs an op and compares its outputs with the oracle's.
    pub fn conform(&mut self, record: &Record) -> Result<Outputs, Stop> {
        let record = &*self.floats.apply(record);
        let outputs = self.observed(record)?;
        let expected = self.expected(record)?;
        self.compare(&outputs, &expected, Finder::Oracle);
        Ok(outputs)
    }

    /// As [`Trial::conform`], on data for which every order of summation is exact: the bits must be those of
    /// the oracle's value.
    pub fn conform_exactly(&mut self, record: &Record) -> Result<Outputs, Stop> {
        let record = &*self.floats.apply(record);
        let outputs = self.observed(record)?;
        let expected = self.expected(record)?.into_iter().zip(&outputs);
        let expected: Vec<_> = expected.map(|(expected, (_, layout, _))| exactly(expected, layout)).collect();
        self.compare(&outputs, &expected, Finder::Exact);
        Ok(outputs)
    }

    /// As [`Trial::conform`], and records a failure where an output of zeros would have passed as well. Of a target that declares sums
    /// in a format shorter than f32 the bound may be that wide: the case then says nothing, and is no pass.
    pub fn conform_visibly(&mut self, record: &Record) -> Result<Outputs, Stop> {
        let record = &*self.floats.apply(record);
        let outputs = self.observed(record)?;
        let expected = self.expected(record)?;
        self.compare(&outputs, &expected, Finder::Oracle);
        let accumulator = self.numerics(record).accumulator;
        match self.vacuous(&outputs, &expected) {
            Some(what) if matches!(accumulator, Float::F32 | Float::F64) => self.fail(Finder::Vacuous, what),
            Some(what) if self.failures.is_empty() => {
                return Err(Stop::Unsupported(format!(
                    "{what}: so wide is the bound of the declared sums in {accumulator:?}"
                )));
            }
            _ => {}
        }
        Ok(outputs)
    }

    /// The first output for which zeros would have passed, although they are not what is right.
    fn vacuous(&self, outputs: &Outputs, expected: &[Expected]) -> Option<String> {
        for ((name, layout, bytes), expected) in outputs.iter().zip(expected) {
            let many = layout.elements().is_some_and(|count| count >= VISIBLE);
            // In a format shorter than f32 everything may underflow.
            let zeros = |value: &[f64]| value.iter().all(|v| nearest(layout.dtype(), *v).abs() <= 0.0);
            let short = layout.dtype() != DType::F32;
            if short && matches!(expected, Expected::Within { value, .. } if zeros(value)) {
                continue;
            }
            if many && (self.judge)(expected, layout, &vec![0; bytes.len()]).passed() {
                return Some(format!("'{name}' of zeros would have passed"));
            }
        }
        None
    }

    /// Compares outputs with what is expected of them, one by one.
    pub fn compare(&mut self, outputs: &Outputs, expected: &[Expected], finder: Finder) {
        if outputs.len() != expected.len() {
            self.fail(finder, format!("{} outputs, the oracle has {}", outputs.len(), expected.len()));
        }
        for ((name, layout, bytes), expected) in outputs.iter().zip(expected) {
            let verdict = (self.judge)(expected, layout, bytes);
            self.compared += verdict.compared;
            if !verdict.passed() {
                let finder = match &verdict {
                    _ if verdict.outside > 0 || verdict.compared == 0 => finder,
                    _ if verdict.passed_but_for_bias() => Finder::Bias,
                    _ => Finder::Rms,
                };
                self.fail(finder, describe(name, layout, &verdict));
            }
            if let Some(worst) = verdict.worst
                && self.worst.as_ref().is_none_or(|w| worst.share > w.share)
            {
                self.worst = Some(worst);
            }
        }
    }

    /// How far each element of an op's first output may be from the exact result.
    pub fn bounds(&mut self, record: &Record) -> Result<Vec<f64>, Stop> {
        let record = &*self.floats.apply(record);
        Ok(match self.expected(record)?.into_iter().next() {
            Some(Expected::Within { bound, .. }) => bound,
            Some(Expected::Bits(_)) | None => Vec::new(),
        })
    }

    /// The oracle's answers for the target.
    fn expected(&mut self, record: &Record) -> Result<Vec<Expected>, Stop> {
        let numerics = self.numerics(record);
        oracle::answers(record, &numerics).map_err(|error| {
            self.fail(Finder::Refusal, format!("the reference: {error}"));
            Stop::Failed
        })
    }

    /// An op that must be refused: by validation, naming `operand` and `check`.
    pub fn refused(&mut self, record: &Record, operand: &str, check: Check) {
        match self.target.run(&self.floats.apply(record)) {
            Err(RunError::Refused(e)) if e.operand == operand && e.check == check => {}
            Err(error) => {
                self.fail(Finder::Refusal, format!("want a refusal of {check} of '{operand}', got: {error}"));
            }
            Ok(_) => self.fail(Finder::Refusal, format!("{check} of '{operand}' is wrong, and the op ran")),
        }
    }
}

impl fmt::Debug for Trial<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trial on {:?}, {} failures", self.target.identity(), self.failures.len())
    }
}

/// The value alone, rounded to f32 and then to the type of the output.
fn exactly(expected: Expected, out: &Layout) -> Expected {
    match expected {
        Expected::Bits(bytes) => Expected::Bits(bytes),
        Expected::Within { value, .. } => {
            // Adding 0 turns −0 into 0: the sign of a zero sum depends on the order.
            let values: Vec<f64> = value.iter().map(|v| nearest(out.dtype(), *v) + 0.0).collect();
            let nothing = vec![0.0; values.len()];
            let spread = vec![Spread::default(); values.len()];
            Expected::Within { value: values, bound: nothing.clone(), typical: nothing, spread }
        }
    }
}

/// `value` rounded to f32 and then to `dtype`, a float.
#[expect(clippy::cast_possible_truncation, reason = "rounding to the output's type is what is meant")]
fn nearest(dtype: DType, value: f64) -> f64 {
    let value = value as f32;
    f64::from(match dtype {
        DType::F16 => half::f16::from_f32(value).to_f32(),
        DType::BF16 => half::bf16::from_f32(value).to_f32(),
        _ => value,
    })
}

/// A comparison that did not pass, in a sentence.
pub fn describe(name: &str, layout: &Layout, verdict: &Verdict) -> String {
    let Verdict { compared, outside, worst, rms_share, bias } = verdict;
    match (worst, rms_share) {
        // Integers are right or wrong: no bound, no ulps.
        (Some(w), _) if *outside > 0 && layout.dtype() == DType::U32 => {
            format!("'{name}'{:?}: got {}, want {}; {outside} of {compared} wrong", w.index, w.got, w.want)
        }
        (Some(w), _) if *outside > 0 => format!(
            "'{name}'{:?}: got {}, want {}, bound {:.3e}, {:.1} ulp, {:.4} times the budget; {outside} of {compared} outside",
            w.index, w.got, w.want, w.bound, w.ulps, w.share
        ),
        _ if verdict.passed_but_for_bias() => match bias {
            Some(bias) => format!("'{name}': every element is inside its bound, but {bias}"),
            None => format!("'{name}' passes"),
        },
        (_, Some(share)) => {
            format!("'{name}': root mean square error is {share:.2} of what rounding explains")
        }
        _ => format!("'{name}': nothing could be compared"),
    }
}

fn outputs(record: &Record, buffers: &[Vec<u8>]) -> Outputs {
    let pairs = record.operands().iter().zip(buffers).filter(|(o, _)| o.role == Role::Output);
    pairs
        .map(|(o, bytes)| (o.name.clone(), o.layout, o.layout.gather(bytes, 0).unwrap_or_default()))
        .collect()
}

/// The buffer of an output with the elements of `after` in what was around them.
fn around(operand: &RecordOperand, after: &[u8]) -> Vec<u8> {
    let mut bytes = operand.bytes.clone();
    for row in operand.layout.rows() {
        bytes[row.clone()].copy_from_slice(&after[row]);
    }
    bytes
}
