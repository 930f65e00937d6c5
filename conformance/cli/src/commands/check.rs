//! `assay check`: the main job.

mod foreign;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_cli::backends::{self, KNOWN, OpenError, PLUGIN, Settings};
use assay_cli::numbers;
use assay_cli::report::coverage::Coverage;
use assay_cli::report::unreached;
use assay_cli::report::{DeviceCode, Plan, PluginFile, Provenance, Sweep, Tested, not_run_shard};
use assay_cli::sweep;
use assay_cli::worker::{Recipe, Worker};
use conformance::declaration::{self, Contradiction};
use conformance::expectations::Expectations;
use conformance::guard::Guard;
use conformance::name::CaseName;
use conformance::outcome::{CaseResult, Outcome};
use conformance::random::RandomCases;
use conformance::suite::{self, Filter, Shard, Slice};
use conformance::taken::Taken;
use conformance::{control, regressions, shrink};
use forensics::{capsule, provenance, replay};
use kernels::{Identity, Stem};

use super::interrupt::{self, Watch};
use super::kernels::KernelArgs;
use super::progress::Progress;
use super::reports::{self, Reports};
use super::{End, Trouble, github, guard, say};

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
  assay check --plugin ./libmine.so           a backend of yours, in any language (conformance/plugin/README.md)
  assay check rope --coverage rope.html      what of rope's machine code its cases reach, on the software device
  assay check --kernels mine.hsaco --manifest mine.toml   kernels of your own, all cases of the ops that the manifest has
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
    #[arg(long, value_name = "N", value_parser = numbers::jobs())]
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
    /// Cases that failed before and run first [default: assay-regressions.txt, and none for a shard].
    #[arg(long, value_name = "FILE")]
    regressions: Option<PathBuf>,
    /// Runs the capsules of a folder instead of the cases.
    #[arg(long, value_name = "DIR", conflicts_with = "shard")]
    capsules: Option<PathBuf>,
    /// Saves the ops of failing cases, made smaller, as capsules in this folder.
    #[arg(long, value_name = "DIR")]
    save_capsules: Option<PathBuf>,
    /// A backend of yours: a library that implements assay.h, or a Python file (.py). It is called plugin, and is the only one unless
    /// --backend names others.
    #[arg(long, visible_alias = "python", value_name = "FILE")]
    plugin: Option<PathBuf>,
    #[command(flatten)]
    reports: Reports,
    /// Writes which blocks and branch directions of the kernels were reached on the software device: a page, or JSON where the name ends
    /// in .json. The cases run in this process, on soft unless --backend says which of its schedules or mutants.
    #[arg(long, value_name = "FILE")]
    coverage: Vec<PathBuf>,
    #[command(flatten)]
    kernels: KernelArgs,
    /// Prints failures as annotations of GitHub Actions too; a step of GitHub Actions does so anyway.
    #[arg(long)]
    github: bool,
}

/// What the steps after the cases of a backend need.
#[derive(Clone, Copy)]
struct Follow<'f> {
    backend: &'f str,
    taken: &'f Taken,
    settings: &'f Settings,
    foreign: Option<&'f foreign::Foreign>,
    expectations: &'f Expectations,
    watch: &'f Watch,
}

