//! One record or more per op, of random data from fixed seeds, large enough that threads share the work.

use kernels::ops::gelu_mul::Gelu;
use kernels::ops::rope::{Pairing, Scaling};
use kernels::{DType, Layout, Record, Role, SplitMix64, Stem};

/// Random tensors from a seed.
pub struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(SplitMix64::new(seed))
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// From −2 to 2, more often small than large.
    pub(crate) fn float(&mut self) -> f32 {
        let parts: [u16; 4] = bytemuck::cast(self.bits());
        let [a, b, ..] = parts.map(|part| f32::from(part) / 32768.0 - 1.0);
        2.0 * a * b.abs()
    }

    pub(crate) fn floats(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.float()).collect()
    }

    /// `rows` rows of `n` values in format `dtype`, with finite scales.
    pub(crate) fn blocks(&mut self, dtype: DType, elements: usize) -> Vec<u8> {
        if kernels::quant::encode_row(dtype, &[], &mut []).is_ok() {
            let mut bytes = vec![0; dtype.bytes_of(elements).unwrap()];
            kernels::quant::encode_row(dtype, &self.floats(elements), &mut bytes).unwrap();
            return bytes;
        }
        // No byte of a scale above 0x3a: no infinity, no NaN, nothing far from 1.
        (0..dtype.bytes_of(elements).unwrap()).map(|_| self.bits().to_le_bytes()[0] % 0x3b).collect()
    }
}

/// Adds a dense f32 input of random content.
pub fn input(record: Record, random: &mut Random, name: &str, shape: &[usize]) -> Record {
    given(record, name, shape, &random.floats(shape.iter().product()))
}

/// Adds a dense f32 input.
pub fn given(record: Record, name: &str, shape: &[usize], values: &[f32]) -> Record {
    let layout = Layout::contiguous(DType::F32, shape);
    record.operand(name, Role::Input, layout, bytemuck::cast_slice(values).to_vec())
}

/// Adds a dense input of random content in format `dtype`.
pub fn weights(record: Record, random: &mut Random, name: &str, dtype: DType, shape: &[usize]) -> Record {
    let bytes = random.blocks(dtype, shape.iter().product());
    record.operand(name, Role::Input, Layout::contiguous(dtype, shape), bytes)
}

/// Adds indices.
pub fn indices(record: Record, name: &str, values: &[u32]) -> Record {
    let layout = Layout::contiguous(DType::U32, &[values.len()]);
    record.operand(name, Role::Indices, layout, bytemuck::cast_slice(values).to_vec())
}

/// Adds a dense output that holds something else before.
pub fn output(record: Record, name: &str, dtype: DType, shape: &[usize]) -> Record {
    let layout = Layout::contiguous(dtype, shape);
    record.operand(name, Role::Output, layout, vec![0xc7; layout.byte_range().unwrap().end])
}

/// Rows of the cases below.
const ROWS: usize = 9;

pub fn all() -> Vec<Record> {
    let mut random = Random::new(11);
    let r = &mut random;
    let mut all = Vec::new();
    for dtype in DType::WEIGHTS {
        all.push(matmul(r, dtype, ROWS, 48, 512, dtype == DType::Q4K));
        all.push(matmul(r, dtype, 1, 97, 256, true));
        all.push(matmul(r, dtype, 6, 21, 768, false));
        all.push(embed(r, dtype));
        all.push(convert(r, Stem::Dequantize, dtype, DType::F32));
        all.push(convert(r, Stem::Copy, dtype, dtype));
    }
    all.push(matmul(r, DType::F32, 5, 67, 83, true));
    all.push(matmul(r, DType::BF16, 33, 31, 129, false));
    for dtype in DType::QUANTIZABLE {
        all.push(convert(r, Stem::Quantize, DType::F32, dtype));
    }
    for from in DType::FLOATS {
        for to in DType::FLOATS {
            all.push(convert(r, Stem::Cast, from, to));
        }
        all.push(output(Record::new(Stem::Fill).param("value", -1.7f32), "out", from, &[ROWS, 2100]));
    }
    all.push(rms_norm(r));
    all.push(layer_norm(r));
    all.push(softmax(r));
    all.push(binary(r, Stem::SiluMul, ["gate", "up"], ROWS));
    for form in [Gelu::Erf, Gelu::Tanh] {
        all.push(binary(r, Stem::GeluMul, ["gate", "up"], ROWS).param("form", form));
    }
    for stem in [Stem::Add, Stem::Mul] {
        all.push(binary(r, stem, ["a", "b"], ROWS));
        all.push(binary(r, stem, ["a", "b"], 1));
    }
    all.push(scale(r));
    all.push(argmax(r));
    for (pairing, scaling) in [(Pairing::Interleaved, Scaling::None), (Pairing::Neox, yarn())] {
        all.push(rope(r, pairing, scaling));
    }
    all.push(rope(r, Pairing::Neox, Scaling::Linear { factor: 4.0 }));
    for dtype in DType::CACHE {
        all.push(kv_write(r, dtype));
        for rows in [places, prompt] {
            all.push(rows(attention(r, dtype, 64, None, None)));
            all.push(rows(attention(r, dtype, 96, Some(17), Some(30.0))));
        }
    }
    all.push(prompt(attention(r, DType::F16, 40, Some(3), None)));
    all
}

