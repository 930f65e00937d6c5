//! What instructions do to registers, along all ways through a kernel.
//!
//! | file | what it says |
//! |---|---|
//! | `effects` | which registers an instruction reads, writes and replaces, SCC and EXEC among them |
//! | `dead` | whether what an instruction writes is ever read |
//! | `skip` | whether a branch on EXEC = 0 jumps over nothing that could be seen |
//! | `unwritten` | reads of registers that nothing has written |
//! | `ways` | which ways of branches no wave can go |

mod dead;
mod effects;
mod skip;
mod unwritten;
mod ways;

pub use dead::is_dead;
pub(crate) use effects::keeps_part;
pub use effects::{Effects, is_vector};
pub use skip::skips_nothing;
pub use unwritten::reads_unwritten;
pub use ways::{Impossible, impossible};

use crate::isa::{Inst, Op};

/// Where a wave goes on after the instruction `index` of `code`; `None` where that is not known: computed addresses and calls.
pub fn successors(code: &[Inst], index: usize) -> Option<Vec<usize>> {
    let inst = &code[index];
    let find = |pc: u64| code.binary_search_by_key(&pc, |inst| inst.pc).ok();
    match inst.op {
        Op::s_endpgm | Op::s_endpgm_saved | Op::s_endpgm_ordered_ps_done => Some(Vec::new()),
        Op::s_setpc_b64
        | Op::s_swappc_b64
        | Op::s_call_b64
        | Op::s_rfe_b64
        | Op::s_rfe_restore_b64
        | Op::s_cbranch_join
        | Op::s_cbranch_g_fork
        | Op::s_cbranch_i_fork
        | Op::s_trap => None,
        Op::s_branch => Some(vec![find(inst.branch_target()?)?]),
        _ => {
            let mut next = vec![find(inst.next_pc())?];
            if let Some(target) = inst.branch_target() {
                next.push(find(target)?);
            }
            Some(next)
        }
    }
}

