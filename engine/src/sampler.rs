//! Choosing the next token from the logits.
//!
//! The steps, in this order: repetition penalty; with temperature 0, the highest logit wins; otherwise top-k,
//! top-p and min-p narrow the candidates, the temperature flattens or sharpens what is left, and one
//! random number decides. Top-p and min-p see the probabilities before the temperature.
//!
//! The same logits, history and seed give the same token everywhere: candidates are ordered by logit, ties by
//! the lower id; arithmetic is in f64 with a portable `exp`; each drawn token uses exactly one number of
//! the generator.

use std::cmp::Ordering;

use crate::rng::Rng;

/// How tokens are chosen. The default is greedy without any penalty.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SamplerConfig {
    /// Divides the logits; 0 means greedy. Finite, not negative.
    pub temperature: f32,
    /// Candidates kept, the highest logits; 0 means all.
    pub top_k: usize,
    /// The fewest candidates are kept whose probabilities add up to this; 1 means all. Above 0, at most 1.
    pub top_p: f32,
    /// Candidates less probable than this share of the most probable one are dropped; 0 means none. From 0
    /// to below 1.
    pub min_p: f32,
    /// Divides positive and multiplies negative logits of recent tokens; 1 means no penalty. Finite, above 0.
    pub repeat_penalty: f32,
    /// How many of the last tokens count as recent.
    pub repeat_last_n: usize,
    /// Decides every draw.
    pub seed: u64,
}

impl Default for SamplerConfig {
    fn default() -> Self {
        Self {
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            repeat_penalty: 1.0,
            repeat_last_n: 64,
            seed: 0,
        }
    }
}

/// A parameter out of range, or logits from which no token can be chosen.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SamplerError {
    /// A parameter out of range.
    #[error("{name} is {found}, want {want}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// Its value.
        found: f32,
        /// The accepted values.
        want: &'static str,
    },
    /// A logit that is NaN or positive infinity.
    #[error("logit {index} of {count} is {found}")]
    Logit {
        /// The token.
        index: usize,
        /// Its logit.
        found: f32,
        /// Tokens of the vocabulary.
        count: usize,
    },
    /// No token is possible.
    #[error("none of {count} logits is above negative infinity")]
    NoCandidate {
        /// Tokens of the vocabulary.
        count: usize,
    },
    /// A recent token outside the vocabulary.
    #[error("recent token {id} of a vocabulary of {count}")]
    UnknownId {
        /// The token.
        id: u32,
        /// Tokens of the vocabulary.
        count: usize,
    },
}

/// A token with its logit.
#[derive(Clone, Copy)]
struct Candidate {
    id: u32,
    logit: f32,
}

impl Candidate {
    /// The higher logit first, then the lower id.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature of a comparison for sorting")]
    fn order(&self, other: &Self) -> Ordering {
        other.logit.total_cmp(&self.logit).then(self.id.cmp(&other.id))
    }
}

/// Chooses tokens one after another.
#[derive(Clone, Debug)]
pub struct Sampler {
    config: SamplerConfig,
    rng: Rng,
    /// Logits after the penalty, by token; a buffer that is reused.
    penalised: Vec<f32>,
}

impl Sampler {
    /// A sampler at the start of its random sequence.
    pub fn new(config: SamplerConfig) -> Result<Self, SamplerError> {
        let SamplerConfig { temperature, top_p, min_p, repeat_penalty, seed, .. } = config;
        let finite = f32::is_finite;
        let checks = [
            ("temperature", temperature, finite(temperature) && temperature >= 0.0, "finite and at least 0"),
            ("top-p", top_p, top_p > 0.0 && top_p <= 1.0, "above 0 and at most 1"),
            ("min-p", min_p, (0.0..1.0).contains(&min_p), "at least 0 and below 1"),
            (
                "repeat penalty",
                repeat_penalty,
                finite(repeat_penalty) && repeat_penalty > 0.0,
                "finite and above 0",
            ),
        ];
        for (name, found, holds, want) in checks {
            if !holds {
                return Err(SamplerError::Parameter { name, found, want });
            }
        }
        Ok(Self { config, rng: Rng::new(seed), penalised: Vec::new() })
    }

    /// The next token after `history` (prompt and generated tokens), given `logits` by token.
    pub fn sample(&mut self, logits: &[f32], history: &[u32]) -> Result<u32, SamplerError> {
        let count = logits.len();
        if let Some(index) = logits.iter().position(|x| x.is_nan() || *x == f32::INFINITY) {
            return Err(SamplerError::Logit { index, found: logits[index], count });
        }
        self.penalise(logits, history)?;
        let best = highest(&self.penalised).ok_or(SamplerError::NoCandidate { count })?;
        if self.config.temperature == 0.0 {
            return Ok(best);
        }
        // Adding 0 turns -0 into 0, which ties with it.
        let candidates = (0..).zip(&self.penalised).map(|(id, &logit)| Candidate { id, logit: logit + 0.0 });
        let mut candidates: Vec<_> = candidates.filter(|c| c.logit > f32::NEG_INFINITY).collect();
        self.keep_top_k(&mut candidates);
        candidates.sort_unstable_by(Candidate::order);
        self.keep_top_p(&mut candidates);
        self.keep_min_p(&mut candidates);
        Ok(self.draw(&candidates))
    }

