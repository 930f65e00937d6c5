//! Cases in a process of their own, so that a crash or a hang costs one case.
//!
//! The parent writes the full name of a case, or that of a capsule, as a line; the worker answers with a line of JSON: the [`CaseResult`],
//! or why the capsule is none. A worker that dies, or does not answer in time, is replaced. One whose parent dies ends.
//!
//! `contradiction:` and a list of failed cases asks what their backend behaves like instead of what it declares.
//!
//! `describe:` and the name of a backend asks what it is, for backends that this process had better not open itself; `examine:` and a
//! question in JSON what can be found out of a plug-in.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use conformance::declaration::{self, Contradiction};
use conformance::guard::Guard;
use conformance::outcome::{CaseResult, Fidelity, Outcome};
use conformance::own::lost;
use conformance::suite;
use conformance::taken::Taken;
use conformance::trial::Finder;
use forensics::replay;
use kernels::Identity;
use serde::{Deserialize, Serialize};
use softhip::control::SoftDevice;

use crate::backends::Opened;
use crate::foreign::ForeignFiles;
use crate::report::place;

/// Asks what the backend is that is named behind it.
const DESCRIBE: &str = "describe:";

/// Asks the question behind it of the plug-in.
const EXAMINE: &str = "examine:";

/// Asks what the backend of the cases that are listed behind it, in JSON, behaves like instead of what it declares.
const CONTRADICTION: &str = "contradiction:";

/// Bytes of a dead worker's last words that a report shows.
const LAST_WORDS: usize = 2000;

/// Less than this is not worth waiting for.
const LEAST_PATIENCE: Duration = Duration::from_millis(100);

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
    /// Kernels of other people in the place of ours.
    pub foreign: Option<ForeignFiles>,
    /// The plug-in.
    pub plugin: Option<PathBuf>,
}

/// What a worker says of a backend.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Described {
    /// It is open.
    Open { device: String, place: String, taken: Taken },
    /// It cannot be opened.
    CannotBeOpened(String),
}

/// What came of a request.
enum Heard {
    Answer(String),
    Death,
    Silence,
}

/// What a worker says of a case.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    /// What came of it.
    Result(CaseResult),
    /// The file is no capsule: nothing ran, and no kernel is to blame.
    Unreadable(String),
}

struct Process {
    child: Child,
    requests: ChildStdin,
    /// Lines, until there are none any more or one cannot be read.
    answers: Receiver<io::Result<String>>,
    last_words: Arc<Mutex<Vec<u8>>>,
    listener: JoinHandle<()>,
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

    /// Runs a case. A crash, an abort or a hang is the case's result; a capsule that is none is an error of the kind
    /// [`InvalidData`](io::ErrorKind::InvalidData).
    pub fn run(&mut self, name: &str) -> io::Result<CaseResult> {
        let (heard, process) = self.ask(name)?;
        match heard {
            Heard::Answer(line) => {
                let answer: Answer = serde_json::from_str(&line)
                    .map_err(|e| io::Error::other(format!("worker answered '{line}': {e}")))?;
                let mut result = match answer {
                    Answer::Result(result) => result,
                    Answer::Unreadable(why) => {
                        self.process = Some(process);
                        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
                    }
                };
                if device_failed(&result) {
                    // A faulted context fails everything that follows: the next case gets a new one.
                    let (_, words) = ended(process);
                    if self.recipe.plugin.is_some() {
                        add_words(&mut result, &words);
                    }
                } else {
                    self.process = Some(process);
                }
                Ok(result)
            }
            Heard::Death => self.died(name, process),
            Heard::Silence => Ok(lost(name, Finder::Hang, self.hung(process))),
        }
    }

    /// What the death of a worker says about its case: nothing if it ended by itself, without memory for instance, or unable to answer.
    /// One with a plug-in is in the plug-in's hands.
    fn died(&self, name: &str, process: Process) -> io::Result<CaseResult> {
        let (status, words) = ended(process);
        let by_itself = self.recipe.plugin.is_none() && matches!(status.code(), Some(2 | 3));
        match words.lines().last().and_then(|line| line.strip_prefix("error: ")) {
            Some(why) if by_itself => Err(io::Error::other(why.to_owned())),
            _ => Ok(lost(name, Finder::Crash, death(status, &words))),
        }
    }

    /// Opens the backend called `name` and says what it is, or why it cannot be opened: also where it takes the process with it.
    pub fn describe(&mut self, name: &'static str) -> io::Result<Result<(Identity, Taken), String>> {
        let (heard, process) = self.ask(&format!("{DESCRIBE}{name}"))?;
        let line = match heard {
            Heard::Answer(line) => line,
            Heard::Death => {
                let (status, words) = ended(process);
                return Ok(Err(death(status, &words)));
            }
            Heard::Silence => return Ok(Err(self.hung(process))),
        };
        let unknown =
            |why: &dyn std::fmt::Display| io::Error::other(format!("worker answered '{line}': {why}"));
        match serde_json::from_str(&line).map_err(|e| unknown(&e))? {
            Described::Open { device, place, taken } => {
                self.process = Some(process);
                let kind = place::parse(&place).ok_or_else(|| unknown(&"unknown place"))?;
                Ok(Ok((Identity { name, device, kind }, taken)))
            }
            Described::CannotBeOpened(why) => {
                dismiss(process);
                Ok(Err(why))
            }
        }
    }

