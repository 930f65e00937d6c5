//! The LLVM disassembler as a subprocess.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What LLVM makes of the bytes of one trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The first bytes are not an instruction, or LLVM remarks that an operand is invalid.
    Invalid,
    /// Exactly one instruction.
    One(String),
    /// More than one.
    Many(Vec<String>),
    /// LLVM crashed on it.
    Crash,
}

/// An `llvm-mc` that can disassemble gfx942.
pub struct Disassembler {
    program: String,
}

/// Stands between trials in the output: an `s_nop` with a number that trials must not use.
pub const MARK: u32 = 0xbf80_feed;
const MARK_TEXT: &str = "s_nop 0xfeed";

impl Disassembler {
    pub fn new(program: String) -> Self {
        Self { program }
    }

    /// Disassembles each trial's words on their own.
    ///
    /// Some words crash LLVM. The output of a crashed run is lost, so its trials are halved
    /// and run again until the crash is alone.
    pub fn disassemble(&self, trials: &[Vec<u32>]) -> Vec<Verdict> {
        if let Some(verdicts) = self.run(trials) {
            return verdicts;
        }
        if trials.len() <= 1 {
            return vec![Verdict::Crash; trials.len()];
        }
        let (first, second) = trials.split_at(trials.len() / 2);
        let mut verdicts = self.disassemble(first);
        verdicts.extend(self.disassemble(second));
        verdicts
    }

    fn run(&self, trials: &[Vec<u32>]) -> Option<Vec<Verdict>> {
        let mut input = String::new();
        for words in trials {
            assert_ne!(words[0], MARK, "the mark cannot be a trial");
            push_line(&mut input, words);
            push_line(&mut input, &[MARK]);
        }
        // LLVM writes its warnings piece by piece; to a file, that costs a third of what it costs to a pipe.
        let warnings = TemporaryFile::new();
        let mut child = Command::new(&self.program)
            .args(["--disassemble", "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&warnings.0).unwrap())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // The write fails if LLVM crashes before it has read everything.
        let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
        let output = child.wait_with_output().unwrap();
        let written = writer.join().unwrap();
        // A normal run exits with 0 or 1; a crash leaves no exit code.
        output.status.code()?;
        written.unwrap();
        let bad = warned_lines(&String::from_utf8_lossy(&std::fs::read(&warnings.0).unwrap()));
        let stdout = String::from_utf8(output.stdout).unwrap();

        let mut verdicts = Vec::with_capacity(trials.len());
        let mut texts: Vec<String> = Vec::new();
        for line in stdout.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('.')) {
            if line != MARK_TEXT {
                texts.push(line.split_whitespace().collect::<Vec<_>>().join(" "));
                continue;
            }
            let input_line = 2 * verdicts.len() + 1;
            let texts = std::mem::take(&mut texts);
            let invalid = bad.contains(&input_line) || texts.first().is_none_or(|text| text.contains("/*"));
            verdicts.push(match (invalid, texts) {
                (true, _) => Verdict::Invalid,
                (false, mut texts) if texts.len() == 1 => Verdict::One(texts.remove(0)),
                (false, texts) => Verdict::Many(texts),
            });
        }
        assert_eq!(verdicts.len(), trials.len(), "one verdict per trial");
        Some(verdicts)
    }
}

/// A file of the test's own, gone when dropped.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("llvm-warnings-{}-{number}", std::process::id());
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // It may never have been made.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Appends `[0x01,0x02,…]`: bytes in brackets are decoded apart from what follows.
fn push_line(input: &mut String, words: &[u32]) {
    let mut before = '[';
    for byte in words.iter().flat_map(|word| word.to_le_bytes()) {
        write!(input, "{before}{byte:#04x}").unwrap();
        before = ',';
    }
    input.push_str("]\n");
}

/// Input lines whose first instruction drew a warning: `<stdin>:LINE:2: warning: …`.
fn warned_lines(stderr: &str) -> HashSet<usize> {
    stderr
        .lines()
        .filter_map(|line| line.strip_prefix("<stdin>:"))
        .filter_map(|rest| {
            let mut parts = rest.split(':');
            let (line, column) = (parts.next()?, parts.next()?);
            (column == "2").then(|| line.parse().ok())?
        })
        .collect()
}
