//! `assay gpu`: code objects shown and run, as a user does it.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ASSAY: &str = env!("CARGO_BIN_EXE_assay");

fn object(stem: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../backend-hip/softhip/tests/objects");
    folder.join(format!("{stem}.hsaco")).to_str().unwrap().to_owned()
}

fn assay(args: &[&str]) -> Output {
    Command::new(ASSAY).arg("gpu").args(args).output().unwrap()
}

/// Standard output and standard error of a command that ends with `code`.
#[track_caller]
fn ends_with(code: i32, args: &[&str]) -> String {
    let output = assay(args);
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
    text
}

/// A folder with `x.bin`: the numbers 0 to 63 as f32.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0u8..64).flat_map(|i| f32::from(i).to_le_bytes()).collect();
        fs::write(folder.path().join("x.bin"), bytes).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `silu_mul_f32` over `n` elements with an output of `bytes` bytes.
    fn silu(&self, bytes: u32, n: u32, more: &[&str]) -> Vec<String> {
        let input = format!("buf:{}", self.path("x.bin").display());
        let output = format!("out:{bytes}:{}", self.path("out.bin").display());
        let count = format!("u32:{n}");
        let object = object("silu_mul");
        let fixed = ["run", &object, "silu_mul_f32", "--grid", "1", "--block", "64"];
        let arguments = ["--arg", &input, "--arg", &input, "--arg", &output, "--arg", &count];
        fixed.iter().chain(&arguments).chain(more).map(|&part| part.to_owned()).collect()
    }
}

