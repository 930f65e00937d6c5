//! The log of device-to-host copies, in the lines that users of the seeds' engine know.
//!
//! | switch | variable | what it does |
//! |---|---|---|
//! | `audit` | `GCORE_D2H_AUDIT=1` | `[D2H_AUDIT_START]` and `[D2H_AUDIT_END]` around every copy |
//! | `log` | `GCORE_D2H_AUDIT_LOG=FILE` | where the lines go; standard error without it |
//! | `debug` | `GRETA_D2H_DEBUG=1` | synchronises before and after each copy, with `[D2H SAFE]` and `[D2H_CHECK]` lines |
//! | `trace` | `GRETA_TRACE_MEMCPY=1` | `[D2H TRACE]` blocks before and after each copy, `[D2H FATAL]` on an error |
//!
//! [`mod@form`] says what the lines look like. [`Audit`] writes them, [`mod@line`] reads them back, also those of other programs, and
//! [`lint()`] says what is wrong with a log.
#![forbid(unsafe_code)]

pub mod form;
pub mod line;
mod lint;
mod log;
mod options;

pub use lint::{Finding, Linted, Rule, Sizes, lint};
pub use log::{Audit, Copy};
pub use options::AuditOptions;
