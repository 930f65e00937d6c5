//! The verdicts of gates, each of which has failed on a perturbed control before it may pass.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::distance::{Distance, between};
use super::folder::{Entry, Stored};

/// What two runs may differ by.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Thresholds {
    /// Of one logit.
    pub max_abs_diff: f64,
    /// Of 99 % of the logits.
    pub p99_abs_diff: f64,
    /// The share of entries whose likeliest token must be the same.
    pub top1_agreement: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds { max_abs_diff: 5e-3, p99_abs_diff: 1e-3, top1_agreement: 0.999 }
    }
}

impl Thresholds {
    /// Whether a distance is within them. What is no number is not.
    pub fn hold(&self, distance: &Distance) -> bool {
        distance.max_abs_diff.is_some_and(|d| d <= self.max_abs_diff)
            && distance.p99_abs_diff.is_some_and(|d| d <= self.p99_abs_diff)
            && distance.top1_agreement >= self.top1_agreement
    }
}

/// What a gate says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Verdict {
    /// All bits are equal.
    PassDeterministic,
    /// Bits differ, within the thresholds.
    NumericalJitter,
    /// Runs of the same differ by more.
    NonDeterministic,
    /// Within the thresholds.
    PassEquiv,
    /// Beyond them.
    FailEquiv,
    /// Nothing, or not all, could be compared.
    Inconclusive,
}

impl Verdict {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::PassDeterministic => "PASS_DETERMINISTIC",
            Verdict::NumericalJitter => "NUMERICAL_JITTER",
            Verdict::NonDeterministic => "NON_DETERMINISTIC",
            Verdict::PassEquiv => "PASS_EQUIV",
            Verdict::FailEquiv => "FAIL_EQUIV",
            Verdict::Inconclusive => "INCONCLUSIVE",
        }
    }
}

/// What came of a gate.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Gate {
    /// Which one.
    pub gate: String,
    /// What it says.
    pub verdict: Verdict,
    /// Why, in words.
    pub why: String,
    /// The distance that decided; `None` where nothing was compared.
    pub distance: Option<Distance>,
    /// What became of the perturbed control; `None` where none ran.
    pub control: Option<String>,
}

impl Gate {
    /// A gate that could not compare.
    pub fn inconclusive(name: &str, why: impl Into<String>) -> Self {
        let (gate, why) = (name.into(), why.into());
        Gate { gate, verdict: Verdict::Inconclusive, why, distance: None, control: None }
    }
}

/// All gates in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Overall {
    /// Each passed.
    PassGuardrail,
    /// One failed.
    FailGuardrail,
    /// None failed, and one could not compare.
    Incomplete,
}

impl Overall {
    /// Of these gates. Jitter between runs of the same is no pass.
    pub fn of(gates: &[Gate]) -> Self {
        let failed = |g: &Gate| {
            matches!(g.verdict, Verdict::FailEquiv | Verdict::NonDeterministic | Verdict::NumericalJitter)
        };
        if gates.iter().any(failed) {
            Overall::FailGuardrail
        } else if gates.is_empty() || gates.iter().any(|g| g.verdict == Verdict::Inconclusive) {
            Overall::Incomplete
        } else {
            Overall::PassGuardrail
        }
    }

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Overall::PassGuardrail => "PASS_GUARDRAIL",
            Overall::FailGuardrail => "FAIL_GUARDRAIL",
            Overall::Incomplete => "INCOMPLETE",
        }
    }
}

/// Why two runs are one: it says nothing to compare them. `differ`: the runs were made in ways whose results should not be equal in every
/// bit, as by two engines.
pub fn same_run(left: &Stored, right: &Stored, differ: bool) -> Option<String> {
    if let Some(file) = same_file(left, right) {
        return Some(format!("both are the file {}", file.display()));
    }
    for key in ["run_id", "process"] {
        if let (Some(a), Some(b)) = (left.metadata.get(key), right.metadata.get(key))
            && a == b
        {
            return Some(format!("both have the {key} {a}: they are one run"));
        }
    }
    if differ && left.sha256 == right.sha256 {
        return Some(format!(
            "every bit is equal (sha256 {}), which two ways of computing do not give: one is a copy of the other",
            &left.sha256[..16]
        ));
    }
    None
}

/// The file that both runs were read from, by whichever names and links.
fn same_file(left: &Stored, right: &Stored) -> Option<PathBuf> {
    let [ours, theirs] = [left, right].map(|run| run.logits_file().and_then(|file| file.canonicalize().ok()));
    let (ours, theirs) = (ours?, theirs?);
    #[cfg(unix)]
    let same = {
        use std::os::unix::fs::MetadataExt;
        let node = |path: &Path| std::fs::metadata(path).map(|found| (found.dev(), found.ino())).ok();
        node(&ours).is_some() && node(&ours) == node(&theirs)
    };
    #[cfg(not(unix))]
    let same = ours == theirs;
    same.then_some(ours)
}

