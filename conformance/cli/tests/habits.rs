//! What a user expects of any command: pipes, Ctrl-C, full disks, help that is right, words about what to do next.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

fn assay(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.args(arguments).env_remove("GITHUB_ACTIONS").env_remove("ASSAY_MODEL");
    command
}

fn ran(arguments: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    split(&assay(arguments).current_dir(folder.path()).stdin(Stdio::null()).output().unwrap())
}

fn split(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Runs with `input` on standard input.
fn fed(arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
    let mut child =
        assay(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    split(&child.wait_with_output().unwrap())
}

fn model() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/tiny/llama.gguf");
    path.to_str().unwrap().to_owned()
}

#[test]
fn text_and_tokens_come_through_pipes() {
    let model = model();
    let (_, want, _) = ran(&["tokenize", "-m", &model, "-p", "the quick"]);
    assert_eq!(fed(&["tokenize", "-m", &model, "-f", "-"], "the quick\n").1, want);
    assert_eq!(fed(&["tokenize", "-m", &model], "the quick\n").1, want);
    let (code, text, _) = fed(&["tokenize", "-m", &model, "--tokens", "-"], &want);
    assert_eq!((code, text.trim_start().contains("the quick")), (Some(0), true), "{text}");

    let answer = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let (_, want, _) = ran(&["run", "-m", &model, "-p", "the quick", "-n", "4"]);
    for arguments in [&["run", "-m", &model, "-n", "4"][..], &["run", "-m", &model, "-n", "4", "-f", "-"]] {
        let (code, text, errors) = fed(arguments, "the quick\n");
        assert_eq!((code, answer(&text)), (Some(0), answer(&want)), "{errors}");
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("l.safetensors");
    assert_eq!(fed(&["logits", "-m", &model, "--out", out.to_str().unwrap()], "the quick").0, Some(0));
    assert_eq!(fed(&["perplexity", "-m", &model, "-f", "-"], "the quick").0, Some(0));
    assert_eq!(fed(&["diff", "-m", &model, "-n", "1", "-f", "-"], "the quick").0, Some(0));
    assert_eq!(fed(&["locate", "-m", &model, "-n", "1"], "the quick").0, Some(0));
    let (code, _, errors) = ran(&["run", "-m", &model]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("-p") && errors.contains("-f"), "{errors}");
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error_and_never_a_panic() {
    let full = || File::options().write(true).open("/dev/full").unwrap();
    for arguments in [&["list", "rope"][..], &["--help"], &["schema"], &["completions", "bash"]] {
        let output = assay(arguments).stdout(full()).output().unwrap();
        let (code, _, errors) = split(&output);
        assert_eq!(code, Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains("standard output"), "{arguments:?}: {errors}");
    }
    // Standard error that nobody can be told about.
    let output = assay(&["check", "no-such-op"]).stderr(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    // A reader that goes away is no error.
    let mut child = assay(&["list"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(split(&child.wait_with_output().unwrap()), (Some(0), String::new(), String::new()));
}

/// Sends Ctrl-C.
#[cfg(unix)]
fn interrupt(child: &Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

#[cfg(unix)]
#[test]
fn an_interrupted_sweep_reports_what_it_has() {
    // On a busy machine two seconds may not do for the first case.
    let mut waits = [2, 4, 8, 16, 32].into_iter().map(Duration::from_secs);
    assert!(waits.any(|after| cases_passed_before_interruption(after) > 0), "nothing runs within 32 s");
}

/// Interrupts a sweep after a while, and counts the cases that had passed.
#[cfg(unix)]
fn cases_passed_before_interruption(after: Duration) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let child =
        assay(&["check", "matmul/ bounded", "--backend", "cpu,ref", "--json", "r.json", "--jobs", "2"])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
    std::thread::sleep(after);
    interrupt(&child);
    let (code, text, errors) = split(&child.wait_with_output().unwrap());
    assert_eq!(code, Some(130), "{text}{errors}");
    if errors.contains("interrupted before a case had ended") {
        return 0;
    }
    assert!(text.contains("PARTIAL: interrupted after "), "{text}{errors}");
    let json: Value = serde_json::from_slice(&fs::read(folder.path().join("r.json")).unwrap()).unwrap();
    assert_eq!(json["interrupted"], true);
    assert_eq!(json["totals"]["failed"], 0, "workers finish their cases: {text}");
    assert!(folder.path().join("assay-report.html").exists());
    json["totals"]["passed"].as_u64().unwrap()
}

#[cfg(unix)]
#[test]
fn an_interrupted_answer_ends_with_its_times() {
    let arguments = [
        "run",
        "-m",
        &model(),
        "-p",
        "the quick",
        "-n",
        "100000",
        "--ctx",
        "100000",
        "--ignore-eos",
        "--backend",
        "ref",
    ];
    let mut child = assay(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut first = [0; 1];
    output.read_exact(&mut first).unwrap();
    interrupt(&child);
    let begin = Instant::now();
    let mut rest = Vec::new();
    output.read_to_end(&mut rest).unwrap();
    let text = String::from_utf8_lossy(&rest);
    assert_eq!(child.wait().unwrap().code(), Some(130), "{text}");
    assert!(begin.elapsed() < Duration::from_secs(20));
    assert!(text.contains("\n\nprompt tokens ") && text.contains("(caller)"), "{text}");
    assert!(text.ends_with("STATUS=INTERRUPTED\n"), "{text}");
}

#[test]
fn help_has_every_argument_under_its_heading() {
    let (_, check, _) = ran(&["check", "-h"]);
    for backend in assay_cli::backends::KNOWN {
        assert!(check.contains(backend.name), "{}: {check}", backend.name);
    }
    assert!(ran(&["check", "--help"]).1.contains("130"));
    for command in ["run", "bench", "logits", "locate", "perplexity"] {
        let (_, help, _) = ran(&[command, "--help"]);
        let (options, hip) =
            help.split_once("\nHIP backends:\n").unwrap_or_else(|| panic!("{command}: {help}"));
        let hip =
            hip.split("\n\n\n").next().unwrap_or_default().split("\nSampling:").next().unwrap_or_default();
        for flag in ["--model", "--json", "--out", "--prompt", "--file", "-n,", "-n ", "--temp"] {
            assert!(!hip.contains(&format!("  {flag}")), "{command}: {flag} is under HIP backends:\n{help}");
        }
        assert!(options.contains("--model"), "{command}: {help}");
    }
    let (_, run, _) = ran(&["run", "--help"]);
    let (before, sampling) = run.split_once("\nSampling:\n").unwrap();
    assert!(sampling.contains("--temp") && before.contains("-p, --prompt"), "{run}");
}

#[test]
fn commands_say_what_to_do_next() {
    let (model, folder) = (model(), tempfile::tempdir().unwrap());
    let (_, text, _) = ran(&["check", "add/ exact n=31, rows=5", "--backend", "cpu"]);
    assert!(text.contains("\nnext: open assay-report.html"), "{text}");
    let filter = "rms_norm/ bounded eps-1e-5";
    let (code, text, _) = ran(&["check", filter, "--backend", "mutant:rms-norm-eps-missing"]);
    assert_eq!(code, Some(1));
    assert!(text.contains("--save-capsules failed/"), "{text}");
    let (_, text, _) = ran(&["diff", "-m", &model, "-p", "the quick", "-n", "1"]);
    assert!(text.contains("\nnext: "), "{text}");
    let page = folder.path().join("fault.html");
    let backend = "mutant:fault-rms-norm-row-padded@layer=0";
    let (_, text, _) = ran(&[
        "locate",
        "-m",
        &model,
        "-p",
        "the quick",
        "--backend",
        backend,
        "--html",
        page.to_str().unwrap(),
    ]);
    assert!(text.contains(&format!("report: {}\n", page.display())), "{text}");
    assert!(text.contains("\nnext: --capsule fault.capsule"), "{text}");
}

#[test]
fn failures_are_annotations_on_github() {
    let arguments = ["check", "rms_norm/ bounded eps-1e-5", "--backend", "mutant:rms-norm-eps-missing"];
    let annotated =
        |text: &str| text.lines().filter(|line| line.starts_with("::error title=rms_norm/")).count();
    let (_, plain, _) = ran(&arguments);
    assert_eq!(annotated(&plain), 0);
    let (_, asked, _) = ran(&[&arguments[..], &["--github"]].concat());
    assert!(annotated(&asked) > 0, "{asked}");
    let folder = tempfile::tempdir().unwrap();
    let runner = assay(&arguments).current_dir(folder.path()).env("GITHUB_ACTIONS", "true").output().unwrap();
    assert!(annotated(&String::from_utf8_lossy(&runner.stdout)) > 0);
}

#[test]
fn the_program_describes_itself() {
    let (code, version, _) = ran(&["--version"]);
    assert_eq!(code, Some(0));
    for part in ["assay ", "commit:", "target:", "profile:", "features:"] {
        assert!(version.contains(part), "'{part}' in: {version}");
    }
    assert_eq!(ran(&["-V"]).1.lines().count(), 1);
    for (shell, part) in [("bash", "_assay()"), ("zsh", "#compdef assay"), ("fish", "complete -c assay")] {
        let (code, script, _) = ran(&["completions", shell]);
        assert_eq!((code, script.contains(part)), (Some(0), true), "{shell}: {script}");
    }
    assert!(ran(&["man"]).1.starts_with(".ie"), "{}", ran(&["man"]).1);
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(ran(&["man", "--out", folder.path().to_str().unwrap()]).0, Some(0));
    let check = fs::read_to_string(folder.path().join("assay-check.1")).unwrap();
    assert!(check.contains("assay\\-check") && folder.path().join("assay.1").exists(), "{check}");
    assert!(!folder.path().join("assay-worker.1").exists());
}

#[test]
fn the_doctor_says_what_works_and_what_is_missing() {
    let (code, text, errors) = ran(&["doctor"]);
    assert_eq!(code, Some(0), "{errors}");
    for part in [
        "processor",
        "memory",
        "software device",
        "GPU",
        "clang++-19",
        "hipcc",
        "fetch_model.sh",
        "works here:",
    ] {
        assert!(text.contains(part), "'{part}' in: {text}");
    }
    assert!(text.contains("ok software device"), "{text}");
    assert!(text.contains("-- model"), "{text}");
    let known = assay(&["doctor"]).env("ASSAY_MODEL", model()).output().unwrap();
    assert!(String::from_utf8_lossy(&known.stdout).contains("ok model"));
}
