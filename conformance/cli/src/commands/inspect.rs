//! `assay inspect`: what is in a model file.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use engine::config::ModelConfig;
use engine::gguf::Gguf;
use engine::guard_rail::{self, GuardRailError};
use kernels::ops::rope::Scaling;

use super::model::RailArgs;
use super::{End, Trouble, print};

/// Shows what is in a model file: architecture, tensors, formats, sizes; and whether metadata and tensors agree.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay inspect model.gguf           architecture, tensors, bytes by format
  assay inspect model.gguf --keys    and all metadata
Exit code 2 where metadata and tensors disagree, unless --no-guard-rail is given.")]
pub struct Inspect {
    /// The model, a GGUF file; the first part of a split one.
    model: PathBuf,
    /// All metadata, too.
    #[arg(long)]
    keys: bool,
    #[command(flatten)]
    rail: RailArgs,
}

impl Inspect {
    pub fn run(self) -> Result<End, Trouble> {
        let gguf = Gguf::open(&self.model)?;
        let config = ModelConfig::from_gguf(&gguf)
            .map_err(|error| Trouble::Input(format!("{}: {error}", self.model.display())))?;
        let mut text = summary(&gguf, &config);
        if self.keys {
            text += &keys(&gguf);
        }
        text += &tensors(&gguf);
        text += &formats(&gguf);
        print(&text);
        let mismatches = guard_rail::check(&config, &gguf);
        if mismatches.is_empty() {
            print("\nmetadata and tensors agree\n");
            return Ok(End::Well);
        }
        let error = GuardRailError { mismatches };
        if self.rail.enabled()? {
            return Err(Trouble::Input(format!("{}: {error}", self.model.display())));
        }
        print(&format!("\n{error}\n"));
        Ok(End::Well)
    }
}

fn summary(gguf: &Gguf, c: &ModelConfig) -> String {
    let parameters: usize = gguf.tensors().iter().map(engine::gguf::Tensor::elements).sum();
    let window = c.window().map_or("none".into(), |w| w.to_string());
    let lines = [
        ("name", c.name.clone().unwrap_or_default()),
        ("architecture", format!("{} (GGUF version {})", c.architecture.name(), gguf.version())),
        ("parameters", parameters.to_string()),
        ("layers", c.n_layer.to_string()),
        ("width", format!("{}, feed-forward {}", c.n_embd, c.n_ff)),
        ("heads", format!("{} of {}, {} for keys and values", c.n_head, c.head_dim, c.n_kv_head)),
        ("context", format!("{}, sliding window {window}", c.context_length)),
        (
            "rope",
            format!(
                "{:?} pairs, {} of {} dimensions, base {}, {}{}",
                c.rope.pairing,
                c.rope.dims,
                c.head_dim,
                c.rope.base,
                scaling(&c.rope.scaling),
                if c.rope.has_factors { ", frequency factors" } else { "" }
            ),
        ),
        (
            "vocabulary",
            format!(
                "{}{}",
                c.vocab_size,
                if c.tied_embeddings { ", embedding and output share their weights" } else { "" }
            ),
        ),
    ];
    let mut text = String::new();
    for (what, value) in lines {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{what:<14} {value}");
    }
    text
}

fn scaling(scaling: &Scaling) -> String {
    match scaling {
        Scaling::None => "no scaling".into(),
        Scaling::Linear { factor } => format!("linear scaling by {factor}"),
        Scaling::Yarn { factor, original_context, .. } => {
            format!("YaRN scaling by {factor} from {original_context} positions")
        }
    }
}

fn keys(gguf: &Gguf) -> String {
    let mut text = format!("\n{} keys\n", gguf.metadata().len());
    for (key, value) in gguf.metadata().iter() {
        let _ = writeln!(text, "  {key} = {value}");
    }
    text
}

fn tensors(gguf: &Gguf) -> String {
    let name = |t: &engine::gguf::Tensor| t.name().len();
    let width = gguf.tensors().iter().map(name).max().unwrap_or(0).max(6);
    let mut text = format!("\n{:<width$}  {:<7} {:>18} {:>14}\n", "tensor", "format", "shape", "bytes");
    for tensor in gguf.tensors() {
        let shape = format!("{:?}", tensor.shape());
        let bytes = tensor.bytes().len();
        let _ = writeln!(text, "{:<width$}  {:<7} {shape:>18} {bytes:>14}", tensor.name(), tensor.dtype());
    }
    text
}

fn formats(gguf: &Gguf) -> String {
    let mut by_format: BTreeMap<_, (usize, usize)> = BTreeMap::new();
    for tensor in gguf.tensors() {
        let (count, bytes) = by_format.entry(tensor.dtype()).or_default();
        *count += 1;
        *bytes += tensor.bytes().len();
    }
    let mut text = format!("\n{:<7} {:>8} {:>14}\n", "format", "tensors", "bytes");
    let mut all = (0, 0);
    for (format, (count, bytes)) in by_format {
        let _ = writeln!(text, "{format:<7} {count:>8} {bytes:>14}");
        all = (all.0 + count, all.1 + bytes);
    }
    let _ = writeln!(text, "{:<7} {:>8} {:>14}", "all", all.0, all.1);
    text
}
