//! Declarations that measurements contradict.
//!
//! A target that fails because its errors are too large for what it declares may be a right implementation of less: sums in f16 that are
//! declared as sums in f32, or in longer chains than declared. The failing cases are run again under declarations that say less, one
//! thing at a time and the nearest first. If none of them fails under one, that is what the target behaves like.

use std::fmt;

use kernels::{Activations, Breakpoint, Depth, Float, Identity, Numerics, OpForm, Record, Support, Weights};
use serde::{Deserialize, Serialize};

use crate::name::CaseName;
use crate::outcome::{CaseResult, Outcome};
use crate::suite;
use crate::target::{Promises, RunError, Target};
use crate::trial::Finder;

/// Cases that are run again.
const RERUN: usize = 24;

/// Findings about the error of results, which a weaker declaration might allow.
const OF_PRECISION: [Finder; 5] = [Finder::Oracle, Finder::Rms, Finder::Bias, Finder::Law, Finder::Exact];

/// What a target declares, and what it behaves like.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Contradiction {
    /// The op.
    pub op: String,
    /// The backend that declares it.
    pub backend: String,
    /// What it declares.
    pub declares: String,
    /// The nearest weaker declaration under which the cases that failed pass.
    pub behaves_like: String,
    /// How many of them were run again.
    pub cases: usize,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Contradiction { op, backend, declares, behaves_like, .. } = self;
        write!(f, "{op} on {backend} declares {declares}, and behaves like {behaves_like}")
    }
}

/// One thing that a weaker declaration says instead of the declared one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Less {
    /// Sums in so many lanes.
    Lanes(usize),
    /// Sums of any order.
    AnyOrder,
    /// Angles in f32.
    Angle,
    /// Elementary functions within so many units in the last place.
    Functions(f64),
    /// Operands rounded to a format.
    Operands(Float),
    /// An accumulator, angles included.
    Accumulator(Float),
}

impl Less {
    /// The weaker declarations of a target that declares `declared`, the nearest first.
    fn than(declared: &Numerics) -> Vec<Less> {
        let mut all = Vec::new();
        if let Depth::Lanes(lanes) = declared.depth {
            // Half as many lanes are twice the depth.
            let fewer = std::iter::successors(Some(lanes.next_power_of_two() / 2), |lanes| Some(lanes / 2));
            all.extend(fewer.take_while(|fewer| *fewer > 0).map(Less::Lanes));
            all.push(Less::AnyOrder);
        }
        if declared.angle == Float::F64 {
            all.push(Less::Angle);
        }
        all.extend(
            (1..=5).map(|doublings| Less::Functions(declared.function_ulps * f64::from(1 << doublings))),
        );
        if declared.activations == Activations::Exact {
            all.extend([Float::F16, Float::BF16].map(Less::Operands));
        }
        let formats = [Float::F64, Float::F32, Float::F16, Float::BF16];
        let shorter = |float: &Float| float.unit_roundoff() > declared.accumulator.unit_roundoff();
        all.extend(formats.into_iter().filter(shorter).map(Less::Accumulator));
        all
    }

    /// `declared` with this instead.
    fn applied(self, declared: Numerics) -> Numerics {
        match self {
            Less::Lanes(lanes) => Numerics { depth: Depth::Lanes(lanes), ..declared },
            Less::AnyOrder => Numerics { depth: Depth::Any, ..declared },
            Less::Angle => Numerics { angle: Float::F32, ..declared },
            Less::Functions(function_ulps) => Numerics { function_ulps, ..declared },
            Less::Operands(float) => {
                let (activations, weights) = (Activations::Rounded(float), Weights::Rounded(float));
                Numerics { activations, weights, ..declared }
            }
            Less::Accumulator(accumulator) => Numerics { accumulator, angle: Float::F32, ..declared },
        }
    }

