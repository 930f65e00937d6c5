//! SmolLM2-135M on the software device: each op inside the bound that its declared numerics give, on the inputs that it had.
//!
//! `ASSAY_MODEL` names the model file. Without it the test says so and checks nothing.

use assay_cli::backends::Settings;
use engine::config::ModelConfig;
use engine::gguf::Gguf;
use engine::tokenizer::{EncodeOptions, Tokenizer};
use forensics::diff::lockstep::Lockstep;
use kernels::DType;

#[test]
fn every_op_on_the_software_device_is_inside_its_bound() {
    let Some(model) = std::env::var_os("ASSAY_MODEL") else {
        eprintln!("SKIPPED every_op_on_the_software_device: ASSAY_MODEL is not set");
        return;
    };
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
