//! Whole kernels, compiled by clang, against their formulas in f64.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    clippy::unwrap_used,
    reason = "test data of known size"
)]

mod exec_launch;

use exec_launch::Device;

fn noise(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        f64::from(state) / f64::from(u32::MAX) * 2.0 - 1.0
    };
    (0..count).map(|_| next() as f32).collect()
}

fn assert_close(got: &[f32], expected: &[f64], relative: f64) {
    assert_eq!(got.len(), expected.len());
    let scale = expected.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    for (i, (&got, &expected)) in got.iter().zip(expected).enumerate() {
        let error = (f64::from(got) - expected).abs();
        assert!(error <= relative * (expected.abs() + 0.01 * scale), "[{i}] {got} is not {expected}");
    }
}

#[test]
fn rms_norm_matches_its_formula() {
    for (n, block) in [(64, 64), (576, 256), (100, 128), (1000, 1024)] {
        let rows = 3;
        let device = Device::load("rms_norm");
        let (x, weight) = (noise(rows * n, 1), noise(n, 2));
        let (dx, dw, out) = (device.upload(&x), device.upload(&weight), device.buffer(4 * rows * n));
        let n32 = n as u32;
        let arguments =
            device.arguments("rms_norm_f32").pointer(dx).pointer(dw).pointer(out).u32(n32).f32(1e-5);
        device.run("rms_norm_f32", [rows as u32, 1, 1], [block, 1, 1], &arguments).unwrap();
        let expected: Vec<f64> = x
            .chunks(n)
            .flat_map(|row| {
                let mean = row.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>() / n as f64;
                let scale = 1.0 / (mean + 1e-5).sqrt();
                row.iter().zip(&weight).map(move |(&v, &w)| f64::from(v) * scale * f64::from(w))
            })
            .collect();
        assert_close(&device.download(out, rows * n), &expected, 2e-6);
    }
}

#[test]
fn softmax_matches_its_formula() {
    for (n, block) in [(64, 64), (1000, 256), (33, 64), (513, 512)] {
        let rows = 2;
        let device = Device::load("softmax");
        let x: Vec<f32> = noise(rows * n, 3).iter().map(|v| v * 20.0).collect();
        let (dx, out) = (device.upload(&x), device.buffer(4 * rows * n));
        let arguments = device.arguments("softmax_f32").pointer(dx).pointer(out).u32(n as u32);
        device.run("softmax_f32", [rows as u32, 1, 1], [block, 1, 1], &arguments).unwrap();
        let expected: Vec<f64> = x
            .chunks(n)
            .flat_map(|row| {
                let top = row.iter().fold(f64::NEG_INFINITY, |most, &v| most.max(v.into()));
                let sum: f64 = row.iter().map(|&v| (f64::from(v) - top).exp()).sum();
                row.iter().map(move |&v| (f64::from(v) - top).exp() / sum)
            })
            .collect();
        assert_close(&device.download(out, rows * n), &expected, 1e-5);
    }
}

#[test]
fn rope_matches_its_formula() {
    let (tokens, heads, dim, positions) = (3usize, 2usize, 64usize, 16usize);
    let half = dim / 2;
    let device = Device::load("rope");
    let x = noise(tokens * heads * dim, 4);
    let pos = [7u32, 0, 15];
    let table: Vec<f32> = (0..positions * half)
        .flat_map(|i| {
            let angle = (i / half) as f64 * 10000f64.powf(-((i % half) as f64) / half as f64);
            [angle.cos() as f32, angle.sin() as f32]
        })
        .collect();
    let (dx, dp, dt) = (device.upload(&x), device.upload(&pos), device.upload(&table));
    let arguments =
        device.arguments("rope_f32").pointer(dx).pointer(dp).pointer(dt).u32(heads as u32).u32(dim as u32);
    device.run("rope_f32", [tokens as u32, heads as u32, 1], [half as u32, 1, 1], &arguments).unwrap();
    let mut expected: Vec<f64> = x.iter().map(|&v| v.into()).collect();
    for (at, vector) in expected.chunks_mut(dim).enumerate() {
        let position = pos[at / heads] as usize;
        for i in 0..half {
            let (c, s) = (table[2 * (position * half + i)], table[2 * (position * half + i) + 1]);
            let (a, b) = (vector[i], vector[i + half]);
            vector[i] = a * f64::from(c) - b * f64::from(s);
            vector[i + half] = a * f64::from(s) + b * f64::from(c);
        }
    }
    assert_close(&device.download(dx, x.len()), &expected, 1e-6);
}