    /// What `numerics` says of the thing in question.
    fn said_by(self, numerics: &Numerics) -> String {
        match self {
            Less::Lanes(_) | Less::AnyOrder => match numerics.depth {
                Depth::Any => "sums of any order".into(),
                Depth::Lanes(1) => "sums in one chain".into(),
                Depth::Lanes(lanes) => format!("sums in {lanes} lanes"),
            },
            Less::Angle => format!("angles in {}", name(numerics.angle)),
            Less::Functions(_) => format!("elementary functions within {} ulp", numerics.function_ulps),
            Less::Operands(_) => match numerics.activations {
                Activations::Rounded(float) => format!("operands rounded to {}", name(float)),
                Activations::Exact | Activations::Int8 { .. } => "operands as they are".into(),
            },
            Less::Accumulator(_) => format!("an accumulator of {}", name(numerics.accumulator)),
        }
    }
}

const fn name(float: Float) -> &'static str {
    match float {
        Float::F64 => "f64",
        Float::F32 => "f32",
        Float::F16 => "f16",
        Float::BF16 => "bf16",
    }
}

/// A target that is held to other numerics and promises.
pub struct HeldTo<'t> {
    /// The target.
    pub target: &'t dyn Target,
    /// What it is held to instead of what it declares.
    pub less: Option<Less>,
    /// What it is taken to promise.
    pub promises: Promises,
}

impl fmt::Debug for HeldTo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} held to {:?}", self.target.identity(), self.less)
    }
}

impl Target for HeldTo<'_> {
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
        let declared = self.target.numerics(form);
        self.less.map_or(declared, |less| less.applied(declared))
    }

    fn promises(&self, _: &OpForm) -> Promises {
        self.promises
    }

    fn run(&self, record: &Record) -> Result<Vec<Vec<u8>>, RunError> {
        self.target.run(record)
    }
}

/// Of failed cases those that a contradiction would have to explain; none where one of them is about something else than the error of
/// results.
pub fn in_question<'r>(failed: impl IntoIterator<Item = &'r CaseResult>) -> Vec<String> {
    let mut failed: Vec<&CaseResult> = failed.into_iter().collect();
    let findings = |result: &CaseResult| match &result.outcome {
        Outcome::Failed(failures) => failures.iter().all(|f| OF_PRECISION.contains(&f.found_by)),
        _ => true,
    };
    if !failed.iter().all(|result| findings(result)) {
        return Vec::new();
    }
    // A short format allows long sums anything: small cases tell formats apart. Long sums tell depths apart.
    failed.sort_by_key(|result| suite::extent(&result.name));
    let last = failed.iter().skip(RERUN / 2).rev().take(RERUN / 2);
    failed.iter().take(RERUN / 2).chain(last).map(|result| result.name.clone()).collect()
}

/// Whether the outcome of a case is one that a right declaration may have.
const fn allows(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Passed | Outcome::Unsupported(_))
}

/// What `target` behaves like, of which the cases `names` failed; `None` where they pass under no weaker declaration.
pub fn contradiction(names: &[String], target: &dyn Target) -> Option<Contradiction> {
    let (first, backend) = CaseName::parse(names.first()?).ok()?;
    let declared = target.numerics(&suite::record(names.first()?).ok()?.form());
    let promises = Promises { deterministic: true, batch_invariant: false };
    let less = Less::than(&declared).into_iter().find(|less| {
        let held = HeldTo { target, less: Some(*less), promises };
        let ran = |name: &String| suite::run(name, &held, suite::JUDGE).map(|result| result.outcome);
        let outcomes: Vec<_> = names.iter().map_while(|name| ran(name).ok().filter(allows)).collect();
        // Of long sums a short format allows anything, which says nothing.
        outcomes.len() == names.len() && outcomes.contains(&Outcome::Passed)
    })?;
    Some(Contradiction {
        op: first.stem.to_string(),
        backend,
        declares: less.said_by(&declared),
        behaves_like: less.said_by(&less.applied(declared)),
        cases: names.len(),
    })
}
