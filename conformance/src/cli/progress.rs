//! Progress of long work: a bar on a terminal, a line now and then elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// How often a line appears where there is no terminal.
const EVERY: Duration = Duration::from_secs(10);

/// Progress towards a known number of steps.
pub struct Progress {
    bar: Option<ProgressBar>,
    what: String,
    done: u64,
    all: u64,
    said: Instant,
}

impl Progress {
    /// `all` steps of `what`.
    pub fn new(what: &str, all: usize) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(all as u64);
            if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}") {
                bar.set_style(style);
            }
            bar.set_message(what.to_owned());
            bar
        });
        Progress { bar, what: what.into(), done: 0, all: all as u64, said: Instant::now() }
    }

    /// One step done.
    pub fn step(&mut self) {
        self.done += 1;
        match &self.bar {
            Some(bar) => bar.inc(1),
            None if self.said.elapsed() >= EVERY => {
                eprintln!("{}: {} of {}", self.what, self.done, self.all);
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
