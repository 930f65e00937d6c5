//! `assay check`: the main job.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_cli::backends::{self, KNOWN, OpenError, Settings};
use assay_cli::report::coverage::Coverage;
use assay_cli::report::unreached;
use assay_cli::report::{self, DeviceCode, Provenance, Sweep, Tested};
use assay_cli::sweep;
use assay_cli::worker::{Recipe, Worker};
use conformance::expectations::Expectations;
use conformance::guard::Guard;
use conformance::name::CaseName;
use conformance::outcome::{CaseResult, Outcome};
use conformance::random::RandomCases;
use conformance::suite::{self, Filter, Shard, Slice};
use conformance::{control, regressions, shrink};
use forensics::{capsule, replay};
use kernels::Stem;

use super::interrupt::{self, Watch};
use super::progress::Progress;
use super::{End, Trouble, github, guard, print, say};

/// Failing cases of one op and format that are made smaller; the others are of the same making, as a rule.
const SHRUNK_PER_GROUP: usize = 1;

/// Runs every op on every backend of this machine and says what conforms.
///
/// Cases run in worker processes: a crash or a hang costs one case. Failing cases are made smaller, kept in a file, and run
/// first next time.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay check                                a slice of every op, format and kind on every backend: a verdict in a minute
  assay check --full                         every case
  assay check 'rope neox' --backend cpu      cases whose names contain both words
  assay check --cases 100000 --seed 7        and 100,000 random ones
  assay check --shard 2/4 --junit out.xml    a quarter of the work, for CI
  assay check --save-capsules failed/        and the failing ops, to run anywhere
  assay check --capsules failed/             a folder of capsules as a regression suite
  assay check rope --coverage rope.html      what of rope's machine code its cases reach, on the software device
  assay check --guard fence-after            an access past the end of a buffer kills its worker

Ctrl-C ends the sweep early: the cases that have ended are reported, the report says that it is partial, and the exit code is
130. ASSAY_HIP_OBJECTS=DIR puts STEM.hsaco files of a folder in the place of the program's own code objects.")]
pub struct Check {
    /// Words that the names of the cases must contain, separated by blanks; a full name runs that case. A word without a slash is not
    /// looked for in the backend's name.
    #[arg(default_value = "")]
    filter: String,
    #[arg(long, value_delimiter = ',', value_name = "NAMES", help = super::backends_help())]
    backend: Vec<String>,
    /// Runs every case. Without it, and without a filter or a shard, a slice of every op, format and kind runs.
    #[arg(long)]
    full: bool,
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
    /// Cases that failed before and run first [default: assay-regressions.txt].
    #[arg(long, value_name = "FILE")]
    regressions: Option<PathBuf>,
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
    /// Writes which blocks and branch directions of the kernels were reached on the software device: a page, or JSON where the name ends
    /// in .json. The cases run in this process, on soft unless --backend says which of its schedules or mutants.
    #[arg(long, value_name = "FILE")]
    coverage: Vec<PathBuf>,
    /// Prints failures as annotations of GitHub Actions too; a step of GitHub Actions does so anyway.
    #[arg(long)]
    github: bool,
}

