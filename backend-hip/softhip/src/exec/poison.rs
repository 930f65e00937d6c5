//! Scalar registers without a value.
//!
//! Compilers widen scalar loads: of eight dwords loaded, a kernel may use five, and the other three may lie
//! beyond the end of the allocation. Such a load is no fault. The registers that got nothing are poisoned; a
//! write heals them, and the first instruction that reads one is reported, as the fault of the load.

use super::core::cx::{Cx, Step};
use super::core::trap::Trap;
use super::core::uop::Uop;
use super::resolve::is_vector;
use crate::report::Segment;

/// Refuses to read poison, and heals what `u` overwrites. Called only while some register is poisoned.
#[cold]
pub(super) fn gate(c: &mut Cx<'_>, u: &Uop) -> Step {
    if c.wave.vskip && is_vector(u.inst.format) {
        return Step::Next;
    }
    let read = c.wave.poison & u.reads;
    if read != 0 {
        let register = read.trailing_zeros();
        let source = c.wave.poisonings.iter().rev().find(|p| p.registers >> register & 1 != 0).cloned();
        if let Some(source) = source {
            let note = format!("s{register} has no value since `{}` at {:#x}", source.load, source.load.pc);
            return c.fault(Trap::access(Segment::Scalar, source.fault).note(note));
        }
    }
    c.wave.poison &= !u.writes;
    if c.wave.poison == 0 {
        c.wave.poisonings.clear();
    }
    Step::Next
}
