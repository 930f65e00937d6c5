//! Carries, and moves between lanes.

use softhip::memory::WAVE;

use crate::bench::{Lane, MASKS, Out, Pool, mask, no_memory, random_state, vector, words};

fn both(text: &str, at: u8, f: impl Fn(&Lane) -> (u64, bool)) {
    let wide = text.contains("u64") || text.contains("i64");
    mask(Pool::Bits, text, at, |l| f(l).1);
    vector(Pool::Bits, text, |l| if wide { Out::Bits64(f(l).0) } else { Out::Bits32(f(l).0 as u32) });
}

#[test]
fn carry_chains() {
    let sum = |a: u32, b: u32, carry: bool| {
        let wide = u64::from(a) + u64::from(b) + u64::from(carry);
        (wide, wide > 0xffff_ffff)
    };
    let difference = |a: u32, b: u32, borrow: bool| {
        let wide = i64::from(a) - i64::from(b) - i64::from(borrow);
        (wide as u64, wide < 0)
    };
    both("v_add_co_u32_e32 v6, vcc, v0, v2", 106, |l| sum(l.au(), l.bu(), false));
    both("v_add_co_u32_e64 v6, s[30:31], v0, v2", 30, |l| sum(l.au(), l.bu(), false));
    both("v_addc_co_u32_e32 v6, vcc, v0, v2, vcc", 106, |l| sum(l.au(), l.bu(), l.vcc));
    both("v_addc_co_u32_e64 v6, s[30:31], v0, v2, s[20:21]", 30, |l| {
        sum(l.au(), l.bu(), (l.s >> l.index) & 1 == 1)
    });
    both("v_sub_co_u32_e32 v6, vcc, v0, v2", 106, |l| difference(l.au(), l.bu(), false));
    both("v_subrev_co_u32_e32 v6, vcc, v0, v2", 106, |l| difference(l.bu(), l.au(), false));
    both("v_subb_co_u32_e32 v6, vcc, v0, v2, vcc", 106, |l| difference(l.au(), l.bu(), l.vcc));
    both("v_subbrev_co_u32_e32 v6, vcc, v0, v2, vcc", 106, |l| difference(l.bu(), l.au(), l.vcc));
    both("v_mad_u64_u32 v[6:7], s[30:31], v0, v2, v[4:5]", 30, |l| {
        let exact = u128::from(l.au()) * u128::from(l.bu()) + u128::from(l.c);
        (exact as u64, exact >> 64 != 0)
    });
    both("v_mad_i64_i32 v[6:7], s[30:31], v0, v2, v[4:5]", 30, |l| {
        let exact = i128::from(l.ai()) * i128::from(l.bi()) + i128::from(l.c as i64);
        (exact as u64, (exact >> 64) & 1 == 1)
    });
}

#[test]
fn counts_of_lower_lanes() {
    vector(Pool::Bits, "v_mbcnt_lo_u32_b32 v6, v0, v2", |l| {
        let below = (0..l.index.min(32)).filter(|i| (l.au() >> i) & 1 == 1).count();
        Out::Bits32(l.bu().wrapping_add(below as u32))
    });
    vector(Pool::Bits, "v_mbcnt_hi_u32_b32 v6, v0, v2", |l| {
        let below = (32..l.index.max(32)).filter(|i| (l.au() >> (i - 32)) & 1 == 1).count();
        Out::Bits32(l.bu().wrapping_add(below as u32))
    });
}

#[test]
fn single_lanes() {
    let memory = no_memory();
    for exec in MASKS {
        let mut state = random_state(Pool::Bits, 3);
        state.set_pair(126, exec);
        state.scalars[20] = 64 + 37;
        let before = state.clone();
        state.run(&words("v_readlane_b32 s22, v0, s20"), &memory).unwrap();
        assert_eq!(state.scalars[22], before.vgprs[0][37], "the lane number is taken modulo 64");
        state.run(&words("v_readfirstlane_b32 s23, v2"), &memory).unwrap();
        let first = (0..WAVE).find(|lane| (exec >> lane) & 1 == 1).unwrap_or(0);
        assert_eq!(state.scalars[23], before.vgprs[2][first]);
        state.run(&words("v_writelane_b32 v6, s21, 37"), &memory).unwrap();
        for lane in 0..WAVE {
            let expected = if lane == 37 { before.scalars[21] } else { before.vgprs[6][lane] };
            assert_eq!(state.vgprs[6][lane], expected, "EXEC does not matter");
        }
        state.run(&words("v_swap_b32 v0, v2"), &memory).unwrap();
        for lane in 0..WAVE {
            let (a, b) = (before.vgprs[0][lane], before.vgprs[2][lane]);
            let active = (exec >> lane) & 1 == 1;
            let expected = if active { (b, a) } else { (a, b) };
            assert_eq!((state.vgprs[0][lane], state.vgprs[2][lane]), expected);
        }
    }
}

#[test]
fn accumulation_registers_hold_what_was_moved_to_them() {
    let memory = no_memory();
    let mut state = random_state(Pool::Bits, 5);
    state.agprs = vec![[7; WAVE]; 4];
    let text = "v_accvgpr_write_b32 a1, v0; v_accvgpr_mov_b32 a2, a1; v_accvgpr_read_b32 v6, a2; v_accvgpr_write_b32 a3, 1.0";
    state.run(&words(text), &memory).unwrap();
    assert_eq!(state.agprs, [[7; WAVE], state.vgprs[0], state.vgprs[0], [0x3f80_0000; WAVE]]);
    assert_eq!(state.vgprs[6], state.vgprs[0]);
}

#[test]
fn m0_moves_registers_while_the_index_mode_is_on() {
    let mut state = random_state(Pool::Bits, 6);
    state.scalars[20] = 2;
    let before = state.clone();
    let text = "s_set_gpr_idx_on s20, gpr_idx(SRC0); v_mov_b32_e32 v6, v0; s_set_gpr_idx_mode gpr_idx(DST); v_mov_b32_e32 v8, v1; s_set_gpr_idx_idx s24; s_set_gpr_idx_off; v_mov_b32_e32 v12, v0";
    state.run(&words(text), &no_memory()).unwrap();
    assert_eq!(state.vgprs[6], before.vgprs[2]);
    assert_eq!((state.vgprs[8], state.vgprs[10]), (before.vgprs[8], before.vgprs[1]));
    assert_eq!(state.vgprs[12], before.vgprs[0]);
    let mut state = before;
    state.scalars[20] = 200;
    assert!(state.run(&words(text), &no_memory()).is_err(), "v200 does not exist");
}
