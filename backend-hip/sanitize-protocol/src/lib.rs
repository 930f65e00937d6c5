//! What `assay sanitize` and the drop-in `libamdhip64` say to each other.
//!
//! The command starts the program with [`VARIABLE`] set to its [`Settings`] as JSON. The library, in the program's
//! process, appends [`Message`]s to a file, one JSON object a line. Several processes may write to one file.
#![forbid(unsafe_code)]

mod log;
mod message;
mod present;
mod settings;
mod tool;

pub use log::{MessageLog, MessageLogError};
pub use message::{Failure, Finding, Frame, Message, Messenger, Progress, Stack};
pub use present::{demangled, present};
pub use settings::{FORWARD_VARIABLE, Launches, Schedule, Settings, VARIABLE};
pub use tool::Tool;
