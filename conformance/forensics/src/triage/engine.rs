//! A model's run, judged by what came of it as it is and with a wait behind every op.

use serde::{Deserialize, Serialize};
use softhip::report::Report;

use super::clue::{is_ambiguous, points_at};
use super::hypothesis::{Decision, Evidence, Hypothesis, Verdict};
use crate::audit::bound;
use crate::locate::{Culprit, Fault, Located};

/// What came of a run.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Ran {
    /// Its error, or how its process died.
    pub error: Option<String>,
    /// The allocation that failed, if that is the error.
    pub out_of_memory: bool,
    /// What the software device found.
    pub reports: Vec<Report>,
    /// The hash of the logits.
    pub logits: Option<String>,
}

/// All that was tried.
#[derive(Clone, Debug)]
pub struct Runs {
    /// As it is.
    pub plain: Ran,
    /// With a wait behind every op.
    pub serial: Ran,
    /// Under other schedules of the device, with their names; none where it has no other.
    pub others: Vec<(String, Ran)>,
    /// Whether the device checks every access by itself.
    pub checked: bool,
    /// Who faulted, and whom the engine blames.
    pub located: Located,
    /// Objects that stand in for the program's own, with their hashes.
    pub stand_ins: Vec<String>,
    /// What came of the run with the program's own objects; `None` where nothing stands in.
    pub own: Option<Ran>,
    /// What the oracle says of a run that ended: the first op that is wrong. `None` where every op is right or none was compared.
    pub wrong: Option<String>,
    /// The same with the program's own objects.
    pub wrong_own: Option<String>,
    /// Whether the op that faulted also faults alone, on the data that it had; `None` where that was not tried.
    pub alone: Option<bool>,
    /// What is wrong with the model file.
    pub mismatches: Vec<String>,
    /// Program, model and objects, with their hashes.
    pub identities: Vec<String>,
}

impl Runs {
    /// Whether anything at all is wrong.
    pub fn fail(&self) -> bool {
        !self.mismatches.is_empty()
            || self.plain.error.is_some()
            || self.wrong.is_some()
            || self.others.iter().any(|(_, ran)| self.differs(ran))
    }

    /// Whether a run ends otherwise than the one that waits for every op.
    fn differs(&self, ran: &Ran) -> bool {
        ran.error.is_some() != self.serial.error.is_some() || ran.logits != self.serial.logits
    }

    /// What is wrong, as the user sees it.
    pub fn symptom(&self) -> String {
        match (&self.plain.error, &self.wrong) {
            (Some(error), _) => error.lines().next().unwrap_or_default().to_owned(),
            (None, Some(wrong)) => format!("wrong values: {wrong}"),
            (None, None) => match self.others.iter().find(|(_, ran)| self.differs(ran)) {
                Some((how, _)) => format!("another result on {how}"),
                None => "none".into(),
            },
        }
    }

    /// Decides every hypothesis.
    pub fn decide(&self) -> Vec<Decision> {
        let provenance = self.provenance();
        if !self.mismatches.is_empty() {
            let open = Hypothesis::ALL[1..].iter().map(|hypothesis| {
                let open = Verdict::Inconclusive("the model was not run".into());
                Decision::new(*hypothesis, open, "none", "what contradicts itself is not run (H0)")
            });
            return std::iter::once(provenance).chain(open).collect();
        }
        let explained = provenance.verdict == Verdict::Confirmed;
        let mut decisions = vec![provenance, self.culprit()];
        for hypothesis in &Hypothesis::ALL[2..] {
            decisions.push(match hypothesis {
                Hypothesis::FailedAllocation => self.allocation(),
                other => self.other(*other, explained),
            });
        }
        decisions
    }

    fn provenance(&self) -> Decision {
        let experiment =
            "the hashes of what runs, metadata against tensor shapes, the run with the program's own objects";
        let known = Evidence::new("what ran", self.identities.join("\n"));
        let decide = |verdict, why: String| {
            Decision::new(Hypothesis::Provenance, verdict, experiment, why).showing([known.clone()])
        };
        if !self.mismatches.is_empty() {
            let why =
                format!("the model's metadata and tensors disagree in {} places", self.mismatches.len());
            return decide(Verdict::Confirmed, why)
                .showing([Evidence::new("mismatches", self.mismatches.join("\n"))]);
        }
        let Some(own) = &self.own else {
            return decide(
                Verdict::Refuted,
                "metadata and tensors agree, and every object is the program's own".into(),
            );
        };
        let others = self.stand_ins.join(", ");
        if self.fail() && own.error.is_none() && self.wrong_own.is_none() {
            let pair = Evidence::new(
                "pair of runs",
                format!(
                    "with {others}: {}\nwith the program's own: no error, every op right",
                    self.symptom()
                ),
            );
            return decide(
                Verdict::Confirmed,
                format!("{others}: with the program's own objects the failure is gone"),
            )
            .showing([pair]);
        }
        decide(Verdict::Refuted, format!("{others}: the failure is the same with the program's own objects"))
    }

