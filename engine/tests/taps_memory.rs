//! Taps on their way to the disk hold no more memory for a long run than for a short one.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod tiny;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

use backend_cpu::reference::Reference;
use engine::model::{Batch, Step};
use engine::taps::{NoTaps, TapFile, TapSink};
use kernels::DType;

/// Counts the bytes that this process has allocated, and their peak. This file has one test, so that no other test is counted.
struct Counting;

static HELD: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);

fn count(change: isize) {
    let held = HELD.fetch_add(change, Ordering::Relaxed) + change;
    PEAK.fetch_max(held, Ordering::Relaxed);
}

#[expect(unsafe_code, reason = "a global allocator is an unsafe trait")]
// SAFETY: every call is handed to the system's allocator with the caller's own arguments; the counters allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller promises a layout of non-zero size.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: the caller promises that `ptr` came from this allocator, which is the system's, with `layout`.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes held beyond the model and its cache while `tokens` run in sight of `taps`.
fn held(tokens: u32, taps: &mut dyn TapSink) -> isize {
    let mut model = tiny::model("llama", Reference::default());
    let mut cache = tiny::cache(&model, DType::F16, 1, tokens as usize);
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    for at in 0..tokens {
        let batch = Batch::of(&[at % 256], 0, at);
        model.forward(&mut cache, &batch, Step::decode(at as usize + 1), taps).unwrap();
    }
    PEAK.load(Ordering::Relaxed) - before
}

/// What every tap of `tokens` costs in memory beyond a run without taps, and on the disk.
fn cost(tokens: u32) -> (isize, u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("taps.safetensors");
    let without = held(tokens, &mut NoTaps);
    let before = HELD.load(Ordering::Relaxed);
    let mut taps = TapFile::create(&path, "all".parse().unwrap()).unwrap();
    let with = held(tokens, &mut taps) + HELD.load(Ordering::Relaxed) - before;
    assert!(taps.count() > 30 * tokens as usize);
    PEAK.store(HELD.load(Ordering::Relaxed), Ordering::Relaxed);
    let before = PEAK.load(Ordering::Relaxed);
    taps.finish(&[]).unwrap();
    let at_the_end = PEAK.load(Ordering::Relaxed) - before;
    ((with - without).max(at_the_end), std::fs::metadata(&path).unwrap().len())
}

#[test]
fn a_run_eight_times_as_long_holds_as_much() {
    cost(16);
    let (short, long) = (cost(64), cost(512));
    assert!(long.1 > 7 * short.1 && long.1 > 8 << 20, "{short:?} {long:?}");
    // Step, sequence and position of each pass are kept, in a table that may be half empty.
    assert!(long.0 < short.0 + 512 * 128, "{short:?} {long:?}");
    assert!(long.0 < 256 << 10, "{long:?}");
}
