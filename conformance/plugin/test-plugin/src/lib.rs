//! A plug-in for tests: `add` and `rms_norm` in f32 on the host, right unless the variable `TEST_PLUGIN_FAULT` names a fault.
//!
//! | fault | what it does |
//! |---|---|
//! | `tail` | `rms_norm` leaves the last element of rows out of the mean where their length is no multiple of 4 |
//! | `overrun` | `rms_norm` writes one element behind its last row |
//! | `flaky` | `rms_norm` gives other bits in every launch |
//! | `by-process`, `jitter` | `rms_norm` gives other values, or other last bits, in every process |
//! | `late` | `rms_norm` computes when its results are read |
//! | `left-over`, `remembers` | `rms_norm` leaves an output that looks like one, or gives earlier results of the same shape |
//! | `crash`, `abort`, `exit`, `hang` | `rms_norm` does so on rows of 31 elements |
//! | `error` | `rms_norm` returns 77 |
//! | `out-of-memory`, `no-buffer` | `alloc` says so, or returns NULL without an error |
//! | `prints` | every launch prints to the standard output |
//! | `declares` | declares an accumulator that is no format |
//! | `nothing` | supports no op |
//! | `copies`, `copies-columns` | none: supports `copy` instead, in rows alone or also of a transposed tensor |
//! | `open-crash`, `open-hang`, `open-null`, `open-version`, `open-size`, `open-place`, `open-layouts`, `open-no-launch` | cannot be opened |
#![allow(unsafe_code, reason = "the other side of a C interface")]

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::slice;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use plugin::abi::{self, Numerics, Op, Operand, Plugin};

/// The buffers, by handle, and how many there have been.
static BUFFERS: Mutex<(BTreeMap<usize, Vec<u8>>, usize)> = Mutex::new((BTreeMap::new(), 0));

/// `ASSAY_F32` of assay.h.
const F32: u32 = 0;

static FAULT: LazyLock<String> = LazyLock::new(|| std::env::var("TEST_PLUGIN_FAULT").unwrap_or_default());

fn fault(name: &str) -> bool {
    *FAULT == name
}

fn buffers() -> MutexGuard<'static, (BTreeMap<usize, Vec<u8>>, usize)> {
    BUFFERS.lock().unwrap_or_else(PoisonError::into_inner)
}

extern "C" fn name() -> *const c_char {
    c"plain loops".as_ptr()
}

extern "C" fn error() -> *const c_char {
    c"the plug-in's own words".as_ptr()
}

/// The op's name and its operands.
///
/// # Safety
///
/// `op` is an op of the interface.
unsafe fn parts<'a>(op: *const Op) -> (&'a str, &'a [Operand]) {
    // SAFETY: the caller's promise.
    let op = unsafe { &*op };
    // SAFETY: an op has a name.
    let name = unsafe { CStr::from_ptr(op.name) };
    // SAFETY: an op has so many operands.
    let operands = unsafe { slice::from_raw_parts(op.operands, op.operand_count as usize) };
    (name.to_str().unwrap_or_default(), operands)
}

/// The operand called `name`.
fn find<'a>(operands: &'a [Operand], name: &CStr) -> Option<&'a Operand> {
    // SAFETY: an operand has a name.
    operands.iter().find(|operand| unsafe { CStr::from_ptr(operand.name) } == name)
}

/// The number of the op's first parameter, which is `eps` in `rms_norm`.
///
/// # Safety
///
/// `op` is an op of the interface.
unsafe fn first_number(op: *const Op) -> Option<f64> {
    // SAFETY: the caller's promise.
    let op = unsafe { &*op };
    // SAFETY: an op has so many parameters.
    let params = unsafe { slice::from_raw_parts(op.params, op.param_count as usize) };
    params.first().map(|param| param.number)
}

unsafe extern "C" fn supports(op: *const Op, why: *mut *const c_char) -> i32 {
    // SAFETY: the interface's promise.
    let (name, operands) = unsafe { parts(op) };
    let copies = name == "copy" && FAULT.starts_with("copies");
    let reason = if copies && operands.iter().all(|operand| operand.dtype == F32) {
        return 1;
    } else if fault("nothing") || !matches!(name, "add" | "rms_norm") {
        c"only add and rms_norm are here"
    } else if operands.iter().any(|operand| operand.dtype != F32) {
        c"in f32 alone"
    } else {
        return 1;
    };
    // SAFETY: the interface gives a place for a pointer.
    unsafe { *why = reason.as_ptr() };
    0
}

unsafe extern "C" fn numerics(_: *const Op, numerics: *mut Numerics) {
    if fault("declares") {
        // SAFETY: the interface gives a declaration to write to.
        unsafe { (*numerics).accumulator = 77 };
    }
}

