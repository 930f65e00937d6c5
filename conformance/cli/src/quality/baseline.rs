//! Figures on record, and what has become worse since.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};

use super::{Measured, Quality, Resources};

/// Figures as a file holds them.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// By kernel.
    kernels: BTreeMap<String, KernelFigures>,
    /// By op and case.
    ops: BTreeMap<String, OpFigures>,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KernelFigures {
    vgprs: u32,
    sgprs: u32,
    agprs: u32,
    lds: u32,
    scratch: u32,
    waves: f64,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OpFigures {
    bytes: u64,
    lines: u64,
    conflicts: u64,
    waves: f64,
}

/// A figure that is worse than the one on record, or has no counterpart.
#[derive(Clone, PartialEq, Debug)]
pub enum Worse {
    /// A figure.
    Figure {
        /// Kernel, or op and case.
        of: String,
        /// Which figure.
        column: &'static str,
        /// On record.
        was: f64,
        /// Now.
        is: f64,
    },
    /// On record and no longer there.
    Gone(String),
    /// Not on record.
    New(String),
}

impl fmt::Display for Worse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Worse::Figure { of, column, was, is } => write!(f, "{of}: {column} was {was}, is {is}"),
            Worse::Gone(of) => write!(f, "{of} is on record and no longer there"),
            Worse::New(of) => write!(f, "{of} is not on record"),
        }
    }
}

impl From<&Resources> for KernelFigures {
    fn from(r: &Resources) -> Self {
        let &Resources { vgprs, sgprs, agprs, lds, scratch, waves, .. } = r;
        KernelFigures { vgprs, sgprs, agprs, lds, scratch, waves }
    }
}

impl From<&Measured> for OpFigures {
    fn from(m: &Measured) -> Self {
        OpFigures { bytes: m.bytes, lines: m.lines, conflicts: m.conflicts, waves: m.waves }
    }
}

/// Figures with their names. Less is better, save of waves.
trait Columns {
    fn columns(self) -> Vec<(&'static str, f64)>;
}

impl Columns for KernelFigures {
    fn columns(self) -> Vec<(&'static str, f64)> {
        vec![
            ("VGPRs", self.vgprs.into()),
            ("SGPRs", self.sgprs.into()),
            ("AGPRs", self.agprs.into()),
            ("LDS", self.lds.into()),
            ("scratch", self.scratch.into()),
            ("waves per SIMD", self.waves),
        ]
    }
}

impl Columns for OpFigures {
    fn columns(self) -> Vec<(&'static str, f64)> {
        vec![
            ("bytes moved", self.bytes as f64),
            ("cache lines", self.lines as f64),
            ("bank conflicts", self.conflicts as f64),
            ("waves per SIMD", self.waves),
        ]
    }
}

impl Baseline {
    /// The figures of `quality`.
    pub fn of(quality: &Quality) -> Self {
        Baseline {
            kernels: quality.kernels.iter().map(|k| (k.kernel.clone(), k.into())).collect(),
            ops: quality.measured.iter().map(|m| (format!("{} {}", m.op, m.case), m.into())).collect(),
        }
    }

    /// Reads a file's text.
    pub fn read(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// The text of a file, a line per kernel and per op.
    pub fn text(&self) -> String {
        let mut text = String::from(
            "# What the kernels cost on CDNA3. Written by `assay gpu report --save kernels/hip/quality.toml`; a test of conformance\n\
             # fails when a figure becomes worse.\n\n[kernels]\n",
        );
        for (name, k) in &self.kernels {
            let KernelFigures { vgprs, sgprs, agprs, lds, scratch, waves } = k;
            let _ = writeln!(
                text,
                "{name} = {{ vgprs = {vgprs}, sgprs = {sgprs}, agprs = {agprs}, lds = {lds}, scratch = {scratch}, waves = {waves:?} }}"
            );
        }
        text += "\n[ops]\n";
        for (name, OpFigures { bytes, lines, conflicts, waves }) in &self.ops {
            let _ = writeln!(
                text,
                "\"{name}\" = {{ bytes = {bytes}, lines = {lines}, conflicts = {conflicts}, waves = {waves:?} }}"
            );
        }
        text
    }

    /// What is worse in `now`.
    pub fn worse(&self, now: &Self) -> Vec<Worse> {
        let mut all = compare(&self.kernels, &now.kernels);
        all.extend(compare(&self.ops, &now.ops));
        all
    }
}

fn compare<C: Columns + Copy>(was: &BTreeMap<String, C>, now: &BTreeMap<String, C>) -> Vec<Worse> {
    let mut all: Vec<Worse> =
        now.keys().filter(|of| !was.contains_key(*of)).map(|of| Worse::New(of.clone())).collect();
    for (of, was) in was {
        let Some(now) = now.get(of) else {
            all.push(Worse::Gone(of.clone()));
            continue;
        };
        for ((column, was), (_, is)) in was.columns().into_iter().zip(now.columns()) {
            let worse = if column == "waves per SIMD" { is < was } else { is > was };
            if worse {
                all.push(Worse::Figure { of: of.clone(), column, was, is });
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quality() -> Quality {
        let kernel = Resources {
            kernel: "rope_neox".into(),
            vgprs: 20,
            sgprs: 30,
            agprs: 0,
            lds: 0,
            scratch: 0,
            block: 256,
            waves: 8.0,
        };
        let measured = Measured {
            op: "rope".into(),
            case: "smollm2, 1x9x64".into(),
            kernels: vec!["rope_neox".into()],
            waves: 8.0,
            bytes: 5000,
            least: 4612,
            accesses: 40,
            lines: 80,
            conflicts: 0,
        };
        Quality { kernels: vec![kernel], measured: vec![measured] }
    }

    #[test]
    fn a_file_gives_back_what_it_was_written_from() {
        let baseline = Baseline::of(&quality());
        assert_eq!(Baseline::read(&baseline.text()).unwrap(), baseline);
    }

    #[test]
    fn every_worse_figure_is_named_with_both_numbers_and_better_ones_pass() {
        let was = Baseline::of(&quality());
        let mut now = quality();
        now.kernels[0].vgprs = 19;
        now.measured[0].bytes = 4612;
        assert_eq!(was.worse(&Baseline::of(&now)), []);
        now.kernels[0].scratch = 16;
        now.kernels[0].waves = 7.0;
        now.measured[0].conflicts = 3;
        now.measured[0].lines = 81;
        let said: Vec<String> = was.worse(&Baseline::of(&now)).iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "rope_neox: scratch was 0, is 16",
                "rope_neox: waves per SIMD was 8, is 7",
                "rope smollm2, 1x9x64: cache lines was 80, is 81",
                "rope smollm2, 1x9x64: bank conflicts was 0, is 3",
            ]
        );
        now = quality();
        now.kernels[0].kernel = "rope_gptj".into();
        let said: Vec<String> = was.worse(&Baseline::of(&now)).iter().map(ToString::to_string).collect();
        assert_eq!(said, ["rope_gptj is not on record", "rope_neox is on record and no longer there"]);
    }
}
