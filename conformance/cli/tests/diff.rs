//! Bugs planted in a model's path: the comparison names the op, the layer and the step, and says what the bug looks like.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use assay_cli::backends::Settings;
use engine::config::ModelConfig;
use engine::gguf::Gguf;
use engine::tokenizer::{EncodeOptions, Tokenizer};
use forensics::diff::lockstep::Lockstep;
use forensics::diff::{Diff, Kind};
use kernels::DType;
use kernels::Site;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/tiny").join(format!("{name}.gguf"))
}

/// More than 32 tokens, so that a prefill meets the bugs of large batches.
const TEXT: &str = "the quick brown fox jumps over the lazy dog. the cat sat on the mat, and the dog";

fn diff(model: &str, right: &str, collect: bool) -> Diff {
    let gguf = Gguf::open(golden(model)).unwrap();
    let config = ModelConfig::from_gguf(&gguf).unwrap();
    let tokenizer = Tokenizer::from_metadata(gguf.metadata()).unwrap();
    let prompt = tokenizer.encode(TEXT, EncodeOptions { add_special: true, parse_special: true }).unwrap();
    let settings = Settings { threads: 1, ..Settings::from_env() };
    let lockstep = Lockstep {
        gguf: &gguf,
        config: &config,
        model: None,
        prompt: &prompt,
        tokens: 4,
        chunk: 64,
        kv: DType::F16,
        left: "ref",
        right,
        collect,
        capsules: None,
    };
    lockstep.run(&settings, &mut |_| ()).unwrap()
}

/// A planted bug: model, mutant, and what the comparison must say: op, layer, point, step, looks like.
struct Planted {
    model: &'static str,
    mutant: &'static str,
    op: &'static str,
    layer: Option<usize>,
    point: &'static str,
    step: usize,
    looks_like: &'static str,
}

macro_rules! planted {
    ($($model:literal $mutant:literal => $op:literal $layer:expr, $point:literal, $step:literal, $looks_like:literal;)+) => {
        const PLANTED: &[Planted] = &[$(Planted {
            model: $model, mutant: $mutant, op: $op, layer: $layer, point: $point, step: $step, looks_like: $looks_like,
        },)+];
    };
}

planted! {
    "llama" "rope-position-plus-one@layer=1,phase=decode" => "rope" Some(1), "q_rope", 1, "positions one too large";
    "llama" "rope-other-pairing@layer=0" => "rope" Some(0), "q_rope", 0, "rotated with neox pairs";
    "mixed" "rope-factors-ignored@layer=1,step=2" => "rope" Some(1), "q_rope", 2, "frequency factors ignored";
    "llama" "rope-frequencies-of-head-dim@layer=1,point=k_rope" => "rope" Some(1), "k_rope", 0, "frequencies of a dimension";
    "llama" "attention-over-pos-keys@layer=0,phase=decode" => "attention" Some(0), "attn_out", 1, "over pos keys instead of pos + 1";
    "llama" "attention-scale-never@layer=1" => "attention" Some(1), "attn_out", 0, "scale missing";
    "mixed" "attention-scale-twice@layer=0,step=3" => "attention" Some(0), "attn_out", 3, "scale applied twice";
    "llama" "attention-head-modulo@layer=1,phase=decode" => "attention" Some(1), "attn_out", 1, "h % n_kv";
    "llama" "attention-mask-off-in-chunks@layer=1" => "attention" Some(1), "attn_out", 0, "the mask is off by one";
    "qwen3" "rms-norm-eps-missing@layer=1,phase=decode" => "rms_norm" Some(1), "attn_norm", 1, "epsilon missing";
    "llama" "rms-norm-eps-of-another-key@layer=0,point=ffn_norm" => "rms_norm" Some(0), "ffn_norm", 0, "epsilon 1e-6";
    "llama" "rms-norm-32-of-64-lanes@point=final_norm" => "rms_norm" None, "final_norm", 0, "";
    "llama" "matmul-tile-transposed@layer=0,point=gate" => "matmul" Some(0), "gate", 0, "transposed";
    "mixed" "matmul-6-bit-scales@layer=1" => "matmul" Some(1), "wo_out", 0, "";
    "qwen2" "matmul-bias-ignored@layer=1,step=1" => "matmul" Some(1), "q", 1, "bias missing";
    "llama" "matmul-last-column-missing@layer=1,point=up,phase=decode" => "matmul" Some(1), "up", 1, "zeros";
    "llama" "matmul-f16-accumulation@point=logits" => "matmul" None, "logits", 0, "rounded to f16";
    "llama" "matmul-one-element-2-percent@layer=1,point=mlp_out,step=2" => "matmul" Some(1), "mlp_out", 2, "a single element";
    "llama" "silu-mul-arguments-swapped@layer=0,phase=decode" => "silu_mul" Some(0), "act", 1, "gate and up swapped";
    "llama" "add-residual-twice@layer=1,point=x_out" => "add" Some(1), "x_out", 0, "second term added twice";
    "llama" "add-read-before-it-is-written@layer=0,phase=decode" => "add" Some(0), "x_after_attn", 1, "never written";
    "llama" "kv-write-one-slot-late@layer=1,step=1" => "kv_write" Some(1), "kv_write", 1, "written one slot late";
    "mixed" "kv-write-arguments-swapped@layer=0,phase=decode" => "kv_write" Some(0), "kv_write", 1, "keys and values swapped";
    "llama" "embed-next-row@phase=decode" => "embed" None, "embed_out", 1, "token ids one too large";
    "llama" "copy-one-short" => "copy" None, "final_norm", 0, "";
}