unsafe extern "C" fn alloc(bytes: u64, buffer: *mut *mut c_void) -> i32 {
    if fault("out-of-memory") {
        return abi::OUT_OF_MEMORY;
    }
    if fault("no-buffer") {
        return abi::OK;
    }
    let mut buffers = buffers();
    buffers.1 += 1;
    let handle = buffers.1;
    // What memory holds at first must not matter.
    buffers.0.insert(handle, vec![0x5a; usize::try_from(bytes).unwrap_or(usize::MAX)]);
    // SAFETY: the interface gives a place for a pointer.
    unsafe { *buffer = ptr::without_provenance_mut(handle) };
    abi::OK
}

extern "C" fn free(buffer: *mut c_void) -> i32 {
    buffers().0.remove(&buffer.addr()).map_or(1, |_| abi::OK)
}

unsafe extern "C" fn write(buffer: *mut c_void, offset: u64, bytes: *const c_void, count: u64) -> i32 {
    let (at, count) = (index(offset), index(count));
    // SAFETY: the interface gives so many bytes.
    let bytes = unsafe { slice::from_raw_parts(bytes.cast::<u8>(), count) };
    let mut buffers = buffers();
    let Some(to) = buffers.0.get_mut(&buffer.addr()).and_then(|buffer| buffer.get_mut(at..at + count)) else {
        return 1;
    };
    to.copy_from_slice(bytes);
    abi::OK
}

unsafe extern "C" fn read(buffer: *mut c_void, offset: u64, bytes: *mut c_void, count: u64) -> i32 {
    for Pending { operands, eps } in pending().drain(..) {
        rms_norm(&operands, eps);
    }
    let (at, count) = (index(offset), index(count));
    // SAFETY: the interface gives a place for so many bytes.
    let bytes = unsafe { slice::from_raw_parts_mut(bytes.cast::<u8>(), count) };
    let buffers = buffers();
    let Some(from) = buffers.0.get(&buffer.addr()).and_then(|buffer| buffer.get(at..at + count)) else {
        return 1;
    };
    bytes.copy_from_slice(from);
    abi::OK
}

unsafe extern "C" fn launch(op: *const Op) -> i32 {
    if fault("prints") {
        println!("{{\"name\": \"an answer that is none\"}}");
    }
    // SAFETY: the interface's promise.
    let (name, operands) = unsafe { parts(op) };
    // SAFETY: the same.
    let number = unsafe { first_number(op) };
    let done = match name {
        "add" => add(operands),
        "rms_norm" if fault("late") => number.map(|eps| postpone(operands, eps)),
        "copy" => copy(operands),
        "rms_norm" => number.and_then(|eps| rms_norm(operands, eps)),
        _ => return abi::UNSUPPORTED,
    };
    match done {
        Some(()) if fault("error") && name == "rms_norm" => 77,
        Some(()) => abi::OK,
        None => abi::FAULT,
    }
}

/// An `rms_norm` that has not been computed yet.
struct Pending {
    operands: Vec<Operand>,
    eps: f64,
}

// SAFETY: the pointers of its operands are handles, which nothing follows, and names that are never freed.
unsafe impl Send for Pending {}

static PENDING: Mutex<Vec<Pending>> = Mutex::new(Vec::new());

fn pending() -> MutexGuard<'static, Vec<Pending>> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn postpone(operands: &[Operand], eps: f64) {
    // The op's own names live until `launch` returns.
    // SAFETY: an operand has a name.
    let kept = |operand: &Operand| unsafe { CStr::from_ptr(operand.name) }.to_owned().into_raw();
    let operands = operands.iter().map(|operand| Operand { name: kept(operand), ..*operand }).collect();
    pending().push(Pending { operands, eps });
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// First byte of row `row`.
fn row(operand: &Operand, row: usize) -> usize {
    index(operand.offset) + row * index(operand.strides[0]) * 4
}

/// Columns of a tensor of rows.
fn columns(operand: &Operand) -> usize {
    index(operand.shape[1])
}

