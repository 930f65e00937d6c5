//! `assay perplexity`: how well a model predicts a text.

use std::path::PathBuf;
use std::time::Instant;

use conformance::registry::Job;
use kernels::Backend;

use super::logits::for_each_chunk;
use super::model::{ModelArgs, ModelFile, given_text};
use super::progress::Progress;
use super::{End, Trouble, print};

/// Rows of logits that are held at a time.
const CHUNK: usize = 64;

/// Measures how well a model predicts a text.
///
/// The text is cut into windows of --ctx tokens, each of which starts afresh. Every token but the first of its window is
/// predicted from those before it in the window; perplexity is exp of the mean of −ln p. (llama.cpp counts only the second
/// half of each window, which gives lower numbers.)
#[derive(clap::Args)]
#[command(after_help = "\
Example: assay perplexity -m model.gguf -f text.txt --backend cpu --kv f32")]
pub struct Perplexity {
    #[command(flatten)]
    model: ModelArgs,
    /// The text, - or nothing for standard input; a line break at its end does not count.
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Tokens of a window; at most 512 and the model's context unless given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    ctx: Option<u32>,
    /// Writes the result as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Perplexity {
    pub fn run(self) -> Result<End, Trouble> {
        let file = self.model.file.open()?;
        let ids = file.prompt(&given_text(None, self.file.as_deref())?)?;
        if ids.len() < 2 {
            return Err(Trouble::Input(format!("the text has {} tokens, want at least 2", ids.len())));
        }
        let window = self.ctx.map_or(file.config.context_length.min(512), |ctx| ctx as usize).max(2);
        let begin = Instant::now();
        let job = Measure { args: &self, file: &file, ids: &ids, window };
        let losses = self.model.run(job)?;
        let seconds = begin.elapsed().as_secs_f64();

        let count = losses.len() as f64;
        let mean = losses.iter().sum::<f64>() / count;
        let variance = losses.iter().map(|loss| (loss - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
        let (perplexity, error) = (mean.exp(), mean.exp() * (variance / count).sqrt());
        print(&format!(
            "tokens {}, predicted {}, window {window}, backend {}, kv {}\n\
             mean -ln p {mean:.6}\nperplexity {perplexity:.4} +/- {error:.4}\n{:.1} tokens/s\nSTATUS=OK\n",
            ids.len(),
            losses.len(),
            self.model.backend(),
            self.model.kv,
            ids.len() as f64 / seconds,
        ));
        if let Some(path) = &self.json {
            let report = serde_json::json!({
                "model": self.model.file.model.display().to_string(),
                "backend": self.model.backend(),
                "kv": self.model.kv.name(),
                "tokens": ids.len(),
                "predicted": losses.len(),
                "window": window,
                "mean_nll": mean,
                "perplexity": perplexity,
                "standard_error": error,
                "seconds": seconds,
            });
            output_file::write(path, format!("{report:#}\n").as_bytes())
                .map_err(|e| Trouble::Input(format!("{}: {e}", path.display())))?;
        }
        Ok(End::Well)
    }
}

struct Measure<'a> {
    args: &'a Perplexity,
    file: &'a ModelFile,
    ids: &'a [u32],
    window: usize,
}

impl Job for Measure<'_> {
    /// `−ln p` of each predicted token.
    type Answer = Result<Vec<f64>, Trouble>;

    fn run<B: Backend + 'static>(self, backend: B) -> Result<Vec<f64>, Trouble> {
        let Measure { args, file, ids, window } = self;
        let (mut model, mut cache) = args.model.load(backend, file, window.min(ids.len()))?;
        let chunk = args.model.chunk_or(CHUNK);
        let mut losses = Vec::with_capacity(ids.len());
        let mut progress = Progress::new("predicting", ids.len().div_ceil(chunk));
        for window in ids.chunks(window) {
            cache.truncate(0, 0)?;
            let mut next = window.iter().skip(1);
            for_each_chunk(&mut model, &mut cache, window, chunk, |logits| {
                // The last row of a window predicts nothing.
                losses.extend(logits.rows().zip(next.by_ref()).map(|(row, &id)| loss(row, id)));
                progress.step();
                Ok(())
            })?;
        }
        progress.finish();
        Ok(losses)
    }
}

/// `−ln p` of token `id`, in f64.
fn loss(logits: &[f32], id: u32) -> f64 {
    let highest = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    let sum: f64 = logits.iter().map(|&l| (f64::from(l) - highest).exp()).sum();
    let chosen = logits.get(id as usize).map_or(f64::NEG_INFINITY, |&l| f64::from(l));
    sum.ln() + highest - chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_is_the_negative_logarithm_of_the_probability() {
        assert!((loss(&[0.0; 8], 3) - 8_f64.ln()).abs() < 1e-12);
        assert!((loss(&[1000.0, 0.0], 0)).abs() < 1e-12);
        assert!((loss(&[1000.0, 0.0], 1) - 1000.0).abs() < 1e-9);
        assert!(loss(&[0.0, f32::NAN], 0).is_nan());
    }
}
