//! What only the process that runs the kernels can find out. A plug-in may die of it, so that a worker asks.

use conformance::guard::Guard;
use conformance::taken::Taken;
use kernels::Stem;
use plugin::PluginBackend;
use serde::{Deserialize, Serialize};

use super::declared::{self, Declaration};
use super::probes::{self, Bench, Probe, Trick};
use super::sweep::Swept;
use crate::backends::{self, OpenError, PLUGIN, Settings};

/// What is asked of a plug-in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Question {
    /// The op.
    pub stem: Stem,
    /// What is to be found out.
    pub what: What,
}

/// What can be asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum What {
    /// The tricks that a probe finds, on data of a seed.
    Probe(Probe, u64),
    /// What its launches do besides computing, on data of a seed.
    Touched(u64),
    /// What it declares, against what is measured.
    Declaration(Box<Swept>),
}

/// The answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Examined {
    /// Tricks that were found.
    Tricks(Vec<Trick>),
    /// Declarations and measurements.
    Declaration(Box<Declaration>),
}

/// Answers `question` by the plug-in of `settings`.
pub fn of_plugin(question: &Question, settings: &Settings) -> Result<Examined, OpenError> {
    let target = backends::open_with(PLUGIN, Guard::Canaries, settings)?;
    match &question.what {
        What::Probe(probe, seed) => {
            let taken = Taken::by(target.as_ref());
            let tricks = probe.tricks(question.stem, *seed, &taken, || settings.open_plugin())?;
            Ok(Examined::Tricks(tricks))
        }
        What::Touched(seed) => {
            let taken = Taken::by(target.as_ref());
            let tricks = touched(question.stem, *seed, &taken, &settings.open_plugin()?);
            Ok(Examined::Tricks(tricks.into_iter().collect()))
        }
        What::Declaration(swept) => {
            let declaration = declared::measure(question.stem, target.as_ref(), Vec::new(), swept);
            Ok(Examined::Declaration(Box::new(declaration)))
        }
    }
}

/// Whether launches touch files, processes or the network. What an op does at its first launch (imports, compilers, caches) does not count.
fn touched(stem: Stem, seed: u64, taken: &Taken, plugin: &PluginBackend) -> Option<Trick> {
    probes::pairs(stem, seed, taken, plugin).iter().find_map(|pair| {
        let mut bench = Bench::new(plugin, &pair.first).ok()?;
        bench.finish(&pair.first).ok()?;
        plugin.touched().ok()?;
        bench.finish(&pair.first).ok()?;
        let touched = plugin.touched().ok()?;
        let what = format!("it does more than compute: {}: {}", touched.join(", "), pair.name);
        (!touched.is_empty()).then(|| Trick { name: "files_touched".into(), what })
    })
}
