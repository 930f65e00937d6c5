//! `assay support`: which backend implements which op, with activations of which types and in which formats.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_cli::backends::{self, KNOWN, PLUGIN, Settings};
use conformance::floats::{self, Floats};
use conformance::guard::Guard;
use conformance::name::CaseName;
use conformance::ops::FAMILIES;
use conformance::outcome::Outcome;
use conformance::suite;
use kernels::{DType, Stem};

use super::{End, Trouble, print};

/// Shows which backend implements which op, with activations of which types and in which formats, by running one case of each.
#[derive(clap::Args)]
pub struct Support {
    /// Backends, separated by commas. All that this machine has unless given.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    backend: Vec<String>,
    /// A backend of yours: a library that implements assay.h, or a Python file (.py).
    #[arg(long, visible_alias = "python", value_name = "FILE", conflicts_with = "backend")]
    plugin: Option<PathBuf>,
}

impl Support {
    pub fn run(self) -> Result<End, Trouble> {
        let settings = Settings::from_env().with_plugin(self.plugin.as_deref());
        let names: Vec<&str> = match self.backend.as_slice() {
            _ if self.plugin.is_some() => vec![PLUGIN],
            [] => KNOWN.iter().map(|k| k.name).collect(),
            some => some.iter().map(String::as_str).collect(),
        };
        for name in names {
            let target = backends::open_with(name, Guard::Canaries, &settings)?;
            print(&format!("{name}: {}\n", target.identity().device));
            print(&format!("  {:<12} {:<14} formats\n", "op", "activations"));
            for family in FAMILIES {
                let names = family.names();
                let verdict = |case: &CaseName| {
                    let result = suite::run(&case.on(name), target.as_ref(), suite::JUDGE);
                    result.map(|result| result.outcome).map_err(Trouble::input)
                };
                let (mut activations, mut formats, mut missing) = (Vec::new(), Vec::new(), Vec::new());
                for (dtype, case) in in_each_type(family.stem(), &names) {
                    match verdict(&case)? {
                        Outcome::Unsupported(reason) => {
                            missing.push(format!("; no activations in {dtype}: {reason}"));
                        }
                        _ => activations.push(dtype.name()),
                    }
                }
                for (format, case) in in_each_format(&names) {
                    match verdict(case)? {
                        Outcome::Unsupported(reason) => missing.push(format!("; no {format}: {reason}")),
                        _ => formats.push(format.name()),
                    }
                }
                let (stem, activations, formats) = (family.stem(), activations.join(" "), formats.join(" "));
                let missing = missing.concat();
                print(&format!("  {stem:<12} {activations:<14} {formats}{missing}\n"));
            }
        }
        Ok(End::Well)
    }
}

/// A case of each format.
fn in_each_format(names: &[CaseName]) -> BTreeMap<DType, &CaseName> {
    let mut cases = BTreeMap::new();
    for case in names {
        cases.entry(case.format).or_insert(case);
    }
    cases
}

/// A case with all activations, gains and biases of each type; none of an op that has no such operands.
fn in_each_type(stem: Stem, names: &[CaseName]) -> Vec<(DType, CaseName)> {
    let first = names.iter().find(|name| floats::suitable(name));
    let Some(first) = first.filter(|_| !stem.facts().floats.is_empty()) else { return Vec::new() };
    DType::FLOATS.map(|dtype| (dtype, Floats::of(stem, |_| dtype).name(first))).into()
}
