//! The other test objects, run end to end: control flow, lanes, LDS, atomics, matrices, bytes.
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
use softhip::memory::{FaultKind, Side};
use softhip::report::{Problem, Segment};
use softhip::sched::Limits;

fn numbers(count: usize, seed: u32) -> Vec<u32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9) | 1;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        })
        .collect()
}

fn collatz(mut v: u32) -> u32 {
    let mut steps = 0;
    while v > 1 && steps < 1000 {
        v = if v & 1 == 1 { v.wrapping_mul(3).wrapping_add(1) } else { v / 2 };
        steps += 1;
    }
    steps
}

#[test]
fn lanes_leave_a_loop_one_by_one() {
    let device = Device::load("divergence");
    let x: Vec<u32> = numbers(200, 1).iter().map(|v| v % 5000).collect();
    let (dx, out) = (device.upload(&x), device.buffer(4 * x.len()));
    let arguments = device.arguments("collatz").pointer(dx).pointer(out).u32(200);
    device.run("collatz", [2, 1, 1], [128, 1, 1], &arguments).unwrap();
    let expected: Vec<u32> = x.iter().map(|&v| collatz(v)).collect();
    assert_eq!(device.download::<u32>(out, 200), expected);
}

#[test]
fn nested_branches_rejoin() {
    let n = 300;
    let device = Device::load("divergence");
    let x = numbers(n, 2);
    let (dx, out) = (device.upload(&x), device.buffer(4 * n));
    let arguments = device.arguments("nested").pointer(dx).pointer(out).u32(n as u32);
    device.run("nested", [5, 1, 1], [64, 1, 1], &arguments).unwrap();
    let expected: Vec<u32> = (0..n)
        .map(|i| {
            let mut sum = 0u32;
            for k in 0..16u32 {
                match (x[i] >> (2 * k)) & 3 {
                    0 => continue,
                    1 => sum = sum.wrapping_add(k * k),
                    2 if sum & 1 == 1 => sum = sum.wrapping_mul(5).wrapping_add(x[(i + k as usize) % n]),
                    2 => sum ^= 0x9e37_79b9,
                    _ => sum = sum.wrapping_sub(k),
                }
                if sum > 0xf000_0000 {
                    break;
                }
            }
            sum
        })
        .collect();
    assert_eq!(device.download::<u32>(out, n), expected);
}

#[test]
fn functions_are_called_through_pointers() {
    for (which, f) in [(0, (|v| v * 2 + 1) as fn(u32) -> u32), (1, |v| v * v)] {
        let device = Device::load("divergence");
        let x: Vec<u32> = (0..64).collect();
        let (dx, out) = (device.upload(&x), device.buffer(256));
        let arguments = device.arguments("indirect_call").pointer(dx).pointer(out).u32(which);
        device.run("indirect_call", [1, 1, 1], [64, 1, 1], &arguments).unwrap();
        assert_eq!(device.download::<u32>(out, 64), x.iter().map(|&v| f(v)).collect::<Vec<_>>());
    }
}

#[test]
fn arrays_indexed_at_run_time_live_in_scratch() {
    let device = Device::load("divergence");
    let x = numbers(64 * 40, 3);
    let (dx, out) = (device.upload(&x), device.buffer(4 * x.len()));
    let arguments = device.arguments("scratch_sort").pointer(dx).pointer(out);
    device.run("scratch_sort", [1, 1, 1], [64, 1, 1], &arguments).unwrap();
    let mut expected = x;
    expected.chunks_mut(40).for_each(<[u32]>::sort_unstable);
    assert_eq!(device.download::<u32>(out, expected.len()), expected);
}

#[test]
fn constants_come_from_the_image() {
    let device = Device::load("divergence");
    let x: Vec<u32> = (0..64).rev().collect();
    let (dx, out) = (device.upload(&x), device.buffer(256));
    let arguments = device.arguments("lookup").pointer(dx).pointer(out);
    device.run("lookup", [1, 1, 1], [64, 1, 1], &arguments).unwrap();
    let got = device.download::<u32>(out, 64);
    assert_eq!((got[63], got[62], got[0]), (2, 3, 311));
}

