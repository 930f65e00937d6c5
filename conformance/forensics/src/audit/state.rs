//! The iterations of a matrix in a file, a line each: what was done before a kill is not done again.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::iteration::Iteration;
use super::variant::Mode;

/// A file of iterations that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The file system's answer.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// Another audit writes to it.
    #[error("{}: another audit writes to it; give --out another folder", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// It is of another matrix.
    #[error("{}: it holds iterations of another audit ({held}); remove it, or give --out another folder", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// What it is of.
        held: String,
    },
    /// A line that cannot be read.
    #[error("{}: line {line}: {what}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The line; the first is 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
}

/// The file, open for more.
#[derive(Debug)]
pub struct State {
    path: PathBuf,
    file: File,
    /// Iterations that are in it.
    pub done: Vec<Iteration>,
}

impl State {
    /// Opens the file, or makes it; what is in it stays only to `resume`. `matrix` says what its iterations are of. A last line that was
    /// not written to its end is dropped: that iteration runs again.
    pub fn open(path: &Path, matrix: &Value, resume: bool) -> Result<Self, StateError> {
        let io = |source| StateError::Io { path: path.into(), source };
        let head = format!("{matrix}\n");
        // What is no file is refused before it is opened to be written.
        match input_file::open(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io(error)),
            _ => {}
        }
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StateError::Busy { path: path.into() }),
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        if !resume {
            // What an earlier audit left must not pass as this one's.
            file.set_len(0).map_err(io)?;
        }
        let text = input_file::read_text_from(&file, input_file::TEXT).map_err(io)?;
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let mut lines = whole.split_inclusive('\n');
        let first = lines.next();
        if let Some(held) = first.filter(|held| *held != head) {
            return Err(StateError::Other {
                path: path.into(),
                held: held.trim().chars().take(300).collect(),
            });
        }
        let mut done = Vec::new();
        for (at, line) in lines.enumerate() {
            let read = serde_json::from_str(line);
            let what = |e: serde_json::Error| StateError::Broken {
                path: path.into(),
                line: at + 2,
                what: e.to_string(),
            };
            done.push(read.map_err(what)?);
        }
        file.set_len(whole.len() as u64).map_err(io)?;
        if first.is_none() {
            file.write_all(head.as_bytes()).map_err(io)?;
        }
        Ok(State { path: path.into(), file, done })
    }

    /// Whether an iteration is there.
    pub fn has(&self, mode: Mode, number: usize) -> bool {
        self.done.iter().any(|done| done.mode == mode && done.number == number)
    }

    /// Adds an iteration, in one write.
    pub fn add(&mut self, iteration: Iteration) -> Result<(), StateError> {
        let io = |source| StateError::Io { path: self.path.clone(), source };
        let mut line = serde_json::to_vec(&iteration).map_err(|e| io(e.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).and_then(|()| self.file.flush()).map_err(io)?;
        self.done.push(iteration);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::audit::variant::Schedule;

    fn iteration(number: usize) -> Iteration {
        let (mode, schedule) = (Mode::Audit, Schedule::Own);
        Iteration { mode, number, schedule, errors: Vec::new(), logged: 2, expected: 2, seconds: 0.5 }
    }

    #[test]
    fn what_was_done_is_there_again_and_half_a_line_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("iterations.jsonl");
        let open = |model: &str, resume| State::open(&path, &json!({"model": model}), resume);
        let mut state = open("a", false).unwrap();
        state.add(iteration(0)).unwrap();
        state.add(iteration(1)).unwrap();
        assert!(matches!(open("a", true).unwrap_err(), StateError::Busy { .. }));
        drop(state);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 5]).unwrap();
        let mut again = open("a", true).unwrap();
        assert!(again.has(Mode::Audit, 0) && !again.has(Mode::Audit, 1) && !again.has(Mode::Stress, 0));
        again.add(iteration(1)).unwrap();
        drop(again);
        assert_eq!(std::fs::read(&path).unwrap(), whole);
        let other = open("b", true).unwrap_err();
        assert!(matches!(other, StateError::Other { .. }), "{other}");
        std::fs::write(&path, "{\"model\":\"a\"}\nnonsense\n").unwrap();
        let broken = open("a", true).unwrap_err();
        assert!(matches!(broken, StateError::Broken { line: 2, .. }), "{broken}");
        assert!(open("b", false).unwrap().done.is_empty());
    }
}
