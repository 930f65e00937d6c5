//! `assay judge`: one verdict on kernels of an op.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use assay_cli::backends::{self, PLUGIN, Settings};
use assay_cli::foreign::ForeignFiles;
use assay_cli::judge::examined::{Examined, Question, What};
use assay_cli::judge::probes::Probe;
use assay_cli::judge::{Declaration, Evidence, Ruling, Verdict, cost, declared, listing, probes, sweep};
use assay_cli::numbers;
use assay_cli::worker::{Recipe, Worker};
use conformance::guard::Guard;
use conformance::suite;
use conformance::taken::Taken;
use kernel_manifest::Manifest;
use kernels::Stem;

use super::check::{describe_plugin, worker_trouble};
use super::kernels::KernelArgs;
use super::{End, Trouble, print};

/// One verdict, as JSON, on kernels of your own that compute an op: conforms, wrong, unsafe, cheats or unsupported, with the evidence.
///
/// Besides the suite's cases it runs the same sizes on other data and fresh sizes, looks for results that are left over or remembered,
/// compares declarations with measurements, and counts bytes against the fewest possible and against Assay's own kernels.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay judge rms_norm --kernels mine.hsaco --manifest mine.toml
  assay judge matmul --kernels lib.so --manifest mine.toml --seed 7 --json verdict.json
  assay judge softmax --plugin ./libmine.so
  assay judge rms_norm --python mine.py

Exit codes: 0 conforms, 1 wrong, unsafe or cheats, 2 unsupported: nothing ran.")]
pub struct Judge {
    /// The op.
    #[arg(value_name = "OP")]
    op: Stem,
    #[command(flatten)]
    kernels: KernelArgs,
    /// A backend of yours instead: a library that implements assay.h, or a Python file (.py).
    #[arg(long, visible_alias = "python", value_name = "FILE", conflicts_with_all = ["kernels", "backend"])]
    plugin: Option<PathBuf>,
    /// Where they run: soft, soft-deferred, soft-random or hip.
    #[arg(long, default_value = "soft", value_name = "NAME")]
    backend: String,
    /// Seed of fresh sizes and data; unless given, one that nobody knows beforehand. The verdict names it.
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Worker processes; as many as there are cores unless given.
    #[arg(long, value_name = "N", value_parser = numbers::jobs())]
    jobs: Option<u16>,
    /// Seconds that a case may take.
    #[arg(long, default_value_t = 60, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Writes the verdict to this file too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Judge {
    pub fn run(self) -> Result<End, Trouble> {
        let seed = self.seed.unwrap_or_else(unknown_seed);
        let (evidence, whose) = match &self.plugin {
            Some(file) => (self.plug_in(file, seed)?, file.display().to_string()),
            None => self.kernels(seed)?,
        };
        let verdict = Verdict::of(evidence);
        let text = format!("{:#}\n", verdict.json());
        print(&text);
        if let Some(path) = &self.json {
            output_file::write(path, text.as_bytes())
                .map_err(|error| Trouble::Input(format!("{}: {error}", path.display())))?;
        }
        match verdict.ruling {
            Ruling::Conforms => Ok(End::Well),
            Ruling::Wrong | Ruling::Unsafe | Ruling::Cheats => Ok(End::DoesNotConform),
            Ruling::Unsupported => {
                Err(Trouble::Input(format!("{whose}: no case of {} is one that it takes", self.op)))
            }
        }
    }

