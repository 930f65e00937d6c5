//! Many cases over several workers, in order.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use conformance::guard::Guard;
use conformance::outcome::{CaseResult, Outcome};
use conformance::own;
use conformance::target::Target;

use crate::backends::{self, Settings};
use crate::worker::{Recipe, Worker};

/// Runs the cases called `names`, each on a worker made by `recipe`, `jobs` at a time.
/// Calls `seen` for each result as it comes; returns all of them in the order of `names`. Once `stop` is true no further case is
/// begun, and those that have ended are returned.
///
/// Neighbours that differ in their backend alone go to one worker, where the oracle answers once for all of them.
pub fn sweep(
    names: &[String],
    jobs: usize,
    recipe: &Recipe,
    stop: impl Fn() -> bool + Sync,
    seen: impl FnMut(&CaseResult),
) -> io::Result<Vec<CaseResult>> {
    spread(
        names,
        jobs,
        || {
            let mut worker = Worker::new(recipe.clone());
            move |name: &str| worker.run(name)
        },
        stop,
        seen,
    )
}

/// As [`sweep`], in this process: for backends that cannot crash it, where something of theirs is to be seen afterwards.
pub fn sweep_here(
    names: &[String],
    jobs: usize,
    guard: Guard,
    settings: &Settings,
    stop: impl Fn() -> bool + Sync,
    seen: impl FnMut(&CaseResult),
) -> io::Result<Vec<CaseResult>> {
    let runner = || {
        let mut targets: HashMap<String, Box<dyn Target>> = HashMap::new();
        move |name: &str| {
            let backend = name.split('/').nth(1).unwrap_or_default();
            if !targets.contains_key(backend) {
                let opened = backends::open_with(backend, guard, settings).map_err(io::Error::other)?;
                targets.insert(backend.into(), opened);
            }
            let result = own::case(name, targets[backend].as_ref());
            if matches!(result.outcome, Outcome::Failed(_)) {
                // A faulted device fails everything that follows: the next case gets a new one.
                targets.remove(backend);
            }
            Ok(result)
        }
    };
    spread(names, jobs, runner, stop, seen)
}

/// Runs cases on `jobs` threads, each by what `runner` makes for it.
fn spread<R: FnMut(&str) -> io::Result<CaseResult>>(
    names: &[String],
    jobs: usize,
    runner: impl Fn() -> R + Sync,
    stop: impl Fn() -> bool + Sync,
    mut seen: impl FnMut(&CaseResult),
) -> io::Result<Vec<CaseResult>> {
    let groups = groups(names);
    let next = AtomicUsize::new(0);
    let failure = Mutex::new(None);
    let (sender, results) = channel();
    let mut ordered: Vec<Option<CaseResult>> = Vec::new();
    ordered.resize_with(names.len(), || None);
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, groups.len().max(1)) {
            let (sender, next, failure, groups, stop, runner) =
                (sender.clone(), &next, &failure, &groups, &stop, &runner);
            scope.spawn(move || {
                let mut run = runner();
                while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
                    for at in group.clone() {
                        if stop() {
                            return;
                        }
                        match run(&names[at]) {
                            Ok(result) => {
                                if sender.send((at, result)).is_err() {
                                    return;
                                }
                            }
                            Err(error) => {
                                if let Ok(mut failure) = failure.lock() {
                                    failure.get_or_insert(error);
                                }
                                next.store(groups.len(), Ordering::Relaxed);
                                return;
                            }
                        }
                    }
                }
            });
        }
        drop(sender);
        for (at, result) in results {
            seen(&result);
            ordered[at] = Some(result);
        }
    });
    match failure.into_inner() {
        Ok(Some(error)) => Err(error),
        _ => Ok(ordered.into_iter().flatten().collect()),
    }
}

/// Ranges of neighbours that differ in their backend alone.
fn groups(names: &[String]) -> Vec<Range<usize>> {
    let case = |name: &String| {
        let mut parts = name.splitn(3, '/');
        let op = parts.next().unwrap_or_default().to_owned();
        (op, parts.nth(1).map(str::to_owned))
    };
    let mut start = 0;
    names
        .chunk_by(|a, b| case(a) == case(b))
        .map(|chunk| {
            let group = start..start + chunk.len();
            start = group.end;
            group
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_case_on_several_backends_is_one_group() {
        let names = ["add/ref/f32/a", "add/cpu/f32/a", "add/cpu/f32/b", "mul/cpu/f32/b", "capsule:/x/y/z"];
        let names = names.map(str::to_owned);
        assert_eq!(groups(&names), [0..2, 2..3, 3..4, 4..5]);
        assert!(groups(&[]).is_empty());
    }
}
