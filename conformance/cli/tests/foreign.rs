//! Kernels of other people through the suite: by manifest, on the software device.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn foreign(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../zoo/foreign").join(name)
}

fn object(name: &str) -> String {
    foreign("objects").join(name).with_extension("hsaco").to_str().unwrap().to_owned()
}

fn manifest(name: &str) -> String {
    foreign(name).with_extension("toml").to_str().unwrap().to_owned()
}

fn model() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/tiny/llama.gguf");
    path.to_str().unwrap().to_owned()
}

fn assay(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.args(arguments).current_dir(folder);
    command.env_remove("ASSAY_HIP_OBJECTS").env_remove("GITHUB_ACTIONS").output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// What a command says that ends with `code`.
#[track_caller]
fn ends_with(code: i32, folder: &Path, arguments: &[&str]) -> String {
    let output = assay(folder, arguments);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    text
}

/// `assay check FILTER` with an object and a manifest of the zoo.
#[track_caller]
fn check(code: i32, filter: &str, kernels: &str, toml: &str) -> (String, Value) {
    let folder = tempfile::tempdir().unwrap();
    let (kernels, toml) = (object(kernels), manifest(toml));
    let arguments = ["check", filter, "--kernels", &kernels, "--manifest", &toml, "--json", "r.json"];
    let text = ends_with(code, folder.path(), &arguments);
    let json =
        fs::read(folder.path().join("r.json")).map_or(Value::Null, |b| serde_json::from_slice(&b).unwrap());
    (text, json)
}

/// The verdicts on cases whose names are `wanted`, each once.
fn verdicts(json: &Value, wanted: impl Fn(&str) -> bool) -> Vec<&str> {
    let cases = json["cases"].as_array().unwrap().iter();
    let wanted = cases.filter(|case| wanted(case["name"].as_str().unwrap()));
    let mut verdicts: Vec<_> = wanted.map(|case| case["verdict"].as_str().unwrap()).collect();
    verdicts.sort_unstable();
    verdicts.dedup();
    verdicts
}

#[test]
fn a_kernel_with_a_signature_of_its_own_passes() {
    let (text, json) = check(0, "rms_norm/ rows=5,", "rms_norm", "rms_norm");
    assert_eq!(verdicts(&json, |name| !name.contains("_type=")), ["passed"], "{text}");
    assert_eq!(
        verdicts(&json, |name| name.contains("_type=")),
        ["unsupported"],
        "f32 unless it says so: {text}"
    );
    assert!(json["totals"]["passed"].as_u64().unwrap() > 100, "{text}");
    assert!(text.contains("rms_norm.hsaco as "), "the report says whose kernels ran: {text}");
    let code = json["device_code"].as_array().unwrap();
    assert!(code.iter().all(|code| code["names"] == serde_json::json!(["my_rms_norm"])), "{code:?}");
}

#[test]
fn a_kernel_of_triton_passes_where_it_applies() {
    let (text, json) = check(0, "rms_norm/ rows=5,", "triton_rms_norm", "triton_rms_norm");
    assert!(json["totals"]["passed"].as_u64().unwrap() > 100, "{text}");
    let (text, json) = check(0, "rms_norm/ /bounded rows=1,", "triton_rms_norm", "triton_rms_norm");
    assert!(json["totals"]["unsupported"].as_u64().unwrap() > 0, "rows beyond 1024 are no pass: {text}");
    let none = check(2, "rms_norm/ n=4096,", "triton_rms_norm", "triton_rms_norm").0;
    assert!(none.contains("'columns <= 1024' does not hold"), "{none}");
}

#[test]
fn a_kernel_for_f16_alone_gets_the_whole_suite_in_f16() {
    let (text, json) = check(0, "rms_norm/ /bounded rows=5,", "triton_rms_norm_f16", "triton_rms_norm_f16");
    assert!(json["totals"]["passed"].as_u64().unwrap() > 50, "{text}");
    let cases = json["cases"].as_array().unwrap();
    let in_f16 = |name: &str| name.ends_with("x_type=f16,weight_type=f16,out_type=f16");
    assert!(cases.iter().all(|case| in_f16(case["name"].as_str().unwrap())), "{text}");
}

#[test]
fn sums_in_f16_that_are_declared_as_f32_are_caught_shrunk_and_replayed() {
    caught("rms_norm/ /bounded rows=33,", "triton_rms_norm_short_sum", "triton_rms_norm_short_sum");
}

#[test]
fn a_bug_is_caught_shrunk_and_replayed() {
    caught("rms_norm/ /bounded rows=2,", "wrong", "wrong");
}

/// The oracle finds cases of `filter` wrong, the smallest is a capsule that fails again on these kernels and not on ours.
fn caught(filter: &str, kernels: &str, toml: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (kernels, toml) = (object(kernels), manifest(toml));
    let flags = ["--kernels", &kernels, "--manifest", &toml];
    let sweep = ["check", filter, "--save-capsules", "failed"];
    let text = ends_with(1, folder.path(), &[&sweep[..], &flags].concat());
    assert!(text.contains("found by oracle") && text.contains("shrunk: rms_norm/soft/f32/"), "{text}");
    assert!(
        text.contains(&format!("--kernels {kernels} --manifest {toml}")),
        "a line that runs it again: {text}"
    );
    let capsule = fs::read_dir(folder.path().join("failed")).unwrap().next().unwrap().unwrap().path();
    let capsule = capsule.to_str().unwrap();
    let text = ends_with(1, folder.path(), &[&["replay", capsule][..], &flags].concat());
    assert!(text.contains("FAILED"), "{text}");
    ends_with(0, folder.path(), &["replay", capsule, "--backend", "soft"]);
}

#[test]
fn a_write_past_the_row_is_found_at_its_line() {
    let text = check(1, "rms_norm/ /bounded rows=1,n=31,", "wrong", "wrong_past_the_row").0;
    assert!(text.contains("past_the_row") && text.contains("out of bounds"), "{text}");
    assert!(text.contains("wrong.hip:"), "{text}");
}

#[test]
fn unusual_kernels_pass_as_they_are_declared() {
    for (kernels, toml) in [("honest", "honest_split"), ("honest", "honest_half"), ("honest", "honest_quads")]
    {
        let (text, json) = check(0, "rms_norm/ rows=5,", kernels, toml);
        assert!(json["totals"]["passed"].as_u64().unwrap() > 20, "{toml}: {text}");
    }
}

/// Whether all three operands are of type `dtype`.
fn all_of(name: &str, dtype: &str) -> bool {
    let source = name.contains(&format!("x_type={dtype}")) || name.contains("in_place=true");
    source && ["weight", "out"].iter().all(|operand| name.contains(&format!("{operand}_type={dtype}")))
}

#[test]
fn kernels_in_f16_and_bf16_alone_are_asked_in_their_types() {
    let (text, json) = check(0, "rms_norm/ _type=", "typed", "typed");
    for dtype in ["f16", "bf16"] {
        assert_eq!(verdicts(&json, |name| all_of(name, dtype)), ["passed"], "{dtype}: {text}");
    }
    let other = |name: &str| !all_of(name, "f16") && !all_of(name, "bf16");
    assert!(verdicts(&json, other).is_empty(), "{text}");
    assert!(json["totals"]["passed"].as_u64().unwrap() > 30, "{text}");
}

/// A manifest for the kernel of ours that copies a transposed matrix, with `more` lines.
fn copy_columns(more: &str) -> String {
    format!(
        "[[op]]\nname = \"copy\"\n{more}\n[op.numerics]\naccumulator = \"f32\"\n[[op.launch]]\nkernel = \"copy_columns_4\"\n\
         grid = [\"ceil_div(columns, 32)\", \"ceil_div(rows, 32)\"]\nblock = 256\nargs = [\"ptr x\", \"ptr out\", \"u64 x.stride[0]\", \
         \"u64 x.stride[1]\", \"u64 out.stride[0]\", \"u32 rows\", \"u32 columns\"]\n"
    )
}

#[test]
fn a_transposed_operand_is_asked_of_kernels_that_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let object = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/hip/objects/copy.hsaco");
    let object = object.to_str().unwrap();
    for (more, [rows, columns]) in [
        ("", ["passed", "unsupported"]),
        ("layouts = { x = [\"rows\", \"transposed\"] }", ["passed", "passed"]),
        ("layouts = { x = \"transposed\" }", ["unsupported", "passed"]),
    ] {
        fs::write(folder.path().join("m.toml"), copy_columns(more)).unwrap();
        let flags = ["--kernels", object, "--manifest", "m.toml", "--json", "r.json"];
        let filter = &["check", "copy/ to=f32 n=33,"][..];
        let text = ends_with(0, folder.path(), &[filter, &flags].concat());
        let json: Value = serde_json::from_slice(&fs::read(folder.path().join("r.json")).unwrap()).unwrap();
        let of = |transposed| verdicts(&json, move |name| name.contains("columns=true") == transposed);
        assert_eq!([of(false), of(true)], [[rows], [columns]], "{more}: {text}");
    }
}