pub fn yarn() -> Scaling {
    Scaling::Yarn {
        factor: 8.0,
        original_context: 4096,
        beta_fast: 32.0,
        beta_slow: 1.0,
        extrapolation: 1.0,
        attention: 1.0,
    }
}

fn matmul(r: &mut Random, dtype: DType, m: usize, n: usize, k: usize, bias: bool) -> Record {
    let record = input(Record::new(Stem::Matmul), r, "x", &[m, k]);
    let record = weights(record, r, "weight", dtype, &[n, k]);
    let record = if bias { input(record, r, "bias", &[n]) } else { record };
    output(record, "out", DType::F32, &[m, n])
}

fn embed(r: &mut Random, dtype: DType) -> Record {
    let record = weights(Record::new(Stem::Embed), r, "table", dtype, &[13, 2048]);
    let record = indices(record, "ids", &[12, 0, 7, 7, 1, 3, 12, 11, 2]);
    output(record, "out", DType::F32, &[ROWS, 2048])
}

fn convert(r: &mut Random, stem: Stem, from: DType, to: DType) -> Record {
    let record = weights(Record::new(stem), r, "x", from, &[ROWS, 2048]);
    output(record, "out", to, &[ROWS, 2048])
}

fn rms_norm(r: &mut Random) -> Record {
    let record = input(Record::new(Stem::RmsNorm).param("eps", 1e-5f32), r, "x", &[ROWS, 2111]);
    output(input(record, r, "weight", &[2111]), "out", DType::F32, &[ROWS, 2111])
}

fn layer_norm(r: &mut Random) -> Record {
    let record = input(Record::new(Stem::LayerNorm).param("eps", 1e-5f32), r, "x", &[ROWS, 2111]);
    let record = input(input(record, r, "weight", &[2111]), r, "bias", &[2111]);
    output(record, "out", DType::F32, &[ROWS, 2111])
}

fn softmax(r: &mut Random) -> Record {
    let record = input(Record::new(Stem::Softmax).param("scale", 3.0f32), r, "x", &[ROWS, 2111]);
    output(record, "out", DType::F32, &[ROWS, 2111])
}

fn scale(r: &mut Random) -> Record {
    let record = input(Record::new(Stem::Scale).param("factor", -0.3f32), r, "x", &[ROWS, 2111]);
    output(record, "out", DType::F32, &[ROWS, 2111])
}

fn argmax(r: &mut Random) -> Record {
    let record = input(Record::new(Stem::Argmax), r, "x", &[ROWS, 2111]);
    output(record, "out", DType::U32, &[ROWS])
}

/// An op of two operands; the second has `rows` rows.
fn binary(r: &mut Random, stem: Stem, names: [&str; 2], rows: usize) -> Record {
    let record = input(Record::new(stem), r, names[0], &[ROWS, 2111]);
    output(input(record, r, names[1], &[rows, 2111]), "out", DType::F32, &[ROWS, 2111])
}

fn rope(r: &mut Random, pairing: Pairing, scaling: Scaling) -> Record {
    let shape = [ROWS, 20, 96];
    let record = Record::new(Stem::Rope)
        .param("pairing", pairing)
        .param("n_rot", 80)
        .param("base", 10_000.0f32)
        .param("scaling", scaling)
        .param("max_positions", 1 << 20);
    let record = input(record, r, "x", &shape);
    let record = indices(record, "positions", &[0, 1, 511, 512, 4095, 131_071, 3, (1 << 20) - 1, 77]);
    let factors: Vec<f32> = (0..40u8).map(|i| 1.0 + f32::from(i) / 16.0).collect();
    output(given(record, "factors", &[40], &factors), "out", DType::F32, &shape)
}

/// Rows of three sequences, in no order.
fn places(record: Record) -> Record {
    let record = indices(record, "seqs", &[2, 0, 0, 1, 2, 2, 1, 0, 2]);
    indices(record, "positions", &[5, 69, 3, 0, 6, 68, 64, 32, 31])
}

/// Neighbouring rows of one sequence.
fn prompt(record: Record) -> Record {
    let record = indices(record, "seqs", &[1; ROWS]);
    indices(record, "positions", &[60, 61, 62, 63, 64, 65, 66, 67, 68])
}

fn kv_write(r: &mut Random, dtype: DType) -> Record {
    let record = input(Record::new(Stem::KvWrite), r, "k", &[ROWS, 8, 256]);
    let record = places(input(record, r, "v", &[ROWS, 8, 256]));
    let record = output(record, "k_cache", dtype, &[3, 70, 8, 256]);
    output(record, "v_cache", dtype, &[3, 70, 8, 256])
}

/// Without the places of its rows.
fn attention(
    r: &mut Random,
    dtype: DType,
    head_dim: usize,
    window: Option<usize>,
    softcap: Option<f32>,
) -> Record {
    let record = Record::new(Stem::Attention)
        .param("scale", 0.125f32)
        .param("window", window)
        .param("softcap", softcap);
    let record = input(record, r, "q", &[ROWS, 6, head_dim]);
    let record = weights(record, r, "k_cache", dtype, &[3, 70, 2, head_dim]);
    let record = weights(record, r, "v_cache", dtype, &[3, 70, 2, head_dim]);
    output(record, "out", DType::F32, &[ROWS, 6, head_dim])
}
