//! Work queues, one per thread, with work stealing.
//!
//! Neighbouring tasks are in the same queue, so that a thread reads long pieces of memory in order.

use std::sync::{Mutex, PoisonError};

/// One queue of tasks per thread. A queue is an iterator, so a task is made when it is taken. Its own thread takes tasks from the front;
/// threads whose own queue is empty steal from the back.
pub struct WorkQueues<I> {
    queues: Vec<Queue<I>>,
}

/// The queue of one thread. Aligned to two cache lines, so that queues do not share one (false sharing).
#[repr(align(128))]
struct Queue<I>(Mutex<I>);

impl<I: DoubleEndedIterator> WorkQueues<I> {
    /// The queues of threads 0, 1, and so on.
    pub fn new(queues: impl IntoIterator<Item = I>) -> Self {
        WorkQueues { queues: queues.into_iter().map(|queue| Queue(Mutex::new(queue))).collect() }
    }

    /// Runs `f` on the tasks of thread `thread`, and then on tasks stolen from the others.
    pub fn run(&self, thread: usize, f: impl Fn(I::Item)) {
        let pop = |thread: usize, end: fn(&mut I) -> Option<I::Item>| {
            let queue = &self.queues[thread % self.queues.len()];
            end(&mut queue.0.lock().unwrap_or_else(PoisonError::into_inner))
        };
        if self.queues.is_empty() {
            return;
        }
        while let Some(task) = pop(thread, I::next) {
            f(task);
        }
        for victim in thread + 1..thread + self.queues.len() {
            while let Some(task) = pop(victim, I::next_back) {
                f(task);
            }
        }
    }
}

/// Splits `items`, with their indices, into one contiguous queue per thread.
pub fn split_evenly<T>(
    items: impl ExactSizeIterator<Item = T>,
    threads: usize,
) -> Vec<std::vec::IntoIter<(usize, T)>> {
    let count = items.len();
    let mut items = items.enumerate();
    let queue =
        |thread| items.by_ref().take(part_size(count, thread, threads)).collect::<Vec<_>>().into_iter();
    (0..threads).map(queue).collect()
}

/// How many of `count` tasks thread `thread` of `threads` gets.
pub const fn part_size(count: usize, thread: usize, threads: usize) -> usize {
    (thread + 1) * count / threads - thread * count / threads
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn every_task_runs_once_however_many_threads_come() {
        for (items, threads) in [(0usize, 1), (1, 1), (1, 3), (7, 2), (16, 3), (100, 7)] {
            for come in [1, threads, threads + 2] {
                let queues = WorkQueues::new(split_evenly(0..items, threads));
                let done = Mutex::new(Vec::new());
                thread::scope(|scope| {
                    for thread in 0..come {
                        let (queues, done) = (&queues, &done);
                        scope.spawn(move || {
                            queues.run(thread, |(i, item)| {
                                assert_eq!(i, item);
                                done.lock().unwrap().push(item);
                            });
                        });
                    }
                });
                let mut done = done.into_inner().unwrap();
                done.sort_unstable();
                let all: Vec<_> = (0..items).collect();
                assert_eq!(done, all, "{items} items, {threads} queues, {come} threads");
            }
        }
    }

    #[test]
    fn a_lone_thread_runs_its_own_tasks_in_order_and_steals_from_the_back() {
        for (thread, order) in [(0, [0, 1, 2, 5, 4, 3]), (1, [3, 4, 5, 2, 1, 0])] {
            let queues = WorkQueues::new(split_evenly(0..6, 2));
            let done = Mutex::new(Vec::new());
            queues.run(thread, |(_, item)| done.lock().unwrap().push(item));
            assert_eq!(done.into_inner().unwrap(), order);
        }
    }
}
