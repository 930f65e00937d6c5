//! The log of device-to-host copies, in the lines that users of the seeds' engine know.
//!
//! | switch | variable | what it does |
//! |---|---|---|
//! | `audit` | `GCORE_D2H_AUDIT=1` | `[D2H_AUDIT_START]` and `[D2H_AUDIT_END]` around every copy |
//! | `log` | `GCORE_D2H_AUDIT_LOG=FILE` | where the lines go; standard error without it |
//! | `debug` | `GRETA_D2H_DEBUG=1` | synchronises before and after each copy, with `[D2H SAFE]` and `[D2H_CHECK]` lines |
//! | `trace` | `GRETA_TRACE_MEMCPY=1` | `[D2H TRACE]` blocks before and after each copy, `[D2H FATAL]` on an error |
#![forbid(unsafe_code)]

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// What is logged about copies to the host.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AuditOptions {
    /// A line before and a line after every copy.
    pub audit: bool,
    /// File for the lines; standard error without one.
    pub log: Option<PathBuf>,
    /// A synchronisation before and after each copy, and a line with its extents.
    pub debug: bool,
    /// Blocks before and after each copy, and on an error.
    pub trace: bool,
}

impl AuditOptions {
    /// As the environment asks, through `lookup`.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let on = |name: &str| lookup(name).is_some_and(|value| value == "1");
        AuditOptions {
            audit: on("GCORE_D2H_AUDIT"),
            log: lookup("GCORE_D2H_AUDIT_LOG").filter(|path| !path.is_empty()).map(PathBuf::from),
            debug: on("GRETA_D2H_DEBUG"),
            trace: on("GRETA_TRACE_MEMCPY"),
        }
    }

    /// Is anything logged?
    pub const fn any(&self) -> bool {
        self.audit || self.debug || self.trace
    }
}

/// A copy, as the log describes it.
#[derive(Clone, Debug, Default)]
pub struct Copy {
    /// What is copied.
    pub tensor: String,
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
    /// A copy of `tensor`; the other fields are to be set.
    pub fn of(tensor: impl Into<String>) -> Self {
        Copy { tensor: tensor.into(), ..Self::default() }
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
            Some(path) if options.any() => Some(File::create(path)?),
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
        let mut sink = self.sink();
        let mut text = String::new();
        if self.options.debug {
            let _ = writeln!(text, "[D2H SAFE] engaged for tensor={}", copy.tensor);
        }
        if self.options.audit {
            copy.id = sink.next_id;
            sink.next_id += 1;
            let _ = writeln!(
                text,
                "[D2H_AUDIT_START] op_id={} ts={} stream={:#x} dev_ptr={:#x} host_ptr={:#x} bytes={} tensor={} step={} layer={}",
                copy.id,
                now(),
                copy.stream,
                copy.source,
                copy.destination,
                copy.bytes,
                copy.tensor,
                copy.step,
                layer_number(copy)
            );
        }
        if self.options.trace {
            let _ = writeln!(
                text,
                "[D2H TRACE] {}:before\nsrc_ptr={:#x}\nbytes={}\nstream={:#x}",
                copy.tensor, copy.source, copy.bytes, copy.stream
            );
        }
        sink.write(&text);
    }

    /// After a copy has landed, or failed with the HIP error of a name.
    pub fn ended(&self, copy: &Copy, result: Result<(), &str>) {
        if !self.options.any() {
            return;
        }
        let mut text = String::new();
        let outcome = result.err().unwrap_or("hipSuccess");
        if self.options.audit {
            let _ = writeln!(
                text,
                "[D2H_AUDIT_END] op_id={} ts={} stream={:#x} result={outcome} tensor={}",
                copy.id,
                now(),
                copy.stream,
                copy.tensor
            );
        }
        if self.options.debug {
            let _ = writeln!(
                text,
                "[D2H_CHECK] tensor={} step={} layer={} src_ptr={:#x} dst_ptr={:#x} offset={} size={} alloc={}",
                copy.tensor,
                copy.step,
                layer_number(copy),
                copy.source,
                copy.destination,
                copy.offset,
                copy.bytes,
                copy.allocation
            );
        }
        match result {
            Ok(()) if self.options.trace => {
                let _ = writeln!(
                    text,
                    "[D2H TRACE] {}:after\ndst_ptr={:#x}\nbytes={}",
                    copy.tensor, copy.destination, copy.bytes
                );
            }
            Err(_) if self.options.trace => {
                let _ = writeln!(
                    text,
                    "[D2H FATAL] {}:FAILED\nsrc_ptr={:#x}\ndst_ptr={:#x}\nbytes={}\nhipError={outcome}",
                    copy.tensor, copy.source, copy.destination, copy.bytes
                );
            }
            _ => {}
        }
        self.sink().write(&text);
    }

    fn sink(&self) -> std::sync::MutexGuard<'_, Sink> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink {
    /// Each block goes out whole and at once: what precedes an abort is on disk.
    fn write(&mut self, text: &str) {
        // A log that can no longer be written must not stop the work that it is about.
        let _ = match &mut self.file {
            Some(file) => file.write_all(text.as_bytes()),
            None => io::stderr().write_all(text.as_bytes()),
        };
    }
}

/// Seconds since 1970, to the microsecond.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}.{:06}", since.as_secs(), since.subsec_micros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_switches_each_part_on_its_own() {
        let with = |pairs: &'static [(&str, &str)]| {
            AuditOptions::from_env(move |name| {
                pairs.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(with(&[]), AuditOptions::default());
        assert!(with(&[("GCORE_D2H_AUDIT", "1")]).audit);
        assert!(!with(&[("GCORE_D2H_AUDIT", "0")]).audit);
        assert!(with(&[("GRETA_D2H_DEBUG", "1")]).debug);
        assert!(with(&[("GRETA_TRACE_MEMCPY", "1")]).trace);
        assert_eq!(with(&[("GCORE_D2H_AUDIT_LOG", "f")]).log, Some("f".into()));
    }
}
