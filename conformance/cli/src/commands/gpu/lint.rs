//! `assay gpu lint`: missing waits and hazards, found without running anything.

use std::fmt::Write;
use std::path::PathBuf;

use serde_json::{Value as Json, json};
use softhip::lint::{self, Certainty, Found};

use super::file::{Loaded, Source, no_kernel};
use crate::commands::progress::Progress;
use crate::commands::{End, Trouble, print, say};

/// Finds missing waits and missing wait states in gfx942 kernels and functions, on all ways through them.
/// Nothing is run.
#[derive(clap::Args)]
#[command(after_help = "\
Exit code 1 if something is wrong, 2 for bad input. Without --strict nothing is said of what the manual forbids and kernels that are
known to work do, nor of ways that take several branches which may never be taken together.

Examples:
  assay gpu lint rope.hsaco                  every kernel and function
  assay gpu lint libops.so --kernel rope_f32 one of a library
  assay gpu lint rope.hsaco --strict         also what works in practice, and what may be wrong on some way")]
pub struct Lint {
    #[command(flatten)]
    source: Source,
    /// Only this kernel or function.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Also what the manual forbids and works in practice, and what may be wrong on some way.
    #[arg(long)]
    strict: bool,
    /// Writes the findings to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Lint {
    pub fn run(self) -> Result<End, Trouble> {
        let objects = self.source.load()?;
        let path = &self.source.path;
        let wanted = |name: &str| self.kernel.as_deref().is_none_or(|wanted| wanted == name);
        let functions: Vec<_> = objects
            .iter()
            .flat_map(|Loaded { object, .. }| lint::functions(object).into_iter().map(move |f| (object, f)))
            .filter(|(_, function)| wanted(function.name))
            .collect();
        if let Some(name) = self.kernel.as_deref().filter(|_| functions.is_empty()) {
            return Err(no_kernel(path, &objects, name));
        }
        let mut progress = Progress::new("lint", functions.len());
        let (mut instructions, mut left_out) = (0, 0);
        let mut found: Vec<Found> = Vec::new();
        for (object, function) in &functions {
            let linted = lint::lint(object, function);
            instructions += linted.instructions;
            let (shown, hidden): (Vec<_>, Vec<_>) = linted
                .found
                .into_iter()
                .partition(|found| self.strict || found.certainty == Certainty::Certain);
            left_out += hidden.len();
            found.extend(shown);
            progress.step();
        }
        progress.finish();
        print(&text(&found));
        let wrong = found.iter().filter(|found| found.certainty == Certainty::Certain).count();
        say(&format!(
            "{}, {}: {}{}",
            counted(functions.len(), "function"),
            counted(instructions, "instruction"),
            counted(wrong, "error"),
            if left_out == 0 {
                String::new()
            } else {
                format!(" ({} by --strict)", counted(left_out, "more line"))
            }
        ));
        if let Some(path) = &self.json {
            let all = json!({
                "functions": functions.len(),
                "instructions": instructions,
                "findings": found.iter().map(json_of).collect::<Vec<_>>(),
            });
            output_file::write(path, format!("{all:#}\n").as_bytes())
                .map_err(|error| super::file::trouble(path, error))?;
        }
        Ok(if found.is_empty() { End::Well } else { End::DoesNotConform })
    }
}

/// A number of things, in words.
fn counted(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

fn name(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Certain => "error",
        Certainty::SomeWay => "on some way",
        Certainty::Tolerated => "works in practice",
    }
}

fn text(found: &[Found]) -> String {
    let mut text = String::new();
    for Found { report, certainty } in found {
        let _ = match certainty {
            Certainty::Certain => writeln!(text, "{report}\n"),
            other => writeln!(text, "[{}] {report}\n", name(*other)),
        };
    }
    text
}

fn json_of(found: &Found) -> Json {
    let mut json = found.report.to_json();
    json["certainty"] = name(found.certainty).into();
    json
}