/// A backend that is there.
struct Opened {
    name: String,
    /// The cases around its break points.
    around: Vec<String>,
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
        self.check_regressions()?;
        self.prepare_coverage()?;
        let settings = Settings::from_env();
        let mut finished = Sweep {
            provenance: Provenance::here(),
            filter: self.filter.clone(),
            seed: self.seed,
            ..Sweep::default()
        };
        if self.shard != Shard::WHOLE {
            finished.not_run.push(format!("shard {} of the cases", self.shard));
        }
        let mut open = Vec::new();
        for name in self.backends() {
            match backends::open(&name, self.guard) {
                // Without a GPU its backend is left out, unless it was asked for.
                Err(OpenError::NoGpu { why }) if !self.asked_for(&name) => {
                    say(&format!("{name} is left out: {why}"));
                    finished.not_run.push(format!("{name} is left out: {why}"));
                }
                opened => {
                    let target = opened?;
                    finished.backends.push(Tested { name: name.clone(), identity: target.identity() });
                    let filter = Filter::new(&self.filter);
                    let around = suite::names_around_breakpoints(&name, target.as_ref(), &filter);
                    open.push(Opened { name, around });
                }
            }
        }
        let watch = interrupt::watch();
        if let Some(folder) = &self.capsules {
            for Opened { name, .. } in &open {
                note_device_code(name, &settings, Stem::ALL, &mut finished)?;
                self.run_capsules(folder, name, &expectations, &watch, &mut finished)?;
            }
        } else {
            self.sweep(&open, &settings, &expectations, &watch, &mut finished)?;
        }
        finished.interrupted = watch.interrupted();
        if finished.results.is_empty() {
            if !finished.interrupted {
                return Err(self.nothing_ran());
            }
            say("interrupted before a case had ended: there is no report");
            return Ok(End::Interrupted);
        }
        if let (true, Some(folder)) = (finished.device_code.is_empty(), &settings.objects) {
            say(&format!(
                "warning: ASSAY_HIP_OBJECTS names {}, but no HIP backend ran (see --backend)",
                folder.display()
            ));
        }
        finished.seconds = begin.elapsed().as_secs_f64();
        let as_listed = self.report(&finished)?;
        Ok(match finished.totals().conform() && as_listed {
            _ if finished.interrupted => End::Interrupted,
            true => End::Well,
            false => End::DoesNotConform,
        })
    }

    /// Why there is no result.
    fn nothing_ran(&self) -> Trouble {
        if let Some(folder) = &self.capsules {
            return Trouble::Input(format!("{}: no capsule there", folder.display()));
        }
        let matching = suite::names("ref", &Filter::new(&self.filter)).len();
        if matching > 0 {
            let what = format!("this shard has none of the {matching} cases of '{}'", self.filter);
            return Trouble::Input(what);
        }
        let what = format!("no case's name contains all of {} (see assay list)", super::quoted(&self.filter));
        Trouble::Input(what + &super::backend_words(&self.filter))
    }

    /// The file of cases that failed before.
    fn regressions(&self) -> &Path {
        self.regressions.as_deref().unwrap_or(Path::new("assay-regressions.txt"))
    }

    /// A list of regressions that was asked for and holds none is a mistake.
    fn check_regressions(&self) -> Result<(), Trouble> {
        let Some(path) = &self.regressions else { return Ok(()) };
        let named = |what: &dyn std::fmt::Display| Trouble::Input(format!("{}: {what}", path.display()));
        let names = regressions::read(path).map_err(|e| named(&e))?;
        if names.is_empty() && path.exists() {
            return Err(named(&"lists no case; leave out --regressions, or delete the file"));
        }
        Ok(())
    }

    /// Coverage is of the software device alone; it is counted from here on.
    fn prepare_coverage(&self) -> Result<(), Trouble> {
        if self.coverage.is_empty() {
            return Ok(());
        }
        if let Some(other) = self.backends().iter().find(|name| !backends::checks_itself(name)) {
            return Err(Trouble::Input(format!(
                "--coverage counts on the software device alone, and {other} does not run there: leave out --backend, or name soft"
            )));
        }
        if self.capsules.is_some() {
            return Err(Trouble::Input(
                "--coverage and --capsules do not go together: capsules run in other processes".into(),
            ));
        }
        if self.cases > 0 {
            return Err(Trouble::Input(
                "--coverage and --cases do not go together: random cases run in other processes".into(),
            ));
        }
        self.coverage.iter().try_for_each(|path| writable(path))?;
        softhip::trace::start();
        Ok(())
    }

    /// Whether every case runs on the program's own kernels: then what no case reaches is listed with a reason.
    fn reaches_all(&self, finished: &Sweep) -> bool {
        let whole =
            self.full && self.filter.is_empty() && self.shard == Shard::WHOLE && !finished.interrupted;
        whole && self.backends() == ["soft"] && Settings::from_env().objects.is_none()
    }

    /// Writes what was reached; whether what was not is as listed, where that is known.
    fn report_coverage(&self, finished: &Sweep) -> Result<bool, Trouble> {
        let kernels = finished.device_code.iter().flat_map(|code| code.object.kernels.iter().cloned());
        let coverage = Coverage::here(kernels);
        print(&coverage.text());
        for path in &self.coverage {
            coverage.write(path).map_err(|e| Trouble::Input(format!("{}: {e}", path.display())))?;
            print(&format!("coverage: {}\n", path.display()));
        }
        if !self.reaches_all(finished) {
            return Ok(true);
        }
        let list =
            unreached::list().map_err(|e| Trouble::Input(format!("kernels/hip/unreached.toml: {e}")))?;
        let complaints = unreached::complaints(&coverage.missing(), &list);
        for complaint in &complaints {
            print(&format!("coverage: {complaint}\n"));
        }
        if complaints.is_empty() {
            let listed: usize = list.iter().map(|entry| entry.count).sum();
            print(&format!(
                "coverage: all but {listed} that kernels/hip/unreached.toml lists with a reason\n"
            ));
        }
        Ok(complaints.is_empty())
    }

    /// Those asked for, that of the case asked for, or all that there are.
    fn backends(&self) -> Vec<String> {
        match CaseName::parse(&self.filter) {
            _ if !self.backend.is_empty() => self.backend.clone(),
            Ok((_, backend)) => vec![backend],
            Err(_) if !self.coverage.is_empty() => vec!["soft".into()],
            Err(_) => KNOWN.iter().map(|k| k.name.to_owned()).collect(),
        }
    }

    /// Whether the command line or the environment insists on the backend.
    fn asked_for(&self, backend: &str) -> bool {
        let required = std::env::var("ASSAY_REQUIRE_HIP").is_ok_and(|value| value == "1");
        let of_case = CaseName::parse(&self.filter).is_ok_and(|(_, of)| of == backend);
        required || of_case || self.backend.iter().any(|name| name == backend)
    }

    /// How workers are started: for one backend, or for cases that say theirs.
    fn recipe(&self, backend: Option<&str>) -> Result<Recipe, Trouble> {
        let program =
            std::env::current_exe().map_err(|e| Trouble::Input(format!("finding this program: {e}")))?;
        let timeout = Duration::from_secs(self.timeout);
        Ok(Recipe { program, backend: backend.map(Into::into), guard: self.guard, timeout, record: None })
    }

    /// Whether all cases run or a slice of them. Who selects cases gets all that were selected.
    fn slice(&self) -> Slice {
        let selects = !self.filter.is_empty() || self.shard != Shard::WHOLE;
        if self.full || selects { Slice::Full } else { Slice::Quick }
    }

    /// The cases of one backend: those that failed before, then the enumerated ones and those around its break points. Also how many the slice left out.
    fn names(&self, opened: &Opened, kept: &[String]) -> Result<(Vec<String>, usize), Trouble> {
        let (backend, filter) = (opened.name.as_str(), Filter::new(&self.filter));
        let of_backend = |name: &&String| name.split('/').nth(1) == Some(backend) && filter.matches(name);
        let mut names: Vec<String> = kept.iter().filter(of_backend).cloned().collect();
        let mut all = suite::names(backend, &filter);
        let enumerated: HashSet<&String> = all.iter().collect();
        let around: Vec<_> =
            opened.around.iter().filter(|name| !enumerated.contains(name)).cloned().collect();
        all.extend(around);
        let total = all.len();
        let slice = self.slice().of(all);
        let left_out = total - slice.len();
        let known: HashSet<String> = names.iter().cloned().collect();
        names.extend(self.shard.of(slice).into_iter().filter(|name| !known.contains(name)));
        if names.is_empty() && CaseName::parse(&self.filter).is_ok_and(|(_, of)| of == backend) {
            suite::understands(&self.filter).map_err(Trouble::input)?;
            names.push(self.filter.clone());
        }
        Ok((names, left_out))
    }

    /// Runs the cases of `backends`, the same case on all of them one after the other, then what follows from failures.
    fn sweep(
        &self,
        backends: &[Opened],
        settings: &Settings,
        expectations: &Expectations,
        watch: &Watch,
        finished: &mut Sweep,
    ) -> Result<(), Trouble> {
        let in_file =
            |e: &dyn std::fmt::Display| Trouble::Input(format!("{}: {e}", self.regressions().display()));
        let kept = regressions::read(self.regressions()).map_err(|e| in_file(&e))?;
        kept.iter().try_for_each(|name| suite::understands(name)).map_err(|e| in_file(&e))?;
        let mut of_backends = Vec::new();
        for opened in backends {
            let backend = &opened.name;
            let (names, left_out) = self.names(opened, &kept)?;
            finished.left_out += left_out;
            let stems = stems(&names);
            reachable(backend, &stems)?;
            note_device_code(backend, settings, &stems, finished)?;
            of_backends.push(names);
        }
        let names = side_by_side(&of_backends);
        if finished.left_out > 0 {
            let (ran, all) = (names.len(), names.len() + finished.left_out);
            finished.not_run.push(format!("a slice of the suite, {ran} of {all} cases; --full runs all"));
        }
        let listed: Vec<&str> = backends.iter().map(|opened| opened.name.as_str()).collect();
        let what = format!("checking {}", listed.join(", "));
        let planned = names.len() + self.cases * backends.len();
        let mut progress = Progress::new(&what, planned);
        let (stop, seen) = (|| watch.interrupted(), |_: &CaseResult| progress.step());
        let results = if self.coverage.is_empty() {
            sweep::sweep(&names, self.jobs(), &self.recipe(None)?, stop, seen)
        } else {
            sweep::sweep_here(&names, self.jobs(), self.guard, stop, seen)
        };
        let results = results.map_err(worker_trouble)?;
        let mut parts: HashMap<String, Vec<CaseResult>> = HashMap::new();
        for result in results {
            let backend = result.name.split('/').nth(1).unwrap_or_default().to_owned();
            parts.entry(backend).or_default().push(expectations.apply(result));
        }
        for Opened { name: backend, .. } in backends {
            let results = parts.remove(backend).unwrap_or_default();
            self.follow_up(backend, results, expectations, watch, finished, &mut progress)?;
        }
        progress.finish();
        if watch.interrupted() {
            let ran = finished.results.len();
            finished.not_run.push(format!("interrupted after {ran} of {planned} cases"));
        }
        Ok(())
    }

    /// Makes failing cases of a backend smaller, runs random ones, keeps and saves what failed.
    fn follow_up(
        &self,
        backend: &str,
        mut results: Vec<CaseResult>,
        expectations: &Expectations,
        watch: &Watch,
        finished: &mut Sweep,
        progress: &mut Progress,
    ) -> Result<(), Trouble> {
        let mut worker = Worker::new(self.recipe(None)?);
        let mut groups = HashMap::new();
        for result in results.iter().filter(|r| matches!(r.outcome, Outcome::Failed(_))) {
            let group: String = result.name.split('/').take(3).collect::<Vec<_>>().join("/");
            let count = groups.entry(group).or_insert(0usize);
            *count += 1;
            if *count <= SHRUNK_PER_GROUP && !watch.interrupted() {
                let small = shrink::named(result.clone(), |name| worker.run(name)).map_err(worker_trouble)?;
                finished.shrunk.push((result.name.clone(), small));
            }
        }
        let mut stream = RandomCases::new(backend, Filter::new(&self.filter), self.seed);
        for _ in 0..self.cases {
            if watch.interrupted() {
                break;
            }
            let Some(result) = stream.next(|name| worker.run(name)).map_err(worker_trouble)? else { break };
            results.push(expectations.apply(result));
            progress.step();
        }
        if let (Some(folder), false) = (&self.save_capsules, watch.interrupted()) {
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
        backend: &str,
        expectations: &Expectations,
        watch: &Watch,
        finished: &mut Sweep,
    ) -> Result<(), Trouble> {
        let files =
            capsule::files(folder).map_err(|e| Trouble::Input(format!("{}: {e}", folder.display())))?;
        let names: Vec<String> =
            files.iter().map(|path| format!("{}{}", replay::PREFIX, path.display())).collect();
        let mut progress = Progress::new(&format!("replaying on {backend}"), names.len());
        let recipe = self.recipe(Some(backend))?;
        let results = sweep::sweep(&names, self.jobs(), &recipe, || watch.interrupted(), |_| progress.step())
            .map_err(worker_trouble)?;
        progress.finish();
        if watch.interrupted() {
            let (ran, all) = (results.len(), names.len());
            finished.not_run.push(format!("{backend}: interrupted after {ran} of {all} capsules"));
        }
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
        let recipe = self.recipe(Some(backend))?;
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
        regressions::add(self.regressions(), &names)
            .map_err(|e| Trouble::Input(format!("{}: {e}", self.regressions().display())))
    }

    /// Prints and writes the results; whether what was reached of the kernels is what it should be, as far as that is known.
    fn report(&self, finished: &Sweep) -> Result<bool, Trouble> {
        print(&report::table(finished));
        print(&report::device_code(finished));
        print(&report::fidelity(finished));
        if finished.interrupted {
            print(&format!("PARTIAL: {}\n", finished.not_run.join("; ")));
        }
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
        let as_listed = self.coverage.is_empty() || self.report_coverage(finished)?;
        if self.github || github::is_runner() {
            print(&github::annotations(finished));
        }
        print(&self.next_steps(finished));
        Ok(as_listed)
    }

    /// What to do now.
    fn next_steps(&self, finished: &Sweep) -> String {
        let failed = finished.failures().next();
        let Some(failed) = failed.map(|failed| finished.smaller(&failed.name).unwrap_or(failed)) else {
            return format!("next: open {}; assay check -h has more to check\n", self.html.display());
        };
        let page = self.html.display();
        if failed.name.starts_with(replay::PREFIX) {
            return format!("next: open {page}; {}\n", report::rerun(&failed.name));
        }
        format!(
            "next: open {page}\n      the smallest failing case alone: assay check '{0}'\n      \
             its op as a file that replays anywhere: assay check '{0}' --save-capsules failed/\n",
            failed.name
        )
    }
}

