//! Launches of whole kernels, of sizes that inference has.
#![allow(
    dead_code,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
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

pub fn q8_matvec() -> Launch {
    let (rows, n) = (1024usize, 4096usize);
    let device = Device::load("q8_matvec");
    let weights: Vec<u8> = (0..rows * n / 32)
        .flat_map(|block| {
            let scale = half::f16::from_f32(0.01).to_bits().to_le_bytes();
            scale.into_iter().chain((0..32).map(move |i| ((block * 31 + i * 17) % 256) as u8))
        })
        .collect();
    let (w, x, out) = (device.upload(&weights), device.upload(&ramp(n)), device.buffer(4 * rows));
    let arguments = device.arguments("q8_matvec_f32").pointer(w).pointer(x).pointer(out).u32(n as u32);
    Launch { name: "q8_matvec_f32", device, grid: [rows as u32, 1, 1], block: [64, 1, 1], arguments }
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
