//! The parts of a sweep, which ran on several machines, joined into one.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use conformance::suite::Shard;

use super::{DeviceCode, Plan, Sweep, not_run_shard, part};

/// Parts that do not make up a sweep.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A file that is no report.
    #[error("{}: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A part of another run.
    #[error("{} is of another run: {what} is {theirs}, and {ours} in {}", path.display(), first.display())]
    OtherRun {
        /// The file.
        path: PathBuf,
        /// The file that it is compared with.
        first: PathBuf,
        /// What differs.
        what: &'static str,
        /// In the file.
        theirs: String,
        /// In the first one.
        ours: String,
    },
    /// A part that is there twice.
    #[error("shard {shard} is in {} and in {}", first.display(), path.display())]
    Twice {
        /// The part.
        shard: Shard,
        /// One file.
        first: PathBuf,
        /// The other.
        path: PathBuf,
    },
    /// A part that did not run to its end.
    #[error("{}: shard {shard} was interrupted; run it again", path.display())]
    Interrupted {
        /// The file.
        path: PathBuf,
        /// The part.
        shard: Shard,
    },
    /// A case that two parts have.
    #[error("{name} is in two parts")]
    CaseTwice {
        /// The case.
        name: String,
    },
    /// Parts that lack cases.
    #[error("the parts have {got} of the {want} cases of the sweep")]
    Incomplete {
        /// Cases of the sweep.
        want: usize,
        /// Cases of the parts.
        got: usize,
    },
}

/// Missing parts that are named. A report may claim to be one of any number.
const NAMED: usize = 100;

/// A sweep made of parts.
#[derive(Debug)]
pub struct Merged {
    /// All that the parts have.
    pub sweep: Sweep,
    /// The parts that are not there, the first hundred of them.
    pub missing: Vec<Shard>,
}

/// Joins the reports in `files`.
pub fn merge(files: &[PathBuf]) -> Result<Merged, MergeError> {
    let mut parts: Vec<(&PathBuf, Sweep)> = Vec::new();
    for path in files {
        let part = part::read(path).map_err(|why| MergeError::Unreadable { path: path.clone(), why })?;
        let shard = part.plan.shard;
        if part.interrupted {
            return Err(MergeError::Interrupted { path: path.clone(), shard });
        }
        if let Some((first, ours)) = parts.first() {
            same_run(ours, &part).map_err(|(what, ours, theirs)| MergeError::OtherRun {
                path: path.clone(),
                first: (*first).clone(),
                what,
                theirs,
                ours,
            })?;
        }
        if let Some((first, _)) = parts.iter().find(|(_, known)| known.plan.shard == shard) {
            return Err(MergeError::Twice { shard, first: (*first).clone(), path: path.clone() });
        }
        parts.push((path, part));
    }
    parts.sort_by_key(|(_, part)| part.plan.shard.index());
    let mut sweep = Sweep::default();
    let mut missing = Vec::new();
    if let Some((_, first)) = parts.first() {
        let here: Vec<usize> = parts.iter().map(|(_, part)| part.plan.shard.index()).collect();
        let absent = first.plan.shard.siblings().filter(|shard| !here.contains(&shard.index()));
        missing = absent.take(NAMED).collect();
        sweep = joined(parts.iter().map(|(_, part)| part));
    }
    let mut seen = HashSet::new();
    if let Some(twice) = sweep.results.iter().find(|result| !seen.insert(&result.name)) {
        return Err(MergeError::CaseTwice { name: twice.name.clone() });
    }
    let (want, got) = (sweep.plan.cases, sweep.results.len().saturating_sub(sweep.plan.random_ran));
    if missing.is_empty() && want != got {
        return Err(MergeError::Incomplete { want, got });
    }
    sweep.not_run.extend(missing.iter().map(|shard| format!("shard {shard} is missing")));
    Ok(Merged { sweep, missing })
}