/// Notes which code objects `backend` runs for the ops `stems`. Objects that were asked for and of which none would run are an error.
fn note_device_code(
    backend: &str,
    settings: &Settings,
    stems: &[Stem],
    finished: &mut Sweep,
) -> Result<(), Trouble> {
    let objects = backends::device_code(backend, settings, stems)?;
    if objects.is_empty() {
        return Ok(());
    }
    if let Some(folder) = settings.objects.as_ref().map(|folder| folder.display().to_string())
        && !objects.iter().any(|object| object.origin == folder)
    {
        let stems: Vec<_> = stems.iter().map(|stem| stem.name()).collect();
        return Err(Trouble::Input(format!(
            "ASSAY_HIP_OBJECTS: code objects in {folder}: none is of an op that would run ({})",
            stems.join(", ")
        )));
    }
    let code = |object| DeviceCode { backend: backend.into(), object };
    finished.device_code.extend(objects.into_iter().map(code));
    Ok(())
}

/// Cases that cannot reach a planted bug prove nothing about it.
fn reachable(backend: &str, stems: &[Stem]) -> Result<(), Trouble> {
    match backends::mutated(backend) {
        Some(stem) if !stems.is_empty() && !stems.contains(&stem) => Err(Trouble::probe_not_reached(
            backend,
            &format!("its bug is in {stem}, of which no case would run"),
        )),
        _ => Ok(()),
    }
}

/// The ops of cases.
fn stems(names: &[String]) -> Vec<Stem> {
    let stems: BTreeSet<Stem> =
        names.iter().filter_map(|name| Some(CaseName::parse(name).ok()?.0.stem)).collect();
    stems.into_iter().collect()
}

/// The names of all backends, in the order of the first backend's, the same case on several of them side by side.
fn side_by_side(of_backends: &[Vec<String>]) -> Vec<String> {
    let case = |name: &str| {
        let mut parts = name.splitn(3, '/');
        let op = parts.next().unwrap_or_default();
        format!("{op}/{}", parts.nth(1).unwrap_or_default())
    };
    let mut order: HashMap<String, usize> = HashMap::new();
    let mut placed: Vec<(usize, usize, &String)> = Vec::new();
    for (backend, names) in of_backends.iter().enumerate() {
        for name in names {
            let next = order.len();
            placed.push((*order.entry(case(name)).or_insert(next), backend, name));
        }
    }
    placed.sort_unstable_by_key(|(case, backend, _)| (*case, *backend));
    placed.into_iter().map(|(.., name)| name.clone()).collect()
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