#[test]
fn silu_mul_matches_its_formula() {
    let n = 1000;
    let device = Device::load("silu_mul");
    let gate: Vec<f32> = noise(n, 5).iter().map(|v| v * 30.0).collect();
    let up = noise(n, 6);
    let (dg, du, out) = (device.upload(&gate), device.upload(&up), device.buffer(4 * n));
    let arguments = device.arguments("silu_mul_f32").pointer(dg).pointer(du).pointer(out).u32(n as u32);
    device.run("silu_mul_f32", [4, 1, 1], [256, 1, 1], &arguments).unwrap();
    let silu = |x: f64| x / (1.0 + (-x).exp());
    let expected: Vec<f64> = gate.iter().zip(&up).map(|(&g, &u)| silu(g.into()) * f64::from(u)).collect();
    assert_close(&device.download(out, n), &expected, 1e-5);
}

/// `Q8_0` rows: per block of 32 an f16 scale and the numbers.
fn q8_rows(rows: usize, n: usize) -> (Vec<u8>, Vec<f64>) {
    let (mut bytes, mut values) = (Vec::new(), Vec::new());
    for (i, block) in noise(rows * n, 7).chunks(32).enumerate() {
        let scale = half::f16::from_f32(0.01 + (i % 7) as f32 * 0.003);
        bytes.extend(scale.to_bits().to_le_bytes());
        for &v in block {
            let q = (v * 127.0) as i8;
            bytes.push(q as u8);
            values.push(f64::from(scale.to_f32()) * f64::from(q));
        }
    }
    (bytes, values)
}

#[test]
fn q8_matvec_matches_its_formula() {
    for n in [32, 576, 2048, 4096] {
        let rows = 5;
        let device = Device::load("q8_matvec");
        let (weights, values) = q8_rows(rows, n);
        let x = noise(n, 8);
        let (dw, dx, out) = (device.upload(&weights), device.upload(&x), device.buffer(4 * rows));
        let arguments = device.arguments("q8_matvec_f32").pointer(dw).pointer(dx).pointer(out).u32(n as u32);
        device.run("q8_matvec_f32", [rows as u32, 1, 1], [64, 1, 1], &arguments).unwrap();
        let expected: Vec<f64> =
            values.chunks(n).map(|row| row.iter().zip(&x).map(|(w, &x)| w * f64::from(x)).sum()).collect();
        assert_close(&device.download(out, rows), &expected, 1e-4);
    }
}

#[test]
fn q8_dot4_is_exact_up_to_the_final_sums() {
    let (rows, n) = (4, 1024);
    let device = Device::load("q8_matvec");
    let (weights, values) = q8_rows(rows, n);
    let xq: Vec<i8> = noise(n, 9).iter().map(|v| (v * 127.0) as i8).collect();
    let xd: Vec<f32> = (0..n / 32).map(|i| 0.5 + i as f32 / 64.0).collect();
    let (dw, dx, dd, out) =
        (device.upload(&weights), device.upload(&xq), device.upload(&xd), device.buffer(4 * rows));
    let arguments =
        device.arguments("q8_dot4").pointer(dw).pointer(dx).pointer(dd).pointer(out).u32(n as u32);
    device.run("q8_dot4", [rows as u32, 1, 1], [64, 1, 1], &arguments).unwrap();
    let expected: Vec<f64> = values
        .chunks(n)
        .map(|row| {
            row.iter().zip(&xq).enumerate().map(|(i, (w, &q))| w * f64::from(q) * f64::from(xd[i / 32])).sum()
        })
        .collect();
    assert_close(&device.download(out, rows), &expected, 1e-4);
}

