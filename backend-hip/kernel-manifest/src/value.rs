//! What an expression is worth, and why it may be worth nothing.

use std::fmt;

use serde_json::Value as Json;

/// The value of an expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// A whole number.
    Integer(i64),
    /// A number with a fraction: a parameter such as epsilon.
    Real(f64),
    /// A name: an element type, or a choice such as `neox`.
    Word(String),
    /// A condition.
    Truth(bool),
}

impl Value {
    /// What kind of value it is, for messages.
    pub const fn kind(&self) -> &'static str {
        match self {
            Value::Integer(_) => "a whole number",
            Value::Real(_) => "a number with a fraction",
            Value::Word(_) => "a word",
            Value::Truth(_) => "a condition",
        }
    }

    /// The value of an op's parameter; `None` for one that is not given.
    pub fn of_parameter(json: &Json) -> Option<Value> {
        match json {
            Json::Bool(truth) => Some(Value::Truth(*truth)),
            Json::String(word) => Some(Value::Word(word.clone())),
            Json::Number(number) => {
                number.as_i64().map(Value::Integer).or_else(|| number.as_f64().map(Value::Real))
            }
            // A choice with fields is an object of one key: its name.
            Json::Object(fields) => fields.keys().next().cloned().map(Value::Word),
            Json::Null | Json::Array(_) => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer(n) => n.fmt(f),
            Value::Real(x) => x.fmt(f),
            Value::Word(word) => write!(f, "'{word}'"),
            Value::Truth(truth) => truth.fmt(f),
        }
    }
}

/// Why an expression has no value.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ValueError {
    /// The text is no expression.
    #[error("{what} at character {at}")]
    Syntax {
        /// Which character, from 1.
        at: usize,
        /// What is wrong there.
        what: String,
    },
    /// A name that the op does not have.
    #[error("{0}")]
    UnknownName(String),
    /// A result that does not fit in 64 bits.
    #[error("{0} overflows")]
    Overflow(String),
    /// A division by zero.
    #[error("{0} divides by zero")]
    DivisionByZero(String),
    /// An operator on values that it is not for.
    #[error("{0}")]
    Kind(String),
    /// An operand or a parameter that this op does without.
    #[error("'{0}' is not given")]
    Absent(String),
    /// Something that is known only when the op is launched.
    #[error("'{0}' is known only when the op is launched")]
    Late(String),
}
