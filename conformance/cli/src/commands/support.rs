//! `assay support`: which backend implements which op in which format.

use std::collections::BTreeMap;

use assay_cli::backends::{self, KNOWN};
use conformance::guard::Guard;
use conformance::name::CaseName;
use conformance::ops::FAMILIES;
use conformance::outcome::Outcome;
use conformance::suite;

use super::{End, Trouble, print};

/// Shows which backend implements which op in which format, by running one case of each.
#[derive(clap::Args)]
pub struct Support {
    /// Backends, separated by commas. All that this machine has unless given.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    backend: Vec<String>,
}

impl Support {
    pub fn run(self) -> Result<End, Trouble> {
        let names: Vec<&str> = match self.backend.as_slice() {
            [] => KNOWN.iter().map(|k| k.name).collect(),
            some => some.iter().map(String::as_str).collect(),
        };
        for name in names {
            let target = backends::open(name, Guard::Canaries)?;
            print(&format!("{name}: {}\n", target.identity().device));
            for family in FAMILIES {
                let mut formats: BTreeMap<_, CaseName> = BTreeMap::new();
                for case in family.names() {
                    formats.entry(case.format).or_insert(case);
                }
                print(&format!("  {:<12}", family.stem()));
                for (format, case) in formats {
                    let result =
                        suite::run(&case.on(name), target.as_ref(), suite::JUDGE).map_err(Trouble::input)?;
                    match result.outcome {
                        Outcome::Unsupported(reason) => print(&format!(" {format}: no ({reason})")),
                        _ => print(&format!(" {format}")),
                    }
                }
                print("\n");
            }
        }
        Ok(End::Well)
    }
}
