//! An endless series of random cases, from a seed.

use std::io;

use kernels::Stem;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::name::CaseName;
use crate::ops::FAMILIES;
use crate::outcome::{CaseResult, Outcome};
use crate::shrink;
use crate::suite::Filter;

/// A source of random cases: the ops take turns.
pub struct RandomCases {
    runner: TestRunner,
    filter: Filter,
    backend: String,
    /// The ops that get turns.
    stems: Vec<Stem>,
    turn: usize,
}

impl std::fmt::Debug for RandomCases {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RandomCases on {}, at turn {}", self.backend, self.turn)
    }
}

impl RandomCases {
    /// The cases of `seed` on `backend`. An op whose cases `filter` leaves out gets no turn.
    pub fn new(backend: &str, filter: Filter, seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let config = Config { failure_persistence: None, ..Config::default() };
        RandomCases {
            runner: TestRunner::new_with_rng(config, rng),
            filter,
            backend: backend.into(),
            stems: Stem::ALL.to_vec(),
            turn: 0,
        }
    }

    /// The same with cases of the ops `stems` alone.
    #[must_use]
    pub fn of(mut self, stems: &[Stem]) -> Self {
        self.stems = stems.to_vec();
        self
    }

    /// Runs the next random case; a failing one is shrunk.
    pub fn next(
        &mut self,
        mut run: impl FnMut(&str) -> io::Result<CaseResult>,
    ) -> io::Result<Option<CaseResult>> {
        let Some(tree) = self.draw() else { return Ok(None) };
        let result = run(&tree.current().on(&self.backend))?;
        match result.outcome {
            Outcome::Failed(_) => shrink::random(tree, result, &self.backend, run).map(Some),
            _ => Ok(Some(result)),
        }
    }

    /// A random case that the filter lets through; `None` where it lets through none.
    fn draw(&mut self) -> Option<Box<dyn ValueTree<Value = CaseName>>> {
        for _ in 0..100 * FAMILIES.len() {
            let family = FAMILIES[self.turn % FAMILIES.len()];
            self.turn += 1;
            if !self.stems.contains(&family.stem()) {
                continue;
            }
            let Ok(tree) = family.random().new_tree(&mut self.runner) else { continue };
            if self.filter.matches(&tree.current().on(&self.backend)) {
                return Some(tree);
            }
        }
        None
    }
}
