//! Matrix multiplication against the plain triple sum.

use half::{bf16, f16};
use softhip::exec::WaveState;

use crate::bench::{Random, no_memory, words};

/// Where AMD's matrix instruction calculator puts element (block, row or column `i`, `k`) of A or B: lane and element.
fn place(m: usize, k_total: usize, blocks: usize, block: usize, i: usize, k: usize) -> (usize, usize) {
    let per_lane = m * k_total * blocks / 64;
    if blocks > 1 { (block * m + i, k) } else { (k / per_lane * m + i, k % per_lane) }
}

/// Where it puts element (block, row, column) of C and D: register and lane.
fn result_place(m: usize, block: usize, row: usize, column: usize) -> (usize, usize) {
    match m {
        4 => (row, block * 4 + column),
        16 => (block * 4 + row % 4, row / 4 * 16 + column),
        _ => (block * 16 + row / 8 * 4 + row % 4, row / 4 % 2 * 32 + column),
    }
}

#[derive(Clone, Copy)]
struct Shape {
    m: usize,
    k: usize,
    blocks: usize,
}

/// Operands in v0.. (A), v8.. (B), v32.. (C); the result goes to v64...
const A: usize = 0;
const B: usize = 8;
const C: usize = 32;
const D: usize = 64;

/// Small integers in all operands: every order of summation is exact.
fn check(text: &str, shape: Shape, bits: usize, encode: fn(i32) -> u32, result: fn(i32) -> u32) {
    check_mixed(text, shape, bits, [encode; 2], result);
}

/// As [`check`], with a format for A and one for B.
fn check_mixed(
    text: &str,
    shape: Shape,
    bits: usize,
    [encode_a, encode_b]: [fn(i32) -> u32; 2],
    result: fn(i32) -> u32,
) {
    let Shape { m, k, blocks } = shape;
    let mut random = Random::new(7);
    let mut draw = |range: usize| random.below(2 * range + 1) as i32 - range as i32;
    let mut state = WaveState::new(128, 0, 0);
    // EXEC does not matter.
    state.set_pair(126, 0x1);
    let mut matrix = |columns: usize, range: usize| -> Vec<i32> {
        (0..blocks * m * columns).map(|_| draw(range)).collect()
    };
    let (a, b, c) = (matrix(k, 5), matrix(k, 5), matrix(m, 50));
    for block in 0..blocks {
        for i in 0..m {
            for at in 0..k {
                let (lane, element) = place(m, k, blocks, block, i, at);
                let (word, shift) = (element * bits / 32, element * bits % 32);
                let index = (block * m + i) * k + at;
                state.vgprs[A + word][lane] |= encode_a(a[index]) << shift;
                state.vgprs[B + word][lane] |= encode_b(b[index]) << shift;
            }
            for column in 0..m {
                let (register, lane) = result_place(m, block, i, column);
                state.vgprs[C + register][lane] = result(c[(block * m + i) * m + column]);
            }
        }
    }
    state.run(&words(text), &no_memory()).unwrap();
    for block in 0..blocks {
        for row in 0..m {
            for column in 0..m {
                let products =
                    (0..k).map(|at| a[(block * m + row) * k + at] * b[(block * m + column) * k + at]);
                let expected = products.sum::<i32>() + c[(block * m + row) * m + column];
                let (register, lane) = result_place(m, block, row, column);
                assert_eq!(
                    state.vgprs[D + register][lane],
                    result(expected),
                    "{text}: block {block} [{row}][{column}]"
                );
            }
        }
    }
}

fn f32_bits(x: i32) -> u32 {
    (x as f32).to_bits()
}

fn f16_bits(x: i32) -> u32 {
    f16::from_f32(x as f32).to_bits().into()
}

fn bf16_bits(x: i32) -> u32 {
    bf16::from_f32(x as f32).to_bits().into()
}

fn byte(x: i32) -> u32 {
    x as u32 & 0xff
}

/// A small integer in E4M3 or E5M2 with the FNUZ biases.
fn tiny(x: i32, fraction: u32, bias: i32) -> u32 {
    if x == 0 {
        return 0;
    }
    let magnitude = x.unsigned_abs();
    let exponent = magnitude.ilog2();
    let below = (magnitude << fraction >> exponent) & ((1 << fraction) - 1);
    let bits = ((exponent as i32 + bias) as u32) << fraction | below;
    bits | if x < 0 { 0x80 } else { 0 }
}

fn fp8(x: i32) -> u32 {
    tiny(x, 3, 8)
}

