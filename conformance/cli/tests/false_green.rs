//! Nothing passes that did not run: what was asked for and not used is an error.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::{Command, Output};

use backend_hip::objects::gfx942;
use serde_json::Value;

/// A few cases of one op on the software device.
const RMS_NORM: &[&str] = &["check", "rms_norm/ rows=5, n=31,", "--backend", "soft", "--json", "r.json"];

fn assay_with(objects: Option<&Path>, folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.args(arguments).current_dir(folder).env_remove("ASSAY_HIP_OBJECTS");
    if let Some(objects) = objects {
        command.env("ASSAY_HIP_OBJECTS", objects);
    }
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[track_caller]
fn refused(output: &Output, naming: &[&str]) {
    let text = said(output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    for part in naming {
        assert!(text.contains(part), "'{part}' in: {text}");
    }
}

fn model() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/tiny/llama.gguf");
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_folder_of_objects_that_cannot_be_used_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let run = |objects: &Path| assay_with(Some(objects), folder.path(), RMS_NORM);
    refused(&run(Path::new("/nonexistent")), &["/nonexistent"]);

    let objects = tempfile::tempdir().unwrap();
    let name = objects.path().display().to_string();
    refused(&run(objects.path()), &[&name, "rms_norm.hsaco"]);
    std::fs::write(objects.path().join("rmsnorm.hsaco"), gfx942("rms_norm").unwrap()).unwrap();
    refused(&run(objects.path()), &[&name, "rms_norm.hsaco"]);
    std::fs::write(objects.path().join("rope.hsaco"), gfx942("rope").unwrap()).unwrap();
    refused(&run(objects.path()), &[&name, "none is of an op that would run (rms_norm)"]);
    std::fs::write(objects.path().join("rms_norm.hsaco"), "no object").unwrap();
    refused(&run(objects.path()), &[&name, "rms_norm"]);
    assert!(!folder.path().join("r.json").exists());

    let model = model();
    for command in
        [["run", "-n", "1", "--backend"], ["locate", "-n", "1", "--backend"], ["diff", "-n", "1", "--right"]]
    {
        let [name, n, one, backend] = command;
        let arguments = [name, n, one, backend, "soft", "-m", &model, "-p", "the"];
        refused(&assay_with(Some(Path::new("/nonexistent")), folder.path(), &arguments), &["/nonexistent"]);
    }
}

#[test]
fn reports_say_which_objects_ran() {
    let folder = tempfile::tempdir().unwrap();
    let objects = tempfile::tempdir().unwrap();
    let name = objects.path().display().to_string();
    let report = |output: &Output| -> Value {
        assert_eq!(output.status.code(), Some(0), "{}", said(output));
        serde_json::from_slice(&std::fs::read(folder.path().join("r.json")).unwrap()).unwrap()
    };
    let own = assay_with(None, folder.path(), RMS_NORM);
    let json = report(&own);
    let [code] = json["device_code"].as_array().unwrap().as_slice() else {
        panic!("{}", json["device_code"])
    };
    assert_eq!((code["op"].as_str(), code["origin"].as_str()), (Some("rms_norm"), Some("built in")));
    let hash = code["sha256"].as_str().unwrap();
    assert!(
        said(&own).contains(&format!("soft: code objects built in: rms_norm {}", &hash[..8])),
        "{}",
        said(&own)
    );

    std::fs::write(objects.path().join("rms_norm.hsaco"), gfx942("rms_norm").unwrap()).unwrap();
    let theirs = assay_with(Some(objects.path()), folder.path(), RMS_NORM);
    let json = report(&theirs);
    assert_eq!(json["device_code"][0]["origin"], name.as_str());
    assert_eq!(json["device_code"][0]["sha256"], hash, "it is the same object");
    let text = said(&theirs);
    assert!(text.contains(&format!("soft: code objects {name}: rms_norm ")), "{text}");
    assert!(text.contains(&format!("code objects of rms_norm from {name}")), "{text}");

    // Kernels that the folder's object lacks come from the program, and the report says so.
    std::fs::write(objects.path().join("rms_norm.hsaco"), gfx942("add").unwrap()).unwrap();
    let text = said(&assay_with(Some(objects.path()), folder.path(), RMS_NORM));
    assert!(text.contains("soft: code objects built in: rms_norm ") && text.contains(&name), "{text}");

    let unused = assay_with(
        Some(objects.path()),
        folder.path(),
        &["check", "add/ exact n=31, rows=5", "--backend", "cpu"],
    );
    assert!(said(&unused).contains("no HIP backend ran"), "{}", said(&unused));
}

#[test]
fn a_planted_bug_that_is_never_reached_is_not_a_pass() {
    let folder = tempfile::tempdir().unwrap();
    let model = model();
    let run = |arguments: &[&str]| assay_with(None, folder.path(), arguments);
    // The tiny Llama has two layers and no gelu.
    for mutant in ["mutant:rope-position-plus-one@layer=99", "soft:gelu-mul-tanh-constant"] {
        for (command, flag) in [("diff", "--right"), ("locate", "--backend"), ("run", "--backend")] {
            let output = run(&[command, "-m", &model, "-p", "the quick", "-n", "2", flag, mutant]);
            refused(&output, &["PROBE_NOT_REACHED", mutant]);
        }
        let healthy = run(&["check", "add/ exact n=31, rows=5", "--backend", mutant]);
        refused(&healthy, &["PROBE_NOT_REACHED", mutant]);
    }
    let reached =
        run(&["diff", "-m", &model, "-p", "the quick", "-n", "2", "--right", "soft:silu-mul-without-gate"]);
    assert_eq!(reached.status.code(), Some(1), "{}", said(&reached));
}

#[test]
fn a_sweep_without_cases_is_not_a_pass() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| assay_with(None, folder.path(), arguments);
    refused(&run(&["check", "no-such-op"]), &["no-such-op"]);
    refused(&run(&["check", "cpu"]), &["'cpu' is a backend: use --backend cpu"]);
    refused(&run(&["list", "ref"]), &["'ref' is a backend: use --backend ref"]);
    let few = "add/ exact n=31, rows=5 packing=dense";
    refused(
        &run(&["check", few, "--backend", "cpu", "--shard", "9999/10000"]),
        &["this shard has none of the "],
    );
    let known = ["ref", "cpu", "cpu-exact", "soft-deferred"];
    refused(
        &run(&["check", few, "--backend", "spft"]),
        &[&["did you mean soft?"], known.as_slice()].concat(),
    );
    let near = "did you mean soft:gelu-mul-tanh-constant?";
    refused(&run(&["check", few, "--backend", "soft:gelu-mul-tan-constant"]), &[near]);
    std::fs::write(folder.path().join("empty.txt"), "# nothing\n").unwrap();
    refused(
        &run(&["check", few, "--backend", "cpu", "--regressions", "empty.txt"]),
        &["empty.txt", "lists no case"],
    );
    std::fs::create_dir(folder.path().join("capsules")).unwrap();
    refused(&run(&["check", "--backend", "cpu", "--capsules", "capsules"]), &["no capsule there"]);
}

#[test]
fn a_word_that_names_a_backend_selects_no_other_cases() {
    let folder = tempfile::tempdir().unwrap();
    let output = assay_with(None, folder.path(), &["list", "soft", "--count"]);
    let text = said(&output);
    // softmax has the word in its name, attention in its parameter softcap.
    for line in text.lines().filter(|line| line.contains("/soft/")) {
        let has_the_word = line.starts_with("softmax/") || line.starts_with("attention/");
        assert_eq!(line.ends_with(" 0"), !has_the_word, "{line}");
    }
}

#[test]
fn vector_instructions_that_the_machine_lacks_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let with = |set: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command.args(["check", "add/ rows=5, n=31,", "--backend", "cpu"]).current_dir(folder.path());
        command.env("ASSAY_SIMD", set).output().unwrap()
    };
    refused(&with("sse9"), &["ASSAY_SIMD is 'sse9'", "portable"]);
    let plain = with("portable");
    assert!(plain.status.success() && said(&plain).contains("CPU, portable"), "{}", said(&plain));
}
