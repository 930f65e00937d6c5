//! Vector clocks over streams.

/// Per stream, how many of its operations happened before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Clock(Vec<u64>);

impl Clock {
    /// How many operations of `stream` happened before.
    pub fn of(&self, stream: usize) -> u64 {
        self.0.get(stream).copied().unwrap_or(0)
    }

    /// Did the operation numbered `number` (from 1) of `stream` happen before?
    pub fn covers(&self, stream: usize, number: u64) -> bool {
        self.of(stream) >= number
    }

    /// Notes that `stream` got as far as `number`.
    pub fn reach(&mut self, stream: usize, number: u64) {
        if self.0.len() <= stream {
            self.0.resize(stream + 1, 0);
        }
        self.0[stream] = self.0[stream].max(number);
    }

    /// Notes everything that `other` knows.
    pub fn join(&mut self, other: &Self) {
        for (stream, &number) in other.0.iter().enumerate() {
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
