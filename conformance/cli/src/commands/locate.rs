//! `assay locate`: the op that faulted.

use std::path::{Path, PathBuf};
use std::process::Command;

use assay_cli::backends::on_backend;
use assay_cli::report;
use clap::ValueEnum;
use conformance::registry::Job;
use forensics::locate::inside::{Inside, tell};
use forensics::locate::outside::{Told, listen};
use forensics::locate::{Culprit, Event, Fault, Located, Reported};
use kernels::Backend;

use super::kernels::say_what_ran;
use super::model::{ModelArgs, given_text, probe_reached};
use super::{End, Trouble, print};

/// Tokens of a prompt that run together unless --chunk says otherwise.
const CHUNK: usize = 512;

/// Names the op that faulted.
///
/// Runs the model twice in processes of their own: as it is, for what the engine reports by itself; and with a synchronisation
/// and a check behind each op, until the fault. Prints the faulting op with all its arguments, and tells a kernel that faulted
/// from a copy that did.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay locate -m model.gguf -p 'The capital of France is' --backend soft
  assay locate -m model.gguf -p Hi --backend hip --capsule fault.capsule
  assay locate -m model.gguf -p Hi --backend mutant:fault-rope-positions-8-byte@layer=3,phase=decode")]
pub struct Locate {
    #[command(flatten)]
    model: ModelArgs,
    /// The text to continue.
    #[arg(short, long, value_name = "TEXT", conflicts_with = "file")]
    prompt: Option<String>,
    /// A file with that text, - for standard input; a line break at its end does not count. Without -p and -f the text is read from
    /// standard input.
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Tokens to generate.
    #[arg(short, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    n: u32,
    /// Stores each op in this file before it starts; after a fault it holds the op that faulted.
    #[arg(long, value_name = "FILE")]
    capsule: Option<PathBuf>,
    /// Writes the findings as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes a page to open in a browser.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// This is the process inside.
    #[arg(long, hide = true)]
    inside: Option<Mode>,
}

/// How the process inside runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Mode {
    /// As the engine does.
    Plain,
    /// With a synchronisation behind each op.
    Synced,
}

impl Locate {
    pub fn run(self) -> Result<End, Trouble> {
        let prompt = given_text(self.prompt.as_deref(), self.file.as_deref())?;
        if let Some(mode) = self.inside {
            return self.go_inside(mode, &prompt);
        }
        // Input that cannot be read is found out here, with the exit code of its own.
        self.model.file.open()?;
        self.model.kernels.need_device_code([self.model.backend()])?;
        on_backend(self.model.backend(), &self.model.settings(), Nothing)?;
        if let Some(path) = &self.capsule {
            // An op of an earlier run must not pass as this one's.
            let _ = std::fs::remove_file(path);
        }
        let reported = self.child(Mode::Plain, &prompt)?;
        let told = self.child(Mode::Synced, &prompt)?;
        let located = Located {
            backend: self.model.backend().into(),
            reported: reported.error(),
            ops: told.ops,
            fault: told.error().map(|error| Fault {
                capsule: self.capsule.clone().filter(|path| path.exists()),
                culprit: told.last.clone().unwrap_or(Culprit::Start),
                what: error.what,
                died: told.process_died(),
            }),
        };
        if let Some(path) = located.fault.as_ref().and_then(|fault| fault.capsule.as_ref()) {
            super::replay::cut(path, self.model.settings().foreign)?;
        }
        if located.ended_well() && told.probe_not_reached {
            let why = match self.model.kernels.files() {
                Some(_) => "no op of the run was launched on the kernels of the manifest",
                None => "no op of the run reached it",
            };
            return Err(Trouble::probe_not_reached(self.model.backend(), why));
        }
        print(&located.text());
        let write = |path: &Path, text: String| {
            output_file::write(path, text.as_bytes())
                .map_err(|e| Trouble::Input(format!("{}: {e}", path.display())))
        };
        if let Some(path) = &self.json {
            let json = serde_json::to_string_pretty(&located).map_err(Trouble::input)?;
            write(path, format!("{json}\n"))?;
        }
        if let Some(path) = &self.html {
            write(path, report::fault::page(&located))?;
            print(&format!("report: {}\n", path.display()));
        }
        print(&Self::next_steps(&located));
        if located.fault.is_none()
            && let Some(path) = &self.capsule
        {
            let _ = std::fs::remove_file(path);
        }
        Ok(if located.ended_well() { End::Well } else { End::DoesNotConform })
    }

    /// What to do now.
    fn next_steps(located: &Located) -> String {
        match &located.fault {
            Some(Fault { capsule: Some(path), .. }) => format!(
                "next: assay replay {0} --shrink makes it small; assay replay {0} --backend soft checks every access\n",
                path.display()
            ),
            Some(_) => {
                "next: --capsule fault.capsule keeps the op that faulted; assay replay runs it anywhere\n"
                    .into()
            }
            None if located.reported.is_some() => {
                "next: --backend soft-deferred shows a missing synchronisation every time\n".into()
            }
            None => {
                "next: a longer run (-n 64), the prompt that failed, or assay diff for wrong values\n".into()
            }
        }
    }

    /// Runs this command again as the process inside.
    fn child(&self, mode: Mode, prompt: &str) -> Result<Told, Trouble> {
        let program =
            std::env::current_exe().map_err(|e| Trouble::Input(format!("finding this program: {e}")))?;
        let mut command = Command::new(program);
        command.arg("locate").arg(format!("--prompt={prompt}")).arg("-n").arg(self.n.to_string());
        self.model.pass_on(&mut command);
        command.arg("--inside").arg(if mode == Mode::Plain { "plain" } else { "synced" });
        if let (Mode::Synced, Some(path)) = (mode, &self.capsule) {
            command.arg("--capsule").arg(path);
        }
        listen(&mut command).map_err(|e| Trouble::Device(format!("the process inside: {e}")))
    }

    fn go_inside(&self, mode: Mode, prompt: &str) -> Result<End, Trouble> {
        let file = self.model.file.open()?;
        let id = self.model.id()?;
        let prompt = file.prompt(prompt)?;
        let run = self.model.to_run(&file, &prompt, self.n, CHUNK);
        let inside = Inside {
            run,
            model: &id,
            backend: self.model.backend(),
            synced: mode == Mode::Synced,
            capsule: self.capsule.as_deref(),
        };
        let settings = self.model.settings();
        let ended = on_backend(self.model.backend(), &settings, inside)?;
        if probe_reached(&[self.model.backend()], &settings).is_err() {
            tell(&Event::ProbeNotReached);
        }
        let idle = ended.is_ok() && mode == Mode::Synced && say_what_ran(settings.foreign.as_ref()).is_err();
        if idle {
            tell(&Event::ProbeNotReached);
        }
        tell(&Event::End(ended.err().as_ref().map(Reported::of)));
        Ok(End::Well)
    }
}

/// Finds out whether a backend can be had.
struct Nothing;

impl Job for Nothing {
    type Answer = ();

    fn run<B: Backend + 'static>(self, _: B) {}
}