/// What differs between parts, in the one and in the other.
type Difference = (&'static str, String, String);

/// Whether two parts are of one run.
fn same_run(ours: &Sweep, theirs: &Sweep) -> Result<(), Difference> {
    let same = |what: &'static str, ours: String, theirs: String| {
        if ours == theirs { Ok(()) } else { Err((what, ours, theirs)) }
    };
    let word = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".into());
    let backends =
        |sweep: &Sweep| sweep.backends.iter().map(|tested| tested.name.clone()).collect::<Vec<_>>().join(",");
    let plugin = |sweep: &Sweep| word(&sweep.plugin.as_ref().map(|plugin| plugin.sha256.clone()));
    let (a, b): (&Plan, &Plan) = (&ours.plan, &theirs.plan);
    same("the program", a.build.clone(), b.build.clone())?;
    same("the filter", format!("'{}'", ours.filter), format!("'{}'", theirs.filter))?;
    same("the kernels of others", format!("'{}'", ours.flags), format!("'{}'", theirs.flags))?;
    same("the list of backends", backends(ours), backends(theirs))?;
    same("the number of parts", a.shard.count().to_string(), b.shard.count().to_string())?;
    same("the seed", ours.seed.to_string(), theirs.seed.to_string())?;
    same("the number of random cases", a.random.to_string(), b.random.to_string())?;
    same("the guard", a.guard.clone(), b.guard.clone())?;
    same("the list of known failures", word(&a.expectations), word(&b.expectations))?;
    same("the plug-in", plugin(ours), plugin(theirs))?;
    same("the number of cases", a.cases.to_string(), b.cases.to_string())?;
    same("the digest of the cases' names", a.digest.clone(), b.digest.clone())?;
    let (left, right) = (objects(ours), objects(theirs));
    for (key, hashes) in &left {
        if let Some(other) = right.get(key) {
            same("the device code of an op", hashes.join(" "), other.join(" "))?;
        }
    }
    Ok(())
}

/// Hashes of the code objects of each op on each backend.
fn objects(sweep: &Sweep) -> BTreeMap<(&str, &str), Vec<&str>> {
    let mut all: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for DeviceCode { backend, object } in &sweep.device_code {
        all.entry((backend, &object.stem)).or_default().push(&object.sha256);
    }
    all
}

/// Everything that the parts have. Times are added up.
fn joined<'p>(parts: impl Iterator<Item = &'p Sweep>) -> Sweep {
    let mut all = Sweep::default();
    for (at, part) in parts.enumerate() {
        if at == 0 {
            all = Sweep { not_run: Vec::new(), ..part.clone() };
        } else {
            all.results.extend(part.results.iter().cloned());
            all.shrunk.extend(part.shrunk.iter().cloned());
            let new = part.contradictions.iter().filter(|found| !all.contradictions.contains(found));
            let new: Vec<_> = new.cloned().collect();
            all.contradictions.extend(new);
            all.seconds += part.seconds;
            all.left_out = all.left_out.saturating_add(part.left_out);
            all.plan.random_ran = all.plan.random_ran.saturating_add(part.plan.random_ran);
            all.provenance.date = all.provenance.date.min(part.provenance.date.clone());
            add_word(&mut all.provenance.machine, &part.provenance.machine);
            for (ours, theirs) in all.backends.iter_mut().zip(&part.backends) {
                add_word(&mut ours.identity.device, &theirs.identity.device);
            }
            let new = part.device_code.iter().filter(|code| !all.device_code.contains(code));
            let new: Vec<_> = new.cloned().collect();
            all.device_code.extend(new);
        }
        let own = not_run_shard(part.plan.shard);
        for reason in part.not_run.iter().filter(|reason| **reason != own) {
            if !all.not_run.contains(reason) {
                all.not_run.push(reason.clone());
            }
        }
    }
    all.plan.shard = Shard::WHOLE;
    all
}

/// Adds what another machine says, where it says something else.
fn add_word(to: &mut String, word: &str) {
    if !to.split("; ").any(|known| known == word) {
        to.push_str("; ");
        to.push_str(word);
    }
}
