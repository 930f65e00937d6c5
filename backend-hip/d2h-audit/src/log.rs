//! Writing the log.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::AuditOptions;
use crate::form::{AFTER, BEFORE, CHECK, END, ENGAGED, FAILED, SAFE, START};

/// A copy, as the log describes it.
#[derive(Clone, Debug, Default)]
pub struct Copy {
    /// What is copied. A line has no room for control characters.
    tensor: String,
    /// The step of the generation.
    pub step: usize,
    /// `None` outside the layers, −1 in the log.
    pub layer: Option<usize>,
    /// The stream's handle.
    pub stream: usize,
    /// The address that is copied from.
    pub source: u64,
    /// The address that is copied to.
    pub destination: usize,
    /// Bytes from the start of the allocation to the source.
    pub offset: usize,
    /// Bytes that are copied.
    pub bytes: usize,
    /// Bytes of the allocation that is copied from.
    pub allocation: usize,
    /// Number among the copies that were audited.
    id: u64,
}

impl Copy {
    /// A copy of `tensor`; the other fields are to be set. A name with control characters could forge a line: they become `_`.
    pub fn of(tensor: impl Into<String>) -> Self {
        let tensor = tensor.into();
        let tensor = tensor.chars().map(|c| if c.is_control() { '_' } else { c }).collect();
        Copy { tensor, ..Self::default() }
    }
}

/// The layer as the log writes it: −1 outside the layers.
fn layer_number(copy: &Copy) -> String {
    copy.layer.map_or_else(|| "-1".into(), |layer| layer.to_string())
}

/// The log.
#[derive(Debug)]
pub struct Audit {
    options: AuditOptions,
    sink: Mutex<Sink>,
}

#[derive(Debug)]
struct Sink {
    file: Option<File>,
    next_id: u64,
}

impl Audit {
    /// Opens the log. A file that cannot be made is an error now, not at the first copy.
    pub fn new(options: AuditOptions) -> io::Result<Self> {
        let file = match &options.log {
            Some(path) if options.any() => {
                let named = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
                Some(File::create(path).map_err(named)?)
            }
            _ => None,
        };
        Ok(Audit { options, sink: Mutex::new(Sink { file, next_id: 0 }) })
    }

    /// Whether copies are to be surrounded by synchronisations.
    pub const fn synchronises(&self) -> bool {
        self.options.debug
    }

    /// Before a copy is started.
    pub fn started(&self, copy: &mut Copy) {
        if !self.options.any() {
            return;
        }
        // The time is read while no other copy can write: lines are in the order of their times.
        let mut sink = self.sink();
        let mut lines = Vec::new();
        if self.options.debug {
            lines.push(format!("{SAFE} {ENGAGED}{}", copy.tensor));
        }
        if self.options.audit {
            copy.id = sink.next_id;
            sink.next_id += 1;
            lines.push(START.line([
                &copy.id,
                &now(),
                &hex(copy.stream as u64),
                &hex(copy.source),
                &hex(copy.destination as u64),
                &copy.bytes,
                &copy.tensor,
                &copy.step,
                &layer_number(copy),
            ]));
        }
        if self.options.trace {
            let values: [&dyn Display; 3] = [&hex(copy.source), &copy.bytes, &hex(copy.stream as u64)];
            lines.push(BEFORE.lines(&copy.tensor, values));
        }
        sink.write(&lines);
    }

    /// After a copy has landed, or failed with the HIP error of a name.
    pub fn ended(&self, copy: &Copy, result: Result<(), &str>) {
        if !self.options.any() {
            return;
        }
        let mut sink = self.sink();
        let mut lines = Vec::new();
        let outcome = result.err().unwrap_or("hipSuccess");
        if self.options.audit {
            lines.push(END.line([&copy.id, &now(), &hex(copy.stream as u64), &outcome, &copy.tensor]));
        }
        let (source, destination) = (hex(copy.source), hex(copy.destination as u64));
        if self.options.debug {
            lines.push(CHECK.line([
                &copy.tensor,
                &copy.step,
                &layer_number(copy),
                &source,
                &destination,
                &copy.offset,
                &copy.bytes,
                &copy.allocation,
            ]));
        }
        if self.options.trace {
            lines.push(match result {
                Ok(()) => AFTER.lines(&copy.tensor, [&destination, &copy.bytes]),
                Err(_) => FAILED.lines(&copy.tensor, [&source, &destination, &copy.bytes, &outcome]),
            });
        }
        sink.write(&lines);
    }

    fn sink(&self) -> std::sync::MutexGuard<'_, Sink> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink {
    /// Each block goes out whole and at once: what precedes an abort is on disk.
    fn write(&mut self, lines: &[String]) {
        let mut text = lines.join("\n");
        text.push('\n');
        // A log that can no longer be written must not stop the work that it is about.
        let _ = match &mut self.file {
            Some(file) => file.write_all(text.as_bytes()),
            None => io::stderr().write_all(text.as_bytes()),
        };
    }
}

fn hex(number: u64) -> String {
    format!("{number:#x}")
}

/// Seconds since 1970, to the microsecond.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}.{:06}", since.as_secs(), since.subsec_micros())
}
