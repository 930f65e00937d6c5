//! Faults made by machine: one changed instruction of a code object at a time, thousands of them, hunted with the suite's cases.
//!
//! A fault is made in the object itself ([`fault`]): an instruction dropped, two operands swapped, one bit of an encoding turned, which
//! is another immediate, register, operation or modifier. It runs on the software device against the cases that reach the changed
//! instruction with a lane on, the quickest first, until one kills it ([`hunt`]). Faults that change nothing by a stated argument are set
//! apart ([`equivalent`]), by what is known of values among others ([`values`]); the others are sorted by what they are about
//! ([`survivor`]). No process per fault: the device checks every access, and endless loops have a budget.

pub mod equivalent;
pub mod fault;
pub mod hunt;
pub mod survivor;
pub mod values;