#[test]
fn sums_across_lanes() {
    let device = Device::load("lanes");
    let x: Vec<f32> = (0..128).map(|i| (i % 17) as f32).collect();
    for kernel in ["sum_bpermute", "sum_dpp"] {
        let (dx, out) = (device.upload(&x), device.buffer(4 * x.len()));
        let arguments = device.arguments(kernel).pointer(dx).pointer(out);
        device.run(kernel, [2, 1, 1], [64, 1, 1], &arguments).unwrap();
        let expected: Vec<f32> = x.chunks(64).flat_map(|wave| [wave.iter().sum::<f32>(); 64]).collect();
        assert_eq!(device.download::<f32>(out, 128), expected, "{kernel}");
    }
}

#[test]
fn ballots_and_permutes() {
    let device = Device::load("lanes");
    let x: Vec<u32> = numbers(64, 4).iter().map(|v| v % 3).collect();
    let (dx, out, count) = (device.upload(&x), device.buffer(256), device.buffer(4));
    let arguments = device.arguments("ballot_rank").pointer(dx).pointer(out).pointer(count);
    device.run("ballot_rank", [1, 1, 1], [64, 1, 1], &arguments).unwrap();
    let rank = |lane: usize| x[..lane].iter().filter(|&&v| v != 0).count() as u32;
    assert_eq!(device.download::<u32>(out, 64), (0..64).map(rank).collect::<Vec<_>>());
    assert_eq!(device.download::<u32>(count, 1), [rank(64)]);

    let out = device.buffer(4 * 256);
    let arguments = device.arguments("swizzle_and_permute").pointer(dx).pointer(out);
    device.run("swizzle_and_permute", [1, 1, 1], [64, 1, 1], &arguments).unwrap();
    let got = device.download::<u32>(out, 256);
    for lane in 0..64 {
        assert_eq!(got[lane], x[lane ^ 1]);
        assert_eq!(got[64 + lane * 7 % 64], x[lane]);
        assert_eq!((got[128 + lane], got[192 + lane]), (x[0], x[17]));
    }
}

#[test]
fn a_histogram_counts_every_byte() {
    let device = Device::load("atomics");
    let x: Vec<u8> = numbers(5000, 5).iter().map(|&v| (v % 200) as u8).collect();
    let (dx, counts) = (device.upload(&x), device.upload(&[0u32; 256]));
    let arguments = device.arguments("histogram").pointer(dx).pointer(counts).u32(5000);
    device.run("histogram", [4, 1, 1], [256, 1, 1], &arguments).unwrap();
    let expected: Vec<u32> =
        (0..256).map(|b| x.iter().filter(|&&v| u32::from(v) == b).count() as u32).collect();
    assert_eq!(device.download::<u32>(counts, 256), expected);
}

#[test]
fn the_last_block_sees_what_the_others_wrote() {
    let device = Device::load("atomics");
    let x = numbers(37, 6);
    let (dx, part, arrived, out) =
        (device.upload(&x), device.buffer(4 * 37), device.upload(&[0u32]), device.buffer(4));
    let arguments =
        device.arguments("last_block_sum").pointer(dx).pointer(part).pointer(arrived).pointer(out).u32(37);
    device.run("last_block_sum", [37, 1, 1], [64, 1, 1], &arguments).unwrap();
    assert_eq!(device.download::<u32>(out, 1), [x.iter().fold(0, |sum: u32, &v| sum.wrapping_add(v))]);
}

