//! `assay story`: where everything about an op stands.

use assay_cli::layers::{LAYERS, Names};
use kernels::Stem;

use super::{End, Trouble, print};

/// Shows where everything about an op stands: its page, its implementations, its cases, its golden files.
#[derive(clap::Args)]
#[command(after_help = "Example: assay story rope")]
pub struct Story {
    /// The op.
    op: String,
}

impl Story {
    pub fn run(self) -> Result<End, Trouble> {
        let stem: Stem = self.op.parse().map_err(Trouble::input)?;
        let names = Names::of(stem);
        for layer in LAYERS.iter().filter(|layer| layer.is_own() && layer.has(stem.facts().class)) {
            let path = layer.path(&names);
            let missing = if std::path::Path::new(&path).exists() { "" } else { " (not in this folder)" };
            print(&format!("{:<50} {path}{missing}\n", layer.what));
        }
        print(&format!("\nrun its cases:  assay check '{stem}/'\nlist them:      assay list '{stem}/'\n"));
        Ok(End::Well)
    }
}