    fn culprit(&self) -> Decision {
        let experiment = "the run with a wait and a check behind every op: which op fails first?";
        let decide = |verdict, why: String| Decision::new(Hypothesis::WrongCulprit, verdict, experiment, why);
        match (&self.located.reported, &self.located.fault) {
            (None, None) => decide(Verdict::Refuted, format!("no call failed in {} ops", self.located.ops)),
            (Some(reported), Some(fault)) => {
                let text = Evidence::new("located", self.located.text());
                match &fault.culprit {
                    Culprit::Kernel(call) if self.located.blames_another(call).is_some() => {
                        let site = call.site.as_ref().map_or(String::new(), |site| format!(", {site}"));
                        decide(
                            Verdict::Confirmed,
                            format!(
                                "{}{site} faulted; the engine reports: {}",
                                call.op,
                                first_line(&reported.what)
                            ),
                        )
                        .showing([text])
                    }
                    _ => decide(
                        Verdict::Refuted,
                        format!(
                            "the call that is reported is the one that fails: {}",
                            first_line(&reported.what)
                        ),
                    )
                    .showing([text]),
                }
            }
            (None, Some(fault)) => decide(
                Verdict::Refuted,
                format!("the engine blames nobody, and op by op: {}", first_line(&fault.what)),
            ),
            (Some(reported), None) => decide(
                Verdict::Refuted,
                format!("op by op no op fails; the engine reports: {}", first_line(&reported.what)),
            ),
        }
    }

    fn other(&self, hypothesis: Hypothesis, explained: bool) -> Decision {
        let experiment = match hypothesis {
            Hypothesis::UseAfterFree => {
                "the life of every buffer; the op that faulted alone, with fresh buffers"
            }
            Hypothesis::Extents => {
                "the extent of every argument; the op that faulted alone, on its own data, and on the bounds-checked reference"
            }
            Hypothesis::Alignment => "every access against its alignment",
            _ => {
                "the run op by op and under other schedules; every access against all others that it has no order with"
            }
        };
        let decide = |verdict, why: String| Decision::new(hypothesis, verdict, experiment, why);
        if explained {
            return decide(
                Verdict::Refuted,
                "with the objects that were meant the failure is gone (H0)".into(),
            );
        }
        if let Some(error) = self.refused() {
            return match hypothesis {
                Hypothesis::Extents => decide(
                    Verdict::Inconclusive("too much was asked for, or too little is there".into()),
                    error.to_owned(),
                ),
                _ => decide(Verdict::Refuted, format!("what goes wrong first is an allocation: {error}")),
            };
        }
        // The software device says what it is.
        let runs = [("as it is", &self.plain), ("op by op", &self.serial)].into_iter();
        let runs = runs.chain(self.others.iter().map(|(how, ran)| (how.as_str(), ran)));
        let mut reports = runs.clone().filter_map(|(how, ran)| Some((how, ran.reports.first()?)));
        if let Some((how, report)) =
            reports.find(|(_, report)| points_at(&report.problem) == Some(hypothesis))
        {
            let text = report.to_string();
            let line = first_line(&text).to_owned();
            return decide(Verdict::Confirmed, format!("{line} ({how})"))
                .showing([Evidence::new("report", text)]);
        }
        if let Some(report) = runs.clone().find_map(|(_, ran)| ran.reports.first()) {
            let text = report.to_string();
            let line = first_line(&text);
            if is_ambiguous(&report.problem) && matches!(hypothesis, Hypothesis::Extents | Hypothesis::Race) {
                let open = Verdict::Inconclusive("written too little, or too late".into());
                return decide(open, line.to_owned()).showing([Evidence::new("report", text)]);
            }
            return decide(Verdict::Refuted, format!("what goes wrong first is something else: {line}"));
        }
        // Without reports, the op that faulted decides.
        if let Some(fault) = &self.located.fault {
            return self.faulted(hypothesis, fault, &decide);
        }
        if hypothesis.is_order() {
            return self.order(hypothesis, &decide);
        }
        match &self.wrong {
            Some(wrong) => decide(
                Verdict::Inconclusive("values are wrong, and no access is".into()),
                format!("{wrong}: assay diff looks at it"),
            ),
            None if self.checked => {
                decide(Verdict::Refuted, format!("every access of {} ops was in order", self.located.ops))
            }
            None => {
                let runs = 2 + self.others.len();
                let why =
                    format!("no error in {runs} runs; this device checks no access: --backend soft does");
                decide(Verdict::NotReproduced(bound::upper(0, runs)), why)
            }
        }
    }

