//! Somebody else's backend, behind the C interface: it conforms, its bugs are caught, and it may die as it likes.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Small cases of `rms_norm`; those of 31 columns are what some faults wait for.
const RMS_NORM: &str = "rms_norm/ bounded rows=5, data=gauss";

/// One case of 31 columns.
const ONE: &str = "rms_norm/plugin/f32/bounded,topic=values,variant=eps-1e-6,rows=5,n=31,data=gauss,packing=dense,in_place=true,seed=58";

/// The plug-in of the tests. Cargo builds it for them here.
fn library() -> PathBuf {
    let path = std::env::current_exe().unwrap().with_file_name(format!(
        "{}assay_test_plugin{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    ));
    assert!(path.exists(), "{} is missing", path.display());
    path
}

struct Ran {
    code: Option<i32>,
    text: String,
    errors: String,
}

fn ran(output: &Output) -> Ran {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { code: output.status.code(), text: text(&output.stdout), errors: text(&output.stderr) }
}

/// Runs a command with the plug-in and the fault called `fault`.
fn assay(folder: &Path, fault: &str, arguments: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.args(arguments).arg("--plugin").arg(library()).current_dir(folder);
    ran(&command.env("TEST_PLUGIN_FAULT", fault).env_remove("GITHUB_ACTIONS").output().unwrap())
}

fn check(fault: &str, filter: &str) -> (Ran, Value) {
    let folder = tempfile::tempdir().unwrap();
    let ran = assay(folder.path(), fault, &["check", filter, "--json", "r.json", "--timeout", "2"]);
    let report = std::fs::read(folder.path().join("r.json"))
        .map_or(Value::Null, |bytes| serde_json::from_slice(&bytes).unwrap());
    (ran, report)
}

/// Name, verdict, and what found it first, of each case.
fn cases(report: &Value) -> Vec<(&str, &str, &str)> {
    report["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| {
            let found = case["detail"][0]["found_by"].as_str().unwrap_or_default();
            (case["name"].as_str().unwrap(), case["verdict"].as_str().unwrap(), found)
        })
        .collect()
}

#[test]
fn a_right_plug_in_conforms_and_what_it_lacks_is_no_pass() {
    let (ran, report) = check("", "n=33, rows=5");
    assert_eq!(ran.code, Some(0), "{}{}", ran.text, ran.errors);
    assert!(ran.text.contains("plugin: plain loops (libassay_test_plugin.so)"), "{}", ran.text);
    assert_eq!(report["plugin"]["sha256"].as_str().unwrap().len(), 64);
    let mut implemented = 0;
    for (name, verdict, _) in cases(&report) {
        let op = name.starts_with("add/") || name.starts_with("rms_norm/");
        let here = op && !name.contains("_type=");
        assert_eq!(verdict, if here { "passed" } else { "unsupported" }, "{name}");
        implemented += usize::from(here);
    }
    assert!(implemented > 30, "{implemented}");
}

#[test]
fn operands_that_do_not_lie_in_rows_are_asked_of_a_plug_in_that_says_so() {
    for (fault, verdict) in [("copies", "unsupported"), ("copies-columns", "passed")] {
        let (ran, report) = check(fault, "copy/ to=f32 n=33,");
        assert_eq!(ran.code, Some(0), "{}{}", ran.text, ran.errors);
        let cases = cases(&report);
        let [columns, rows]: [Vec<_>; 2] = [true, false]
            .map(|c| cases.iter().filter(|(name, ..)| name.contains("columns=true") == c).collect());
        assert!(!rows.is_empty() && rows.iter().all(|(_, got, _)| *got == "passed"), "{rows:?}");
        assert!(!columns.is_empty() && columns.iter().all(|(_, got, _)| *got == verdict), "{columns:?}");
    }
}

#[test]
fn a_bug_is_caught_made_smaller_and_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let failed = assay(path, "tail", &["check", RMS_NORM, "--save-capsules", "failed"]);
    assert_eq!(failed.code, Some(1), "{}{}", failed.text, failed.errors);
    for part in ["found by oracle", "smallest", "rows=1,n=1,", "--plugin '", "capsule: failed/"] {
        assert!(failed.text.contains(part), "no '{part}' in {}", failed.text);
    }
    let capsules: Vec<_> = std::fs::read_dir(path.join("failed")).unwrap().collect();
    let [Ok(capsule)] = &capsules[..] else { panic!("{capsules:?}") };
    let capsule = capsule.path();
    let replay = ["replay", capsule.to_str().unwrap()];

    let again = assay(path, "tail", &replay);
    assert_eq!(again.code, Some(1), "{}{}", again.text, again.errors);
    assert!(again.text.contains("on plugin") && again.text.contains("oracle: 'out'"), "{}", again.text);
    assert_eq!(assay(path, "", &replay).code, Some(0), "without the bug");
    let small = assay(path, "tail", &[&replay[..], &["--shrink"]].concat());
    assert!(small.text.contains("shrunk: "), "{}", small.text);

    let mut bare = Command::new(env!("CARGO_BIN_EXE_assay"));
    let bare = ran(&bare.args(replay).env_remove("ASSAY_PLUGIN").output().unwrap());
    assert_eq!(bare.code, Some(2), "{}", bare.errors);
    assert!(bare.errors.contains("--plugin FILE"), "{}", bare.errors);
    let mut elsewhere = Command::new(env!("CARGO_BIN_EXE_assay"));
    let elsewhere = ran(&elsewhere.args(replay).args(["--backend", "ref,cpu"]).output().unwrap());
    assert_eq!(elsewhere.code, Some(0), "{}{}", elsewhere.text, elsewhere.errors);
}

