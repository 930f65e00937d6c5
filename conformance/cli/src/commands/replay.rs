//! `assay replay`: a capsule run again.

mod launch;

use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_cli::backends::{self, PLUGIN, Settings};
use assay_cli::foreign::ForeignFiles;
use assay_cli::worker::{Recipe, Worker};
use conformance::guard::Guard;
use conformance::outcome::Outcome;
use forensics::capsule::{self, Capsule, Origin, crop};
use forensics::provenance;
use forensics::reduce;
use forensics::replay;
use launch_capsule::LaunchCapsule;

use super::check::describe_plugin;
use super::kernels::KernelArgs;
use super::{End, Trouble, guard, interrupt, print};

/// Seconds that an op may take unless --timeout says otherwise.
const TIMEOUT: u64 = 60;

/// Runs the op of a capsule again, on any backend, and gives the verdict.
///
/// The op runs in a process of its own, so that a crash or a hang is a verdict too. A capsule of 'assay sanitize --save' is one launch of a
/// HIP program; it runs on the software device under all checks, without the program.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay replay fault.capsule                         on the backend that it comes from
  assay replay fault.capsule --backend ref,cpu,soft
  assay replay fault.capsule --shrink                writes fault.small.capsule")]
pub struct Replay {
    /// The capsules.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Backends, separated by commas; unless given, the one that the capsule comes from.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    backend: Vec<String>,
    /// Makes the smallest capsule that still fails.
    #[arg(long)]
    shrink: bool,
    /// The file for it; beside the capsule, with .small in its name, unless given.
    #[arg(long, value_name = "FILE", requires = "shrink")]
    out: Option<PathBuf>,
    /// What notices an access outside a buffer; unless given, what did so in the run that the capsule comes from, and nothing on
    /// the software device, which does so by itself.
    #[arg(long, value_parser = guard::parser())]
    guard: Option<Guard>,
    /// The plug-in that the capsule is to run on: a library that implements assay.h, or a Python file (.py).
    #[arg(long, visible_alias = "python", value_name = "FILE")]
    plugin: Option<PathBuf>,
    /// Seconds that the op may take.
    #[arg(long, default_value_t = TIMEOUT, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    #[command(flatten)]
    kernels: KernelArgs,
}

impl Replay {
    pub fn run(self) -> Result<End, Trouble> {
        let kernels = self.kernels.resolve()?;
        let settings = Settings { foreign: kernels.files(), ..Settings::from_env() };
        let settings = settings.with_plugin(self.plugin.as_deref());
        let mut conforms = true;
        for path in &self.files {
            if let Some(capsule) = launch_capsule::file::read(path).map_err(Trouble::input)? {
                conforms &= self.launch(path, &capsule)?;
                continue;
            }
            let capsules = capsule::read(path).map_err(Trouble::input)?;
            for backend in self.backends(&capsules) {
                let guard = self.guard.unwrap_or_else(|| guard_for(origin(&capsules), &backend));
                self.kernels.need_device_code([backend.as_str()])?;
                let recipe = Recipe {
                    plugin: settings.plugin.clone(),
                    ..recipe(&backend, guard, self.timeout, settings.foreign.clone())?
                };
                if backend == PLUGIN {
                    describe_plugin(recipe.clone())?;
                } else {
                    backends::open_with(&backend, guard, &settings)?;
                }
                let mut worker = Worker::new(recipe);
                conforms &= verdict(path, &backend, &mut worker)?;
                if self.shrink {
                    let beside = path.with_extension("small.capsule");
                    shrink(path, &capsules, &mut worker, self.out.as_ref().unwrap_or(&beside))?;
                }
            }
        }
        Ok(if conforms { End::Well } else { End::DoesNotConform })
    }

    /// Runs a launch of a HIP program again.
    fn launch(&self, path: &Path, capsule: &LaunchCapsule) -> Result<bool, Trouble> {
        if let Some(other) = self.backend.iter().find(|name| *name != "soft") {
            let what = "is a launch of a HIP program, which only the software device runs";
            return Err(Trouble::Input(format!("{}: {what}, not '{other}'", path.display())));
        }
        let conforms = launch::verdict(path, capsule)?;
        if self.shrink {
            launch::shrink(
                path,
                capsule,
                self.out.as_ref().unwrap_or(&path.with_extension("small.capsule")),
            )?;
        }
        Ok(conforms)
    }

