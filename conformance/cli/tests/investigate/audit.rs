//! `assay audit`: the log, and the matrix of runs.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{Said, TEXT, assay, command, model, program, said};

const FEW: [&str; 6] = ["--baseline", "2", "--audit", "2", "--stress", "3"];

/// An audit into `folder`, and its summary.
fn audited(folder: &Path, options: &[&str], subject: &[&str]) -> (Said, Value) {
    let out = folder.to_str().unwrap();
    let said = assay(&[&["audit", "d2h", "--out", out], &FEW[..], options, subject].concat());
    let summary = fs::read(folder.join("summary.json")).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    let summary: Value = serde_json::from_slice(&summary).unwrap();
    (said, summary["d2h_audit"].clone())
}

fn on_soft(folder: &Path, options: &[&str]) -> (Said, Value) {
    audited(folder, options, &["-m", &model(), "-p", TEXT, "-n", "2", "--backend", "soft"])
}

#[test]
fn a_healthy_engine_is_not_accused_and_every_copy_is_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let (said, audit) = on_soft(folder.path(), &[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(audit["verdict"], "NOT_REPRODUCED", "{audit:#}");
    assert_eq!(audit["total_errors"], 0);
    assert_eq!(audit["breakdown"]["stress"]["iters"], 3);
    let copies = &audit["probes"];
    assert!(copies["copies_logged"].as_u64().unwrap() > 8, "{audit:#}");
    assert_eq!(copies["copies_logged"], copies["copies_expected"]);
    // 1 − 0.05^(1/7).
    assert_eq!(audit["failure_rate_upper_bound"], 0.3482);
    assert!(said.out.contains("NOT_REPRODUCED (p < 0.3482, about 3/7, at 95 %)"), "{}", said.out);
    assert_eq!(audit["environment"]["model_sha256"].as_str().unwrap().len(), 64);
    let page = fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(page.contains("NOT_REPRODUCED") && page.ends_with("</html>\n"));
}

#[test]
fn a_probe_that_never_fires_is_no_pass() {
    let folder = tempfile::tempdir().unwrap();
    let (said, audit) = on_soft(folder.path(), &["--no-probe"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert_eq!(audit["verdict"], "INCONCLUSIVE (PROBE_NOT_REACHED)");
    assert_eq!(audit["probes"]["copies_logged"], 0);
    // A backend without a device logs nothing, either.
    let cpu = ["-m", &model(), "-p", TEXT, "--backend", "cpu"];
    let (said, audit) = audited(folder.path(), &[], &cpu);
    assert!(said.code == Some(2) && audit["verdict"] == "INCONCLUSIVE (PROBE_NOT_REACHED)", "{said:?}");
    // A program that makes no copy to the host.
    let (said, audit) = audited(folder.path(), &[], &["--", &program("double_free-clean")]);
    assert!(said.code == Some(2) && audit["verdict"] == "INCONCLUSIVE (PROBE_NOT_REACHED)", "{said:?}");
    assert_eq!(assay(&["audit", "d2h", "--", "true"]).code, Some(2));
}

#[test]
fn a_planted_race_is_reproduced_with_both_accesses() {
    let folder = tempfile::tempdir().unwrap();
    let (said, audit) = audited(folder.path(), &[], &["--", &program("stream_race")]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(audit["verdict"], "REPRODUCED");
    let evidence = audit["evidence"].to_string();
    for part in ["Race between streams", "hipLaunchKernel at stream_race.hip:", "no event, synchronisation"] {
        assert!(evidence.contains(part), "no '{part}' in {evidence}");
    }
    let (said, audit) = audited(folder.path(), &[], &["--", &program("stream_race-clean")]);
    assert_eq!((said.code, audit["verdict"].as_str()), (Some(0), Some("NOT_REPRODUCED")), "{said:?}");
    assert_eq!(audit["probes"]["copies_logged"], 5, "one copy in each run that logs");
}

/// Races of the engine's own host code, planted behind the real one.
#[test]
fn a_planted_race_of_the_engine_is_reproduced_with_both_accesses() {
    let folder = tempfile::tempdir().unwrap();
    for (backend, parts) in [
        (
            "host:overlapping-copies",
            &["Race between streams", "first: write on stream", "second: write on stream"][..],
        ),
        ("host:missing-synchronise", &["Host reads the destination of a copy", "queued by hipMemcpyAsync"]),
    ] {
        let subject = ["-m", &model(), "-p", TEXT, "-n", "2", "--backend", backend];
        let (said, audit) = audited(folder.path(), &[], &subject);
        assert_eq!((said.code, audit["verdict"].as_str()), (Some(1), Some("REPRODUCED")), "{said:?}");
        let evidence = audit["evidence"].to_string();
        for part in parts {
            assert!(evidence.contains(part), "{backend}: no '{part}' in {evidence}");
        }
    }
}

#[test]
fn an_engine_whose_kernel_races_is_caught() {
    let folder = tempfile::tempdir().unwrap();
    let backend = "soft:rms-norm-lds-read-before-the-barrier";
    let (said, audit) =
        audited(folder.path(), &[], &["-m", &model(), "-p", TEXT, "-n", "1", "--backend", backend]);
    assert_eq!((said.code, audit["verdict"].as_str()), (Some(1), Some("REPRODUCED")), "{said:?}");
    assert!(audit["evidence"].to_string().contains("Racing LDS write"), "{audit:#}");
}

#[test]
fn an_audit_that_was_killed_goes_on_to_the_same_summary() {
    let (whole, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (_, expected) = on_soft(whole.path(), &[]);
    let out = killed.path().to_str().unwrap();
    let arguments = ["audit", "d2h", "--out", out];
    let subject = ["-m", &model(), "-p", TEXT, "-n", "2", "--backend", "soft"];
    let mut child = command(&[&arguments[..], &FEW, &subject].concat()).spawn().unwrap();
    let state = killed.path().join("iterations.jsonl");
    let begun = Instant::now();
    let lines = || fs::read_to_string(&state).map_or(0, |text| text.lines().count());
    while lines() < 4 {
        assert!(begun.elapsed() < Duration::from_secs(300), "no iteration was done");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let done = lines() - 1;
    assert!((3..7).contains(&done), "{done} iterations were done");
    assert!(!killed.path().join("summary.json").exists());
    let (said, resumed) = on_soft(killed.path(), &["--resume"]);
    assert!(said.code == Some(0) && said.err.contains("runs are done already"), "{said:?}");
    let facts = |audit: &Value| {
        let mut facts = audit.clone();
        facts.as_object_mut().unwrap().remove("date");
        facts
    };
    assert_eq!(facts(&resumed), facts(&expected));
    let subject = ["--resume", "-m", &model(), "-p", "the lazy dog", "-n", "2", "--backend", "soft"];
    let other = assay(&[&arguments[..], &FEW, &subject].concat());
    assert!(other.code == Some(2) && other.err.contains("of another audit"), "{other:?}");
}

/// Two audits that write to one file would count each other's runs.
#[test]
fn a_second_audit_in_the_same_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (_, first) = on_soft(folder.path(), &[]);
    assert_eq!(first["verdict"], "NOT_REPRODUCED");
    let state = fs::File::open(folder.path().join("iterations.jsonl")).unwrap();
    state.lock().unwrap();
    let out = folder.path().to_str().unwrap();
    let second = assay(&["audit", "d2h", "--out", out, "-m", &model(), "--backend", "soft"]);
    assert!(second.code == Some(2) && second.err.contains("another audit writes to it"), "{second:?}");
}

/// A verdict of an earlier audit must not pass as that of one that did not end.
#[test]
fn an_audit_that_does_not_end_leaves_no_summary() {
    let folder = tempfile::tempdir().unwrap();
    on_soft(folder.path(), &[]);
    let out = folder.path().to_str().unwrap();
    let subject = ["-m", &model(), "-p", TEXT, "--backend", "soft"];
    let mut child = command(&[&["audit", "d2h", "--out", out][..], &subject].concat()).spawn().unwrap();
    let summary = folder.path().join("summary.json");
    let begun = Instant::now();
    while summary.exists() {
        assert!(begun.elapsed() < Duration::from_secs(300), "the earlier summary stays");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!summary.exists() && !folder.path().join("report.html").exists());
}

/// A log that had no room for its last lines accuses nobody.
#[test]
fn a_log_that_was_cut_short_is_an_error_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    // No file may be larger than 2 kB: the log of 32 copies is.
    let limited = ["-c", "ulimit -f 4; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_assay")];
    let audit = ["audit", "d2h", "--baseline", "0", "--audit", "1", "--stress", "0", "-n", "32"];
    let subject = ["-m", &model(), "-p", TEXT, "--backend", "soft", "--out", folder.path().to_str().unwrap()];
    let output = std::process::Command::new("sh").args(limited).args(audit).args(subject).output().unwrap();
    let cut = said(&output);
    assert!(cut.code == Some(2) && cut.err.contains("the log of copies: File too large"), "{cut:?}");
    assert!(cut.err.starts_with("error: /") && !folder.path().join("summary.json").exists(), "{cut:?}");
}

#[test]
fn what_is_no_folder_is_named() {
    for (command, out) in [("audit", "/dev/full"), ("gate", "/dev/full"), ("triage", "/dev/full")] {
        let mode: &[&str] = if command == "audit" { &["audit", "d2h"] } else { &[command] };
        let said = assay(&[mode, &["-m", &model(), "-p", TEXT, "--out", out]].concat());
        assert!(
            said.code == Some(2) && said.err == "error: /dev/full: is there, and no folder\n",
            "{said:?}"
        );
    }
}

#[test]
fn flags_that_an_audit_would_not_look_at_are_refused() {
    let (program, model) = (program("saxpy"), model());
    for (arguments, says) in [
        (&["--backend", "soft", "--", &program][..], "cannot be used with"),
        (&["-p", "Hi", "--", &program], "cannot be used with"),
        (&["--backend", "soft"], "--model"),
        (&["--timeout", "9", "-m", &model], "cannot be used with"),
        (&["-m", &model, "--d2h-audit-log", "x"], "unexpected argument"),
    ] {
        let said = assay(&[&["audit", "d2h"], arguments].concat());
        assert!(said.code == Some(2) && said.err.contains(says), "{arguments:?}: {said:?}");
    }
}

#[test]
fn a_log_is_linted_with_and_without_its_model() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("d2h.log");
    let path = log.to_str().unwrap();
    let run =
        ["run", "-m", &model(), "-p", TEXT, "-n", "2", "--ignore-eos", "--backend", "soft", "--d2h-audit"];
    let ran = assay(&[&run[..], &["--d2h-audit-log", path]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let clean = assay(&["audit", "lint", path, "-m", &model()]);
    assert!(
        clean.code == Some(0) && clean.out.contains("2 copies started, 2 with start and end"),
        "{clean:?}"
    );
    let text = fs::read_to_string(&log).unwrap();
    let (start, _) = text.split_once("bytes=").unwrap();
    let (_, rest) = text.split_once(" tensor=").unwrap();
    fs::write(&log, format!("{start}bytes=4100 tensor={rest}")).unwrap();
    assert_eq!(assay(&["audit", "lint", path]).code, Some(0));
    let size = assay(&["audit", "lint", path, "-m", &model()]);
    assert!(size.code == Some(1) && size.out.contains("4100 bytes of logits are no whole rows"), "{size:?}");
    fs::write(&log, text.replacen("op_id=1", "op_id=2", 1)).unwrap();
    let gap = assay(&["audit", "lint", path]);
    assert!(gap.code == Some(1) && gap.out.contains("gap: op_id 1 is missing"), "{gap:?}");
    // As a shell of Windows redirects it.
    let units: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(&log, units).unwrap();
    let wide = assay(&["audit", "lint", path, "-m", &model()]);
    assert!(wide.code == Some(0) && wide.out.contains("2 with start and end"), "{wide:?}");
    fs::write(&log, "hipMemcpy D2H failed\n").unwrap();
    let none = assay(&["audit", "lint", path]);
    assert!(none.code == Some(2) && none.err.contains("PROBE_NOT_REACHED"), "{none:?}");
}
