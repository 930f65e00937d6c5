//! `assay sanitize`: other people's HIP programs on the software device.

pub mod checked;
mod library;
mod nothing;
mod program;
mod progress;
mod save;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use assay_cli::numbers::launches;
use assay_cli::report::sanitize::{PREFIX, Sanitized, failure_text, finding_text, messenger_text};
use assay_cli::suppressions::Suppressions;
use clap::builder::{NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use sanitize_protocol::{Finding, Launches, Message, Schedule, Settings, Tool};
use serde_json::json;

use super::{End, Trouble, say};

/// Runs a HIP program on the software device with every access checked, and names the first wrong one.
///
/// The program runs as it is: it finds the drop-in libamdhip64 where it looks for ROCm's. No GPU and no ROCm are needed. Findings go to
/// the standard error stream.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay sanitize -- ./engine --model m.gguf
  assay sanitize --tool memcheck,racecheck --schedule deferred -- ./engine
  assay sanitize --write-suppressions known.toml -- ./engine
  assay sanitize --suppressions known.toml -- ./engine
  assay sanitize --destroy-on-device-error kernel -- ./engine    no call fails after the first error: all errors in one run
  assay sanitize --save fault.capsule -- ./engine         then: assay replay fault.capsule --shrink
  assay sanitize --on gpu --save fault.capsule -- ./engine    the launch that a GPU refuses, explained by the software device

Exit code: the program's where nothing is found, --error-exitcode where something is, 2 for bad input or where nothing was checked.")]
pub struct Sanitize {
    /// What is checked, separated by commas; all of it unless given. Bounds and lifetimes of accesses always are.
    #[arg(long = "tool", value_name = "TOOLS", value_delimiter = ',', value_parser = tools())]
    tools: Vec<Tool>,
    /// Checks bounds and lifetimes of accesses alone: what costs least. The same as --tool memcheck.
    #[arg(long, conflicts_with = "tools")]
    bounds_only: bool,
    /// Where the program runs.
    #[arg(long, value_enum, default_value_t = On::Soft)]
    on: On,
    /// With --on gpu: waits for each launch, so that the one that fails is named. --save does so, too.
    #[arg(long)]
    sync_per_op: bool,
    /// With --on gpu: puts known bytes around memory of hipMalloc, and looks at them whenever the program waits (with --sync-per-op, after each
    /// launch). Writes past an end are found, reads are not.
    #[arg(long)]
    guard_zones: bool,
    /// When queued work runs.
    #[arg(long, value_enum, default_value_t = When::Eager)]
    schedule: When,
    /// Seed of the places of allocations, and of the random schedule.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Checks other kernels than those whose (mangled) names contain this for bounds and lifetimes only.
    #[arg(long, value_name = "PART", value_parser = NonEmptyStringValueParser::new())]
    kernel: Option<String>,
    /// Checks other launches than these for bounds and lifetimes only; the first is number 1.
    #[arg(long, value_name = "N[-M]", value_parser = launches)]
    launch: Option<Launches>,
    /// Which processes are checked.
    #[arg(long, value_enum, default_value_t = Processes::All)]
    target_processes: Processes,
    /// Findings that are printed; the others are counted.
    #[arg(long, value_name = "N", default_value_t = 100)]
    max_errors: usize,
    /// What an error of a kernel ends for the program. Its later kernels are run and checked in either case.
    #[arg(long, value_enum, default_value_t = Ends::Context)]
    destroy_on_device_error: Ends,
    /// Seconds between two lines about a kernel that is still running; 0 for none. A terminal gets one line that changes.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    progress: u32,
    /// Exit code where something is found.
    #[arg(long, value_name = "CODE", default_value_t = 1)]
    error_exitcode: u8,
    /// A file of findings that are known and no errors.
    #[arg(long, value_name = "FILE")]
    suppressions: Option<PathBuf>,
    /// Writes a file that suppresses what is found.
    #[arg(long, value_name = "FILE")]
    write_suppressions: Option<PathBuf>,
    /// Writes the launch that failed first, for 'assay replay'; to a folder (its name ends with /), all of them. Every launch then costs a copy of
    /// the memory that it can reach.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Writes everything to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes a page that opens from disk.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum On {
    /// On the software device, with every access checked.
    Soft,
    /// On a GPU and ROCm: every call's status, every launch's arguments, and the launch that fails as a capsule for the software device.
    Gpu,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Processes {
    /// The program and all that it starts.
    All,
    /// The program alone: what it starts runs on the software device, and nothing is told of it.
    ApplicationOnly,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Ends {
    /// Everything, as on ROCm: all later calls answer the error.
    Context,
    /// The access that was wrong: no call answers an error, and the program goes on.
    Kernel,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum When {
    /// At once.
    Eager,
    /// Only when a synchronisation demands it.
    Deferred,
    /// At moments drawn from the seed.
    Random,
}

impl When {
    fn schedule(self) -> Schedule {
        match self {
            Self::Eager => Schedule::Eager,
            Self::Deferred => Schedule::Deferred,
            Self::Random => Schedule::Random,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Eager => "eager",
            Self::Deferred => "deferred",
            Self::Random => "random",
        }
    }
}

fn tools() -> impl TypedValueParser<Value = Tool> {
    let values = Tool::ALL.map(|tool| PossibleValue::new(tool.name()).help(tool.about()));
    PossibleValuesParser::new(values).map(|name| {
        let known = Tool::ALL.into_iter().find(|tool| tool.name() == name);
        known.expect("only names of tools are possible")
    })
}

impl Sanitize {
    pub fn run(self) -> Result<End, Trouble> {
        if self.guard_zones && self.on == On::Soft {
            return Err(Trouble::Input(
                "--guard-zones is for --on gpu: the software device checks every access".into(),
            ));
        }
        let suppressions =
            self.suppressions.as_deref().map_or(Ok(Suppressions::default()), Suppressions::read);
        let suppressions = suppressions.map_err(Trouble::Input)?;
        let on_gpu = self.on == On::Gpu;
        let folder = if on_gpu { library::Folder::for_messages()? } else { library::Folder::new()? };
        let preloaded = if on_gpu { Some(library::forward()?) } else { None };
        let settings = Settings {
            messages: folder.messages(),
            only_children_of: (self.target_processes == Processes::ApplicationOnly).then(std::process::id),
            tools: self.chosen_tools(),
            capsules: self.save.is_some().then(|| folder.path().to_owned()),
            sync_per_op: self.sync_per_op || self.save.is_some(),
            guard_zones: self.guard_zones,
            schedule: self.schedule.schedule(),
            seed: self.seed,
            kernel: self.kernel.clone(),
            launches: self.launch,
            faults_stick: self.destroy_on_device_error == Ends::Context,
            progress_seconds: progress::seconds(self.progress),
            counts_copies: false,
            grants: false,
        };
        let mut line = progress::Line::default();
        let mut run = Sanitized::default();
        let launch = program::Launch {
            words: &self.program,
            folder: &folder,
            preloaded: preloaded.as_deref(),
            settings: &settings,
            limit: None,
        };
        let code = program::run(&launch, &mut |_| {}, |message| {
            line.show(&message);
            self.show(&message, &run, &suppressions);
            run.add(message, |finding| suppressions.cover(finding));
        })?;
        if run.has_begun() {
            say(run.summary(self.schedule.name(), on_gpu).trim_end());
        }
        if let Some(to) = &self.save {
            save::save(to, &run)?;
        }
        self.write_files(&run, code)?;
        if let Some(why) = nothing::checked(&settings, &run, on_gpu) {
            return Err(Trouble::Input(format!(
                "nothing was checked: {}: {why} (exit code {code})",
                self.name()
            )));
        }
        Ok(End::Code(if run.is_clean() { code } else { self.error_exitcode }))
    }

    /// The tools that were asked for, or all.
    fn chosen_tools(&self) -> Vec<Tool> {
        match self.tools.as_slice() {
            _ if self.bounds_only => vec![Tool::Memcheck],
            [] => Tool::ALL.to_vec(),
            tools => tools.to_vec(),
        }
    }

    fn name(&self) -> String {
        self.program.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    /// Prints a message as it comes.
    fn show(&self, message: &Message, run: &Sanitized, suppressions: &Suppressions) {
        let show = |finding: &Finding| run.findings.len() < self.max_errors && !suppressions.cover(finding);
        match message {
            Message::Finding(finding) if show(finding) => say(finding_text(finding).trim_end()),
            Message::Failure(failure) => say(&format!("{PREFIX} {}\n{PREFIX}", failure_text(failure))),
            Message::Messenger(messenger) => {
                say(&format!("{PREFIX} {}\n{PREFIX}", messenger_text(messenger)));
            }
            _ => {}
        }
    }

    fn write_files(&self, run: &Sanitized, code: u8) -> Result<(), Trouble> {
        if let Some(path) = &self.write_suppressions {
            write(path, &Suppressions::of(&run.findings).text().map_err(Trouble::input)?)?;
        }
        if let Some(path) = &self.json {
            let mut all = run.json();
            all["program"] = json!(self.name());
            all["exit_code"] = json!(code);
            all["schedule"] = json!(self.schedule.name());
            write(path, &format!("{all:#}\n"))?;
        }
        if let Some(path) = &self.html {
            write(path, &run.page(&self.name()))?;
        }
        Ok(())
    }
}

fn write(path: &Path, text: &str) -> Result<(), Trouble> {
    let written = output_file::write(path, text.as_bytes());
    written.map_err(|error| Trouble::Input(format!("{}: {error}", path.display())))
}
