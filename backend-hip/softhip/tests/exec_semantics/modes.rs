//! Rounding and denormal modes.

use half::f16;

use crate::bench::{Lane, Out, Pool, no_memory, random_state, vector_in_mode, words};

/// MODE with rounding `r` for f32 and for f16 and f64, denormals kept.
const fn rounding(r: u32) -> u32 {
    0x3f0 | r | (r << 2)
}

/// Rounds an exact value in a direction: 1 up, 2 down, 3 to zero.
fn directed(exact: f64, direction: u32) -> f32 {
    let nearest = exact as f32;
    if exact.is_nan() || f64::from(nearest) == exact {
        return nearest;
    }
    let upwards = direction == 1 || (direction == 3 && exact < 0.0);
    match (upwards, f64::from(nearest) < exact) {
        (true, true) => nearest.next_up(),
        (false, false) => nearest.next_down(),
        _ => nearest,
    }
}

#[test]
fn products_follow_the_rounding_mode() {
    for direction in 1..4 {
        vector_in_mode(Pool::F32, "v_mul_f32_e32 v6, v0, v2", rounding(direction), |l| {
            // The product of two f32 is exact in f64 unless it underflows there, which it cannot.
            let exact = f64::from(l.af()) * f64::from(l.bf());
            Out::F32(if l.af().is_infinite() || l.bf().is_infinite() {
                exact as f32
            } else {
                directed(exact, direction)
            })
        });
        vector_in_mode(Pool::F32, "v_cvt_f16_f32_e32 v6, v0", rounding(direction), |l| {
            let x = f64::from(l.af());
            let nearest = f16::from_f64(x);
            let upwards = direction == 1 || (direction == 3 && x < 0.0);
            let value = if x.is_nan() || x.is_infinite() || nearest.to_f64() == x {
                nearest
            } else if upwards == (nearest.to_f64() < x) {
                next(nearest, upwards)
            } else {
                nearest
            };
            Out::F16(value, 0)
        });
        vector_in_mode(Pool::Bits, "v_cvt_f32_u32_e32 v6, v0", rounding(direction), |l| {
            Out::F32(directed(l.au().into(), direction))
        });
    }
}

/// The neighbouring f16.
fn next(x: f16, up: bool) -> f16 {
    let bits = x.to_bits();
    if bits.trailing_zeros() >= 15 {
        return f16::from_bits(if up { 1 } else { 0x8001 });
    }
    f16::from_bits(if (bits >> 15 == 0) == up { bits + 1 } else { bits - 1 })
}

#[test]
fn sums_follow_the_rounding_mode() {
    for direction in 1..4 {
        let mut state = random_state(Pool::F32, 5);
        // Exponents close enough for f64 to hold the sum exactly.
        for register in [0, 2] {
            state.vgprs[register] = state.vgprs[register].map(|x| (x & 0x83ff_ffff) | 0x3c00_0000);
        }
        state.mode = rounding(direction);
        let before = state.clone();
        state.run(&words("v_add_f32_e32 v6, v0, v2"), &no_memory()).unwrap();
        for lane in 0..64 {
            let l = crate::bench::lane_of(&before, lane);
            let expected = directed(f64::from(l.af()) + f64::from(l.bf()), direction);
            assert_eq!(state.vgprs[6][lane], expected.to_bits(), "{:e} + {:e}, {direction}", l.af(), l.bf());
        }
    }
}

fn flush(x: f32) -> f32 {
    if x.is_subnormal() { 0.0f32.copysign(x) } else { x }
}

#[test]
fn denormals_are_flushed_where_the_mode_says() {
    let product = |l: &Lane, input: bool, output: bool| {
        let (a, b) = if input { (flush(l.af()), flush(l.bf())) } else { (l.af(), l.bf()) };
        Out::F32(if output { flush(a * b) } else { a * b })
    };
    for (bits, input, output) in
        [(0x3c0, true, true), (0x3d0, false, true), (0x3e0, true, false), (0x3f0, false, false)]
    {
        vector_in_mode(Pool::F32, "v_mul_f32_e32 v6, v0, v2", bits, |l| product(l, input, output));
    }
    vector_in_mode(Pool::F32, "v_fma_f32 v6, v0, v2, v4", 0x3c0, |l| {
        Out::F32(flush(libm::fmaf(flush(l.af()), flush(l.bf()), flush(l.cf()))))
    });
    // Bits are bits: moves and selects do not flush.
    vector_in_mode(Pool::F32, "v_mov_b32_e32 v6, v0", 0x300, |l| Out::Bits32(l.au()));
}

#[test]
fn setreg_changes_the_mode() {
    let mut state = random_state(Pool::F32, 6);
    state.run(&words("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3; v_mul_f32_e32 v6, v0, v2; s_getreg_b32 s20, hwreg(HW_REG_MODE, 0, 8)"), &no_memory()).unwrap();
    assert_eq!(state.mode, 0x3f3);
    assert_eq!(state.scalars[20], 0xf3);
}
