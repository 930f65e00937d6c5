//! Where a backend changes from one way of computing to another.

/// What has a size.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Size {
    /// Axis `.1` of the operand called `.0`.
    Dim(&'static str, usize),
    /// The largest position of a row.
    Position,
}

/// A size at which a backend changes from one way of computing to another: a tile is full, another kernel takes over, work is split.
///
/// A suite poses cases just below, at and above it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Breakpoint {
    /// What has the size.
    pub size: Size,
    /// The last size of the one way; the next is the first of the other.
    pub last: usize,
}

impl Breakpoint {
    /// The break point after `last` elements of an operand's axis.
    pub const fn dim(operand: &'static str, axis: usize, last: usize) -> Self {
        Breakpoint { size: Size::Dim(operand, axis), last }
    }

    /// The break point after position `last`.
    pub const fn position(last: usize) -> Self {
        Breakpoint { size: Size::Position, last }
    }
}
