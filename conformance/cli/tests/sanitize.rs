//! `assay sanitize` names what is wrong with programs that clang compiled, and says nothing about their clean twins.
//!
//! The programs are those of the drop-in library. Each one with a bug has a twin, compiled without it.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const SCHEDULES: [&str; 3] = ["eager", "deferred", "random"];

/// A program with a bug, and what its report must say.
struct Planted {
    program: &'static str,
    says: &'static [&'static str],
}

const fn planted(program: &'static str, says: &'static [&'static str]) -> Planted {
    Planted { program, says }
}

const PLANTED: [Planted; 22] = [
    planted(
        "rope_positions",
        &[
            "[memcheck]",
            "at rope(float*, int const*, int, int)+",
            "(rope_positions.hip:9)",
            "'positions' (128 bytes)",
            "the access needs 132 bytes, the launch needs 256, the buffer has 128",
            "in positions_of (rope_positions.hip:31)",
            "in forward (rope_positions.hip:35)",
            "hipMemcpy in copy_to_host (engine.h:12) answers hipErrorIllegalAddress. It is only the messenger",
        ],
    ),
    planted(
        "kv_heads",
        &[
            "[memcheck]",
            "at project_keys(",
            "(kv_heads.hip:11)",
            "'k_weight' (32768 bytes)",
            "the access needs 32772 bytes, the launch needs 131072, the buffer has 32768",
            "launched at kv_heads.hip:25",
            "It is only the messenger",
        ],
    ),
    planted(
        "freed_before_copy",
        &[
            "[hostcheck]",
            "by hipMemcpy at engine.h:12",
            "is freed memory: 0 bytes into 'out' (4096 bytes)",
            "allocated at freed_before_copy.hip:8, freed at freed_before_copy.hip:12",
        ],
    ),
    planted(
        "missing_synchronise",
        &[
            "Host reads the destination of a copy that may not have run [hostcheck]",
            "(4096 bytes)",
            "queued by hipMemcpyAsync at missing_synchronise.hip:20",
        ],
    ),
    planted(
        "staging_reused",
        &[
            "Host writes the source of a copy that may not have run [hostcheck]",
            "queued by hipMemcpyAsync at staging_reused.hip:19",
        ],
    ),
    planted(
        "argument_size",
        &[
            "Invalid launch of scale(float*, float, long) [hostcheck]",
            "18 bytes of arguments; the kernel takes 24: argument 2 'count'",
            "by hipModuleLaunchKernel at argument_size.hip:34",
        ],
    ),
    planted(
        "several_faults",
        &[
            "(several_faults.hip:16)",
            "out of bounds: at the end of 'out' (1024 bytes)",
            "(several_faults.hip:17)",
            "out of bounds: at the end of 'twice' (1024 bytes)",
            "this instruction did so 63 more times",
            "Uninitialised global read",
            "(several_faults.hip:23)",
            "byte 0 of 'rest' (1024 bytes)",
            "left out: 2 errors more, of instructions that are named above",
            "ERROR SUMMARY: 3 errors (initcheck 1, memcheck 2)",
        ],
    ),
    planted("uninitialised", &["Uninitialised global read", "[initcheck]", "byte 512 of 'x' (1024 bytes)"]),
    planted(
        "padded_tile",
        &[
            "Uninitialised LDS read",
            "[initcheck]",
            "(padded_tile.hip:15)",
            "the value reaches `global_store_dword",
        ],
    ),
    planted(
        "compared_tile",
        &[
            "Uninitialised LDS read",
            "[initcheck]",
            "at largest(",
            "(compared_tile.hip:",
            "the value reaches `v_cmp",
        ],
    ),
    planted("group_race", &["Racing ", "[racecheck]", "'total' (4 bytes)", "(group_race.hip:"]),
    planted("lds_race", &["Racing LDS", "[racecheck]", "with no barrier between", "(lds_race.hip:"]),
    planted(
        "stream_race",
        &[
            "Race between streams [racecheck]",
            "'out' (256 bytes)",
            "hipLaunchKernel at stream_race.hip:",
            "no event, synchronisation or common stream orders the two",
        ],
    ),
    planted(
        "thread_streams",
        &["Race between streams [racecheck]", "hipMemcpyAsync at thread_streams.hip:16", "orders the two"],
    ),
    planted("divergent_barrier", &["Divergent barrier [synccheck]", "at sum("]),
    planted(
        "leak",
        &[
            "Memory that was never freed [leakcheck]",
            "1000 bytes of device memory",
            "24 bytes of host memory",
            "allocated at leak.hip:6",
            "ERROR SUMMARY: 2 errors (leakcheck 2)",
        ],
    ),
    planted(
        "double_free",
        &["Double free [hostcheck]", "by hipFree at double_free.hip:9", "freed at double_free.hip:7"],
    ),
    planted(
        "gemm",
        &["[memcheck]", "at assay_gemm", "(1120 bytes)", "the launch needs 1400", "launched at gemm.hip:97"],
    ),
    planted("matmul_lt", &["[memcheck]", "at assay_gemm", "(120 bytes)", "the launch needs 140"]),
    planted(
        "registered",
        &[
            "Host reads the destination of a copy that may not have run [hostcheck]",
            "queued by hipMemcpyAsync at registered.hip:40",
            "[memcheck]",
            "at through(int**, int*)+",
            "is freed memory",
            "allocated at registered.hip:26, freed at registered.hip:51",
        ],
    ),
    planted(
        "virtual_memory",
        &[
            "[memcheck]",
            "at count_up(int*, int)+",
            "is reserved, and no memory is mapped there: 4194304 bytes into",
            "allocated at virtual_memory.hip:18",
        ],
    ),
    planted(
        "stale_pointer",
        &["[memcheck]", "is freed memory", "freed at stale_pointer.hip:12", "(stale_pointer.hip:4)"],
    ),
];

/// Programs without a twin, and without a bug.
const CLEAN: [&str; 14] = [
    "device_printf-clean",
    "device_printf-buffered",
    "arrays",
    "pools",
    "cooperative",
    "volume",
    "saxpy",
    "saxpy-rocm5",
    "saxpy-rocm6",
    "saxpy-rocm7",
    "graph",
    "graph_nodes",
    "variables",
    "static_destructor",
];

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../backend-hip/libamdhip64/programs")
}

