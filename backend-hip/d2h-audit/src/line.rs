//! Reading the log, also one that another program wrote.

use crate::form::{AFTER, BEFORE, CHECK, END, FAILED, MissingField, SAFE, START};

/// A line, or a block of lines, about a copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Line {
    /// A copy is about to start.
    Start(Start),
    /// It has landed or failed.
    End(End),
    /// Its extents.
    Check(Check),
    /// A word about a safe copy.
    Safe(String),
    /// A trace block.
    Trace(Trace),
}

/// The fields of `[D2H_AUDIT_START]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Start {
    /// Number of the copy, from 0.
    pub op_id: u64,
    /// Nanoseconds since 1970.
    pub ts: u64,
    /// The stream's handle.
    pub stream: u64,
    /// The address that is copied from.
    pub dev_ptr: u64,
    /// The address that is copied to.
    pub host_ptr: u64,
    /// Bytes that are copied.
    pub bytes: u64,
    /// What is copied.
    pub tensor: String,
    /// The step of the generation; −1 outside one.
    pub step: i64,
    /// The layer; `None` outside the layers.
    pub layer: Option<u64>,
}

/// The fields of `[D2H_AUDIT_END]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    /// Number of the copy.
    pub op_id: u64,
    /// Nanoseconds since 1970.
    pub ts: u64,
    /// The stream's handle.
    pub stream: u64,
    /// The runtime's answer: `hipSuccess`.
    pub result: String,
    /// What is copied.
    pub tensor: String,
}

/// The fields of `[D2H_CHECK]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// What is copied.
    pub tensor: String,
    /// Bytes from the start of the allocation.
    pub offset: u64,
    /// Bytes that are copied.
    pub size: u64,
    /// Bytes of the allocation.
    pub alloc: u64,
}

/// When a trace block was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// Before the copy.
    Before,
    /// After it.
    After,
    /// After it failed.
    Failed,
}

/// A trace block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// When it was written.
    pub moment: Moment,
    /// What is copied.
    pub tensor: String,
    /// Bytes that are copied.
    pub bytes: u64,
    /// The runtime's error, after a failure.
    pub error: Option<String>,
}

/// A line that begins as one of the log, and is none.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Malformed {
    /// A field is missing, or the order is another.
    #[error(transparent)]
    Field(#[from] MissingField),
    /// A value that cannot be read.
    #[error("{field}={value} is no {want}")]
    Value {
        /// The field.
        field: &'static str,
        /// Its value.
        value: String,
        /// What it should be.
        want: &'static str,
    },
    /// A tag without anything behind it that is known.
    #[error("'{0}' is neither :before nor :after a copy, nor its :FAILED")]
    Block(String),
}

/// The text of a log: UTF-8, or UTF-16 with a byte order mark, as shells of Windows redirect it. What is no character becomes U+FFFD: an
/// engine that died may have written half of one.
pub fn text(bytes: &[u8]) -> String {
    let unit = match bytes {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return String::from_utf8_lossy(bytes).into_owned(),
    };
    let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&units)
}

/// What of a text belongs to the log, with the numbers of the lines; the first is 1. Other lines are passed over.
pub fn lines(text: &str) -> Vec<(usize, Result<Line, Malformed>)> {
    let mut all = text.lines().enumerate().peekable();
    let mut found = Vec::new();
    while let Some((at, line)) = all.next() {
        // Loggers put a date or a level before a line.
        let Some(start) = TAGS.iter().filter_map(|tag| line.find(tag)).min() else { continue };
        let rest = std::iter::from_fn(|| {
            all.next_if(|(_, line)| !TAGS.iter().any(|tag| line.contains(tag))).map(|(_, line)| line)
        });
        found.push((at + 1, line_of(&line[start..], rest)));
    }
    found
}

const TAGS: [&str; 6] = [START.tag, END.tag, CHECK.tag, SAFE, BEFORE.tag, FAILED.tag];