    /// What is found out of kernels with a manifest, and the manifest's name.
    fn kernels(&self, seed: u64) -> Result<(Evidence, String), Trouble> {
        self.kernels.need_device_code([&self.backend])?;
        let kernels = self.kernels.resolve()?;
        let Some(files) = kernels.files() else {
            return Err(Trouble::Input(
                "want --kernels and --manifest, or --plugin: whose kernels are to be judged?".into(),
            ));
        };
        let manifest = Manifest::open(&files.manifest).map_err(Trouble::input)?;
        if !manifest.has(self.op) {
            let stems: Vec<&str> = manifest.stems().into_iter().map(Stem::name).collect();
            let what = format!("{manifest}: it has no {}, but {}", self.op, stems.join(", "));
            return Err(Trouble::Input(what));
        }
        manifest.rehearse(&suite::forms(self.op)).map_err(Trouble::input)?;
        let settings = Settings { foreign: Some(files.clone()), ..Settings::from_env() };
        let open = || backends::hip(&self.backend, &settings);
        let (theirs, target) = (open()?, backends::open_with(&self.backend, Guard::Canaries, &settings)?);
        let recipe = self.recipe(Some(files), None)?;
        let taken = Taken::by(target.as_ref());
        let swept = sweep::sweep(self.op, &self.backend, &taken, &recipe, self.jobs(), seed)
            .map_err(worker_trouble)?;
        let atomics = listing::float_atomics(self.op, &theirs);
        let declaration = declared::measure(self.op, target.as_ref(), atomics, &swept);
        let mut tricks = Vec::from_iter(listing::clock(self.op, &theirs));
        for probe in Probe::ALL {
            tricks.extend(probe.tricks(self.op, seed, &taken, open)?);
        }
        let (costs, costs_missing) = if theirs.software_device().is_some() {
            let ours = Settings { foreign: None, ..Settings::from_env() };
            match cost::costs(self.op, &taken, &open()?, &backends::hip(&self.backend, &ours)?) {
                Ok(costs) => (costs, None),
                Err(error) => (Vec::new(), Some(error.to_string())),
            }
        } else {
            (Vec::new(), Some("bytes are counted on the software device alone".into()))
        };
        let tricks = probes::settled(tricks);
        let stem = self.op;
        let evidence = Evidence { stem, seed, swept, tricks, declaration, costs, costs_missing, died: None };
        Ok((evidence, manifest.to_string()))
    }

    /// What is found out of a plug-in. Each probe has a process of its own, whose plug-in has run nothing.
    fn plug_in(&self, file: &Path, seed: u64) -> Result<Evidence, Trouble> {
        let (stem, recipe) = (self.op, self.recipe(None, Some(file.into()))?);
        let (_, taken) = describe_plugin(recipe.clone())?;
        let swept = sweep::sweep(stem, PLUGIN, &taken, &recipe, self.jobs(), seed).map_err(worker_trouble)?;
        let mut evidence = Evidence {
            stem,
            seed,
            swept,
            tricks: Vec::new(),
            declaration: Declaration::default(),
            costs: Vec::new(),
            costs_missing: Some("what a plug-in moves is not seen".into()),
            died: None,
        };
        let swept = Box::new(evidence.swept.clone());
        let probes = Probe::ALL.map(|probe| What::Probe(probe, seed));
        for what in probes.into_iter().chain([What::Touched(seed), What::Declaration(swept)]) {
            let question = serde_json::to_string(&Question { stem, what }).map_err(Trouble::input)?;
            let heard = Worker::new(recipe.clone()).examine(&question).map_err(worker_trouble)?;
            match heard.map(|answer| serde_json::from_str(&answer)) {
                Ok(Ok(Examined::Tricks(tricks))) => evidence.tricks.extend(tricks),
                Ok(Ok(Examined::Declaration(declaration))) => evidence.declaration = *declaration,
                Ok(Err(why)) => return Err(Trouble::Device(format!("worker process: {why}"))),
                Err(how) => evidence.died = Some(how),
            }
        }
        evidence.tricks = probes::settled(evidence.tricks);
        Ok(evidence)
    }

    fn recipe(&self, foreign: Option<ForeignFiles>, plugin: Option<PathBuf>) -> Result<Recipe, Trouble> {
        Ok(Recipe {
            program: std::env::current_exe()
                .map_err(|e| Trouble::Input(format!("finding this program: {e}")))?,
            backend: None,
            guard: Guard::Canaries,
            timeout: Duration::from_secs(self.timeout),
            record: None,
            foreign,
            plugin,
        })
    }

    /// Worker processes.
    fn jobs(&self) -> usize {
        self.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
    }
}

/// A seed that a kernel's author cannot know: the clock's. It is printed, and --seed takes it.
fn unknown_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    kernels::SplitMix64::new(now.as_secs() ^ u64::from(now.subsec_nanos()) << 32).next_u64() >> 1
}
