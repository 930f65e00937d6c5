//! `assay sensitivity`: how small a bias the suite sees.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use assay_cli::backends;
use assay_cli::numbers;
use conformance::guard::Guard;
use conformance::name::CaseName;
use conformance::sensitivity::{Sensitivity, can_be_biased};
use conformance::suite::{self, Filter, Slice};
use kernels::Stem;
use serde_json::{Value, json};

use super::progress::Progress;
use super::{End, Trouble, print, reports};

/// Measures the largest systematic relative error that the suite lets pass, op by op.
///
/// All results of the backend are multiplied by 1 + e, and the largest e with which all bounded cases of an op pass is searched for, of
/// either sign: judged by the bound of each element and the root mean square error alone, and with the judgement of the mean signed error
/// as well.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay sensitivity                          every op whose results have a bound, a slice of its cases
  assay sensitivity --op attention --full    all cases of one op
  assay sensitivity --backend cpu-exact --json sensitivity.json")]
pub struct SensitivityCommand {
    /// Only this op.
    #[arg(long, value_name = "OP", value_parser = op)]
    op: Option<Stem>,
    /// Only cases whose names contain these words, separated by blanks.
    #[arg(long, value_name = "WORDS", default_value = "")]
    filter: String,
    #[arg(long, default_value = "soft", value_name = "NAME", help = super::backend_help())]
    backend: String,
    /// All cases instead of a slice.
    #[arg(long)]
    full: bool,
    /// Writes the table as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Threads; as many as there are cores unless given.
    #[arg(long, value_name = "N", value_parser = numbers::jobs())]
    jobs: Option<u16>,
}

fn op(text: &str) -> Result<Stem, String> {
    let bounded = || Stem::ALL.iter().filter(|stem| can_be_biased(**stem));
    let names: Vec<_> = bounded().map(|stem| stem.name()).collect();
    let found = bounded().copied().find(|stem| stem.name() == text);
    found.ok_or_else(|| format!("no op with a bound is called so; there are {}", names.join(", ")))
}

/// Cases of one line of the table.
struct Group {
    name: String,
    cases: Vec<String>,
}

impl SensitivityCommand {
    pub fn run(self) -> Result<End, Trouble> {
        self.json.iter().try_for_each(|path| reports::writable(path))?;
        let groups = self.groups()?;
        // The backend is there, before there are threads.
        backends::open(&self.backend, Guard::Off)?;
        let jobs = self
            .jobs
            .map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
        let cases = groups.iter().map(|group| group.cases.len()).sum();
        let progress = Mutex::new(Progress::new("sensitivity", cases));
        let (next, measured) = (Mutex::new(0), Mutex::new(Vec::new()));
        let worker = || -> Result<(), Trouble> {
            let target = backends::open(&self.backend, Guard::Off)?;
            loop {
                let at = {
                    let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
                    *next += 1;
                    *next - 1
                };
                let Some(group) = groups.get(at) else { return Ok(()) };
                let mut sensitivity = Sensitivity::default();
                for case in &group.cases {
                    sensitivity.add(case, target.as_ref()).map_err(Trouble::input)?;
                    progress.lock().unwrap_or_else(PoisonError::into_inner).step();
                }
                measured.lock().unwrap_or_else(PoisonError::into_inner).push((at, sensitivity));
            }
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..jobs.min(groups.len())).map(|_| scope.spawn(worker)).collect();
            let ended = threads.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|_| Err(Trouble::Device("a thread has panicked".into())))
            });
            ended.collect::<Result<Vec<()>, Trouble>>()
        })?;
        progress.into_inner().unwrap_or_else(PoisonError::into_inner).finish();
        let mut measured = measured.into_inner().unwrap_or_else(PoisonError::into_inner);
        measured.sort_unstable_by_key(|(at, _)| *at);
        let rows: Vec<_> = measured
            .iter()
            .map(|(at, sensitivity)| (groups[*at].name.as_str(), sensitivity))
            .filter(|(_, sensitivity)| sensitivity.cases > 0)
            .collect();
        if rows.is_empty() {
            return Err(Trouble::Input(format!("{} implements none of these cases", self.backend)));
        }
        print(&table(&rows));
        if let Some(path) = &self.json {
            let text = format!("{:#}\n", self.json(&rows));
            output_file::write(path, text.as_bytes())
                .map_err(|error| Trouble::Input(format!("{}: {error}", path.display())))?;
        }
        Ok(End::Well)
    }

    /// The cases, by op, and by format where an op's error depends on it.
    fn groups(&self) -> Result<Vec<Group>, Trouble> {
        let names = suite::names(&self.backend, &Filter::new(&self.filter));
        let slice = if self.full { Slice::Full } else { Slice::Quick };
        let mut groups: Vec<Group> = Vec::new();
        for full in slice.of(names) {
            let (case, _) = CaseName::parse(&full).map_err(Trouble::input)?;
            let chosen = self.op.is_none_or(|op| op == case.stem) && case.kind() == "bounded";
            if !chosen || !can_be_biased(case.stem) {
                continue;
            }
            let name = match case.stem {
                Stem::Matmul => format!("{} {}", case.stem, case.format),
                stem => stem.to_string(),
            };
            match groups.iter_mut().find(|group| group.name == name) {
                Some(group) => group.cases.push(full),
                None => groups.push(Group { name, cases: vec![full] }),
            }
        }
        if groups.is_empty() {
            return Err(Trouble::Input(format!(
                "no bounded case of an op with a bound has a name that contains all of {}",
                super::quoted(&self.filter)
            )));
        }
        Ok(groups)
    }

    fn json(&self, rows: &[(&str, &Sensitivity)]) -> Value {
        let row = |(name, sensitivity): &(&str, &Sensitivity)| {
            json!({
                "op": name,
                "by_bounds": sensitivity.by_bounds(),
                "with_statistics": sensitivity.with_statistics(),
                "noticed_by": sensitivity.noticed_by(),
                "cases": sensitivity.cases,
            })
        };
        json!({ "backend": self.backend, "full": self.full, "ops": rows.iter().map(row).collect::<Vec<_>>() })
    }
}

/// The table that people read.
fn table(rows: &[(&str, &Sensitivity)]) -> String {
    let mut text =
        format!("{:<16} {:>10} {:>10} {:>8} {:>7}\n", "op", "bounds", "and mean", "factor", "cases");
    for (name, sensitivity) in rows {
        let (before, after) = (sensitivity.by_bounds(), sensitivity.with_statistics());
        // A String takes every text.
        let _ = writeln!(
            text,
            "{name:<16} {before:>10.1e} {after:>10.1e} {:>8.1} {:>7}",
            before / after,
            sensitivity.cases
        );
    }
    text
}
