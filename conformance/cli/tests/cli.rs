//! The `assay` command as a user meets it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn assay(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay")).args(arguments).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn refused(arguments: &[&str], naming: &str) {
    let folder = tempfile::tempdir().unwrap();
    let output = assay(folder.path(), arguments);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(said.contains(naming), "{arguments:?}: {said}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{arguments:?} left something behind");
}

#[test]
fn bad_usage_is_named_and_ends_with_code_2() {
    refused(&["check", "--no-such-flag"], "--no-such-flag");
    refused(&["chekc"], "chekc");
    refused(&["check", "--backend", "cpuu"], "cpuu");
    refused(&["check", "no-such-op"], "no-such-op");
    refused(&["check", "add/cpu/f32/exact,rows=three"], "rows=three");
    refused(&["check", "--shard", "5/4"], "5/4");
    refused(&["check", "--jobs", "0"], "--jobs");
    refused(&["check", "--html", "no/such/folder/report.html"], "no/such/folder");
    refused(&["check", "--expectations", "missing.toml"], "missing.toml");
    refused(&["story", "ropes"], "ropes");
    refused(&["list", "no-such-op"], "no-such-op");
    refused(&["zoo", "no-such-mutant"], "no-such-mutant");
    refused(&["zoo", "--machine", "--kernel", "no-such-kernel"], "no-such-kernel");
    refused(&["zoo", "--machine", "--sample", "0"], "--sample");
    refused(&["zoo", "--machine", "--least", "98"], "--least");
    refused(&["zoo", "--machine", "--least", "nan"], "--least");
    refused(&["zoo", "--json", "faults.json"], "--machine");
    refused(&["check", "--coverage", "c.html", "--cases", "3"], "--cases");
}

/// A FIFO would be waited for, and /dev/zero has no end.
#[cfg(unix)]
#[test]
fn what_is_no_file_is_refused_wherever_a_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/tiny/llama.gguf");
    let object = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/hip/objects/add.hsaco");
    for (path, naming) in [("/dev/zero", "is a device, want a file"), (fifo.to_str().unwrap(), "is a FIFO")] {
        refused(&["inspect", path], naming);
        refused(&["tokenize", "-m", path, "-p", "x"], naming);
        refused(&["tokenize", "-m", model, "-f", path], naming);
        refused(&["run", "-m", path, "-p", "x"], naming);
        refused(&["run", "-m", model, "-f", path], naming);
        refused(&["gpu", "info", path], naming);
        refused(&["gpu", "lint", path], naming);
        let bytes = format!("bytes:{path}");
        let launch = ["gpu", "run", object, "add", "--grid", "1", "--block", "64", "--arg", &bytes];
        refused(&launch, naming);
        refused(&["capsule", "show", path], naming);
        refused(&["replay", path], naming);
        refused(&["check", "--expectations", path], naming);
    }
    refused(&["run", "-m", model, "-p", "x", "-t", "4294967296"], "4294967296 threads, the limit is 1024");
    refused(&["diff", "-m", model, "-p", "x", "--threads", "1025"], "1025 threads, the limit is 1024");
    refused(&["diff", "-m", model, "-p", "x", "--chunk", "0"], "--chunk");
    refused(&["check", "--jobs", "1025"], "1..=1024");
    refused(&["tokenize", "-m", model, "--tokens", "1,,2"], "no token id beside the comma");
    let tap = |points| ["run", "-m", model, "-p", "x", "--tap-out", "t", "--tap", points];
    refused(&tap("all@99999999999999"), "layer 99999999999999, the model has 2");
    refused(&tap("q,,k"), "nothing stands between two commas");
    let save = ["capsule", "save", "-m", model, "-p", "x", "--out", "c", "--at", "layer=1,layer=0"];
    refused(&save, "'layer=0': want");
    refused(&["check", &"word ".repeat(20_000)], "and 99800 more characters");
}

