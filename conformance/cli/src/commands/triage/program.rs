//! Triage of a HIP program: its runs on the software device.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use engine::config::ModelConfig;
use engine::gguf::Gguf;
use engine::guard_rail;
use forensics::provenance;
use forensics::triage::clue::is_ambiguous;
use forensics::triage::hypothesis::Triage;
use forensics::triage::program::{Run, Runs, Swap};
use sanitize_protocol::Schedule;

use super::TriageCommand;
use crate::commands::sanitize::checked::{Checked, How, run};
use crate::commands::{Trouble, say};

/// Runs the program in every way that decides something.
pub fn triage(command: &TriageCommand, words: &[OsString]) -> Result<(Triage, bool), Trouble> {
    let limit = Duration::from_secs(command.timeout);
    let plain = How { locked: command.locked, limit, ..How::default() };
    let eager = once("eager", words, &How { capsules: true, ..plain.clone() }, Some(&command.out))?;
    let mut others = vec![
        once("eager, other addresses", words, &How { seed: 1, ..plain.clone() }, None)?,
        once("deferred", words, &How { schedule: Schedule::Deferred, ..plain.clone() }, None)?,
    ];
    for seed in 1..=command.random {
        let how = How { schedule: Schedule::Random, seed, ..plain.clone() };
        others.push(once(&format!("random {seed}"), words, &how, None)?);
    }
    if eager.first().is_some_and(|first| is_ambiguous(&first.report.problem)) {
        let how = How { unwritten_may_be_read: true, ..plain.clone() };
        others.push(once("without initcheck", words, &how, None)?);
    }
    let granted = if eager.refused.is_empty() {
        None
    } else {
        Some(once("granted", words, &How { grants: true, ..plain.clone() }, None)?)
    };
    let (mut mismatches, mut unread) = (Vec::new(), Vec::new());
    for model in models(words) {
        match model {
            Ok(found) => mismatches.extend(found),
            Err(why) => unread.push(why),
        }
    }
    let identities = identities(words)?;
    let mut runs = Runs { eager, others, granted, swaps: Vec::new(), mismatches, unread, identities };
    if let Some(folder) = &command.objects {
        runs.swaps = swaps(words, folder, &plain)?;
    }
    let name: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let (fails, symptom) = (runs.fail() || !runs.mismatches.is_empty(), runs.symptom());
    let otherwise = "more schedules (--random 20), or the copies: assay audit d2h -- PROGRAM";
    Ok((super::whole(name.join(" "), symptom, runs.decide(), fails, otherwise), fails))
}

/// A run. The capsules of launches that failed go to `keep`.
fn once(name: &str, words: &[OsString], how: &How, keep: Option<&Path>) -> Result<Run, Trouble> {
    let Checked { code, mut run, output, .. } = run(words, how)?.kept(keep)?;
    let findings = std::mem::take(&mut run.findings);
    Ok(Run {
        how: name.into(),
        code,
        output,
        findings,
        messengers: run.messengers,
        refused: run.refused,
        launches: run.launches,
    })
}

/// The files among the words of a command line, with their places.
fn files(words: &[OsString]) -> impl Iterator<Item = (usize, &Path)> {
    words
        .iter()
        .enumerate()
        .skip(1)
        .map(|(at, word)| (at, Path::new(word)))
        .filter(|(_, path)| path.is_file())
}

fn hash(path: &Path) -> Result<String, Trouble> {
    provenance::sha256(path).map_err(|e| Trouble::Input(format!("{}: {e}", path.display())))
}

/// The program and the files that it is given, with their hashes.
fn identities(words: &[OsString]) -> Result<Vec<String>, Trouble> {
    let program = Path::new(&words[0]);
    let own = program.is_file().then_some(program);
    let all = own.into_iter().chain(files(words).map(|(_, path)| path));
    all.map(|path| Ok(format!("{} sha256 {}", path.display(), hash(path)?))).collect()
}

/// The models that the program is given, and what is wrong with each.
fn models(words: &[OsString]) -> impl Iterator<Item = Result<Vec<String>, String>> {
    let models = files(words).filter(|(_, path)| path.extension().is_some_and(|e| e == "gguf"));
    models.map(|(_, path)| model_mismatches(path))
}

/// What is wrong with a model's file: metadata against tensors. An error if it cannot be read, which need not be the file's fault.
pub fn model_mismatches(path: &Path) -> Result<Vec<String>, String> {
    let gguf = Gguf::open(path).map_err(|e| e.to_string())?;
    let config = ModelConfig::from_gguf(&gguf).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(guard_rail::check(&config, &gguf).iter().map(ToString::to_string).collect())
}

/// Each file that has a namesake in `folder`, and the run with that one.
fn swaps(words: &[OsString], folder: &Path, how: &How) -> Result<Vec<Swap>, Trouble> {
    let mut swaps = Vec::new();
    for (at, path) in files(words) {
        let meant = folder.join(path.file_name().unwrap_or_default());
        if !meant.is_file() {
            continue;
        }
        let (ours, theirs) = (hash(path)?, hash(&meant)?);
        let equal = ours == theirs;
        let run = if equal {
            None
        } else {
            let mut words = words.to_vec();
            words[at] = meant.clone().into();
            Some(once("with the file that was meant", &words, how, None)?)
        };
        let named = |path: &Path, hash: &str| format!("{} (sha256 {})", path.display(), &hash[..16]);
        swaps.push(Swap { given: named(path, &ours), meant: named(&meant, &theirs), equal, run });
    }
    if swaps.is_empty() {
        say(&format!("note: {}: no file of the command line has a namesake there", folder.display()));
    }
    Ok(swaps)
}
