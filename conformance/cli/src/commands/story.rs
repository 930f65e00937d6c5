//! `assay story`: where everything about an op stands.

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
        let chapters = [
            ("what it computes, refuses, and may be wrong by", format!("kernels/src/ops/{stem}.rs")),
            ("f64 reference and oracle", format!("backend-cpu/src/reference/{stem}.rs")),
            ("fast CPU implementation", format!("backend-cpu/src/fast/{stem}.rs")),
            ("conformance cases", format!("conformance/src/ops/{stem}.rs")),
            ("results of other people's code", format!("golden/{stem}/")),
            ("test of its bound, where it has one", format!("backend-cpu/tests/bounds/{stem}.rs")),
            ("bench", format!("benches/benches/{stem}.rs")),
        ];
        for (what, path) in chapters {
            let path = if std::path::Path::new(&path).exists() {
                path
            } else {
                format!("{path} (not in this folder)")
            };
            print(&format!("{what:<50} {path}\n"));
        }
        print(&format!("\nrun its cases:  assay check '{stem}/'\nlist them:      assay list '{stem}/'\n"));
        Ok(End::Well)
    }
}