#[test]
fn sums_in_f16_and_wrong_roundings_are_found_in_cases_of_their_types() {
    for (toml, types) in [
        ("wrong_half_sums", &["f16"][..]),
        ("wrong_rounds_twice", &["f16"]),
        ("wrong_truncates", &["f16", "bf16"]),
    ] {
        let (text, json) = check(1, "rms_norm/ /bounded _type=", "typed", toml);
        for dtype in types {
            let found = verdicts(&json, |name| all_of(name, dtype));
            assert!(found.contains(&"failed"), "{toml} in {dtype}: {text}");
        }
        assert!(text.contains("_type="), "the smallest case is one of its types: {text}");
    }
}

#[test]
fn every_case_of_the_op_runs_without_a_filter() {
    let folder = tempfile::tempdir().unwrap();
    let (kernels, toml) = (object("rms_norm"), manifest("rms_norm"));
    let arguments = ["check", "--kernels", &kernels, "--manifest", &toml, "--cases", "5", "--json", "r.json"];
    let text = ends_with(0, folder.path(), &arguments);
    let json: Value = serde_json::from_slice(&fs::read(folder.path().join("r.json")).unwrap()).unwrap();
    let names = json["cases"].as_array().unwrap();
    assert!(names.iter().all(|case| case["name"].as_str().unwrap().starts_with("rms_norm/soft/")), "{text}");
    let other = ["check", "rope", "--kernels", &kernels, "--manifest", &toml];
    assert!(ends_with(2, folder.path(), &other).contains("no case"), "no false green");
    let cpu = ["check", "--backend", "cpu", "--kernels", &kernels, "--manifest", &toml];
    assert!(ends_with(2, folder.path(), &cpu).contains("the backend 'cpu' runs no device code"));
    assert_eq!(assay(folder.path(), &["check", "--kernels", &kernels]).status.code(), Some(2));
}