    /// Asks what only the process that runs the plug-in can find out: a question in JSON, and the answer; an error is how that process
    /// died.
    pub fn examine(&mut self, question: &str) -> io::Result<Result<String, String>> {
        let (heard, process) = self.ask(&format!("{EXAMINE}{question}"))?;
        Ok(match heard {
            Heard::Answer(line) => {
                self.process = Some(process);
                Ok(line)
            }
            Heard::Death => {
                let (status, words) = ended(process);
                Err(death(status, &words))
            }
            Heard::Silence => Err(self.hung(process)),
        })
    }

    /// What the backend of the failed cases `names` behaves like instead of what it declares. A worker that dies over it, or does not
    /// answer in time, knows of nothing.
    pub fn contradiction(&mut self, names: &[String]) -> io::Result<Option<Contradiction>> {
        let list = serde_json::to_string(names)?;
        let (heard, process) = self.ask(&format!("{CONTRADICTION}{list}"))?;
        let Heard::Answer(line) = heard else {
            self.hung(process);
            return Ok(None);
        };
        self.process = Some(process);
        serde_json::from_str(&line)
            .map_err(|why| io::Error::other(format!("worker answered '{line}': {why}")))
    }

    /// Sends a request and waits for what comes of it.
    fn ask(&mut self, request: &str) -> io::Result<(Heard, Process)> {
        let mut process = match self.process.take() {
            Some(process) => process,
            None => self.start()?,
        };
        // A worker that died between two cases is noticed here; the case has not begun, so it is not to blame.
        if writeln!(process.requests, "{request}").and_then(|()| process.requests.flush()).is_err() {
            process = self.start()?;
            writeln!(process.requests, "{request}").and_then(|()| process.requests.flush())?;
        }
        let heard = match self.listen(&process) {
            Ok(Ok(line)) => Heard::Answer(line),
            // What it says cannot be heard, which is nobody's fault here.
            Ok(Err(error)) => {
                kill(&mut process.child);
                return Err(error);
            }
            Err(RecvTimeoutError::Disconnected) => Heard::Death,
            Err(RecvTimeoutError::Timeout) => Heard::Silence,
        };
        Ok((heard, process))
    }

    /// The next line of a worker, which has the time of a case for it. Time in which it was ready to run and the machine was busy with
    /// others does not count.
    fn listen(&self, process: &Process) -> Result<io::Result<String>, RecvTimeoutError> {
        let waited = || own_process::waited_for_processor(process.child.id()).unwrap_or_default();
        let (before, mut granted, mut patience) = (waited(), Duration::ZERO, self.recipe.timeout);
        loop {
            match process.answers.recv_timeout(patience) {
                Err(RecvTimeoutError::Timeout) => {}
                heard => return heard,
            }
            let more = waited().saturating_sub(before).saturating_sub(granted);
            if more < LEAST_PATIENCE {
                return Err(RecvTimeoutError::Timeout);
            }
            granted += more;
            patience = more;
        }
    }

