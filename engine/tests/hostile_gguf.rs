//! Broken and hostile files: each ends with its own clear error, without a panic and without memory that the
//! file's size does not justify.
//!
//! The corpus has one file per kind of defect. The mutation loop then damages sound files at random,
//! `ASSAY_FUZZ_ITERS` times (20,000 unless set) from a fixed seed (`ASSAY_FUZZ_SEED`), and lets every reader of the crate
//! loose on the result. A failure prints the seed of its iteration; that seed alone reproduces it.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod gguf_builder;
mod second_reader;

use std::panic::{self, AssertUnwindSafe};

use engine::chat::ChatTemplate;
use engine::config::ModelConfig;
use engine::gguf::Gguf;
use engine::guard_rail;
use engine::tokenizer::{EncodeOptions, Tokenizer};
use gguf_builder::bases::{llama_base, qwen_base, small};
use gguf_builder::{T, V, string};
use test_needs::memory::{Counting, measured};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that reading a file of some kilobytes may hold. The compiled pattern of a pre-tokenizer is most of it.
const MEMORY: isize = 4 << 20;

fn error_of(bytes: Vec<u8>) -> String {
    let (error, peak) = measured(|| Gguf::from_bytes(bytes).unwrap_err().to_string());
    assert!(peak < 1 << 20, "{peak} bytes for: {error}");
    error
}

#[test]
fn every_truncation_is_refused() {
    let whole = small().build();
    assert!(Gguf::from_bytes(whole.clone()).is_ok());
    let end = Gguf::from_bytes(whole.clone()).unwrap().tensor("b").unwrap().range().end;
    for len in 0..end {
        let error = error_of(whole[..len].to_vec());
        let numbers = error.contains(&format!("{len} bytes")) || len < 4;
        assert!(numbers, "{len}: {error}");
    }
    assert!(Gguf::from_bytes(whole[..end].to_vec()).is_ok(), "padding after the last tensor may be missing");
}

#[test]
fn truncations_say_where_the_header_ends() {
    let whole = small().build();
    let cases = [
        (3, "not a GGUF file: it begins with bytes [47, 47, 55], want [47, 47, 55, 46]"),
        (7, "version: needs 4 bytes at byte 4 but the file has 7 bytes"),
        (15, "tensor count: needs 8 bytes at byte 8 but the file has 15 bytes"),
        (23, "key count: needs 8 bytes at byte 16 but the file has 23 bytes"),
        (30, "key 0 of 2: needs 8 bytes at byte 24 but the file has 30 bytes"),
        (40, "key 0 of 2: needs 20 bytes at byte 32 but the file has 40 bytes"),
        (54, "type of key 'general.architecture': needs 4 bytes at byte 52 but the file has 54 bytes"),
        (68, "value of key 'general.architecture': needs 5 bytes at byte 64 but the file has 68 bytes"),
    ];
    for (len, want) in cases {
        assert_eq!(error_of(whole[..len].to_vec()), want);
    }
}

#[test]
fn defects_of_the_header_are_named() {
    let mut b = small();
    b.magic = *b"GGML";
    assert_eq!(
        error_of(b.build()),
        "not a GGUF file: it begins with bytes [47, 47, 4d, 4c], want [47, 47, 55, 46]"
    );
    for version in [0, 1, 4, u32::MAX] {
        let mut b = small();
        b.version = version;
        assert_eq!(error_of(b.build()), format!("GGUF version {version} is not supported, want 2 or 3"));
    }
    let mut b = small();
    b.version = 3_u32.swap_bytes();
    assert_eq!(
        error_of(b.build()),
        "the file is big-endian GGUF version 3; only little-endian files are supported"
    );
    for count in [65_537, u64::MAX] {
        let mut b = small();
        b.tensor_count = Some(count);
        assert_eq!(error_of(b.build()), format!("the file declares {count} tensors, the limit is 65536"));
        let mut b = small();
        b.key_count = Some(count);
        assert_eq!(error_of(b.build()), format!("the file declares {count} keys, the limit is 65536"));
    }
    let mut b = small();
    b.key_count = Some(1);
    assert_eq!(error_of(b.build()), "tensor 'list': 9 dimensions, want 1 to 4", "a key is read as a tensor");
}

