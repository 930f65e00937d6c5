//! Damaged code objects and bundles: loading, printing, linting and running one never panics, never hangs, and holds no memory that
//! the limits do not allow.
//!
//! Sound objects, bundles and compressed bundles of them are damaged at random from a fixed seed (`ASSAY_FUZZ_SEED`, 1 unless
//! set): `ASSAY_FUZZ_OBJECTS` of them are loaded, printed and linted (5,000 unless set), `ASSAY_FUZZ_LAUNCHES` are run (300 unless set).
//! A failure prints the seed of its iteration; that seed alone reproduces it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::time::{Duration, Instant};

use softhip::control::{Options, SoftDevice};
use softhip::isa::disassemble;
use softhip::lint;
use softhip::memory::AllocationKind;
use softhip::object::{self, ArgumentKind, CodeObject, Kernel};
use softhip::sched::{Given, Limits, Shape};
use test_needs::memory::{Counting, measured};

/// Bytes that reading and printing one file may hold: an image of 256 MiB, twice, and what is read from it.
const READING: isize = 768 << 20;
/// Bytes that a launch may hold: an image of 256 MiB with its shadow memory, and the waves' own memory.
const RUNNING: isize = 2 << 30;
/// Time for one file.
const PATIENCE: Duration = Duration::from_secs(20);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Splitmix64.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap()
    }
}

/// Damages the middle of a file, where the code is, and keeps its length.
fn mutate_code(bytes: &mut [u8], rng: &mut Rng) {
    for _ in 0..=rng.below(6) {
        let at = (bytes.len() / 8 + rng.below(bytes.len() / 2)) & !3;
        match rng.below(3) {
            0 => bytes[at + rng.below(4)] ^= 1 << rng.below(8),
            1 => bytes[at..at + 4].copy_from_slice(&rng.next().to_le_bytes()[..4]),
            _ => {
                let from = (bytes.len() / 8 + rng.below(bytes.len() / 2)) & !3;
                bytes.copy_within(from..from + 8, at);
            }
        }
    }
}

/// Damages a file in up to four places.
fn mutate(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..=rng.below(4) {
        if bytes.len() < 16 {
            return;
        }
        // Headers and tables stand at either end.
        let reach = bytes.len() - 8;
        let at = match rng.below(4) {
            0 => rng.below(reach.min(256)),
            1 => reach - rng.below(reach.min(4096)),
            _ => rng.below(reach),
        };
        let len = bytes.len() as u64;
        let numbers = [
            0,
            1,
            2,
            8,
            0x7F,
            0xFF,
            len,
            len - 1,
            len + 1,
            1 << 28,
            1 << 31,
            1 << 32,
            1 << 40,
            1 << 63,
            u64::MAX,
        ];
        let number = numbers[rng.below(numbers.len())].to_le_bytes();
        match rng.below(10) {
            0 | 1 => bytes[at] ^= 1 << rng.below(8),
            2 => bytes[at..at + 4].copy_from_slice(&rng.next().to_le_bytes()[..4]),
            3 => bytes[at] = bytes[at].wrapping_add(1),
            4 => bytes[at..at + 4].copy_from_slice(&number[..4]),
            5 => bytes[at..at + 8].copy_from_slice(&number),
            6 => bytes.truncate(at + 1),
            7 => {
                bytes.drain(at..at + 1 + rng.below(7));
            }
            8 => {
                let chunk = bytes[at..at + 1 + rng.below(7)].to_vec();
                bytes.splice(at..at, chunk);
            }
            _ => {
                let from = rng.below(reach);
                bytes.copy_within(from..from + 8, at);
            }
        }
    }
}

fn bundle(object: &[u8]) -> Vec<u8> {
    const NAME: &str = "hipv4-amdgcn-amd-amdhsa--gfx942";
    let mut file = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    let offset = (24 + 8 + 24 + NAME.len()) as u64;
    for word in [1, offset, object.len() as u64, NAME.len() as u64] {
        file.extend(word.to_le_bytes());
    }
    file.extend(NAME.as_bytes());
    file.extend(object);
    file
}

/// A compressed bundle, version 2, of one raw zstd block after the other.
fn compressed(data: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0b1110_0000];
    frame.extend((data.len() as u64).to_le_bytes());
    let mut chunks = data.chunks(1 << 16).peekable();
    while let Some(chunk) = chunks.next() {
        let header = u32::try_from(chunk.len()).unwrap() << 3 | u32::from(chunks.peek().is_none());
        frame.extend(&header.to_le_bytes()[..3]);
        frame.extend(chunk);
    }
    let mut file = b"CCOB".to_vec();
    file.extend(2u16.to_le_bytes());
    file.extend(1u16.to_le_bytes());
    file.extend(u32::try_from(24 + frame.len()).unwrap().to_le_bytes());
    file.extend(u32::try_from(data.len()).unwrap().to_le_bytes());
    file.extend([0; 8]);
    file.extend(frame);
    file
}

fn objects() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/objects");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "hsaco"));
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// How far a file got.
#[derive(Clone, Copy)]
enum Depth {
    Refused,
    Opened,
    Read,
}