#[test]
fn an_access_outside_a_buffer_and_a_result_that_changes_are_named() {
    for (fault, found) in [("overrun", "guard"), ("flaky", "determinism")] {
        let (ran, report) = check(fault, "rms_norm/ bounded rows=5, packing=dense n=32,");
        assert_eq!(ran.code, Some(1), "{fault}: {}", ran.errors);
        let cases = cases(&report);
        assert!(cases.iter().any(|(_, _, by)| *by == found), "{fault}: {cases:?}");
    }
}

#[test]
fn a_death_or_a_hang_costs_one_case_and_is_named() {
    for (fault, found, words) in [
        ("crash", "crash", "SIGSEGV"),
        ("abort", "crash", "SIGABRT"),
        ("exit", "crash", "the process died (exit status: 0)"),
        ("hang", "hang", "no answer within 2s"),
    ] {
        let (ran, report) = check(fault, "rms_norm/ bounded rows=5, data=gauss variant=eps-1e-6");
        assert_eq!(ran.code, Some(1), "{fault}: {}{}", ran.text, ran.errors);
        let cases = cases(&report);
        let (mut fell, mut stood) = (0, 0);
        for (name, verdict, by) in cases.into_iter().filter(|(name, ..)| !name.contains("_type=")) {
            if name.contains(",n=31,") {
                assert_eq!((verdict, by), ("failed", found), "{fault}: {name}");
                fell += 1;
            } else {
                assert_eq!(verdict, "passed", "{fault}: {name}");
                stood += 1;
            }
        }
        assert!(fell > 0 && stood > 0, "{fault}: {fell} and {stood}");
        assert!(ran.text.contains(words), "{fault}: no '{words}' in {}", ran.text);
    }
}

/// The verdict on `rms_norm` of the plug-in with a fault, and the exit code.
fn judged(fault: &str) -> (Value, Option<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let ran = assay(folder.path(), fault, &["judge", "rms_norm", "--seed", "7", "--timeout", "20"]);
    (serde_json::from_str(&ran.text).unwrap_or_else(|e| panic!("{e}: {} {}", ran.text, ran.errors)), ran.code)
}

