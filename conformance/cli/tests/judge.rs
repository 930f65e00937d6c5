//! Verdicts on planted tricks and on honest kernels.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The verdict on kernels of the zoo, and the exit code.
fn judge(object: &str, manifest: &str) -> (Value, Option<i32>) {
    let zoo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../zoo/foreign");
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["judge", "rms_norm", "--seed", "11", "--kernels"])
        .arg(zoo.join("objects").join(object))
        .arg("--manifest")
        .arg(zoo.join(manifest))
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let verdict =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{manifest}: {e}: {said}"));
    (verdict, output.status.code())
}

#[track_caller]
fn plays(manifest: &str, trick: &str) -> Value {
    let (verdict, code) = judge("tricks.hsaco", manifest);
    assert_eq!((verdict["verdict"].as_str(), code), (Some("cheats"), Some(1)), "{verdict:#}");
    let named = verdict["tricks"].as_array().unwrap().iter().any(|found| found["name"] == trick);
    assert!(named, "{trick}: {verdict:#}");
    verdict
}

#[test]
fn results_that_are_left_over_or_remembered_are_named() {
    plays("trick_left_over.toml", "left_over");
    plays("trick_remembers_shape.toml", "remembered_by_shape");
    plays("trick_remembers_pointer.toml", "remembered_by_pointer");
}

#[test]
fn changed_inputs_and_constant_outputs_are_named() {
    plays("trick_changes_inputs.toml", "inputs_changed");
    plays("trick_zeros.toml", "constant");
    plays("trick_constant.toml", "constant");
}

#[test]
fn a_lower_precision_than_declared_is_named() {
    let verdict = plays("trick_half_precision.toml", "lower_precision");
    let found = &verdict["declared"]["contradiction"];
    assert_eq!(found["declares"], "an accumulator of f32", "{verdict:#}");
    assert_eq!(found["behaves_like"], "an accumulator of f16", "{verdict:#}");
}

#[test]
fn a_look_at_the_clock_is_named() {
    plays("trick_reads_clock.toml", "reads_clock");
}

#[test]
fn sizes_that_only_tests_have_are_named() {
    plays("trick_knows_sizes.toml", "known_sizes");
}

#[test]
fn a_kernel_for_contiguous_tensors_alone_is_told_so() {
    let (verdict, code) = judge("tricks.hsaco", "trick_contiguous_only.toml");
    let because = verdict["because"].to_string();
    assert_eq!(code, Some(1), "{verdict:#}");
    // Strides that lead out of the buffer are found by the device, those that do not by the oracle.
    let wrong = verdict["verdict"] == "wrong" && because.contains("only on contiguous tensors");
    assert!(wrong || verdict["verdict"] == "unsafe", "{verdict:#}");
}

#[test]
fn wrong_and_unsafe_kernels_are_not_called_cheats() {
    let (verdict, code) = judge("wrong.hsaco", "wrong.toml");
    assert_eq!((verdict["verdict"].as_str(), code), (Some("wrong"), Some(1)), "{verdict:#}");
    let (verdict, code) = judge("wrong.hsaco", "wrong_past_the_row.toml");
    assert_eq!((verdict["verdict"].as_str(), code), (Some("unsafe"), Some(1)), "{verdict:#}");
    assert!(verdict["because"].to_string().contains("out of bounds"), "{verdict:#}");
}

#[test]
fn sums_in_f16_that_are_declared_as_f32_are_named() {
    let (verdict, code) = judge("triton_rms_norm_short_sum.hsaco", "triton_rms_norm_short_sum.toml");
    assert_eq!((verdict["verdict"].as_str(), code), (Some("cheats"), Some(1)), "{verdict:#}");
    assert_eq!(verdict["tricks"][0]["name"], "lower_precision", "{verdict:#}");
}

#[test]
fn honest_kernels_are_not_accused_and_their_cost_is_counted() {
    for (object, manifest) in [
        ("rms_norm.hsaco", "rms_norm.toml"),
        ("triton_rms_norm.hsaco", "triton_rms_norm.toml"),
        ("triton_rms_norm_f16.hsaco", "triton_rms_norm_f16.toml"),
        ("honest.hsaco", "honest_split.toml"),
        ("honest.hsaco", "honest_half.toml"),
        ("honest.hsaco", "honest_quads.toml"),
    ] {
        let (verdict, code) = judge(object, manifest);
        assert_eq!(
            (verdict["verdict"].as_str(), code),
            (Some("conforms"), Some(0)),
            "{manifest}: {verdict:#}"
        );
        assert_eq!(verdict["tricks"], serde_json::json!([]), "{manifest}: {verdict:#}");
        let cost = &verdict["cost"][0];
        assert!(cost["ratio"].as_f64().unwrap() >= 1.0 && cost["ratio_of_ours"].as_f64().unwrap() >= 1.0);
        let split = manifest == "honest_split.toml";
        assert_eq!(verdict["deterministic"], !split, "{manifest}: {verdict:#}");
    }
}