#[test]
fn defects_of_the_metadata_are_named() {
    let with = |key: &str, value: V| error_of(small().key(key, value).build());
    let raw_array = |element: u32, len: u64, items: &[u8]| {
        V::Raw(9, [&element.to_le_bytes()[..], &len.to_le_bytes(), items].concat())
    };
    assert_eq!(with("list", V::U8(1)), "key 'list' occurs twice: entries 1 and 2");
    assert_eq!(with("x", V::Raw(13, vec![])), "key 'x': value type 13 is not defined, want 0 to 12");
    assert_eq!(with("x", V::Raw(7, vec![2])), "key 'x': element 0 is the truth value 2, want 0 or 1");
    assert_eq!(with("x", V::Bools(vec![1, 0, 9])), "key 'x': element 2 is the truth value 9, want 0 or 1");
    assert_eq!(with("x", V::Raw(8, string(b"ab\xFFc"))), "value of key 'x': not UTF-8 after 2 bytes");
    assert_eq!(
        with("x", V::Raw(9, [&8_u32.to_le_bytes()[..], &1_u64.to_le_bytes(), &string(b"\xC3")].concat())),
        "element 0 of 1 of array 'x': not UTF-8 after 0 bytes"
    );
    assert_eq!(with("x", raw_array(99, 1, &[])), "key 'x': value type 99 is not defined, want 0 to 12");
    assert_eq!(
        with("x", raw_array(9, 7, &[])),
        "key 'x': an array of 7 arrays; nested arrays are not supported"
    );

    let size = small().key("x", raw_array(4, 1 << 40, &[])).build().len();
    assert_eq!(
        with("x", raw_array(4, 1 << 40, &[])),
        format!(
            "1099511627776 elements of array 'x': needs 4398046511104 bytes at byte 144 but the file has {size} bytes"
        )
    );
    assert!(
        with("x", raw_array(12, u64::MAX, &[])).contains(&format!("needs {} bytes", u64::MAX)),
        "no overflow"
    );
    assert!(with("x", raw_array(8, u64::MAX, &[])).starts_with("element "));
    let long = V::Raw(8, u64::MAX.to_le_bytes().to_vec());
    assert!(with("x", long).starts_with(&format!("value of key 'x': needs {} bytes", u64::MAX)));

    let mut b = small();
    b.keys.push((vec![b'k'; 70_000], V::U8(0)));
    assert_eq!(error_of(b.build()), "key 2 of 3: a name of 70000 bytes, the limit is 65535");
    let mut b = small();
    b.keys.push((b"k\xFF".to_vec(), V::U8(0)));
    assert_eq!(error_of(b.build()), "key 2 of 3: not UTF-8 after 1 bytes");
    for alignment in [0_u32, 1, 4, 24, 1 << 21] {
        assert_eq!(
            with("general.alignment", V::U32(alignment)),
            format!("key 'general.alignment': {alignment} is not a power of two from 8 to 1048576")
        );
    }
    assert_eq!(
        with("general.alignment", "32".into()),
        "key 'general.alignment': found string, want an integer"
    );
}

#[test]
fn nested_array_bombs_are_refused_at_once() {
    // Each level is an array of one array: 12 bytes a level, a million levels.
    let mut bomb = Vec::new();
    for _ in 0..1_000_000 {
        bomb.extend(9_u32.to_le_bytes());
        bomb.extend(1_u64.to_le_bytes());
    }
    let bytes = small().key("bomb", V::Raw(9, bomb)).build();
    let error = error_of(bytes);
    assert_eq!(error, "key 'bomb': an array of 1 arrays; nested arrays are not supported");
}

