//! `assay check`: the main job.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_cli::backends::{self, KNOWN, OpenError};
use assay_cli::report::{self, Sweep};
use assay_cli::sweep;
use assay_cli::worker::{Recipe, Worker};
use conformance::expectations::Expectations;
use conformance::guard::Guard;
use conformance::name::CaseName;
use conformance::outcome::{CaseResult, Outcome};
use conformance::random::RandomCases;
use conformance::suite::{self, Filter, Shard};
use conformance::{control, regressions, shrink};
use forensics::{capsule, replay};

use super::progress::Progress;
use super::{End, Trouble, guard, print};

/// Failing cases of one op and format that are made smaller; the others are of the same making, as a rule.
const SHRUNK_PER_GROUP: usize = 1;

/// Runs every op on every backend of this machine and says what conforms.
///
/// Cases run in worker processes: a crash or a hang costs one case. Failing cases are made smaller, kept in a file, and run
/// first next time.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay check                                every case on every backend
  assay check 'rope neox' --backend cpu      cases whose names contain both words
  assay check --cases 100000 --seed 7        and 100,000 random ones
  assay check --shard 2/4 --junit out.xml    a quarter of the work, for CI
  assay check --save-capsules failed/        and the failing ops, to run anywhere
  assay check --capsules failed/             a folder of capsules as a regression suite
  assay check --guard fence-after            an access past the end of a buffer kills its worker")]
pub struct Check {
    /// Words that the names of the cases must contain, separated by blanks; a full name runs that case.
    #[arg(default_value = "")]
    filter: String,
    /// Backends, separated by commas: ref, cpu. All that this machine has unless given.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    backend: Vec<String>,
    /// Random cases on top, for each backend.
    #[arg(long, default_value_t = 0, value_name = "N")]
    cases: usize,
    /// Seed of the random cases.
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    /// Runs only part I of N.
    #[arg(long, default_value = "1/1", value_name = "I/N")]
    shard: Shard,
    /// Worker processes; as many as there are cores unless given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Seconds that a case may take.
    #[arg(long, default_value_t = 60, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// What notices an access outside a buffer.
    #[arg(long, value_parser = guard::parser(), default_value_t)]
    guard: Guard,
    /// Known failures.
    #[arg(long, value_name = "FILE")]
    expectations: Option<PathBuf>,
    /// Cases that failed before and run first.
    #[arg(long, default_value = "assay-regressions.txt", value_name = "FILE")]
    regressions: PathBuf,
    /// Runs the capsules of a folder instead of the cases.
    #[arg(long, value_name = "DIR")]
    capsules: Option<PathBuf>,
    /// Saves the ops of failing cases, made smaller, as capsules in this folder.
    #[arg(long, value_name = "DIR")]
    save_capsules: Option<PathBuf>,
    /// Writes everything as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes `JUnit` XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Writes a page to open in a browser.
    #[arg(long, default_value = "assay-report.html", value_name = "FILE")]
    html: PathBuf,
}

impl Check {
    pub fn run(self) -> Result<End, Trouble> {
        let begin = Instant::now();
        let violated = control::violated(&control::REAL);
        if !violated.is_empty() {
            return Err(Trouble::Input(format!("this program's own controls fail: {}", violated.join("; "))));
        }
        let expectations = match &self.expectations {
            Some(path) => Expectations::read(path).map_err(Trouble::input)?,
            None => Expectations::default(),
        };
        for path in [Some(&self.html), self.json.as_ref(), self.junit.as_ref()].into_iter().flatten() {
            writable(path)?;
        }
        let mut finished = Sweep {
            backends: Vec::new(),
            seed: self.seed,
            results: Vec::new(),
            shrunk: Vec::new(),
            seconds: 0.0,
        };
        for name in self.backends() {
            let identity = match backends::open(&name, self.guard) {
                // Of all that there are, a GPU that is not there is none.
                Err(OpenError::NoGpu { why }) if !self.asked_for(&name) => {
                    eprintln!("{name} is left out: {why}");
                    continue;
                }
                opened => opened?.identity(),
            };
            finished.backends.push(identity);
            self.sweep(&name, &expectations, &mut finished)?;
        }
        if let (true, Some(folder)) = (finished.results.is_empty(), &self.capsules) {
            return Err(Trouble::Input(format!("{}: no capsule there", folder.display())));
        }
        if finished.results.is_empty() {
            let what = format!("no case's name contains all of '{}' (see assay list)", self.filter);
            return Err(Trouble::Input(what));
        }
        finished.seconds = begin.elapsed().as_secs_f64();
        self.report(&finished)?;
        Ok(if finished.totals().conform() { End::Well } else { End::DoesNotConform })
    }