/// The `n` elements of `operand` from byte `at` on.
fn elements(operand: &Operand, at: usize, n: usize) -> Option<Vec<f32>> {
    let buffers = buffers();
    let bytes = buffers.0.get(&operand.buffer.addr())?.get(at..at + 4 * n)?;
    Some(bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
}

fn store(operand: &Operand, at: usize, values: &[f32]) -> Option<()> {
    let mut buffers = buffers();
    let bytes = buffers.0.get_mut(&operand.buffer.addr())?.get_mut(at..at + 4 * values.len())?;
    bytes.chunks_exact_mut(4).zip(values).for_each(|(b, v)| b.copy_from_slice(&v.to_le_bytes()));
    Some(())
}

fn copy(operands: &[Operand]) -> Option<()> {
    let (x, out) = (find(operands, c"x")?, find(operands, c"out")?);
    let (rows, n) = (index(out.shape[0]), columns(out));
    (0..rows * n).try_for_each(|at| {
        let (r, c) = (at / n, at % n);
        let value = elements(x, row(x, r) + 4 * c * index(x.strides[1]), 1)?;
        store(out, row(out, r) + 4 * c, &value)
    })
}

fn add(operands: &[Operand]) -> Option<()> {
    let (b, out) = (find(operands, c"b")?, find(operands, c"out")?);
    let a = find(operands, c"a").unwrap_or(out);
    for r in 0..index(out.shape[0]) {
        let n = columns(out);
        let (left, right) =
            (elements(a, row(a, r), n)?, elements(b, row(b, if b.shape[0] == 1 { 0 } else { r }), n)?);
        let sum: Vec<f32> = left.iter().zip(&right).map(|(a, b)| a + b).collect();
        store(out, row(out, r), &sum)?;
    }
    Some(())
}

#[expect(clippy::cast_possible_truncation, reason = "the parameter is an f32 in the interface's f64")]
fn rms_norm(operands: &[Operand], eps: f64) -> Option<()> {
    let (weight, out) = (find(operands, c"weight")?, find(operands, c"out")?);
    let x = find(operands, c"x").unwrap_or(out);
    let n = columns(out);
    if n == 31 {
        fall(&FAULT);
    }
    let gain = elements(weight, index(weight.offset), n)?;
    let rows = index(out.shape[0]);
    let held = elements(out, row(out, 0), 1)?[0];
    if fault("left-over") && held.is_normal() && held.abs() < 100.0 {
        return Some(());
    }
    if fault("remembers")
        && let Some(results) = remembered((rows, n))
    {
        return (0..rows).try_for_each(|r| store(out, row(out, r), &results[r * n..][..n]));
    }
    let mut results = Vec::new();
    let summed = if fault("tail") && !n.is_multiple_of(4) { n - 1 } else { n };
    let nudge = match FAULT.as_str() {
        "flaky" => 1.0 + f32::from(earlier_calls()) / 1000.0,
        "by-process" => 1.0 + std::process::id() as f32 / 1e6,
        _ => 1.0,
    };
    // At most 64 steps of an f32, and another number in every process: some roundings go the other way.
    let jitter =
        if fault("jitter") { f64::from(std::process::id() % (1 << 16)) / 2_f64.powi(33) } else { 0.0 };
    for r in 0..rows {
        let values = elements(x, row(x, r), n)?;
        let mean = values[..summed].iter().map(|v| v * v).sum::<f32>() / n as f32;
        let factor = nudge / (mean + eps as f32).sqrt();
        let mut normed: Vec<f32> = values
            .iter()
            .zip(&gain)
            .map(|(v, g)| (f64::from(v * factor * g) * (1.0 + jitter)) as f32)
            .collect();
        if fault("overrun") && r + 1 == index(out.shape[0]) {
            normed.push(1.0);
        }
        store(out, row(out, r), &normed)?;
        results.extend(&normed[..n]);
    }
    remember((rows, n), results);
    Some(())
}

/// Results by shape.
static RESULTS: Mutex<BTreeMap<(usize, usize), Vec<f32>>> = Mutex::new(BTreeMap::new());

fn remembered(shape: (usize, usize)) -> Option<Vec<f32>> {
    RESULTS.lock().unwrap_or_else(PoisonError::into_inner).get(&shape).cloned()
}

fn remember(shape: (usize, usize), results: Vec<f32>) {
    RESULTS.lock().unwrap_or_else(PoisonError::into_inner).insert(shape, results);
}

/// How many calls there have been before this one, up to a hundred.
fn earlier_calls() -> u8 {
    use std::sync::atomic::{AtomicU8, Ordering};
    static CALLS: AtomicU8 = AtomicU8::new(0);
    CALLS.fetch_add(1, Ordering::Relaxed) % 100
}

/// Ends the process in one of the ways that a fault may, or goes on.
fn fall(how: &str) {
    match how {
        "crash" | "open-crash" => {
            // SAFETY: none: this is the crash that is wanted. Nothing is mapped there.
            unsafe { ptr::without_provenance_mut::<u8>(8).write_volatile(1) };
        }
        "abort" => std::process::abort(),
        "exit" => std::process::exit(0),
        "hang" | "open-hang" => std::thread::sleep(std::time::Duration::from_secs(3600)),
        _ => {}
    }
}

/// The entry point.
#[unsafe(no_mangle)]
pub extern "C" fn assay_plugin_open(_: u32) -> *const Plugin {
    if FAULT.starts_with("open-") {
        fall(&FAULT);
    }
    if fault("open-null") {
        return ptr::null();
    }
    let size = u32::try_from(size_of::<Plugin>()).unwrap_or_default();
    Box::leak(Box::new(Plugin {
        abi: if fault("open-version") { abi::ABI + 1 } else { abi::ABI },
        size: if fault("open-size") { size - 8 } else { size },
        place: if fault("open-place") { 9 } else { abi::ON_HOST },
        layouts: match FAULT.as_str() {
            "copies-columns" => abi::TRANSPOSED,
            "open-layouts" => 8,
            _ => 0,
        },
        name: Some(name),
        error: Some(error),
        supports: Some(supports),
        numerics: Some(numerics),
        alloc: Some(alloc),
        free: Some(free),
        write: Some(write),
        read: Some(read),
        launch: (!fault("open-no-launch")).then_some(launch as _),
        synchronize: None,
    }))
}
