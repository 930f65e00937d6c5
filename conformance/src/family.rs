//! The cases of one op: enumerated, random, and how one is run.

use std::marker::PhantomData;
use std::time::Instant;

use kernels::{Breakpoint, DType, OpForm, Record, Size, Stem};
use proptest::prelude::*;
use proptest::sample::select;

use crate::floats::{self, Floats};
use crate::name::{CaseName, NameError, Spec};
use crate::outcome::{CaseResult, Outcome, micros_since};
use crate::target::Target;
use crate::trial::{Judge, Stop, Trial};

/// Cases of one op.
pub trait Family: 'static {
    /// The op.
    const STEM: Stem;

    /// What distinguishes its cases.
    type Spec: Spec;

    /// The cases that every sweep runs.
    fn enumerate() -> Vec<Self::Spec>;

    /// Random cases.
    fn strategy() -> BoxedStrategy<Self::Spec>;

    /// Small cases whose ops a backend is asked for its break points, one of each way in which it may compute.
    fn forms() -> Vec<Self::Spec>;

    /// The op of such a case.
    fn record(spec: &Self::Spec) -> Record;

    /// Gives the op of a case a size; what is possible is a multiple of [`granule`](Family::granule). False where it has no such size.
    fn resize(spec: &mut Self::Spec, size: Size, to: usize) -> bool;

    /// Sizes of a case are multiples of this.
    fn granule(_spec: &Self::Spec, _size: Size) -> usize {
        1
    }

    /// Runs a case.
    fn run(spec: &Self::Spec, trial: &mut Trial<'_>) -> Result<(), Stop>;
}

/// A [`Family`] without its types.
pub trait Cases: Sync {
    /// The op.
    fn stem(&self) -> Stem;

    /// The cases that every sweep runs.
    fn names(&self) -> Vec<CaseName>;

    /// Cases just below, at and above the break points of a backend.
    fn around(&self, breakpoints: &dyn Fn(&OpForm) -> Vec<Breakpoint>) -> Vec<CaseName>;

    /// The forms of small ops, one of each way in which a backend may compute.
    fn forms(&self) -> Vec<OpForm>;

    /// Random cases, which shrink to smaller ones.
    fn random(&self) -> BoxedStrategy<CaseName>;

    /// The op of a case, on the case's own data.
    fn record(&self, name: &CaseName) -> Result<Record, NameError>;

    /// Whether `name` is the name of a case.
    fn understands(&self, name: &CaseName) -> Result<(), NameError>;

    /// Runs a case, called `full` with its backend.
    fn run(
        &self,
        name: &CaseName,
        full: &str,
        target: &dyn Target,
        judge: Judge,
    ) -> Result<CaseResult, NameError>;
}

/// `F` as [`Cases`].
#[derive(Debug)]
pub struct Of<F>(PhantomData<fn() -> F>);

impl<F> Of<F> {
    /// The cases of `F`.
    pub const fn new() -> Self {
        Of(PhantomData)
    }
}

impl<F> Default for Of<F> {
    fn default() -> Self {
        Of::new()
    }
}

impl<F: Family> Cases for Of<F> {
    fn stem(&self) -> Stem {
        F::STEM
    }

    fn names(&self) -> Vec<CaseName> {
        let mut names: Vec<_> = F::enumerate().iter().map(|spec| CaseName::of(F::STEM, spec)).collect();
        names.extend(floats::typed(F::STEM, &names));
        names
    }

    fn around(&self, breakpoints: &dyn Fn(&OpForm) -> Vec<Breakpoint>) -> Vec<CaseName> {
        let mut names = Vec::new();
        for form in F::forms() {
            for Breakpoint { size, last } in breakpoints(&F::record(&form).form()) {
                let granule = F::granule(&form, size);
                let at = last / granule * granule;
                for to in [at.saturating_sub(granule), at, at + granule] {
                    let mut spec = form.clone();
                    if to > 0 && F::resize(&mut spec, size, to) {
                        names.push(CaseName::of(F::STEM, &spec));
                    }
                }
            }
        }
        names
    }

    fn forms(&self) -> Vec<OpForm> {
        let records: Vec<_> = F::forms().iter().map(F::record).collect();
        let mut forms: Vec<_> = records.iter().map(Record::form).collect();
        for dtype in [DType::F16, DType::BF16].into_iter().filter(|_| !F::STEM.facts().floats.is_empty()) {
            let floats = Floats::of(F::STEM, |_| dtype);
            forms.extend(records.iter().map(|record| floats.apply(record).form()));
        }
        forms
    }

    fn random(&self) -> BoxedStrategy<CaseName> {
        let types = select(DType::FLOATS.to_vec());
        let types = prop::collection::vec(types, F::STEM.facts().floats.len());
        (F::strategy(), prop_oneof![3 => Just(Vec::new()), 1 => types])
            .prop_map(|(spec, types)| {
                let mut types = types.into_iter();
                let floats = Floats::of(F::STEM, |_| types.next().unwrap_or(DType::F32));
                let name = CaseName::of(F::STEM, &spec);
                if floats::suitable(&name) { floats.name(&name) } else { name }
            })
            .boxed()
    }

    fn record(&self, name: &CaseName) -> Result<Record, NameError> {
        let (name, floats) = Floats::split(name)?;
        name.spec::<F::Spec>().map(|spec| floats.apply(&F::record(&spec)).into_owned())
    }

    fn understands(&self, name: &CaseName) -> Result<(), NameError> {
        let (name, _) = Floats::split(name)?;
        name.spec::<F::Spec>().map(drop)
    }

    fn run(
        &self,
        name: &CaseName,
        full: &str,
        target: &dyn Target,
        judge: Judge,
    ) -> Result<CaseResult, NameError> {
        let (name, floats) = Floats::split(name)?;
        let spec = name.spec::<F::Spec>()?;
        let begin = Instant::now();
        let mut trial = Trial::new(target, judge).with_floats(floats);
        let stop = F::run(&spec, &mut trial);
        let found = trial.found();
        let outcome = match stop {
            Err(Stop::Unsupported(reason)) => Outcome::Unsupported(reason),
            Ok(()) | Err(Stop::Failed) if found.failures.is_empty() => Outcome::Passed,
            Ok(()) | Err(Stop::Failed) => Outcome::Failed(found.failures),
        };
        Ok(CaseResult {
            name: full.into(),
            outcome,
            worst: found.worst,
            compared: found.compared,
            micros: micros_since(begin),
            fidelity: None,
        })
    }
}
