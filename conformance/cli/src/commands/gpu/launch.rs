//! `assay gpu run`: one kernel on the software HIP device, with arguments from files.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use assay_cli::argument::{Placed, SYNTAX, Value};
use assay_cli::numbers::{dimensions, thread_count};
use assay_cli::report::coverage::Coverage;
use serde_json::{Value as Json, json};
use softhip::control::{Options, SoftDevice};
use softhip::memory::{Checks, FaultKind};
use softhip::object::Kernel;
use softhip::sched::{Counters, Given, Limits, Policy, Shape};

use super::file::{Source, no_kernel};
use crate::commands::{End, Trouble, print};

/// Wave instructions of a launch unless --budget says otherwise: seconds, not minutes.
const BUDGET: u64 = 1_000_000_000;

/// Runs a kernel on the software HIP device, with every access checked, and counts what it costs.
#[derive(clap::Args)]
#[command(after_help = format!("\
{SYNTAX}

Example:
  assay gpu run silu_mul.hsaco silu_mul_f32 --grid 16 --block 256 \\
    --arg buf:gate.bin --arg buf:up.bin --arg out:16384:out.bin --arg u32:4096

Exit code 1 when a check reports, 2 for bad input."))]
pub struct Launch {
    #[command(flatten)]
    source: Source,
    /// The kernel's name.
    kernel: String,
    /// Blocks in x, y, z.
    #[arg(long, value_name = "X,Y,Z", value_parser = dimensions)]
    grid: [u32; 3],
    /// Threads per block in x, y, z.
    #[arg(long, value_name = "X,Y,Z", value_parser = dimensions)]
    block: [u32; 3],
    /// Bytes of LDS beyond those that the kernel declares.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    lds: u32,
    /// One argument of the kernel, see below.
    #[arg(long = "arg", value_name = "ARGUMENT", allow_hyphen_values = true)]
    arguments: Vec<Value>,
    /// When queued work runs.
    #[arg(long, value_enum, default_value_t = Schedule::Eager)]
    schedule: Schedule,
    /// Seed of the places of allocations, and of the random schedule.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Only what is always checked: bounds, lifetimes, permissions, alignment.
    #[arg(long)]
    bounds_only: bool,
    /// Races that cannot change a result are faults, too: equal values written by several, and the plain load with which
    /// a loop of compare-and-swaps begins. Otherwise they are notes.
    #[arg(long, conflicts_with = "bounds_only")]
    strict_races: bool,
    /// Host threads that run workgroups; results do not depend on it.
    #[arg(long, value_parser = thread_count)]
    threads: Option<usize>,
    /// Wave instructions after which a launch counts as endless.
    #[arg(long, value_name = "N", default_value_t = BUDGET)]
    budget: u64,
    /// All workgroups run together, so that they can wait for each other.
    #[arg(long)]
    cooperative: bool,
    /// Writes launch, counts and reports to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes which blocks and branch directions were reached: a page, or JSON where the name ends in .json.
    #[arg(long, value_name = "FILE")]
    coverage: Vec<PathBuf>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Schedule {
    Eager,
    Deferred,
    Random,
}

impl Launch {
    pub fn run(self) -> Result<End, Trouble> {
        let objects = self.source.load()?;
        let found = objects.iter().find_map(|loaded| Some((loaded, loaded.object.kernel(&self.kernel)?)));
        let (loaded, kernel) = found.ok_or_else(|| no_kernel(&self.source.path, &objects, &self.kernel))?;
        if !self.coverage.is_empty() {
            softhip::trace::start();
        }
        let device = SoftDevice::new(self.options());
        let placed = self.place(&device, kernel)?;
        let given = Given::Each(placed.iter().map(|argument| Some(argument.bytes.clone())).collect());
        let (grid, block, cooperative) = (self.grid, self.block, self.cooperative);
        let shape = Shape { grid, block, dynamic_lds: self.lds, cooperative };
        let ended = device.run_kernel(&loaded.bytes, &self.kernel, shape, &given);
        let reports = device.reports();
        let printed = device.take_printed();
        let mut text = String::from_utf8_lossy(&[printed.out, printed.err].concat()).into_owned();
        reports.iter().for_each(|report| {
            let _ = writeln!(text, "{report}\n");
        });
        match (ended, reports.is_empty()) {
            (Ok(()), true) => {}
            (Err(code), true) => {
                return Err(Trouble::Input(format!("{}: {}", self.kernel, code.text().to_string_lossy())));
            }
            (_, false) => {
                text += "the buffers are not saved\n";
            }
        }
        let counters = device.counters();
        if reports.is_empty() {
            text += &save(&device, &placed)?;
            text += &table(&self.kernel, &counters);
        }
        let notes = device.notes();
        notes.iter().for_each(|note| {
            let _ = writeln!(text, "\nNote, no fault: {note}");
        });
        print(&text);
        if let Some(path) = &self.json {
            let reports: Vec<Json> = reports.iter().map(softhip::report::Report::to_json).collect();
            let notes: Vec<Json> = notes.iter().map(softhip::report::Report::to_json).collect();
            let all = json!({
                "device": "softhip gfx942 (checked emulation)",
                "kernel": self.kernel,
                "grid": self.grid,
                "block": self.block,
                "dynamic_lds": self.lds,
                "seed": self.seed,
                "counters": counters,
                "fidelity": {
                    "exact": counters.exact(),
                    "modelled": counters.modelled,
                    "approximate": counters.approximate,
                    "untested": counters.untested,
                },
                "reports": reports,
                "notes": notes,
            });
            write(path, format!("{all:#}\n").as_bytes())?;
        }
        if !self.coverage.is_empty() {
            let coverage = Coverage::here([self.kernel.clone()]);
            print(&coverage.text());
            for path in &self.coverage {
                coverage.write(path).map_err(|e| Trouble::Input(format!("{}: {e}", path.display())))?;
            }
        }
        Ok(if reports.is_empty() { End::Well } else { End::DoesNotConform })
    }