#[test]
fn matrices_are_multiplied() {
    let tile = |kernel: &str, m: usize, k: usize| {
        let device = Device::load("mfma_tile");
        let a: Vec<f32> = numbers(m * k, 7).iter().map(|v| (v % 9) as f32 - 4.0).collect();
        let b: Vec<f32> = numbers(k * m, 8).iter().map(|v| (v % 9) as f32 - 4.0).collect();
        let upload =
            |values: &[f32]| match kernel {
                name if name.contains("bf16") => device
                    .upload(&values.iter().map(|&v| half::bf16::from_f32(v).to_bits()).collect::<Vec<_>>()),
                name if name.contains("f16") => device
                    .upload(&values.iter().map(|&v| half::f16::from_f32(v).to_bits()).collect::<Vec<_>>()),
                name if name.contains("i8") => {
                    device.upload(&values.iter().map(|&v| v as i8).collect::<Vec<_>>())
                }
                name if name.contains("f64") => {
                    device.upload(&values.iter().map(|&v| f64::from(v)).collect::<Vec<_>>())
                }
                _ => device.upload(values),
            };
        let out = device.buffer(8 * m * m);
        let (da, db) = (upload(&a), upload(&b));
        let mut arguments = device.arguments(kernel).pointer(da).pointer(db).pointer(out);
        if kernel.contains("loop") {
            arguments = arguments.u32(k as u32);
        }
        device.run(kernel, [1, 1, 1], [64, 1, 1], &arguments).unwrap();
        let got: Vec<f64> = if kernel.contains("i8") {
            device.download::<i32>(out, m * m).into_iter().map(f64::from).collect()
        } else if kernel.contains("f64") {
            device.download(out, m * m)
        } else {
            device.download::<f32>(out, m * m).into_iter().map(f64::from).collect()
        };
        for row in 0..m {
            for column in 0..m {
                let expected: f64 = (0..k).map(|i| f64::from(a[row * k + i] * b[i * m + column])).sum();
                assert_eq!(got[row * m + column], expected, "{kernel} [{row}][{column}]");
            }
        }
    };
    tile("mfma_f16_32x32x8", 32, 8);
    tile("mfma_bf16_32x32x8", 32, 8);
    tile("mfma_f16_16x16x16", 16, 16);
    tile("mfma_bf16_16x16x16", 16, 16);
    tile("mfma_f32_16x16x4", 16, 4);
    tile("mfma_f32_32x32x2", 32, 2);
    tile("mfma_i8_16x16x32", 16, 32);
    tile("mfma_i8_32x32x16", 32, 16);
    tile("mfma_f64_16x16x4", 16, 4);
    tile("mfma_loop_f16", 32, 64);
}

#[test]
fn tiles_are_transposed_through_lds() {
    let (rows, cols) = (96, 64);
    let device = Device::load("transpose");
    let x = numbers(rows * cols, 9);
    let (dx, out) = (device.upload(&x), device.buffer(4 * x.len()));
    let arguments =
        device.arguments("transpose_f32").pointer(dx).pointer(out).u32(rows as u32).u32(cols as u32);
    let counters = device.run("transpose_f32", [2, 3, 1], [32, 8, 1], &arguments).unwrap();
    let expected: Vec<u32> = (0..rows * cols).map(|i| x[i % rows * cols + i / rows]).collect();
    assert_eq!(device.download::<u32>(out, x.len()), expected);
    assert_eq!(counters.barriers, 6 * 4);
    assert_eq!((counters.groups, counters.waves), (6, 24));
    assert_eq!(
        (counters.bytes_read >= 4 * x.len() as u64, counters.bytes_written),
        (true, 4 * x.len() as u64)
    );
    assert_eq!(counters.bank_conflicts, 0, "the tile is padded");
}

#[test]
fn dynamic_lds_follows_the_static_part() {
    let mut device = Device::load("transpose");
    device.dynamic_lds = 32 * 8 * 16;
    let x: Vec<f32> = (0..256 * 4).map(|i| i as f32).collect();
    let (dx, out) = (device.upload(&x), device.buffer(4 * x.len()));
    let arguments = device.arguments("transpose_dynamic").pointer(dx).pointer(out);
    device.run("transpose_dynamic", [1, 1, 1], [32, 8, 1], &arguments).unwrap();
    let got = device.download::<f32>(out, x.len());
    for i in 0..256 {
        let (column, row) = (i / 8, i % 8);
        assert_eq!(got[4 * i..4 * i + 4], x[4 * (row * 32 + column)..][..4]);
    }
    device.dynamic_lds -= 1;
    let report = device.run("transpose_dynamic", [1, 1, 1], [32, 8, 1], &arguments).unwrap_err();
    assert!(matches!(report.problem, Problem::Lds { .. }), "{report}");
}