#[test]
fn a_first_manifest_is_guessed_from_names() {
    let folder = tempfile::tempdir().unwrap();
    let kernels = object("rms_norm");
    let new = ["manifest", "new", &kernels, "--op", "rms_norm", "--out", "m.toml"];
    assert!(ends_with(0, folder.path(), &new).contains("every argument was guessed"));
    assert!(ends_with(2, folder.path(), &new).contains("is there already"));
    let check = ["check", "rms_norm/ rows=5,n=33,", "--kernels", &kernels, "--manifest", "m.toml"];
    ends_with(0, folder.path(), &check);

    let triton = object("triton_rms_norm");
    let text = ends_with(0, folder.path(), &["manifest", "new", &triton, "--op", "rms_norm"]);
    assert!(text.contains("block = 256 # num_warps") && text.contains("lds = 16"), "{text}");
    assert_eq!(text.matches("\"ptr null\"").count(), 2, "{text}");
    fs::write(folder.path().join("t.toml"), &text).unwrap();
    let open = ["check", "--kernels", &triton, "--manifest", "t.toml"];
    let refused = ends_with(2, folder.path(), &open);
    assert!(refused.contains("t.toml:") && refused.contains("argument 1 'ptr ?'"), "{refused}");
    let several = ends_with(2, folder.path(), &["manifest", "new", &object("tricks"), "--op", "rms_norm"]);
    assert!(several.contains("--kernel"), "{several}");
}

