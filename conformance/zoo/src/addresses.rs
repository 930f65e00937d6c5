//! Bugs about where something lies.

#![expect(clippy::too_many_lines, reason = "a list is as long as what it lists")]

use conformance::target::RunError;
use kernels::{Layout, Role, Stem};

use crate::mutant::{About, Mutant, Plant, Work};

const fn kernel(
    name: &'static str,
    stem: Stem,
    fault: &'static str,
    plant: fn(&mut Work<'_>) -> Result<(), kernels::DeviceError>,
) -> Mutant {
    Mutant { name, about: About::Addresses, stem, fault, plant: Plant::Kernel(plant) }
}

/// The mutants.
pub fn mutants() -> Vec<Mutant> {
    let mut all = vec![
        kernel(
            "rope-positions-2-byte",
            Stem::Rope,
            "position buffer filled with 2-byte elements and read as 4-byte",
            |w| {
                let values: Vec<u32> = w
                    .operand("positions")
                    .map(|o| bytemuck::pod_collect_to_vec(&o.bytes))
                    .unwrap_or_default();
                let limit: u32 = w.count("max_positions")?;
                // The guard zone in front shifts the indices; only whole words of the operand change.
                let first = w.operand("positions").map_or(0, |o| o.layout.offset() / 4);
                let packed = |at: usize| values.get(at).copied().unwrap_or(0);
                w.change_indices("positions", |at, value| match at.checked_sub(first) {
                    Some(t) => (packed(first + 2 * t) & 0xffff | packed(first + 2 * t + 1) << 16) % limit,
                    None => value,
                });
                w.run()
            },
        ),
        kernel(
            "attention-kv-stride-of-query-heads",
            Stem::Attention,
            "K/V read with the query's head count",
            |w| {
                let (heads, kv_heads) = (w.dim("q", 1), w.dim("k_cache", 2));
                for name in ["k_cache", "v_cache"] {
                    w.change(name, |o| {
                        let row = o.layout.dtype().bytes_of(o.layout.stride(1)).unwrap_or(0);
                        let start = o.layout.offset();
                        let before = o.bytes.clone();
                        for slot in 0..o.layout.dim(1) {
                            let wrong = slot * heads / kv_heads % o.layout.dim(1);
                            let (to, from) = (start + slot * row, start + wrong * row);
                            let len = row.min(before.len() - to).min(before.len() - from);
                            o.bytes[to..to + len].copy_from_slice(&before[from..from + len]);
                        }
                    });
                }
                w.run()
            },
        ),
        kernel(
            "kv-write-layer-stride-missing",
            Stem::KvWrite,
            "stride of the sequence left out of the cache address",
            |w| {
                w.change_indices("seqs", |_, _| 0);
                // Where rows of different sequences now share a slot, nothing is written at all.
                w.run().or(Ok(()))
            },
        ),
        kernel("attention-sequence-ignored", Stem::Attention, "every row reads the first sequence", |w| {
            w.change_indices("seqs", |_, _| 0);
            w.run()
        }),
        kernel(
            "matmul-offset-in-12-bits",
            Stem::Matmul,
            "byte offset of a weight row computed in too few bits",
            |w| {
                w.change("weight", |o| {
                    let row = o.layout.dtype().bytes_of(o.layout.stride(0)).unwrap_or(1).max(1);
                    let (start, before) = (o.layout.offset(), o.bytes.clone());
                    for n in 0..o.layout.dim(0) {
                        let wrong = (n * row % 4096) / row;
                        let (to, from) = (start + n * row, start + wrong * row);
                        let len = row.min(before.len() - to);
                        o.bytes[to..to + len].copy_from_slice(&before[from..from + len]);
                    }
                });
                w.run()
            },
        ),
        kernel("copy-one-short", Stem::Copy, "copy one element short", |w| {
            let before = w.outputs.clone();
            w.run()?;
            if let Some(last) = w.out_layout().rows().last() {
                let size = w.out_layout().dtype().block_bytes();
                w.outputs[0][last.end - size..last.end]
                    .copy_from_slice(&before[0][last.end - size..last.end]);
            }
            Ok(())
        }),
        kernel("fill-one-before", Stem::Fill, "first element written one place too early", |w| {
            w.run()?;
            let start = w.out_layout().offset();
            w.outputs[0][start - 4..start].fill(0);
            Ok(())
        }),
        kernel("fill-one-past", Stem::Fill, "last partial block written as a full one", |w| {
            w.run()?;
            let end = w.out_layout().byte_range().map_or(0, |r| r.end);
            w.outputs[0][end..end + 4].fill(0);
            Ok(())
        }),
        kernel("copy-far-past", Stem::Copy, "a stray write 100 bytes past the end", |w| {
            w.run()?;
            let end = w.out_layout().byte_range().map_or(0, |r| r.end);
            w.outputs[0][end + 100] ^= 1;
            Ok(())
        }),
        kernel("scale-writes-between-rows", Stem::Scale, "vector store runs over the end of each row", |w| {
            w.run()?;
            let (layout, size) = (w.out_layout(), w.out_layout().dtype().block_bytes());
            let (rows, stride) = (layout.rows().collect::<Vec<_>>(), layout.stride(0) * size);
            for row in &rows[..rows.len() - 1] {
                if row.len() + size <= stride {
                    w.outputs[0][row.end..row.end + size].fill(0);
                }
            }
            Ok(())
        }),
        kernel("rms-norm-stride-ignored", Stem::RmsNorm, "rows read as if they were dense", |w| {
            w.change("x", |o| {
                o.layout = Layout::contiguous(o.layout.dtype(), o.layout.shape()).at(o.layout.offset());
            });
            w.run()
        }),
        kernel(
            "softmax-offset-ignored",
            Stem::Softmax,
            "tensor read from the start of its allocation",
            |w| {
                w.change("x", |o| o.layout = o.layout.at(o.layout.offset() - o.layout.offset() % 256));
                w.run()
            },
        ),
        kernel("embed-id-in-6-bits", Stem::Embed, "token id kept in too few bits", |w| {
            let first = w.operand("ids").map_or(0, |o| o.layout.offset() / 4);
            w.change_indices("ids", |at, id| if at >= first { id & 63 } else { id });
            w.run()
        }),
        kernel("embed-next-row", Stem::Embed, "row address one row too far", |w| {
            let first = w.operand("ids").map_or(0, |o| o.layout.offset() / 4);
            let vocab = w.dim_u32("table", 0)?;
            w.change_indices("ids", |at, id| if at >= first { (id + 1) % vocab } else { id });
            w.run()
        }),
        kernel("kv-write-arguments-swapped", Stem::KvWrite, "keys and values swapped", |w| {
            let (k, v) = (w.values("k"), w.values("v"));
            let (heads, head_dim) = (w.dim("k", 1), w.dim("k", 2));
            let nth = |at: &[usize]| (at[0] * heads + at[1]) * head_dim + at[2];
            w.change_values("k", |at, _| v[nth(at)]);
            w.change_values("v", |at, _| k[nth(at)]);
            w.run()
        }),
        kernel("silu-mul-arguments-swapped", Stem::SiluMul, "gate and up swapped", |w| {
            let name = if w.operand("gate").is_some() { "gate" } else { "out" };
            let (gate, up) = (w.values(name), w.values("up"));
            let columns = w.dim("up", 1);
            w.change_values(name, |at, _| up[at[0] * columns + at[1]]);
            w.change_values("up", |at, _| gate[at[0] * columns + at[1]]);
            w.run()
        }),
        kernel("attention-window-argument-lost", Stem::Attention, "one argument missing: the window", |w| {
            w.param("window", None::<usize>);
            w.run()
        }),
    ];
    all.extend(around());
    all
}

/// Bugs that a kernel in safe Rust cannot have: writing to inputs, and running what must be refused.
fn around() -> [Mutant; 6] {
    let clobber = |name, stem, fault| Mutant {
        name,
        about: About::Addresses,
        stem,
        fault,
        plant: Plant::Around(|record, ran| {
            let mut buffers = ran?;
            let input = record.operands().iter().position(|o| o.role != Role::Output);
            if let Some(byte) = input.and_then(|at| buffers[at].last_mut()) {
                *byte ^= 0x10;
            }
            Ok(buffers)
        }),
    };
    let unchecked = |name, stem, fault| Mutant {
        name,
        about: About::Addresses,
        stem,
        fault,
        plant: Plant::Around(|record, ran| match ran {
            Err(RunError::Refused(_)) => Ok(record.operands().iter().map(|o| o.bytes.clone()).collect()),
            other => other,
        }),
    };
    [
        clobber("rms-norm-clobbers-its-weight", Stem::RmsNorm, "an input is written"),
        clobber("embed-clobbers-its-table", Stem::Embed, "an input is written"),
        unchecked("kv-write-at-the-end", Stem::KvWrite, "KV write at pos == max_seq"),
        unchecked("attention-past-the-cache", Stem::Attention, "seq_len larger than the cache"),
        unchecked("rope-past-the-limit", Stem::Rope, "position at the limit accepted"),
        unchecked("embed-past-the-table", Stem::Embed, "token id == vocab accepted"),
    ]
}
