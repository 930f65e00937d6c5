//! The commands for the day of the fault, as a user runs them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const ASSAY: &str = env!("CARGO_BIN_EXE_assay");
const TEXT: &str = "the quick brown fox jumps over the lazy dog";

fn model() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/tiny/llama.gguf");
    path.to_str().unwrap().to_owned()
}

fn assay(args: &[&str]) -> Output {
    Command::new(ASSAY).args(args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn locate(backend: &str, more: &[&str]) -> Output {
    let model = model();
    assay(&[&["locate", "-m", &model, "-p", TEXT, "-n", "3", "--backend", backend], more].concat())
}

/// Mutants that fault, and the op and place that `locate` must name.
const FAULTS: [(&str, &str); 11] = [
    ("fault-rope-positions-8-byte@layer=1,phase=decode", "rope, step 1 (decode), layer 1, q_rope"),
    ("fault-rms-norm-row-padded@layer=0", "rms_norm, step 0 (prefill), layer 0, attn_norm"),
    ("fault-rms-norm-row-padded@point=final_norm", "rms_norm, step 0 (prefill), final_norm"),
    ("fault-matmul-last-tile-full@layer=1,point=gate", "matmul, step 0 (prefill), layer 1, gate"),
    ("fault-matmul-output-stride@layer=0,point=mlp_out", "matmul, step 0 (prefill), layer 0, mlp_out"),
    ("fault-embed-table-as-f32@phase=prefill", "embed, step 0 (prefill), embed_out"),
    ("fault-attention-query-heads@layer=1,phase=decode", "attention, step 1 (decode), layer 1, attn_out"),
    ("fault-kv-write-slot-in-bytes@layer=0", "kv_write, step 0 (prefill), layer 0, kv_write"),
    ("fault-add-one-row-more@layer=1,point=x_out", "add, step 0 (prefill), layer 1, x_out"),
    ("fault-silu-mul-whole-blocks@layer=1,phase=decode", "silu_mul, step 1 (decode), layer 1, act"),
    ("fault-copy-offset-scaled-twice@phase=prefill", "copy, step 0 (prefill), final_norm"),
];

#[test]
fn locate_names_the_op_where_the_engine_blames_the_copy() {
    let model = model();
    for (mutant, op) in FAULTS {
        let backend = format!("mutant:{mutant}");
        let run = assay(&["run", "-m", &model, "-p", TEXT, "-n", "3", "--ignore-eos", "--backend", &backend]);
        let said = stderr(&run);
        assert_eq!(run.status.code(), Some(3), "{mutant}: {said}");
        assert!(
            said.contains("logits: hipMemcpyAsync failed with 700 (hipErrorIllegalAddress)"),
            "{mutant}: {said}"
        );

        let located = locate(&backend, &[]);
        let text = stdout(&located);
        assert_eq!(located.status.code(), Some(1), "{mutant}: {text}");
        assert!(text.contains(&format!("THE KERNEL FAULTED: {op} (op number ")), "{mutant}: {text}");
        assert!(text.contains(", logits: hipMemcpyAsync failed"), "{mutant}: {text}");
    }
}

#[test]
fn locate_prints_every_argument() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("located.json");
    let located =
        locate("mutant:fault-matmul-last-tile-full@layer=1,point=q", &["--json", json.to_str().unwrap()]);
    let text = stdout(&located);
    for operand in ["reads  x ", "reads  weight ", "writes out "] {
        let line = text.lines().find(|line| line.contains(operand)).unwrap_or_else(|| panic!("{text}"));
        assert!(line.contains("0x") && line.contains(" bytes ") && line.contains(" in '"), "{line}");
    }
    let report: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    let call = &report["fault"];
    assert_eq!((&call["culprit"], &call["op"]), (&"kernel".into(), &"matmul".into()));
    assert_eq!(call["site"]["layer"], 1);
    assert_eq!(call["arguments"].as_array().unwrap().len(), 3);
}

#[test]
fn locate_tells_a_copy_from_a_kernel() {
    let text = stdout(&locate("mutant:fault-logits-copied-past-the-end", &[]));
    assert!(
        text.contains("THE COPY FAULTED: logits at step 0")
            && text.contains("Every kernel before it ended well"),
        "{text}"
    );
    let healthy = locate("cpu", &[]);
    assert_eq!(healthy.status.code(), Some(0));
    assert!(stdout(&healthy).contains("NO FAULT in 108 ops"), "{}", stdout(&healthy));
}

#[test]
fn an_op_that_takes_the_process_along_leaves_a_capsule() {
    let folder = tempfile::tempdir().unwrap();
    let capsule = folder.path().join("fault.capsule");
    let path = capsule.to_str().unwrap();
    let backend = "mutant:fault-attention-dies@layer=1,phase=decode";
    let text = stdout(&locate(backend, &["--capsule", path]));
    assert!(text.contains("THE KERNEL FAULTED: attention, step 1 (decode), layer 1, attn_out"), "{text}");
    assert!(text.contains("the process died: signal: 6"), "{text}");

    let shown = stdout(&assay(&["capsule", "show", path]));
    assert!(
        shown.contains("at step 1 (decode), layer 1, attn_out")
            && shown.contains("model llama.gguf, sha256 "),
        "{shown}"
    );
    let replayed = assay(&["replay", path, "--backend", "ref,cpu"]);
    let text = stdout(&replayed);
    assert_eq!(replayed.status.code(), Some(0), "{text}{}", stderr(&replayed));
    assert_eq!(text.matches("PASSED").count(), 2, "{text}");
    let replayed = assay(&["replay", path]);
    assert_eq!(replayed.status.code(), Some(1));
    assert!(stdout(&replayed).contains("crash: the process died"), "{}", stdout(&replayed));

    let small = folder.path().join("small.capsule");
    let shrunk = assay(&["replay", path, "--shrink", "--out", small.to_str().unwrap()]);
    assert!(stdout(&shrunk).contains("shrunk: "), "{}{}", stdout(&shrunk), stderr(&shrunk));
    assert!(fs::metadata(&small).unwrap().len() < fs::metadata(&capsule).unwrap().len());
    assert_eq!(assay(&["replay", small.to_str().unwrap()]).status.code(), Some(1));
}

#[test]
fn a_fault_of_the_software_device_replays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let capsule = folder.path().join("fault.capsule");
    let path = capsule.to_str().unwrap();
    // It reads a few bytes past a buffer, which the device sees whatever guards there are.
    let text = stdout(&locate("soft:rope-positions-past-the-end", &["--capsule", path]));
    let fault = "is out of bounds: at the end of 'positions'";
    assert!(text.contains("THE KERNEL FAULTED: rope") && text.contains(fault), "{text}");
    assert!(text.contains("only the next one that was launched"), "{text}");

    let replayed = assay(&["replay", path]);
    assert_eq!(replayed.status.code(), Some(1));
    assert!(stdout(&replayed).contains(fault), "{}", stdout(&replayed));
    let guarded = stdout(&assay(&["replay", path, "--guard", "canaries"]));
    assert!(guarded.contains(fault), "{guarded}");

    let shrunk = stdout(&assay(&["replay", path, "--shrink"]));
    assert!(shrunk.contains("shrunk: ") && shrunk.contains("fault.small.capsule"), "{shrunk}");
    let small = folder.path().join("fault.small.capsule");
    assert!(fs::metadata(&small).unwrap().len() < fs::metadata(&capsule).unwrap().len());
    assert!(stdout(&assay(&["replay", small.to_str().unwrap()])).contains("'positions'"));
    let healthy = assay(&["replay", path, "--backend", "ref,cpu,soft"]);
    assert_eq!(healthy.status.code(), Some(0), "{}", stdout(&healthy));
}

