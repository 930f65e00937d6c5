//! The suspects, and what may be said of one.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A suspect, in the order in which experiments are made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Hypothesis {
    /// Another program, object or model ran than was meant.
    #[serde(rename = "H0")]
    Provenance,
    /// The call that failed reports what another one did.
    #[serde(rename = "H-async")]
    WrongCulprit,
    /// Memory is used after it was freed.
    #[serde(rename = "H1")]
    UseAfterFree,
    /// An offset, a size or a type is wrong.
    #[serde(rename = "H2")]
    Extents,
    /// Two accesses have no order.
    #[serde(rename = "H3")]
    Race,
    /// An address is no multiple of what an access needs.
    #[serde(rename = "H4")]
    Alignment,
    /// A staging buffer is used again while its copy is under way.
    #[serde(rename = "H5")]
    Staging,
    /// Copies overlap.
    #[serde(rename = "H6")]
    Overlap,
    /// An allocation failed, and nobody looked.
    #[serde(rename = "H7")]
    FailedAllocation,
}

impl Hypothesis {
    /// All of them.
    pub const ALL: [Hypothesis; 9] = [
        Hypothesis::Provenance,
        Hypothesis::WrongCulprit,
        Hypothesis::UseAfterFree,
        Hypothesis::Extents,
        Hypothesis::Race,
        Hypothesis::Alignment,
        Hypothesis::Staging,
        Hypothesis::Overlap,
        Hypothesis::FailedAllocation,
    ];

    /// Its name in tickets.
    pub const fn code(self) -> &'static str {
        match self {
            Hypothesis::Provenance => "H0",
            Hypothesis::WrongCulprit => "H-async",
            Hypothesis::UseAfterFree => "H1",
            Hypothesis::Extents => "H2",
            Hypothesis::Race => "H3",
            Hypothesis::Alignment => "H4",
            Hypothesis::Staging => "H5",
            Hypothesis::Overlap => "H6",
            Hypothesis::FailedAllocation => "H7",
        }
    }

    /// What it says.
    pub const fn name(self) -> &'static str {
        match self {
            Hypothesis::Provenance => "provenance",
            Hypothesis::WrongCulprit => "wrong culprit",
            Hypothesis::UseAfterFree => "use after free",
            Hypothesis::Extents => "offset, size or dtype",
            Hypothesis::Race => "race",
            Hypothesis::Alignment => "alignment",
            Hypothesis::Staging => "staging reuse",
            Hypothesis::Overlap => "overlapping copies",
            Hypothesis::FailedAllocation => "failed allocation",
        }
    }

    /// Whether it is a matter of when things happen.
    pub const fn is_order(self) -> bool {
        matches!(self, Hypothesis::Race | Hypothesis::Staging | Hypothesis::Overlap)
    }
}

/// What an experiment says of a hypothesis.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// It is so.
    Confirmed,
    /// It is not so.
    Refuted,
    /// It did not happen; its rate is below this, at 95 %.
    NotReproduced(f64),
    /// The experiment says nothing, because of this.
    Inconclusive(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Confirmed => f.pad("CONFIRMED"),
            Verdict::Refuted => f.pad("REFUTED"),
            Verdict::NotReproduced(rate) => write!(f, "NOT_REPRODUCED (p < {rate:.4})"),
            Verdict::Inconclusive(why) => write!(f, "INCONCLUSIVE ({why})"),
        }
    }
}

impl Serialize for Verdict {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// Something that shows why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Evidence {
    /// What it is: a report, a file, a pair of runs.
    pub what: String,
    /// Its text, or its path.
    pub text: String,
}

impl Evidence {
    /// Evidence of a kind.
    pub fn new(what: &str, text: impl Into<String>) -> Self {
        Evidence { what: what.into(), text: text.into() }
    }
}

/// A decided hypothesis.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Decision {
    /// Which.
    pub hypothesis: Hypothesis,
    /// What is said of it.
    pub verdict: Verdict,
    /// The experiment.
    pub experiment: String,
    /// What it showed.
    pub why: String,
    /// What shows it.
    pub evidence: Vec<Evidence>,
}

impl Decision {
    /// Of a hypothesis, by an experiment.
    pub fn new(hypothesis: Hypothesis, verdict: Verdict, experiment: &str, why: impl Into<String>) -> Self {
        Decision { hypothesis, verdict, experiment: experiment.into(), why: why.into(), evidence: Vec::new() }
    }

    /// With something that shows it.
    #[must_use]
    pub fn showing(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Self {
        self.evidence.extend(evidence);
        self
    }
}

/// What is said of all hypotheses.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Triage {
    /// What was looked at.
    pub subject: String,
    /// What is wrong with it, as its user sees it.
    pub symptom: String,
    /// The decisions, in the order of the experiments.
    pub decisions: Vec<Decision>,
    /// What to do now.
    pub next: String,
}

impl Triage {
    /// Hypotheses with a verdict.
    pub fn with(&self, wanted: impl Fn(&Verdict) -> bool) -> Vec<&Decision> {
        self.decisions.iter().filter(|decision| wanted(&decision.verdict)).collect()
    }

    /// Hypotheses that are confirmed.
    pub fn confirmed(&self) -> Vec<Hypothesis> {
        self.with(|v| *v == Verdict::Confirmed).into_iter().map(|d| d.hypothesis).collect()
    }
}