#[test]
fn f16_and_bf16() {
    for (text, m, k, blocks) in [
        ("v_mfma_f32_16x16x16_f16 v[64:67], v[0:1], v[8:9], v[32:35]", 16, 16, 1),
        ("v_mfma_f32_32x32x8_f16 v[64:79], v[0:1], v[8:9], v[32:47]", 32, 8, 1),
        ("v_mfma_f32_4x4x4_16b_f16 v[64:67], v[0:1], v[8:9], v[32:35]", 4, 4, 16),
        ("v_mfma_f32_16x16x4_4b_f16 v[64:79], v[0:1], v[8:9], v[32:47]", 16, 4, 4),
        ("v_mfma_f32_32x32x4_2b_f16 v[64:95], v[0:1], v[8:9], v[32:63]", 32, 4, 2),
    ] {
        check(text, Shape { m, k, blocks }, 16, f16_bits, f32_bits);
    }
    for (text, m, k, blocks) in [
        ("v_mfma_f32_16x16x16_bf16 v[64:67], v[0:1], v[8:9], v[32:35]", 16, 16, 1),
        ("v_mfma_f32_32x32x8_bf16 v[64:79], v[0:1], v[8:9], v[32:47]", 32, 8, 1),
        ("v_mfma_f32_4x4x4_16b_bf16 v[64:67], v[0:1], v[8:9], v[32:35]", 4, 4, 16),
        ("v_mfma_f32_16x16x4_4b_bf16 v[64:79], v[0:1], v[8:9], v[32:47]", 16, 4, 4),
        ("v_mfma_f32_32x32x4_2b_bf16 v[64:95], v[0:1], v[8:9], v[32:63]", 32, 4, 2),
    ] {
        check(text, Shape { m, k, blocks }, 16, bf16_bits, f32_bits);
    }
}

#[test]
fn f32_and_xf32() {
    for (text, m, k, blocks) in [
        ("v_mfma_f32_16x16x4_f32 v[64:67], v0, v8, v[32:35]", 16, 4, 1),
        ("v_mfma_f32_32x32x2_f32 v[64:79], v0, v8, v[32:47]", 32, 2, 1),
        ("v_mfma_f32_4x4x1_16b_f32 v[64:67], v0, v8, v[32:35]", 4, 1, 16),
        ("v_mfma_f32_16x16x1_4b_f32 v[64:79], v0, v8, v[32:47]", 16, 1, 4),
        ("v_mfma_f32_32x32x1_2b_f32 v[64:95], v0, v8, v[32:63]", 32, 1, 2),
        ("v_mfma_f32_16x16x8_xf32 v[64:67], v[0:1], v[8:9], v[32:35]", 16, 8, 1),
        ("v_mfma_f32_32x32x4_xf32 v[64:79], v[0:1], v[8:9], v[32:47]", 32, 4, 1),
    ] {
        check(text, Shape { m, k, blocks }, 32, f32_bits, f32_bits);
    }
}

#[test]
fn i8() {
    for (text, m, k, blocks) in [
        ("v_mfma_i32_16x16x32_i8 v[64:67], v[0:1], v[8:9], v[32:35]", 16, 32, 1),
        ("v_mfma_i32_32x32x16_i8 v[64:79], v[0:1], v[8:9], v[32:47]", 32, 16, 1),
        ("v_mfma_i32_4x4x4_16b_i8 v[64:67], v0, v8, v[32:35]", 4, 4, 16),
        ("v_mfma_i32_16x16x4_4b_i8 v[64:79], v0, v8, v[32:47]", 16, 4, 4),
        ("v_mfma_i32_32x32x4_2b_i8 v[64:95], v0, v8, v[32:63]", 32, 4, 2),
    ] {
        check(text, Shape { m, k, blocks }, 8, byte, |x| x as u32);
    }
}

#[test]
fn fp8_in_both_shapes() {
    check(
        "v_mfma_f32_16x16x32_fp8_fp8 v[64:67], v[0:1], v[8:9], v[32:35]",
        Shape { m: 16, k: 32, blocks: 1 },
        8,
        fp8,
        f32_bits,
    );
    check(
        "v_mfma_f32_32x32x16_fp8_fp8 v[64:79], v[0:1], v[8:9], v[32:47]",
        Shape { m: 32, k: 16, blocks: 1 },
        8,
        fp8,
        f32_bits,
    );
}

/// A number's bits in a format.
type Encode = fn(i32) -> u32;

