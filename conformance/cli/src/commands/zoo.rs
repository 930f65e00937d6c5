//! `assay zoo`: who tests the tests.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use assay_cli::numbers;
use assay_cli::report::machine;
use assay_cli::sweep::sweep;
use assay_cli::worker::Recipe;
use backend_hip::HostBug;
use conformance::guard::Guard;
use kernels::Stem;
use zoo::machine::hunt::{self, Bag, Plan};
use zoo::matrix::Complaint;
use zoo::{faults, harness, matrix};

use super::progress::Progress;
use super::{End, Trouble, print};

/// Of the faults made by machine that could be seen, the suite must kill this share.
const LEAST: f64 = 0.98;

/// Runs mutants, each with one bug that has happened to somebody, and shows which check kills which.
///
/// A surviving mutant, or a check that kills none of its own, makes it exit with 1.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay zoo rope                                    mutants that are about rope
  assay zoo --machine --sample 2000                 2,000 single-instruction faults over all kernels
  assay zoo --machine --sample 2000 --least 0.85    exit code 1 only if fewer than 85 % of the visible ones are killed
  assay zoo rms_norm --machine --kernel rms_norm_1024 --sample 500")]
pub struct Zoo {
    /// Only mutants whose names contain this.
    #[arg(default_value = "")]
    filter: String,
    /// Only their names and faults.
    #[arg(long)]
    list: bool,
    /// Faults made by machine instead: single instructions of the program's own code objects changed, run on the software device.
    #[arg(long, conflicts_with = "list")]
    machine: bool,
    /// With --machine: only kernels whose names contain this.
    #[arg(long, value_name = "NAME", default_value = "", requires = "machine")]
    kernel: String,
    /// With --machine: faults over all kernels.
    #[arg(long, value_name = "N", default_value_t = 2000, requires = "machine", value_parser = clap::value_parser!(u32).range(1..))]
    sample: u32,
    /// With --machine: chooses the faults.
    #[arg(long, value_name = "S", default_value_t = 1, requires = "machine")]
    seed: u64,
    /// With --machine: the share of the faults that could be seen which must be killed, else it exits with 1.
    #[arg(long, value_name = "SHARE", default_value_t = LEAST, requires = "machine", value_parser = share)]
    least: f64,
    /// With --machine: writes counts and survivors as JSON.
    #[arg(long, value_name = "FILE", requires = "machine")]
    json: Option<PathBuf>,
    /// Worker processes; as many as there are cores unless given.
    #[arg(long, value_name = "N", value_parser = numbers::jobs())]
    jobs: Option<u16>,
}

fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "a share from 0 to 1 is wanted".to_owned())?;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err("a share from 0 to 1 is wanted".into()) }
}

impl Zoo {
    pub fn run(self) -> Result<End, Trouble> {
        if self.machine {
            return self.run_machine();
        }
        let mutants: Vec<_> =
            matrix::exhibits().into_iter().filter(|m| m.backend.contains(&self.filter)).collect();
        let harness: Vec<_> =
            harness::mutants().into_iter().filter(|m| m.name.contains(&self.filter)).collect();
        if mutants.is_empty() && harness.is_empty() {
            return Err(Trouble::Input(format!(
                "no mutant's name contains '{}' (see assay zoo --list)",
                self.filter
            )));
        }
        if self.list {
            for mutant in &mutants {
                print(&format!("{:<48} {:?}: {}\n", mutant.backend, mutant.about, mutant.fault));
            }
            for mutant in &harness {
                print(&format!("{:<48} Harness: {}\n", mutant.name, mutant.fault));
            }
            for mutant in faults::mutants().iter().filter(|m| m.name.contains(&self.filter)) {
                print(&format!("{:<48} Fault, for locate and diff: {}\n", mutant.name, mutant.fault));
            }
            for bug in HostBug::ALL.iter().filter(|bug| bug.name().contains(&self.filter)) {
                print(&format!("host:{:<43} Host, for triage and audit: {}\n", bug.name(), bug.fault()));
            }
            return Ok(End::Well);
        }
        let program =
            std::env::current_exe().map_err(|e| Trouble::Input(format!("finding this program: {e}")))?;
        let jobs = self
            .jobs
            .map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
        let mut progress = Progress::new("zoo", mutants.len() + harness.len());
        let mut fates = Vec::new();
        for mutant in &mutants {
            let recipe = Recipe {
                program: program.clone(),
                backend: Some(mutant.backend.clone()),
                guard: Guard::Canaries,
                timeout: mutant.timeout,
                record: None,
                foreign: None,
                plugin: None,
            };
            let fate = matrix::expose(mutant, |names| sweep(names, jobs, &recipe, || false, |_| {}));
            fates.push(fate.map_err(|e| Trouble::Device(format!("worker process: {e}")))?);
            progress.step();
        }
        for mutant in &harness {
            fates.push(matrix::expose_harness(mutant));
            progress.step();
        }
        progress.finish();
        print(&matrix::matrix(&fates));
        // Part of the zoo says nothing about which checks are idle.
        let mut complaints = matrix::complaints(&fates);
        complaints.retain(|c| self.filter.is_empty() || !matches!(c, Complaint::Idle(_)));
        for complaint in &complaints {
            print(&format!("{complaint}\n"));
        }
        Ok(if complaints.is_empty() { End::Well } else { End::DoesNotConform })
    }

    /// Faults made by machine.
    fn run_machine(self) -> Result<End, Trouble> {
        let stems: Vec<Stem> =
            Stem::ALL.iter().copied().filter(|stem| stem.name().contains(&self.filter)).collect();
        let jobs = self
            .jobs
            .map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
        let sample = self.sample as usize;
        let progress = Mutex::new(Progress::new("faults", sample));
        let plan = Plan { stems, kernel: self.kernel.clone(), sample, seed: self.seed };
        let begin = Instant::now();
        let bags = hunt::hunt(&plan, jobs, || progress.lock().unwrap_or_else(PoisonError::into_inner).step());
        progress.into_inner().unwrap_or_else(PoisonError::into_inner).finish();
        if bags.is_empty() {
            return Err(Trouble::Input(format!(
                "no kernel of an op that contains '{}' has a name that contains '{}'",
                self.filter, self.kernel
            )));
        }
        let took = begin.elapsed();
        print(&machine::text(&bags, took));
        if let Some(path) = &self.json {
            let text = format!("{:#}\n", machine::json(&bags, &plan, took));
            output_file::write(path, text.as_bytes())
                .map_err(|error| Trouble::Input(format!("{}: {error}", path.display())))?;
        }
        let sum = |of: fn(&Bag) -> usize| bags.values().map(of).sum::<usize>();
        let (killed, visible) = (sum(Bag::found), sum(Bag::visible));
        let enough = killed as f64 >= visible as f64 * self.least;
        Ok(if enough { End::Well } else { End::DoesNotConform })
    }
}