#[test]
fn defects_of_the_directory_are_named() {
    let change = |change: fn(&mut T)| error_of(small().change("a", change).build());
    assert_eq!(change(|t| t.name = b"b".to_vec()), "tensor 'b' occurs twice: entries 0 and 1");
    assert_eq!(
        change(|t| t.name = vec![b'n'; 65]),
        "name of tensor 0 of 2: a name of 65 bytes, the limit is 64"
    );
    assert_eq!(change(|t| t.name = b"\xFF".to_vec()), "name of tensor 0 of 2: not UTF-8 after 0 bytes");
    for rank in [0, 5, u32::MAX] {
        let error = error_of(small().change("a", |t| t.rank = rank).build());
        assert_eq!(error, format!("tensor 'a': {rank} dimensions, want 1 to 4"));
    }
    assert_eq!(change(|t| t.dims[1] = 0), "tensor 'a': dimension 1 is 0, want at least 1");
    for kind in [4, 9, 15, 24, 40, u32::MAX] {
        let error = error_of(small().change("a", |t| t.kind = kind).build());
        assert_eq!(error, format!("tensor 'a': element type {kind} is not supported"));
    }
    assert_eq!(
        change(|t| t.kind = 12),
        "tensor 'a': rows of 8 elements are not a multiple of the 256 elements in a q4_k block"
    );
    assert_eq!(
        change(|t| t.dims = vec![1 << 32, 1 << 32]),
        "tensor 'a': the size of [4294967296, 4294967296] elements of f32 overflows 64 bits"
    );
    assert_eq!(
        change(|t| t.dims = vec![1 << 31, 1 << 31]),
        "tensor 'a': the size of [2147483648, 2147483648] elements of f32 overflows 64 bits"
    );
    assert_eq!(
        change(|t| t.offset = Some(8)),
        "tensor 'a': data offset 8 is not a multiple of the alignment 32"
    );
}

#[test]
fn defects_of_the_extents_are_named() {
    let start = Gguf::from_bytes(small().build()).unwrap().tensor("a").unwrap().range().start as u64;
    let size = small().build().len();
    let change = |name, change: fn(&mut T)| error_of(small().change(name, change).build());
    assert_eq!(
        change("b", |t| t.offset = Some(1 << 20)),
        format!("tensor 'b': data ends at byte {} but the file has {size} bytes", start + (1 << 20) + 34)
    );
    assert_eq!(
        change("b", |t| t.offset = Some(u64::MAX - 31)),
        format!("tensor 'b': the end of 34 bytes of data at offset {} overflows 64 bits", u64::MAX - 31)
    );
    assert_eq!(
        change("b", |t| t.offset = Some(32)),
        format!(
            "tensor 'b' starts at byte {}, inside tensor 'a', which ends at byte {}",
            start + 32,
            start + 64
        )
    );
    assert_eq!(
        change("b", |t| t.offset = Some(0)),
        format!("tensor 'b' starts at byte {start}, inside tensor 'a', which ends at byte {}", start + 64)
    );
    assert_eq!(
        change("a", |t| t.dims = vec![8, 1000]),
        format!("tensor 'a': data ends at byte {} but the file has {size} bytes", start + 32_000)
    );
}

#[test]
fn the_sound_bases_pass_every_reader() {
    for base in [llama_base(), qwen_base()] {
        let bytes = base.build();
        assert_eq!(read_everything(&bytes, true), Depth::Sound);
    }
}

/// How far a file got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Depth {
    Refused,
    Read,
    Sound,
}

/// Lets every reader loose on a file. `patterns`: build tokenizers that compile patterns, which takes
/// longer than all the rest.
fn read_everything(bytes: &[u8], patterns: bool) -> Depth {
    let Ok(gguf) = Gguf::from_bytes(bytes.to_vec()) else { return Depth::Refused };
    second_reader::assert_agrees(bytes, &gguf);
    for tensor in gguf.tensors() {
        assert_eq!(tensor.bytes().len(), tensor.dtype().bytes_of(tensor.elements()).unwrap());
    }
    let config = ModelConfig::from_gguf(&gguf);
    let agrees = config.is_ok_and(|config| guard_rail::check(&config, &gguf).is_empty());
    let meta = gguf.metadata();
    let cheap = meta.opt_str("tokenizer.ggml.model").is_ok_and(|name| name != Some("gpt2"));
    if !(cheap || patterns) {
        return Depth::Read;
    }
    let Ok(tokenizer) = Tokenizer::from_metadata(meta) else { return Depth::Read };
    let options = EncodeOptions { add_special: true, parse_special: true };
    if let Ok(ids) = tokenizer.encode("ab <|im_end|> ab\n", options) {
        tokenizer.decode(&ids, true).unwrap();
    }
    if meta.get("tokenizer.chat_template").is_some() && ChatTemplate::from_metadata(meta, &tokenizer).is_err()
    {
        return Depth::Read;
    }
    if agrees { Depth::Sound } else { Depth::Read }
}

