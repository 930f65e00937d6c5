//! Missing waits and hazards.
//!
//! Loads land late. A register that a load writes has no value until the wave has waited for the counter that covers
//! the load (`s_waitcnt`), and some instructions must be a number of wait states apart (`s_nop`). What the rules are
//! is said once, here, as facts about instructions ([`Facts`]) and a table of hazards ([`RULES`]); one state machine
//! ([`State`]) keeps to them. The executor feeds it the instructions of each wave, [`lint`](crate::lint) all ways
//! through a kernel at once.
//!
//! | file | what it says |
//! |---|---|
//! | `registers` | sets of registers |
//! | `facts` | what an instruction reads, writes, counts and waits for |
//! | `hazards` | the table of hazards, with a source for each rule |
//! | `state` | what is under way at some point of a program |
//! | `always` | what is under way whichever way a wave came |
//! | `flow` | all ways through a program |

#![allow(clippy::cast_possible_truncation, reason = "indices of instructions, registers and bits fit by far")]

mod always;
mod facts;
mod flow;
mod hazards;
mod registers;
mod state;

pub use facts::{Class, Event, Facts, LdsEffect, Wait};
pub use flow::findings;
pub use hazards::{RULES, Rule};
pub use registers::{Register, RegisterSet};
pub use state::{Certainty, Finding, Kind, State, Unit};
