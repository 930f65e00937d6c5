//! Bound of `matmul`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use approx::assert_abs_diff_eq;
use half::f16;
use kernels::quant::decode_row;
use kernels::{Activations, DType, Depth, Float, Layout, Numerics, Record, Role, Stem, Verdict, Weights};

use crate::{Numbers, ORDERS, input, judge, output};

/// A sum of products as an implementation writes it.
type Dot = Box<dyn Fn(&[f32], &[f32]) -> f32>;

/// Those that sum in [`ORDERS`], and a chain of fused multiply-adds.
fn dots() -> Vec<Dot> {
    let mut dots: Vec<Dot> = Vec::new();
    for sum in ORDERS {
        dots.push(Box::new(move |w, x| sum(&w.iter().zip(x).map(|(w, x)| w * x).collect::<Vec<_>>())));
    }
    dots.push(Box::new(|w, x| w.iter().zip(x).fold(0.0, |sum, (w, x)| w.mul_add(*x, sum))));
    dots
}

/// A matrix product with its data.
struct Product {
    m: usize,
    n: usize,
    k: usize,
    x: Vec<f32>,
    dtype: DType,
    weight: Vec<u8>,
    bias: Option<Vec<f32>>,
}

impl Product {
    /// One row of activations against one row of f32 weights.
    fn dot(x: &[f32], w: &[f32]) -> Self {
        let weight = bytemuck::cast_slice(w).to_vec();
        Product { m: 1, n: 1, k: x.len(), x: x.to_vec(), dtype: DType::F32, weight, bias: None }
    }

    /// Random activations of the order of `magnitude`, weights of the order of 1.
    fn random(numbers: &mut Numbers, dtype: DType, [m, n, k]: [usize; 3], magnitude: f32) -> Self {
        let mut x = times(magnitude, numbers.take(m * k));
        x[k / 2] *= 50.0;
        let bias = (n % 2 == 0).then(|| numbers.take(n));
        Product { m, n, k, x, dtype, weight: blocks(numbers, dtype, n * k), bias }
    }

    fn decoded(&self) -> Vec<f32> {
        let mut decoded = vec![0.0; self.n * self.k];
        decode_row(self.dtype, &self.weight, &mut decoded).unwrap();
        decoded
    }

    fn bias(&self, c: usize) -> f32 {
        self.bias.as_ref().map_or(0.0, |bias| bias[c])
    }

    /// All outputs, by a function of a row of weights, given by its number, and a row of activations.
    fn by(&self, dot: impl Fn(usize, &[f32]) -> f32) -> Vec<f32> {
        let row = |x: &[f32]| (0..self.n).map(|c| dot(c, x) + self.bias(c)).collect::<Vec<_>>();
        self.x.chunks(self.k).flat_map(row).collect()
    }

    /// All outputs, by a dot product of decoded weights with activations.
    fn by_dot(&self, dot: impl Fn(&[f32], &[f32]) -> f32) -> Vec<f32> {
        let decoded = self.decoded();
        self.by(|c, x| dot(&decoded[c * self.k..][..self.k], x))
    }

    fn judge(&self, numerics: &Numerics, got: &[f32]) -> Verdict {
        let mut record = input(Record::new(Stem::Matmul), "x", &[self.m, self.k], &self.x);
        let layout = Layout::contiguous(self.dtype, &[self.n, self.k]);
        record = record.operand("weight", Role::Input, layout, self.weight.clone());
        if let Some(bias) = &self.bias {
            record = input(record, "bias", &[self.n], bias);
        }
        judge(&output(record, "out", &[self.m, self.n]), numerics, got)
    }
}

fn times(factor: f32, values: Vec<f32>) -> Vec<f32> {
    values.into_iter().map(|v| v * factor).collect()
}

/// Where the f16 scales of a block stand, and what keeps its values of the order of 1.
fn scales(dtype: DType) -> (&'static [usize], f32) {
    match dtype {
        DType::Q4_0 | DType::Q5_0 => (&[0], 0.1),
        DType::Q4_1 | DType::Q5_1 => (&[0, 2], 0.1),
        DType::Q8_0 | DType::Iq4Nl => (&[0], 0.01),
        DType::Q2K => (&[80, 82], 0.03),
        DType::Q3K => (&[108], 0.01),
        DType::Q4K | DType::Q5K => (&[0, 2], 0.001),
        DType::Q6K => (&[208], 0.0005),
        DType::Iq4Xs => (&[0], 0.0005),
        DType::F32 | DType::F16 | DType::BF16 | DType::Mxfp4 | DType::U32 => (&[], 1.0),
    }
}

