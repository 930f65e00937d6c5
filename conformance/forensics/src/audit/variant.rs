//! What an iteration runs: the same in baseline and audit, another one each time under stress.

use std::fmt;
use std::str::FromStr;

use engine::taps::Point;
use serde::{Deserialize, Serialize};

/// A part of the matrix.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The log is off.
    Baseline,
    /// The log is on.
    Audit,
    /// The log is on; sizes, offsets, streams, allocations and schedules vary.
    Stress,
}

impl Mode {
    /// All of them, in their order.
    pub const ALL: [Mode; 3] = [Mode::Baseline, Mode::Audit, Mode::Stress];

    /// Its name in summaries.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Baseline => "baseline",
            Mode::Audit => "audit",
            Mode::Stress => "stress",
        }
    }

    /// Iterations, unless told otherwise.
    pub const fn iterations(self) -> usize {
        match self {
            Mode::Baseline | Mode::Audit => 50,
            Mode::Stress => 100,
        }
    }

    /// Whether its copies are logged.
    pub const fn logs(self) -> bool {
        !matches!(self, Mode::Baseline)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = Mode::ALL.into_iter().find(|mode| mode.name() == name);
        known.ok_or_else(|| format!("'{name}' is none of baseline, audit, stress"))
    }
}

/// When queued work runs on the software device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Schedule {
    /// As the backend's name says; at once in a program.
    Own,
    /// Only when a synchronisation demands it.
    Deferred,
    /// At moments drawn from this seed.
    Random(u64),
}

/// What an iteration runs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Variant {
    /// Tokens of the prompt; the last ones are left out.
    pub prompt: usize,
    /// Tokens to generate.
    pub tokens: usize,
    /// Rows that run together.
    pub chunk: usize,
    /// Trace points that are copied, too.
    pub taps: Vec<Point>,
    /// When queued work runs.
    pub schedule: Schedule,
    /// Seed of allocations, copies and streams beside the run; `None` for none.
    pub churn: Option<u64>,
}

impl Variant {
    /// Iteration `number` of `mode`, of a run with so many tokens in prompt and answer.
    pub fn of(mode: Mode, number: usize, prompt: usize, tokens: usize, chunk: usize) -> Self {
        let plain = Variant { prompt, tokens, chunk, taps: Vec::new(), schedule: Schedule::Own, churn: None };
        if mode != Mode::Stress {
            return plain;
        }
        let seed = number as u64;
        let mut draw = Draw::new(seed);
        Variant {
            prompt: prompt - draw.below(prompt.div_ceil(2)),
            tokens: 1 + draw.below(tokens),
            chunk: 1 + draw.below(chunk.min(prompt)),
            taps: Point::ALL
                .iter()
                .copied()
                .filter(|point| *point != Point::Logits && draw.below(6) == 0)
                .collect(),
            schedule: schedule(number),
            churn: Some(seed),
        }
    }
}

/// The schedule of a stressed iteration: each in turn.
pub fn schedule(number: usize) -> Schedule {
    match number % 3 {
        0 => Schedule::Own,
        1 => Schedule::Deferred,
        _ => Schedule::Random(number as u64),
    }
}

/// Random numbers that a seed decides (Steele, Lea and Flood's `SplitMix64`).
#[derive(Clone, Debug)]
pub struct Draw(u64);

impl Draw {
    /// Numbers of a seed.
    pub const fn new(seed: u64) -> Self {
        Draw(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`; 0 where that is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.number().checked_rem(limit as u64).unwrap_or(0)).unwrap_or(0)
    }
}