#[test]
fn integer_operations_agree_with_the_host() {
    let n = 128;
    let device = Device::load("arithmetic");
    let (x, y) = (numbers(n, 10), numbers(n, 11));
    let (dx, dy, out) = (device.upload(&x), device.upload(&y), device.buffer(4 * 20 * n));
    let arguments = device.arguments("zoo_u32").pointer(dx).pointer(dy).pointer(out).u32(n as u32);
    device.run("zoo_u32", [2, 1, 1], [64, 1, 1], &arguments).unwrap();
    let got = device.download::<u32>(out, 20 * n);
    for i in 0..n {
        let (a, b) = (x[i], y[i]);
        let expected: [(usize, u32); 11] = [
            (0, a.wrapping_add(b.wrapping_mul(3))),
            (1, a / (b | 1)),
            (2, a % (b | 1)),
            (3, (a as i32).wrapping_div(b as i32 | 1) as u32),
            (4, ((u64::from(a) * u64::from(b)) >> 32) as u32),
            (5, ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32),
            (7, (a as i32 >> (b & 31)) as u32),
            (8, a.count_ones() + (a | 1).leading_zeros() + (b | 1 << 31).trailing_zeros()),
            (9, a.reverse_bits() ^ b.swap_bytes()),
            (10, a.abs_diff(b)),
            (16, (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff).wrapping_add(17)),
        ];
        for (op, value) in expected {
            assert_eq!(got[op * n + i], value, "operation {op} of {a:#x}, {b:#x}");
        }
    }
}

#[test]
fn wide_integer_operations_agree_with_the_host() {
    let n = 64;
    let device = Device::load("arithmetic");
    let wide = |seed| -> Vec<u64> {
        numbers(2 * n, seed).chunks(2).map(|w| u64::from(w[0]) << 32 | u64::from(w[1])).collect()
    };
    let (x, y) = (wide(12), wide(13));
    let (dx, dy, out) = (device.upload(&x), device.upload(&y), device.buffer(8 * 10 * n));
    let arguments = device.arguments("zoo_u64").pointer(dx).pointer(dy).pointer(out).u32(n as u32);
    device.run("zoo_u64", [1, 1, 1], [64, 1, 1], &arguments).unwrap();
    let got = device.download::<u64>(out, 10 * n);
    for i in 0..n {
        let (a, b) = (x[i], y[i]);
        let expected = [
            a.wrapping_add(b),
            a.wrapping_sub(b),
            a.wrapping_mul(b),
            a << (b & 63),
            a >> (b & 63),
            (a as i64 >> (b & 63)) as u64,
            a.min(b),
            u64::from((a as i64) < b as i64),
            a / (b | 1),
            u64::from(a.count_ones() + (a | 1).leading_zeros()),
        ];
        for (op, value) in expected.into_iter().enumerate() {
            assert_eq!(got[op * n + i], value, "operation {op} of {a:#x}, {b:#x}");
        }
    }
}

#[test]
fn floating_point_operations_agree_with_the_host() {
    let n = 128;
    let device = Device::load("arithmetic");
    let value = |v: &u32| (f64::from(*v) / 4_294_967_296.0 * 40.0 - 20.0) as f32;
    let x: Vec<f32> = numbers(n, 14).iter().map(value).collect();
    let y: Vec<f32> = numbers(n, 15).iter().map(value).collect();
    let (dx, dy, out) = (device.upload(&x), device.upload(&y), device.buffer(4 * 20 * n));
    let arguments = device.arguments("zoo_f32").pointer(dx).pointer(dy).pointer(out).u32(n as u32);
    device.run("zoo_f32", [2, 1, 1], [64, 1, 1], &arguments).unwrap();
    let got = device.download::<f32>(out, 20 * n);
    for i in 0..n {
        let (a, b) = (x[i], y[i]);
        let exact = [
            (0, a + b),
            (1, a - b),
            (2, a * b),
            (3, a / b),
            (4, a.mul_add(b, 1.5)),
            (9, a.floor() + b.ceil()),
            (10, a.trunc() * b.round_ties_even()),
            (12, a * 8.0),
            (13, a.copysign(b)),
            (17, (a * b).clamp(0.0, 1.0)),
            (19, -a.abs() * 2.0),
        ];
        for (op, value) in exact {
            assert_eq!(got[op * n + i], value, "operation {op} of {a}, {b}");
        }
        for (op, value) in
            [(5, f64::from(a).abs().sqrt()), (6, f64::from(a).exp()), (7, f64::from(b).abs().ln())]
        {
            let error = (f64::from(got[op * n + i]) - value).abs();
            let got = got[op * n + i];
            // Contraction lets the compiler's exp count the rounding error of its argument twice.
            assert!(error <= 1.5e-6 * value.abs() + 1e-7, "operation {op} of {a}, {b}: {got} is not {value}");
        }
    }
}

