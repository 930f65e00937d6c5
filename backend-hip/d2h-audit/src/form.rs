//! What each line of the log looks like. Writer and reader take tags, fields and their order from here.

use std::fmt::{Display, Write as _};

/// A line: a tag, then its fields in their order, each as `name=value`.
#[derive(Debug)]
pub struct Form<const N: usize> {
    /// What the line begins with.
    pub tag: &'static str,
    /// Names of the fields.
    pub fields: [&'static str; N],
}

/// A line before a copy is started.
pub const START: Form<9> = Form {
    tag: "[D2H_AUDIT_START]",
    fields: ["op_id", "ts", "stream", "dev_ptr", "host_ptr", "bytes", "tensor", "step", "layer"],
};

/// A line after a copy has landed or failed.
pub const END: Form<5> =
    Form { tag: "[D2H_AUDIT_END]", fields: ["op_id", "ts", "stream", "result", "tensor"] };

/// The extents of a copy.
pub const CHECK: Form<8> = Form {
    tag: "[D2H_CHECK]",
    fields: ["tensor", "step", "layer", "src_ptr", "dst_ptr", "offset", "size", "alloc"],
};

/// What a line about a safe copy begins with. What follows is text: [`ENGAGED`] and the tensor, or how the copy went.
pub const SAFE: &str = "[D2H SAFE]";

/// The text of a line of [`SAFE`] before a copy; the tensor follows.
pub const ENGAGED: &str = "engaged for tensor=";

/// A block: a tag, a tensor and a moment on a line, then its fields, each on a line of its own.
#[derive(Debug)]
pub struct Block<const N: usize> {
    /// What the first line begins with.
    pub tag: &'static str,
    /// What follows the tensor on the first line.
    pub moment: &'static str,
    /// Names of the fields.
    pub fields: [&'static str; N],
}

/// Before a copy is started.
pub const BEFORE: Block<3> =
    Block { tag: "[D2H TRACE]", moment: ":before", fields: ["src_ptr", "bytes", "stream"] };

/// After it has landed.
pub const AFTER: Block<2> = Block { tag: "[D2H TRACE]", moment: ":after", fields: ["dst_ptr", "bytes"] };

/// After it has failed.
pub const FAILED: Block<4> =
    Block { tag: "[D2H FATAL]", moment: ":FAILED", fields: ["src_ptr", "dst_ptr", "bytes", "hipError"] };

/// A field that is not where it must be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("'{field}=' is missing or in another place; the fields are {order}")]
pub struct MissingField {
    /// Its name.
    pub field: &'static str,
    /// All fields in their order.
    pub order: String,
}

impl<const N: usize> Form<N> {
    /// The line with these values, without its end.
    pub fn line(&self, values: [&dyn Display; N]) -> String {
        let mut line = self.tag.to_owned();
        for (field, value) in self.fields.iter().zip(values) {
            let _ = write!(line, " {field}={value}");
        }
        line
    }

    /// The values in what follows the tag. A value may contain blanks.
    pub fn values<'t>(&self, rest: &'t str) -> Result<[&'t str; N], MissingField> {
        let missing = |field| MissingField { field, order: self.fields.join(", ") };
        let mut values = [""; N];
        let mut rest = rest.trim();
        for (at, field) in self.fields.iter().enumerate() {
            let value = rest.strip_prefix(field).and_then(|rest| rest.strip_prefix('='));
            let value = value.ok_or_else(|| missing(field))?;
            let end = match self.fields.get(at + 1) {
                Some(next) => value.find(&format!(" {next}=")).ok_or_else(|| missing(next))?,
                None => value.len(),
            };
            values[at] = value[..end].trim();
            rest = value[end..].trim_start();
        }
        Ok(values)
    }
}

impl<const N: usize> Block<N> {
    /// The lines about `tensor` with these values, without the last one's end.
    pub fn lines(&self, tensor: &str, values: [&dyn Display; N]) -> String {
        let mut lines = format!("{} {tensor}{}", self.tag, self.moment);
        for (field, value) in self.fields.iter().zip(values) {
            let _ = write!(lines, "\n{field}={value}");
        }
        lines
    }

    /// The tensor, if `line` is the first line of such a block.
    pub fn tensor<'t>(&self, line: &'t str) -> Option<&'t str> {
        line.strip_prefix(self.tag)?.trim().strip_suffix(self.moment)
    }

    /// The values in the lines that follow the first one.
    pub fn values<'t>(
        &self,
        lines: &mut impl Iterator<Item = &'t str>,
    ) -> Result<[&'t str; N], MissingField> {
        let mut values = [""; N];
        for (value, field) in values.iter_mut().zip(self.fields) {
            let found = lines.next().and_then(|line| line.trim().strip_prefix(field)?.strip_prefix('='));
            *value = found.ok_or_else(|| MissingField { field, order: self.fields.join(", ") })?;
        }
        Ok(values)
    }
}
