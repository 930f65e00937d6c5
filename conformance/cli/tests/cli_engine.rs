//! The commands of `assay` that read a model, as a user runs them.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[path = "../../../engine/tests/gguf_builder/mod.rs"]
mod gguf_builder;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use gguf_builder::bases::llama_base;
use gguf_builder::broken::corpus;
use safetensors::SafeTensors;

const ASSAY: &str = env!("CARGO_BIN_EXE_assay");

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/tiny").join(name)
}

fn assay(args: &[&str]) -> Output {
    Command::new(ASSAY).args(args).env_remove("GRETA_DISABLE_GUARD_RAIL").output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Output of a command that ends well.
fn well(args: &[&str]) -> String {
    let output = assay(args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
    stdout(&output)
}

/// Message of a command that ends with exit code 2.
fn refused(args: &[&str]) -> String {
    let output = assay(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {} {}", stdout(&output), stderr(&output));
    stderr(&output)
}

#[test]
fn run_streams_text_and_reports_rates_on_every_backend() {
    let folder = tempfile::tempdir().unwrap();
    for backend in ["ref", "cpu-exact", "soft"] {
        let model = golden("llama.gguf");
        let json = folder.path().join(format!("{backend}.json"));
        let (model, json_path) = (model.to_str().unwrap(), json.to_str().unwrap());
        let text = well(&[
            "run",
            "-m",
            model,
            "-p",
            "the quick",
            "-n",
            "4",
            "--backend",
            backend,
            "--ignore-eos",
            "--json",
            json_path,
        ]);
        assert!(
            text.contains("\nprompt tokens 5\ngenerated tokens 4 (length)\ntime to first token "),
            "{text}"
        );
        assert!(text.contains("\nprefill ") && text.contains("\ndecode "), "{text}");
        assert!(text.ends_with("tokens/s\nSTATUS=OK\n"), "{text}");
        let report: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
        assert_eq!(report["gen_ids"].as_array().unwrap().len(), 4);
        assert_eq!((&report["backend"], &report["status"]), (&backend.into(), &"OK".into()));
    }
}

#[test]
fn the_seed_decides_what_is_said() {
    let model = golden("llama.gguf");
    let said = |seed: &str| {
        let args =
            ["run", "-m", model.to_str().unwrap(), "-p", "dog", "-n", "12", "--temp", "1.5", "--seed", seed];
        let text = String::from_utf8_lossy(&assay(&args).stdout).into_owned();
        text.split("\nprompt tokens").next().unwrap().to_owned()
    };
    assert_eq!(said("7"), said("7"));
    assert_ne!(said("7"), said("8"));
}

#[test]
fn logits_are_those_of_numpy() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.safetensors");
    let read = |path: &Path| fs::read(path).unwrap();
    for name in ["llama", "mixed", "qwen2", "qwen3"] {
        let expected = read(&golden(&format!("{name}.safetensors")));
        let expected = SafeTensors::deserialize(&expected).unwrap();
        let (ids, _) = expected.tensor("ids").unwrap().data().as_chunks::<4>();
        let ids: Vec<String> = ids.iter().map(|w| u32::from_le_bytes(*w).to_string()).collect();
        let model = golden(&format!("{name}.gguf"));
        let (model, out_path) = (model.to_str().unwrap(), out.to_str().unwrap());
        well(&[
            "logits",
            "-m",
            model,
            "--tokens",
            &ids.join(","),
            "--backend",
            "cpu-exact",
            "--kv",
            "f32",
            "--chunk",
            "10",
            "--out",
            out_path,
        ]);

        let got = read(&out);
        let got = SafeTensors::deserialize(&got).unwrap();
        let (got, _) = got.tensor("logits").unwrap().data().as_chunks::<4>();
        let (want, _) = expected.tensor("logits").unwrap().data().as_chunks::<8>();
        assert_eq!(got.len(), want.len());
        for (got, want) in got.iter().zip(want) {
            let (got, want) = (f64::from(f32::from_le_bytes(*got)), f64::from_le_bytes(*want));
            assert!((got - want).abs() <= 1e-4, "{name}: {got} {want}");
        }
    }
}

#[test]
fn tokens_come_back_as_text() {
    let model = golden("llama.gguf");
    let model = model.to_str().unwrap();
    let text = "the quick fox, über <|im_end|>";
    let ids = well(&["tokenize", "-m", model, "-p", text]);
    assert!(ids.trim_end().ends_with(" 298"), "{ids}");
    assert_eq!(well(&["tokenize", "-m", model, "--tokens", &ids]), format!("{text}\n"));
    let literal = well(&["tokenize", "-m", model, "-p", text, "--literal"]);
    assert!(!literal.contains("298") && literal.len() > ids.len());
    assert!(well(&["tokenize", "-m", model, "-p", "the", "--pieces"]).contains(" \"he\"\n"));
}

#[test]
fn perplexity_of_random_weights_is_about_the_vocabulary() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("text");
    fs::write(&file, "what is the answer to the question? there is no answer.\n".repeat(4)).unwrap();
    let model = golden("mixed.gguf");
    let args = ["perplexity", "-m", model.to_str().unwrap(), "-f", file.to_str().unwrap(), "--ctx", "32"];
    let text = well(&args);
    let line = text.lines().find(|l| l.starts_with("perplexity ")).unwrap();
    let value: f64 = line.split(' ').nth(1).unwrap().parse().unwrap();
    assert!((150.0..1500.0).contains(&value), "{text}");
    // Windows of another length see other beginnings, chunks of another length do not.
    let with = |more: [&str; 2]| well(&[&args[..], &more].concat()).lines().nth(2).unwrap().to_owned();
    assert_eq!(with(["--chunk", "5"]), line);
}

#[test]
fn inspect_shows_a_table_and_names_disagreements() {
    let text = well(&["inspect", golden("mixed.gguf").to_str().unwrap(), "--keys"]);
    for part in [
        "architecture   llama",
        "blk.1.ffn_down.weight",
        "iq4_xs",
        "[299, 256]",
        "linear scaling by 2",
        "agree",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wrong.gguf");
    let wrong = llama_base().set("llama.feed_forward_length", Some(64_u32.into()));
    fs::write(&path, wrong.build()).unwrap();
    let path = path.to_str().unwrap();
    let error = refused(&["inspect", path]);
    assert!(error.contains("'blk.0.ffn_gate.weight': dimension 0 is 32, want 64"), "{error}");
    assert!(well(&["inspect", path, "--no-guard-rail"]).contains("disagree in 3 places"));
}

#[test]
fn without_the_guard_rail_bounds_are_still_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wrong.gguf");
    let write = |width: u32| {
        fs::write(&path, llama_base().set("llama.feed_forward_length", Some(width.into())).build()).unwrap();
    };
    write(16);
    let args = ["run", "-m", path.to_str().unwrap(), "-p", "ab", "-n", "1"];
    assert!(refused(&args).contains("metadata and tensors disagree in 3 places"));
    let error = refused(&[&args[..], &["--no-guard-rail"]].concat());
    assert!(error.contains("warning: tensor 'blk.0.ffn_gate.weight'"), "{error}");
    assert!(error.contains("error: step 0 (prefill), layer 0, gate: matmul: out: shape"), "{error}");
    let by_variable = Command::new(ASSAY).args(args).env("GRETA_DISABLE_GUARD_RAIL", "1").output().unwrap();
    assert!(stderr(&by_variable).contains("error: step 0 (prefill), layer 0, gate"));
    // Activations as wide as no tensor would take memory that the file does not bound.
    write(64);
    let error = refused(&[&args[..], &["--no-guard-rail"]].concat());
    assert!(error.contains("'feed_forward_length' is 64, the largest extent of a tensor of the file is 32"));
}

#[test]
fn an_answer_ends_with_the_context() {
    let model = golden("llama.gguf");
    let model = model.to_str().unwrap();
    for (more, room) in
        [(["-n", "7", "--ctx", "10"].as_slice(), "10 positions"), (&["-n", "100000"], "positions")]
    {
        let output = assay(&[&["run", "-m", model, "-p", "the quick", "--ignore-eos"], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let note = stderr(&output);
        assert!(note.contains("note: the context has ") && note.contains(room), "{note}");
    }
    let text = well(&["run", "-m", model, "-p", "the quick", "--ignore-eos", "-n", "7", "--ctx", "10"]);
    assert!(text.contains("generated tokens 6 (length)"), "{text}");
}

#[test]
fn bad_usage_is_named() {
    let model = golden("llama.gguf");
    let run =
        |more: &[&str]| refused(&[&["run", "-m", model.to_str().unwrap(), "-p", "the quick"], more].concat());
    assert!(run(&["--ctx", "4"]).contains("context overflow: 5 tokens of prompt, there are 4 positions"));
    assert!(run(&["--backend", "abacus"]).contains("unknown backend 'abacus'"));
    assert!(run(&["--kv", "q4_0"]).contains("a cache of q4_0 is not possible"));
    assert!(run(&["--top-p", "1.5"]).contains("top-p is 1.5"));
    assert!(run(&["--tap", "x_off", "--tap-out", "t"]).contains("unknown trace point 'x_off'"));
    assert!(run(&["--dump-kv", "2", "--tap-out", "t"]).contains("layer 2, the model has 2"));
    assert!(refused(&["run", "-m", "nowhere.gguf", "-p", "x"]).contains("nowhere.gguf"));
}

#[test]
fn unknown_variables_are_pointed_out() {
    let model = golden("llama.gguf");
    let args = ["tokenize", "-m", model.to_str().unwrap(), "-p", "x"];
    let output = Command::new(ASSAY).args(args).env("GRETA_DISABLE_GUARDRAIL", "1").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let warning = "warning: GRETA_DISABLE_GUARDRAIL is set, but nothing reads it; did you mean GRETA_DISABLE_GUARD_RAIL?";
    assert!(stderr(&output).contains(warning), "{}", stderr(&output));
    let output = Command::new(ASSAY).args(args).env("GRETA_DISABLE_GUARD_RAIL", "1").output().unwrap();
    assert_eq!(stderr(&output), "");
}

/// Each broken file ends with exit code 2 and an error that names the defect, in an address space of 200 MB.
#[cfg(unix)]
#[test]
fn broken_files_are_refused_with_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut slowest = (Duration::ZERO, "");
    let corpus = corpus();
    for file in &corpus {
        let path = folder.path().join(file.defect);
        fs::write(&path, &file.bytes).unwrap();
        let begin = Instant::now();
        let output = Command::new("sh")
            .args(["-c", "ulimit -v 200000; exec \"$@\"", "sh", ASSAY, "run", "-p", "ab", "-n", "1", "-m"])
            .arg(&path)
            .env_remove("GRETA_DISABLE_GUARD_RAIL")
            .output()
            .unwrap();
        slowest = slowest.max((begin.elapsed(), file.defect));
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{}: {error}", file.defect);
        assert!(error.starts_with("error: ") && error.contains(file.error), "{}: {error}", file.defect);
        assert!(error.contains(path.to_str().unwrap()), "{}: {error}", file.defect);
    }
    eprintln!("{} files, the slowest ({}) took {:?}", corpus.len(), slowest.1, slowest.0);

    let sound = folder.path().join("sound");
    fs::write(&sound, llama_base().build()).unwrap();
    // Its weights are made-up bytes and say nothing, but the file is in order.
    well(&["inspect", sound.to_str().unwrap()]);
}