#[test]
fn every_planted_bug_is_named_with_its_place_and_shape() {
    let mut wrong = Vec::new();
    for p in PLANTED {
        let diff = diff(p.model, &format!("mutant:{}", p.mutant), false);
        let Some(first) = diff.first() else {
            wrong.push(format!("{}: no divergence", p.mutant));
            continue;
        };
        let Site { step, layer, point, .. } = &first.site;
        if (first.op.as_str(), *layer, &**point, *step) != (p.op, p.layer, p.point, p.step) {
            wrong.push(format!("{}: {} at {}", p.mutant, first.op, first.site));
        }
        if !p.looks_like.is_empty() && !first.guesses.iter().any(|g| g.what.contains(p.looks_like)) {
            wrong.push(format!("{}: looks like {:?}", p.mutant, first.guesses));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(PLANTED.len() >= 20);
}

/// Kernels with a bug, on the software device: model, mutant, op, point, looks like.
const PLANTED_IN_DEVICE_CODE: [(&str, &str, &str, &str, &str); 6] = [
    ("llama", "rope-position-off-by-one", "rope", "q_rope", "positions one too large"),
    ("llama", "rms-norm-eps-outside-the-root", "rms_norm", "attn_norm", "epsilon outside the root"),
    ("qwen2", "embed-id-off-by-one", "embed", "embed_out", "token ids one too large"),
    ("llama", "attention-scale-missing", "attention", "attn_out", "scale missing"),
    ("mixed", "matmul-tile-transposed", "matmul", "q", "tiles of 32 × 32 transposed"),
    ("mixed", "matmul-nibbles-swapped", "matmul", "q", "nibbles of the weights swapped"),
];

#[test]
fn a_bug_in_device_code_is_named_with_its_shape() {
    for (model, mutant, op, point, looks_like) in PLANTED_IN_DEVICE_CODE {
        let diff = diff(model, &format!("soft:{mutant}"), false);
        let first = diff.first().unwrap_or_else(|| panic!("{mutant}: no divergence"));
        assert_eq!((first.op.as_str(), &*first.site.point), (op, point), "{mutant}");
        assert!(first.guesses.iter().any(|g| g.what == looks_like), "{mutant}: {:?}", first.guesses);
    }
}

#[test]
fn healthy_backends_raise_no_alarm() {
    for model in ["llama", "mixed", "qwen2", "qwen3"] {
        for right in ["ref", "cpu", "cpu-exact"] {
            let diff = diff(model, right, true);
            assert!(diff.agrees(), "{model} on {right}: {:?}", diff.first());
            assert_eq!(diff.steps, 4);
            assert!(diff.compared > 10_000, "{}", diff.compared);
        }
    }
}

#[test]
fn the_software_device_raises_no_alarm() {
    let diff = diff("llama", "soft", true);
    assert!(diff.agrees() && diff.right.device.contains("not a run on silicon"), "{:?}", diff.first());
}

#[test]
fn only_the_op_at_fault_is_blamed_and_the_others_inherit() {
    let diff = diff("llama", "mutant:rope-position-plus-one@layer=0,point=q_rope,phase=prefill", true);
    assert_eq!(diff.found, 1, "{:?}", diff.findings);
    let after = |cell: &&forensics::diff::Cell| cell.site.step == 0 && cell.site.point == "logits";
    let logits = diff.cells.iter().find(after).unwrap();
    assert!(logits.share.unwrap() <= 1.0);
    assert!(logits.drift.unwrap().relative > 1e-4, "{logits:?}");
    let before = diff.cells.iter().find(|cell| cell.site.point == "attn_norm").unwrap();
    assert!(before.drift.unwrap().relative < 1e-6, "{before:?}");
}

#[test]
fn a_fault_is_laid_at_the_op_that_made_it() {
    let diff = diff("llama", "mutant:fault-add-one-row-more@layer=1,point=x_out", false);
    let first = diff.first().unwrap();
    assert_eq!((first.kind, first.op.as_str()), (Kind::Fault, "add"));
    assert_eq!((first.site.layer, &*first.site.point), (Some(1), "x_out"));
}

#[test]
fn the_report_survives_json_and_the_page_names_the_op() {
    let diff = diff("llama", "mutant:attention-scale-never@layer=1", true);
    let json = serde_json::to_string(&diff).unwrap();
    assert_eq!(serde_json::from_str::<Diff>(&json).unwrap().findings.len(), diff.findings.len());
    let page = assay_cli::report::diff::page(&diff);
    assert!(page.contains("attention goes wrong first") && page.contains("scale missing"));
    // The cell of the finding leads to it.
    assert!(page.contains("id=\"finding0\"") && page.contains("\"findings\":[[0,1,\"attn_out\"]"));
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
}
