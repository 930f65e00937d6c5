//! What holds for one op each: corners, limits, and numbers worked out by hand.
#![expect(clippy::float_cmp, reason = "where the result is exact, it is asked for exactly")]

use std::sync::Arc;

use approx::assert_abs_diff_eq;
use backend_cpu::HostBuffer;
use backend_cpu::fast::Fast;
use kernels::ops::gelu_mul::Gelu;
use kernels::ops::rope::{Pairing, Scaling};
use kernels::ops::{Add, Matmul};
use kernels::{Backend, DType, HostMemory, Layout, Record, Role, Source, Stem, View, ViewMut};

use super::cases::{Random, given, indices, output, yarn};
use super::run::{floats, outputs};

fn softmax(x: &[f32], scale: f32) -> Vec<f32> {
    let shape = [1, x.len()];
    let record = given(Record::new(Stem::Softmax).param("scale", scale), "x", &shape, x);
    floats(&output(record, "out", DType::F32, &shape))
}

fn argmax(x: &[f32]) -> u32 {
    let record = given(Record::new(Stem::Argmax), "x", &[1, x.len()], x);
    bytemuck::pod_collect_to_vec(&outputs(&output(record, "out", DType::U32, &[1]), 1)[0])[0]
}

fn gated(stem: Stem, form: Option<Gelu>, gate: &[f32], up: &[f32]) -> Vec<f32> {
    let shape = [1, gate.len()];
    let record = given(given(Record::new(stem), "gate", &shape, gate), "up", &shape, up);
    let record = if let Some(form) = form { record.param("form", form) } else { record };
    floats(&output(record, "out", DType::F32, &shape))
}

#[test]
fn argmax_takes_the_first_of_equals_and_puts_nan_below_all_numbers() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    assert_eq!(argmax(&[1.0, 3.0, 3.0, 2.0]), 1);
    assert_eq!(argmax(&[-0.0, 0.0]), 0);
    assert_eq!(argmax(&[nan, -inf, nan]), 1);
    assert_eq!(argmax(&[2.0, nan, 3.0, inf, inf]), 3);
    assert_eq!(argmax(&[nan, nan]), 0);
    assert_eq!(argmax(&[-inf, -inf]), 0);
}

#[test]
fn softmax_of_minus_infinity_alone_is_nan_and_beside_numbers_zero() {
    let inf = f32::INFINITY;
    assert!(softmax(&[-inf, -inf], 1.0).iter().all(|p| p.is_nan()));
    assert_eq!(softmax(&[-inf, 5.0, -inf], 1.0), [0.0, 1.0, 0.0]);
    assert_eq!(softmax(&[7.0; 4], 1e30), [0.25; 4]);
    assert!(softmax(&[0.0, f32::NAN], 1.0).iter().all(|p| p.is_nan()));
}

#[test]
fn activations_reach_their_limits_without_nan() {
    let gate = [f32::MAX, 1e4, f32::INFINITY, -1e4, f32::MIN, -100.0, f32::NEG_INFINITY, 0.0, -0.0];
    let up = [1.0; 9];
    for y in [
        gated(Stem::SiluMul, None, &gate, &up),
        gated(Stem::GeluMul, Some(Gelu::Erf), &gate, &up),
        gated(Stem::GeluMul, Some(Gelu::Tanh), &gate, &up),
    ] {
        assert_eq!(y[..3], gate[..3]);
        assert_abs_diff_eq!(y[3..], [0.0; 6][..], epsilon = 1e-40);
    }
}

#[test]
fn a_small_gate_times_a_large_factor_does_not_underflow_on_the_way() {
    // −90·e^−90·1e38 ≈ −7.375 although e^−90 is subnormal in f32.
    let y = gated(Stem::SiluMul, None, &[-90.0], &[1e38])[0];
    assert_abs_diff_eq!(y, -7.375_4, epsilon = 1e-3);
}

#[test]
fn gelu_has_its_textbook_values() {
    let y = gated(Stem::GeluMul, Some(Gelu::Erf), &[1.0, -1.0], &[1.0, 2.0]);
    assert_abs_diff_eq!(y[..], [0.841_344_8, -0.317_310_5][..], epsilon = 1e-6);
    let y = gated(Stem::GeluMul, Some(Gelu::Tanh), &[1.0, -1.0], &[1.0, 2.0]);
    assert_abs_diff_eq!(y[..], [0.841_192, -0.317_616][..], epsilon = 1e-6);
}

