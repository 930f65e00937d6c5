//! One launch out of a program, judged by its replay.

use softhip::report::Report;

use super::clue::points_at;
use super::hypothesis::{Decision, Evidence, Hypothesis, Verdict};

/// Decides what one launch can say. `reports` are those of its replay.
pub fn decide(kernel: &str, reports: &[Report]) -> Vec<Decision> {
    let experiment = "the launch alone, on its own data, under all checks";
    Hypothesis::ALL
        .into_iter()
        .map(|hypothesis| {
            let decide = |verdict, why: String| Decision::new(hypothesis, verdict, experiment, why);
            let case = reports.first().filter(|first| points_at(&first.problem) == Some(hypothesis));
            match (hypothesis, case, reports.first()) {
                (_, Some(first), _) => {
                    let text = first.to_string();
                    let line = text.lines().next().unwrap_or_default().to_owned();
                    decide(Verdict::Confirmed, line).showing([Evidence::new("report", text)])
                }
                (Hypothesis::Provenance | Hypothesis::FailedAllocation, ..) => {
                    let why = "the file holds one launch, and not what came before it";
                    decide(Verdict::Inconclusive("not in the file".into()), why.into())
                }
                (Hypothesis::Staging | Hypothesis::Overlap, _, Some(_)) => {
                    decide(Verdict::Refuted, format!("{kernel} fails alone, with no copy beside it"))
                }
                (Hypothesis::WrongCulprit, _, Some(_)) => {
                    decide(Verdict::Refuted, format!("{kernel} itself fails when it runs alone"))
                }
                (_, None, Some(first)) => {
                    let text = first.to_string();
                    decide(
                        Verdict::Refuted,
                        format!(
                            "what goes wrong first is something else: {}",
                            text.lines().next().unwrap_or_default()
                        ),
                    )
                }
                (_, None, None) => {
                    let why = format!(
                        "{kernel} ends well alone: what was before it or beside it is not in the file"
                    );
                    decide(Verdict::Inconclusive("the launch alone does not fail".into()), why)
                }
            }
        })
        .collect()
}
