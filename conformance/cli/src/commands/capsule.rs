//! `assay capsule`: an op of a run as a capsule, and what a capsule holds.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use assay_cli::backends::on_backend;
use clap::Subcommand;
use forensics::capsule::extract::{Extract, Extracted};
use forensics::capsule::{self, Capsule, Stored};
use forensics::provenance;
use forensics::reduce;
use kernels::SiteFilter;

use super::model::ModelArgs;
use super::{End, Trouble, print};

/// Tokens of a prompt that run together unless --chunk says otherwise.
const CHUNK: usize = 64;

/// Makes capsules, and looks into them.
#[derive(clap::Args)]
pub struct CapsuleCommand {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Prints the op, its parameters and operands, where it comes from, and what it should give.
    Show {
        /// The capsules.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Saves an op of a model's run, right or wrong, with what the backend gave.
    #[command(after_help = "\
Examples:
  assay capsule save -m model.gguf -p Hi --backend soft --at layer=3,point=q --out q.capsule
  assay capsule save -m model.gguf -p Hi --backend soft --at phase=decode,point=logits --out logits.capsule")]
    Save(Box<Save>),
}

#[derive(clap::Args)]
struct Save {
    #[command(flatten)]
    model: ModelArgs,
    /// The text to continue.
    #[arg(short, long, value_name = "TEXT")]
    prompt: String,
    /// Tokens to generate at most.
    #[arg(short, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    n: u32,
    /// The op: the first at layer=3,phase=decode,step=2,point=q, of which any part may be left out.
    #[arg(long, value_name = "PLACE")]
    at: SiteFilter,
    /// The file for it.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

impl CapsuleCommand {
    pub fn run(self) -> Result<End, Trouble> {
        let files = match self.what {
            What::Show { files } => files,
            What::Save(save) => return save.run(),
        };
        for path in &files {
            let capsules = capsule::read(path).map_err(Trouble::input)?;
            print(&format!("{}: {} bytes\n", path.display(), size(path)));
            for case in &capsules {
                print(&show(case));
            }
        }
        Ok(End::Well)
    }
}

impl Save {
    fn run(&self) -> Result<End, Trouble> {
        let file = self.model.file.open()?;
        let id = self.model.id()?;
        let prompt = file.prompt(&self.prompt)?;
        let run = self.model.to_run(&file, &prompt, self.n, CHUNK);
        let extract = Extract { run, model: &id, backend: self.model.backend(), filter: &self.at };
        match on_backend(self.model.backend(), &self.model.settings(), extract)?? {
            Extracted::Nowhere { layers, points } => {
                let points: Vec<_> = points.into_iter().collect();
                let (at, points) = (&self.at, points.join(", "));
                Err(Trouble::Input(format!("no op at {at}: {layers} layers ran, with the points {points}")))
            }
            Extracted::Op(case, verdict) => {
                let site = case.origin.as_ref().and_then(|o| o.site.as_ref());
                let site = site.map_or(String::new(), |site| format!(" at {site}"));
                let how = match verdict.and_then(|v| v.worst) {
                    Some(worst) => format!("{:.2} % of the budget", 100.0 * worst.share),
                    None => "the device failed".into(),
                };
                let stem = case.record.stem;
                capsule::write(&self.out, provenance::build(), &[*case]).map_err(Trouble::input)?;
                let (out, bytes) = (self.out.display(), size(&self.out));
                print(&format!("{stem}{site}: {how}\nsaved: {out} ({bytes} bytes)\n"));
                Ok(End::Well)
            }
        }
    }
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |m| m.len())
}

fn show(case: &Capsule) -> String {
    let mut text =
        format!("{}: {}, {} bytes of operands\n", case.name, case.record.stem, reduce::size(&case.record));
    for (name, value) in &case.record.params {
        let _ = writeln!(text, "  {name} = {value}");
    }
    for o in case.record.operands() {
        let note = if o.blank { ", content of no matter" } else { "" };
        let role = format!("{:?}", o.role).to_lowercase();
        let _ = writeln!(text, "  {role:<7} {:<10} {:?} in {} bytes{note}", o.name, o.layout, o.bytes.len());
    }
    for (name, right) in &case.expected {
        let _ = match right {
            Stored::Values(values) => writeln!(
                text,
                "  expected {name}: {} values within the op's bound: {}",
                values.len(),
                first(values)
            ),
            Stored::Bits(bytes) => writeln!(text, "  expected {name}: {} bytes exactly", bytes.len()),
        };
    }
    for (name, bytes) in &case.observed {
        let _ = writeln!(text, "  observed {name}: {} bytes", bytes.len());
    }
    if let Some(origin) = &case.origin {
        let _ = writeln!(text, "  from {}, {}\n  build {}", origin.backend, origin.device, origin.build);
        if let Some(guard) = origin.guard {
            let _ = writeln!(text, "  guard {guard}");
        }
        if let Some(model) = &origin.model {
            let _ = writeln!(text, "  model {}, sha256 {}", model.file, model.sha256);
        }
        if let Some(site) = &origin.site {
            let _ = writeln!(text, "  at {site}");
        }
        if let Some(cut) = &origin.cut {
            let _ = writeln!(text, "  {cut}");
        }
    }
    text
}

fn first(values: &[f64]) -> String {
    let shown: Vec<String> = values.iter().take(4).map(|v| format!("{v:.6}")).collect();
    let more = if values.len() > 4 { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}