/// Random blocks that hold `values` values.
fn blocks(numbers: &mut Numbers, dtype: DType, values: usize) -> Vec<u8> {
    if !dtype.is_quantised() {
        let mut bytes = vec![0; dtype.bytes_of(values).unwrap()];
        kernels::quant::encode_row(dtype, &numbers.take(values), &mut bytes).unwrap();
        return bytes;
    }
    // Bits 8..16 of the fraction of a number in 1..2.
    let mut byte = || (numbers.next().midpoint(3.0).to_bits() >> 8).to_le_bytes()[0];
    let mut bytes: Vec<_> = (0..dtype.bytes_of(values).unwrap()).map(|_| byte()).collect();
    let (offsets, typical) = scales(dtype);
    for block in bytes.chunks_mut(dtype.block_bytes()) {
        for &at in offsets {
            let scale = f16::from_f32(numbers.next() * typical);
            block[at..at + 2].copy_from_slice(&scale.to_le_bytes());
        }
        if dtype == DType::Mxfp4 {
            block[0] = 123 + block[0] % 4;
        }
    }
    bytes
}

#[test]
fn f32_in_any_order_stays_inside() {
    let mut numbers = Numbers::new(1);
    for k in [1, 2, 31, 64, 576, 4097] {
        for magnitude in [1e-42, 1e-30, 1e-3, 1.0, 1e6, 1e30] {
            let product = Product::random(&mut numbers, DType::F32, [3, 6, k], magnitude);
            for (order, dot) in dots().into_iter().enumerate() {
                let verdict = product.judge(&Numerics::F32, &product.by_dot(dot));
                assert!(verdict.passed(), "k={k} magnitude={magnitude} order={order}: {verdict:?}");
            }
        }
    }
}

#[test]
fn decoded_weights_of_every_format_stay_inside() {
    let mut numbers = Numbers::new(2);
    for dtype in DType::WEIGHTS {
        let product = Product::random(&mut numbers, dtype, [2, 8, 512], 1.0);
        for dot in dots() {
            let verdict = product.judge(&Numerics::F32, &product.by_dot(dot));
            assert!(verdict.passed(), "{dtype}: {verdict:?}");
        }
    }
}

#[test]
fn products_that_underflow_stay_inside() {
    let mut numbers = Numbers::new(3);
    for _ in 0..8 {
        let product = Product::dot(&times(1e-23, numbers.take(300)), &times(1e-22, numbers.take(300)));
        for dot in dots() {
            let verdict = product.judge(&Numerics::F32, &product.by_dot(dot));
            assert!(verdict.passed(), "{verdict:?}");
        }
    }
}

#[test]
fn one_dropped_product_falls_outside() {
    for k in [1usize, 2, 33, 1024, 2048] {
        let x: Vec<f32> = (0..k).map(|i| [1.0, -2.0, 0.5][i % 3]).collect();
        let w: Vec<f32> = (0..k).map(|i| [1.0, 1.0, -2.0, 0.5][i % 4]).collect();
        let product = Product::dot(&x, &w);
        assert!(product.judge(&Numerics::F32, &product.by_dot(&dots()[0])).passed());
        for dropped in [0, k / 2, k - 1] {
            let got = product.by_dot(|w, x| {
                let terms = w.iter().zip(x).enumerate().filter(|(i, _)| *i != dropped);
                terms.map(|(_, (w, x))| w * x).sum()
            });
            let verdict = product.judge(&Numerics::F32, &got);
            assert_eq!(verdict.outside, 1, "k={k} dropped={dropped}: {verdict:?}");
        }
    }
}