#[test]
fn a_healthy_op_conforms_and_the_reports_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let reports =
        ["--json", "r.json", "--junit", "r.xml", "--html", "r.html", "--cases", "20", "--seed", "3"];
    let output =
        assay(folder.path(), &[&["check", "scale/ values", "--backend", "cpu"], reports.as_slice()].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let json: Value = serde_json::from_slice(&std::fs::read(folder.path().join("r.json")).unwrap()).unwrap();
    assert_eq!(json["totals"]["failed"], 0);
    assert!(json["totals"]["passed"].as_u64().unwrap() > 200);
    let case = &json["cases"][0];
    for key in ["name", "verdict", "worst", "share", "micros"] {
        assert!(!case[key].is_null(), "{key}: {case}");
    }
    for file in ["r.xml", "r.html"] {
        assert!(std::fs::read_to_string(folder.path().join(file)).unwrap().contains("scale"), "{file}");
    }
    assert!(!folder.path().join("assay-regressions.txt").exists());
}

#[test]
fn a_broken_op_is_shown_shrunk_kept_and_run_first_next_time() {
    let folder = tempfile::tempdir().unwrap();
    let backend = "mutant:rms-norm-eps-missing";
    let run = || {
        assay(
            folder.path(),
            &[
                "check",
                "rms_norm/ bounded eps-1e-5 outliers padded",
                "--backend",
                backend,
                "--json",
                "r.json",
            ],
        )
    };
    let output = run();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for part in
        ["FAILED ", "want", "bound", "rerun: cargo run --release -- check 'rms_norm/", "shrunk: rms_norm/"]
    {
        assert!(said.contains(part), "'{part}' in:\n{said}");
    }
    let page = std::fs::read_to_string(folder.path().join("assay-report.html")).unwrap();
    assert!(page.find("class=\"matrix\"").unwrap() < page.find("class=\"failure\"").unwrap());
    for outside in ["<script", "http://", "https://", "src="] {
        assert!(!page.contains(outside), "{outside}");
    }

    let kept = std::fs::read_to_string(folder.path().join("assay-regressions.txt")).unwrap();
    let small = kept.lines().find(|line| line.starts_with("rms_norm/")).unwrap();
    let rerun = assay(folder.path(), &["check", small]);
    assert_eq!(rerun.status.code(), Some(1), "{small}");
    run();
    let json: Value = serde_json::from_slice(&std::fs::read(folder.path().join("r.json")).unwrap()).unwrap();
    assert_eq!(json["cases"][0]["name"], small);
}

#[test]
fn a_random_failure_shrinks_to_a_minimal_shape() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "check",
        "matmul/ f16/bounded",
        "--backend",
        "mutant:matmul-bias-ignored",
        "--cases",
        "8",
        "--json",
        "r.json",
    ];
    assert_eq!(assay(folder.path(), &arguments).status.code(), Some(1));
    let json: Value = serde_json::from_slice(&std::fs::read(folder.path().join("r.json")).unwrap()).unwrap();
    let random = json["cases"].as_array().unwrap().iter().rev().take(8);
    let failed: Vec<_> =
        random.filter(|c| c["verdict"] == "failed").map(|c| c["name"].as_str().unwrap()).collect();
    assert!(!failed.is_empty());
    assert!(failed.iter().all(|name| name.contains("m=1,n=1,")), "{failed:?}");
}

#[test]
fn a_crash_costs_one_case_and_is_reported_with_its_last_words() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["check", "argmax/ n=257", "--backend", "mutant:argmax-dies", "--json", "r.json"];
    assert_eq!(assay(folder.path(), &arguments).status.code(), Some(1));
    let json: Value = serde_json::from_slice(&std::fs::read(folder.path().join("r.json")).unwrap()).unwrap();
    for case in json["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let dies = name.contains("rows=33,");
        assert_eq!(case["verdict"] == "failed", dies, "{name}");
        if dies {
            assert_eq!(case["detail"][0]["found_by"], "crash", "{name}");
            assert!(case["detail"][0]["what"].as_str().unwrap().contains("signal"), "{case}");
        }
    }
}

#[test]
fn a_hang_costs_one_case() {
    let folder = tempfile::tempdir().unwrap();
    let filter = "scale/ bounded n=1024, rows=33 data=gauss";
    let arguments =
        ["check", filter, "--backend", "mutant:scale-hangs", "--timeout", "1", "--json", "r.json"];
    assert_eq!(assay(folder.path(), &arguments).status.code(), Some(1));
    let json: Value = serde_json::from_slice(&std::fs::read(folder.path().join("r.json")).unwrap()).unwrap();
    assert_eq!(json["cases"][0]["detail"][0]["found_by"], "hang", "{json}");
}