#[test]
fn a_fault_in_a_comparison_leaves_a_capsule() {
    let folder = tempfile::tempdir().unwrap();
    let (model, capsules) = (model(), folder.path().to_str().unwrap().to_owned());
    let right = "soft:rms-norm-reads-past-the-row";
    let diff = assay(&["diff", "-m", &model, "-p", TEXT, "--right", right, "--capsules", &capsules]);
    assert_eq!(diff.status.code(), Some(1));
    let text = stdout(&diff);
    assert!(text.contains("FIRST DIVERGENCE: rms_norm at step 0 (prefill), layer 0, attn_norm"), "{text}");
    let capsule = folder.path().join("step0-layer0-attn_norm-rms_norm.capsule");
    let replayed = stdout(&assay(&["replay", capsule.to_str().unwrap()]));
    assert!(replayed.contains("device: Invalid global read"), "{replayed}");
}

#[test]
fn any_op_of_a_run_can_be_saved() {
    let folder = tempfile::tempdir().unwrap();
    let (model, capsule) = (model(), folder.path().join("op.capsule"));
    let path = capsule.to_str().unwrap();
    let save = |at: &str| {
        assay(&["capsule", "save", "-m", &model, "-p", TEXT, "--backend", "soft", "--at", at, "--out", path])
    };
    let saved = save("layer=1,phase=decode,point=attn_out");
    assert_eq!(saved.status.code(), Some(0), "{}", stderr(&saved));
    assert!(
        stdout(&saved).starts_with("attention at step 1 (decode), layer 1, attn_out: "),
        "{}",
        stdout(&saved)
    );
    let shown = stdout(&assay(&["capsule", "show", path]));
    assert!(shown.contains("observed out: ") && shown.contains("from soft, softhip gfx942"), "{shown}");
    assert!(shown.contains("guard off"), "{shown}");
    let replayed = assay(&["replay", path, "--backend", "ref,cpu,soft"]);
    assert_eq!(replayed.status.code(), Some(0), "{}", stdout(&replayed));

    let nowhere = save("layer=7");
    assert_eq!(nowhere.status.code(), Some(2));
    let said = stderr(&nowhere);
    assert!(
        said.contains("no op at layer=7: 2 layers ran, with the points ") && said.contains("q_rope"),
        "{said}"
    );
    assert!(stderr(&save("layer=x")).contains("'layer=x': want step=N"));
}