    fn options(&self) -> Options {
        let defaults = Options::default();
        Options {
            seed: self.seed,
            policy: match self.schedule {
                Schedule::Eager => Policy::Eager,
                Schedule::Deferred => Policy::Deferred,
                Schedule::Random => Policy::Random(self.seed),
            },
            checks: Checks {
                strict_races: self.strict_races,
                ..if self.bounds_only { Checks::BOUNDS } else { Checks::ALL }
            },
            limits: Limits { threads: self.threads.unwrap_or(defaults.limits.threads), budget: self.budget },
            ..defaults
        }
    }

    fn place(&self, device: &SoftDevice, kernel: &Kernel) -> Result<Vec<Placed>, Trouble> {
        let wanted: Vec<_> = kernel.explicit_arguments().collect();
        if wanted.len() != self.arguments.len() {
            let given = self.arguments.len();
            return Err(Trouble::Input(format!(
                "{} takes {} arguments and is given {given}; see assay gpu info",
                kernel.name,
                wanted.len()
            )));
        }
        let values = self.arguments.iter().zip(wanted).enumerate();
        values.map(|(i, (value, want))| value.place(device, i, want).map_err(Trouble::Input)).collect()
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Trouble> {
    output_file::write(path, bytes).map_err(|error| Trouble::Input(format!("{}: {error}", path.display())))
}

/// Saves the buffers that are to be kept, and says which bytes nothing has written.
fn save(device: &SoftDevice, placed: &[Placed]) -> Result<String, Trouble> {
    let mut text = String::new();
    for (address, size, path) in placed.iter().filter_map(|argument| argument.save.as_ref()) {
        let mut bytes = vec![0; *size];
        if let Err(fault) = device.memory().read(*address, &mut bytes, true) {
            if let FaultKind::Uninitialised { offset } = fault.kind {
                let path = path.display();
                let _ =
                    writeln!(text, "{path}: byte {offset} has never been written; such bytes are saved as 0");
            }
            device.memory().read(*address, &mut bytes, false).map_err(Trouble::input)?;
        }
        write(path, &bytes)?;
    }
    Ok(text)
}

fn table(kernel: &str, c: &Counters) -> String {
    let rows = [
        ("workgroups", c.groups),
        ("waves", c.waves),
        ("wave instructions", c.instructions),
        ("  scalar", c.scalar),
        ("  vector", c.vector),
        ("  matrix", c.matrix),
        ("  scalar loads", c.scalar_loads),
        ("  loads", c.loads),
        ("  stores", c.stores),
        ("  atomics", c.atomics),
        ("  LDS", c.lds),
        ("barriers", c.barriers),
        ("bytes read", c.bytes_read),
        ("bytes written", c.bytes_written),
        ("cache lines", c.cache_lines),
        ("bank conflicts", c.bank_conflicts),
        ("out-of-range lanes", c.out_of_range),
        ("exact", c.exact()),
        ("by a model", c.modelled),
        ("approximate", c.approximate),
    ];
    let mut text = format!("{kernel} on the software HIP device (checked emulation): no report\n");
    for (what, count) in rows {
        let _ = writeln!(text, "  {what:<18} {count:>14}");
    }
    let untested: Vec<&str> = c.untested.iter().map(String::as_str).collect();
    let untested = if untested.is_empty() { "none".to_owned() } else { untested.join(" ") };
    let _ = writeln!(text, "  operations without a test of their own: {untested}");
    text
}