/// Compares two runs. `differ` as in [`same_run`].
pub fn equivalence(name: &str, left: &Stored, right: &Stored, limits: &Thresholds, differ: bool) -> Gate {
    if let Some(why) = same_run(left, right, differ) {
        return Gate::inconclusive(name, format!("a run is compared with itself: {why}"));
    }
    if let Some(why) = other_question(left, right) {
        return Gate::inconclusive(name, why);
    }
    let distance = between(left, right);
    if distance.logits == 0 {
        let why = distance.cut.as_ref().map_or(String::new(), |cut| format!(": {cut}"));
        let why = format!("no entry could be compared{why}");
        return Gate { distance: Some(distance), ..Gate::inconclusive(name, why) };
    }
    let control = control(left, limits);
    let (verdict, why) = match (&distance.cut, &control) {
        _ if !limits.hold(&distance) => (Verdict::FailEquiv, beyond(&distance, limits)),
        (_, Err(why)) => (Verdict::Inconclusive, why.clone()),
        (Some(cut), Ok(_)) => {
            (Verdict::Inconclusive, format!("only {} entries were compared: {cut}", distance.entries))
        }
        (None, Ok(_)) => {
            (Verdict::PassEquiv, format!("{} entries, {} logits compared", distance.entries, distance.logits))
        }
    };
    Gate { gate: name.into(), verdict, why, distance: Some(distance), control: control.ok() }
}

/// Runs of the same: every bit should be equal.
pub fn determinism(runs: &[Stored], limits: &Thresholds) -> Gate {
    let name = "determinism";
    let Some((first, others)) = runs.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Gate::inconclusive(name, "one run is compared with no other");
    };
    let mut worst = equivalence(name, first, &others[0], limits, false);
    for (at, run) in others.iter().enumerate() {
        // Each run is another process than every one before it.
        if let Some(why) = runs[..=at].iter().find_map(|before| same_run(before, run, false)) {
            return Gate::inconclusive(name, format!("a run is compared with itself: {why}"));
        }
        let gate = equivalence(name, first, run, limits, false);
        if rank(&gate) > rank(&worst) {
            worst = gate;
        }
    }
    let Some(distance) = &worst.distance else { return worst };
    worst.verdict = match worst.verdict {
        Verdict::Inconclusive => Verdict::Inconclusive,
        Verdict::FailEquiv => Verdict::NonDeterministic,
        _ if distance.identical => Verdict::PassDeterministic,
        _ => Verdict::NumericalJitter,
    };
    worst.why = match worst.verdict {
        Verdict::PassDeterministic => {
            format!(
                "{} runs, {} entries of {} logits each, all bits equal",
                runs.len(),
                distance.entries,
                distance.logits / distance.entries.max(1)
            )
        }
        Verdict::NumericalJitter => {
            format!("of {} runs some differ, within the thresholds: {}", runs.len(), numbers(distance))
        }
        _ => worst.why,
    };
    worst
}

/// Worse gates have higher ranks.
fn rank(gate: &Gate) -> (u8, bool, f64) {
    let distance = gate.distance.as_ref();
    let verdict = match gate.verdict {
        Verdict::PassEquiv => 0,
        Verdict::Inconclusive => 1,
        _ => 2,
    };
    let apart = distance.and_then(|d| d.max_abs_diff).unwrap_or(f64::INFINITY);
    (verdict, distance.is_none_or(|d| !d.identical), apart)
}

/// Keys of the metadata that say what was asked.
const QUESTION: [&str; 2] = ["model_sha256", "tokens_sha256"];

/// Two runs of other models, or of other tokens, say nothing about each other.
fn other_question(left: &Stored, right: &Stored) -> Option<String> {
    QUESTION.iter().find_map(|key| match (left.text(key), right.text(key)) {
        (Some(a), Some(b)) if a != b => Some(format!("{key} is {a} on one side and {b} on the other")),
        _ => None,
    })
}

/// A difference, which NaN has none.
pub fn number(difference: Option<f64>) -> String {
    difference.map_or("not a number".into(), |x| format!("{x:.3e}"))
}

/// The numbers of a distance.
pub fn numbers(d: &Distance) -> String {
    format!(
        "max_abs_diff {}, p99_abs_diff {}, top1_agreement {:.4}",
        number(d.max_abs_diff),
        number(d.p99_abs_diff),
        d.top1_agreement
    )
}