#[test]
fn a_wrong_op_becomes_a_capsule_that_shrinks_and_a_folder_of_them_is_a_suite() {
    let folder = tempfile::tempdir().unwrap();
    let (model, capsules) = (model(), folder.path().join("capsules"));
    let backend = "mutant:matmul-tile-transposed@layer=1,point=up";
    let text = format!("{TEXT}. the cat sat on the mat, and the dog");
    let diff = assay(&[
        "diff",
        "-m",
        &model,
        "-p",
        &text,
        "-n",
        "1",
        "--right",
        backend,
        "--capsules",
        capsules.to_str().unwrap(),
    ]);
    assert_eq!(diff.status.code(), Some(1), "{}{}", stdout(&diff), stderr(&diff));
    let capsule = capsules.join("step0-layer1-up-matmul.capsule");
    let small = folder.path().join("small.capsule");
    let shrunk = assay(&["replay", capsule.to_str().unwrap(), "--shrink", "--out", small.to_str().unwrap()]);
    assert!(stdout(&shrunk).contains("FAILED"), "{}", stdout(&shrunk));
    assert!(fs::metadata(&small).unwrap().len() < 50_000);

    let html = folder.path().join("report.html");
    let check = |backend: &str| {
        assay(&[
            "check",
            "--capsules",
            capsules.to_str().unwrap(),
            "--backend",
            backend,
            "--html",
            html.to_str().unwrap(),
        ])
    };
    assert_eq!(check("ref,cpu").status.code(), Some(0));
    let failed = check("mutant:matmul-tile-transposed");
    assert_eq!(failed.status.code(), Some(1));
    assert!(stdout(&failed).contains("rerun: cargo run --release -- replay '"), "{}", stdout(&failed));
    let nothing = assay(&["check", "--capsules", folder.path().join("none").to_str().unwrap()]);
    assert_eq!(nothing.status.code(), Some(2));
}