/// Runs `assay sanitize` on one of the programs: exit code, standard output, standard error.
fn sanitize(options: &[&str], program: &str) -> (Option<i32>, String, String) {
    sanitize_path(options, programs().join(program).to_str().unwrap())
}

fn sanitize_path(options: &[&str], program: &str) -> (Option<i32>, String, String) {
    sanitize_command(options, &[program])
}

fn sanitize_command(options: &[&str], program: &[&str]) -> (Option<i32>, String, String) {
    // Cargo builds the library for the tests here.
    let library = std::env::current_exe().unwrap().with_file_name("libamdhip64.so");
    assert!(library.exists(), "{} is missing", library.display());
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.arg("sanitize").args(options).arg("--").args(program);
    let output = command.env("ASSAY_LIBAMDHIP64", library).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn every_planted_bug_is_named_under_every_schedule() {
    for Planted { program, says } in PLANTED {
        for schedule in SCHEDULES {
            let (code, _, errors) = sanitize(&["--schedule", schedule], program);
            assert_eq!(code, Some(1), "{program}, {schedule}:\n{errors}");
            for part in says {
                assert!(errors.contains(part), "{program}, {schedule}: no '{part}' in\n{errors}");
            }
        }
    }
}

#[test]
fn a_fault_ends_the_context_unless_the_kernel_alone_is_to_end() {
    let (code, out, _) = sanitize(&[], "several_faults");
    assert_eq!((code, out.as_str()), (Some(1), "copy: hipErrorIllegalAddress, out[0] = 9, out[255] = 9\n"));
    let (code, out, errors) = sanitize(&["--destroy-on-device-error", "kernel"], "several_faults");
    assert_eq!((code, out.as_str()), (Some(1), "copy: hipSuccess, out[0] = 9, out[255] = 9\n"));
    assert!(errors.contains("ERROR SUMMARY: 3 errors (initcheck 1, memcheck 2)"), "{errors}");
    assert!(!errors.contains("messenger"), "{errors}");
}

#[test]
fn clean_programs_have_no_report_under_any_schedule() {
    let twins = PLANTED.iter().map(|planted| format!("{}-clean", planted.program));
    for program in twins.chain(CLEAN.map(str::to_owned)) {
        for schedule in SCHEDULES {
            let (code, _, errors) = sanitize(&["--schedule", schedule], &program);
            assert_eq!(code, Some(0), "{program}, {schedule}:\n{errors}");
            assert!(errors.contains("ERROR SUMMARY: 0 errors in "), "{program}, {schedule}:\n{errors}");
        }
    }
}

#[test]
fn tools_that_are_not_asked_for_are_silent() {
    for (program, tool, other) in [
        ("leak", "leakcheck", "hostcheck"),
        ("missing_synchronise", "hostcheck", "memcheck,racecheck"),
        ("uninitialised", "initcheck", "memcheck,racecheck"),
        ("group_race", "racecheck", "memcheck"),
    ] {
        assert_eq!(sanitize(&["--tool", tool], program).0, Some(1), "{program}");
        let (code, _, errors) = sanitize(&["--tool", other], program);
        assert_eq!(code, Some(0), "{program}: {errors}");
    }
    // Kernels and launches that are not selected are checked for bounds only.
    let (code, _, errors) = sanitize(&["--kernel", "other"], "group_race");
    assert!(code == Some(2) && !errors.contains("Racing"), "{errors}");
    assert_eq!(sanitize(&["--kernel", "count"], "group_race").0, Some(1));
    assert_eq!(sanitize(&["--launch", "2-9"], "group_race").0, Some(2), "there is one launch");
    assert_eq!(sanitize(&["--launch", "1"], "group_race").0, Some(1));
    assert_eq!(sanitize(&["--kernel", "other"], "rope_positions").0, Some(1));
}

#[test]
fn processes_that_the_program_starts_are_checked_unless_it_alone_is_asked_for() {
    let leak = programs().join("leak");
    // The shell stays, so that the program is a process of its own.
    let shell = ["sh", "-c", "\"$0\"; true", leak.to_str().unwrap()];
    let (code, _, errors) = sanitize_command(&[], &shell);
    assert!(code == Some(1) && errors.contains("never freed"), "{errors}");
    let only = ["--target-processes", "application-only"];
    let (code, _, errors) = sanitize_command(&only, &shell);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("made no HIP call") && !errors.contains("never freed"), "{errors}");
    assert_eq!(sanitize(&only, "leak").0, Some(1));
}

