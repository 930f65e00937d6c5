//! The file of messages, as the library writes it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::Message;

/// A file that messages are appended to.
#[derive(Debug)]
pub struct MessageLog {
    path: PathBuf,
    file: Mutex<File>,
}

impl MessageLog {
    /// The file at `path`, which may be there already.
    pub fn open(path: PathBuf) -> Result<Self, MessageLogError> {
        match OpenOptions::new().append(true).create(true).open(&path) {
            Ok(file) => Ok(Self { path, file: Mutex::new(file) }),
            Err(error) => Err(MessageLogError { path, error }),
        }
    }

    /// Appends a line, in one write so that lines of several processes stay whole.
    pub fn tell(&self, message: &Message) -> Result<(), MessageLogError> {
        let written = serde_json::to_vec(message).map_err(io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line)
        });
        written.map_err(|error| MessageLogError { path: self.path.clone(), error })
    }
}

/// The file of messages cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
pub struct MessageLogError {
    path: PathBuf,
    error: io::Error,
}
