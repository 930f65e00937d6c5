//! The process that watches the run: it stays when the run dies.

use std::io::{self, BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use super::{Culprit, Event, Messenger, Reported};

/// What a run told, to its end or to its death.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Told {
    /// Who was under way last.
    pub last: Option<Culprit>,
    /// The error of the op that was under way last.
    pub fault: Option<String>,
    /// How the run ended; `None` where it died.
    pub end: Option<Option<Reported>>,
    /// How the process ended, in words.
    pub died: String,
    /// Ops started.
    pub ops: usize,
    /// A bug was planted and not reached.
    pub probe_not_reached: bool,
}

impl Told {
    /// Whether the process died before it could say what is wrong.
    pub const fn process_died(&self) -> bool {
        self.fault.is_none() && self.end.is_none()
    }

    /// What the run says went wrong; `None` where nothing did.
    pub fn error(&self) -> Option<Reported> {
        let other = |what| Some(Reported { what, messenger: Messenger::Other });
        match (&self.fault, &self.end) {
            (Some(fault), _) => other(fault.clone()),
            (None, Some(end)) => end.clone(),
            (None, None) => other(format!("the process died: {}", self.died)),
        }
    }
}

/// Starts `command` and listens until it ends.
pub fn listen(command: &mut Command) -> io::Result<Told> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let missing = || io::Error::other("a process without pipes");
    let output = child.stdout.take().ok_or_else(missing)?;
    let mut errors = child.stderr.take().ok_or_else(missing)?;
    let words = std::thread::spawn(move || {
        let mut words = Vec::new();
        let _ = errors.read_to_end(&mut words);
        words
    });
    let mut told = Told::default();
    for line in BufReader::new(output).lines() {
        // Half a line is what a process leaves that dies while it writes.
        let Ok(event) = serde_json::from_str(&line?) else { continue };
        match event {
            Event::Op(call) => {
                told.ops += 1;
                told.last = Some(Culprit::Kernel(call));
            }
            Event::Copy(copy) => told.last = Some(Culprit::Copy(copy)),
            Event::Fault { what, launch } => {
                told.fault = Some(what);
                if let Some(Culprit::Kernel(call)) = &mut told.last {
                    call.launch = launch;
                }
            }
            Event::ProbeNotReached => told.probe_not_reached = true,
            Event::End(end) => told.end = Some(end),
        }
    }
    let status = child.wait()?;
    let words = words.join().unwrap_or_default();
    let words = String::from_utf8_lossy(&words).trim().to_owned();
    told.died =
        if words.is_empty() { status.to_string() } else { format!("{status}; its last words: {words}") };
    Ok(told)
}