#[test]
fn matmul_matches_its_formula() {
    let (m, n, k) = (128, 256, 64);
    let f16_bits = |x: f32| half::f16::from_f32(x).to_bits();
    let bf16_bits = |x: f32| half::bf16::from_f32(x).to_bits();
    let f16_value = |bits: u16| f64::from(half::f16::from_bits(bits));
    let bf16_value = |bits: u16| f64::from(half::bf16::from_bits(bits));
    let narrow: [fn(f32) -> u16; 2] = [f16_bits, bf16_bits];
    let value: [fn(u16) -> f64; 2] = [f16_value, bf16_value];
    for ((name, narrow), value) in ["matmul_f16", "matmul_bf16"].into_iter().zip(narrow).zip(value) {
        let device = Device::load("matmul");
        let numbers = |count, seed| noise(count, seed).into_iter().map(narrow).collect::<Vec<u16>>();
        let (a, b) = (numbers(m * k, 10), numbers(n * k, 11));
        let (da, db, out) = (device.upload(&a), device.upload(&b), device.buffer(4 * m * n));
        let arguments =
            device.arguments(name).pointer(da).pointer(db).pointer(out).u32(n as u32).u32(k as u32);
        device.run(name, [n as u32 / 128, m as u32 / 128, 1], [256, 1, 1], &arguments).unwrap();
        let dot = |x: &[u16], y: &[u16]| x.iter().zip(y).map(|(&x, &y)| value(x) * value(y)).sum::<f64>();
        let expected: Vec<f64> =
            a.chunks(k).flat_map(|row| b.chunks(k).map(move |column| dot(row, column))).collect();
        assert_close(&device.download(out, m * n), &expected, 1e-4);
    }
}

#[test]
fn attention_matches_its_formula() {
    let (queries, keys, head) = (32, 128, 64);
    let device = Device::load("attention");
    let (q, k, v) = (noise(queries * head, 12), noise(keys * head, 13), noise(keys * head, 14));
    let (dq, dk, dv) = (device.upload(&q), device.upload(&k), device.upload(&v));
    let out = device.buffer(4 * queries * head);
    let arguments =
        device.arguments("attention_f32").pointer(dq).pointer(dk).pointer(dv).pointer(out).u32(keys as u32);
    device.run("attention_f32", [queries as u32 / 16, 1, 1], [256, 1, 1], &arguments).unwrap();
    let dot = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum::<f64>();
    let mut expected = Vec::new();
    for query in q.chunks(head) {
        let weights: Vec<f64> = k.chunks(head).map(|key| (dot(query, key) / 8.0).exp()).collect();
        let total: f64 = weights.iter().sum();
        for column in 0..head {
            let values = v.iter().skip(column).step_by(head);
            expected.push(
                weights.iter().zip(values).map(|(w, &value)| w * f64::from(value)).sum::<f64>() / total,
            );
        }
    }
    assert_close(&device.download(out, queries * head), &expected, 1e-4);
}

/// Runs the tests above again with fewer vectors than the machine may have.
#[test]
fn fewer_vectors_run_the_same_kernels() {
    if std::env::var_os("ASSAY_VECTORS").is_some() {
        return;
    }
    for vectors in ["baseline", "avx2"] {
        let mut tests = std::process::Command::new(std::env::current_exe().unwrap());
        let output = tests.env("ASSAY_VECTORS", vectors).output().unwrap();
        assert!(output.status.success(), "{vectors}: {}", String::from_utf8_lossy(&output.stdout));
    }
}
