//! Cases in a process of their own, so that a crash or a hang costs one case.
//!
//! The parent writes the full name of a case, or `capsule:` and a file, as a line; the worker answers with a line of JSON, its [`CaseResult`]. A worker
//! that dies, or does not answer in time, is replaced.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use conformance::guard::Guard;
use conformance::outcome::{CaseResult, Fidelity, Outcome};
use conformance::suite;
use conformance::trial::{Failure, Finder};
use forensics::replay;
use softhip::control::SoftDevice;

use crate::backends::Opened;

/// Bytes of a dead worker's last words that a report shows.
const LAST_WORDS: usize = 2000;

/// How workers are started.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The program; its argument `worker` makes it one.
    pub program: PathBuf,
    /// The backend of every case; `None` runs each on the one that its name says.
    pub backend: Option<String>,
    /// What notices an access outside a buffer.
    pub guard: Guard,
    /// How long a case may take.
    pub timeout: Duration,
    /// Folder in which each op is stored before it runs.
    pub record: Option<PathBuf>,
}

struct Process {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<String>,
    last_words: Arc<Mutex<Vec<u8>>>,
}

/// A process that runs cases, started when the first case needs it and after each death.
#[derive(Debug)]
pub struct Worker {
    recipe: Recipe,
    process: Option<Process>,
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Process({})", self.child.id())
    }
}

impl Worker {
    /// A worker that is not yet started.
    pub const fn new(recipe: Recipe) -> Self {
        Worker { recipe, process: None }
    }

    /// Runs a case. A crash, an abort or a hang is the case's result.
    pub fn run(&mut self, name: &str) -> io::Result<CaseResult> {
        let mut process = match self.process.take() {
            Some(process) => process,
            None => self.start()?,
        };
        // A worker that died between two cases is noticed here; the case has not begun, so it is not to blame.
        if writeln!(process.requests, "{name}").and_then(|()| process.requests.flush()).is_err() {
            process = self.start()?;
            writeln!(process.requests, "{name}").and_then(|()| process.requests.flush())?;
        }
        match process.answers.recv_timeout(self.recipe.timeout) {
            Ok(line) => {
                let result: CaseResult = serde_json::from_str(&line)
                    .map_err(|e| io::Error::other(format!("worker answered '{line}': {e}")))?;
                if device_failed(&result) {
                    // A faulted context fails everything that follows: the next case gets a new one.
                    dismiss(process);
                } else {
                    self.process = Some(process);
                }
                Ok(result)
            }
            Err(RecvTimeoutError::Disconnected) => Ok(died(name, process)),
            Err(RecvTimeoutError::Timeout) => Ok(self.hung(name, process)),
        }
    }

    fn start(&self) -> io::Result<Process> {
        let mut command = Command::new(&self.recipe.program);
        command.arg("worker");
        if let Some(backend) = &self.recipe.backend {
            command.args(["--backend", backend]);
        }
        command.args(["--guard", &self.recipe.guard.to_string()]);
        if let Some(folder) = &self.recipe.record {
            command.arg("--record").arg(folder);
        }
        // Ctrl-C reaches the whole group of processes; a worker shall finish its case, and ends with its requests.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let missing = || io::Error::other("a worker without pipes");
        let requests = child.stdin.take().ok_or_else(missing)?;
        let output = child.stdout.take().ok_or_else(missing)?;
        let mut errors = child.stderr.take().ok_or_else(missing)?;
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let last_words = Arc::new(Mutex::new(Vec::new()));
        let words = Arc::clone(&last_words);
        std::thread::spawn(move || {
            let mut buffer = [0; 1024];
            while let Ok(n @ 1..) = io::Read::read(&mut errors, &mut buffer) {
                let Ok(mut words) = words.lock() else { break };
                words.extend_from_slice(&buffer[..n]);
                let excess = words.len().saturating_sub(LAST_WORDS);
                words.drain(..excess);
            }
        });
        Ok(Process { child, requests, answers, last_words })
    }

    fn hung(&self, name: &str, mut process: Process) -> CaseResult {
        // Killing what has just ended fails, and is no matter.
        let _ = process.child.kill();
        let _ = process.child.wait();
        lost(name, Finder::Hang, format!("no answer within {:?}", self.recipe.timeout))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            dismiss(process);
        }
    }
}

/// Lets a worker end: its requests do.
fn dismiss(mut process: Process) {
    drop(process.requests);
    let _ = process.child.wait();
}

fn device_failed(result: &CaseResult) -> bool {
    matches!(&result.outcome, Outcome::Failed(failures) if failures.iter().any(|f| f.found_by == Finder::Device))
}

fn died(name: &str, mut process: Process) -> CaseResult {
    drop(process.requests);
    let status = process.child.wait().map_or_else(|e| e.to_string(), |status| status.to_string());
    let words =
        process.last_words.lock().map(|w| String::from_utf8_lossy(&w).trim().to_owned()).unwrap_or_default();
    let said = if words.is_empty() { "it said nothing".into() } else { format!("its last words: {words}") };
    lost(name, Finder::Crash, format!("the process died ({status}); {said}"))
}

pub(crate) fn lost(name: &str, found_by: Finder, what: String) -> CaseResult {
    let outcome = Outcome::Failed(vec![Failure { found_by, what }]);
    CaseResult { name: name.into(), outcome, worst: None, compared: 0, micros: 0, fidelity: None }
}

/// What stands behind all that a device has run since it was asked last; `None` where that is nothing.
fn fidelity(device: &SoftDevice) -> Option<Fidelity> {
    let counters = device.take_counters();
    let (exact, modelled, approximate) = (counters.exact(), counters.modelled, counters.approximate);
    (counters.launches > 0).then_some(Fidelity { exact, modelled, approximate, untested: counters.untested })
}

/// The worker's side: answers each line of `requests` until they end. A case runs on `backend`, or where there is none on the one that
/// its name says; `open` opens a backend, once for all its cases.
pub fn serve<E: Into<io::Error>>(
    backend: Option<&str>,
    mut open: impl FnMut(&str) -> Result<Opened, E>,
    requests: impl BufRead,
    mut answers: impl Write,
) -> io::Result<()> {
    let mut targets: HashMap<String, Opened> = HashMap::new();
    for name in requests.lines() {
        let name = name?;
        let capsule = name.strip_prefix(replay::PREFIX);
        let on = backend.or_else(|| name.split('/').nth(1)).unwrap_or_default();
        if !targets.contains_key(on) {
            targets.insert(on.into(), open(on).map_err(Into::into)?);
        }
        let (target, device) = &targets[on];
        let target = target.as_ref();
        let ran = match capsule {
            Some(path) => replay::replay(Path::new(path), target).map_err(|e| e.to_string()),
            None => suite::run(&name, target, suite::JUDGE).map_err(|e| e.to_string()),
        };
        let mut result = ran.unwrap_or_else(|error| lost(&name, Finder::Refusal, error));
        result.fidelity = device.as_deref().and_then(fidelity);
        serde_json::to_writer(&mut answers, &result)?;
        answers.write_all(b"\n")?;
        answers.flush()?;
    }
    Ok(())
}
