//! Bugs that fault: a kernel that leaves a buffer, one that takes the process along, a copy that asks for too much.
//!
//! Each computes which bytes the buggy kernel would touch and faults where the allocation does not have them, so that it strikes
//! where the real bug would and nowhere else. They are for a model's path: see [`sabotage`](crate::sabotage).

use std::ops::Range;

use kernels::{DeviceError, Site, Stem};

use crate::mutant::{About, Mutant, Plant, Work, illegal_address};

const fn kernel(
    name: &'static str,
    stem: Stem,
    fault: &'static str,
    plant: fn(&mut Work<'_>) -> Result<(), DeviceError>,
) -> Mutant {
    Mutant { name, about: About::Addresses, stem, fault, plant: Plant::Kernel(plant) }
}

/// The kernel touches bytes up to `end` of the buffer of operand `name`, and then does its work.
fn touch(w: &mut Work<'_>, name: &str, end: usize) -> Result<(), DeviceError> {
    let len = w.operand(name).map_or(usize::MAX, |o| o.bytes.len());
    if end > len {
        return Err(DeviceError::Fault(format!("byte {} of '{name}', which has {len}", end - 1)));
    }
    w.run()
}

/// Bytes of `elements` elements of operand `name`, counted from its offset.
fn reach(w: &Work<'_>, name: &str, elements: usize) -> usize {
    w.operand(name).map_or(0, |o| {
        let size = o.layout.dtype();
        o.layout.offset() + elements.div_ceil(size.block_len()) * size.block_bytes()
    })
}

/// The largest value of the indices `name`.
fn largest(w: &Work<'_>, name: &str) -> usize {
    let operand = w.operand(name);
    let dense = operand.and_then(|o| o.layout.gather(&o.bytes, 0)).unwrap_or_default();
    bytemuck::pod_collect_to_vec::<u8, u32>(&dense).into_iter().max().unwrap_or(0) as usize
}

/// The mutants.
pub fn mutants() -> Vec<Mutant> {
    let mut all = kernels();
    all.push(Mutant {
        name: "fault-logits-copied-past-the-end",
        about: About::Addresses,
        stem: Stem::Copy,
        fault: "the copy of the logits asks for more than there is",
        plant: Plant::Copy(|site: &Site, _: &Range<usize>| match &*site.point {
            "logits" => Err(illegal_address("hipMemcpyAsync")),
            _ => Ok(()),
        }),
    });
    all
}

fn kernels() -> Vec<Mutant> {
    vec![
        kernel("fault-rope-positions-8-byte", Stem::Rope, "4-byte positions read as 8-byte", |w| {
            let end = reach(w, "positions", 2 * w.dim("positions", 0));
            touch(w, "positions", end)
        }),
        kernel("fault-rms-norm-row-padded", Stem::RmsNorm, "weights read up to a multiple of 1024", |w| {
            let end = reach(w, "weight", w.dim("weight", 0).next_multiple_of(1024));
            touch(w, "weight", end)
        }),
        kernel("fault-matmul-last-tile-full", Stem::Matmul, "last partial tile of K reads a full one", |w| {
            let (n, k) = (w.dim("weight", 0), w.dim("weight", 1));
            let end = reach(w, "weight", (n - 1) * k + k.next_multiple_of(256));
            touch(w, "weight", end)
        }),
        kernel("fault-matmul-output-stride", Stem::Matmul, "output rows spaced as those of the input", |w| {
            let (m, n, k) = (w.dim("x", 0), w.dim("weight", 0), w.dim("x", 1));
            let end = reach(w, "out", (m - 1) * k + n);
            touch(w, "out", end)
        }),
        kernel("fault-embed-table-as-f32", Stem::Embed, "table of another format addressed as f32", |w| {
            let row = 4 * w.dim("table", 1);
            let end = (largest(w, "ids") + 1) * row;
            touch(w, "table", end)
        }),
        kernel(
            "fault-attention-query-heads",
            Stem::Attention,
            "keys addressed with the query's head count",
            |w| {
                let row = w.dim("q", 1) * w.dim("q", 2);
                let end = reach(w, "k_cache", largest(w, "positions") * row + row);
                touch(w, "k_cache", end)
            },
        ),
        kernel("fault-attention-dies", Stem::Attention, "an illegal access takes the process along", |_| {
            std::process::abort()
        }),
        kernel("fault-kv-write-slot-in-bytes", Stem::KvWrite, "slot number scaled twice", |w| {
            let row = w.dim("k", 1) * w.dim("k", 2);
            let end = reach(w, "k_cache", (2 * largest(w, "positions") + 1) * row);
            touch(w, "k_cache", end)
        }),
        kernel("fault-add-one-row-more", Stem::Add, "grid of one row too many", |w| {
            let end = reach(w, "out", (w.dim("out", 0) + 1) * w.dim("out", 1));
            touch(w, "out", end)
        }),
        kernel("fault-silu-mul-whole-blocks", Stem::SiluMul, "count rounded up to a multiple of 4096", |w| {
            let end = reach(w, "up", (w.dim("up", 0) * w.dim("up", 1)).next_multiple_of(4096));
            touch(w, "up", end)
        }),
        kernel("fault-copy-offset-scaled-twice", Stem::Copy, "byte offset scaled once more", |w| {
            let end = w.operand("x").map_or(0, |o| 4 * o.layout.offset() + 4 * o.layout.dim(1));
            touch(w, "x", end)
        }),
    ]
}
