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
}

impl Site {
    /// A place given by name, for callers in other languages.
    pub fn new(file: impl Into<Cow<'static, str>>, line: u32) -> Self {
        Self { file: file.into(), line }
    }

    /// The caller's own place.
    #[track_caller]
    pub fn here() -> Self {
        Location::caller().into()
    }
}

impl From<&'static Location<'static>> for Site {
    fn from(location: &'static Location<'static>) -> Self {
        Self { file: Cow::Borrowed(location.file()), line: location.line() }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}