fn rope(
    x: &[f32],
    position: u32,
    n_rot: usize,
    pairing: Pairing,
    scaling: Scaling,
    factors: Option<&[f32]>,
) -> Vec<f32> {
    let shape = [1, 1, x.len()];
    let record = Record::new(Stem::Rope)
        .param("pairing", pairing)
        .param("n_rot", n_rot)
        .param("base", 10_000.0f32)
        .param("scaling", scaling)
        .param("max_positions", 1 << 20);
    let record = indices(given(record, "x", &shape, x), "positions", &[position]);
    let record = match factors {
        Some(factors) => given(record, "factors", &[factors.len()], factors),
        None => record,
    };
    floats(&output(record, "out", DType::F32, &shape))
}

fn assert_near(got: &[f32], want: &[f64]) {
    let got: Vec<_> = got.iter().copied().map(f64::from).collect();
    assert_abs_diff_eq!(got[..], *want, epsilon = 1e-6);
}

#[test]
fn rope_turns_each_pair_by_its_own_angle_and_copies_the_tail() {
    let x = [1.0, 0.0, 0.0, 1.0, 5.0];
    let (slow, fast) = (0.03f64, 3.0f64);
    let got = rope(&x, 3, 4, Pairing::Interleaved, Scaling::None, None);
    assert_near(&got, &[fast.cos(), fast.sin(), -slow.sin(), slow.cos(), 5.0]);
    let got = rope(&x, 3, 4, Pairing::Neox, Scaling::None, None);
    assert_near(&got, &[fast.cos(), -slow.sin(), fast.sin(), slow.cos(), 5.0]);
}

#[test]
fn rope_factors_and_linear_scaling_divide_the_angle() {
    let x = [1.0, 0.0, 1.0, 0.0];
    let got = rope(&x, 8, 4, Pairing::Interleaved, Scaling::Linear { factor: 4.0 }, Some(&[2.0, 0.5]));
    let (a, b) = (8.0f64 / 8.0, 8.0f64 * 0.01 / 2.0);
    assert_near(&got, &[a.cos(), a.sin(), b.cos(), b.sin()]);
}

#[test]
fn yarn_keeps_fast_pairs_divides_slow_ones_and_lengthens_all() {
    let x: Vec<f32> = (0..128).map(|i| if i % 2 == 0 { 1.0 } else { 0.0 }).collect();
    let got = rope(&x, 100, 128, Pairing::Interleaved, yarn(), None);
    let length = 1.0 + 0.1 * 8f64.ln();
    let frequency = |pair: i32| 10_000f64.powf(-f64::from(pair) / 64.0);
    // 32 turns over 4096 positions are made at pair 20.9, one turn at pair 45.03: the ramp goes from 20 to 46.
    for (pair, kept) in [(0, 1.0), (20, 1.0), (33, 0.5), (46, 0.0), (63, 0.0)] {
        let angle = 100.0 * frequency(pair) * (kept + (1.0 - kept) / 8.0);
        let at = usize::try_from(2 * pair).unwrap();
        assert_near(&got[at..at + 2], &[length * angle.cos(), length * angle.sin()]);
    }
}

#[test]
fn rope_at_position_0_changes_no_bit() {
    let x = Random::new(5).floats(64);
    for pairing in [Pairing::Interleaved, Pairing::Neox] {
        assert_eq!(rope(&x, 0, 64, pairing, Scaling::None, None), x);
    }
}

/// Attention of one row over a cache of one sequence and one head of dimension 1, with these keys and values.
fn attention(
    q: f32,
    k: &[f32],
    v: &[f32],
    position: u32,
    window: Option<usize>,
    softcap: Option<f32>,
) -> f32 {
    let record =
        Record::new(Stem::Attention).param("scale", 1.0f32).param("window", window).param("softcap", softcap);
    let cache = [1, k.len(), 1, 1];
    let record =
        given(given(given(record, "q", &[1, 1, 1], &[q]), "k_cache", &cache, k), "v_cache", &cache, v);
    let record = indices(indices(record, "seqs", &[0]), "positions", &[position]);
    floats(&output(record, "out", DType::F32, &[1, 1, 1]))[0]
}

#[test]
fn slots_outside_the_mask_are_not_touched() {
    let (nan, v) = (f32::NAN, [f32::NAN, f32::NAN, 3.0, 5.0, f32::INFINITY]);
    let k = [nan, nan, 1.0, 1.0, nan];
    assert_eq!(attention(1.0, &k, &v, 3, Some(2), None), 4.0);
    assert_eq!(attention(1.0, &k, &v, 3, Some(1), None), 5.0);
    assert_eq!(attention(1.0, &k[2..], &v[2..], 1, None, None), 4.0);
    assert_eq!(attention(1.0, &k[2..], &v[2..], 1, Some(9), None), 4.0);
    assert!(attention(1.0, &k, &v, 3, None, None).is_nan());
}

