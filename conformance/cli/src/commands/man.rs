//! `assay man`: pages of the manual.

use std::path::PathBuf;

use clap::CommandFactory;

use super::{Cli, End, Trouble, print};

/// Prints the page of the manual, or writes the pages of all commands into a folder.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay man | man -l -
  assay man --out ~/.local/share/man/man1")]
pub struct Man {
    /// Folder for assay.1, assay-check.1 and so on.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Man {
    pub fn run(self) -> Result<End, Trouble> {
        match self.out {
            None => {
                let mut page = Vec::new();
                clap_mangen::Man::new(Cli::command()).render(&mut page).map_err(Trouble::input)?;
                print(&String::from_utf8_lossy(&page));
            }
            Some(folder) => std::fs::create_dir_all(&folder)
                .and_then(|()| clap_mangen::generate_to(Cli::command(), &folder))
                .map_err(|e| Trouble::Input(format!("{}: {e}", folder.display())))?,
        }
        Ok(End::Well)
    }
}
