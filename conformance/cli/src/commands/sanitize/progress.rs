//! Lines about a kernel that is still running.

use std::io::{IsTerminal as _, Write as _};

use assay_cli::report::sanitize::{PREFIX, progress_text};
use sanitize_protocol::Message;

use crate::commands::say;

/// How often the library tells how far a kernel has come, if it does.
pub fn seconds(asked: u32) -> Option<u32> {
    let every = if std::io::stderr().is_terminal() { asked.min(1) } else { asked };
    (every > 0).then_some(every)
}

/// The line of a terminal that changes. Elsewhere each line stays.
#[derive(Default)]
pub struct Line {
    shown: bool,
}

impl Line {
    /// Shows how far a kernel has come. Before any other message the line goes away.
    pub fn show(&mut self, message: &Message) {
        let terminal = std::io::stderr().is_terminal();
        let text = match message {
            Message::Progress(progress) => Some(format!("{PREFIX} {}", progress_text(progress))),
            _ => None,
        };
        match text {
            Some(text) if !terminal => say(&text),
            Some(text) => self.write(&text),
            None if self.shown => self.write(""),
            None => {}
        }
    }

    /// Writes in the place of what stands there. Where that fails, nothing more can be said.
    fn write(&mut self, text: &str) {
        let mut stderr = std::io::stderr().lock();
        let _ = write!(stderr, "\r\x1b[2K{text}").and_then(|()| stderr.flush());
        self.shown = !text.is_empty();
    }
}
