//! A guard as an argument of commands.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use conformance::guard::Guard;

/// Parses a guard; the names and texts of `--help` are the guard's own.
pub fn parser() -> impl TypedValueParser<Value = Guard> {
    let values = Guard::ALL.map(|guard| PossibleValue::new(guard.name()).help(guard.about()));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Guard>())
}