/// Opens a file, prints every instruction of every code object, and looks for missing waits in it.
fn read_everything(bytes: &[u8]) -> Depth {
    let Ok(all) = object::open(bytes) else { return Depth::Refused };
    let mut depth = Depth::Opened;
    let mut text = String::new();
    for packed in all {
        let Ok(object) = CodeObject::read(&packed.bytes) else { continue };
        depth = Depth::Read;
        for kernel in object.kernels() {
            text.clear();
            write!(text, "{kernel:?} {:?}", kernel.notes()).unwrap();
        }
        for function in object.functions() {
            let Some(words) = object.words(function.code.clone()) else { continue };
            for line in disassemble(&words, function.code.start) {
                text.clear();
                if let Ok(inst) = &line {
                    write!(text, "{inst} {:?}", object.location(inst.pc)).unwrap();
                }
            }
        }
        for function in lint::functions(&object) {
            for found in lint::lint(&object, &function).found {
                text.clear();
                write!(text, "{}", found.report).unwrap();
            }
        }
    }
    depth
}

/// Runs a kernel with a page for each pointer and small numbers for the rest. Whether it was launched at all.
fn launch(bytes: &[u8], kernel: &Kernel, rng: &mut Rng) -> bool {
    let limits = Limits { threads: 1, budget: 20_000 };
    let device = SoftDevice::new(Options { limits, ..Options::default() });
    let mut buffers = 0;
    let arguments = kernel.explicit_arguments().map(|argument| {
        let size = usize::try_from(argument.size).unwrap();
        if argument.kind == ArgumentKind::GlobalBuffer && buffers < 16 {
            buffers += 1;
            let address = device.memory().allocate(4096, AllocationKind::Device, None).unwrap();
            device.memory().fill(address, &[rng.next().to_le_bytes()[0]], 4096).unwrap();
            return Some(address.to_le_bytes().to_vec());
        }
        let mut value = vec![0; size.min(1 << 16)];
        value.iter_mut().take(1).for_each(|byte| *byte = rng.next().to_le_bytes()[0] & 63);
        Some(value)
    });
    let given = Given::Each(arguments.collect());
    let shape = Shape { grid: [2, 1, 1], block: [128, 1, 1], dynamic_lds: 64, cooperative: false };
    let ended = device.run_kernel(bytes, &kernel.name, shape, &given);
    let reports: usize = device.reports().iter().map(|report| report.to_string().len()).sum();
    ended.is_ok() || reports > 0
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// Runs `work` on so many damaged files; its answers are counted.
fn sweep(
    iterations: u64,
    memory: isize,
    files: &[Vec<u8>],
    damage: impl Fn(&mut Vec<u8>, &mut Rng),
    work: impl Fn(&[u8], &mut Rng) -> Depth,
) {
    let seed = setting("ASSAY_FUZZ_SEED", 1);
    let (mut depths, mut worst, mut longest) = ([0_u64; 3], 0, Duration::ZERO);
    for iteration in 0..iterations {
        let seed = seed.wrapping_add(iteration);
        let mut rng = Rng(seed);
        let mut bytes = files[rng.below(files.len())].clone();
        damage(&mut bytes, &mut rng);
        let begin = Instant::now();
        let (depth, peak) = measured(|| panic::catch_unwind(AssertUnwindSafe(|| work(&bytes, &mut rng))));
        let took = begin.elapsed();
        let Ok(depth) = depth else { panic!("ASSAY_FUZZ_SEED={seed}, one iteration: it panics") };
        assert!(peak < memory, "ASSAY_FUZZ_SEED={seed}, one iteration: it holds {peak} bytes");
        assert!(took < PATIENCE, "ASSAY_FUZZ_SEED={seed}, one iteration: it takes {took:?}");
        depths[depth as usize] += 1;
        worst = worst.max(peak);
        longest = longest.max(took);
    }
    let [refused, opened, read] = depths;
    eprintln!(
        "{iterations} files from seed {seed}: {refused} refused, {opened} opened, {read} read; at most {worst} bytes, {longest:?}"
    );
    assert!(iterations < 200 || read > iterations / 10, "too few files are read to mean something");
}

#[test]
fn damaged_files_are_read_without_a_panic_or_much_memory() {
    let mut files = Vec::new();
    for object in objects() {
        let bundled = bundle(&object);
        files.extend([compressed(&bundled), bundled, object]);
    }
    sweep(setting("ASSAY_FUZZ_OBJECTS", 5_000), READING, &files, mutate, |bytes, _| read_everything(bytes));
}

#[test]
fn damaged_kernels_run_without_a_panic_or_much_memory() {
    // Most have damaged code, so that they run.
    let damage = |bytes: &mut Vec<u8>, rng: &mut Rng| match rng.below(4) {
        0 => mutate(bytes, rng),
        _ => mutate_code(bytes, rng),
    };
    sweep(setting("ASSAY_FUZZ_LAUNCHES", 300), RUNNING, &objects(), damage, |bytes, rng| {
        let Ok(object) = CodeObject::parse(bytes) else { return Depth::Refused };
        let kernels = object.kernels();
        if kernels.is_empty() {
            return Depth::Refused;
        }
        let kernel = &kernels[rng.below(kernels.len())];
        if launch(bytes, kernel, rng) { Depth::Read } else { Depth::Opened }
    });
}
