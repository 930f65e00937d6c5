//! Scalar pairs as masks of lanes.

use softhip::isa::inst::scalar;
use softhip::isa::table::Ty;
use softhip::isa::{Inst, Op, Operand};

fn has(lanes: u128, pair: Operand) -> bool {
    match pair {
        Operand::Scalar(first) => lanes >> first & 1 == 1,
        Operand::Int(0) => true,
        _ => false,
    }
}

/// The pairs that an instruction writes and that hold only lanes of a set, where `lanes` are those that did before it.
pub(super) fn within(inst: &Inst, lanes: u128) -> u128 {
    let [a, b] = [inst.src[0], inst.src[1]].map(|source| has(lanes, source));
    let exec = has(lanes, Operand::Scalar(scalar::EXEC));
    let (result, new_exec) = match inst.op {
        Op::s_mov_b64 | Op::s_andn2_b64 => (a, None),
        Op::s_and_b64 => (a || b, None),
        Op::s_or_b64 | Op::s_xor_b64 | Op::s_cselect_b64 => (a && b, None),
        Op::s_and_saveexec_b64 => (exec, Some(exec || a)),
        Op::s_or_saveexec_b64 | Op::s_xor_saveexec_b64 => (exec, Some(exec && a)),
        Op::s_andn2_saveexec_b64 => (exec, Some(a)),
        // A compare gives 0 for lanes that are off, and may write EXEC.
        _ if inst.operand_types()[0] == Ty::MASK && softhip::dataflow::is_vector(inst.format) => {
            let writes_exec = inst.op.mnemonic().starts_with("v_cmpx");
            (exec, writes_exec.then_some(exec))
        }
        _ => (false, None),
    };
    let mut within = 0;
    if let (Operand::Scalar(first), true) = (inst.dst, result) {
        within |= 1 << first;
    }
    if new_exec == Some(true) {
        within |= 1 << scalar::EXEC;
    }
    within
}