#[test]
fn a_model_runs_with_one_foreign_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let (model, kernels, toml) = (model(), object("rms_norm"), manifest("rms_norm"));
    let flags = ["--kernels", &kernels, "--manifest", &toml];
    let run = ["run", "-m", &model, "-p", "the quick", "-n", "2", "--backend", "soft"];
    let text = ends_with(0, folder.path(), &[&run[..], &flags].concat());
    assert!(text.contains("rms_norm: ") && text.contains(" launches on the kernels of "), "{text}");
    let diff = ["diff", "-m", &model, "-p", "the quick", "-n", "1", "--right", "soft"];
    ends_with(0, folder.path(), &[&diff[..], &flags].concat());
    let locate = ["locate", "-m", &model, "-p", "the quick", "-n", "1", "--backend", "soft"];
    ends_with(0, folder.path(), &[&locate[..], &flags].concat());

    let (wrong, toml) = (object("wrong"), manifest("wrong"));
    let flags = ["--kernels", &wrong, "--manifest", &toml];
    let text = ends_with(1, folder.path(), &[&diff[..], &flags].concat());
    assert!(text.contains("rms_norm"), "the diff names the op: {text}");
    // No op of this model is a layer_norm.
    let other = fs::read_to_string(&toml)
        .unwrap()
        .replace("rms_norm\"\n\n[op.n", "layer_norm\"\nignore = [\"bias\"]\n\n[op.n");
    fs::write(folder.path().join("other.toml"), other).unwrap();
    let flags = ["--kernels", &wrong, "--manifest", "other.toml"];
    assert!(ends_with(2, folder.path(), &[&run[..], &flags].concat()).contains("no kernel of it ran"));
}