#[test]
fn known_findings_can_be_suppressed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("known.toml");
    let known = path.to_str().unwrap();
    assert_eq!(sanitize(&["--write-suppressions", known], "leak").0, Some(1));
    let (code, _, errors) = sanitize(&["--suppressions", known], "leak");
    assert_eq!(code, Some(0), "{errors}");
    assert!(errors.contains("2 errors suppressed") && !errors.contains("never freed"), "{errors}");
    assert_eq!(sanitize(&["--suppressions", known], "double_free").0, Some(1));
    for (text, why) in
        [("[[suppression]]\n", "suppresses everything"), ("[[suppression]]\nkernal = 'x'\n", "kernal")]
    {
        std::fs::write(&path, text).unwrap();
        let (code, _, errors) = sanitize(&["--suppressions", known], "leak");
        assert_eq!(code, Some(2), "{errors}");
        assert!(errors.contains(why), "{errors}");
    }
}

#[test]
fn findings_are_written_to_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (json, html) = (path("r.json"), path("r.html"));
    let (code, _, errors) =
        sanitize(&["--json", &json, "--html", &html, "--error-exitcode", "77"], "rope_positions");
    assert_eq!(code, Some(77), "{errors}");
    let all: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!(all["exit_code"], 3);
    assert_eq!(all["findings"][0]["tool"], "memcheck");
    assert_eq!(all["findings"][0]["report"]["problem"]["nearest"]["size"], 128);
    assert_eq!(all["messengers"][0]["function"], "hipMemcpy");
    let page = std::fs::read_to_string(html).unwrap();
    assert!(page.contains("positions") && page.contains("only the messenger") && page.ends_with("</html>\n"));
    let (_, _, few) = sanitize(&["--max-errors", "1"], "leak");
    assert_eq!(few.matches("never freed").count(), 1, "{few}");
    assert!(few.contains("ERROR SUMMARY: 2 errors"), "{few}");
}