/// Splitmix64.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n.max(1) as u64).unwrap()
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }
}

/// Damages `bytes` in one to four places, mostly in the first `header` bytes.
fn mutate(bytes: &mut Vec<u8>, header: usize, rng: &mut Rng) {
    for _ in 0..=rng.below(4) {
        let reach = if rng.below(8) == 0 { bytes.len() } else { header.min(bytes.len()) };
        if bytes.len() < 16 {
            return;
        }
        let at = rng.below(reach.saturating_sub(8));
        let len = bytes.len() as u64;
        let numbers =
            [0, 1, 2, 8, 9, 0x7F, 0xFF, len, len - 1, len + 1, 1 << 31, 1 << 32, 1 << 40, 1 << 63, u64::MAX];
        let number = numbers[rng.below(numbers.len())].to_le_bytes();
        match rng.below(9) {
            0 => bytes[at] ^= 1 << rng.below(8),
            1 => bytes[at] = rng.byte(),
            2 => bytes[at] = bytes[at].wrapping_add(1),
            3 => bytes[at..at + 4].copy_from_slice(&number[..4]),
            4 => bytes[at..at + 8].copy_from_slice(&number),
            5 => bytes.truncate(at + 1),
            6 => {
                bytes.drain(at..at + 1 + rng.below(7));
            }
            7 => {
                let chunk = bytes[at..at + 1 + rng.below(7)].to_vec();
                bytes.splice(at..at, chunk);
            }
            _ => {
                let from = rng.below(reach.saturating_sub(8));
                bytes.copy_within(from..from + 8, at);
            }
        }
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

#[test]
fn mutated_files_neither_panic_nor_exhaust_memory() {
    let iterations = setting("ASSAY_FUZZ_ITERS", 20_000);
    let seed = setting("ASSAY_FUZZ_SEED", 1);
    let bases = [llama_base(), qwen_base()].map(|base| {
        let bytes = base.build();
        let header = Gguf::from_bytes(bytes.clone()).unwrap().tensors()[0].range().start;
        (bytes, header)
    });
    // Iterations depend on nothing but their seeds, and the counters are those of the thread.
    let share = |part: u64, parts: u64| {
        let mut depths = [0_u64; 3];
        let mut worst = 0;
        for iteration in (part..iterations).step_by(usize::try_from(parts).unwrap()) {
            let seed = seed.wrapping_add(iteration);
            let mut rng = Rng(seed);
            let (base, header) = &bases[rng.below(2)];
            let mut bytes = base.clone();
            mutate(&mut bytes, *header, &mut rng);
            let patterns = rng.below(256) == 0;
            let read = || panic::catch_unwind(AssertUnwindSafe(|| read_everything(&bytes, patterns)));
            let (depth, peak) = measured(read);
            let Ok(depth) = depth else { panic!("ASSAY_FUZZ_SEED={seed} ASSAY_FUZZ_ITERS=1 panics") };
            assert!(peak < MEMORY, "ASSAY_FUZZ_SEED={seed} ASSAY_FUZZ_ITERS=1 holds {peak} bytes");
            depths[depth as usize] += 1;
            worst = worst.max(peak);
        }
        (depths, worst)
    };
    let parts = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let (depths, worst) = std::thread::scope(|scope| {
        let share = &share;
        let threads: Vec<_> = (0..parts).map(|part| scope.spawn(move || share(part, parts))).collect();
        let shares = threads.into_iter().map(|t| t.join().unwrap_or_else(|p| panic::resume_unwind(p)));
        shares.fold(([0; 3], 0), |(sum, most), (depths, worst)| {
            (std::array::from_fn(|i| sum[i] + depths[i]), most.max(worst))
        })
    });
    let [refused, read, sound] = depths;
    eprintln!(
        "{iterations} files from seed {seed}: {refused} refused, {read} read, {sound} sound; at most {worst} bytes"
    );
    assert_eq!(refused + read + sound, iterations);
    assert!(iterations < 1000 || (refused > iterations / 4 && read > iterations / 100 && sound > 0));
}
