//! Launches of whole kernels, of sizes that inference has.
#![allow(
    dead_code,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::unwrap_used,
    missing_docs,
    reason = "launches of known size; each bench uses its own part"
)]

#[path = "../../tests/exec_launch/mod.rs"]
mod exec_launch;

use exec_launch::{Arguments, Device};
use softhip::memory::Checks;
use softhip::sched::{Counters, Limits};

/// A kernel with its launch.
pub struct Launch {
    pub name: &'static str,
    device: Device,
    grid: [u32; 3],
    block: [u32; 3],
    arguments: Arguments,
}

impl Launch {
    /// Sets what later runs check, and on how many threads they run.
    pub fn set(&mut self, checks: Checks, threads: usize) {
        self.device.checks = checks;
        self.device.limits = Limits { threads, ..Limits::default() };
    }

    /// Launches the kernel, and waits for it.
    pub fn run(&self) -> Counters {
        self.device.run(self.name, self.grid, self.block, &self.arguments).expect("the kernel is right")
    }
}

fn ramp(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect()
}

/// Rows and columns of the mat-vecs.
const MATRIX: (usize, usize) = (1024, 4096);

fn q8_weights() -> Vec<u8> {
    let (rows, n) = MATRIX;
    let scale = half::f16::from_f32(0.01).to_bits().to_le_bytes();
    (0..rows * n / 32)
        .flat_map(|block| scale.into_iter().chain((0..32).map(move |i| ((block * 31 + i * 17) % 256) as u8)))
        .collect()
}

pub fn q8_matvec() -> Launch {
    let (rows, n) = MATRIX;
    let device = Device::load("q8_matvec");
    let (w, x, out) = (device.upload(&q8_weights()), device.upload(&ramp(n)), device.buffer(4 * rows));
    let arguments = device.arguments("q8_matvec_f32").pointer(w).pointer(x).pointer(out).u32(n as u32);
    Launch { name: "q8_matvec_f32", device, grid: [rows as u32, 1, 1], block: [64, 1, 1], arguments }
}

pub fn q8_dot4() -> Launch {
    let (rows, n) = MATRIX;
    let device = Device::load("q8_matvec");
    let bytes: Vec<u8> = (0..n).map(|i| (i * 29 % 256) as u8).collect();
    let (w, out) = (device.upload(&q8_weights()), device.buffer(4 * rows));
    let (xq, xd) = (device.upload(&bytes), device.upload(&ramp(n / 32)));
    let arguments = device.arguments("q8_dot4").pointer(w).pointer(xq).pointer(xd).pointer(out).u32(n as u32);
    Launch { name: "q8_dot4", device, grid: [rows as u32, 1, 1], block: [64, 1, 1], arguments }
}

pub fn rms_norm() -> Launch {
    let (rows, n) = (256usize, 4096usize);
    let device = Device::load("rms_norm");
    let (x, w, out) = (device.upload(&ramp(rows * n)), device.upload(&ramp(n)), device.buffer(4 * rows * n));
    let arguments =
        device.arguments("rms_norm_f32").pointer(x).pointer(w).pointer(out).u32(n as u32).f32(1e-5);
    Launch { name: "rms_norm_f32", device, grid: [rows as u32, 1, 1], block: [256, 1, 1], arguments }
}

pub fn softmax() -> Launch {
    let (rows, n) = (256usize, 4096usize);
    let device = Device::load("softmax");
    let (x, out) = (device.upload(&ramp(rows * n)), device.buffer(4 * rows * n));
    let arguments = device.arguments("softmax_f32").pointer(x).pointer(out).u32(n as u32);
    Launch { name: "softmax_f32", device, grid: [rows as u32, 1, 1], block: [256, 1, 1], arguments }
}

/// Rows, columns and inner length of the matmuls.
const PRODUCT: (usize, usize, usize) = (128, 128, 1024);

fn matmul(name: &'static str, narrow: fn(f32) -> u16) -> Launch {
    let (m, n, k) = PRODUCT;
    let device = Device::load("matmul");
    let numbers = |count: usize| ramp(count).into_iter().map(narrow).collect::<Vec<u16>>();
    let (a, b, out) =
        (device.upload(&numbers(m * k)), device.upload(&numbers(n * k)), device.buffer(4 * m * n));
    let arguments = device.arguments(name).pointer(a).pointer(b).pointer(out).u32(n as u32).u32(k as u32);
    Launch { name, device, grid: [n as u32 / 128, m as u32 / 128, 1], block: [256, 1, 1], arguments }
}

pub fn matmul_f16() -> Launch {
    matmul("matmul_f16", |x| half::f16::from_f32(x).to_bits())
}

pub fn matmul_bf16() -> Launch {
    matmul("matmul_bf16", |x| half::bf16::from_f32(x).to_bits())
}

pub fn attention() -> Launch {
    let (queries, keys) = (128usize, 512usize);
    let device = Device::load("attention");
    let (q, k) = (device.upload(&ramp(64 * queries)), device.upload(&ramp(64 * keys)));
    let (v, out) = (device.upload(&ramp(64 * keys)), device.buffer(4 * 64 * queries));
    let arguments =
        device.arguments("attention_f32").pointer(q).pointer(k).pointer(v).pointer(out).u32(keys as u32);
    Launch { name: "attention_f32", device, grid: [queries as u32 / 16, 1, 1], block: [256, 1, 1], arguments }
}
