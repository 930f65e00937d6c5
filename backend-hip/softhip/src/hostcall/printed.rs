//! What kernels print.

/// What kernels print to the two streams of the host's program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Printed {
    /// Its standard output: that of `printf`.
    pub out: Vec<u8>,
    /// Its standard error stream: the messages of assertions.
    pub err: Vec<u8>,
}

impl Printed {
    pub(super) fn bytes(&self) -> usize {
        self.out.len() + self.err.len()
    }

    /// The stream that bit 0 of a message's control word selects.
    pub(super) fn stream(&mut self, control: u64) -> &mut Vec<u8> {
        if control & 1 == 1 { &mut self.err } else { &mut self.out }
    }

    /// Adds what is printed later.
    pub(crate) fn extend(&mut self, later: Self) {
        self.out.extend(later.out);
        self.err.extend(later.err);
    }

    /// The last line: an assertion's, if there is one.
    pub(crate) fn last_line(&self) -> Option<String> {
        let last = |bytes| String::from_utf8_lossy(bytes).lines().last().map(str::to_owned);
        last(&self.err).or_else(|| last(&self.out))
    }
}