fn bf8(x: i32) -> u32 {
    tiny(x, 2, 16)
}

#[test]
fn mixed_eight_bit_formats() {
    let cases: [(&str, Shape, [Encode; 2]); 6] = [
        (
            "v_mfma_f32_16x16x32_bf8_bf8 v[64:67], v[0:1], v[8:9], v[32:35]",
            Shape { m: 16, k: 32, blocks: 1 },
            [bf8; 2],
        ),
        (
            "v_mfma_f32_16x16x32_bf8_fp8 v[64:67], v[0:1], v[8:9], v[32:35]",
            Shape { m: 16, k: 32, blocks: 1 },
            [bf8, fp8],
        ),
        (
            "v_mfma_f32_16x16x32_fp8_bf8 v[64:67], v[0:1], v[8:9], v[32:35]",
            Shape { m: 16, k: 32, blocks: 1 },
            [fp8, bf8],
        ),
        (
            "v_mfma_f32_32x32x16_bf8_bf8 v[64:79], v[0:1], v[8:9], v[32:47]",
            Shape { m: 32, k: 16, blocks: 1 },
            [bf8; 2],
        ),
        (
            "v_mfma_f32_32x32x16_bf8_fp8 v[64:79], v[0:1], v[8:9], v[32:47]",
            Shape { m: 32, k: 16, blocks: 1 },
            [bf8, fp8],
        ),
        (
            "v_mfma_f32_32x32x16_fp8_bf8 v[64:79], v[0:1], v[8:9], v[32:47]",
            Shape { m: 32, k: 16, blocks: 1 },
            [fp8, bf8],
        ),
    ];
    for (text, shape, encode) in cases {
        check_mixed(text, shape, 8, encode, f32_bits);
    }
}

#[test]
fn f64_in_four_blocks() {
    let mut random = Random::new(4);
    let mut state = WaveState::new(128, 0, 0);
    let mut put = |state: &mut WaveState, register: usize, lane: usize| {
        let value = random.below(41) as f64 - 20.0;
        (state.vgprs[register][lane], state.vgprs[register + 1][lane]) =
            (value.to_bits() as u32, (value.to_bits() >> 32) as u32);
        value
    };
    // Lane 16 k + 4 block + i holds element [i][k] of the block's A, and of its B by columns.
    let (mut a, mut b, mut c) = ([[[0.0; 4]; 4]; 4], [[[0.0; 4]; 4]; 4], [0.0; 64]);
    for lane in 0..64 {
        a[lane / 4 % 4][lane % 4][lane / 16] = put(&mut state, A, lane);
        b[lane / 4 % 4][lane % 4][lane / 16] = put(&mut state, B, lane);
        c[lane] = put(&mut state, C, lane);
    }
    state.run(&words("v_mfma_f64_4x4x4_4b_f64 v[64:65], v[0:1], v[8:9], v[32:33]"), &no_memory()).unwrap();
    for (lane, addend) in c.into_iter().enumerate() {
        let (row, block, column) = (lane / 16, lane / 4 % 4, lane % 4);
        let sum: f64 = (0..4).map(|k| a[block][row][k] * b[block][column][k]).sum();
        let got = u64::from(state.vgprs[D][lane]) | u64::from(state.vgprs[D + 1][lane]) << 32;
        assert_eq!(f64::from_bits(got), sum + addend, "lane {lane}");
    }
}

#[test]
fn f64() {
    let mut random = Random::new(3);
    let mut state = WaveState::new(128, 0, 0);
    let mut put = |state: &mut WaveState, register: usize, lane: usize| {
        let value = random.below(41) as f64 - 20.0;
        (state.vgprs[register][lane], state.vgprs[register + 1][lane]) =
            (value.to_bits() as u32, (value.to_bits() >> 32) as u32);
        value
    };
    let (mut a, mut b, mut c) = ([[0.0; 4]; 16], [[0.0; 4]; 16], [[0.0; 16]; 16]);
    for lane in 0..64 {
        a[lane % 16][lane / 16] = put(&mut state, A, lane);
        b[lane % 16][lane / 16] = put(&mut state, B, lane);
        for r in 0..4 {
            c[4 * r + lane / 16][lane % 16] = put(&mut state, C + 2 * r, lane);
        }
    }
    state.run(&words("v_mfma_f64_16x16x4_f64 v[64:71], v[0:1], v[8:9], v[32:39]"), &no_memory()).unwrap();
    for row in 0..16 {
        for column in 0..16 {
            let expected: f64 = (0..4).map(|k| a[row][k] * b[column][k]).sum::<f64>() + c[row][column];
            let (register, lane) = (D + 2 * (row / 4), row % 4 * 16 + column);
            let got =
                u64::from(state.vgprs[register][lane]) | u64::from(state.vgprs[register + 1][lane]) << 32;
            assert_eq!(f64::from_bits(got), expected, "[{row}][{column}]");
        }
    }
}

