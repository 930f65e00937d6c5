//! EXEC, branches and calls.

use softhip::report::Problem;

use crate::bench::{Pool, no_memory, random_state, words};

/// `EXEC = f(source, EXEC)`; the destination gets `saved(old EXEC, new EXEC)`.
fn exec(text: &str, f: impl Fn(u64, u64) -> u64, saved: impl Fn(u64, u64) -> u64) {
    for seed in 0..20 {
        let mut state = random_state(Pool::Bits, seed);
        state.set_pair(126, state.pair(22));
        let (source, old) = (state.pair(20), state.pair(126));
        state.run(&words(text), &no_memory()).unwrap();
        let new = f(source, old);
        assert_eq!((state.pair(126), state.pair(24), state.scc), (new, saved(old, new), new != 0), "{text}");
    }
}

#[test]
fn exec_is_saved_and_replaced() {
    let old = |old, _| old;
    exec("s_and_saveexec_b64 s[24:25], s[20:21]", |s, e| s & e, old);
    exec("s_or_saveexec_b64 s[24:25], s[20:21]", |s, e| s | e, old);
    exec("s_xor_saveexec_b64 s[24:25], s[20:21]", |s, e| s ^ e, old);
    exec("s_andn2_saveexec_b64 s[24:25], s[20:21]", |s, e| s & !e, old);
    exec("s_orn2_saveexec_b64 s[24:25], s[20:21]", |s, e| s | !e, old);
    exec("s_nand_saveexec_b64 s[24:25], s[20:21]", |s, e| !(s & e), old);
    exec("s_nor_saveexec_b64 s[24:25], s[20:21]", |s, e| !(s | e), old);
    exec("s_xnor_saveexec_b64 s[24:25], s[20:21]", |s, e| !(s ^ e), old);
    exec("s_andn1_saveexec_b64 s[24:25], s[20:21]", |s, e| !s & e, old);
    exec("s_orn1_saveexec_b64 s[24:25], s[20:21]", |s, e| !s | e, old);
    exec("s_andn1_wrexec_b64 s[24:25], s[20:21]", |s, e| !s & e, |_, new| new);
    exec("s_andn2_wrexec_b64 s[24:25], s[20:21]", |s, e| s & !e, |_, new| new);
}

/// Runs a branch over `s_mov_b32 s24, 1`; says whether it was taken.
fn taken(text: &str, scc: bool, vcc: u64, exec: u64) -> bool {
    let mut state = random_state(Pool::Bits, 1);
    state.scc = scc;
    state.set_pair(106, vcc);
    state.set_pair(126, exec);
    state.scalars[24] = 0;
    state.run(&words(text), &no_memory()).unwrap();
    state.scalars[24] == 0
}

#[test]
fn branches_are_taken_on_their_condition() {
    assert!(taken("s_branch 1; s_mov_b32 s24, 1", false, 0, 0));
    for on in [false, true] {
        let mask = u64::from(on) << 40;
        assert_eq!(taken("s_cbranch_scc1 1; s_mov_b32 s24, 1", on, 0, 0), on);
        assert_eq!(taken("s_cbranch_scc0 1; s_mov_b32 s24, 1", on, 0, 0), !on);
        assert_eq!(taken("s_cbranch_vccnz 1; s_mov_b32 s24, 1", false, mask, 0), on);
        assert_eq!(taken("s_cbranch_vccz 1; s_mov_b32 s24, 1", false, mask, 0), !on);
        assert_eq!(taken("s_cbranch_execnz 1; s_mov_b32 s24, 1", false, 0, mask), on);
        assert_eq!(taken("s_cbranch_execz 1; s_mov_b32 s24, 1", false, 0, mask), !on);
    }
}

#[test]
fn calls_return() {
    let mut state = random_state(Pool::Bits, 2);
    // The called function stands after the jump over it, at byte 12.
    let text = "s_call_b64 s[30:31], 2; s_mov_b32 s24, 7; s_branch 2; s_mov_b32 s25, 9; s_setpc_b64 s[30:31]";
    state.run(&words(text), &no_memory()).unwrap();
    assert_eq!((state.scalars[24], state.scalars[25], state.pair(30)), (7, 9, 4));
    let text = "s_getpc_b64 s[30:31]; s_add_u32 s30, s30, 16; s_addc_u32 s31, s31, 0; s_swappc_b64 s[28:29], s[30:31]; s_mov_b32 s24, 1; s_nop 0";
    let mut state = random_state(Pool::Bits, 3);
    state.scalars[24] = 0;
    state.run(&words(text), &no_memory()).unwrap();
    assert_eq!((state.scalars[24], state.pair(28)), (0, 16));
}

#[test]
fn what_waits_or_flushes_does_nothing() {
    let mut state = random_state(Pool::Bits, 4);
    let before = state.clone();
    let text = "s_nop 3; s_waitcnt vmcnt(0); s_sleep 1; s_setprio 2; s_icache_inv; s_dcache_inv; s_dcache_wb; buffer_wbl2 sc1; buffer_inv sc1; v_nop; ds_nop; s_wakeup; s_sethalt 0; s_incperflevel 1; s_decperflevel 1; s_ttracedata; s_dcache_inv_vol; s_dcache_wb_vol; s_dcache_discard s[20:21], 0x0; s_dcache_discard_x2 s[20:21], 0x0; s_atc_probe 0, s[20:21], 0x0; s_atc_probe_buffer 0, s[20:23], 0x0; v_clrexcp; buffer_wbinvl1; buffer_wbinvl1_vol; s_cbranch_cdbgsys 1; s_cbranch_cdbguser 1; s_cbranch_cdbgsys_or_user 1; s_cbranch_cdbgsys_and_user 1; s_nop 0";
    state.run(&words(text), &no_memory()).unwrap();
    assert!(state == before);
}