#[test]
fn a_forgotten_or_misplaced_bias_falls_outside() {
    let mut numbers = Numbers::new(4);
    let product = Product::random(&mut numbers, DType::Q8_0, [3, 4, 64], 1.0);
    let dot = &dots()[0];
    let with = product.by_dot(dot);
    assert!(product.judge(&Numerics::F32, &with).passed());
    let without: Vec<f32> = with.iter().enumerate().map(|(i, y)| y - product.bias(i % product.n)).collect();
    assert_eq!(product.judge(&Numerics::F32, &without).outside, with.len());
    let shifted: Vec<f32> =
        without.iter().enumerate().map(|(i, y)| y + product.bias((i + 1) % product.n)).collect();
    assert!(product.judge(&Numerics::F32, &shifted).outside > 0);
}

#[test]
fn a_transposed_result_falls_outside() {
    let product = Product::random(&mut Numbers::new(5), DType::F16, [4, 4, 40], 1.0);
    let got = product.by_dot(&dots()[3]);
    let transposed: Vec<f32> = (0..16).map(|i| got[i % 4 * 4 + i / 4]).collect();
    assert!(product.judge(&Numerics::F32, &transposed).outside >= 12);
}

/// `d·Σcode·x + m·Σx` over the blocks of a `q4_1` row.
fn factored_q4_1(row: &[u8], x: &[f32]) -> f32 {
    let block = |(block, x): (&[u8], &[f32])| {
        let scale = |at: usize| f16::from_le_bytes([block[at], block[at + 1]]).to_f32();
        let code = |i: usize| f32::from((block[4 + i % 16] >> (i / 16 * 4)) & 15);
        let codes: f32 = x.iter().enumerate().map(|(i, x)| code(i) * x).sum();
        scale(0) * codes + scale(2) * x.iter().sum::<f32>()
    };
    row.chunks(20).zip(x.chunks(32)).map(block).sum()
}

#[test]
fn factored_weights_stay_inside_their_bound_only() {
    let mut numbers = Numbers::new(6);
    let mut product = Product::random(&mut numbers, DType::Q4_1, [1, 64, 512], 1.0);
    product.x = numbers.take(512).into_iter().map(|v| v + 1.5).collect();
    product.bias = None;
    let factored = Numerics { weights: Weights::Factored, ..Numerics::F32 };
    let by_blocks =
        |product: &Product| product.by(|c, x| factored_q4_1(&product.weight[c * 320..][..320], x));
    assert!(product.judge(&factored, &by_blocks(&product)).passed());
    // Codes of 15 and a minimum of −15·d: every weight is 0, its parts are not.
    for block in product.weight.chunks_mut(20) {
        let d = f16::from_le_bytes([block[0], block[1]]).to_f32().abs();
        let d = f16::from_bits(f16::from_f32(d).to_bits() & !15);
        block[..2].copy_from_slice(&d.to_le_bytes());
        block[2..4].copy_from_slice(&f16::from_f32(-15.0 * d.to_f32()).to_le_bytes());
        block[4..].fill(0xff);
    }
    let got = by_blocks(&product);
    let verdict = product.judge(&factored, &got);
    assert_eq!(verdict.outside, 0, "{verdict:?}");
    assert!(product.judge(&Numerics::F32, &got).outside > 32);
}

/// Activations rounded to 8 bits in blocks, with the scale kept in f16 or f32.
fn int8(x: &[f32], block: usize, scale: Float) -> Vec<f32> {
    let one = |block: &[f32]| {
        let d = block.iter().fold(0.0f32, |peak, v| peak.max(v.abs())) / 127.0;
        let inverse = if d == 0.0 { 0.0 } else { 1.0 / d };
        let kept = if scale == Float::F16 { f16::from_f32(d).to_f32() } else { d };
        block.iter().map(|v| (v * inverse).round() * kept).collect::<Vec<_>>()
    };
    x.chunks(block).flat_map(one).collect()
}

#[test]
fn int8_activations_stay_inside_their_bound_only() {
    let mut numbers = Numbers::new(7);
    for magnitude in [1e-30, 1e-7, 1.0, 1e5] {
        for (block, scale) in [(32, Float::F32), (32, Float::F16), (256, Float::F32), (64, Float::F16)] {
            let product = Product::random(&mut numbers, DType::F32, [2, 64, 1100], magnitude);
            let numerics = Numerics { activations: Activations::Int8 { block, scale }, ..Numerics::F32 };
            for dot in dots() {
                let got = product.by_dot(|w, x| dot(w, &int8(x, block, scale)));
                let verdict = product.judge(&numerics, &got);
                assert!(verdict.passed(), "block={block} scale={scale:?} magnitude={magnitude}: {verdict:?}");
                if magnitude > 1e-7 {
                    assert!(product.judge(&Numerics::F32, &got).outside > product.n);
                }
            }
        }
    }
}

