//! The verdict on a matrix, and the file `summary.json`.

use serde_json::{Map, Value, json};

use super::bound;
use super::iteration::Iteration;
use super::variant::Mode;

/// Errors that a summary quotes.
const QUOTED: usize = 5;

/// What a matrix shows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Verdict {
    /// Something went wrong.
    Reproduced,
    /// Nothing went wrong in so many runs.
    NotReproduced {
        /// The largest rate of failures that this leaves possible.
        bound: f64,
    },
    /// The log of copies, or the copies themselves, never appeared in this part: it says nothing.
    ProbeNotReached(Mode),
    /// Some iterations are missing.
    Incomplete,
}

/// The iterations of a matrix, counted.
#[derive(Clone, PartialEq, Debug)]
pub struct Summary<'a> {
    iterations: &'a [Iteration],
    /// Iterations that were to be done in each mode.
    wanted: [(Mode, usize); 3],
}

impl<'a> Summary<'a> {
    /// Of these iterations, where so many were to be done.
    pub const fn of(iterations: &'a [Iteration], wanted: [(Mode, usize); 3]) -> Self {
        Summary { iterations, wanted }
    }

    /// The iterations of a mode.
    pub fn of_mode(&self, mode: Mode) -> impl Iterator<Item = &'a Iteration> {
        self.iterations.iter().filter(move |iteration| iteration.mode == mode)
    }

    /// Iterations in which something went wrong.
    pub fn failed(&self) -> impl Iterator<Item = &'a Iteration> {
        self.iterations.iter().filter(|iteration| !iteration.errors.is_empty())
    }

    /// Copies in the log, and those that had to be in it.
    pub fn copies(&self) -> (usize, usize) {
        let logging = self.iterations.iter().filter(|iteration| iteration.mode.logs());
        logging.fold((0, 0), |(logged, expected), i| (logged + i.logged, expected + i.expected))
    }

    /// The verdict. A mode whose probes never fired is no pass, whatever else holds.
    pub fn verdict(&self) -> Verdict {
        if self.failed().next().is_some() {
            return Verdict::Reproduced;
        }
        for (mode, wanted) in self.wanted {
            let done = self.of_mode(mode).count();
            if done < wanted {
                return Verdict::Incomplete;
            }
            let reached = |i: &Iteration| if mode.logs() { i.logged > 0 } else { i.expected > 0 };
            if wanted > 0 && !self.of_mode(mode).any(reached) {
                return Verdict::ProbeNotReached(mode);
            }
        }
        // Where no part logs, nobody has seen a copy in a log.
        if self.copies().0 == 0 {
            return Verdict::ProbeNotReached(Mode::Audit);
        }
        Verdict::NotReproduced { bound: self.bound() }
    }

    fn bound(&self) -> f64 {
        bound::upper(self.failed().count(), self.iterations.len())
    }

    /// The verdict in the words of the file.
    pub fn words(&self) -> String {
        match self.verdict() {
            Verdict::Reproduced => "REPRODUCED".into(),
            Verdict::NotReproduced { .. } => "NOT_REPRODUCED".into(),
            Verdict::ProbeNotReached(_) => "INCONCLUSIVE (PROBE_NOT_REACHED)".into(),
            Verdict::Incomplete => "INCONCLUSIVE (INCOMPLETE)".into(),
        }
    }

    /// The file: known fields first, then those that are new.
    pub fn json(&self, date: &str, environment: &Value, more: Map<String, Value>) -> Value {
        let breakdown: Map<String, Value> = Mode::ALL
            .into_iter()
            .map(|mode| {
                let errors = self.of_mode(mode).filter(|i| !i.errors.is_empty()).count();
                (mode.name().to_owned(), json!({"iters": self.of_mode(mode).count(), "errors": errors}))
            })
            .collect();
        let (logged, expected) = self.copies();
        let evidence: Vec<Value> = self.failed().take(QUOTED).map(|i| {
            json!({"mode": i.mode, "iteration": i.number, "schedule": i.schedule, "errors": i.errors})
        }).collect();
        let mut audit = json!({
            "date": date,
            "verdict": self.words(),
            "total_errors": self.failed().count(),
            "failure_rate_upper_bound": (self.bound() * 1e4).round() / 1e4,
            "breakdown": breakdown,
            "probes": {"copies_logged": logged, "copies_expected": expected},
            "environment": environment,
            "evidence": evidence,
        });
        if let Value::Object(fields) = &mut audit {
            fields.extend(more);
        }
        json!({ "d2h_audit": audit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::variant::Schedule;

    const WANTED: [(Mode, usize); 3] = [(Mode::Baseline, 2), (Mode::Audit, 2), (Mode::Stress, 2)];

    fn clean() -> Vec<Iteration> {
        let all = Mode::ALL.into_iter().flat_map(|mode| [0, 1].map(|number| (mode, number)));
        all.map(|(mode, number)| Iteration {
            mode,
            number,
            schedule: Schedule::Own,
            errors: Vec::new(),
            logged: if mode.logs() { 3 } else { 0 },
            expected: 3,
            seconds: 0.1,
        })
        .collect()
    }

    #[test]
    fn verdicts_follow_from_errors_probes_and_completeness() {
        let all = clean();
        assert!(matches!(Summary::of(&all, WANTED).verdict(), Verdict::NotReproduced { .. }));
        assert_eq!(Summary::of(&all[..5], WANTED).verdict(), Verdict::Incomplete);
        let mut silent = all.clone();
        silent.iter_mut().filter(|i| i.mode == Mode::Stress).for_each(|i| i.logged = 0);
        assert_eq!(Summary::of(&silent, WANTED).verdict(), Verdict::ProbeNotReached(Mode::Stress));
        let mut none = all.clone();
        none.iter_mut().filter(|i| i.mode == Mode::Baseline).for_each(|i| i.expected = 0);
        assert_eq!(Summary::of(&none, WANTED).verdict(), Verdict::ProbeNotReached(Mode::Baseline));
        let unlogged = [(Mode::Baseline, 2), (Mode::Audit, 0), (Mode::Stress, 0)];
        assert_eq!(Summary::of(&all[..2], unlogged).verdict(), Verdict::ProbeNotReached(Mode::Audit));
        let mut wrong = silent;
        wrong[0].errors.push("wrong bytes".into());
        assert_eq!(Summary::of(&wrong, WANTED).verdict(), Verdict::Reproduced);
    }

    #[test]
    fn the_file_has_the_known_fields_in_the_known_order() {
        let all = clean();
        let file = Summary::of(&all, WANTED).json("today", &json!({}), Map::new());
        let audit = file["d2h_audit"].as_object().unwrap();
        let names: Vec<&str> = audit.keys().map(String::as_str).collect();
        let known = [
            "date",
            "verdict",
            "total_errors",
            "failure_rate_upper_bound",
            "breakdown",
            "probes",
            "environment",
        ];
        assert_eq!(names[..7], known);
        assert_eq!(audit["breakdown"]["stress"], json!({"iters": 2, "errors": 0}));
        assert_eq!(audit["probes"], json!({"copies_logged": 12, "copies_expected": 12}));
    }
}