/// A manifest with one mistake, what is said about it, and its line.
#[test]
fn mistakes_are_refused_with_line_and_name() {
    let right = fs::read_to_string(manifest("rms_norm")).unwrap();
    let lines = |text: &str, part: &str| 1 + text.lines().position(|line| line.contains(part)).unwrap();
    for (from, to, said) in [
        ("\"my_rms_norm\"", "\"my_norm\"", &["no kernel 'my_norm'", "there is my_rms_norm"][..]),
        (
            "\"i32 columns\"",
            "\"i64 columns\"",
            &["argument 5 'i64 columns' is 8 bytes by value", "'ncols'", "4 bytes by value"],
        ),
        ("\"ptr weight\"", "\"f32 weight.stride[0]\"", &["operand 'weight' is passed to no kernel"]),
        ("\"i32 out.stride[0]\"", "\"ptr weight\"", &["argument 7", "'dst_stride'", "4 bytes by value"]),
        ("    \"ptr weight\",\n", "", &["operand 'weight' is passed to no kernel"]),
        ("    \"i32 out.stride[0]\",\n", "", &["takes 7 arguments, 6 are given", "'dst_stride'"]),
        ("\"f32 eps\"", "\"f32 1.5\"", &["parameter 'eps' is used nowhere"]),
        ("lanes = 256", "lames = 256", &["unknown field `lames`"]),
        ("\"i32 columns\"", "\"i32 column\"", &["unknown name 'column'", "the dimensions rows, columns"]),
        ("\"i32 columns\"", "\"i32 x.shape\"", &["wants a dimension"]),
        ("\"i32 columns\"", "\"i33 columns\"", &["no type 'i33'"]),
        ("grid = \"rows\"", "grid = \"rows * 9223372036854775807\"", &["grid", "overflows"]),
        ("grid = \"rows\"", "grid = \"9223372036854775807 + 1\"", &["grid", "overflows"]),
        ("grid = \"rows\"", "grid = \"rows / (rows - rows)\"", &["divides by zero"]),
        ("grid = \"rows\"", "grid = \"rows - 5\"", &["grid 'rows - 5' is -3, want 1 to"]),
        ("grid = \"rows\"", "grid = [\"rows\", 1, 1, 1]", &["grid has 4 dimensions"]),
        ("block = 256", "block = 2048", &["block has 2048 threads", "takes 1 to 1024"]),
        ("block = 256", "block = 256\nlds = 65537", &["lds is 65537 bytes"]),
        ("block = 256", "block = \"256 *\"", &["want a value at character 6"]),
        ("name = \"rms_norm\"", "name = \"rmsnorm\"", &["unknown op 'rmsnorm'"]),
        (
            "name = \"rms_norm\"",
            "name = \"rms_norm\"\nlet = { a = \"b\", b = \"a + 1\" }",
            &["a, b need each other"],
        ),
        ("name = \"rms_norm\"", "name = \"rms_norm\"\nlet = { rows = \"1\" }", &["has a 'rows' of its own"]),
        ("name = \"rms_norm\"", "name = \"rms_norm\"\nzero = [\"x\"]", &["'x' is no output"]),
        ("name = \"rms_norm\"", "name = \"rms_norm\"\ntypes = { y = \"f32\" }", &["no operand 'y'"]),
        ("name = \"rms_norm\"", "name = \"rms_norm\"\nlayouts = { y = \"rows\" }", &["no operand 'y'"]),
        (
            "name = \"rms_norm\"",
            "name = \"rms_norm\"\nlayouts = { x = \"columns\" }",
            &["layouts.x: 'columns' is none of rows, permuted, transposed"],
        ),
        (
            "name = \"rms_norm\"",
            "name = \"rms_norm\"\nlayouts = { x = \"transposed\" }",
            &["layouts.x: no rms_norm has a transposed 'x'"],
        ),
        ("name = \"rms_norm\"", "name = \"rms_norm\"\nsupports = [\"columns\"]", &["want a condition"]),
        ("\"f32\"\nlanes", "\"f31\"\nlanes", &["accumulator is 'f31'"]),
        ("[[op]]", "[[op]", &["rms_norm.toml"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rms_norm.toml");
        let text = right.replacen(from, to, 1);
        assert_ne!(text, right, "{from}");
        fs::write(&path, &text).unwrap();
        let kernels = object("rms_norm");
        let arguments =
            ["check", "rms_norm/ rows=2,", "--kernels", &kernels, "--manifest", path.to_str().unwrap()];
        let told = ends_with(2, folder.path(), &arguments);
        for part in said {
            assert!(told.contains(part), "{from} -> {to}: '{part}' is not in: {told}");
        }
        assert!(told.contains("rms_norm.toml:") && !told.contains("panicked"), "{from} -> {to}: {told}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.toml");
    let text = right.replace("\"i32 columns\"", "\"i32 column\"");
    fs::write(&path, &text).unwrap();
    let kernels = object("rms_norm");
    let arguments = ["check", "--kernels", &kernels, "--manifest", path.to_str().unwrap()];
    let line = lines(&text, "i32 column\"");
    assert!(ends_with(2, folder.path(), &arguments).contains(&format!("m.toml:{line}: argument 5")));
}

#[test]
fn files_without_kernels_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let toml = manifest("rms_norm");
    let refused =
        |kernels: &str| ends_with(2, folder.path(), &["check", "--kernels", kernels, "--manifest", &toml]);
    assert!(refused("/nonexistent.hsaco").contains("/nonexistent.hsaco"));
    fs::write(folder.path().join("junk.hsaco"), "no object").unwrap();
    assert!(refused("junk.hsaco").contains("junk.hsaco"));
    fs::create_dir(folder.path().join("empty")).unwrap();
    assert!(refused("empty").contains("none of its files ends in .hsaco"));
    fs::create_dir(folder.path().join("two")).unwrap();
    for name in ["a.hsaco", "b.hsaco"] {
        fs::copy(object("rms_norm"), folder.path().join("two").join(name)).unwrap();
    }
    assert!(refused("two").contains("kernel 'my_rms_norm' is in "));
    fs::write(folder.path().join("k.hip"), "none").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["check", "--kernels", "k.hip", "--manifest", &toml])
        .current_dir(folder.path())
        .env("PATH", "")
        .env_remove("CLANG")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("k.hip: a source needs hipcc or clang++"), "{}", said(&output));
}