    fn penalise(&mut self, logits: &[f32], history: &[u32]) -> Result<(), SamplerError> {
        self.penalised.clear();
        self.penalised.extend_from_slice(logits);
        let penalty = self.config.repeat_penalty;
        let mut recent = history[history.len().saturating_sub(self.config.repeat_last_n)..].to_vec();
        recent.sort_unstable();
        recent.dedup();
        for id in recent {
            let unknown = SamplerError::UnknownId { id, count: logits.len() };
            let logit = self.penalised.get_mut(id as usize).ok_or(unknown)?;
            *logit = if *logit > 0.0 { *logit / penalty } else { *logit * penalty };
        }
        Ok(())
    }

    fn keep_top_k(&self, candidates: &mut Vec<Candidate>) {
        let k = self.config.top_k;
        if k > 0 && k < candidates.len() {
            candidates.select_nth_unstable_by(k - 1, Candidate::order);
            candidates.truncate(k);
        }
    }

    fn keep_top_p(&self, sorted: &mut Vec<Candidate>) {
        let top_p = f64::from(self.config.top_p);
        if top_p >= 1.0 {
            return;
        }
        let weights = weights(sorted, 1.0);
        let total: f64 = weights.iter().sum();
        let mut mass = 0.0;
        let reached = weights.iter().position(|w| {
            mass += w;
            mass >= top_p * total
        });
        sorted.truncate(reached.map_or(sorted.len(), |last| last + 1));
    }

    fn keep_min_p(&self, sorted: &mut Vec<Candidate>) {
        let min_p = f64::from(self.config.min_p);
        let kept = weights(sorted, 1.0).iter().take_while(|w| **w >= min_p).count();
        sorted.truncate(kept.max(1));
    }

    fn draw(&mut self, sorted: &[Candidate]) -> u32 {
        let weights = weights(sorted, self.config.temperature.into());
        let mut left = self.rng.next_f64() * weights.iter().sum::<f64>();
        for (candidate, weight) in sorted.iter().zip(&weights) {
            left -= weight;
            if left < 0.0 {
                return candidate.id;
            }
        }
        // Rounding may leave a small remainder, which goes to the most probable token.
        sorted[0].id
    }
}

/// The token of the highest logit, the lowest id among equals; `None` if all are negative infinity.
fn highest(logits: &[f32]) -> Option<u32> {
    let mut best = None;
    let mut highest = f32::NEG_INFINITY;
    for (id, &logit) in (0..).zip(logits) {
        if logit > highest {
            (best, highest) = (Some(id), logit);
        }
    }
    best
}

