//! `assay gate`: runs that should say the same.

use std::path::Path;

use forensics::gates::folder::{Entry, Stored};
use forensics::gates::gate::{Drift, Thresholds, drifts};
use forensics::gates::gzip;
use serde_json::Value;

use crate::{Said, TEXT, assay, command, model, on_plugin};

fn gate(out: &Path, backend: &str, more: &[&str]) -> Said {
    let out = out.to_str().unwrap();
    let arguments = ["gate", "-m", &model(), "-p", TEXT, "--runs", "2", "--out", out, "--backend", backend];
    assay(&[&arguments, more].concat())
}

#[test]
fn healthy_runs_pass_every_gate_after_a_control_failed() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let said = gate(&first, "cpu", &[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for line in [
        "PASS_DETERMINISTIC determinism: 2 runs, ",
        "PASS_EQUIV prefill-decode: ",
        "PASS_EQUIV one-many: ",
        "PASS_EQUIV whole-chunked: ",
        "PASS_GUARDRAIL",
    ] {
        assert!(said.out.contains(line), "no '{line}' in {}", said.out);
    }
    assert_eq!(said.out.matches("control: failed as it must on").count(), 4, "{}", said.out);
    let stored = gate(&second, "ref", &["--against", first.to_str().unwrap()]);
    assert_eq!(stored.code, Some(0), "{stored:?}");
    assert!(stored.out.contains("PASS_EQUIV stored "), "{}", stored.out);
    let summary: Value =
        serde_json::from_slice(&std::fs::read(second.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary["overall"], "PASS_GUARDRAIL");
    assert_eq!(summary["gates"].as_array().unwrap().len(), 5);
    for file in ["metadata.json", "logits.jsonl.gz"] {
        assert!(second.join(file).exists(), "{file}");
    }

    // The same run, and a copy of it that claims to be another engine's.
    let path = |folder: &Path| folder.to_str().unwrap().to_owned();
    let itself = assay(&["gate", "--compare", &path(&first), &path(&first)]);
    assert!(itself.code == Some(2) && itself.out.contains("compared with itself"), "{itself:?}");
    let same = gate(&first, "cpu", &["--against", first.to_str().unwrap()]);
    assert!(same.code == Some(2) && same.err.contains("compared with itself"), "{same:?}");
    let copy = folder.path().join("copy");
    std::fs::create_dir(&copy).unwrap();
    std::fs::copy(first.join("logits.jsonl.gz"), copy.join("logits.jsonl.gz")).unwrap();
    let copied = assay(&["gate", "--compare", &path(&first), &path(&copy)]);
    assert!(copied.code == Some(2) && copied.out.contains("every bit is equal"), "{copied:?}");
    // Logits of another engine have no metadata of ours.
    std::fs::copy(second.join("logits.jsonl.gz"), copy.join("logits.jsonl.gz")).unwrap();
    let other = assay(&["gate", "--compare", &path(&first), &path(&copy)]);
    assert!(other.code == Some(0) && other.out.contains("PASS_EQUIV equivalence"), "{other:?}");
    let missing = gate(&second, "cpu", &["--against", "/nonexistent"]);
    assert_eq!(missing.code, Some(2), "{missing:?}");
}

/// A drift that is planted in one way of running is found by the gate for that way, and by no other.
#[test]
fn each_gate_fails_on_its_planted_drift() {
    let folder = tempfile::tempdir().unwrap();
    for (mutant, failing) in [
        ("attention-over-pos-keys@phase=decode", "prefill-decode"),
        ("attention-sequence-ignored", "one-many"),
        ("attention-mask-off-in-chunks@step=0", "whole-chunked"),
    ] {
        let said = gate(folder.path(), &format!("mutant:{mutant}"), &[]);
        assert_eq!(said.code, Some(1), "{mutant}: {said:?}");
        assert!(said.out.contains(&format!("FAIL_EQUIV {failing}: ")), "{mutant}: {}", said.out);
        // A mask that is wrong in chunks is wrong in every batch of rows.
        let others = mutant.starts_with("attention-mask");
        assert!(others || said.out.matches("FAIL_EQUIV").count() == 1, "{mutant}: {}", said.out);
        assert!(said.out.ends_with("FAIL_GUARDRAIL\n"), "{}", said.out);
        let summary = std::fs::read_to_string(folder.path().join("summary.json")).unwrap();
        assert!(summary.contains("FAIL_GUARDRAIL"), "{summary}");
    }
}

/// Runs of the same that differ from process to process: by much, and by their last bits.
#[test]
fn the_gate_of_determinism_fails_on_its_planted_drift() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    for (fault, first, last, code) in [
        ("", "PASS_DETERMINISTIC determinism: ", "PASS_GUARDRAIL\n", 0),
        ("jitter", "NUMERICAL_JITTER determinism: ", "FAIL_GUARDRAIL\n", 1),
        ("by-process", "NON_DETERMINISTIC determinism: ", "FAIL_GUARDRAIL\n", 1),
    ] {
        let said = on_plugin(fault, &["gate", "-m", &model(), "-p", TEXT, "--out", out]);
        assert_eq!(said.code, Some(code), "{fault}: {said:?}");
        assert!(said.out.starts_with(first) && said.out.ends_with(last), "{fault}: {}", said.out);
    }
}

/// From files, as they come from other engines: the smallest drift that each threshold promises to see fails, what is just allowed passes.
#[test]
fn the_smallest_drift_of_a_stored_run_fails() {
    let folder = tempfile::tempdir().unwrap();
    let (first, drifted) = (folder.path().join("first"), folder.path().join("drifted"));
    assert_eq!(gate(&first, "cpu", &[]).code, Some(0));
    let run = Stored::read(&first).unwrap();
    let compared = |entries: Vec<Entry>| {
        let _ = std::fs::remove_dir_all(&drifted);
        Stored::new(serde_json::Map::new(), entries).write(&drifted).unwrap();
        assay(&["gate", "--compare", first.to_str().unwrap(), drifted.to_str().unwrap()])
    };
    let limits = Thresholds::default();
    let drifts = drifts(&run, &limits);
    assert_eq!(drifts.len(), 4);
    for Drift { name, entries, .. } in drifts {
        let said = compared(entries);
        assert_eq!(said.code, Some(1), "{name}: {said:?}");
        assert!(said.out.starts_with("FAIL_EQUIV equivalence: ") && said.out.ends_with("FAIL_GUARDRAIL\n"));
    }
    let mut allowed = run.entries;
    let logit = &mut allowed[0].logits[0];
    *logit += 0.9 * 5e-3;
    let said = compared(allowed);
    assert!(said.code == Some(0) && said.out.starts_with("PASS_EQUIV"), "{said:?}");
}

/// Of one token there is no other way to run it: that is no pass.
#[test]
fn a_text_that_is_too_short_for_a_gate_is_inconclusive() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("short");
    let short = ["gate", "-m", &model(), "-p", "a", "--runs", "2", "--out", out.to_str().unwrap()];
    let said = assay(&short);
    assert_eq!(said.code, Some(2), "{said:?}");
    for gate in ["prefill-decode: 1 token runs decode", "whole-chunked: 1 token runs chunked"] {
        let line = format!("INCONCLUSIVE {gate} as it runs whole; give a longer text");
        assert!(said.out.contains(&line), "{}", said.out);
    }
    assert!(said.out.ends_with("INCOMPLETE\n"), "{}", said.out);
    // With chunks of the whole text nothing is chunked.
    let said = gate(&out, "cpu", &["--chunk", "512"]);
    assert!(said.code == Some(2) && said.out.contains("INCONCLUSIVE whole-chunked: "), "{said:?}");
}

