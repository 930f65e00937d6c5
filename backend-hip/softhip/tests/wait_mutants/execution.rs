//! Kernels that run with a wait removed: the wave that comes too early must be reported.

use std::collections::HashSet;

use softhip::isa::{self, Inst};
use softhip::lint;
use softhip::object::CodeObject;
use softhip::report::{Early, Problem};

use crate::exec_launch::Device;
use crate::walker::{self, Line};

/// `s_nop 0`.
const NOP: u32 = 0xbf80_0000;
/// `s_trap 2`.
const TRAP: u32 = 0xbf92_0002;

/// A kernel of the tests' objects, and how to launch one workgroup of it.
struct Launch {
    stem: &'static str,
    kernel: &'static str,
    block: u32,
    /// Lengths of a row that lead to all places.
    lengths: &'static [usize],
    run: fn(&Device, &Launch, usize) -> Result<(), Box<softhip::report::Report>>,
}

fn ramp(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect()
}

fn rms_norm(device: &Device, launch: &Launch, n: usize) -> Result<(), Box<softhip::report::Report>> {
    let (x, w, out) = (device.upload(&ramp(n)), device.upload(&ramp(n)), device.buffer(4 * n));
    let arguments =
        device.arguments(launch.kernel).pointer(x).pointer(w).pointer(out).u32(n as u32).f32(1e-5);
    device.run(launch.kernel, [1; 3], [launch.block, 1, 1], &arguments).map(drop)
}

fn softmax(device: &Device, launch: &Launch, n: usize) -> Result<(), Box<softhip::report::Report>> {
    let (x, out) = (device.upload(&ramp(n)), device.buffer(4 * n));
    let arguments = device.arguments(launch.kernel).pointer(x).pointer(out).u32(n as u32);
    device.run(launch.kernel, [1; 3], [launch.block, 1, 1], &arguments).map(drop)
}

fn matvec(device: &Device, launch: &Launch, n: usize) -> Result<(), Box<softhip::report::Report>> {
    let weights: Vec<u8> = (0..n / 32 * 34).map(|i| (i * 31 % 256) as u8).collect();
    let (w, x, out) = (device.upload(&weights), device.upload(&ramp(n)), device.buffer(4));
    let arguments = device.arguments(launch.kernel).pointer(w).pointer(x).pointer(out).u32(n as u32);
    device.run(launch.kernel, [1; 3], [launch.block, 1, 1], &arguments).map(drop)
}

fn matmul(device: &Device, launch: &Launch, n: usize) -> Result<(), Box<softhip::report::Report>> {
    let (m, k) = (128, n);
    let numbers: Vec<u16> = ramp(m * k).into_iter().map(|x| half::f16::from_f32(x).to_bits()).collect();
    let (a, b, out) = (device.upload(&numbers), device.upload(&numbers), device.buffer(4 * m * m));
    let arguments =
        device.arguments(launch.kernel).pointer(a).pointer(b).pointer(out).u32(m as u32).u32(k as u32);
    device.run(launch.kernel, [1; 3], [launch.block, 1, 1], &arguments).map(drop)
}

fn attention(device: &Device, launch: &Launch, n: usize) -> Result<(), Box<softhip::report::Report>> {
    let (queries, keys) = (16, n);
    let (q, k) = (device.upload(&ramp(64 * queries)), device.upload(&ramp(64 * keys)));
    let (v, out) = (device.upload(&ramp(64 * keys)), device.buffer(4 * 64 * queries));
    let arguments =
        device.arguments(launch.kernel).pointer(q).pointer(k).pointer(v).pointer(out).u32(keys as u32);
    device.run(launch.kernel, [1; 3], [launch.block, 1, 1], &arguments).map(drop)
}