/// Probabilities up to a common factor: 1 for the first of `sorted`, which is the highest.
fn weights(sorted: &[Candidate], temperature: f64) -> Vec<f64> {
    let Some(best) = sorted.first() else { return Vec::new() };
    let weight = |c: &Candidate| libm::exp((f64::from(c.logit) - f64::from(best.logit)) / temperature);
    sorted.iter().map(weight).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampler(change: impl FnOnce(&mut SamplerConfig)) -> Sampler {
        let mut config = SamplerConfig { temperature: 1.0, ..SamplerConfig::default() };
        change(&mut config);
        Sampler::new(config).unwrap()
    }

    /// Which tokens come up in many draws.
    fn support(sampler: &mut Sampler, logits: &[f32]) -> Vec<u32> {
        let mut seen: Vec<u32> = (0..2000).map(|_| sampler.sample(logits, &[]).unwrap()).collect();
        seen.sort_unstable();
        seen.dedup();
        seen
    }

    /// Probabilities 0.5, 0.25, 0.125, 0.125 as logits.
    const HALVES: [f32; 4] =
        [0.0, -std::f32::consts::LN_2, -2.0 * std::f32::consts::LN_2, -2.0 * std::f32::consts::LN_2];

    #[test]
    fn greedy_takes_the_lowest_id_of_equal_logits() {
        let mut greedy = Sampler::new(SamplerConfig::default()).unwrap();
        assert_eq!(greedy.sample(&[1.0, 3.0, 3.0, 2.0], &[]), Ok(1));
        assert_eq!(greedy.sample(&[-0.0, 0.0], &[]), Ok(0));
        assert_eq!(greedy.sample(&[f32::NEG_INFINITY, -5.0], &[]), Ok(1));
    }

    #[test]
    fn nan_and_infinity_are_errors_with_their_index() {
        let mut greedy = Sampler::new(SamplerConfig::default()).unwrap();
        let error = greedy.sample(&[1.0, f32::NAN, f32::NAN], &[]).unwrap_err();
        assert_eq!(error.to_string(), "logit 1 of 3 is NaN");
        let error = greedy.sample(&[f32::INFINITY], &[]).unwrap_err();
        assert_eq!(error.to_string(), "logit 0 of 1 is inf");
        let error = greedy.sample(&[f32::NEG_INFINITY; 2], &[]).unwrap_err();
        assert_eq!(error, SamplerError::NoCandidate { count: 2 });
        assert_eq!(greedy.sample(&[], &[]), Err(SamplerError::NoCandidate { count: 0 }));
    }

    #[test]
    fn the_seed_decides_everything() {
        let logits: Vec<f32> = (0_u8..100).map(|i| f32::from(i % 7)).collect();
        let run = |seed| {
            let mut s = sampler(|c| c.seed = seed);
            (0..50).map(|_| s.sample(&logits, &[]).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }

    #[test]
    fn draws_follow_the_probabilities() {
        let mut s = sampler(|_| {});
        let mut counts = [0_u32; 4];
        for _ in 0..16_000 {
            counts[s.sample(&HALVES, &[]).unwrap() as usize] += 1;
        }
        for (count, want) in counts.iter().zip([8000.0, 4000.0, 2000.0, 2000.0]) {
            // Five standard deviations of a binomial with p = 1/2.
            assert!((f64::from(*count) - want).abs() < 5.0 * 64.0, "{counts:?}");
        }
    }

    #[test]
    fn temperature_sharpens_and_flattens() {
        let share = |temperature| {
            let mut s = sampler(|c| c.temperature = temperature);
            (0..4000).filter(|_| s.sample(&[1.0, 0.0], &[]).unwrap() == 0).count()
        };
        let (cold, warm, hot) = (share(0.1), share(1.0), share(100.0));
        assert!(
            cold > 3990 && (2800..3050).contains(&warm) && (1850..2150).contains(&hot),
            "{cold} {warm} {hot}"
        );
    }

    #[test]
    fn top_k_keeps_the_highest_and_the_lower_id_of_a_tie() {
        assert_eq!(support(&mut sampler(|c| c.top_k = 3), &HALVES), [0, 1, 2]);
        assert_eq!(support(&mut sampler(|c| c.top_k = 1), &[0.0, 2.0, 2.0]), [1]);
    }

    #[test]
    fn top_p_keeps_the_fewest_that_reach_the_mass() {
        assert_eq!(support(&mut sampler(|c| c.top_p = 0.49), &HALVES), [0]);
        assert_eq!(support(&mut sampler(|c| c.top_p = 0.6), &HALVES), [0, 1]);
        assert_eq!(support(&mut sampler(|c| c.top_p = 0.8), &HALVES), [0, 1, 2]);
    }

    #[test]
    fn min_p_is_relative_to_the_best() {
        assert_eq!(support(&mut sampler(|c| c.min_p = 0.4), &HALVES), [0, 1]);
        assert_eq!(support(&mut sampler(|c| c.min_p = 0.6), &HALVES), [0]);
    }

    #[test]
    fn top_p_sees_probabilities_before_the_temperature() {
        let flat = |c: &mut SamplerConfig| {
            c.temperature = 50.0;
            c.top_p = 0.6;
        };
        assert_eq!(support(&mut sampler(flat), &HALVES), [0, 1]);
    }

    #[test]
    fn repetition_lowers_both_signs_once_within_the_window() {
        let config = SamplerConfig { repeat_penalty: 2.0, repeat_last_n: 3, ..SamplerConfig::default() };
        let mut s = Sampler::new(config).unwrap();
        assert_eq!(s.sample(&[4.0, 3.0], &[0]), Ok(1));
        assert_eq!(s.sample(&[4.0, 3.0], &[0, 1, 1, 1]), Ok(0), "token 0 is outside the window");
        assert_eq!(s.sample(&[-1.0, -1.5], &[0, 0]), Ok(1));
        assert_eq!(s.sample(&[4.0, 1.5], &[0, 0]), Ok(0), "twice in the window counts once");
        assert_eq!(s.sample(&[1.0], &[9]), Err(SamplerError::UnknownId { id: 9, count: 1 }));
    }

    #[test]
    fn parameters_out_of_range_are_named_with_their_value() {
        let message = |change: fn(&mut SamplerConfig)| {
            let mut config = SamplerConfig::default();
            change(&mut config);
            Sampler::new(config).unwrap_err().to_string()
        };
        assert_eq!(message(|c| c.temperature = -1.0), "temperature is -1, want finite and at least 0");
        assert_eq!(message(|c| c.temperature = f32::NAN), "temperature is NaN, want finite and at least 0");
        assert_eq!(message(|c| c.top_p = 0.0), "top-p is 0, want above 0 and at most 1");
        assert_eq!(message(|c| c.top_p = 1.5), "top-p is 1.5, want above 0 and at most 1");
        assert_eq!(message(|c| c.min_p = 1.0), "min-p is 1, want at least 0 and below 1");
        assert_eq!(message(|c| c.repeat_penalty = 0.0), "repeat penalty is 0, want finite and above 0");
    }
}