#[test]
fn results_and_counts_do_not_depend_on_the_number_of_threads() {
    let run = |threads| {
        let mut device = Device::load("transpose");
        device.limits.threads = threads;
        let x = numbers(512 * 512, 16);
        let (dx, out) = (device.upload(&x), device.buffer(4 * x.len()));
        let arguments = device.arguments("transpose_f32").pointer(dx).pointer(out).u32(512).u32(512);
        let counters = device.run("transpose_f32", [16, 16, 1], [32, 8, 1], &arguments).unwrap();
        (device.download::<u32>(out, x.len()), counters)
    };
    assert!(run(1) == run(2));
    assert!(run(1) == run(5));
}

#[test]
fn the_lowest_faulting_workgroup_is_reported_whatever_the_number_of_threads() {
    // The launch must be long enough that other threads are called.
    let reports: Vec<String> = [1, 2, 3, 7]
        .into_iter()
        .map(|threads| {
            let mut device = Device::load("silu_mul");
            device.limits.threads = threads;
            let x = vec![1f32; 64000];
            let (dx, out) = (device.upload(&x), device.buffer(4 * 44860));
            let arguments = device.arguments("silu_mul_f32").pointer(dx).pointer(dx).pointer(out).u32(64000);
            let report = device.run("silu_mul_f32", [1000, 1, 1], [64, 1, 1], &arguments).unwrap_err();
            assert_eq!(report.by.unwrap().block, [700, 0, 0]);
            assert_eq!(report.by.unwrap().thread, [60, 0, 0]);
            report.to_string()
        })
        .collect();
    assert!(reports.iter().all(|report| *report == reports[0]), "{reports:#?}");
}

/// Changes which slots workgroups read, and which they write.
type Change<'a> = dyn Fn(&mut [u32], &mut [u32]) + 'a;

/// 1024 workgroups of `exchange`, each with its own slot but for those that `change` sets; what is reported, and
/// what the slots hold in the end.
fn exchange(threads: usize, change: impl FnOnce(&mut [u32], &mut [u32])) -> (Option<String>, Vec<u32>) {
    let groups = 1024u32;
    let mut device = Device::load("faults");
    device.limits.threads = threads;
    let (mut reads, mut writes): (Vec<u32>, Vec<u32>) = ((0..groups).collect(), (0..groups).collect());
    change(&mut reads, &mut writes);
    let [reads, writes] = [reads, writes].map(|table| device.upload(&table));
    let slots = device.upload(&numbers(64 * groups as usize, 3));
    let arguments = device.arguments("exchange").pointer(reads).pointer(writes).pointer(slots).u32(20);
    let result = device.run("exchange", [groups, 1, 1], [64, 1, 1], &arguments);
    (result.err().map(|report| report.to_string()), device.download(slots, 64 * groups as usize))
}

#[test]
fn a_race_between_workgroups_is_reported_the_same_whatever_the_number_of_threads() {
    // Threads run neighbours one after the other: somewhere in these pairs the higher one comes first.
    for low in (100..1000).step_by(45) {
        let high = low + 20;
        let read_before = |reads: &mut [u32], _: &mut [u32]| reads[low] = high as u32;
        let read_after = |reads: &mut [u32], _: &mut [u32]| reads[high] = low as u32;
        let written_twice = |_: &mut [u32], writes: &mut [u32]| writes[high] = low as u32;
        let changes: [&Change; 3] = [&read_before, &read_after, &written_twice];
        for change in changes {
            let expected = exchange(1, change);
            let text = expected.0.as_deref().unwrap();
            assert!(
                text.starts_with("Racing global ") && text.contains(&format!("workgroup {low}")),
                "{text}"
            );
            for threads in [2, 3, 7] {
                let got = exchange(threads, change);
                assert_eq!(got.0.as_deref(), Some(text), "{threads} threads");
                assert!(got.1 == expected.1, "{threads} threads leave other bytes behind");
            }
        }
    }
    assert_eq!(exchange(7, |_, _| ()).0, None);
}