    fn start(&self) -> io::Result<Process> {
        let mut command = Command::new(&self.recipe.program);
        command.arg("worker").args(["--parent", &std::process::id().to_string()]);
        if let Some(backend) = &self.recipe.backend {
            command.args(["--backend", backend]);
        }
        command.args(["--guard", &self.recipe.guard.to_string()]);
        if let Some(folder) = &self.recipe.record {
            command.arg("--record").arg(folder);
        }
        if let Some(foreign) = &self.recipe.foreign {
            command.args(foreign.flags());
        }
        if let Some(file) = &self.recipe.plugin {
            command.env("ASSAY_PLUGIN", file);
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
            for line in BufReader::new(output).lines() {
                let failed = line.is_err();
                if sender.send(line).is_err() || failed {
                    break;
                }
            }
        });
        let last_words = Arc::new(Mutex::new(Vec::new()));
        let words = Arc::clone(&last_words);
        let listener = std::thread::spawn(move || {
            let mut buffer = [0; 1024];
            while let Ok(n @ 1..) = io::Read::read(&mut errors, &mut buffer) {
                let Ok(mut words) = words.lock() else { break };
                words.extend_from_slice(&buffer[..n]);
                let excess = words.len().saturating_sub(LAST_WORDS);
                words.drain(..excess);
            }
        });
        Ok(Process { child, requests, answers, last_words, listener })
    }

    fn hung(&self, mut process: Process) -> String {
        kill(&mut process.child);
        format!("no answer within {:?}", self.recipe.timeout)
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

fn kill(child: &mut Child) {
    // Killing what has just ended fails, and is no matter.
    let _ = child.kill();
    let _ = child.wait();
}

fn device_failed(result: &CaseResult) -> bool {
    matches!(&result.outcome, Outcome::Failed(failures) if failures.iter().any(|f| f.found_by == Finder::Device))
}

/// Puts what a plug-in's process has said behind the device's failure: the report of a sanitizer, for instance.
fn add_words(result: &mut CaseResult, words: &str) {
    if let (Outcome::Failed(failures), false) = (&mut result.outcome, words.is_empty())
        && let Some(failure) = failures.iter_mut().find(|failure| failure.found_by == Finder::Device)
    {
        failure.what.push_str("\nthe process said:\n");
        failure.what.push_str(words);
    }
}

/// Waits for a worker that has died or has nothing more to do: how it ended, and its last words.
fn ended(mut process: Process) -> (ExitStatus, String) {
    drop(process.requests);
    // A process is waited for once, and until it has ended.
    let status = process.child.wait().unwrap_or_default();
    // A process that it has left behind may keep the pipe open.
    for _ in 0..40 {
        if process.listener.is_finished() {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let words = process.last_words.lock().map(|w| String::from_utf8_lossy(&w).trim().to_owned());
    (status, words.unwrap_or_default())
}

/// How a dead worker died, and what it said.
fn death(status: ExitStatus, words: &str) -> String {
    let said = if words.is_empty() { "it said nothing".into() } else { format!("its last words: {words}") };
    format!("the process died ({status}); {said}")
}

/// What stands behind all that a device has run since it was asked last; `None` where that is nothing.
fn fidelity(device: &SoftDevice) -> Option<Fidelity> {
    let counters = device.take_counters();
    let (exact, modelled, approximate) = (counters.exact(), counters.modelled, counters.approximate);
    (counters.launches > 0).then_some(Fidelity { exact, modelled, approximate, untested: counters.untested })
}

/// What is told of a backend that was to be opened.
fn described<E: std::fmt::Display>(opened: Result<&Opened, &E>) -> Described {
    match opened {
        Ok((target, _)) => {
            let identity = target.identity();
            let taken = Taken::by(target.as_ref());
            Described::Open { device: identity.device, place: place::name(identity.kind).into(), taken }
        }
        Err(why) => Described::CannotBeOpened(why.to_string()),
    }
}

/// The worker's side: answers each line of `requests` until they end. A case runs on `backend`, or where there is none on the one that
/// its name says; `open` opens a backend, once for all its cases. `examine` answers questions about the plug-in.
pub fn serve<E: Into<io::Error> + std::fmt::Display>(
    backend: Option<&str>,
    mut open: impl FnMut(&str) -> Result<Opened, E>,
    examine: impl Fn(&str) -> io::Result<String>,
    requests: impl BufRead,
    mut answers: impl Write,
) -> io::Result<()> {
    let mut targets: HashMap<String, Opened> = HashMap::new();
    for name in requests.lines() {
        let name = name?;
        if let Some(backend) = name.strip_prefix(DESCRIBE) {
            let opened = open(backend);
            serde_json::to_writer(&mut answers, &described(opened.as_ref()))?;
            answers.write_all(b"\n")?;
            answers.flush()?;
            if let Ok(opened) = opened {
                targets.insert(backend.into(), opened);
            }
            continue;
        }
        if let Some(question) = name.strip_prefix(EXAMINE) {
            writeln!(answers, "{}", examine(question)?)?;
            answers.flush()?;
            continue;
        }
        let listed = name.strip_prefix(CONTRADICTION).map(serde_json::from_str::<Vec<String>>).transpose()?;
        let name = listed.as_ref().and_then(|names| names.first().cloned()).unwrap_or(name);
        let capsule = replay::path_of(&name);
        let on = backend.or_else(|| name.split('/').nth(1)).unwrap_or_default();
        if !targets.contains_key(on) {
            targets.insert(on.into(), open(on).map_err(Into::into)?);
        }
        let (target, device) = &targets[on];
        let target = target.as_ref();
        if let Some(names) = listed {
            serde_json::to_writer(&mut answers, &declaration::contradiction(&names, target))?;
            answers.write_all(b"\n")?;
            answers.flush()?;
            continue;
        }
        let mut answer = match capsule {
            Some(path) => match replay::replay(&path, target) {
                Ok(result) => Answer::Result(result),
                Err(error) => Answer::Unreadable(error.to_string()),
            },
            None => Answer::Result(
                suite::run(&name, target, suite::JUDGE)
                    .unwrap_or_else(|error| lost(&name, Finder::Refusal, error.to_string())),
            ),
        };
        if let Answer::Result(result) = &mut answer {
            result.fidelity = device.as_deref().and_then(fidelity);
        }
        serde_json::to_writer(&mut answers, &answer)?;
        answers.write_all(b"\n")?;
        answers.flush()?;
    }
    Ok(())
}