#[test]
fn a_plug_in_is_judged_as_kernels_are() {
    let (verdict, code) = judged("none");
    assert_eq!((verdict["verdict"].as_str(), code), (Some("conforms"), Some(0)), "{verdict:#}");
    assert!(verdict["cost_missing"].as_str().unwrap().contains("plug-in"), "{verdict:#}");
    let tricks = [("remembers", "remembered_by_shape"), ("left-over", "left_over"), ("late", "work_moved")];
    for (fault, trick) in tricks {
        let (verdict, code) = judged(fault);
        assert_eq!((verdict["verdict"].as_str(), code), (Some("cheats"), Some(1)), "{fault}: {verdict:#}");
        let names: Vec<_> =
            verdict["tricks"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
        assert!(names.contains(&trick), "{fault}: {verdict:#}");
    }
    let (verdict, code) = judged("crash");
    assert_eq!((verdict["verdict"].as_str(), code), (Some("unsafe"), Some(1)), "{verdict:#}");
    let (verdict, code) = judged("tail");
    assert_eq!((verdict["verdict"].as_str(), code), (Some("wrong"), Some(1)), "{verdict:#}");
}

#[test]
fn what_a_plug_in_says_of_itself_is_reported() {
    for (fault, words) in [
        ("error", "launch failed with 77 (the plug-in's own words)"),
        ("out-of-memory", "out of memory"),
        ("no-buffer", "alloc failed with 0 (it returned no buffer, and no error)"),
        ("declares", "accumulator is 77"),
    ] {
        let (ran, report) = check(fault, ONE);
        assert_eq!(ran.code, Some(1), "{fault}: {}{}", ran.text, ran.errors);
        assert_eq!(cases(&report)[0].2, "device", "{fault}");
        assert!(ran.text.contains(words), "{fault}: no '{words}' in {}", ran.text);
    }
    // What it prints is no answer of the worker.
    let (ran, _) = check("prints", ONE);
    assert_eq!(ran.code, Some(0), "{}{}", ran.text, ran.errors);
}

#[test]
fn a_plug_in_that_implements_nothing_is_an_error() {
    for (fault, filter) in [("nothing", "rms_norm/ rows=5,"), ("", "mul/ rows=5"), ("nothing", ONE)] {
        let (ran, report) = check(fault, filter);
        assert_eq!(ran.code, Some(2), "{}{}", ran.text, ran.errors);
        assert!(ran.errors.contains("implements none of the cases"), "{}", ran.errors);
        assert!(ran.errors.contains("only add and rms_norm are here"), "{}", ran.errors);
        assert_eq!(report, Value::Null);
    }
}

#[test]
fn a_plug_in_that_cannot_be_opened_is_named_with_the_reason() {
    for (fault, words) in [
        ("open-null", "returned NULL"),
        ("open-version", "speaks version 2 of the plug-in interface, this program version 1"),
        ("open-size", "its table has "),
        ("open-place", "place is 9"),
        ("open-layouts", "layouts is 8"),
        ("open-no-launch", "its function 'launch' is NULL"),
        ("open-crash", "SIGSEGV"),
        ("open-hang", "no answer within 2s"),
    ] {
        let (ran, _) = check(fault, ONE);
        assert_eq!(ran.code, Some(2), "{fault}: {}{}", ran.text, ran.errors);
        assert!(ran.errors.contains(words), "{fault}: no '{words}' in {}", ran.errors);
        assert!(ran.errors.contains("libassay_test_plugin"), "{fault}: {}", ran.errors);
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("text.so"), "no library").unwrap();
    let fifo = folder.path().join("fifo.so");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    // A library that is no plug-in: the one beside it that `sanitize` uses.
    let other = library().with_file_name("libamdhip64.so");
    for (file, words) in [
        ("missing.so", "No such file"),
        (".", "is a directory"),
        ("fifo.so", "is a FIFO"),
        ("text.so", "is no library that can be loaded"),
        (other.to_str().unwrap(), "does not export assay_plugin_open"),
    ] {
        for command in [&["check", ONE][..], &["replay", "x.capsule"]] {
            if command[0] == "replay" {
                std::fs::copy(golden(), folder.path().join("x.capsule")).unwrap();
            }
            let mut assay = Command::new(env!("CARGO_BIN_EXE_assay"));
            assay.args(command).args(["--plugin", file]).current_dir(folder.path());
            let ran = ran(&assay.output().unwrap());
            assert_eq!(ran.code, Some(2), "{command:?} {file}: {}{}", ran.text, ran.errors);
            assert!(ran.errors.contains(words), "{command:?} {file}: no '{words}' in {}", ran.errors);
        }
    }
}

#[test]
fn one_op_of_a_plug_in_is_tried_in_a_whole_model() {
    let folder = tempfile::tempdir().unwrap();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/tiny/llama.gguf");
    let model = ["-m", model.to_str().unwrap(), "-p", "the quick brown fox", "-n", "2"];
    let on = |fault: &str, command: &str| assay(folder.path(), fault, &[&[command], &model[..]].concat());
    for command in ["run", "diff", "locate"] {
        let well = on("", command);
        assert_eq!(well.code, Some(0), "{command}: {}{}", well.text, well.errors);
        let absent = on("nothing", command);
        assert_eq!(absent.code, Some(2), "{command}: {}{}", absent.text, absent.errors);
        assert!(absent.errors.contains("PROBE_NOT_REACHED: plugin"), "{command}: {}", absent.errors);
    }
    let wrong = on("flaky", "diff");
    assert_eq!(wrong.code, Some(1), "{}{}", wrong.text, wrong.errors);
    assert!(wrong.text.contains("FIRST DIVERGENCE: rms_norm at step 0"), "{}", wrong.text);
    let failed = on("error", "locate");
    assert_eq!(failed.code, Some(1), "{}{}", failed.text, failed.errors);
    for part in ["THE KERNEL FAULTED: rms_norm", "launch failed with 77 (the plug-in's own words)"] {
        assert!(failed.text.contains(part), "no '{part}' in {}", failed.text);
    }
}

/// Any capsule.
fn golden() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/rms_norm");
    let file = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    file.into_iter().find(|path| path.extension().is_some_and(|e| e == "safetensors")).unwrap()
}