#[test]
fn a_failing_case_is_saved_as_a_capsule() {
    let folder = tempfile::tempdir().unwrap();
    let capsules = folder.path().join("saved");
    let args = [
        "check",
        "rms_norm bounded n=576",
        "--backend",
        "mutant:rms-norm-eps-missing",
        "--save-capsules",
        capsules.to_str().unwrap(),
        "--html",
        &folder.path().join("r.html").display().to_string(),
        "--regressions",
        &folder.path().join("r.txt").display().to_string(),
    ]
    .map(str::to_owned);
    let checked = assay(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(checked.status.code(), Some(1), "{}{}", stdout(&checked), stderr(&checked));
    assert!(stdout(&checked).contains("capsule: "), "{}", stdout(&checked));
    let saved: Vec<PathBuf> = fs::read_dir(&capsules).unwrap().map(|e| e.unwrap().path()).collect();
    let [saved] = saved.as_slice() else { panic!("{saved:?}") };
    assert_eq!(assay(&["replay", saved.to_str().unwrap()]).status.code(), Some(1));
    assert_eq!(assay(&["replay", saved.to_str().unwrap(), "--backend", "cpu"]).status.code(), Some(0));
}

#[test]
fn killed_at_any_moment_a_run_leaves_a_readable_capsule_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let (model, capsule) = (model(), folder.path().join("op.capsule"));
    let mut found = 0;
    for lines in [1, 2, 3, 5, 8, 13, 21, 34, 55, 89] {
        let _ = fs::remove_file(&capsule);
        let mut child = Command::new(ASSAY)
            .args(["locate", "-m", &model, "-p", TEXT, "-n", "8", "--backend", "ref", "--inside", "synced"])
            .arg("--capsule")
            .arg(&capsule)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let events = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(events.take(lines).map_while(Result::ok).count(), lines);
        child.kill().unwrap();
        child.wait().unwrap();
        if capsule.exists() {
            found += 1;
            let shown = assay(&["capsule", "show", capsule.to_str().unwrap()]);
            assert_eq!(shown.status.code(), Some(0), "after {lines} events: {}", stderr(&shown));
        }
    }
    assert!(found >= 8, "{found}");
}

#[test]
fn killed_while_it_reports_a_comparison_leaves_a_whole_report_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let (model, json, html) = (model(), folder.path().join("diff.json"), folder.path().join("diff.html"));
    for lines in 1..=8 {
        let _ = (fs::remove_file(&json), fs::remove_file(&html));
        let mut child = Command::new(ASSAY)
            .args([
                "diff",
                "-m",
                &model,
                "-p",
                TEXT,
                "-n",
                "2",
                "--right",
                "mutant:attention-scale-never",
                "--collect",
            ])
            .arg("--json")
            .arg(&json)
            .arg("--html")
            .arg(&html)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(said.take(lines).map_while(Result::ok).count(), lines);
        child.kill().unwrap();
        child.wait().unwrap();
        if json.exists() {
            serde_json::from_slice::<serde_json::Value>(&fs::read(&json).unwrap()).unwrap();
        }
        if html.exists() {
            assert!(fs::read_to_string(&html).unwrap().ends_with("</html>\n"));
        }
    }
}

#[test]
fn stored_runs_are_compared_tap_by_tap() {
    let folder = tempfile::tempdir().unwrap();
    let model = model();
    let taps = |name: &str, backend: &str| {
        let path = folder.path().join(name).to_str().unwrap().to_owned();
        let run = assay(&[
            "run",
            "-m",
            &model,
            "-p",
            TEXT,
            "-n",
            "3",
            "--ignore-eos",
            "--backend",
            backend,
            "--tap",
            "all",
            "--tap-out",
            &path,
        ]);
        assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
        path
    };
    let (left, right) = (taps("ref", "ref"), taps("cpu", "cpu"));
    let wrong = taps("wrong", "mutant:attention-head-modulo@layer=1");
    let compare = |a: &str, b: &str| assay(&["diff", "--left-taps", a, "--right-taps", b]);
    assert_eq!(compare(&left, &right).status.code(), Some(0), "{}", stdout(&compare(&left, &right)));
    let found = compare(&left, &wrong);
    assert_eq!(found.status.code(), Some(1));
    assert!(
        stdout(&found).contains("FIRST DIVERGENCE: attn_out at step 0 (prefill), layer 1, attn_out"),
        "{}",
        stdout(&found)
    );
    assert_eq!(compare(&left, &left).status.code(), Some(2));
}

#[test]
fn mistakes_are_refused_by_name() {
    let model = model();
    let refused = |args: &[&str]| {
        let output = assay(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stdout(&output));
        stderr(&output)
    };
    let diff = |right: &str| refused(&["diff", "-m", &model, "-p", "x", "--right", right]);
    assert!(diff("mutant:no-such").contains("unknown backend 'mutant:no-such'"));
    assert!(diff("mutant:rope-position-plus-one@layer=x").contains("'layer=x': want"));
    assert!(diff("mutant:kv-write-at-the-end").contains("cannot be planted in a model"));
    assert!(diff("nobody").contains("unknown backend 'nobody'"));
    assert!(refused(&["replay", &model]).contains("not a safetensors file"));
    assert!(refused(&["diff", "--right-taps", "x"]).contains("--left-taps"));
}