/// Whether instructions name registers by a number at run time: nothing is said about kernels that do so.
pub fn indexes_registers(code: &[Inst]) -> bool {
    code.iter().any(|inst| {
        matches!(
            inst.op,
            Op::s_set_gpr_idx_on
                | Op::s_set_gpr_idx_idx
                | Op::s_set_gpr_idx_mode
                | Op::s_set_gpr_idx_off
                | Op::s_movrels_b32
                | Op::s_movrels_b64
                | Op::s_movreld_b32
                | Op::s_movreld_b64
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::isa::decode;

    const END: u32 = 0xbf81_0000;
    const V1_IS_V2: u32 = 0x7e02_0302;
    const V1_IS_V3: u32 = 0x7e02_0303;
    /// `v_add_f32 v3, v1, v1`
    const READ_V1: u32 = 0x0206_0301;
    /// `s_and_saveexec_b64 s[0:1], vcc`
    const NARROW: u32 = 0xbe80_206a;
    /// `s_or_b64 exec, exec, s[0:1]`
    const WIDEN: u32 = 0x87fe_007e;
    /// `s_mov_b32 s5, 1`
    const S5_IS_1: u32 = 0xbe85_0081;
    /// `s_mov_b32 s6, s5`
    const READ_S5: u32 = 0xbe86_0005;
    /// `s_add_u32 s5, s6, s6`, `s_addc_u32 s5, s6, s6`
    const ADD: u32 = 0x8005_0606;
    const ADD_CARRY: u32 = 0x8205_0606;
    const BARRIER: u32 = 0xbf8a_0000;

    fn code(words: &[u32]) -> Vec<Inst> {
        (0u64..)
            .step_by(4)
            .zip(words)
            .map(|(pc, word)| decode(&[*word], pc).expect("an instruction"))
            .collect()
    }

    fn first_is_dead(words: &[u32]) -> bool {
        let code = code(words);
        is_dead(&code, 0, &Effects::of(&code[0]).writes)
    }

    #[test]
    fn a_result_is_dead_where_every_lane_of_it_is_replaced_before_it_is_read() {
        assert!(first_is_dead(&[V1_IS_V2, V1_IS_V3, READ_V1, END]));
        assert!(first_is_dead(&[V1_IS_V2, END]));
        assert!(!first_is_dead(&[V1_IS_V2, READ_V1, END]));
        // Fewer lanes are replaced than were written; then the same again; then fewer after which all are back.
        assert!(!first_is_dead(&[V1_IS_V2, NARROW, V1_IS_V3, WIDEN, READ_V1, END]));
        assert!(first_is_dead(&[V1_IS_V2, NARROW, WIDEN, V1_IS_V3, READ_V1, END]));
        // What was saved is overwritten, so that EXEC is not what it was.
        assert!(!first_is_dead(&[V1_IS_V2, NARROW, 0xbe80_0080, WIDEN, V1_IS_V3, READ_V1, END]));
    }

    #[test]
    fn scalar_results_and_the_condition_bit_are_followed() {
        assert!(first_is_dead(&[S5_IS_1, S5_IS_1, READ_S5, END]));
        assert!(!first_is_dead(&[S5_IS_1, READ_S5, END]));
        assert!(first_is_dead(&[ADD, ADD, READ_S5, END]));
        assert!(!first_is_dead(&[ADD, ADD_CARRY, END]), "the carry is read");
        // s_cbranch_scc1 back to the first instruction, which replaces both.
        assert!(!first_is_dead(&[ADD, 0xbf85_fffe, END]), "the branch reads SCC");
    }

    #[test]
    fn a_jump_over_what_does_nothing_without_a_lane_saves_time_alone() {
        let skips = |words: &[u32]| skips_nothing(&code(words), 0);
        let over = |count: u32| 0xbf88_0000 | count;
        assert!(skips(&[over(1), V1_IS_V2, READ_V1, END]));
        assert!(!skips(&[over(1), BARRIER, END]));
        assert!(skips(&[over(1), S5_IS_1, END]));
        assert!(!skips(&[over(1), S5_IS_1, READ_S5, END]));
        // Lanes come on again from a mask that may hold some.
        assert!(!skips(&[over(2), WIDEN, V1_IS_V2, END]));
        // What was saved there is zero as well.
        assert!(skips(&[over(3), NARROW, V1_IS_V2, WIDEN, 0xbec0_01c1, END]));
        // A loop that ends without a lane: s_cbranch_execnz back.
        assert!(skips(&[over(2), V1_IS_V2, 0xbf89_fffe, END]));
        assert!(!skips(&[over(2), S5_IS_1, 0xbf82_fffe, END]), "a loop without end");
        assert!(!skips_nothing(&code(&[V1_IS_V2, END]), 0));
    }

    #[test]
    fn a_branch_on_a_mask_that_is_known_has_one_way() {
        // s_mov_b64 s[2:3], -1; s_and_b64 vcc, exec, s[2:3]; s_cbranch_vccnz 1
        let masked = |mask: u32| impossible(&code(&[mask, 0x86ea_027e, 0xbf87_0001, V1_IS_V2, END])).ways;
        assert_eq!(masked(0xbe82_01c1), BTreeSet::from([(2, false)]), "some lane is on, so VCC is not zero");
        assert_eq!(masked(0xbe82_0180), BTreeSet::from([(2, true)]), "s_mov_b64 s[2:3], 0");
        assert_eq!(masked(NARROW), BTreeSet::new());
        // After lanes went off nothing is known of EXEC, until a branch tells.
        let narrowed = [NARROW, 0xbf88_0002, 0xbf88_0001, V1_IS_V2, END];
        assert_eq!(impossible(&code(&narrowed)).ways, BTreeSet::from([(2, true)]));
        // What only such a way leads to is not reached, either.
        let dead = impossible(&code(&[0xbe82_01c1, 0x86ea_027e, 0xbf87_0001, V1_IS_V2, END]));
        assert_eq!(dead.instructions, BTreeSet::from([3]));
    }

    #[test]
    fn a_register_that_no_way_writes_is_read_for_what_another_wave_left() {
        let read = |words: &[u32]| reads_unwritten(&code(words), &exec_and_v2()).map(|(at, _)| at);
        assert_eq!(read(&[V1_IS_V2, READ_V1, END]), None);
        assert_eq!(read(&[V1_IS_V3, END]), Some(0));
        assert_eq!(read(&[READ_S5, S5_IS_1, END]), Some(0));
        // Written on one of two ways.
        assert_eq!(read(&[0xbf88_0001, S5_IS_1, READ_S5, END]), None);
    }

    fn exec_and_v2() -> crate::waits::RegisterSet {
        effects::exec().or(&crate::waits::RegisterSet::of(crate::isa::Operand::Vgpr(2), 1))
    }
}