#[test]
fn accumulators_may_be_constants_and_accumulation_registers() {
    let memory = no_memory();
    let mut state = WaveState::new(16, 8, 0);
    state.vgprs[0] = [0x3c00_3c00; 64];
    state.vgprs[1] = [0x3c00_3c00; 64];
    state.run(&words("v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[0:1], 1.0; v_mfma_f32_16x16x16_f16 a[4:7], v[0:1], v[0:1], a[0:3]"), &memory).unwrap();
    assert_eq!(state.agprs[0], [17f32.to_bits(); 64]);
    assert_eq!(state.agprs[7], [33f32.to_bits(); 64]);
}

/// A group's products are cut off 24 bits below the largest, and the sum is rounded to nearest even.
#[test]
fn sums_lose_what_the_hardware_loses() {
    let memory = no_memory();
    let dot = |products: [(f32, f32); 4], c: f32| {
        let mut state = WaveState::new(128, 0, 0);
        for lane in 0..64 {
            for (i, (a, b)) in products.into_iter().enumerate() {
                let half = |x: f32| u32::from(f16::from_f32(x).to_bits()) << (16 * (i % 2));
                state.vgprs[A + i / 2][lane] |= half(a);
                state.vgprs[B + i / 2][lane] |= half(b);
            }
            state.vgprs[C][lane] = c.to_bits();
        }
        state.run(&words("v_mfma_f32_4x4x4_16b_f16 v[64:67], v[0:1], v[8:9], v[32:35]"), &memory).unwrap();
        f32::from_bits(state.vgprs[D][0])
    };
    let (big, small) = (32768.0, 2f32.powi(-13));
    // 2^30 and 2^6: the small product survives next to the large one's 24 bits.
    assert_eq!(dot([(big, big), (8.0, 8.0), (0.0, 0.0), (-big, big)], 0.0), 64.0);
    // 2^30 and 2^-26: it does not.
    assert_eq!(dot([(big, big), (small, small), (0.0, 0.0), (-big, big)], 0.0), 0.0);
    // Alone it does.
    assert_eq!(dot([(small, small), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)], 0.0), 2f32.powi(-26));
    assert!(dot([(f32::INFINITY, 1.0), (1.0, 1.0), (0.0, 0.0), (0.0, 0.0)], -1.0).is_infinite());
    assert!(dot([(f32::INFINITY, 1.0), (f32::NEG_INFINITY, 1.0), (0.0, 0.0), (0.0, 0.0)], 0.0).is_nan());
}

/// A sparse product against the plain triple sum: where the elements and the indices stand is what AMD's matrix instruction
/// calculator says.
fn check_sparse(
    text: &str,
    [m, k]: [usize; 2],
    bits: usize,
    encode: [Encode; 2],
    result: Encode,
    first_bit: usize,
) {
    let mut random = Random::new(11);
    let mut state = WaveState::new(128, 0, 0);
    state.set_pair(126, 0x1);
    // Bits of an index register that must not matter.
    state.vgprs[16] = [0x5a5a_5a5a; 64];
    let per = 256 / bits / 2;
    let (mut a, mut b, mut c) = (vec![0; m * k], vec![0; k * m], vec![0; m * m]);
    for i in 0..m {
        for at in 0..k {
            b[at * m + i] = random.below(11) as i32 - 5;
            let (lane, element) = (m * (at / per) + i, at % per);
            state.vgprs[B + element * bits / 32][lane] |= encode[1](b[at * m + i]) << (element * bits % 32);
        }
        for chunk in 0..k / 4 {
            let first = random.below(3);
            let second = first + 1 + random.below(3 - first);
            let lane = m * (4 * chunk / per) + i;
            for (which, column) in [first, second].into_iter().enumerate() {
                let value = random.below(11) as i32 - 5;
                a[i * k + 4 * chunk + column] = value;
                let element = (2 * chunk + which) % (per / 2);
                state.vgprs[A + element * bits / 32][lane] |= encode[0](value) << (element * bits % 32);
                let at = first_bit + 4 * (chunk % (per / 4)) + 2 * which;
                let index = &mut state.vgprs[16][lane];
                *index = (*index & !(3 << at)) | ((column as u32) << at);
            }
        }
        for column in 0..m {
            c[i * m + column] = random.below(101) as i32 - 50;
            let (register, lane) = result_place(m, 0, i, column);
            state.vgprs[D + register][lane] = result(c[i * m + column]);
        }
    }
    state.run(&words(text), &no_memory()).unwrap();
    for row in 0..m {
        for column in 0..m {
            let sum: i32 = (0..k).map(|at| a[row * k + at] * b[at * m + column]).sum();
            let (register, lane) = result_place(m, 0, row, column);
            let expected = result(sum + c[row * m + column]);
            assert_eq!(state.vgprs[D + register][lane], expected, "{text}: [{row}][{column}]");
        }
    }
}

