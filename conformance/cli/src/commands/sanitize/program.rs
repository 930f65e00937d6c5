//! Runs the program, and reads what the library says while it does.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use sanitize_protocol::{FORWARD_VARIABLE, Message, Settings, VARIABLE};

use super::library::Folder;
use crate::commands::Trouble;

/// Time between two looks at the file of messages.
const PAUSE: Duration = Duration::from_millis(10);

/// A program to be run.
pub struct Launch<'a> {
    /// The program and its arguments.
    pub words: &'a [OsString],
    /// Where it finds the drop-in library, and where messages go.
    pub folder: &'a Folder,
    /// A library that is preloaded over the real one; otherwise the program finds the drop-in library.
    pub preloaded: Option<&'a Path>,
    /// What is asked of the library.
    pub settings: &'a Settings,
    /// How long it may run; it is killed then.
    pub limit: Option<Duration>,
}

/// Runs a program to its end and hands over every message; the exit code is what a shell would show. `prepare` may change how it is started.
pub fn run(
    launch: &Launch<'_>,
    prepare: &mut dyn FnMut(&mut Command),
    mut take: impl FnMut(Message),
) -> Result<u8, Trouble> {
    let Launch { words, folder, preloaded, settings, limit } = launch;
    let [name, arguments @ ..] = words else {
        return Err(Trouble::Input("no program".into()));
    };
    let settings = serde_json::to_string(settings).map_err(Trouble::input)?;
    let mut command = Command::new(name);
    command.args(arguments);
    if let Some(library) = preloaded {
        command.env(FORWARD_VARIABLE, settings).env("LD_PRELOAD", library);
    } else {
        command.env(VARIABLE, settings);
        command.env("LD_LIBRARY_PATH", search_path(folder)).env("TRITON_LIBHIP_PATH", folder.library());
    }
    prepare(&mut command);
    let mut child =
        command.spawn().map_err(|error| Trouble::Input(format!("{}: {error}", name.to_string_lossy())))?;
    let begun = Instant::now();
    let messages = File::open(folder.messages()).map_err(Trouble::input)?;
    let mut messages = Messages { file: messages, rest: Vec::new() };
    loop {
        // Asked before reading, so that what a program wrote before its end is read.
        let ended = child.try_wait().map_err(Trouble::input)?;
        for message in messages.next()? {
            take(message);
        }
        if let Some(status) = ended {
            return Ok(code(status));
        }
        if limit.is_some_and(|limit| begun.elapsed() > limit) {
            // Killing what has just ended fails, and is no matter.
            let _ = child.kill();
        }
        std::thread::sleep(PAUSE);
    }
}

/// Where the loader looks: first in `folder`.
fn search_path(folder: &Folder) -> OsString {
    let mut path = folder.path().as_os_str().to_owned();
    if let Some(present) = std::env::var_os("LD_LIBRARY_PATH").filter(|present| !present.is_empty()) {
        path.push(":");
        path.push(present);
    }
    path
}

/// The exit code as a shell shows it: 128 and more for a signal.
fn code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(u8::MAX);
    }
    u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)
}

/// The messages in a growing file.
struct Messages {
    file: File,
    /// A line that is not whole yet.
    rest: Vec<u8>,
}

impl Messages {
    /// Those that have come since the last call.
    fn next(&mut self) -> Result<Vec<Message>, Trouble> {
        self.file.read_to_end(&mut self.rest).map_err(Trouble::input)?;
        let Some(end) = self.rest.iter().rposition(|&byte| byte == b'\n') else { return Ok(Vec::new()) };
        let lines: Vec<u8> = self.rest.drain(..=end).collect();
        let read = |line: &[u8]| {
            Message::read(line).map_err(|error| {
                Trouble::Input(format!("libamdhip64.so is of another version than this program: {error}"))
            })
        };
        lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).map(read).collect()
    }
}
