//! The HIP backend on a software device, and numbers for it to work on.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use backend_hip::{DeviceBuffer, HipBackend, HipStream, Options};
use kernels::{Backend, Op, Valid};

/// A backend with one stream.
pub struct Rig {
    pub backend: HipBackend,
    pub stream: HipStream,
}

impl Rig {
    pub fn new() -> Self {
        let backend = HipBackend::software(softhip::control::Options::default(), Options::default()).unwrap();
        let stream = backend.stream().unwrap();
        Rig { backend, stream }
    }

    /// Memory that holds `bytes`.
    pub fn upload(&self, bytes: &[u8], label: &str) -> DeviceBuffer {
        self.backend.upload(&self.stream, bytes, label).unwrap()
    }

    /// `n` numbers between −1 and 1, as f32.
    pub fn numbers(&self, n: usize, label: &str) -> DeviceBuffer {
        self.upload(bytemuck::cast_slice(&numbers(n)), label)
    }

    /// Memory without content for `n` f32.
    pub fn room(&self, n: usize, label: &str) -> DeviceBuffer {
        self.backend.alloc(4 * n, label).unwrap()
    }

    /// Runs an op to its end; the checkers' findings fail the test.
    pub fn run(&self, op: Valid<Op<'_, DeviceBuffer>>) {
        self.backend.launch(&self.stream, op).unwrap();
        self.backend.synchronize(&self.stream).unwrap();
    }
}

/// `n` numbers between −1 and 1, always the same.
pub fn numbers(n: usize) -> Vec<f32> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        f32::from(i16::from_le_bytes([state.to_le_bytes()[5], state.to_le_bytes()[6]])) / 32768.0
    };
    (0..n).map(|_| next()).collect()
}
