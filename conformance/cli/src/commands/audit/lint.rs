//! `assay audit lint`: what is wrong with a log of copies.

#![expect(clippy::doc_markdown, reason = "doc comments of arguments are the text of --help")]

use std::path::{Path, PathBuf};

use d2h_audit::line::{self, Start};
use d2h_audit::{Linted, Sizes, lint};
use engine::config::ModelConfig;
use engine::gguf::Gguf;
use forensics::audit::sizes;

use crate::commands::{End, Trouble, print};

/// Checks a log of copies to the host (GCORE_D2H_AUDIT=1), of this program or another: starts without ends, missing numbers, time that runs
/// backwards, copies that failed or left their allocation, and with -m sizes that the model cannot have.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay audit lint d2h.log
  assay audit lint d2h.log -m model.gguf
  GCORE_D2H_AUDIT=1 ./engine 2>&1 | assay audit lint -

Exit code: 0 where nothing is wrong, 1 where something is, 2 where there is no line of such a log (PROBE_NOT_REACHED).")]
pub struct Lint {
    /// The log; - for standard input. Lines of other kinds are passed over.
    #[arg(value_name = "LOG")]
    log: PathBuf,
    /// The model that ran, a GGUF file.
    #[arg(short, long, value_name = "FILE")]
    model: Option<PathBuf>,
}

impl Lint {
    pub fn run(self) -> Result<End, Trouble> {
        let text = read(&self.log)?;
        let name = self.log.display();
        let config = self.model.as_deref().map(config).transpose()?;
        let judge = |copy: &Start| config.as_ref().and_then(|config| sizes::fault(config, copy));
        let sizes: Option<Sizes<'_>> = if config.is_some() { Some(&judge) } else { None };
        let Linted { lines, started, pairs, findings } = lint(&text, sizes);
        if lines == 0 {
            return Err(Trouble::Input(format!(
                "PROBE_NOT_REACHED: {name}: no line of a log of copies; was GCORE_D2H_AUDIT=1 set, and did the run come to a copy?"
            )));
        }
        for finding in &findings {
            print(&format!("{name}: {finding}\n"));
        }
        let judged = match &config {
            Some(_) => "",
            None => "; sizes were not compared with a model (-m)",
        };
        print(&format!(
            "{name}: {lines} lines, {} copies started, {pairs} with start and end, {} findings{judged}\n",
            started.len(),
            findings.len()
        ));
        Ok(if findings.is_empty() { End::Well } else { End::DoesNotConform })
    }
}

/// The log as text.
fn read(path: &Path) -> Result<String, Trouble> {
    let (name, bytes) = if path == Path::new("-") {
        ("standard input".into(), input_file::read_from(std::io::stdin(), input_file::BINARY))
    } else {
        (path.display().to_string(), input_file::read(path, input_file::BINARY))
    };
    Ok(line::text(&bytes.map_err(|e| Trouble::Input(format!("{name}: {e}")))?))
}

fn config(path: &Path) -> Result<ModelConfig, Trouble> {
    let gguf = Gguf::open(path)?;
    ModelConfig::from_gguf(&gguf).map_err(|e| Trouble::Input(format!("{}: {e}", path.display())))
}