/// What an earlier run left is gone before the next one begins.
#[test]
fn a_run_that_fails_leaves_no_summary() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(gate(folder.path(), "cpu", &[]).code, Some(0));
    let died = gate(folder.path(), "mutant:fault-attention-dies", &[]);
    assert_eq!(died.code, Some(3), "{died:?}");
    for file in ["summary.json", "logits.jsonl.gz", "metadata.json"] {
        assert!(!folder.path().join(file).exists(), "{file} is left over");
    }
}

#[test]
fn gates_are_a_page_too() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("gate.html");
    let said = gate(folder.path(), "cpu", &["--html", page.to_str().unwrap()]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let page = std::fs::read_to_string(page).unwrap();
    for part in ["PASS_GUARDRAIL", "whole-chunked", "failed as it must on", "</html>"] {
        assert!(page.contains(part), "{part}");
    }
    let full = gate(folder.path(), "cpu", &["--html", "/dev/full"]);
    assert!(full.code == Some(2) && full.err.contains("/dev/full"), "{full:?}");
}

/// Files that are none of a run, or broken: the file is named.
#[test]
fn a_broken_run_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (first, broken) = (folder.path().join("first"), folder.path().join("broken"));
    assert_eq!(gate(&first, "cpu", &[]).code, Some(0));
    std::fs::create_dir(&broken).unwrap();
    let whole = std::fs::read(first.join("logits.jsonl.gz")).unwrap();
    let line = gzip::pack(b"{\"token_idx\":0,\"token_id\":1,\"logits\":[1.0,2.0]}\n{\"token_idx\":1\n");
    for (bytes, says) in [
        (&whole[..whole.len() / 2], "it ends in the middle"),
        (&b"{}"[..], "it is no gzip file"),
        (&[], "it is empty"),
        (&line, "line 2: "),
    ] {
        std::fs::write(broken.join("logits.jsonl.gz"), bytes).unwrap();
        let said = assay(&["gate", "--compare", first.to_str().unwrap(), broken.to_str().unwrap()]);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains("broken/logits.jsonl.gz") && said.err.contains(says), "{says}: {said:?}");
    }
    std::fs::write(broken.join("logits.jsonl.gz"), &whole).unwrap();
    std::fs::write(broken.join("metadata.json"), "[]").unwrap();
    let said = assay(&["gate", "--compare", first.to_str().unwrap(), broken.to_str().unwrap()]);
    assert!(said.code == Some(2) && said.err.contains("broken/metadata.json"), "{said:?}");
}