    /// What the op that faulted, or the copy, says of a hypothesis.
    fn faulted(
        &self,
        hypothesis: Hypothesis,
        fault: &Fault,
        decide: &dyn Fn(Verdict, String) -> Decision,
    ) -> Decision {
        let Culprit::Kernel(call) = &fault.culprit else {
            return match hypothesis {
                Hypothesis::Extents if matches!(fault.culprit, Culprit::Copy(_)) => decide(
                    Verdict::Confirmed,
                    format!("the copy itself asks for what is not there: {}", first_line(&fault.what)),
                ),
                _ => decide(
                    Verdict::Refuted,
                    format!("every kernel before it ended well: {}", first_line(&fault.what)),
                ),
            };
        };
        match (hypothesis, self.alone) {
            (_, None) => {
                decide(Verdict::Inconclusive("the op was not run alone".into()), "it left no capsule".into())
            }
            (Hypothesis::Extents | Hypothesis::Alignment, Some(_)) if fault.died => decide(
                Verdict::Inconclusive("the process died, and no device says of what".into()),
                format!("{}: assay replay CAPSULE --backend soft checks every access", call.op),
            ),
            (Hypothesis::Extents, Some(alone)) => {
                let within = call.arguments.iter().all(|a| a.extent.end <= a.allocation);
                let arguments = if within {
                    "its arguments are all inside their buffers, so that the kernel itself goes past one"
                } else {
                    "an argument leaves its buffer"
                };
                let text = Evidence::new("located", self.located.text());
                let capsule =
                    fault.capsule.as_ref().map(|path| Evidence::new("capsule", path.display().to_string()));
                // What is stored of an op begins at its operands: an offset that is wrong is right there.
                let how = if alone { "also alone" } else { "op by op, with nothing beside it" };
                let why = format!("{} faults, {how}: {}; {arguments}", call.op, first_line(&fault.what));
                decide(Verdict::Confirmed, why).showing([text]).showing(capsule)
            }
            (Hypothesis::Alignment, Some(_)) => decide(
                Verdict::Inconclusive("this device does not tell".into()),
                "an access that is not aligned would look the same".into(),
            ),
            (Hypothesis::UseAfterFree, Some(_)) => decide(
                Verdict::Refuted,
                format!("every buffer of {} was alive when it was launched", call.op),
            ),
            (_, Some(_)) => {
                decide(Verdict::Refuted, format!("{} faults op by op, with nothing beside it", call.op))
            }
        }
    }

    fn order(&self, hypothesis: Hypothesis, decide: &dyn Fn(Verdict, String) -> Decision) -> Decision {
        let differs = |ran: &Ran| self.differs(ran);
        let plain = differs(&self.plain).then_some("as it is");
        let others = self.others.iter().filter(|(_, ran)| differs(ran)).map(|(how, _)| how.as_str());
        if let Some(how) = plain.into_iter().chain(others).next() {
            let pair = Evidence::new("pair of runs", format!("op by op: no error\n{how}: another result"));
            let verdict = match hypothesis {
                Hypothesis::Race => Verdict::Confirmed,
                _ => Verdict::Inconclusive("a matter of order, of whatever kind".into()),
            };
            return decide(verdict, format!("another result on {how} than op by op")).showing([pair]);
        }
        let runs = 2 + self.others.len();
        match &self.wrong {
            Some(wrong) => decide(
                Verdict::Refuted,
                format!("{wrong}, in all of {runs} runs the same bits, also op by op"),
            ),
            None => {
                decide(Verdict::NotReproduced(bound::upper(0, runs)), format!("the same bits in {runs} runs"))
            }
        }
    }

    fn allocation(&self) -> Decision {
        let experiment = "the answer of every allocation";
        let decide =
            |verdict, why: String| Decision::new(Hypothesis::FailedAllocation, verdict, experiment, why);
        match self.refused() {
            Some(error) => decide(Verdict::Confirmed, error.to_owned()),
            None => decide(Verdict::Refuted, "no allocation was refused".into()),
        }
    }

    /// The error of an allocation that was refused, if that is how the run ends.
    fn refused(&self) -> Option<&str> {
        self.plain.error.as_deref().filter(|_| self.plain.out_of_memory).map(first_line)
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
