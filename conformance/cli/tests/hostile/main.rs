//! Hostile inputs for every reader of files and expressions. Models and code objects have test programs of their own besides, whose
//! damage knows their structure and which also run what they read: `engine/tests/hostile_gguf.rs`, `softhip/tests/hostile_objects.rs`.
//!
//! A reader is one short file in `readers/`: sound inputs, words of its language, what reads a file, and the command that does so for
//! people. Sound inputs must be read. Then the inputs of `found/`, and `ASSAY_FUZZ_INPUTS` damaged ones for each reader (2,000 unless set;
//! 20,000 in CI) from a fixed seed (`ASSAY_FUZZ_SEED`), must each be read or refused with a reason: without a panic, in little time, in
//! memory bounded by the file. Of a sample of them the command must say the same: exit code 2 and an error for what is refused, none of
//! its own for what is read, in an address space of 1 GiB. An input that fails is written to `found/`, where it stays as a test; one that
//! takes the program along stays in its temporary folder.
//!
//! The name of a reader is a filter: `ASSAY_FUZZ_INPUTS=1000000 cargo test --test hostile -- manifest`.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod damage;
#[path = "../../../../engine/tests/gguf_builder/mod.rs"]
mod gguf_builder;
mod readers;
mod safetensors_parts;

use std::ffi::OsString;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use damage::Rng;
use test_needs::memory::{Counting, measured};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What an input may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes that a reader may hold beside a multiple of its input.
const MEMORY: usize = 64 << 20;

/// What reads a kind of input that strangers may have written.
pub struct Reader {
    /// Name of the file in `readers`, and of its folder in `found`.
    pub name: &'static str,
    /// Inputs that must be read.
    pub sound: fn() -> Vec<Vec<u8>>,
    /// Words that mean something in such an input.
    pub words: &'static [&'static str],
    /// Reads the file that holds an input: `Err` says why it is refused.
    pub read: fn(&Path) -> Result<(), String>,
    /// The command that reads it; `None` where people have none.
    pub command: Option<Command>,
}

/// A command that reads a kind of input.
pub struct Command {
    /// Its arguments; `None` for inputs that no command line can have.
    pub args: fn(&Path) -> Option<Vec<OsString>>,
    /// How it may end where the input is read. Where it is refused the exit code is 2.
    pub ends: &'static [i32],
}

/// The command tries one of so many inputs that are read, and one of so many that are refused.
const SAMPLE: u64 = 1000;

/// Kilobytes of address space of a command.
const SPACE: &str = "1048576";

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// Writes a file anew. Some file systems flush one that is written over to the disk, and none does so with a new one.
fn write_new(file: &Path, bytes: &[u8]) {
    if let Err(error) = fs::remove_file(file) {
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{}: {error}", file.display());
    }
    fs::write(file, bytes).unwrap();
}

/// What came of an input.
fn outcome(reader: &Reader, file: &Path, input: &[u8]) -> Result<Result<(), String>, String> {
    write_new(file, input);
    let begin = Instant::now();
    let (read, peak) = measured(|| panic::catch_unwind(AssertUnwindSafe(|| (reader.read)(file))));
    let took = begin.elapsed();
    let peak = usize::try_from(peak).unwrap_or(0);
    let read = read.map_err(|_| "it panics".to_owned())?;
    if took > PATIENCE {
        return Err(format!("it takes {took:?}"));
    }
    if peak > MEMORY + 32 * input.len() {
        return Err(format!("it holds {peak} bytes for {} of input", input.len()));
    }
    if read.as_ref().is_err_and(String::is_empty) {
        return Err("it is refused without a reason".into());
    }
    Ok(read)
}

/// Lets the command read the file, which was read or refused here.
fn asked(reader: &Reader, file: &Path, read: &Result<(), String>) -> Result<(), String> {
    let Some(Command { args, ends }) = &reader.command else { return Ok(()) };
    let Some(args) = args(file) else { return Ok(()) };
    let program = env!("CARGO_BIN_EXE_assay");
    let script = format!("ulimit -v {SPACE}; exec timeout -s KILL {} \"$@\"", PATIENCE.as_secs());
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script, "sh", program]).args(&args).stdin(Stdio::null());
    let output = command.current_dir(file.parent().unwrap()).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    let (ends, want) = if read.is_ok() { (*ends, "read") } else { (&[2][..], "refused") };
    let code = output.status.code().ok_or_else(|| format!("assay {args:?}: {}: {error}", output.status))?;
    if !ends.contains(&code) {
        return Err(format!("it is {want} here ({read:?}), and assay {args:?} ends with {code}: {error}"));
    }
    if read.is_err() && !error.contains("error: ") {
        return Err(format!("assay {args:?} gives no reason: {error}"));
    }
    Ok(())
}

