//! Progress of long work: a bar on a terminal, a line now and then elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{BinaryBytes, ProgressBar, ProgressStyle};

/// How often a line appears where there is no terminal.
const EVERY: Duration = Duration::from_secs(10);

/// What is counted.
#[derive(Clone, Copy)]
enum Unit {
    Steps,
    Bytes,
}

impl Unit {
    const fn template(self) -> &'static str {
        match self {
            Unit::Steps => "{msg} {wide_bar} {pos}/{len} {eta}",
            Unit::Bytes => "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes} {eta}",
        }
    }

    fn line(self, what: &str, done: u64, all: u64) -> String {
        match self {
            Unit::Steps => format!("{what}: {done} of {all}"),
            Unit::Bytes => format!("{what}: {} of {}", BinaryBytes(done), BinaryBytes(all)),
        }
    }
}

/// Progress towards a known number of steps, or of bytes.
pub struct Progress {
    bar: Option<ProgressBar>,
    what: String,
    unit: Unit,
    /// Done before this began.
    before: u64,
    done: u64,
    all: u64,
    said: Instant,
    begun: Instant,
}

impl Progress {
    /// `all` steps of `what`.
    pub fn new(what: &str, all: usize) -> Self {
        Self::of(Unit::Steps, what, all)
    }

    /// `all` bytes of `what`.
    pub fn bytes(what: &str, all: usize) -> Self {
        Self::of(Unit::Bytes, what, all)
    }

    fn of(unit: Unit, what: &str, all: usize) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(all as u64);
            if let Ok(style) = ProgressStyle::with_template(unit.template()) {
                bar.set_style(style);
            }
            bar.set_message(what.to_owned());
            bar
        });
        Progress {
            bar,
            what: what.into(),
            unit,
            before: 0,
            done: 0,
            all: all as u64,
            said: Instant::now(),
            begun: Instant::now(),
        }
    }

    /// So many were done earlier: they say nothing about how long the rest takes.
    #[must_use]
    pub fn after(mut self, before: u64) -> Self {
        (self.before, self.done) = (before, before);
        if let Some(bar) = &self.bar {
            bar.set_position(before);
            bar.reset_eta();
        }
        self
    }

    /// One step done.
    pub fn step(&mut self) {
        self.reach(self.done + 1);
    }

    /// So many steps or bytes done in all.
    pub fn reach(&mut self, done: u64) {
        self.done = done;
        match &self.bar {
            Some(bar) => bar.set_position(done),
            None if self.said.elapsed() >= EVERY => {
                let left = left(self.begun.elapsed(), self.done - self.before, self.all - self.before);
                super::say(&format!("{}{left}", self.unit.line(&self.what, self.done, self.all)));
                self.said = Instant::now();
            }
            None => {}
        }
    }

    /// Removes the bar.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

/// How long the rest takes if it goes on as it did.
fn left(elapsed: Duration, done: u64, all: u64) -> String {
    if done == 0 || done >= all {
        return String::new();
    }
    let seconds = elapsed.as_secs_f64() / done as f64 * (all - done) as f64;
    format!(", about {seconds:.0} s left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_with_an_estimate() {
        assert_eq!(left(Duration::from_secs(6), 3, 12), ", about 18 s left");
        assert_eq!(left(Duration::from_secs(6), 0, 12), "");
        assert_eq!(left(Duration::from_secs(6), 12, 12), "");
    }

    #[test]
    fn a_line_says_how_much_of_how_much() {
        assert_eq!(Unit::Steps.line("zoo", 3, 12), "zoo: 3 of 12");
        assert_eq!(Unit::Bytes.line("weights", 3 << 20, 92 << 20), "weights: 3.00 MiB of 92.00 MiB");
    }
}
