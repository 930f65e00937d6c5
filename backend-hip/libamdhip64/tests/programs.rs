//! Programs that clang compiled and linked with `-lamdhip64` run on the library, found by `LD_LIBRARY_PATH` alone.

use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sha2::{Digest as _, Sha256};

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs")
}

/// A folder that has the library under the names that programs of different releases ask for.
fn library_folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libamdhip64").join(test);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let program = env::current_exe().expect("the test has a path");
    let library = program.with_file_name("libamdhip64.so");
    assert!(library.exists(), "cargo builds {} with the tests", library.display());
    for name in ["libamdhip64.so.5", "libamdhip64.so.6", "libamdhip64.so.7"] {
        let link = folder.join(name);
        if link.symlink_metadata().is_ok() {
            std::fs::remove_file(&link).expect("the old link can be removed");
        }
        symlink(&library, &link).expect("the link can be made");
    }
    folder
}

fn command(program: &str) -> Command {
    let mut command = Command::new(programs().join(program));
    command.env("LD_LIBRARY_PATH", library_folder(program)).env("LD_BIND_NOW", "1");
    command
}

fn run(program: &str) -> Output {
    command(program).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("programs print UTF-8")
}

#[track_caller]
fn assert_clean(program: &str, said: &str) {
    let output = run(program);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    assert_eq!((out, err), (said, ""));
}

#[test]
fn saxpy_gives_the_right_result() {
    assert_clean("saxpy", "saxpy: right\n");
}

#[test]
fn programs_linked_against_versioned_symbols_run() {
    for program in ["saxpy-rocm5", "saxpy-rocm6", "saxpy-rocm7"] {
        if env!("SYMBOL_VERSIONS") == "defined" {
            assert_clean(program, "saxpy: right\n");
        } else {
            // The loader binds the symbols all the same, and prints a line about it.
            assert_eq!(text(&run(program).stdout), "saxpy: right\n");
        }
    }
}

#[test]
fn programs_and_kernels_are_built_from_the_present_sources() {
    for folder in [programs(), Path::new(env!("CARGO_MANIFEST_DIR")).join("blas")] {
        assert_built_from_present_sources(&folder);
    }
}

fn assert_built_from_present_sources(folder: &Path) {
    let build = folder.join("build.sh");
    let recorded = std::fs::read_to_string(folder.join("SHA256SUMS")).expect("the file is there");
    let mut listed = BTreeSet::new();
    for line in recorded.lines() {
        let (hash, name) = line.split_once("  ").expect("a hash and a name");
        let bytes = std::fs::read(folder.join(name)).expect("a listed file is there");
        let actual = Sha256::digest(&bytes).iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("a string grows");
            hex
        });
        assert_eq!(actual, hash, "{name} has changed: run {}", build.display());
        listed.insert(name.to_owned());
    }
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
        let known = listed.contains(&name) || name == "SHA256SUMS" || name == "build.sh";
        assert!(known, "{name} is not recorded: run {}", build.display());
    }
}

#[test]
fn variables_streams_and_queries_work() {
    assert_clean("variables", "variables: right\n");
}

#[test]
fn a_write_past_the_end_is_reported_and_the_error_sticks() {
    let output = run("out_of_bounds");
    let said = "copy: hipErrorIllegalAddress\nlast error: hipErrorIllegalAddress\n\
                last error again: hipErrorIllegalAddress\n";
    assert_eq!(text(&output.stdout), said);
    let report = text(&output.stderr);
    for part in ["saxpy", "out_of_bounds.hip:7", "4000 bytes"] {
        assert!(report.contains(part), "{part}: {report}");
    }
}

#[test]
fn an_unsupported_call_says_its_name() {
    let output = run("unsupported");
    assert_eq!(text(&output.stdout), "hipErrorNotSupported\n");
    let line = "assay: hipIpcGetMemHandle is not supported by the software device\n";
    assert_eq!(text(&output.stderr), line);
}

#[test]
fn a_captured_graph_runs_and_can_be_updated() {
    assert_clean("graph", "graph: right\n");
}

#[test]
fn workgroups_of_a_cooperative_launch_wait_for_each_other() {
    assert_clean("cooperative", "cooperative: right\n");
}

#[test]
fn arrays_are_copied_in_part_and_configured_calls_launch() {
    assert_clean("arrays", "arrays: right\n");
}

#[test]
fn boxes_are_copied_and_filled() {
    assert_clean("volume", "volume: right\n");
}

#[test]
fn static_destructors_and_looked_up_functions_work() {
    let said = "in main: 0 gfx942\nafter main: 3 hipErrorInvalidDeviceFunction\n";
    assert_clean("static_destructor", said);
}

const PRINTED: &str = "before\n0: ab has  0.00, end\n1: ab has  0.50, end\n2: ab has  0.00, end\n3: ab has  0.50, end\n\
                       between\nx[0] is 7\nafter: hipSuccess\n";

#[test]
fn what_kernels_print_stands_between_what_the_program_prints() {
    assert_clean("device_printf-clean", PRINTED);
    assert_clean("device_printf-buffered", PRINTED);
}

#[test]
fn an_assertion_of_a_kernel_prints_to_the_error_stream_and_fails_the_launch() {
    let output = run("device_printf");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(out.ends_with("between\nafter: hipErrorLaunchFailure\n"), "{out}");
    let said = |whole: &str| err.lines().filter(|line| *line == whole).count();
    assert_eq!(
        said("device_printf.hip:13: void count(const int *, int): Device-side assertion `i < n' failed."),
        4,
        "{err}"
    );
    assert!(err.contains("assay: Trap\n") && err.contains("at _Z5countPKii-0x"), "{err}");
}

/// A compiler is not needed for the tests: where there is none, or none that finds its libraries, only the refusal is looked at.
#[test]
fn kernels_are_compiled_at_run_time() {
    let mut alone = command("rtc");
    alone.env("PATH", "/nowhere").env("ROCM_PATH", "/nowhere").env_remove("HIP_CLANG_PATH");
    let refused = alone.output().expect("the program starts");
    for said in [text(&refused.stdout), text(&refused.stderr)] {
        assert!(said.contains("hiprtc needs clang"), "{said}");
    }
    let path = env::var_os("PATH").unwrap_or_default();
    if env::split_paths(&path).any(|folder| folder.join("clang++-19").is_file()) {
        assert_clean("rtc", "log: right\nname: _Z5scaleIfEvPT_i\nrtc: right\n");
    }
}