    /// Those asked for, that of the case asked for, or all that there are.
    fn backends(&self) -> Vec<String> {
        match CaseName::parse(&self.filter) {
            _ if !self.backend.is_empty() => self.backend.clone(),
            Ok((_, backend)) => vec![backend],
            Err(_) => KNOWN.iter().map(|k| k.name.to_owned()).collect(),
        }
    }

    /// Whether the command line or the environment insists on the backend.
    fn asked_for(&self, backend: &str) -> bool {
        let required = std::env::var("ASSAY_REQUIRE_HIP").is_ok_and(|value| value == "1");
        let of_case = CaseName::parse(&self.filter).is_ok_and(|(_, of)| of == backend);
        required || of_case || self.backend.iter().any(|name| name == backend)
    }

    fn recipe(&self, backend: &str) -> Result<Recipe, Trouble> {
        let program =
            std::env::current_exe().map_err(|e| Trouble::Input(format!("finding this program: {e}")))?;
        let timeout = Duration::from_secs(self.timeout);
        Ok(Recipe { program, backend: backend.into(), guard: self.guard, timeout, record: None })
    }

    /// Runs one backend's cases: those that failed before, the enumerated ones, the random ones.
    fn sweep(&self, backend: &str, expectations: &Expectations, finished: &mut Sweep) -> Result<(), Trouble> {
        let filter = Filter::new(&self.filter);
        let recipe = self.recipe(backend)?;
        if let Some(folder) = &self.capsules {
            return self.run_capsules(folder, &recipe, expectations, finished);
        }
        let kept = regressions::read(&self.regressions)
            .map_err(|e| Trouble::Input(format!("{}: {e}", self.regressions.display())))?;
        let of_backend = |name: &String| name.split('/').nth(1) == Some(backend) && filter.matches(name);
        let mut names: Vec<String> = kept.into_iter().filter(of_backend).collect();
        let enumerated = self.shard.of(suite::names(backend, &filter));
        names.extend(enumerated.into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
        if names.is_empty() && CaseName::parse(&self.filter).is_ok_and(|(_, of)| of == backend) {
            suite::understands(&self.filter).map_err(Trouble::input)?;
            names.push(self.filter.clone());
        }
        let mut progress = Progress::new(&format!("checking {backend}"), names.len() + self.cases);
        let results =
            sweep::sweep(&names, self.jobs(), &recipe, |_| progress.step()).map_err(worker_trouble)?;
        let mut results: Vec<_> = results.into_iter().map(|result| expectations.apply(result)).collect();

        let mut worker = Worker::new(recipe);
        let mut groups = std::collections::HashMap::new();
        for result in results.iter().filter(|r| matches!(r.outcome, Outcome::Failed(_))) {
            let group: String = result.name.split('/').take(3).collect::<Vec<_>>().join("/");
            let count = groups.entry(group).or_insert(0usize);
            *count += 1;
            if *count <= SHRUNK_PER_GROUP {
                let small = shrink::named(result.clone(), |name| worker.run(name)).map_err(worker_trouble)?;
                finished.shrunk.push((result.name.clone(), small));
            }
        }
        let mut stream = RandomCases::new(backend, filter, self.seed);
        for _ in 0..self.cases {
            let Some(result) = stream.next(|name| worker.run(name)).map_err(worker_trouble)? else { break };
            results.push(expectations.apply(result));
            progress.step();
        }
        progress.finish();
        if let Some(folder) = &self.save_capsules {
            self.save(folder, backend, &results, finished)?;
        }
        self.keep(&results, finished)?;
        finished.results.extend(results);
        Ok(())
    }

    /// Runs the capsules of a folder.
    fn run_capsules(
        &self,
        folder: &Path,
        recipe: &Recipe,
        expectations: &Expectations,
        finished: &mut Sweep,
    ) -> Result<(), Trouble> {
        let files =
            capsule::files(folder).map_err(|e| Trouble::Input(format!("{}: {e}", folder.display())))?;
        let names: Vec<String> =
            files.iter().map(|path| format!("{}{}", replay::PREFIX, path.display())).collect();
        let mut progress = Progress::new(&format!("replaying on {}", recipe.backend), names.len());
        let results =
            sweep::sweep(&names, self.jobs(), recipe, |_| progress.step()).map_err(worker_trouble)?;
        progress.finish();
        finished.results.extend(results.into_iter().map(|result| expectations.apply(result)));
        Ok(())
    }

    /// Saves the op of each failing case that a single op shows.
    fn save(
        &self,
        folder: &Path,
        backend: &str,
        results: &[CaseResult],
        finished: &Sweep,
    ) -> Result<(), Trouble> {
        let recipe = self.recipe(backend)?;
        for result in results.iter().filter(|r| matches!(r.outcome, Outcome::Failed(_))) {
            let small = finished.smaller(&result.name);
            // Without a smaller case it is one of many of a kind, of which another one is saved.
            let Some(case) = small else { continue };
            let record = |name: &str, ops: &Path| {
                Worker::new(Recipe { record: Some(ops.to_owned()), ..recipe.clone() }).run(name)
            };
            let mut worker = Worker::new(recipe.clone());
            let saved = replay::save(folder, case, record, |name| worker.run(name))
                .map_err(|e| Trouble::Input(format!("{}: {e}", folder.display())))?;
            print(&match saved {
                Some(path) => format!("capsule: {}\n", path.display()),
                None => format!("no single op shows {}\n", case.name),
            });
        }
        Ok(())
    }

    /// Worker processes.
    fn jobs(&self) -> usize {
        self.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
    }

    /// Keeps the names of failing cases for next time.
    fn keep(&self, results: &[CaseResult], finished: &Sweep) -> Result<(), Trouble> {
        let failed = results.iter().filter(|r| matches!(r.outcome, Outcome::Failed(_)));
        let shrunk =
            |r: &CaseResult| finished.smaller(&r.name).map_or(r.name.clone(), |small| small.name.clone());
        let names: Vec<_> = failed.map(shrunk).take(100).collect();
        regressions::add(&self.regressions, &names)
            .map_err(|e| Trouble::Input(format!("{}: {e}", self.regressions.display())))
    }

    fn report(&self, finished: &Sweep) -> Result<(), Trouble> {
        print(&report::table(finished));
        let write = |path: &Path, text: &str| {
            output_file::write(path, text.as_bytes())
                .map_err(|e| Trouble::Input(format!("{}: {e}", path.display())))
        };
        write(&self.html, &report::html::html(finished))?;
        print(&format!("report: {}\n", self.html.display()));
        if let Some(path) = &self.json {
            write(path, &format!("{:#}\n", report::json(finished)))?;
        }
        if let Some(path) = &self.junit {
            write(path, &report::junit(finished).map_err(Trouble::input)?)?;
        }
        Ok(())
    }
}

/// Finds out before the work, not after it, that a report cannot be written.
fn writable(path: &Path) -> Result<(), Trouble> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match folder.metadata() {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(Trouble::Input(format!("{}: '{}' is not a folder", path.display(), folder.display()))),
        Err(error) => Err(Trouble::Input(format!("{}: {error}", path.display()))),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the signature that `map_err` calls")]
fn worker_trouble(error: std::io::Error) -> Trouble {
    Trouble::Device(format!("worker process: {error}"))
}