/// The codes and the scale of a block of activations.
fn int8_block(x: &[f32]) -> ([i32; 32], f32) {
    let d = x.iter().fold(0.0f32, |peak, v| peak.max(v.abs())) / 127.0;
    let inverse = if d == 0.0 { 0.0 } else { 1.0 / d };
    #[expect(clippy::cast_possible_truncation, reason = "the conversion saturates")]
    let code = |i: usize| i32::from((x[i] * inverse).round() as i8);
    (std::array::from_fn(code), d)
}

/// A `q8_0` row by sums of products of integers.
fn integer_q8_0(row: &[u8], x: &[f32]) -> f32 {
    let block = |(block, x): (&[u8], &[f32])| {
        let (codes, d) = int8_block(x);
        let sum: i32 = block[2..].iter().zip(codes).map(|(w, x)| i32::from(w.cast_signed()) * x).sum();
        f16::from_le_bytes([block[0], block[1]]).to_f32() * d * sum as f32
    };
    row.chunks(34).zip(x.chunks(32)).map(block).sum()
}

/// A `q4_1` row by sums of products of integers, its minimum apart.
fn integer_q4_1(row: &[u8], x: &[f32]) -> f32 {
    let block = |(block, x): (&[u8], &[f32])| {
        let (codes, d) = int8_block(x);
        let code = |i: usize| i32::from((block[4 + i % 16] >> (i / 16 * 4)) & 15);
        let sum: i32 = codes.iter().enumerate().map(|(i, x)| code(i) * x).sum();
        let scale = |at: usize| f16::from_le_bytes([block[at], block[at + 1]]).to_f32();
        scale(0) * d * sum as f32 + scale(2) * d * codes.iter().sum::<i32>() as f32
    };
    row.chunks(20).zip(x.chunks(32)).map(block).sum()
}

#[test]
fn sums_of_integers_stay_inside() {
    let mut numbers = Numbers::new(11);
    let activations = Activations::Int8 { block: 32, scale: Float::F32 };
    let decoded = Numerics { activations, ..Numerics::F32 };
    let factored = Numerics { weights: Weights::Factored, ..decoded };
    for magnitude in [1e-42, 1e-38, 1e-36, 1e-30, 1.0, 1e20] {
        let mut product = Product::random(&mut numbers, DType::Q8_0, [2, 64, 1024], magnitude);
        product.bias = None;
        let got = product.by(|c, x| integer_q8_0(&product.weight[c * 1088..][..1088], x));
        let verdict = product.judge(&decoded, &got);
        assert!(verdict.passed(), "q8_0 magnitude={magnitude}: {verdict:?}");
        let mut product = Product::random(&mut numbers, DType::Q4_1, [2, 64, 1024], magnitude);
        product.bias = None;
        let got = product.by(|c, x| integer_q4_1(&product.weight[c * 640..][..640], x));
        let verdict = product.judge(&factored, &got);
        assert!(verdict.passed(), "q4_1 magnitude={magnitude}: {verdict:?}");
    }
}

#[test]
fn half_steps_that_add_up_use_nearly_all_of_the_int8_bound() {
    let x: Vec<f32> = (0..1024).map(|i| if i % 32 == 0 { 127.0 } else { 0.5 }).collect();
    let product = Product::dot(&x, &vec![1.0; 1024]);
    let numerics =
        Numerics { activations: Activations::Int8 { block: 32, scale: Float::F32 }, ..Numerics::F32 };
    let got = product.by_dot(|w, x| dots()[3](w, &int8(x, 32, Float::F32)));
    let share = product.judge(&numerics, &got).worst.unwrap().share;
    assert!((0.9..=1.0).contains(&share), "{share}");
}