#[test]
fn sparse_products() {
    let i32_bits: Encode = |x| x as u32;
    for (text, shape) in [
        ("v_smfmac_f32_16x16x32_f16 v[64:67], v[0:1], v[8:11], v16", [16, 32]),
        ("v_smfmac_f32_32x32x16_f16 v[64:79], v[0:1], v[8:11], v16", [32, 16]),
    ] {
        check_sparse(text, shape, 16, [f16_bits; 2], f32_bits, 0);
    }
    for (text, shape) in [
        ("v_smfmac_f32_16x16x32_bf16 v[64:67], v[0:1], v[8:11], v16", [16, 32]),
        ("v_smfmac_f32_32x32x16_bf16 v[64:79], v[0:1], v[8:11], v16", [32, 16]),
    ] {
        check_sparse(text, shape, 16, [bf16_bits; 2], f32_bits, 0);
    }
    for (text, shape) in [
        ("v_smfmac_i32_16x16x64_i8 v[64:67], v[0:1], v[8:11], v16", [16, 64]),
        ("v_smfmac_i32_32x32x32_i8 v[64:79], v[0:1], v[8:11], v16", [32, 32]),
    ] {
        check_sparse(text, shape, 8, [byte; 2], i32_bits, 0);
    }
    let tiny: [(&str, [usize; 2], [Encode; 2]); 8] = [
        ("v_smfmac_f32_16x16x64_bf8_bf8 v[64:67], v[0:1], v[8:11], v16", [16, 64], [bf8, bf8]),
        ("v_smfmac_f32_16x16x64_bf8_fp8 v[64:67], v[0:1], v[8:11], v16", [16, 64], [bf8, fp8]),
        ("v_smfmac_f32_16x16x64_fp8_bf8 v[64:67], v[0:1], v[8:11], v16", [16, 64], [fp8, bf8]),
        ("v_smfmac_f32_16x16x64_fp8_fp8 v[64:67], v[0:1], v[8:11], v16", [16, 64], [fp8, fp8]),
        ("v_smfmac_f32_32x32x32_bf8_bf8 v[64:79], v[0:1], v[8:11], v16", [32, 32], [bf8, bf8]),
        ("v_smfmac_f32_32x32x32_bf8_fp8 v[64:79], v[0:1], v[8:11], v16", [32, 32], [bf8, fp8]),
        ("v_smfmac_f32_32x32x32_fp8_bf8 v[64:79], v[0:1], v[8:11], v16", [32, 32], [fp8, bf8]),
        ("v_smfmac_f32_32x32x32_fp8_fp8 v[64:79], v[0:1], v[8:11], v16", [32, 32], [fp8, fp8]),
    ];
    for (text, shape, encode) in tiny {
        check_sparse(text, shape, 8, encode, f32_bits, 0);
    }
}

#[test]
fn modifiers_choose_the_indices_of_a_sparse_product() {
    let half: [Encode; 2] = [f16_bits; 2];
    check_sparse(
        "v_smfmac_f32_16x16x32_f16 v[64:67], v[0:1], v[8:11], v16 abid:3",
        [16, 32],
        16,
        half,
        f32_bits,
        24,
    );
    check_sparse(
        "v_smfmac_f32_16x16x32_f16 v[64:67], v[0:1], v[8:11], v16 cbsz:1 abid:3",
        [16, 32],
        16,
        half,
        f32_bits,
        0,
    );
    check_sparse(
        "v_smfmac_i32_16x16x64_i8 v[64:67], v[0:1], v[8:11], v16 abid:1",
        [16, 64],
        8,
        [byte; 2],
        |x| x as u32,
        16,
    );
}
