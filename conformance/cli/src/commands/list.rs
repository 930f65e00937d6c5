//! `assay list`: the names of the cases.

use assay_cli::backends::KNOWN;
use conformance::suite::{self, Filter};

use super::{End, Trouble, print};

/// Lists the cases that `check` runs. Each name is a filter for `check`.
#[derive(clap::Args)]
#[command(after_help = "Example: assay list 'matmul q4_k exact'")]
pub struct List {
    /// Words that the names must contain, separated by blanks.
    #[arg(default_value = "")]
    filter: String,
    /// Only how many there are, by op.
    #[arg(long)]
    count: bool,
}

impl List {
    pub fn run(self) -> Result<End, Trouble> {
        let filter = Filter::new(&self.filter);
        let names: Vec<_> = KNOWN.iter().flat_map(|backend| suite::names(backend.name, &filter)).collect();
        if names.is_empty() {
            let what = format!("no case's name contains all of {}", super::quoted(&self.filter));
            return Err(Trouble::Input(what + &super::backend_words(&self.filter)));
        }
        if self.count {
            for backend in KNOWN {
                for stem in kernels::Stem::ALL {
                    let prefix = format!("{stem}/{}/", backend.name);
                    let count = names.iter().filter(|name| name.starts_with(&prefix)).count();
                    print(&format!("{prefix:<20} {count}\n"));
                }
            }
            print(&format!("{} cases\n", names.len()));
        } else {
            for name in names {
                print(&format!("{name}\n"));
            }
        }
        Ok(End::Well)
    }
}
