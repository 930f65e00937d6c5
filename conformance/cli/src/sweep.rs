//! Many cases over several workers, in order.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use conformance::outcome::CaseResult;

use crate::worker::{Recipe, Worker};

/// Runs the cases called `names`, each on a worker made by `recipe`, `jobs` at a time.
/// Calls `seen` for each result as it comes; returns all of them in the order of `names`.
pub fn sweep(
    names: &[String],
    jobs: usize,
    recipe: &Recipe,
    mut seen: impl FnMut(&CaseResult),
) -> io::Result<Vec<CaseResult>> {
    let next = AtomicUsize::new(0);
    let failure = Mutex::new(None);
    let (sender, results) = channel();
    let mut ordered: Vec<Option<CaseResult>> = Vec::new();
    ordered.resize_with(names.len(), || None);
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, names.len().max(1)) {
            let (sender, next, failure) = (sender.clone(), &next, &failure);
            scope.spawn(move || {
                let mut worker = Worker::new(recipe.clone());
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(name) = names.get(at) else { break };
                    match worker.run(name) {
                        Ok(result) => {
                            if sender.send((at, result)).is_err() {
                                break;
                            }
                        }
                        Err(error) => {
                            if let Ok(mut failure) = failure.lock() {
                                failure.get_or_insert(error);
                            }
                            next.store(names.len(), Ordering::Relaxed);
                            break;
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
