//! `assay render-template`: renders a chat template under limits. Started by commands with `--chat`, not by people.

use assay_cli::template;

use super::{End, Trouble};

/// Renders the chat template that comes in as JSON.
#[derive(clap::Args)]
pub struct RenderTemplate {}

impl RenderTemplate {
    #[expect(clippy::unused_self, reason = "commands are run this way")]
    pub fn run(self) -> Result<End, Trouble> {
        template::serve(std::io::stdin().lock(), std::io::stdout().lock()).map_err(Trouble::input)?;
        Ok(End::Well)
    }
}
