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
