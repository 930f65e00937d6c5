//! A sweep in parts: together they are the whole, and what is not of it is refused.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Some quick cases on two backends; random ones are among such.
const CASES: &[&str] = &["add/ packing=padded", "--backend", "cpu,ref"];

fn assay(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.args(arguments).current_dir(folder).env_remove("GITHUB_ACTIONS").output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs one part; its report is `name`.
fn part(folder: &Path, cases: &[&str], shard: &str, name: &str) -> Output {
    assay(folder, &[&["check"], cases, &["--shard", shard, "--json", name]].concat())
}

fn merge(folder: &Path, parts: &[&str]) -> Output {
    assay(
        folder,
        &[&["merge"], parts, &["--json", "all.json", "--junit", "all.xml", "--html", "all.html"]].concat(),
    )
}

fn json(folder: &Path, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap()
}

/// Names and verdicts, and how many there are.
fn verdicts(report: &Value) -> (BTreeSet<(String, String)>, usize) {
    let cases = report["cases"].as_array().unwrap();
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    (cases.iter().map(|case| (word(&case["name"]), word(&case["verdict"]))).collect(), cases.len())
}

#[track_caller]
fn refused(output: &Output, naming: &[&str]) {
    let text = said(output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    for part in naming {
        assert!(text.contains(part), "no '{part}' in {text}");
    }
}

#[test]
fn parts_together_are_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for (shard, name) in [("1/3", "1.json"), ("2/3", "2.json"), ("3/3", "3.json")] {
        let output = part(path, &[CASES, &["--cases", "8"]].concat(), shard, name);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    }
    let output = merge(path, &["3.json", "1.json", "2.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let all = json(path, "all.json");
    assert_eq!(all["not_run"], Value::Array(Vec::new()));
    assert_eq!(all["plan"]["shard"], "1/1");
    let (merged, count) = verdicts(&all);
    assert_eq!(merged.len(), count, "no case twice");

    let output = assay(path, &[&["check"], CASES, &["--json", "whole.json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let whole = json(path, "whole.json");
    assert!(verdicts(&whole).0.is_subset(&merged));
    // Eight random cases on each backend, however many parts there are.
    assert_eq!(count, verdicts(&whole).1 + 16);
    assert_eq!(all["totals"]["passed"], count);
    assert_eq!(std::fs::read_to_string(path.join("all.xml")).unwrap().matches("<testcase").count(), count);
    assert!(std::fs::read_to_string(path.join("all.html")).unwrap().contains("everything that ran conforms"));
}

#[test]
fn a_failure_in_one_part_fails_the_whole_and_is_told_as_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let cases = ["rms_norm/ bounded rows=5, n=31,", "--backend", "mutant:rms-norm-eps-missing"];
    let mut failed = Vec::new();
    for (shard, name) in [("1/2", "1.json"), ("2/2", "2.json")] {
        let output = part(path, &cases, shard, name);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", said(&output));
        failed.push(json(path, name)["totals"]["failed"].as_u64().unwrap());
    }
    let output = merge(path, &["1.json", "2.json"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let all = json(path, "all.json");
    assert_eq!(all["totals"]["failed"], failed.iter().sum::<u64>());
    assert!(failed.iter().sum::<u64>() > 0);
    // The smaller cases come along, with what was found in them.
    let smaller = all["smaller"].as_array().unwrap();
    assert!(!smaller.is_empty());
    assert!(said(&output).contains(smaller[0]["name"].as_str().unwrap()), "{}", said(&output));
    // Shards leave no list behind that would change the next sweep.
    assert!(!path.join("assay-regressions.txt").exists());
}

#[test]
fn a_missing_part_is_named_and_the_report_is_partial() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    part(path, CASES, "2/4", "2.json");
    let output = merge(path, &["2.json"]);
    refused(&output, &["shards 1/4, 3/4, 4/4 are missing", "partial: shard 3/4 is missing"]);
    assert_eq!(json(path, "all.json")["not_run"][0], "shard 1/4 is missing");
    assert!(std::fs::read_to_string(path.join("all.html")).unwrap().contains("shard 4/4 is missing"));
}

#[test]
fn parts_of_other_runs_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    part(path, CASES, "1/2", "a.json");
    let other = |name: &str, cases: &[&str], shard: &str, naming: &str| {
        part(path, cases, shard, name);
        refused(&merge(path, &["a.json", name]), &[name, "of another run", naming]);
    };
    other("seed.json", &[CASES, &["--seed", "2"]].concat(), "2/2", "the seed is 2, and 1 in a.json");
    other(
        "filter.json",
        &["add/ packing=padded n=32,", "--backend", "cpu,ref"],
        "2/2",
        "the filter is 'add/ packing=padded n=32,'",
    );
    other("backend.json", &["add/ packing=padded", "--backend", "cpu"], "2/2", "the list of backends is cpu");
    other("count.json", CASES, "2/3", "the number of parts is 3, and 2");
    other("guard.json", &[CASES, &["--guard", "off"]].concat(), "2/2", "the guard is off");
    other("random.json", &[CASES, &["--cases", "2"]].concat(), "2/2", "the number of random cases is 2");
    part(path, CASES, "2/2", "b.json");
    assert_eq!(merge(path, &["a.json", "b.json"]).status.code(), Some(0));
    refused(&merge(path, &["a.json", "b.json", "a.json"]), &["shard 1/2 is in a.json and in a.json"]);

    let edited = |change: &dyn Fn(&mut Value), naming: &str| {
        let mut report = json(path, "b.json");
        change(&mut report);
        std::fs::write(path.join("edited.json"), report.to_string()).unwrap();
        refused(&merge(path, &["a.json", "edited.json"]), &[naming]);
    };
    let mut report = json(path, "b.json");
    report["plan"]["shard"] = format!("2/{}", usize::MAX).into();
    std::fs::write(path.join("many.json"), report.to_string()).unwrap();
    refused(&merge(path, &["many.json"]), &["shards 1/", "are missing"]);
    edited(&|r| r["plan"]["build"] = "assay 0.0.1, commit 0".into(), "the program is assay 0.0.1");
    edited(&|r| r["plan"]["digest"] = "0".into(), "the digest of the cases' names");
    edited(&|r| r["interrupted"] = true.into(), "shard 2/2 was interrupted; run it again");
    edited(&|r| drop(r["cases"].as_array_mut().unwrap().pop()), "cases of the sweep");
    edited(&|r| r["cases"][0] = json(path, "a.json")["cases"][0].clone(), "is in two parts");
    edited(&|r| r["cases"][0]["verdict"] = "fine".into(), "the verdict of add/");
    edited(&|r| r["backends"][0]["place"] = "moon".into(), "on 'moon'");
    edited(&|r| drop(r.as_object_mut().unwrap().remove("plan")), "missing field `plan`");
    std::fs::write(path.join("text.json"), "no report").unwrap();
    refused(&merge(path, &["a.json", "text.json"]), &["text.json", "is no report"]);
    refused(&merge(path, &["a.json", "none.json"]), &["none.json"]);
    refused(&assay(path, &["check", "--capsules", ".", "--shard", "1/2"]), &["--capsules", "--shard"]);
}

#[test]
fn a_report_on_standard_output_is_alone_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let one = ["check", "add/ n=31, rows=1, exact", "--backend", "cpu", "--json"];
    for name in ["-", "/dev/stdout"] {
        let output = assay(path, &[&one[..], &[name]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(report["totals"]["passed"].as_u64().unwrap() > 0);
        assert!(String::from_utf8_lossy(&output.stderr).contains("0 failed"), "{}", said(&output));
    }
    let both = assay(path, &[&one[..], &["-", "--junit", "-"]].concat());
    refused(&both, &["only one of --json, --junit and --html"]);
}