#[test]
fn positions_allocated_with_two_bytes_each_are_caught_at_the_scalar_load() {
    let (tokens, dim) = (8usize, 64usize);
    let device = Device::load("rope");
    let x = vec![0f32; tokens * dim];
    let table = vec![0f32; 64 * dim];
    let positions = [0u16; 8];
    let (dx, dp, dt) = (device.upload(&x), device.upload(&positions), device.upload(&table));
    device.memory.label(dp, "positions");
    let arguments = device.arguments("rope_f32").pointer(dx).pointer(dp).pointer(dt).u32(1).u32(dim as u32);
    let report = device.run("rope_f32", [8, 1, 1], [32, 1, 1], &arguments).unwrap_err();
    let Problem::Access { segment: Segment::Scalar, fault } = &report.problem else { panic!("{report}") };
    let end = FaultKind::OutOfBounds { side: Side::After, distance: 0, outside: 4 };
    assert_eq!(fault.kind, end, "{report}");
    assert_eq!(fault.nearest.as_ref().unwrap().label.as_deref(), Some("positions"));
    assert_eq!(report.by.unwrap().block, [4, 0, 0]);
    assert!(report.at.as_ref().unwrap().instruction.starts_with("s_load_dword"), "{report}");
}

#[test]
fn an_endless_kernel_ends_with_its_budget() {
    let mut device = Device::load("divergence");
    device.limits = Limits { threads: 1, budget: 1000 };
    let (dx, out) = (device.upload(&[27u32; 64]), device.buffer(256));
    let arguments = device.arguments("collatz").pointer(dx).pointer(out).u32(64);
    let report = device.run("collatz", [1, 1, 1], [64, 1, 1], &arguments).unwrap_err();
    assert!(matches!(report.problem, Problem::Budget { .. }), "{report}");
}

#[test]
fn waves_meet_by_arriving_at_a_barrier_whichever_it_is() {
    let device = Device::load("barriers");
    let out = device.buffer(512);
    let arguments = device.arguments("meet_apart").pointer(out);
    device.run("meet_apart", [1, 1, 1], [128, 1, 1], &arguments).unwrap();
    let expected: Vec<u32> = (0..128).map(|t| (t ^ 64) + if t < 64 { 0 } else { 1000 }).collect();
    assert_eq!(device.download::<u32>(out, 128), expected);
}

#[test]
fn buffer_resources_have_bounds_of_their_own() {
    let device = Device::load("buffers");
    let x: Vec<u32> = (0..80).map(|i| 100 + i).collect();
    let (dx, out) = (device.upload(&x), device.upload(&[7u32; 64]));
    // 60 words of x are within its resource, 62 words of the result within theirs.
    let arguments = device.arguments("buffer_copy").pointer(dx).pointer(out).u32(4 * 60).u32(4 * 62).u32(3);
    device.run("buffer_copy", [1, 1, 1], [64, 1, 1], &arguments).unwrap();
    let expected: Vec<u32> = (0..64)
        .map(|t| match t {
            // The offsets of the instruction and of the scalar register count for the bounds.
            0..57 => 100 + t + 3,
            57..62 => 0,
            _ => 7,
        })
        .collect();
    assert_eq!(device.download::<u32>(out, 64), expected);
    // A resource that is larger than its memory is found at the memory's own bounds.
    let arguments = device.arguments("buffer_copy").pointer(dx).pointer(out).u32(4 * 100).u32(256).u32(20);
    let report = device.run("buffer_copy", [1, 1, 1], [64, 1, 1], &arguments).unwrap_err().to_string();
    assert!(report.starts_with("Invalid global read of size 4 bytes"), "{report}");
    assert!(report.contains("buffer_load_dword"), "{report}");
}

#[test]
fn buffers_move_wide_and_narrow_data() {
    let device = Device::load("buffers");
    let (x, y) = (numbers(256, 5), numbers(16, 6));
    let (dx, out, dy, bytes) = (device.upload(&x), device.buffer(1024), device.upload(&y), device.buffer(64));
    let arguments = device.arguments("buffer_copy_wide").pointer(dx).pointer(out).pointer(dy).pointer(bytes);
    device.run("buffer_copy_wide", [1, 1, 1], [64, 1, 1], &arguments).unwrap();
    assert_eq!(device.download::<u32>(out, 256), x);
    assert_eq!(device.download::<u32>(bytes, 16), y);
}

#[test]
fn loads_go_straight_to_lds() {
    let device = Device::load("buffers");
    let x = numbers(128, 7);
    let (dx, out) = (device.upload(&x), device.buffer(256));
    let arguments = device.arguments("load_to_lds").pointer(dx).pointer(out);
    device.run("load_to_lds", [1, 1, 1], [64, 1, 1], &arguments).unwrap();
    let expected: Vec<u32> = (0..64).map(|t| x[t].wrapping_add(x[64 + t])).collect();
    assert_eq!(device.download::<u32>(out, 64), expected);
}
