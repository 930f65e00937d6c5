//! `assay completions`: what shells need to complete commands.

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, End, Trouble, print};

/// Prints the completions of a shell.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay completions bash > ~/.local/share/bash-completion/completions/assay
  assay completions zsh > ~/.zfunc/_assay
  assay completions fish > ~/.config/fish/completions/assay.fish")]
pub struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    #[expect(clippy::unnecessary_wraps, reason = "the signature of every command")]
    pub fn run(self) -> Result<End, Trouble> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "assay", &mut script);
        print(&String::from_utf8_lossy(&script));
        Ok(End::Well)
    }
}