#[test]
fn the_program_s_output_and_exit_code_pass_through() {
    let (code, out, _) = sanitize(&[], "saxpy");
    assert_eq!((code, out.as_str()), (Some(0), "saxpy: right\n"));
    let (code, out, errors) = sanitize(&[], "unsupported");
    assert_eq!((code, out.as_str()), (Some(0), "hipErrorNotSupported\n"));
    assert!(errors.contains("not supported: hipIpcGetMemHandle"), "{errors}");
}

#[test]
fn the_schedule_decides_when_work_runs() {
    // The host does not wait, so that it sees the copy only where that has run at once.
    for (schedule, sees) in [("eager", "right: yes\n"), ("deferred", "right: no\n")] {
        assert_eq!(sanitize(&["--schedule", schedule], "missing_synchronise").1, sees, "{schedule}");
    }
    let seen = |seed: &str| sanitize(&["--schedule", "random", "--seed", seed], "missing_synchronise").1;
    let all: Vec<String> = (0..8).map(|seed| seen(&seed.to_string())).collect();
    assert!(all.contains(&"right: yes\n".to_owned()) && all.contains(&"right: no\n".to_owned()), "{all:?}");
}

#[test]
fn a_run_that_checked_nothing_is_an_error() {
    let (code, _, errors) = sanitize(&["--launch", "900"], "saxpy");
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("nothing was checked") && errors.contains("matches --launch 900"), "{errors}");
    let (code, _, errors) = sanitize(&["--kernel", "cuont"], "group_race");
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("matches --kernel cuont; it launched _Z5countPi"), "{errors}");
    assert!(errors.contains("the nearest name is _Z5countPi"), "{errors}");
    let (code, _, errors) = sanitize(&["--tool", "memcheck,racecheck"], "unsupported");
    assert!(code == Some(2) && errors.contains("it launched no kernel"), "{errors}");
    assert_eq!(sanitize(&["--kernel", ""], "saxpy").0, Some(2));
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    let output = command.args(["sanitize", "--", "true"]).env("ASSAY_LIBAMDHIP64", "").output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && errors.contains("ASSAY_LIBAMDHIP64 is empty"), "{errors}");
    let (code, _, errors) = sanitize_path(&[], "true");
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("nothing was checked"), "{errors}");
    let (code, _, errors) = sanitize_path(&[], "no-such-program");
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("no-such-program"), "{errors}");
    let (code, _, errors) = sanitize(&["--tool", "memchek"], "saxpy");
    assert_eq!(code, Some(2), "{errors}");
    let (code, _, errors) = sanitize(&["--launch", "0"], "saxpy");
    assert_eq!(code, Some(2), "{errors}");
}

#[test]
fn a_missing_library_is_told_with_what_builds_it() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = folder.path().join("assay");
    // A copy could still be open for writing in a process that another test is starting, and could not be run then.
    std::fs::hard_link(env!("CARGO_BIN_EXE_assay"), &program).unwrap();
    let output = Command::new(&program).args(["sanitize", "--", "true"]).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("-p assay-libamdhip64' makes it"), "{errors}");
}

