//! What the command does where the system fails it: each read, write, rename and allocation fails in turn while it checks, runs, compares
//! and replays.
//!
//! A failure that matters ends the command with exit code 2 or 3 and an error; the others change nothing. In either case files are whole
//! or not there, and nothing else is left. A sample of the calls of each kind fails in `cargo test`; `ASSAY_FAULTS=all` makes every one
//! of them fail, which takes an hour. Calls of HIP fail on the software device; those of the engine alone do so one by one in
//! `engine/tests/failing_calls.rs`.
//!
//! `fail_call.c` makes system calls fail, `fail_alloc.c` allocations; a C compiler is needed for them.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};

use tempfile::TempDir;

const ASSAY: &str = env!("CARGO_BIN_EXE_assay");
const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/tiny/llama.gguf");

/// Calls of a kind that fail in `cargo test`, for each command.
const SAMPLE: usize = 6;

fn main() -> ExitCode {
    let mut need = test_needs::c_compiler();
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        need = need.missing("Linux on x86-64 is needed to make system calls fail");
    }
    test_needs::run(test_needs::trials!(need;
        reads_fail,
        writes_fail,
        renames_fail,
        allocations_fail,
        large_allocations_fail,
        hip_calls_fail,
    ))
}

fn reads_fail(compiler: &str) {
    calls_fail(compiler, "read");
}

fn writes_fail(compiler: &str) {
    calls_fail(compiler, "write");
}

fn renames_fail(compiler: &str) {
    calls_fail(compiler, "rename");
}

fn allocations_fail(compiler: &str) {
    memory_fails(compiler, 0);
}

/// Those that a model's size decides.
fn large_allocations_fail(compiler: &str) {
    memory_fails(compiler, 16 << 10);
}

/// A command, and the files that it writes.
struct Job {
    words: Vec<String>,
    writes: Vec<String>,
}

fn words(text: &str) -> Vec<String> {
    text.split('|').map(str::to_owned).collect()
}

/// The commands that must take failures well; `failing` is a capsule of an op that is wrong on a backend.
fn jobs(failing: &Path) -> Vec<Job> {
    let failing = failing.display();
    vec![
        Job {
            words: words(
                "check|add/ rows=5 exact|--backend|cpu|--html|a.html|--json|a.json|--junit|a.xml|--jobs|1",
            ),
            writes: ["a.html", "a.json", "a.xml"].map(str::to_owned).into(),
        },
        Job {
            words: words(&format!(
                "run|-m|{MODEL}|-p|the quick|-n|2|-t|1|--tap|x_out,logits|--tap-out|a.safetensors|--json|a.json"
            )),
            writes: ["a.json", "a.safetensors"].map(str::to_owned).into(),
        },
        Job {
            words: words(&format!(
                "diff|-m|{MODEL}|-p|the quick|-n|2|--threads|1|--collect|--html|a.html|--json|a.json"
            )),
            writes: ["a.html", "a.json"].map(str::to_owned).into(),
        },
        Job {
            words: words(&format!("replay|{failing}|--shrink|--out|a.capsule")),
            writes: ["a.capsule"].map(str::to_owned).into(),
        },
    ]
}

/// A capsule of an op that is wrong on the backend that it names.
fn failing_capsule(folder: &Path) -> PathBuf {
    let saved = folder.join("saved");
    let args = [
        "check",
        "rms_norm bounded n=576",
        "--backend",
        "mutant:rms-norm-eps-missing",
        "--save-capsules",
        "saved",
    ];
    let output = Command::new(ASSAY).args(args).current_dir(folder).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    fs::read_dir(saved).unwrap().next().unwrap().unwrap().path()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder in which a command runs, with one for its temporary files beside it, and a file that is to be replaced.
struct Place(TempDir);

/// Where `check` keeps the names of cases that failed.
const KEPT: &str = "assay-regressions.txt";

const OLD: &str = "what was there before";

impl Place {
    fn new(job: &Job) -> Self {
        let place = Place(tempfile::tempdir().unwrap());
        fs::create_dir(place.out()).unwrap();
        fs::create_dir(place.temporary()).unwrap();
        if let Some(first) = job.writes.first() {
            fs::write(place.out().join(first), OLD).unwrap();
        }
        place
    }

    fn out(&self) -> PathBuf {
        self.0.path().join("out")
    }

    fn temporary(&self) -> PathBuf {
        self.0.path().join("tmp")
    }

    fn report(&self) -> PathBuf {
        self.0.path().join("report")
    }

    /// Runs a command here.
    fn run(&self, command: &mut Command) -> Output {
        command.current_dir(self.out()).env("TMPDIR", self.temporary()).stdin(Stdio::null());
        command.output().unwrap()
    }

    /// What is wrong with the files that are here after a command.
    fn faults(&self, job: &Job, ended: bool) -> Vec<String> {
        let mut faults = Vec::new();
        for (folder, known) in [(self.out(), &job.writes[..]), (self.temporary(), &[])] {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap();
                if name == KEPT {
                    continue;
                }
                if !known.iter().any(|known| known == name) {
                    faults.push(format!("{name} is left"));
                } else if !is_whole(&path) {
                    faults.push(format!("{name} is half written"));
                }
            }
        }
        for (at, name) in job.writes.iter().enumerate() {
            let path = self.out().join(name);
            let old = fs::read_to_string(&path).is_ok_and(|text| text == OLD);
            match (ended, path.exists()) {
                (true, true) if old => faults.push(format!("{name} was not written")),
                (true, false) => faults.push(format!("{name} is not there")),
                (false, false) if at == 0 => faults.push(format!("{name} was lost")),
                _ => {}
            }
        }
        faults
    }
}

