//! A declaration that the measurement contradicts is named, in every report.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

use serde_json::Value;

/// What `assay check` prints of a case on `backend`, and its reports as JSON and as a page.
fn check(backend: &str) -> (String, Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let case = format!(
        "rms_norm/{backend}/f32/bounded,topic=values,variant=eps-1e-5,rows=5,n=64,data=gauss,packing=padded,in_place=false,seed=7"
    );
    let output = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["check", &case])
        .args(["--json", "report.json", "--html", "report.html", "--regressions", "none.txt"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let read = |file: &str| std::fs::read_to_string(folder.path().join(file)).unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (said, serde_json::from_str(&read("report.json")).unwrap(), read("report.html"))
}

#[test]
fn sums_in_f16_that_are_declared_as_f32_are_named() {
    let backend = "mutant:rms-norm-f16-accumulation";
    let (said, json, page) = check(backend);
    let sentence = format!(
        "rms_norm on {backend} declares an accumulator of f32, and behaves like an accumulator of f16"
    );
    assert!(said.contains(&format!("contradiction: {sentence}\n")), "{said}");
    assert!(page.contains(&sentence), "{page}");
    assert_eq!(json["contradictions"][0]["behaves_like"], "an accumulator of f16", "{json:#}");
}

#[test]
fn a_kernel_that_is_wrong_under_every_declaration_contradicts_none() {
    let (said, json, _) = check("mutant:rms-norm-mean-over-padding");
    assert!(!said.contains("contradiction"), "{said}");
    assert_eq!(json["contradictions"], serde_json::json!([]));
}
