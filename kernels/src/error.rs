//! What can go wrong, and whose fault it is.
//!
//! [`OpError`] says that the *caller* asked for something that cannot be done. [`DeviceError`] says that
//! the *device* could not do what it was rightly asked. They never mix: validation returns the first, a
//! backend the second.

use std::fmt;

/// What a check of an op compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum Check {
    /// The element type is one the op takes.
    DType,
    /// The number of dimensions.
    Rank,
    /// The extent of a dimension.
    Shape,
    /// The distance between elements or rows.
    Stride,
    /// The first byte suits the element type.
    Alignment,
    /// The tensor lies inside its buffer.
    Extent,
    /// Products of extents and strides fit in a machine word.
    Overflow,
    /// A token id, position or sequence number is in range.
    Index,
    /// No two writes of one op go to the same place.
    Duplicate,
    /// A parameter has a value for which the op is defined.
    Parameter,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Check::DType => "element type",
            Check::Rank => "rank",
            Check::Shape => "shape",
            Check::Stride => "stride",
            Check::Alignment => "alignment",
            Check::Extent => "extent",
            Check::Overflow => "size overflow",
            Check::Index => "index",
            Check::Duplicate => "duplicate",
            Check::Parameter => "parameter",
        })
    }
}

/// The caller's mistake: which op, which operand, what was wanted and what was given.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{op}: {operand}: {check}: want {want}, got {got}")]
pub struct OpError {
    /// Stem of the op.
    pub op: &'static str,
    /// Operand or parameter.
    pub operand: &'static str,
    /// What was compared.
    pub check: Check,
    /// What the op takes.
    pub want: String,
    /// What it was given.
    pub got: String,
}

/// The device's failure.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// An allocation could not be made.
    #[error("out of memory: '{label}' needs {requested} bytes, {available} are free")]
    OutOfMemory {
        /// What the memory was for.
        label: String,
        /// Bytes asked for.
        requested: usize,
        /// Bytes that were left.
        available: usize,
    },
    /// A kernel or a copy went wrong on the device; the report says what and where, and which access did it.
    #[error("{0}")]
    Fault(String),
    /// An op wrote into the guard zone of a buffer.
    #[error("{0}")]
    Overrun(Box<Overrun>),
    /// A copy between host and device reported an error: its own, or that of work before it.
    #[error("{0}")]
    Copy(Box<DeviceError>),
    /// Two copies of the same bytes to the host differ, and nothing wrote them between: the copy is at fault.
    #[error("two copies of bytes {start}..{} of buffer '{label}' to the host differ: the copy is at fault, not the op", start + len)]
    UnsteadyCopy {
        /// The buffer.
        label: String,
        /// First byte of the copies.
        start: usize,
        /// Bytes of each.
        len: usize,
    },
    /// A copy brought fewer or more bytes than it was asked for.
    #[error("{got} bytes arrived of {want}")]
    ShortCopy {
        /// Bytes asked for.
        want: usize,
        /// Bytes that arrived.
        got: usize,
    },
    /// A code object cannot be loaded, or lacks a kernel.
    #[error("code object of '{stem}': {reason}")]
    CodeObject {
        /// The op it belongs to.
        stem: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The device no longer answers.
    #[error("device lost: {0}")]
    Lost(String),
    /// An observer ended the run, as planned. The device is well.
    #[error("the run was stopped: {0}")]
    Stopped(String),
    /// An observer failed: an oracle that refused an op, a file that could not be written.
    #[error("{0}")]
    Watch(String),
    /// A call of the runtime returned an error.
    #[error("{call} failed with {code} ({name})")]
    Runtime {
        /// Function that was called.
        call: &'static str,
        /// Number that it returned.
        code: i32,
        /// The runtime's name for that number.
        name: String,
    },
    /// The backend was asked for an op it had declared as unsupported.
    #[error("{op} is not supported here: {reason}")]
    Unsupported {
        /// Stem of the op.
        op: &'static str,
        /// The backend's own words.
        reason: String,
    },
    /// A transfer would leave the buffer.
    #[error("{call}: bytes {start}..{end} of '{label}', which has {len}")]
    Extent {
        /// `read` or `write`.
        call: &'static str,
        /// Label of the buffer.
        label: String,
        /// First byte.
        start: usize,
        /// One past the last byte.
        end: usize,
        /// Bytes in the buffer.
        len: usize,
    },
}

impl DeviceError {
    /// This error as that of a copy between host and device.
    #[must_use]
    pub fn in_copy(self) -> Self {
        match self {
            DeviceError::Copy(_) | DeviceError::Stopped(_) | DeviceError::Watch(_) => self,
            error => DeviceError::Copy(Box::new(error)),
        }
    }

    /// The error itself, whichever call reported it.
    pub fn cause(&self) -> &Self {
        match self {
            DeviceError::Copy(error) => error.cause(),
            error => error,
        }
    }
}

/// Side of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Below its first byte.
    Before,
    /// From one past its last byte on.
    After,
}

/// Bytes that an op wrote outside one of its buffers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overrun {
    /// Stem of the op.
    pub op: &'static str,
    /// Operand whose buffer it is.
    pub operand: &'static str,
    /// Label of the buffer.
    pub label: String,
    /// Bytes in the buffer.
    pub len: usize,
    /// On which side.
    pub side: Side,
    /// The first byte: how far before the start or past the end.
    pub distance: usize,
    /// How many bytes of the zone were overwritten.
    pub count: usize,
}

impl fmt::Display for Overrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Overrun { op, operand, label, len, side, distance, count } = self;
        let side = match side {
            Side::Before => "before the start",
            Side::After => "past the end",
        };
        write!(
            f,
            "{op} wrote outside operand '{operand}' of buffer '{label}' ({len} bytes): {count} bytes overwritten, the first \
             {distance} bytes {side}"
        )
    }
}

/// Either kind, for code that validates and launches in one go.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// The caller's mistake.
    #[error(transparent)]
    Op(#[from] OpError),
    /// The device's failure.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