fn line_of<'t>(line: &'t str, mut rest: impl Iterator<Item = &'t str>) -> Result<Line, Malformed> {
    if let Some(fields) = line.strip_prefix(START.tag) {
        let [op_id, ts, stream, dev_ptr, host_ptr, bytes, tensor, step, layer] = START.values(fields)?;
        return Ok(Line::Start(Start {
            op_id: number("op_id", op_id)?,
            ts: time(ts)?,
            stream: pointer("stream", stream)?,
            dev_ptr: pointer("dev_ptr", dev_ptr)?,
            host_ptr: pointer("host_ptr", host_ptr)?,
            bytes: number("bytes", bytes)?,
            tensor: tensor.into(),
            step: step.parse().map_err(|_| value("step", step, "number"))?,
            layer: layer_of(layer)?,
        }));
    }
    if let Some(fields) = line.strip_prefix(END.tag) {
        let [op_id, ts, stream, result, tensor] = END.values(fields)?;
        return Ok(Line::End(End {
            op_id: number("op_id", op_id)?,
            ts: time(ts)?,
            stream: pointer("stream", stream)?,
            result: result.into(),
            tensor: tensor.into(),
        }));
    }
    if let Some(fields) = line.strip_prefix(CHECK.tag) {
        let [tensor, _, layer, src_ptr, dst_ptr, offset, size, alloc] = CHECK.values(fields)?;
        layer_of(layer)?;
        pointer("src_ptr", src_ptr)?;
        pointer("dst_ptr", dst_ptr)?;
        return Ok(Line::Check(Check {
            tensor: tensor.into(),
            offset: number("offset", offset)?,
            size: number("size", size)?,
            alloc: number("alloc", alloc)?,
        }));
    }
    if let Some(text) = line.strip_prefix(SAFE) {
        return Ok(Line::Safe(text.trim().into()));
    }
    let trace = |moment, tensor: &str, bytes, error: Option<&str>| {
        let (tensor, error) = (tensor.into(), error.map(str::to_owned));
        Ok(Line::Trace(Trace { moment, tensor, bytes: number("bytes", bytes)?, error }))
    };
    if let Some(tensor) = BEFORE.tensor(line) {
        let [source, bytes, stream] = BEFORE.values(&mut rest)?;
        pointer("src_ptr", source)?;
        pointer("stream", stream)?;
        return trace(Moment::Before, tensor, bytes, None);
    }
    if let Some(tensor) = AFTER.tensor(line) {
        let [destination, bytes] = AFTER.values(&mut rest)?;
        pointer("dst_ptr", destination)?;
        return trace(Moment::After, tensor, bytes, None);
    }
    if let Some(tensor) = FAILED.tensor(line) {
        let [source, destination, bytes, error] = FAILED.values(&mut rest)?;
        pointer("src_ptr", source)?;
        pointer("dst_ptr", destination)?;
        return trace(Moment::Failed, tensor, bytes, Some(error));
    }
    Err(Malformed::Block(line.trim().into()))
}

fn value(field: &'static str, value: &str, want: &'static str) -> Malformed {
    Malformed::Value { field, value: value.chars().take(80).collect(), want }
}

fn number(field: &'static str, text: &str) -> Result<u64, Malformed> {
    text.parse().map_err(|_| value(field, text, "number"))
}

/// `0x7f00`, or what C libraries print for null.
fn pointer(field: &'static str, text: &str) -> Result<u64, Malformed> {
    if text == "(nil)" {
        return Ok(0);
    }
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).map_err(|_| value(field, text, "address"))
}

fn layer_of(text: &str) -> Result<Option<u64>, Malformed> {
    if text == "-1" { Ok(None) } else { number("layer", text).map(Some) }
}

/// Seconds with a fraction, in nanoseconds.
fn time(text: &str) -> Result<u64, Malformed> {
    let bad = || value("ts", text, "time in seconds");
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if !(1..=9).contains(&fraction.len()) || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return Err(bad());
    }
    let seconds: u64 = seconds.parse().map_err(|_| bad())?;
    let fraction: u64 = format!("{fraction:0<9}").parse().map_err(|_| bad())?;
    seconds.checked_mul(1_000_000_000).and_then(|n| n.checked_add(fraction)).ok_or_else(bad)
}
