//! Places in host code.

use std::borrow::Cow;
use std::fmt;
use std::panic::Location;

use serde::{Deserialize, Serialize};

/// A place in host code, as a report names it: `engine/src/model/mod.rs:212`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Site {
    /// The source file.
    pub file: Cow<'static, str>,
    /// The line in it, from 1.
    pub line: u32,
    /// The number of a call stack, of whoever names the place and can turn the number into frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<u32>,
}

impl Site {
    /// A place given by name, for callers in other languages.
    pub fn new(file: impl Into<Cow<'static, str>>, line: u32) -> Self {
        Self { file: file.into(), line, stack: None }
    }

    /// A call stack whose frames are looked up when they are needed.
    pub fn of_stack(number: u32) -> Self {
        Self { file: Cow::Borrowed(""), line: 0, stack: Some(number) }
    }

    /// The caller's own place.
    #[track_caller]
    pub fn here() -> Self {
        Location::caller().into()
    }
}

impl From<&'static Location<'static>> for Site {
    fn from(location: &'static Location<'static>) -> Self {
        Self::new(location.file(), location.line())
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            // Not a line of source: a place in a program without debug information.
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}