fn found_folder(reader: &Reader) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile/found").join(reader.name)
}

/// Inputs that a reader failed on once.
fn found(reader: &Reader) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(found_folder(reader)) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn try_reader(reader: &Reader) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("input");
    let sound = (reader.sound)();
    for (at, input) in sound.iter().enumerate() {
        let read = outcome(reader, &file, input)
            .unwrap_or_else(|what| panic!("{}: sound input {at}: {what}", reader.name));
        assert_eq!(read, Ok(()), "{}: sound input {at} is refused", reader.name);
        asked(reader, &file, &read)
            .unwrap_or_else(|what| panic!("{}: sound input {at}: {what}", reader.name));
    }
    for path in found(reader) {
        let read = outcome(reader, &file, &fs::read(&path).unwrap());
        let read = read.unwrap_or_else(|what| panic!("{}: {what}", path.display()));
        assert!(read.is_err(), "{} is read", path.display());
    }
    let seed = setting("ASSAY_FUZZ_SEED", 1);
    let inputs = setting("ASSAY_FUZZ_INPUTS", 2_000);
    // How many are read, and how many are refused.
    let mut counts = [0_u64; 2];
    let mut longest = Duration::ZERO;
    for iteration in 0..inputs {
        let seed = seed.wrapping_add(iteration);
        let input = damage::damaged(&sound, reader.words, &mut Rng::new(seed));
        let begin = Instant::now();
        let outcome = outcome(reader, &file, &input).and_then(|read| {
            let count = &mut counts[usize::from(read.is_err())];
            *count += 1;
            if *count % SAMPLE == 1 { asked(reader, &file, &read) } else { Ok(()) }
        });
        match outcome {
            Ok(()) => {}
            Err(what) => {
                fs::create_dir_all(found_folder(reader)).unwrap();
                let kept = found_folder(reader).join(format!("seed-{seed}"));
                fs::write(&kept, &input).unwrap();
                panic!("{}, ASSAY_FUZZ_SEED={seed}: {what}; kept as {}", reader.name, kept.display());
            }
        }
        longest = longest.max(begin.elapsed());
    }
    let [taken, refused] = counts;
    eprintln!(
        "{}: {inputs} inputs from seed {seed}: {taken} read, {refused} refused; at most {longest:?}",
        reader.name
    );
    assert!(
        inputs < 100 || (taken > 0 && taken < inputs),
        "{}: {taken} of {inputs} inputs are read",
        reader.name
    );
}

/// The harness finds what it looks for.
#[test]
fn a_reader_that_panics_hoards_or_gives_no_reason_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("input");
    let reader = |read| Reader { name: "planted", sound: Vec::new, words: &[], read, command: None };
    let what = |read| outcome(&reader(read), &file, b"x").unwrap_err();
    assert_eq!(what(|_| panic!("planted")), "it panics");
    let hoards = |_: &Path| {
        drop(std::hint::black_box(vec![0_u8; 65 << 20]));
        Ok(())
    };
    assert!(what(hoards).starts_with("it holds"));
    assert_eq!(what(|_| Err(String::new())), "it is refused without a reason");
    assert_eq!(outcome(&reader(|_| Err("no".into())), &file, b"x"), Ok(Err("no".into())));
    let asked = |read, ends| {
        let command = Some(Command { args: |_| Some(vec!["list".into(), "rope".into()]), ends });
        asked(&Reader { command, ..reader(|_| Ok(())) }, &file, &read)
    };
    assert_eq!(asked(Ok(()), &[0]), Ok(()));
    assert!(asked(Ok(()), &[1, 2]).unwrap_err().contains("ends with 0"));
    assert!(asked(Err("no".into()), &[0]).unwrap_err().contains("refused here"));
}