/// Runs `assay replay`: exit code, standard output, standard error.
fn replay(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_assay")).arg("replay").args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// The lines of a report, without how they are set off.
fn lines(text: &str) -> Vec<&str> {
    text.lines().map(|line| line.trim_start_matches('=').trim()).collect()
}

/// Every planted bug of one launch becomes a capsule that fails in the same words without the program, and smaller.
#[test]
fn a_launch_that_failed_runs_again_without_its_program() {
    let folder = tempfile::tempdir().unwrap();
    let programs = [
        "rope_positions",
        "kv_heads",
        "uninitialised",
        "group_race",
        "lds_race",
        "divergent_barrier",
        "stale_pointer",
        "argument_size",
    ];
    for program in programs {
        let path = folder.path().join(format!("{program}.capsule"));
        let path = path.to_str().unwrap();
        let (code, _, errors) = sanitize(&["--save", path], program);
        assert_eq!(code, Some(1), "{program}:\n{errors}");
        assert!(errors.contains("capsule: assay replay"), "{program}:\n{errors}");
        let (code, out, wrong) = replay(&[path, "--shrink"]);
        assert_eq!(code, Some(1), "{program}:\n{out}{wrong}");
        assert!(
            out.contains("FAILED") && out.contains("as in its program") && !out.contains("not as in"),
            "{out}"
        );
        let said: Vec<&str> = lines(&errors);
        let report = out.lines().filter_map(|line| line.strip_prefix("    ")).map(str::trim);
        // The command names the tool behind the first line.
        for line in report.filter(|line| !line.is_empty()) {
            assert!(
                said.iter().any(|known| known.starts_with(line)),
                "{program}: '{line}' is not in\n{errors}"
            );
        }
        // The first block that goes past the end of the positions is number 32.
        assert!(program != "rope_positions" || out.contains("33 blocks, from 64"), "{out}");
        let (code, out, _) = replay(&[&path.replace(".capsule", ".small.capsule")]);
        assert_eq!(code, Some(1), "{program}:\n{out}");
        assert!(out.contains("as in its program") && !out.contains("not as in"), "{program}:\n{out}");
    }
    let (code, _, errors) =
        sanitize(&["--save", folder.path().join("none.capsule").to_str().unwrap()], "leak");
    assert!(code == Some(1) && errors.contains("no capsule"), "{errors}");
    assert!(!folder.path().join("none.capsule").exists());
}

/// A capsule that somebody has tampered with is bad input.
#[test]
fn broken_launch_capsules_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.capsule");
    assert_eq!(sanitize(&["--save", path.to_str().unwrap()], "rope_positions").0, Some(1));
    let whole = std::fs::read(&path).unwrap();
    let header = usize::try_from(u64::from_le_bytes(whole[..8].try_into().unwrap())).unwrap();
    let refused = |bytes: &[u8], what: &str| {
        let path = folder.path().join("b.capsule");
        std::fs::write(&path, bytes).unwrap();
        let (code, out, errors) = replay(&[path.to_str().unwrap()]);
        assert_eq!(code, Some(2), "{what}: {out}{errors}");
        assert!(errors.contains("b.capsule") && !errors.contains("panicked"), "{what}: {errors}");
    };
    for end in [0, 7, 8, 100, 8 + header, whole.len() - 1] {
        refused(&whole[..end], &format!("{end} bytes"));
    }
    let text = std::str::from_utf8(&whole[8..8 + header]).unwrap();
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from), "no '{from}' in {text}");
        let mut header = text.replacen(from, to, 1).into_bytes();
        header.resize(header.len().next_multiple_of(8), b' ');
        [&(header.len() as u64).to_le_bytes(), header.as_slice(), &whole[8 + text.len()..]].concat()
    };
    for (from, to) in [
        (r#"assay.launch":"1""#, r#"assay.launch":"2""#),
        (r#"\"size\":128,"#, r#"\"size\":18446744073709551615,"#),
        (r#"\"size\":128,"#, r#"\"size\":1152921504606846976,"#),
        (r#"\"size\":128,"#, r#"\"size\":1,"#),
        (r#"\"grid\":["#, r#"\"grid\":[1,"#),
        (r#"\"pieces\":[["#, r#"\"pieces\":[[0,18446744073709551615],["#),
        (r#"\"kernel\":\"_Z"#, r#"\"kernel\":\"_Q"#),
        (r#"\"image_base\":"#, r#"\"image_base\":1,\"image_base\":"#),
        (r#""arguments":{"#, r#""argumentz":{"#),
        (
            r#""code_object":{"#,
            r#""arguments":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"code_object":{"#,
        ),
    ] {
        refused(&changed(from, to), to);
    }
    let (code, _, errors) = replay(&[path.to_str().unwrap(), "--backend", "cpu"]);
    assert!(code == Some(2) && errors.contains("software device"), "{errors}");
}

/// No GPU is here: the drop-in library in a process of its own, without the command's settings, stands for the real one.
fn on_gpu(options: &[&str], program: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let built = |name: &str| std::env::current_exe().unwrap().with_file_name(name);
    std::os::unix::fs::symlink(built("libamdhip64.so"), folder.path().join("libamdhip64.so.6")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.args(["sanitize", "--on", "gpu"]).args(options).arg("--").arg(programs().join(program));
    command.env("LD_LIBRARY_PATH", folder.path()).env("GCORE_D2H_AUDIT", "1");
    let output = command.env("ASSAY_HIP_FORWARD", built("libassay_hip_forward.so")).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn on_a_gpu_the_launch_that_fails_is_named_and_explained() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gpu.capsule");
    let path = path.to_str().unwrap();
    let (code, errors) = on_gpu(&["--save", path], "rope_positions");
    assert_eq!(code, Some(1), "{errors}");
    for part in [
        "launch 1, of _Z4ropePfPKiii, by hipLaunchKernel in forward (rope_positions.hip:35): hipErrorIllegalAddress [gpu]",
        "the same launch on the software device:",
        "at the end of 'positions' (128 bytes)",
        "the launch needs 256, the buffer has 128",
        "ERROR SUMMARY: 1 error (gpu 1)",
    ] {
        assert!(errors.contains(part), "no '{part}' in\n{errors}");
    }
    let (code, out, wrong) = replay(&[path, "--shrink"]);
    assert_eq!(code, Some(1), "{out}{wrong}");
    assert!(out.contains("in its program, on a GPU: hipErrorIllegalAddress"), "{out}");
    assert!(out.contains("33 blocks, from 64"), "{out}");
    let (code, errors) = on_gpu(&["--sync-per-op"], "rope_positions-clean");
    assert_eq!(code, Some(0), "{errors}");
    for part in [
        "[D2H_AUDIT_START] op_id=",
        "result=hipSuccess tensor=logits",
        "ERROR SUMMARY: 0 errors in 2 launches",
    ] {
        assert!(errors.contains(part), "no '{part}' in\n{errors}");
    }
    let (code, errors) = on_gpu(&["--save", path], "stale_pointer");
    assert_eq!(code, Some(1), "{errors}");
    assert!(
        errors.contains("is freed memory") && errors.contains("freed at stale_pointer.hip:12"),
        "{errors}"
    );
}

#[test]
fn on_a_gpu_a_write_past_the_end_changes_a_guard_zone() {
    let options = ["--guard-zones", "--sync-per-op"];
    let (code, errors) = on_gpu(&options, "several_faults");
    assert_eq!(code, Some(1), "{errors}");
    for part in [
        "at the end of 'out' (1024 bytes)",
        "at the end of 'twice' (1024 bytes)",
        "its guard zone has changed; seen by hipLaunchKernel, after launch 1, of split(int const*, int*, int*)",
        "allocated at several_faults.hip:30",
    ] {
        assert!(errors.contains(part), "no '{part}' in\n{errors}");
    }
    let (code, errors) = on_gpu(&options, "several_faults-clean");
    assert_eq!(code, Some(0), "{errors}");
    let (code, _, errors) = sanitize(&["--guard-zones"], "saxpy");
    assert!(code == Some(2) && errors.contains("--guard-zones is for --on gpu"), "{errors}");
}

#[test]
fn a_long_kernel_says_how_far_it_is() {
    let line = |done, seconds| {
        assay_cli::report::sanitize::progress_text(&sanitize_protocol::Progress {
            process: 1,
            kernel: "spin(int*, int)".to_owned(),
            done,
            groups: 64,
            instructions: 46_500_000,
            seconds,
        })
    };
    let begun = "spin(int*, int) has run for 10 s: 0 of 64 workgroups, 46 million instructions";
    assert_eq!(line(0, 10), begun);
    let going =
        "spin(int*, int) has run for 10 s: 16 of 64 workgroups, 46 million instructions, about 30 s left";
    assert_eq!(line(16, 10), going);
}
