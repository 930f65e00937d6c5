//! Why an entry of a manifest does not take a form.

/// Why an entry does not take a form, and the line that says so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The line of the manifest.
    pub line: usize,
    /// What stands there, and what is in the way.
    pub what: String,
    /// Whether the line makes no sense for the form: an overflow, a division by zero, a size of zero.
    pub mistake: bool,
}