/// Whether a file is as somebody wrote it.
fn is_whole(path: &Path) -> bool {
    let bytes = fs::read(path).unwrap();
    let ends = |end: &str| String::from_utf8_lossy(&bytes).trim_end().ends_with(end);
    bytes == OLD.as_bytes()
        || match path.extension().unwrap().to_str().unwrap() {
            "html" => ends("</html>"),
            "xml" => ends("</testsuites>"),
            "json" => serde_json::from_slice::<serde_json::Value>(&bytes).is_ok(),
            _ => safetensors::SafeTensors::deserialize(&bytes).is_ok(),
        }
}

/// Whether everything fails in turn.
fn every_one() -> bool {
    std::env::var("ASSAY_FAULTS").is_ok_and(|value| value == "all")
}

/// Which of so many calls fail: all of them, or a sample that is denser at either end, where files are opened and written.
fn chosen(count: usize) -> Vec<usize> {
    if every_one() || count <= SAMPLE {
        return (1..=count).collect();
    }
    let half = SAMPLE / 2;
    let near = |at: usize| 1 + (count - 1) * at * at / (2 * half * half);
    let mut chosen: Vec<usize> = (0..half).flat_map(|at| [near(at), count + 1 - near(at)]).collect();
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

/// What came of the failures of one kind.
#[derive(Default)]
struct Tally {
    /// How often a command ended with a code.
    codes: BTreeMap<i32, usize>,
    faults: String,
}

impl Tally {
    /// `words`: those of which an error must have one.
    fn add(&mut self, what: &str, job: &Job, place: &Place, output: &Output, well: i32, words: &[&str]) {
        let code = output.status.code().unwrap_or(-1);
        *self.codes.entry(code).or_default() += 1;
        let error = stderr(output);
        let mut faults = place.faults(job, code == well);
        match code {
            _ if code == well => {}
            2 | 3 if error.contains("error: ") && words.iter().any(|word| error.contains(word)) => {}
            2 | 3 => faults.push("the error does not say what failed".into()),
            other => faults.push(format!("exit code {other}")),
        }
        for fault in faults {
            let _ = writeln!(self.faults, "{what}: {}: {fault}: {}", job.words[0], error.trim());
        }
    }

    fn end(self, what: &str) {
        eprintln!("{what}: exit codes and how often: {:?}", self.codes);
        assert!(self.faults.is_empty(), "{}", self.faults);
        assert!(self.codes.contains_key(&2) || self.codes.contains_key(&3), "nothing failed");
    }
}

/// Compiles a file of this folder.
fn compile(compiler: &str, source: &str, options: &[&str], out: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults").join(source);
    let output =
        Command::new(compiler).args(["-O1", "-o"]).arg(out).arg(source).args(options).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

/// System calls of a class fail in turn.
fn calls_fail(compiler: &str, class: &str) {
    let folder = tempfile::tempdir().unwrap();
    let tool = folder.path().join("fail_call");
    compile(compiler, "fail_call.c", &[], &tool);
    let failing = failing_capsule(folder.path());
    let mut tally = Tally::default();
    for job in jobs(&failing) {
        let run = |number: usize| {
            let place = Place::new(&job);
            let mut command = Command::new(&tool);
            command.args([class, &number.to_string()]).arg(place.report()).arg(ASSAY).args(&job.words);
            let output = place.run(&mut command);
            let report = fs::read_to_string(place.report()).unwrap();
            let (count, failed) = report.trim().split_once(' ').unwrap();
            (place, output, count.parse::<usize>().unwrap(), failed.to_owned())
        };
        let (place, output, count, _) = run(0);
        let well = output.status.code().unwrap();
        assert!(well < 2 && place.faults(&job, true).is_empty(), "{}", stderr(&output));
        for number in chosen(count) {
            let (place, output, _, failed) = run(number);
            let what = format!("{class} {number} of {count} ({failed})");
            tally.add(&what, &job, &place, &output, well, &["Input/output error", "(os error 5)"]);
        }
    }
    tally.end(class);
}

/// Allocations of `least` bytes and more fail in turn.
fn memory_fails(compiler: &str, least: usize) {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("fail_alloc.so");
    compile(compiler, "fail_alloc.c", &["-shared", "-fPIC", "-ldl"], &library);
    let failing = failing_capsule(folder.path());
    let mut tally = Tally::default();
    for job in jobs(&failing) {
        let run = |number: usize| {
            let place = Place::new(&job);
            let mut command = Command::new(ASSAY);
            command.args(&job.words).env("LD_PRELOAD", &library).env("FAIL_ALLOC_REPORT", place.report());
            command.env("FAIL_ALLOC", number.to_string()).env("FAIL_ALLOC_LEAST", least.to_string());
            let output = place.run(&mut command);
            (place, output)
        };
        let (place, output) = run(0);
        let well = output.status.code().unwrap();
        assert!(well < 2 && place.faults(&job, true).is_empty(), "{}", stderr(&output));
        let report = fs::read_to_string(place.report()).unwrap();
        let count = report.lines().map(|line| line.parse().unwrap()).max().unwrap();
        for number in chosen(count) {
            let (place, output) = run(number);
            let what = format!("allocation {number} of {count}, of at least {least} bytes");
            tally.add(&what, &job, &place, &output, well, &["out of memory"]);
        }
    }
    tally.end("allocations");
}

/// Calls of HIP fail in turn, further and further into the command, until none is left.
///
/// Where an op is judged, a device that fails at it is a verdict on the op, as a kernel may be what the device died of: exit code 1, and
/// the report names the call.
fn hip_calls_fail(_: &str) {
    let folder = tempfile::tempdir().unwrap();
    let failing = failing_capsule(folder.path()).display().to_string();
    let jobs = [
        ("check|add/ rows=5 exact n=31|--backend|soft|--html|a.html|--json|a.json|--jobs|1", "a.html|a.json"),
        (
            "run|-m|MODEL|-p|dog|-n|2|--backend|soft|--tap|x_out|--tap-out|a.safetensors|--json|a.json",
            "a.json|a.safetensors",
        ),
        ("diff|-m|MODEL|-p|dog|-n|1|--right|soft|--html|a.html|--json|a.json", "a.html|a.json"),
        (&format!("replay|{failing}|--backend|soft"), ""),
    ];
    let mut tally = Tally::default();
    for (text, writes) in jobs {
        let writes = writes.split('|').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let job = Job { words: words(&text.replace("MODEL", MODEL)), writes };
        let run = |call: u64| {
            let place = Place::new(&job);
            let mut command = Command::new(ASSAY);
            command.args(&job.words).env("ASSAY_FAILING_HIP_CALL", call.to_string());
            let output = place.run(&mut command);
            (place, output)
        };
        let (place, output) = run(u64::MAX);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(place.faults(&job, true), [""; 0]);
        let (mut call, mut harmless) = (0, 0);
        while harmless < 3 {
            let (place, output) = run(call);
            let named = |text: &[u8]| String::from_utf8_lossy(text).contains("hip");
            match output.status.code() {
                Some(1) if job.words[0] != "run" && named(&output.stdout) => {
                    *tally.codes.entry(1).or_default() += 1;
                    assert_eq!(place.faults(&job, true), [""; 0], "call {call} of {text}");
                }
                _ => tally.add(&format!("call {call} of HIP"), &job, &place, &output, 0, &["hip"]),
            }
            harmless = if output.status.code() == Some(0) { harmless + 1 } else { 0 };
            call = if every_one() { call + 1 } else { call * 8 / 5 + 1 };
        }
    }
    tally.end("calls of HIP");
}
