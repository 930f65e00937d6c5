//! Bytes that kernels read and write at the sizes of a model, against the fewest that the op allows.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod rig;

use backend_hip::DeviceBuffer;
use kernels::ops::rope::{Pairing, Scaling};
use kernels::ops::{Attention, KvWrite, RmsNorm, Rope, SiluMul, Softmax};
use kernels::{Backend as _, DType, Layout, Op, Source, Valid, View, ViewMut};
use rig::Rig;

/// Runs `op` and holds the bytes that it moves against `fewest`.
fn moves_at_most_a_tenth_more(rig: &Rig, fewest: usize, op: Valid<Op<'_, DeviceBuffer>>) {
    let device = rig.backend.software_device().unwrap();
    let before = device.counters();
    rig.run(op);
    let after = device.counters();
    let moved = after.bytes_read + after.bytes_written - before.bytes_read - before.bytes_written;
    let ratio = moved as f64 / fewest as f64;
    assert!(ratio <= 1.1, "{moved} bytes are {ratio:.3} of {fewest}");
}

fn f32s(shape: &[usize]) -> Layout {
    Layout::contiguous(DType::F32, shape)
}

#[test]
fn rms_norm_reads_its_row_once() {
    let rig = Rig::new();
    for n in [576, 2048, 4096, 8192] {
        let (x, weight, mut out) = (rig.numbers(n, "x"), rig.numbers(n, "weight"), rig.room(n, "out"));
        let layout = f32s(&[1, n]);
        let op = RmsNorm {
            x: Source::Of(View::new(&x, layout)),
            weight: View::new(&weight, f32s(&[n])),
            out: ViewMut::new(&mut out, layout),
            eps: 1e-5,
        };
        moves_at_most_a_tenth_more(&rig, 3 * 4 * n, op.validate().unwrap());
    }
}

#[test]
fn softmax_reads_its_row_once() {
    let rig = Rig::new();
    for n in [512, 2048, 4096, 8192] {
        let (x, mut out) = (rig.numbers(n, "x"), rig.room(n, "out"));
        let layout = f32s(&[1, n]);
        let x = Source::Of(View::new(&x, layout));
        let op = Softmax { x, out: ViewMut::new(&mut out, layout), scale: 0.125 };
        moves_at_most_a_tenth_more(&rig, 2 * 4 * n, op.validate().unwrap());
    }
}

#[test]
fn silu_mul_reads_twice_what_it_writes() {
    let rig = Rig::new();
    let n = 1536;
    let (gate, up, mut out) = (rig.numbers(n, "gate"), rig.numbers(n, "up"), rig.room(n, "out"));
    let layout = f32s(&[1, n]);
    let gate = Source::Of(View::new(&gate, layout));
    let op = SiluMul { gate, up: View::new(&up, layout), out: ViewMut::new(&mut out, layout) };
    moves_at_most_a_tenth_more(&rig, 3 * 4 * n, op.validate().unwrap());
}

#[test]
fn rope_reads_and_writes_each_element_once() {
    let rig = Rig::new();
    let shape = [4, 9, 64];
    let n: usize = shape.iter().product();
    for pairing in [Pairing::Interleaved, Pairing::Neox] {
        let mut out = rig.numbers(n, "x");
        let positions = rig.backend.indices(&rig.stream, &[5, 6, 7, 8], "positions").unwrap();
        let op = Rope {
            x: Source::InPlace,
            positions: positions.all(),
            factors: None,
            out: ViewMut::new(&mut out, f32s(&shape)),
            pairing,
            n_rot: 64,
            base: 10000.0,
            scaling: Scaling::None,
            max_positions: 2048,
        };
        moves_at_most_a_tenth_more(&rig, 2 * 4 * n, op.validate().unwrap());
    }
}

#[test]
fn kv_write_reads_keys_and_values_and_writes_their_slots() {
    let rig = Rig::new();
    let (rows, heads, dim, slots) = (4, 3, 64, 16);
    let n = rows * heads * dim;
    for format in DType::CACHE {
        let cache = Layout::contiguous(format, &[1, slots, heads, dim]);
        let room = cache.byte_range().unwrap().len();
        let (k, v) = (rig.numbers(n, "k"), rig.numbers(n, "v"));
        let mut k_cache = rig.backend.alloc(room, "k_cache").unwrap();
        let mut v_cache = rig.backend.alloc(room, "v_cache").unwrap();
        let seqs = rig.backend.indices(&rig.stream, &[0; 4], "seqs").unwrap();
        let positions = rig.backend.indices(&rig.stream, &[3, 4, 5, 6], "positions").unwrap();
        let op = KvWrite {
            k: View::new(&k, f32s(&[rows, heads, dim])),
            v: View::new(&v, f32s(&[rows, heads, dim])),
            seqs: seqs.all(),
            positions: positions.all(),
            k_cache: ViewMut::new(&mut k_cache, cache),
            v_cache: ViewMut::new(&mut v_cache, cache),
        };
        let fewest = 2 * (4 * n + format.bytes_of(n).unwrap());
        moves_at_most_a_tenth_more(&rig, fewest, op.validate().unwrap());
    }
}

#[test]
fn decoding_reads_each_slot_once_for_all_heads_of_its_group() {
    let rig = Rig::new();
    let (heads, kv_heads, dim, position) = (9, 3, 64, 1000);
    let q = rig.numbers(heads * dim, "q");
    let mut out = rig.room(heads * dim, "out");
    for format in DType::CACHE {
        let cache = Layout::contiguous(format, &[1, 1024, kv_heads, dim]);
        let bytes = vec![0; cache.byte_range().unwrap().len()];
        let (k, v) = (rig.upload(&bytes, "k"), rig.upload(&bytes, "v"));
        let seqs = rig.backend.indices(&rig.stream, &[0], "seqs").unwrap();
        let positions = rig.backend.indices(&rig.stream, &[position], "positions").unwrap();
        let op = Attention {
            q: View::new(&q, f32s(&[1, heads, dim])),
            k_cache: View::new(&k, cache),
            v_cache: View::new(&v, cache),
            seqs: seqs.all(),
            positions: positions.all(),
            out: ViewMut::new(&mut out, f32s(&[1, heads, dim])),
            scale: 0.125,
            window: None,
            softcap: None,
        };
        let slots = 2 * format.bytes_of((position as usize + 1) * kv_heads * dim).unwrap();
        moves_at_most_a_tenth_more(&rig, slots + 2 * 4 * heads * dim, op.validate().unwrap());
    }
}
