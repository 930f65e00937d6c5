//! What foreign kernels declare, against what is measured.

use conformance::declaration::{Contradiction, HeldTo, contradiction, in_question};
use conformance::outcome::Outcome;
use conformance::suite;
use conformance::target::{Promises, Target};
use conformance::trial::Finder;
use kernels::{Numerics, OpForm, Stem};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::{Swept, Trick, found};

/// Cases that are run again under other declarations.
const RERUN: usize = 24;

/// Declarations and measurements.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Declaration {
    numerics: Option<Numerics>,
    promised: Option<Promises>,
    /// The weaker declaration under which the cases that failed pass.
    contradiction: Option<Contradiction>,
    /// Whether two runs on the same data had the same bits, and nothing in the code makes that a matter of luck.
    pub deterministic: Option<bool>,
    /// Whether rows had the same bits alone and together.
    pub batch_invariant: Option<bool>,
    /// Instructions that add floats atomically.
    float_atomics: Vec<String>,
}

/// Measures what `target`, whose kernels of `stem` have the instructions `float_atomics`, declares.
pub fn measure(stem: Stem, target: &dyn Target, float_atomics: Vec<String>, swept: &Swept) -> Declaration {
    let form = supported(stem, swept);
    let mut declaration = Declaration {
        numerics: form.as_ref().map(|form| target.numerics(form)),
        promised: form.as_ref().map(|form| target.promises(form)),
        float_atomics,
        ..Declaration::default()
    };
    let failed = in_question(swept.failed());
    declaration.contradiction = contradiction(&failed, target);
    let strict = HeldTo { target, less: None, promises: Promises::ALL };
    let ran = swept.suite.iter().filter(|r| matches!(r.outcome, Outcome::Passed | Outcome::Failed(_)));
    let (laws, others): (Vec<_>, Vec<_>) =
        ran.map(|r| r.name.as_str()).partition(|name| name.contains("row_invariance"));
    let differs = |names: &[&str], finders: &[Finder]| {
        let names = names.iter().take(RERUN);
        let results: Vec<_> = names.filter_map(|name| suite::run(name, &strict, suite::JUDGE).ok()).collect();
        (!results.is_empty()).then(|| results.iter().any(|r| found(r).any(|f| finders.contains(&f))))
    };
    declaration.batch_invariant = differs(&laws, &[Finder::Law, Finder::Determinism]).map(|differs| !differs);
    declaration.deterministic = differs(&others, &[Finder::Determinism])
        .map(|differs| !differs && declaration.float_atomics.is_empty());
    declaration
}

/// A form of the op that ran.
fn supported(stem: Stem, swept: &Swept) -> Option<OpForm> {
    let ran = |outcome: &Outcome| matches!(outcome, Outcome::Passed | Outcome::Failed(_));
    let mut names = swept.suite.iter().filter(|result| ran(&result.outcome)).map(|result| &result.name);
    names.find_map(|name| Some(suite::record(name).ok()?.form()).filter(|form| form.stem == stem))
}

impl Declaration {
    /// Declarations that the measurements contradict.
    pub fn contradictions(&self) -> Vec<Trick> {
        let mut all = Vec::new();
        let mut contradicts = |name: &str, what: String| all.push(Trick { name: name.into(), what });
        if let Some(Contradiction { declares, behaves_like, .. }) = &self.contradiction {
            let what = format!("it declares {declares}, and behaves like {behaves_like}");
            contradicts("lower_precision", what);
        }
        let promised = self.promised.unwrap_or(Promises { deterministic: false, batch_invariant: false });
        if promised.deterministic && self.deterministic == Some(false) {
            let how = match self.float_atomics.as_slice() {
                [] => "two runs on the same data differ".into(),
                some => {
                    format!("it adds floats atomically, in an order that no GPU fixes: {}", some.join(", "))
                }
            };
            contradicts("not_deterministic", format!("it declares to be deterministic, and {how}"));
        }
        if promised.batch_invariant && promised.deterministic && self.batch_invariant == Some(false) {
            let what = "it declares to be batch-invariant, and rows differ alone and together".into();
            contradicts("not_batch_invariant", what);
        }
        all
    }

    /// As JSON.
    pub fn json(&self) -> Json {
        json!({
            "numerics": self.numerics,
            "deterministic": self.promised.map(|promised| promised.deterministic),
            "batch_invariant": self.promised.map(|promised| promised.batch_invariant),
            "float_atomics": self.float_atomics,
            "contradiction": self.contradiction,
        })
    }
}