#[track_caller]
fn run_ends_with(code: i32, args: &[String]) -> String {
    ends_with(code, &args.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn info_lists_arguments_and_limits() {
    let text = ends_with(0, &["info", &object("rope")]);
    for line in [
        "gfx942, 5664 bytes, kernels: 1",
        "registers  20 scalar, 8 vector (0 of them AGPRs)",
        "block      up to 1024 threads in waves of 64",
        "arguments  32 bytes, aligned to 8",
        "         8     8  global_buffer              global    pos",
        "        28     4  by_value                   -         dim",
    ] {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
}

#[test]
fn report_of_an_object_says_what_its_kernels_take() {
    let folder = Folder::new();
    let json = folder.path("report.json");
    let text = ends_with(0, &["report", &object("rope"), "--json", json.to_str().unwrap()]);
    let head = "kernel    VGPRs  SGPRs  AGPRs     LDS  scratch  block  waves/SIMD\n";
    assert!(text.starts_with(head), "{text}");
    assert!(text.contains("rope_f32      8     20      0       0        0   1024           8\n"), "{text}");
    assert!(!text.contains("bytes"), "nothing is run: {text}");
    let json: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!(json["kernels"][0]["vgprs"], 8);
    assert_eq!(json["ops"], serde_json::json!([]));
    let none = ends_with(2, &["report", &object("rope"), "--kernel", "gelu"]);
    assert!(none.contains("no kernel's name contains 'gelu'"), "{none}");
    let missing = ends_with(2, &["report", folder.path("none.hsaco").to_str().unwrap()]);
    assert!(missing.contains("none.hsaco"), "{missing}");
}

#[test]
fn report_measures_the_programs_own_kernels_and_names_what_is_worse_than_on_record() {
    let folder = Folder::new();
    let on_record =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/hip/quality.toml"));
    let lower = on_record.unwrap().replace("rms_norm_1024 = { vgprs = 16,", "rms_norm_1024 = { vgprs = 15,");
    let path = folder.path("quality.toml");
    fs::write(&path, lower).unwrap();
    let file = path.to_str().unwrap();
    let text = ends_with(1, &["report", "--kernel", "rms_norm", "--baseline", file]);
    assert!(text.contains("rms_norm_1024    "), "{text}");
    assert!(text.contains("smollm2, 1x576 "), "{text}");
    assert!(text.contains("worse: rms_norm_1024: VGPRs was 15, is 16\n"), "{text}");
    assert_eq!(text.matches("worse: ").count(), 1, "{text}");
    fs::write(&path, "[kernels]\nadd = 3\n").unwrap();
    let text = ends_with(2, &["report", "--baseline", file]);
    assert!(text.contains("quality.toml") && !text.contains("panicked"), "{text}");
}

#[test]
fn objdump_prints_every_instruction_with_its_bytes() {
    let text = ends_with(0, &["objdump", &object("silu_mul"), "silu_mul_f32", "--lines"]);
    assert!(text.contains("<silu_mul_f32>:\n"), "{text}");
    assert!(text.contains("s_load_dword s3, s[0:1], 0x2c "), "{text}");
    assert!(text.contains("// 000000001900: C00200C0 0000002C\n"), "{text}");
    assert!(text.contains("; silu_mul.hip:6\n"), "{text}");
    assert!(text.contains("s_endpgm"), "{text}");
    assert!(text.contains(" <silu_mul_f32+0x144>\n"), "a branch names its target: {text}");
    assert_eq!(text.matches("\n\t").count(), 54, "{text}");
}

/// An offload bundle of some code objects, each for a target.
fn bundle(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let names: Vec<String> =
        entries.iter().map(|(target, _)| format!("hipv4-amdgcn-amd-amdhsa--{target}")).collect();
    let mut file = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    file.extend((entries.len() as u64).to_le_bytes());
    let mut offset = file.len() + names.iter().map(|name| 24 + name.len()).sum::<usize>();
    for (name, (_, object)) in names.iter().zip(entries) {
        file.extend([offset, object.len(), name.len()].iter().flat_map(|&word| (word as u64).to_le_bytes()));
        file.extend(name.as_bytes());
        offset += object.len();
    }
    entries.iter().for_each(|(_, object)| file.extend(object));
    file
}

#[test]
fn a_bundle_is_taken_wherever_a_code_object_is() {
    let folder = Folder::new();
    let ours = fs::read(object("silu_mul")).unwrap();
    let mut other = ours.clone();
    other[0x30] = 0x3f; // e_flags of gfx90a
    let path = folder.path("ops.hipfb");
    let name = path.to_str().unwrap();
    fs::write(&path, bundle(&[("gfx90a:xnack-", other), ("gfx942:sramecc+", ours)])).unwrap();
    let text = ends_with(0, &["info", name]);
    assert!(
        text.contains("ops.hipfb: code objects: 2\n  target               bytes  kernels  names\n"),
        "{text}"
    );
    assert!(text.contains("  gfx90a:xnack-  "), "{text}");
    assert!(text.contains("ops.hipfb: gfx942:sramecc+, "), "{text}");
    let text = ends_with(0, &["info", name, "--target", "gfx90a"]);
    assert!(text.contains("ops.hipfb: gfx90a:xnack-, "), "{text}");
    let text = ends_with(2, &["info", name, "--target", "gfx1100"]);
    assert!(
        text.contains("no code object for gfx1100; the file has gfx90a:xnack-, gfx942:sramecc+"),
        "{text}"
    );
    let plain = ends_with(0, &["objdump", &object("silu_mul")]);
    let (_, plain) = plain.split_once('\n').unwrap();
    assert!(ends_with(0, &["objdump", name]).ends_with(plain));
    assert!(ends_with(0, &["report", name]).contains("silu_mul_f32"));
    let mut run = folder.silu(256, 64, &[]);
    name.clone_into(&mut run[1]);
    assert!(run_ends_with(0, &run).contains("no report"));
}

#[test]
fn objdump_shows_functions_that_are_no_kernels() {
    let text = ends_with(0, &["objdump", &object("divergence")]);
    assert!(text.contains("<_ZL5twicej>:\n"), "{text}");
    assert!(text.contains("s_setpc_b64"), "{text}");
    let text = ends_with(0, &["objdump", &object("divergence"), "_ZL6squarej"]);
    assert_eq!(text.matches(">:\n").count(), 1, "{text}");
}

#[test]
fn a_kernel_runs_on_files() {
    let folder = Folder::new();
    let json = folder.path("run.json");
    let text = run_ends_with(0, &folder.silu(256, 64, &["--json", json.to_str().unwrap()]));
    assert!(text.contains("checked emulation): no report"), "{text}");
    assert!(text.contains("bytes written                 256\n"), "{text}");
    let out = fs::read(folder.path("out.bin")).unwrap();
    for (i, value) in (0u8..64).zip(out.as_chunks::<4>().0) {
        let x = f32::from(i);
        let expected = x / (1.0 + (-x).exp()) * x;
        assert!((f32::from_le_bytes(*value) - expected).abs() <= 1e-5 * expected, "{i}");
    }
    let json: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!(json["counters"]["waves"], 1);
    assert_eq!(json["reports"], serde_json::json!([]));
}

#[test]
fn a_race_that_cannot_change_a_result_is_a_note() {
    let folder = Folder::new();
    let out = format!("zero:4:{}", folder.path("out.bin").display());
    let races = object("races");
    let run = |more: &[&str]| {
        let fixed = ["run", &races, "same_word", "--grid", "2", "--block", "128"];
        let arguments = ["--arg", &out, "--arg", "u32:9", "--arg", "u32:0"];
        assay(&fixed.iter().chain(&arguments).chain(more).copied().collect::<Vec<_>>())
    };
    let lenient = run(&[]);
    let text = String::from_utf8(lenient.stdout).unwrap();
    assert_eq!(lenient.status.code(), Some(0), "{text}");
    assert!(text.contains("\nNote, no fault: Racing global write of size 4 bytes\n"), "{text}");
    assert_eq!(fs::read(folder.path("out.bin")).unwrap(), [9, 0, 0, 0]);
    assert_eq!(run(&["--strict-races"]).status.code(), Some(1));
}

#[test]
fn workgroups_of_a_cooperative_launch_meet() {
    let folder = Folder::new();
    let x = format!("zero:16384:{}", folder.path("x.bin").display());
    let system = object("system");
    let run = |more: &[&str]| {
        let fixed = ["run", &system, "grid_sum", "--grid", "4", "--block", "64", "--budget", "1000000"];
        let arguments = ["--arg", &x, "--arg", "u32:4096", "--arg", "u32:4"];
        assay(&fixed.iter().chain(&arguments).chain(more).copied().collect::<Vec<_>>())
    };
    let together = run(&["--cooperative"]);
    assert_eq!(together.status.code(), Some(0), "{}", String::from_utf8_lossy(&together.stdout));
    assert_eq!(run(&[]).status.code(), Some(1), "no workgroup can meet the others");
}

#[test]
fn bytes_that_the_kernel_did_not_write_are_named() {
    let folder = Folder::new();
    let text = run_ends_with(0, &folder.silu(256, 60, &["--schedule", "deferred"]));
    assert!(text.contains("out.bin: byte 240 has never been written"), "{text}");
    assert_eq!(fs::read(folder.path("out.bin")).unwrap()[240..], [0; 16]);
}

#[test]
fn a_fault_is_reported_with_exit_code_1() {
    let folder = Folder::new();
    let json = folder.path("run.json");
    let text = run_ends_with(1, &folder.silu(252, 64, &["--json", json.to_str().unwrap()]));
    assert!(text.starts_with("Invalid global write of size 4 bytes\n  at silu_mul_f32+0x"), "{text}");
    assert!(text.contains("out of bounds: at the end of 'out' (252 bytes)"), "{text}");
    assert!(!folder.path("out.bin").exists());
    let json: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!(json["reports"][0]["at"]["kernel"], "silu_mul_f32");
    let text =
        run_ends_with(1, &folder.silu(256, 64, &["--budget", "10", "--schedule", "random", "--seed", "3"]));
    assert!(text.starts_with("Kernel does not end"), "{text}");
    let text = run_ends_with(1, &folder.silu(256, 64, &["--lds", "65540"]));
    assert!(text.contains("65540"), "{text}");
}

#[test]
fn bad_input_is_refused_with_the_numbers() {
    let folder = Folder::new();
    let silu = object("silu_mul");
    let run = |args: &[&str]| {
        let fixed = ["run", &silu, "silu_mul_f32", "--grid", "1", "--block", "64"];
        ends_with(2, &fixed.iter().chain(args).copied().collect::<Vec<_>>())
    };
    assert!(run(&[]).contains("silu_mul_f32 takes 4 arguments and is given 0"));
    let null = ["--arg", "null"];
    let three = null.repeat(3);
    let with = |last: &'static str| run(&[&three[..], &["--arg", last]].concat());
    assert!(with("u64:5").contains("argument 3 (n, by_value, 4 bytes) is given 8 bytes by u64"));
    assert!(with("null").contains("argument 3 (n, by_value, 4 bytes) is passed by value"));
    assert!(with("u32:-1").contains("\"-1\" is no u32"));
    let swapped = [&["--arg", "u64:5"], &null.repeat(2)[..], &["--arg", "u32:1"]].concat();
    assert!(run(&swapped).contains("argument 0 (gate, global_buffer, 8 bytes) is a pointer, not u64"));
    let missing = format!("buf:{}", folder.path("none").display());
    let missing = [&["--arg", &missing], &null.repeat(2)[..], &["--arg", "u32:1"]].concat();
    assert!(run(&missing).contains("none: "));
    let unknown = ends_with(2, &["run", &silu, "gelu", "--grid", "1", "--block", "64"]);
    assert!(unknown.contains("has no kernel gelu; it has silu_mul_f32"), "{unknown}");
    let dims = ends_with(2, &["run", &silu, "silu_mul_f32", "--grid", "1,2,3,4", "--block", "64"]);
    assert!(dims.contains("4 dimensions, at most 3"), "{dims}");
}

#[test]
fn objects_that_cannot_run_are_refused_and_never_panic() {
    let folder = Folder::new();
    let whole = fs::read(object("silu_mul")).unwrap();
    let path = folder.path("bad.hsaco");
    let name = path.to_str().unwrap();
    let refused = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let text = ends_with(2, &["info", name]);
        assert_eq!(ends_with(2, &["objdump", name]), text);
        assert!(!text.contains("panicked"), "{text}");
        text
    };
    for len in [0, 4, 64, 600, whole.len() / 2] {
        refused(&whole[..len]);
    }
    // e_flags of gfx90a, and a machine that is no AMD GPU.
    let mut other = whole.clone();
    other[0x30] = 0x3f;
    let text = refused(&other);
    assert!(text.contains("gfx90a") && text.contains("gfx942"), "{text}");
    let mut other = whole;
    other[0x12] = 62;
    assert!(refused(&other).contains("62"));
    let text = ends_with(2, &["info", folder.path("none.hsaco").to_str().unwrap()]);
    assert!(text.contains("none.hsaco"), "{text}");
}