    /// Those asked for, or the one that the capsule comes from.
    fn backends(&self, capsules: &[Capsule]) -> Vec<String> {
        if !self.backend.is_empty() {
            return self.backend.clone();
        }
        if self.plugin.is_some() {
            return vec![PLUGIN.into()];
        }
        vec![origin(capsules).map_or_else(|| "cpu".into(), |origin| origin.backend.clone())]
    }
}

/// The run that capsules of one file come from.
fn origin(capsules: &[Capsule]) -> Option<&Origin> {
    capsules.iter().find_map(|c| c.origin.as_ref())
}

/// The guard for a capsule of `origin` on `backend`.
fn guard_for(origin: Option<&Origin>, backend: &str) -> Guard {
    replay::guard(origin, backend, backends::checks_itself(backend))
}

fn recipe(
    backend: &str,
    guard: Guard,
    timeout: u64,
    foreign: Option<ForeignFiles>,
) -> Result<Recipe, Trouble> {
    let program =
        std::env::current_exe().map_err(|e| Trouble::Input(format!("finding this program: {e}")))?;
    Ok(Recipe {
        program,
        backend: Some(backend.into()),
        guard,
        timeout: Duration::from_secs(timeout),
        record: None,
        foreign,
        plugin: Settings::from_env().plugin,
    })
}

/// Makes the capsule at `path`, of an op that faulted, small enough to be sent, where it still faults then.
pub fn cut(path: &Path, foreign: Option<ForeignFiles>) -> Result<(), Trouble> {
    interrupt::tidy_up();
    let capsules = capsule::read(path).map_err(Trouble::input)?;
    let ([capsule], Some(origin)) = (capsules.as_slice(), origin(&capsules)) else { return Ok(()) };
    if reduce::size(&capsule.record) <= crop::LIMIT {
        return Ok(());
    }
    let guard = guard_for(Some(origin), &origin.backend);
    let mut worker = Worker::new(recipe(&origin.backend, guard, TIMEOUT, foreign)?);
    if let Some(part) =
        replay::shrink(capsule, crop::LIMIT, folder(path), |name| worker.run(name)).map_err(process)?
    {
        capsule::write(path, provenance::build(), &[part]).map_err(Trouble::input)?;
    }
    Ok(())
}

/// The folder of a file.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes the smallest capsule that fails as the one at `path` does.
fn shrink(path: &Path, capsules: &[Capsule], worker: &mut Worker, out: &Path) -> Result<(), Trouble> {
    interrupt::tidy_up();
    let [capsule] = capsules else {
        return Err(Trouble::Input(format!("{}: has {} ops, want one", path.display(), capsules.len())));
    };
    let small = replay::shrink(capsule, 0, folder(out), |name| worker.run(name)).map_err(process)?;
    let Some(small) = small else {
        print(&format!("{}: does not fail, nothing to shrink\n", path.display()));
        return Ok(());
    };
    capsule::write(out, provenance::build(), &[small]).map_err(Trouble::input)?;
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |m| m.len());
    print(&format!("shrunk: {} ({} bytes, from {})\n", out.display(), size(out), size(path)));
    Ok(())
}

/// Runs the capsule and prints what came of it; true where it conforms.
fn verdict(path: &Path, backend: &str, worker: &mut Worker) -> Result<bool, Trouble> {
    let result = worker.run(&replay::request(path)).map_err(process)?;
    let seconds = Duration::from_micros(result.micros).as_secs_f64();
    let (word, lines) = match &result.outcome {
        Outcome::Passed => ("PASSED", Vec::new()),
        Outcome::Failed(failures) => {
            ("FAILED", failures.iter().map(|f| format!("  {}: {}", f.found_by, f.what)).collect())
        }
        Outcome::Unsupported(reason) => ("UNSUPPORTED", vec![format!("  {reason}")]),
        Outcome::Ignored(reason) | Outcome::ExpectedFailure(reason) => {
            ("NOT RUN", vec![format!("  {reason}")])
        }
    };
    let budget =
        result.worst.as_ref().map_or(String::new(), |w| format!(", {:.2} % of the budget", w.share * 100.0));
    print(&format!("{word} {} on {backend}{budget}, {seconds:.3} s\n", path.display()));
    for line in lines {
        print(&format!("{line}\n"));
    }
    Ok(matches!(result.outcome, Outcome::Passed))
}

fn process(error: std::io::Error) -> Trouble {
    if error.kind() == std::io::ErrorKind::InvalidData {
        return Trouble::input(error);
    }
    Trouble::Device(format!("worker process: {error}"))
}
