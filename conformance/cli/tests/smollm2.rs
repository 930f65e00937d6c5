//! SmolLM2-135M on the software device: each op inside the bound that its declared numerics give, on the inputs that it had; and a large op
//! of it as a small capsule.
//!
//! `ASSAY_MODEL` names the model file, which `golden/fetch_model.sh` fetches; without it the trials are ignored, with the reason.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Output};

use assay_cli::backends::Settings;
use engine::config::ModelConfig;
use engine::gguf::Gguf;
use engine::tokenizer::{EncodeOptions, Tokenizer};
use forensics::diff::lockstep::Lockstep;
use kernels::DType;

fn main() -> ExitCode {
    test_needs::run(test_needs::trials![test_needs::model();
        every_op_on_the_software_device_is_inside_its_bound,
        a_large_op_of_a_real_model_becomes_a_small_capsule,
    ])
}

fn every_op_on_the_software_device_is_inside_its_bound(model: &Path) {
    let gguf = Gguf::open(model).unwrap();
    let config = ModelConfig::from_gguf(&gguf).unwrap();
    let tokenizer = Tokenizer::from_metadata(gguf.metadata()).unwrap();
    let text = "The capital of France is";
    let prompt = tokenizer.encode(text, EncodeOptions { add_special: true, parse_special: true }).unwrap();
    let settings = Settings { threads: 1, ..Settings::from_env() };
    let lockstep = Lockstep {
        gguf: &gguf,
        config: &config,
        model: None,
        prompt: &prompt,
        tokens: 2,
        chunk: 64,
        kv: DType::F32,
        left: "ref",
        right: "soft",
        collect: true,
        capsules: None,
    };
    let diff = lockstep.run(&settings, &mut |_| ()).unwrap();
    assert!(diff.agrees(), "{:?}", diff.first());
    assert_eq!(diff.steps, 2);
    for cell in &diff.cells {
        assert!(
            cell.share.is_some_and(|share| share <= 1.0),
            "{} {:?}: {:?}",
            cell.op,
            cell.site,
            cell.share
        );
    }
    let logits = diff.cells.iter().filter(|cell| cell.op == "matmul" && cell.site.layer.is_none()).count();
    assert_eq!(logits, 2, "the logits of each step are judged like any other result");
    eprintln!("{} ops in {:.1} s", diff.cells.len(), diff.seconds);
}

fn assay(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay")).args(args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The logits have a weight of 30 MB.
fn a_large_op_of_a_real_model_becomes_a_small_capsule(model: &Path) {
    let model = model.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let capsule = folder.path().join("logits.capsule");
    let path = capsule.to_str().unwrap();
    let backend = "soft:matmul-k-tail-dropped";
    let args = ["-m", model, "-p", "Hi", "--backend", backend, "--at", "point=logits", "--out", path];
    let saved = assay(&[&["capsule", "save"], &args[..]].concat());
    assert_eq!(saved.status.code(), Some(0), "{}", stderr(&saved));
    assert!(fs::metadata(&capsule).unwrap().len() < 5_000_000, "{}", stdout(&saved));
    let shown = stdout(&assay(&["capsule", "show", path]));
    assert!(shown.contains(" of 49152") && shown.contains("observed out: "), "{shown}");
    let healthy = assay(&["replay", path, "--backend", "ref,cpu,soft"]);
    assert_eq!(healthy.status.code(), Some(0), "{}", stdout(&healthy));
    let failed = assay(&["replay", path, "--shrink"]);
    assert_eq!(failed.status.code(), Some(1));
    let small = folder.path().join("logits.small.capsule");
    assert!(fs::metadata(&small).unwrap().len() < 50_000, "{}", stdout(&failed));
    assert_eq!(assay(&["replay", small.to_str().unwrap()]).status.code(), Some(1));
}