/// A backend that is there.
struct Opened {
    name: String,
    /// The cases around its break points.
    around: Vec<String>,
    /// The types in which it takes ops that it does not take in f32.
    taken: Taken,
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
        self.reports.prepare()?;
        self.check_regressions()?;
        self.prepare_coverage()?;
        self.kernels.need_device_code(self.backends())?;
        let kernels = self.kernels.resolve()?;
        let settings = Settings { foreign: kernels.files(), ..self.settings() };
        let foreign = foreign::Foreign::open(&kernels)?;
        let mut finished = Sweep {
            flags: self.kernels.files().map_or(String::new(), |files| files.text()),
            provenance: Provenance::here(),
            filter: self.filter.clone(),
            seed: self.seed,
            ..Sweep::default()
        };
        finished.plan = Plan {
            shard: self.shard,
            random: self.cases,
            guard: self.guard.to_string(),
            expectations: match &self.expectations {
                Some(path) => Some(provenance::sha256(path).map_err(Trouble::input)?),
                None => None,
            },
            ..Plan::default()
        };
        if self.shard != Shard::WHOLE {
            finished.not_run.push(not_run_shard(self.shard));
        }
        let mut open = Vec::new();
        for name in self.backends() {
            if name == PLUGIN {
                let (identity, taken) = self.open_plugin(&settings, &mut finished)?;
                finished.backends.push(Tested { name: name.clone(), identity });
                open.push(Opened { name, around: Vec::new(), taken });
                continue;
            }
            match backends::open_with(&name, self.guard, &settings) {
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
                    let taken = Taken::by(target.as_ref());
                    open.push(Opened { name, around, taken });
                }
            }
        }
        let watch = interrupt::watch();
        if let Some(folder) = &self.capsules {
            for Opened { name, .. } in &open {
                note_device_code(name, &settings, Stem::ALL, &mut finished)?;
                self.run_capsules(folder, name, &settings, &expectations, &watch, &mut finished)?;
            }
        } else {
            self.sweep(&open, &settings, foreign.as_ref(), &expectations, &watch, &mut finished)?;
        }
        finished.interrupted = watch.interrupted();
        if let Some(foreign) = foreign.as_ref().filter(|_| !finished.interrupted && self.capsules.is_none()) {
            foreign.ran(&mut finished)?;
        }
        if finished.results.is_empty() {
            if !finished.interrupted {
                return Err(self.nothing_ran());
            }
            say("interrupted before a case had ended: there is no report");
            return Ok(End::Interrupted);
        }
        if !finished.interrupted && open.iter().any(|opened| opened.name == PLUGIN) {
            finished.discount_refusals(PLUGIN);
            self.plugin_reached(&finished)?;
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

    /// As the environment asks, with what flags add.
    fn settings(&self) -> Settings {
        Settings::from_env().with_plugin(self.plugin.as_deref())
    }

    /// What the plug-in is. It is opened in a worker, which it may take with it.
    fn open_plugin(&self, settings: &Settings, finished: &mut Sweep) -> Result<(Identity, Taken), Trouble> {
        let path = settings.plugin.as_ref().ok_or(OpenError::NoPlugin)?;
        let described = describe_plugin(self.recipe(None, settings)?)?;
        let sha256 =
            provenance::sha256(path).map_err(|e| Trouble::Input(format!("{}: {e}", path.display())))?;
        finished.plugin = Some(PluginFile { file: path.display().to_string(), sha256 });
        Ok(described)
    }

    /// A plug-in that implements nothing of what was chosen is no pass.
    fn plugin_reached(&self, finished: &Sweep) -> Result<(), Trouble> {
        if finished.reached(PLUGIN) {
            return Ok(());
        }
        let mut reasons = finished.results.iter().filter_map(|result| match &result.outcome {
            Outcome::Unsupported(why) => Some(why.as_str()),
            _ => None,
        });
        let file = finished.plugin.as_ref().map_or("", |plugin| plugin.file.as_str());
        let why = reasons.next().map_or(String::new(), |why| format!(": {why}"));
        Err(Trouble::Input(format!("{file} implements none of the cases of '{}'{why}", self.filter)))
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

    /// The file of cases that failed before. What lies about on one machine must not change what a sweep of several is made of.
    fn regressions(&self) -> Option<&Path> {
        let usual = (self.shard == Shard::WHOLE).then_some(Path::new("assay-regressions.txt"));
        self.regressions.as_deref().or(usual)
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
        self.coverage.iter().try_for_each(|path| reports::writable(path))?;
        softhip::trace::start();
        Ok(())
    }

    /// Whether every case runs on the program's own kernels: then what no case reaches is listed with a reason.
    fn reaches_all(&self, finished: &Sweep) -> bool {
        let own = self.kernels.files().is_none() && Settings::from_env().objects.is_none();
        let whole =
            own && self.full && self.filter.is_empty() && self.shard == Shard::WHOLE && !finished.interrupted;
        whole && self.backends() == ["soft"]
    }

    /// Writes what was reached; whether what was not is as listed, where that is known.
    fn report_coverage(&self, finished: &Sweep) -> Result<bool, Trouble> {
        let kernels = finished.device_code.iter().flat_map(|code| code.object.kernels.iter().cloned());
        let coverage = Coverage::here(kernels);
        let print = |text: &str| self.reports.tell(text);
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
        if self.plugin.is_some() {
            let others = self.backend.iter().filter(|name| *name != PLUGIN);
            return std::iter::once(PLUGIN.to_owned()).chain(others.cloned()).collect();
        }
        match CaseName::parse(&self.filter) {
            _ if !self.backend.is_empty() => self.backend.clone(),
            Ok((_, backend)) => vec![backend],
            Err(_) if !self.coverage.is_empty() || self.kernels.files().is_some() => vec!["soft".into()],
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
    fn recipe(&self, backend: Option<&str>, settings: &Settings) -> Result<Recipe, Trouble> {
        let program =
            std::env::current_exe().map_err(|e| Trouble::Input(format!("finding this program: {e}")))?;
        let timeout = Duration::from_secs(self.timeout);
        Ok(Recipe {
            program,
            backend: backend.map(Into::into),
            guard: self.guard,
            timeout,
            record: None,
            foreign: settings.foreign.clone(),
            plugin: settings.plugin.clone(),
        })
    }

    /// Whether all cases run or a slice of them. Who selects cases gets all that were selected.
    fn slice(&self) -> Slice {
        let selects = !self.filter.is_empty() || self.shard != Shard::WHOLE;
        if self.full || selects { Slice::Full } else { Slice::Quick }
    }

    /// The cases of one backend, in all parts of the sweep: those that failed before, then the enumerated ones and those around its break
    /// points. Also how many the slice left out.
    fn names(
        &self,
        opened: &Opened,
        kept: &[String],
        foreign: Option<&foreign::Foreign>,
    ) -> Result<(Vec<String>, usize), Trouble> {
        let (backend, filter) = (opened.name.as_str(), Filter::new(&self.filter));
        let wanted = |name: &String| foreign.is_none_or(|foreign| foreign.has(name));
        let of_backend =
            |name: &&String| name.split('/').nth(1) == Some(backend) && filter.matches(name) && wanted(name);
        let mut names: Vec<String> = kept.iter().filter(of_backend).cloned().collect();
        let mut all = opened.taken.pose_all(suite::names(backend, &filter));
        let enumerated: HashSet<&String> = all.iter().collect();
        let around: Vec<_> =
            opened.around.iter().filter(|name| !enumerated.contains(name)).cloned().collect();
        all.extend(around);
        all.retain(&wanted);
        let total = all.len();
        let slice = self.slice().of(all);
        let left_out = total - slice.len();
        let known: HashSet<String> = names.iter().cloned().collect();
        names.extend(slice.into_iter().filter(|name| !known.contains(name)));
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
        foreign: Option<&foreign::Foreign>,
        expectations: &Expectations,
        watch: &Watch,
        finished: &mut Sweep,
    ) -> Result<(), Trouble> {
        let mut kept = Vec::new();
        if let Some(path) = self.regressions() {
            let in_file = |e: &dyn std::fmt::Display| Trouble::Input(format!("{}: {e}", path.display()));
            kept = regressions::read(path).map_err(|e| in_file(&e))?;
            kept.iter().try_for_each(|name| suite::understands(name)).map_err(|e| in_file(&e))?;
        }
        let (mut of_backends, mut planned_names) = (Vec::new(), Vec::new());
        for opened in backends {
            let backend = &opened.name;
            let (names, left_out) = self.names(opened, &kept, foreign)?;
            finished.left_out += left_out;
            planned_names.extend(names.iter().cloned());
            let names = self.shard.of(names);
            let stems = stems(&names);
            reachable(backend, &stems)?;
            note_device_code(backend, settings, &stems, finished)?;
            of_backends.push(names);
        }
        finished.plan.cover(&planned_names);
        let names = side_by_side(&of_backends);
        if finished.left_out > 0 {
            let (ran, all) = (names.len(), names.len() + finished.left_out);
            finished.not_run.push(format!("a slice of the suite, {ran} of {all} cases; --full runs all"));
        }
        let listed: Vec<&str> = backends.iter().map(|opened| opened.name.as_str()).collect();
        let what = format!("checking {}", listed.join(", "));
        let planned = names.len() + self.shard.share(self.cases) * backends.len();
        let mut progress = Progress::new(&what, planned);
        let (stop, seen) = (|| watch.interrupted(), |_: &CaseResult| progress.step());
        let results = if self.coverage.is_empty() {
            sweep::sweep(&names, self.jobs(), &self.recipe(None, settings)?, stop, seen)
        } else {
            sweep::sweep_here(&names, self.jobs(), self.guard, settings, stop, seen)
        };
        let results = results.map_err(worker_trouble)?;
        let mut parts: HashMap<String, Vec<CaseResult>> = HashMap::new();
        for result in results {
            let backend = result.name.split('/').nth(1).unwrap_or_default().to_owned();
            parts.entry(backend).or_default().push(expectations.apply(result));
        }
        for Opened { name: backend, taken, .. } in backends {
            let results = parts.remove(backend).unwrap_or_default();
            let follow = Follow { backend, taken, settings, foreign, expectations, watch };
            self.follow_up(&follow, results, finished, &mut progress)?;
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
        follow: &Follow<'_>,
        mut results: Vec<CaseResult>,
        finished: &mut Sweep,
        progress: &mut Progress,
    ) -> Result<(), Trouble> {
        let Follow { backend, taken, settings, foreign, expectations, watch } = *follow;
        let mut worker = Worker::new(self.recipe(None, settings)?);
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
        if !watch.interrupted() {
            finished.contradictions.extend(contradictions(&results, &mut worker).map_err(worker_trouble)?);
        }
        let seed = self.shard.seed(self.seed);
        let mut stream = RandomCases::new(backend, Filter::new(&self.filter), seed);
        if let Some(foreign) = foreign {
            stream = stream.of(&foreign.stems);
        }
        for _ in 0..self.shard.share(self.cases) {
            if watch.interrupted() {
                break;
            }
            let next = stream.next(|name| worker.run(&taken.pose(name)));
            let Some(result) = next.map_err(worker_trouble)? else { break };
            results.push(expectations.apply(result));
            finished.plan.random_ran += 1;
            progress.step();
        }
        if let (Some(folder), false) = (&self.save_capsules, watch.interrupted()) {
            self.save(folder, backend, settings, &results, finished)?;
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
        settings: &Settings,
        expectations: &Expectations,
        watch: &Watch,
        finished: &mut Sweep,
    ) -> Result<(), Trouble> {
        let files =
            capsule::files(folder).map_err(|e| Trouble::Input(format!("{}: {e}", folder.display())))?;
        let names: Vec<String> = files.iter().map(|path| replay::request(path)).collect();
        finished.plan.cases += names.len();
        let mut progress = Progress::new(&format!("replaying on {backend}"), names.len());
        let recipe = self.recipe(Some(backend), settings)?;
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
        settings: &Settings,
        results: &[CaseResult],
        finished: &Sweep,
    ) -> Result<(), Trouble> {
        let recipe = self.recipe(Some(backend), settings)?;
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
            self.reports.tell(&match saved {
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
        let Some(path) = self.regressions() else { return Ok(()) };
        regressions::add(path, &names).map_err(|e| Trouble::Input(format!("{}: {e}", path.display())))
    }

    /// Prints and writes the results; whether what was reached of the kernels is what it should be, as far as that is known.
    fn report(&self, finished: &Sweep) -> Result<bool, Trouble> {
        self.reports.write(finished)?;
        let as_listed = self.coverage.is_empty() || self.report_coverage(finished)?;
        if self.github || github::is_runner() {
            self.reports.tell(&github::annotations(finished));
        }
        self.reports.tell(&self.next_steps(finished));
        Ok(as_listed)
    }

    /// The flag that a command needs to run a case of this sweep.
    fn plugin_flag(&self) -> String {
        self.plugin.as_ref().map_or(String::new(), |path| format!(" --plugin '{}'", path.display()))
    }

    /// What to do now.
    fn next_steps(&self, finished: &Sweep) -> String {
        let failed = finished.failures().next();
        let Some(failed) = failed.map(|failed| finished.smaller(&failed.name).unwrap_or(failed)) else {
            return format!("next: open {}; assay check -h has more to check\n", self.reports.html.display());
        };
        let page = self.reports.html.display();
        if replay::path_of(&failed.name).is_some() {
            return format!("next: open {page}; {}\n", finished.rerun(&failed.name));
        }
        let flags = match finished.flags.as_str() {
            "" => String::new(),
            flags => format!(" {flags}"),
        };
        format!(
            "next: open {page}\n      the smallest failing case alone: assay check '{0}'{flags}{1}\n      \
             its op as a file that replays anywhere: assay check '{0}'{flags}{1} --save-capsules failed/\n",
            failed.name,
            self.plugin_flag()
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

/// What the failed cases of a backend say about its declarations, op by op.
fn contradictions(results: &[CaseResult], worker: &mut Worker) -> std::io::Result<Vec<Contradiction>> {
    let mut by_op: BTreeMap<Stem, Vec<&CaseResult>> = BTreeMap::new();
    for result in results.iter().filter(|result| matches!(result.outcome, Outcome::Failed(_))) {
        if let Ok((name, _)) = CaseName::parse(&result.name) {
            by_op.entry(name.stem).or_default().push(result);
        }
    }
    let mut found = Vec::new();
    for failed in by_op.into_values() {
        let names = declaration::in_question(failed);
        if !names.is_empty() {
            found.extend(worker.contradiction(&names)?);
        }
    }
    Ok(found)
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

/// What the plug-in of the recipe is.
pub fn describe_plugin(recipe: Recipe) -> Result<(Identity, Taken), Trouble> {
    let path = recipe.plugin.clone().ok_or(OpenError::NoPlugin)?;
    let described = Worker::new(recipe).describe(PLUGIN).map_err(worker_trouble)?;
    described.map_err(|why| {
        let file = path.display().to_string();
        // Most messages name the file themselves; one of the process that died does not.
        Trouble::Input(if why.starts_with(&file) { why } else { format!("{file}: cannot be opened: {why}") })
    })
}

pub fn worker_trouble(error: std::io::Error) -> Trouble {
    if error.kind() == std::io::ErrorKind::InvalidData {
        return Trouble::input(error);
    }
    Trouble::Device(format!("worker process: {error}"))
}