#[test]
fn a_run_of_another_text_is_inconclusive() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    assert_eq!(gate(&first, "cpu", &[]).code, Some(0));
    let out = second.to_str().unwrap();
    let against = first.to_str().unwrap();
    let said =
        assay(&["gate", "-m", &model(), "-p", "lazy dog", "--runs", "2", "--out", out, "--against", against]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.out.contains("INCONCLUSIVE stored ") && said.out.ends_with("INCOMPLETE\n"), "{}", said.out);
}

#[test]
fn a_locked_run_has_the_device_alone_and_records_what_could_differ() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let arguments =
        ["gate", "-m", &model(), "-p", "lazy dog", "--runs", "2", "--locked", "--out", out.to_str().unwrap()];
    // The lock is in the folder for temporary files.
    let locked = || {
        command(&arguments).env("TMPDIR", folder.path()).env_remove("HIP_VISIBLE_DEVICES").output().unwrap()
    };
    let run = locked();
    assert_eq!(run.status.code(), Some(0), "{run:?}");
    let summary: Value = serde_json::from_slice(&std::fs::read(out.join("summary.json")).unwrap()).unwrap();
    let set = &summary["locked"]["debug_environment"];
    for name in ["AMD_LOG_LEVEL", "HIP_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL", "AMD_SERIALIZE_COPY"] {
        assert!(set[name].is_string(), "{name}: {summary:#}");
    }
    for fact in ["machine", "driver", "clocks", "environment", "git"] {
        assert!(summary["surroundings"].get(fact).is_some(), "{fact}: {summary:#}");
    }
    let lock = std::fs::File::open(folder.path().join("assay-device-0.lock")).unwrap();
    lock.lock().unwrap();
    let refused = locked();
    assert_eq!(refused.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("the device is locked by"), "{refused:?}");
}