#[test]
fn larger_blocks_of_activations_have_a_wider_bound() {
    // The outlier's own block of 32 has no weight.
    let (mut x, mut w) = (vec![0.01; 256], vec![1.0; 256]);
    x[0] = 100.0;
    w[..32].fill(0.0);
    let product = Product::dot(&x, &w);
    let numerics = |block| {
        let activations = Activations::Int8 { block, scale: Float::F32 };
        Numerics { activations, ..Numerics::F32 }
    };
    let got = product.by_dot(|w, x| dots()[3](w, &int8(x, 256, Float::F32)));
    assert!(product.judge(&numerics(256), &got).passed());
    assert!(!product.judge(&numerics(32), &got).passed());
    let share = |block| product.judge(&numerics(block), &got).worst.unwrap().share;
    // 128 is judged as 256, and 96 by the row, here one block.
    assert_abs_diff_eq!(share(128), share(256), epsilon = 1e-9);
    assert_abs_diff_eq!(share(96), share(256), epsilon = 1e-3);
}

/// `v` rounded to a shorter format.
fn rounded(v: f32, float: Float) -> f32 {
    match float {
        Float::F16 => f16::from_f32(v).to_f32(),
        Float::BF16 => half::bf16::from_f32(v).to_f32(),
        Float::F32 | Float::F64 => v,
    }
}

#[test]
fn rounded_operands_stay_inside_their_bound_only() {
    let mut numbers = Numbers::new(8);
    for float in [Float::F16, Float::BF16] {
        for magnitude in [1e-6, 1.0, 100.0] {
            let mut product = Product::random(&mut numbers, DType::F32, [2, 64, 20], magnitude);
            product.bias = None;
            let rounds = |v: &[f32]| v.iter().map(|v| rounded(*v, float)).collect::<Vec<_>>();
            let x_only = Numerics { activations: Activations::Rounded(float), ..Numerics::F32 };
            let w_only = Numerics { weights: Weights::Rounded(float), ..Numerics::F32 };
            let both = Numerics { weights: Weights::Rounded(float), ..x_only };
            let dot = &dots()[2];
            let got = [
                (x_only, product.by_dot(|w, x| dot(w, &rounds(x)))),
                (w_only, product.by_dot(|w, x| dot(&rounds(w), x))),
                (both, product.by_dot(|w, x| dot(&rounds(w), &rounds(x)))),
            ];
            for (numerics, got) in got {
                let verdict = product.judge(&numerics, &got);
                assert!(verdict.passed(), "{numerics:?} magnitude={magnitude}: {verdict:?}");
                assert!(product.judge(&Numerics::F32, &got).outside > product.n);
            }
        }
    }
}

#[test]
fn operands_beyond_a_format_have_no_bound() {
    let product = Product::dot(&[70_000.0, 1.0], &[1.0, 1.0]);
    let bound = |activations| {
        let numerics = Numerics { activations, ..Numerics::F32 };
        product.judge(&numerics, &[0.0]).worst.unwrap().bound
    };
    assert!(bound(Activations::Rounded(Float::F16)).is_infinite());
    assert!(bound(Activations::Rounded(Float::BF16)).is_finite());
    assert!(bound(Activations::Int8 { block: 32, scale: Float::F16 }).is_finite());
}

#[test]
fn a_shallower_sum_has_a_tighter_bound() {
    let mut numbers = Numbers::new(9);
    let product = Product::dot(&numbers.take(4096), &numbers.take(4096));
    let got = product.by_dot(&dots()[3]);
    let share = |depth| product.judge(&Numerics { depth, ..Numerics::F32 }, &got).worst.unwrap().share;
    assert!(share(Depth::Lanes(64)) > 10.0 * share(Depth::Any));
}

#[test]
fn nan_stays_in_its_row_and_column() {
    let mut product = Product::random(&mut Numbers::new(10), DType::F32, [3, 3, 9], 1.0);
    product.x[9] = f32::NAN;
    let mut w = product.decoded();
    w[2 * 9 + 4] = f32::NAN;
    product.weight = bytemuck::cast_slice(&w).to_vec();
    let got = product.by_dot(&dots()[1]);
    assert!(product.judge(&Numerics::F32, &got).passed());
    let nan: Vec<usize> = (0..9).filter(|&i| got[i].is_nan()).collect();
    assert_eq!(nan, [2, 3, 4, 5, 8]);
    let mut lost = got;
    lost[4] = 0.0;
    assert_eq!(product.judge(&Numerics::F32, &lost).outside, 1);
}