const LAUNCHES: [Launch; 5] = [
    Launch { stem: "rms_norm", kernel: "rms_norm_f32", block: 256, lengths: &[3001, 100], run: rms_norm },
    Launch { stem: "softmax", kernel: "softmax_f32", block: 256, lengths: &[3001, 100], run: softmax },
    Launch { stem: "q8_matvec", kernel: "q8_matvec_f32", block: 64, lengths: &[4096], run: matvec },
    Launch { stem: "matmul", kernel: "matmul_f16", block: 256, lengths: &[256], run: matmul },
    Launch { stem: "attention", kernel: "attention_f32", block: 256, lengths: &[512], run: attention },
];

/// The file with another word at `offset` of a function.
fn patched(
    file: &[u8],
    object: &CodeObject,
    code: std::ops::Range<u64>,
    offset: u64,
    word: u32,
) -> CodeObject {
    let bytes: Vec<u8> = object.words(code).unwrap().iter().flat_map(|word| word.to_le_bytes()).collect();
    let at = file.windows(bytes.len()).position(|window| window == bytes).unwrap() + offset as usize;
    let mut file = file.to_vec();
    file[at..at + 4].copy_from_slice(&word.to_le_bytes());
    CodeObject::parse(&file).unwrap()
}

#[test]
fn a_wait_that_is_removed_is_missed_by_the_wave_that_needs_it() {
    let (mut matter, mut caught, mut unreached) = (0, 0, 0);
    for launch in LAUNCHES {
        let path = format!("{}/tests/objects/{}.hsaco", env!("CARGO_MANIFEST_DIR"), launch.stem);
        let file = std::fs::read(path).unwrap();
        let object = CodeObject::parse(&file).unwrap();
        let function =
            lint::functions(&object).into_iter().find(|function| function.name == launch.kernel).unwrap();
        let range = function.code.clone();
        let words = object.words(range.clone()).unwrap();
        let code: Vec<Inst> = isa::disassemble(&words, range.start).map(Result::unwrap).collect();
        let index_of = |address: u64| code.binary_search_by_key(&address, |inst| inst.pc).ok();
        let lines: Vec<Line> = code.iter().map(|inst| Line::new(inst, index_of)).collect();
        for &n in launch.lengths {
            (launch.run)(&Device::with(CodeObject::parse(&file).unwrap()), &launch, n)
                .unwrap_or_else(|report| panic!("{}: {report}", launch.kernel));
        }
        let waits = (0..lines.len()).filter(|&at| lines[at].wait.is_some());
        for at in waits {
            let removed = Some((at, (u32::MAX, u32::MAX)));
            let early = |load| walker::is_used_early(&lines, load, removed, &mut HashSet::new());
            if !(0..lines.len()).filter(|&load| walker::is_load(&lines[load])).any(early) {
                continue;
            }
            let with = |word| {
                let mutant = || patched(&file, &object, range.clone(), code[at].pc - range.start, word);
                launch.lengths.iter().try_for_each(|&n| (launch.run)(&Device::with(mutant()), &launch, n))
            };
            // The rest of a loop that is unrolled does not run where nothing is left over.
            let reached = with(TRAP).is_err_and(|report| matches!(report.problem, Problem::Trap { .. }));
            if !reached {
                unreached += 1;
                continue;
            }
            matter += 1;
            let outcome = with(NOP);
            let place = format!("{}+{:#x} {}", launch.kernel, code[at].pc - range.start, code[at]);
            let Err(report) = outcome else {
                println!("not found: {place}");
                continue;
            };
            let Problem::MissingWait { fault } = &report.problem else { panic!("{place}: {report}") };
            assert!(matches!(fault.early, Early::Read | Early::Write), "{report}");
            assert_eq!(fault.first.kernel, launch.kernel);
            caught += 1;
        }
    }
    println!(
        "execution: {matter} waits matter and are reached, {caught} of them found; {unreached} are not reached"
    );
    assert!(matter > 100 && caught * 100 >= matter * 95, "{caught} of {matter}");
    assert!(unreached * 10 < matter, "the launches come to too few places");
}
