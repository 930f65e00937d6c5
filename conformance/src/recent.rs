//! The last few answers to questions that are asked again soon.

use std::collections::VecDeque;

/// Up to `N` answers, the one that was asked for last in front.
#[derive(Debug)]
pub struct Recent<K, V, const N: usize>(VecDeque<(K, V)>);

impl<K, V: Clone, const N: usize> Recent<K, V, N> {
    /// No answers yet.
    pub const fn new() -> Self {
        Recent(VecDeque::new())
    }

    /// The answer to the question that `is_asked` recognises.
    pub fn find(&mut self, is_asked: impl Fn(&K) -> bool) -> Option<V> {
        let at = self.0.iter().position(|(question, _)| is_asked(question))?;
        let found = self.0.remove(at)?;
        let answer = found.1.clone();
        self.0.push_front(found);
        Some(answer)
    }

    /// Adds an answer; the one that nobody has asked for the longest time makes room.
    pub fn add(&mut self, question: K, answer: V) {
        self.0.truncate(N - 1);
        self.0.push_front((question, answer));
    }

    /// Number of answers.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_last_stays() {
        let mut recent: Recent<u32, &str, 2> = Recent::new();
        assert_eq!(recent.find(|q| *q == 1), None);
        recent.add(1, "one");
        recent.add(2, "two");
        assert_eq!(recent.find(|q| *q == 1), Some("one"));
        recent.add(3, "three");
        assert_eq!(recent.find(|q| *q == 2), None);
        assert_eq!(recent.find(|q| *q == 1), Some("one"));
        assert_eq!(recent.find(|q| *q == 3), Some("three"));
        assert_eq!(recent.len(), 2);
    }
}
