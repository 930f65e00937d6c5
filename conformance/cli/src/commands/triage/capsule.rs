//! Triage of a capsule: one launch, or one op, alone.

use std::path::Path;
use std::process::Command;

use forensics::triage::hypothesis::{Decision, Evidence, Hypothesis, Triage, Verdict};
use forensics::triage::launch;
use launch_capsule::replay::run as replay;
use sanitize_protocol::present;

use crate::commands::Trouble;

/// Decides what the capsule at `path` can say; with whether anything is wrong.
pub fn triage(path: &Path) -> Result<(Triage, bool), Trouble> {
    let name = path.display().to_string();
    if let Some(capsule) = launch_capsule::file::read(path).map_err(Trouble::input)? {
        let replayed = replay(&capsule.record).map_err(|e| Trouble::Input(format!("{name}: {e}")))?;
        let mut reports = replayed.reports;
        for report in &mut reports {
            let needed = launch_capsule::need::bytes(&capsule.record, report);
            present(report, needed);
        }
        let text = reports.first().map(ToString::to_string);
        let symptom = text.as_deref().and_then(|text| text.lines().next()).unwrap_or("none").to_owned();
        let decisions = launch::decide(&capsule.record.kernel, &reports);
        let otherwise = format!("assay replay {name} shows the launch; its program: assay triage -- PROGRAM");
        let fails = !reports.is_empty();
        return Ok((super::whole(name, symptom, decisions, fails, &otherwise), fails));
    }
    op(path, name)
}

/// One op of a model: it fails alone, or it does not.
fn op(path: &Path, name: String) -> Result<(Triage, bool), Trouble> {
    let program =
        std::env::current_exe().map_err(|e| Trouble::Input(format!("finding this program: {e}")))?;
    let output = Command::new(program).arg("replay").arg(path).output().map_err(Trouble::input)?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let fails = match output.status.code() {
        Some(0) => false,
        Some(1) => true,
        _ => return Err(Trouble::Input(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    };
    let experiment = "the op alone, on its own data, with nothing before it or beside it";
    let decisions = Hypothesis::ALL.map(|hypothesis| {
        let (verdict, why) = match (hypothesis, fails) {
            (
                Hypothesis::WrongCulprit
                | Hypothesis::UseAfterFree
                | Hypothesis::Staging
                | Hypothesis::Overlap,
                true,
            ) => (Verdict::Refuted, "the op fails alone, with fresh buffers"),
            (_, true) => (Verdict::Inconclusive("the op alone does not tell".into()), "the report says more"),
            (_, false) => (
                Verdict::Inconclusive("the op alone does not fail".into()),
                "what was before it or beside it is not in the file",
            ),
        };
        Decision::new(hypothesis, verdict, experiment, why)
            .showing(fails.then(|| Evidence::new("report", said.clone())))
    });
    let symptom = if fails { said.lines().next().unwrap_or_default().to_owned() } else { "none".into() };
    let otherwise =
        format!("assay replay {name} --backend ref,soft compares backends; the model: assay triage -m MODEL");
    Ok((super::whole(name, symptom, decisions.to_vec(), fails, &otherwise), fails))
}
