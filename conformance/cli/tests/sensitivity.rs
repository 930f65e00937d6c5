//! How small a bias the suite sees, as published.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What `assay sensitivity` measures for `op` on the cases whose names contain `filter`.
fn measured(op: &str, filter: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["sensitivity", "--op", op, "--filter", filter, "--json", "sensitivity.json"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(folder.path().join("sensitivity.json")).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["ops"].as_array().unwrap().len(), 1, "{json:#}");
    json["ops"][0].clone()
}

/// What the README says of `op`: before, under bounds, and with the mean as well.
fn published(op: &str) -> [f64; 3] {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let page = std::fs::read_to_string(page).unwrap();
    let line = page.lines().find(|line| line.starts_with(&format!("| `{op}` |"))).unwrap();
    let numbers: Vec<f64> = line.split('|').filter_map(|cell| cell.trim().parse().ok()).collect();
    numbers[..3].try_into().unwrap()
}

#[test]
fn a_bias_that_no_bound_sees_shows_in_the_mean_as_published() {
    // A few cases see no smaller bias than all of them.
    for (op, filter) in [("softmax", "rows=65540"), ("attention", "rows=65537"), ("rms_norm", "rows=65540")] {
        let seen = measured(op, filter);
        let [before, _, after] = published(op);
        let (by_bounds, with_statistics) =
            (seen["by_bounds"].as_f64().unwrap(), seen["with_statistics"].as_f64().unwrap());
        assert!(with_statistics <= after * 1.05, "{op}: {with_statistics:e}, published {after:e}");
        assert!(after <= before / 4.0, "{op}: {after:e}, before {before:e}");
        assert!(by_bounds > after, "{op}: the bounds alone see {by_bounds:e}");
    }
}

#[test]
fn an_op_that_has_no_bound_and_cases_that_do_not_exist_are_refused() {
    for (arguments, said) in [
        (&["sensitivity", "--op", "copy"][..], "no op with a bound is called so"),
        (&["sensitivity", "--filter", "rows=123456"], "no bounded case"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_assay")).args(arguments).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && message.contains(said), "{arguments:?}: {message}");
    }
}