#[test]
fn jumps_out_of_the_code_are_reported() {
    let mut state = random_state(Pool::Bits, 5);
    state.set_pair(30, 0x123456);
    let problem = state.run(&words("s_setpc_b64 s[30:31]"), &no_memory()).unwrap_err();
    assert!(
        matches!(&problem, Problem::Instruction { reason, .. } if reason.contains("0x123456")),
        "{problem:?}"
    );
}

#[test]
fn unknown_operations_are_named_with_their_words() {
    let mut state = random_state(Pool::Bits, 6);
    let words = words("v_screen_partition_4se_b32_e32 v6, v0");
    let problem = state.run(&words, &no_memory()).unwrap_err();
    let Problem::Instruction { words: named, reason } = problem else { panic!("{problem:?}") };
    assert_eq!(named, words);
    assert!(reason.contains("v_screen_partition_4se_b32"), "{reason}");
}

#[test]
fn traps_are_reported() {
    let mut state = random_state(Pool::Bits, 7);
    assert_eq!(state.run(&words("s_trap 2"), &no_memory()), Err(Problem::Trap { number: 2 }));
}

#[test]
fn registers_that_the_kernel_has_not_are_reported() {
    let mut state = random_state(Pool::Bits, 8);
    let problem = state.run(&words("v_mov_b32_e32 v99, v0"), &no_memory()).unwrap_err();
    assert!(matches!(&problem, Problem::Instruction { reason, .. } if reason.contains("v99")), "{problem:?}");
}

#[test]
fn vskip_skips_vector_instructions_and_nothing_else() {
    let mut state = random_state(Pool::Bits, 1);
    state.lds = vec![0; 256];
    let before = state.clone();
    // Bit 3 of 8 is set, bit 2 is not.
    let text = "s_setvskip 8, 3; v_mov_b32_e32 v6, 5; ds_write_b32 v6, v6; s_mov_b32 s20, 7; s_setvskip 8, 2; v_mov_b32_e32 v7, 6";
    state.run(&words(text), &no_memory()).unwrap();
    assert_eq!(state.vgprs[6], before.vgprs[6]);
    assert_eq!(state.lds, before.lds);
    assert_eq!(state.scalars[20], 7);
    assert_eq!(state.vgprs[7], [6; 64]);
}

#[test]
fn messages_to_the_host_do_not_stop_the_wave() {
    let mut state = random_state(Pool::Bits, 1);
    state.run(&words("s_sendmsg sendmsg(MSG_INTERRUPT); s_mov_b32 s20, 7"), &no_memory()).unwrap();
    assert_eq!(state.scalars[20], 7);
}

#[test]
fn m0_moves_scalar_registers() {
    let start = || {
        let mut state = random_state(Pool::Bits, 11);
        state.scalars[124] = 4;
        state
    };
    let (before, mut state) = (start(), start());
    state.run(&words("s_movrels_b32 s30, s20; s_movreld_b32 s32, s21"), &no_memory()).unwrap();
    assert_eq!((state.scalars[30], state.scalars[36]), (before.scalars[24], before.scalars[21]));
    let mut state = start();
    state
        .run(&words("s_movrels_b64 s[30:31], s[20:21]; s_movreld_b64 s[32:33], s[22:23]"), &no_memory())
        .unwrap();
    assert_eq!((state.pair(30), state.pair(36)), (before.pair(24), before.pair(22)));
}

#[test]
fn a_register_sets_a_part_of_the_mode() {
    let mut state = random_state(Pool::Bits, 12);
    state.scalars[20] = 0b10;
    state
        .run(
            &words("s_setreg_b32 hwreg(HW_REG_MODE, 2, 2), s20; s_getreg_b32 s21, hwreg(HW_REG_MODE, 0, 4)"),
            &no_memory(),
        )
        .unwrap();
    assert_eq!(state.scalars[21] >> 2, 0b10);
}

#[test]
fn the_end_ends_the_wave() {
    for text in
        ["s_mov_b32 s24, 1; s_endpgm; s_mov_b32 s24, 2", "s_mov_b32 s24, 1; s_endpgm_saved; s_mov_b32 s24, 2"]
    {
        let mut state = random_state(Pool::Bits, 13);
        state.run(&words(text), &no_memory()).unwrap();
        assert_eq!(state.scalars[24], 1, "{text}");
    }
}

#[test]
fn clocks_do_not_go_back() {
    let mut state = random_state(Pool::Bits, 14);
    state
        .run(&words("s_memtime s[24:25]; s_memrealtime s[26:27]; s_memtime s[28:29]; s_nop 0"), &no_memory())
        .unwrap();
    assert!(state.pair(28) >= state.pair(24) && state.pair(26) < 1 << 32);
}
