//! How small a bias the suite sees: the largest factor that results can be off by before a case fails.
//!
//! A target is given a bias: the elements of its outputs are multiplied by `1 + e`. Per group of cases, the largest `e` is searched for
//! with which all of them pass, by halving, once under bounds and root mean square errors alone and once with the judgement by
//! [`bias`](kernels::bias) as well. A bias can have either sign; the larger of the two that pass counts.
//!
//! Elements that have to be exact, such as those that an op copies, keep their values: any bias shows in them. For the same reason only
//! *bounded* cases take part. Exact ones pose whole numbers, on which an implementation does not round and most functions are right:
//! a factor would show in them at once, and what makes such a factor in a kernel would not.

use std::cell::{Cell, RefCell};

use kernels::{
    Breakpoint, Class, DType, Expected, Identity, Layout, Numerics, OpForm, Record, Role, Stem, Support,
    Verdict, quant,
};

use crate::name::NameError;
use crate::oracle;
use crate::outcome::Outcome;
use crate::recent::Recent;
use crate::suite::{self, JUDGE};
use crate::target::{Promises, RunError, Target};
use crate::trial::Judge;

/// A bias that every case notices which notices any: half of every result.
const LARGEST: f64 = 0.5;

/// The search ends when the bias is known to this factor.
const PRECISION: f64 = 1.01;

/// Judged by bounds and root mean square errors alone.
fn by_bounds(expected: &Expected, layout: &Layout, got: &[u8]) -> Verdict {
    Verdict { bias: None, ..expected.judge(layout, got) }
}

/// What is searched for: under which judgement, with which sign.
const SEARCHES: [(Judge, f64); 4] = [(by_bounds, 1.0), (by_bounds, -1.0), (JUDGE, 1.0), (JUDGE, -1.0)];

/// The largest bias of a group of cases, as far as they have been tried.
#[derive(Clone, PartialEq, Debug)]
pub struct Sensitivity {
    found: [f64; 4],
    /// The case that notices a smaller bias than all others, under both judgements.
    noticed_by: [Option<String>; 4],
    /// Cases that took part.
    pub cases: usize,
}

impl Default for Sensitivity {
    fn default() -> Self {
        Sensitivity { found: [LARGEST; 4], noticed_by: Default::default(), cases: 0 }
    }
}

/// A case that fails without a bias.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{name} fails without a bias: {why}")]
pub struct FailsAnyway {
    /// Its full name.
    pub name: String,
    /// The first thing wrong.
    pub why: String,
}

/// Why a case says nothing about sensitivity.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Error {
    /// There is no such case.
    #[error(transparent)]
    Name(#[from] NameError),
    /// It fails as it is.
    #[error(transparent)]
    Fails(#[from] FailsAnyway),
}

impl Sensitivity {
    /// The largest bias that passes under bounds and root mean square errors alone.
    pub fn by_bounds(&self) -> f64 {
        self.found[0].max(self.found[1])
    }

    /// The largest bias that passes.
    pub fn with_statistics(&self) -> f64 {
        self.found[2].max(self.found[3])
    }

    /// The case that decides how large a bias passes.
    pub fn noticed_by(&self) -> Option<&str> {
        let decides = if self.found[2] >= self.found[3] { 2 } else { 3 };
        self.noticed_by[decides].as_deref()
    }

    /// Tries the case called `full` on `target`; true where it took part.
    pub fn add(&mut self, full: &str, target: &dyn Target) -> Result<bool, Error> {
        let biased = Biased { target, bias: Cell::new(0.0), honest: RefCell::new(Recent::new()) };
        let run = |bias: f64, judge: Judge| {
            biased.bias.set(bias);
            suite::run(full, &biased, judge).map(|result| result.outcome)
        };
        match run(0.0, JUDGE)? {
            Outcome::Passed => {}
            Outcome::Failed(failures) => {
                let why = failures.into_iter().next().map_or(String::new(), |failure| failure.what);
                return Err(FailsAnyway { name: full.into(), why }.into());
            }
            Outcome::Unsupported(_) | Outcome::Ignored(_) | Outcome::ExpectedFailure(_) => return Ok(false),
        }
        self.cases += 1;
        for (nth, (judge, sign)) in SEARCHES.into_iter().enumerate() {
            let passes = |bias: f64| run(sign * bias, judge).map(|outcome| outcome == Outcome::Passed);
            if passes(self.found[nth])? {
                continue;
            }
            // Half of a rounding to f32 changes nothing: below it, everything passes.
            let (mut passed, mut failed) = (f64::from(f32::EPSILON) / 16.0, self.found[nth]);
            while failed / passed > PRECISION {
                let middle = (passed * failed).sqrt();
                *(if passes(middle)? { &mut passed } else { &mut failed }) = middle;
            }
            self.found[nth] = passed;
            self.noticed_by[nth] = Some(full.into());
        }
        Ok(true)
    }
}

/// Whether a bias of the op's results is a matter of degree: exact and correctly rounded results have none.
pub fn can_be_biased(stem: Stem) -> bool {
    stem.facts().class == Class::Bounded
}

/// A target whose results are all too large by a factor.
struct Biased<'t> {
    target: &'t dyn Target,
    /// What they are too large by.
    bias: Cell<f64>,
    /// What the target itself made of the last ops.
    honest: RefCell<Recent<Record, Vec<Vec<u8>>, 4>>,
}

impl Target for Biased<'_> {
    fn identity(&self) -> Identity {
        self.target.identity()
    }

    fn supports(&self, form: &OpForm) -> Support {
        self.target.supports(form)
    }

    fn breakpoints(&self, form: &OpForm) -> Vec<Breakpoint> {
        self.target.breakpoints(form)
    }

    fn numerics(&self, form: &OpForm) -> Numerics {
        self.target.numerics(form)
    }

    fn promises(&self, form: &OpForm) -> Promises {
        self.target.promises(form)
    }

    fn run(&self, record: &Record) -> Result<Vec<Vec<u8>>, RunError> {
        let known = self.honest.borrow_mut().find(|asked| asked == record);
        let mut buffers = if let Some(buffers) = known {
            buffers
        } else {
            let buffers = self.target.run(record)?;
            self.honest.borrow_mut().add(record.clone(), buffers.clone());
            buffers
        };
        let expected = oracle::answers(record, &self.numerics(&record.form()))?;
        let outputs = record.operands().iter().zip(&mut buffers).filter(|(o, _)| o.role == Role::Output);
        for ((operand, buffer), expected) in outputs.zip(expected) {
            let Expected::Within { bound, .. } = expected else { continue };
            let mut bounds = bound.into_iter();
            for row in operand.layout.rows() {
                multiply(operand.layout.dtype(), &mut buffer[row], 1.0 + self.bias.get(), &mut bounds);
            }
        }
        Ok(buffers)
    }
}

/// Multiplies the floats in `bytes`, rounded to nearest; those with a bound of 0 stay.
#[expect(clippy::cast_possible_truncation, reason = "rounding to the output's type is what is meant")]
fn multiply(dtype: DType, bytes: &mut [u8], factor: f64, bounds: &mut impl Iterator<Item = f64>) {
    let mut values = vec![0.0f32; bytes.len() / dtype.block_bytes() * dtype.block_len()];
    if DType::FLOATS.contains(&dtype) && quant::decode_row(dtype, bytes, &mut values).is_ok() {
        for (value, _) in values.iter_mut().zip(bounds).filter(|(_, bound)| *bound > 0.0) {
            *value = (f64::from(*value) * factor) as f32;
        }
        // Whole rows of a float format always encode.
        let _ = quant::encode_row(dtype, &values, bytes);
    }
}