#[cfg(target_os = "linux")]
#[test]
fn killing_a_worker_in_the_middle_of_a_sweep_loses_at_most_its_case() {
    let folder = tempfile::tempdir().unwrap();
    let mut sweep = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args([
            "check",
            "attention/ bounded",
            "--backend",
            "cpu",
            "--shard",
            "1/4",
            "--jobs",
            "1",
            "--json",
            "r.json",
        ])
        .current_dir(folder.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let worker = loop {
        let children = format!("/proc/{0}/task/{0}/children", sweep.id());
        let tasks = std::fs::read_dir(format!("/proc/{}/task", sweep.id())).unwrap();
        let of_threads =
            tasks.flatten().map(|t| std::fs::read_to_string(t.path().join("children")).unwrap_or_default());
        let all: String = of_threads.chain([std::fs::read_to_string(children).unwrap_or_default()]).collect();
        if let Some(worker) = all.split_whitespace().next() {
            break worker.to_owned();
        }
        assert!(sweep.try_wait().unwrap().is_none(), "the sweep ended before its worker was seen");
    };
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(Command::new("kill").args(["-9", &worker]).status().unwrap().success());
    sweep.wait().unwrap();
    let json: Value = serde_json::from_slice(&std::fs::read(folder.path().join("r.json")).unwrap()).unwrap();
    let failed: Vec<_> =
        json["cases"].as_array().unwrap().iter().filter(|c| c["verdict"] != "passed").collect();
    assert!(failed.len() <= 1, "{failed:?}");
    assert!(failed.iter().all(|c| c["detail"][0]["found_by"] == "crash"), "{failed:?}");
    assert!(json["totals"]["passed"].as_u64().unwrap() > 50);
}

#[test]
fn an_expected_failure_passes_the_sweep_and_an_unexpected_pass_fails_it() {
    let folder = tempfile::tempdir().unwrap();
    let list = |case: &str| {
        std::fs::write(
            folder.path().join("e.toml"),
            format!("[[expect]]\ncase = '{case}'\nreason = 'known'\n"),
        )
        .unwrap();
    };
    let run = |backend: &str| {
        let arguments =
            ["check", "add/ n=31, rows=5 exact", "--backend", backend, "--expectations", "e.toml"];
        assay(folder.path(), &arguments).status.code()
    };
    list("add/cpu");
    assert_eq!(run("cpu"), Some(1));
    list("mul/cpu");
    assert_eq!(run("cpu"), Some(0));
}

#[test]
fn coverage_is_of_the_software_device_and_counts_what_was_reached() {
    let folder = tempfile::tempdir().unwrap();
    let of = |filter: &str| {
        let output = assay(folder.path(), &["check", filter, "--coverage", "c.json", "--coverage", "c.html"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let json: Value =
            serde_json::from_slice(&std::fs::read(folder.path().join("c.json")).unwrap()).unwrap();
        let count = |what: &str| json[what]["reached"].as_u64().unwrap();
        // Cases in shorter types run casts besides.
        let kernels = json["kernels"].as_array().unwrap();
        assert!(kernels.iter().any(|kernel| kernel["kernel"] == "silu_mul"), "{json}");
        assert!(count("blocks") <= json["blocks"]["all"].as_u64().unwrap());
        (count("blocks"), count("directions"))
    };
    let one = of(
        "silu_mul/soft/f32/bounded,topic=values,variant=plain,rows=1,n=31,data=gauss,packing=dense,in_place=false,seed=1",
    );
    let all = of("silu_mul/ bounded");
    assert!(one.0 > 1 && one.0 < all.0 && one.1 < all.1, "{one:?} of one case, {all:?} of all");
    let page = std::fs::read_to_string(folder.path().join("c.html")).unwrap();
    assert!(page.contains("silu_mul.hip:") && page.contains("class=\"hit\""), "{page}");
    let half = assay(folder.path(), &["check", "gelu_mul/ tanh bounded", "--coverage", "c.json"]);
    assert!(text(&half.stdout).contains("not launched: gelu_mul_erf\n"), "{}", text(&half.stdout));
    let other = assay(folder.path(), &["check", "--backend", "cpu", "--coverage", "c.html"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(text(&other.stderr).contains("cpu does not run there"), "{}", text(&other.stderr));
}