fn beyond(d: &Distance, limits: &Thresholds) -> String {
    let place =
        d.worst.map_or(String::new(), |(entry, token)| format!("; most at token_idx {entry}, logit {token}"));
    let nan =
        if d.not_finite > 0 { format!("; {} logits are no numbers", d.not_finite) } else { String::new() };
    format!(
        "{} (limits {:.0e}, {:.0e}, {}) in {} entries{place}{nan}",
        numbers(d),
        limits.max_abs_diff,
        limits.p99_abs_diff,
        limits.top1_agreement,
        d.entries
    )
}

/// The smallest drifts that the thresholds promise to see, planted in a copy of the run one at a time. Each must fail; the gate may not pass
/// otherwise.
fn control(left: &Stored, limits: &Thresholds) -> Result<String, String> {
    let planted = drifts(left, limits);
    if limits.top1_agreement > 0.0 && planted.iter().all(|drift| drift.name != TURNED) {
        return Err("the gate cannot fail: all logits of an entry are equal, so that no token is likelier than another".into());
    }
    let mut seen = Vec::new();
    for Drift { name, limits, entries } in planted {
        let drifted = Stored::new(left.metadata.clone(), entries);
        if limits.hold(&between(left, &drifted)) {
            return Err(format!("the gate cannot fail: it passes a control with {name}"));
        }
        seen.push(name);
    }
    Ok(format!("failed as it must on: {}", seen.join(", ")))
}

/// A run that drifted by as little as one threshold promises to see.
#[derive(Clone, PartialEq, Debug)]
pub struct Drift {
    /// What was moved.
    pub name: &'static str,
    /// That threshold alone: the others allow everything.
    pub limits: Thresholds,
    /// The logits.
    pub entries: Vec<Entry>,
}

/// Name of the drift of the likeliest tokens.
const TURNED: &str = "other likeliest tokens";

/// Allows everything that is a number.
const LOOSE: Thresholds = Thresholds { max_abs_diff: f64::MAX, p99_abs_diff: f64::MAX, top1_agreement: 0.0 };

/// A run drifted by as little as the thresholds promise to see: one logit moved by a little more than the largest difference allowed, more
/// than one in a hundred moved by a little more than p99 allows, likeliest tokens changed in more entries than allowed, a NaN.
pub fn drifts(run: &Stored, limits: &Thresholds) -> Vec<Drift> {
    let step = |x: f32, by: f64| {
        let mut moved = narrow(f64::from(x) + by);
        // The nearest f32 may be a little less.
        while f64::from(moved) - f64::from(x) <= by {
            moved = moved.next_up();
        }
        moved
    };
    let mut all = Vec::new();
    let mut one = run.entries.clone();
    if let Some(logit) = one.last_mut().and_then(|entry| entry.logits.last_mut()) {
        *logit = step(*logit, limits.max_abs_diff);
        let limits = Thresholds { max_abs_diff: limits.max_abs_diff, ..LOOSE };
        all.push(Drift { name: "one logit beyond max_abs_diff", limits, entries: one });
    }
    {
        let mut many = run.entries.clone();
        let count = many.iter().map(|entry| entry.logits.len()).sum::<usize>();
        let more = count - (count * 99).div_ceil(100) + 1;
        for logit in many.iter_mut().flat_map(|entry| entry.logits.iter_mut()).take(more) {
            *logit = step(*logit, limits.p99_abs_diff);
        }
        let limits = Thresholds { p99_abs_diff: limits.p99_abs_diff, ..LOOSE };
        all.push(Drift { name: "1 % of the logits beyond p99_abs_diff", limits, entries: many });
    }
    let mut turned = run.entries.clone();
    let allowed = (1.0 - limits.top1_agreement) * turned.len() as f64;
    let mut left = 0.0;
    for entry in &mut turned {
        if left > allowed || entry.logits.len() < 2 {
            break;
        }
        let best = entry.logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let other = entry.logits.iter().position(|x| *x < best);
        if let Some(other) = other {
            entry.logits[other] = best.next_up();
            left += 1.0;
        }
    }
    if left > allowed {
        let limits = Thresholds { top1_agreement: limits.top1_agreement, ..LOOSE };
        all.push(Drift { name: TURNED, limits, entries: turned });
    }
    let mut nan = run.entries.clone();
    if let Some(logit) = nan.first_mut().and_then(|entry| entry.logits.first_mut()) {
        *logit = f32::NAN;
        all.push(Drift { name: "a NaN", limits: LOOSE, entries: nan });
    }
    all
}

#[expect(clippy::cast_possible_truncation, reason = "the nearest f32 is meant")]
fn narrow(x: f64) -> f32 {
    x as f32
}