#[test]
fn the_soft_cap_bounds_the_scores() {
    // Capped at 1, the scores 1000 and −1000 differ by 2.
    let share = 1.0 / (1.0 + (-2.0f64).exp());
    assert_near(&[attention(1.0, &[1000.0, -1000.0], &[1.0, 0.0], 1, None, Some(1.0))], &[share]);
}

#[test]
fn heads_of_a_group_share_their_keys_and_values() {
    let record = Record::new(Stem::Attention)
        .param("scale", 1.0f32)
        .param("window", None::<usize>)
        .param("softcap", None::<f32>);
    let record = given(record, "q", &[1, 6, 1], &[0.0; 6]);
    let record = given(record, "k_cache", &[2, 1, 3, 1], &[0.0; 6]);
    let record = given(record, "v_cache", &[2, 1, 3, 1], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let record = indices(indices(record, "seqs", &[1]), "positions", &[0]);
    let got = floats(&output(record, "out", DType::F32, &[1, 6, 1]));
    assert_eq!(got, [4.0, 4.0, 5.0, 5.0, 6.0, 6.0]);
}

#[test]
fn kv_write_encodes_each_row_at_its_slot() {
    let k: Vec<f32> = (0..64u8).map(|i| f32::from(i) - 31.5).collect();
    let record = given(given(Record::new(Stem::KvWrite), "k", &[2, 1, 32], &k), "v", &[2, 1, 32], &k);
    let record = indices(indices(record, "seqs", &[1, 0]), "positions", &[2, 0]);
    let shape = [2, 3, 1, 32];
    let record = output(output(record, "k_cache", DType::Q8_0, &shape), "v_cache", DType::F16, &shape);
    let caches = outputs(&record, 2);
    for (cache, dtype) in caches.iter().zip([DType::Q8_0, DType::F16]) {
        let size = dtype.bytes_of(32).unwrap();
        let mut want = vec![0xc7; 6 * size];
        kernels::quant::encode_row(dtype, &k[..32], &mut want[5 * size..]).unwrap();
        kernels::quant::encode_row(dtype, &k[32..], &mut want[..size]).unwrap();
        assert!(*cache == want, "{dtype}");
    }
}

#[test]
fn a_nan_stays_in_its_row_and_in_its_column() {
    let mut x = Random::new(6).floats(3 * 64);
    x[64 + 9] = f32::NAN;
    let mut weight = Random::new(7).floats(4 * 64);
    weight[2 * 64 + 5] = f32::NAN;
    let record = given(given(Record::new(Stem::Matmul), "x", &[3, 64], &x), "weight", &[4, 64], &weight);
    let y = floats(&output(record, "out", DType::F32, &[3, 4]));
    for (i, y) in y.iter().enumerate() {
        assert_eq!(y.is_nan(), i / 4 == 1 || i % 4 == 2, "{i}");
    }
}

#[test]
fn memory_that_is_adopted_need_not_be_aligned() {
    let backend = Fast::with_threads(1);
    let stream = backend.stream().unwrap();
    let values = [1.5f32, -2.0, 0.25, 8.0];
    let mut bytes = vec![0xff];
    bytes.extend_from_slice(bytemuck::cast_slice(&values));
    let memory = HostMemory::new(Arc::new(bytes), 1..17).unwrap();
    let b: HostBuffer = backend.load(&stream, &memory, "b").unwrap();
    let mut out = backend.upload(&stream, &memory.bytes()[..16], "out").unwrap();
    let layout = Layout::contiguous(DType::F32, &[1, 4]);
    let add = Add { a: Source::InPlace, b: View::new(&b, layout), out: ViewMut::new(&mut out, layout) };
    backend.launch(&stream, add.validate().unwrap()).unwrap();
    assert_eq!(bytemuck::pod_collect_to_vec::<u8, f32>(out.bytes()), values.map(|x| 2.0 * x));

    let mut product = backend.alloc(4, "product").unwrap();
    let matmul = Matmul {
        x: View::new(&b, layout),
        weight: View::new(&b, layout),
        bias: None,
        out: ViewMut::new(&mut product, Layout::contiguous(DType::F32, &[1, 1])),
    };
    backend.launch(&stream, matmul.validate().unwrap()).unwrap();
    let square: f32 = values.iter().map(|x| x * x).sum();
    assert_eq!(product.bytes(), square.to_le_bytes());
}

#[test]
fn indices_outside_the_first_rows_are_looked_up() {
    let record = given(Record::new(Stem::Embed), "table", &[3, 2], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let record = output(indices(record, "ids", &[2, 0]), "out", DType::F32, &[2, 2]);
    assert_eq!(floats(&record), [4.0, 5.0, 0.0, 1.0]);
    assert!(record.operands().iter().any(|operand| operand.role == Role::Indices));
}
