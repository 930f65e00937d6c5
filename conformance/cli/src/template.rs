//! Chat templates rendered in a process of their own: a template is a program of a stranger, and may ask for all memory, run for ever
//! or overflow the stack. What it does ends that process, by a limit or by itself, and is an error here.
//!
//! The process gets the template and the conversation as JSON on its standard input, and answers on standard output: `+` and the
//! rendered text, or `-` and what is wrong.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use engine::chat::{ChatSource, ChatTemplate, MAX_OUTPUT, Message};
use own_process::Limit;
use serde::{Deserialize, Serialize};

/// The hidden command that makes the program such a process.
pub const COMMAND: &str = "render-template";

/// Address space of the process, its stack of 256 MiB included.
pub const MEMORY: u64 = 768 << 20;

/// Processor time of the process, in seconds.
pub const TIME: u64 = 5;

/// How long the process may take where the machine is busy.
const DEADLINE: Duration = Duration::from_secs(30);

/// Bytes of a conversation at most: it is in the memory of the process several times.
pub const MAX_CONVERSATION: usize = 64 << 20;

/// Stands before the rendered text.
const TEXT: u8 = b'+';

/// Stands before an error's text.
const ERROR: u8 = b'-';

/// What a process is asked to render.
#[derive(Serialize, Deserialize)]
struct Request {
    template: String,
    bos: String,
    eos: String,
    /// Roles and contents.
    messages: Vec<(String, String)>,
}

/// Why there is no text.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The template is broken, or refuses the conversation.
    #[error("{0}")]
    Template(String),
    /// The conversation is too long.
    #[error("a conversation of {found} bytes, the limit is {MAX_CONVERSATION}")]
    Conversation {
        /// Its bytes.
        found: usize,
    },
    /// The process reached a limit, or died.
    #[error("chat template: it was stopped: {0}")]
    Stopped(String),
    /// There is no process.
    #[error("chat template: no process to render it in: {0}")]
    Process(#[from] io::Error),
}

/// The text of a conversation up to where the assistant's answer begins, rendered by the command [`COMMAND`] of `program`.
pub fn render(program: &Path, source: &ChatSource, messages: &[Message]) -> Result<String, TemplateError> {
    let found = messages.iter().map(|m| m.role.len() + m.content.len()).sum();
    if found > MAX_CONVERSATION {
        return Err(TemplateError::Conversation { found });
    }
    let ChatSource { template, bos, eos } = source.clone();
    let messages = messages.iter().map(|m| (m.role.clone(), m.content.clone())).collect();
    let request = Request { template, bos, eos, messages };
    let mut child = Command::new(program)
        .arg(COMMAND)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let answer = exchange(&mut child, &request);
    // Killing what has just ended fails, and is no matter.
    let _ = child.kill();
    let status = child.wait()?;
    let Some(Answer { bytes, last_words }) = answer? else {
        return Err(TemplateError::Stopped(format!("it ran for more than {} s", DEADLINE.as_secs())));
    };
    let stopped = || TemplateError::Stopped(why(status, &last_words));
    let (kind, text) = bytes.split_first().ok_or_else(stopped)?;
    let text = String::from_utf8(text.to_vec()).map_err(|_| stopped())?;
    match *kind {
        TEXT if status.success() => Ok(text),
        ERROR if status.success() => Err(TemplateError::Template(text)),
        _ => Err(stopped()),
    }
}

struct Answer {
    bytes: Vec<u8>,
    last_words: String,
}

/// Writes the request and reads what the process says; `None` if it says nothing in time.
fn exchange(child: &mut Child, request: &Request) -> io::Result<Option<Answer>> {
    let missing = || io::Error::other("a process without pipes");
    let stdin = child.stdin.take().ok_or_else(missing)?;
    let stdout = child.stdout.take().ok_or_else(missing)?;
    let stderr = child.stderr.take().ok_or_else(missing)?;
    let request = serde_json::to_vec(request)?;
    let (sender, answers) = channel();
    thread::spawn(move || {
        // A process that dies does not read everything: its status says why.
        let mut stdin = stdin;
        let _ = stdin.write_all(&request);
    });
    thread::spawn(move || {
        let read = |stream: &mut dyn Read, limit: usize| {
            let mut bytes = Vec::new();
            // What was read before an error is the answer.
            let _ = stream.take(limit as u64).read_to_end(&mut bytes);
            bytes
        };
        let (mut stdout, mut stderr) = (stdout, stderr);
        let bytes = read(&mut stdout, MAX_OUTPUT + 1);
        let last_words = String::from_utf8_lossy(&read(&mut stderr, 1 << 16)).into_owned();
        // Nobody waits any more after the deadline.
        let _ = sender.send(Answer { bytes, last_words });
    });
    match answers.recv_timeout(DEADLINE) {
        Ok(answer) => Ok(Some(answer)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Err(missing()),
    }
}

/// What a dead process died of.
fn why(status: std::process::ExitStatus, last_words: &str) -> String {
    if last_words.contains("memory allocation") || last_words.contains("capacity overflow") {
        format!("it asked for more than {} MiB of memory", MEMORY >> 20)
    } else if last_words.contains("overflowed its stack") {
        "what it made is nested too deeply".into()
    } else if status.to_string().contains("signal") && last_words.is_empty() {
        format!("it ran for more than {TIME} s ({status})")
    } else {
        status.to_string()
    }
}

/// The process's side: limits itself, renders what `requests` asks for and writes the answer.
pub fn serve(requests: impl Read, mut answers: impl Write) -> io::Result<()> {
    own_process::limit(Limit::Core(0))?;
    own_process::limit(Limit::Memory(MEMORY))?;
    own_process::limit(Limit::Time(TIME))?;
    let request: Request = serde_json::from_reader(io::BufReader::new(requests))?;
    let Request { template, bos, eos, messages } = request;
    let messages: Vec<_> = messages.into_iter().map(|(role, content)| Message::new(role, content)).collect();
    let rendered =
        ChatTemplate::new(&template, &bos, &eos).and_then(|template| template.render(&messages, true));
    let (kind, text) = match rendered {
        Ok(text) => (TEXT, text),
        Err(error) => (ERROR, error.to_string()),
    };
    answers.write_all(&[kind])?;
    answers.write_all(text.as_bytes())?;
    answers.flush()
}
