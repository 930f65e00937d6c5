//! Vector clocks over streams.

/// Per stream, how many of its operations happened before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Clock {
    /// Of the null stream, which most programs have alone.
    null: u64,
    /// Of the others, from stream 1 on.
    others: Vec<u64>,
}

impl Clock {
    /// How many operations of `stream` happened before.
    pub fn of(&self, stream: usize) -> u64 {
        match stream.checked_sub(1) {
            None => self.null,
            Some(other) => self.others.get(other).copied().unwrap_or(0),
        }
    }

    /// Did the operation numbered `number` (from 1) of `stream` happen before?
    pub fn covers(&self, stream: usize, number: u64) -> bool {
        self.of(stream) >= number
    }

    /// Notes that `stream` got as far as `number`.
    pub fn reach(&mut self, stream: usize, number: u64) {
        let Some(other) = stream.checked_sub(1) else {
            self.null = self.null.max(number);
            return;
        };
        if self.others.len() <= other {
            self.others.resize(other + 1, 0);
        }
        self.others[other] = self.others[other].max(number);
    }

    /// Notes everything that `other` knows.
    pub fn join(&mut self, other: &Self) {
        self.null = self.null.max(other.null);
        for (stream, &number) in (1..).zip(&other.others) {
            self.reach(stream, number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_knows_what_either_side_knew() {
        let (mut a, mut b) = (Clock::default(), Clock::default());
        a.reach(0, 3);
        b.reach(2, 1);
        a.join(&b);
        assert!(a.covers(0, 3) && a.covers(2, 1) && !a.covers(2, 2) && !a.covers(7, 1));
    }
}
