//! Decoder and printer against LLVM 19: on random words of every encoding, and on the committed test objects.
//!
//! Each trial is one instruction of random fields. Both sides must agree whether it is
//! an instruction, how long it is and how it is written. A text in which LLVM itself
//! remarks that an operand is invalid counts as "not an instruction".
//!
//! `ASSAY_DECODE_WORDS` sets the number of trials per encoding (default 20,000),
//! `ASSAY_DECODE_SEED` the seed, `LLVM_MC` and `LLVM_OBJDUMP` the disassemblers. Without a
//! disassembler its trial is ignored, with the reason; `ASSAY_REQUIRE_LLVM=1` makes that a failure.
//!
//! `ASSAY_DECODE_SAMPLES=FILE` writes two agreed instructions per operation and encoding; that
//! is how `decode_samples.txt` is made, which `decode_samples.rs` checks without LLVM.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod llvm;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use code_object::CodeObject;
use llvm::Verdict;
use softhip::isa::{DecodeError, Format, Inst, Op, decode, disassemble, table};
use softhip::memory::splitmix64;
use test_needs::llvm;

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        splitmix64(&mut self.0)
    }

    fn word(&mut self) -> u32 {
        u32::try_from(self.next() >> 32).unwrap()
    }

    fn below(&mut self, n: u32) -> u32 {
        u32::try_from((u64::from(self.word()) * u64::from(n)) >> 32).unwrap()
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(u32::try_from(of.len()).unwrap()) as usize]
    }

    /// A word with about half, a quarter or an eighth of its bits set, so that fields
    /// that must be zero are zero often enough.
    fn sparse_word(&mut self) -> u32 {
        match self.below(4) {
            0 => self.word(),
            1 => self.word() & self.word(),
            2 => self.word() & self.word() & self.word(),
            _ => self.word() & self.word() & self.word() & self.word(),
        }
    }
}

/// Replaces bits `low .. low + count`.
fn with_field(word: u32, low: u32, count: u32, value: u32) -> u32 {
    let mask = u32::MAX.checked_shr(32 - count).unwrap_or(0);
    word & !(mask << low) | (value & mask) << low
}

/// An encoding to draw from: fixed bits and where the opcode stands.
struct Encoding {
    name: &'static str,
    fixed: (u32, u32, u32),
    opcode: (u32, u32),
    codes: Vec<u32>,
    tail: Tail,
}

/// What the second word holds.
#[derive(Clone, Copy, PartialEq)]
enum Tail {
    /// A literal.
    Literal,
    /// Fields.
    Fields,
    /// Three 9-bit sources and modifiers; so many of the sources are in use, at least.
    Sources(u32),
    /// SDWA control, announced by `src0`.
    Sdwa,
    /// DPP control, announced by `src0`.
    Dpp,
}

impl Encoding {
    fn draw(&self, rng: &mut Rng) -> [u32; 2] {
        let (low, count, value) = self.fixed;
        let mut first = rng.sparse_word();
        let (at, width) = self.opcode;
        // Mostly opcodes that exist; a sixteenth are any number.
        let code = if rng.below(16) == 0 { rng.word() } else { rng.pick(&self.codes) };
        first = with_field(first, at, width, code);
        let mut second = match self.tail {
            Tail::Literal => {
                if rng.below(4) == 0 {
                    // src0 (and ssrc0) as a constant or a special register.
                    first = with_field(first, 0, 8, 102 + rng.below(154));
                }
                literal(rng)
            }
            Tail::Fields => {
                let mut word = rng.sparse_word();
                for at in [0, 8, 16, 24] {
                    if rng.below(3) == 0 {
                        word = with_field(word, at, 8, 0);
                    }
                }
                word
            }
            Tail::Sources(least) => {
                if rng.below(2) == 0 {
                    first = with_field(first, 8, 8, 0);
                }
                sources(rng, least)
            }
            Tail::Sdwa => {
                first = with_field(first, 0, 9, 249);
                rng.sparse_word()
            }
            Tail::Dpp => {
                first = with_field(first, 0, 9, 250);
                let mut word = rng.sparse_word();
                if rng.below(2) == 0 {
                    word = with_field(word, 8, 9, 0x100 + rng.below(0x60));
                }
                word
            }
        };
        first = with_field(first, low, count, value);
        if first >> 31 == 0 && first & 0x1ff == 249 {
            // LLVM crashes on the reserved SDWA select 7.
            for at in [8, 16, 24] {
                if second >> at & 7 == 7 {
                    second = with_field(second, at, 3, rng.below(7));
                }
            }
        }
        if first == llvm::MARK {
            first ^= 1;
        }
        [first, second]
    }
}

/// Literals around every boundary the printer knows, and any others.
fn literal(rng: &mut Rng) -> u32 {
    const EDGES: [u32; 24] = [
        0,
        1,
        64,
        65,
        0xffff_ffff,
        0xffff_fff0,
        0xffff_ffef,
        0xffff,
        0xfff0,
        0xffef,
        0x3800,
        0x3c00,
        0xc400,
        0x3118,
        0x3f00_0000,
        0x3f80_0000,
        0xc080_0000,
        0x3e22_f983,
        0x3ff0_0000,
        0xc010_0000,
        0x3fc4_5f30,
        0x3c00_3c00,
        0x8000_0000,
        0xffff_3c00,
    ];
    if rng.below(2) == 0 { rng.pick(&EDGES) } else { rng.word() }
}

/// Up to three sources of 9 bits; those an operation does not have must be zero.
fn sources(rng: &mut Rng, least: u32) -> u32 {
    let mut word = rng.sparse_word();
    if rng.below(2) == 0 {
        word = with_field(word, 27, 5, 0);
    }
    let used = least + rng.below(4 - least);
    for i in 0..3 {
        let field = match rng.below(8) {
            0 => rng.below(512),
            _ if i >= used => 0,
            1 => 128 + rng.below(128),
            2 => rng.below(128),
            _ => 256 + rng.below(256),
        };
        word = with_field(word, 9 * i, 9, field);
    }
    word
}

fn encodings() -> Vec<Encoding> {
    use Format as F;
    let codes = |format: F, offset: u32| -> Vec<u32> {
        table::listings().filter(|l| l.format == format).map(|l| u32::from(l.code) + offset).collect()
    };
    let make = |name, fixed, opcode, codes, tail| Encoding { name, fixed, opcode, codes, tail };
    let vop3: Vec<u32> =
        [codes(F::Vopc, 0), codes(F::Vop2, 256), codes(F::Vop1, 320), codes(F::Vop3, 0)].concat();
    let packed = [codes(F::Vop3p, 0), codes(F::Mai, 0)].concat();
    vec![
        make("SOP2", (30, 2, 2), (23, 7), codes(F::Sop2, 0), Tail::Literal),
        make("SOPK", (28, 4, 0xb), (23, 5), codes(F::Sopk, 0), Tail::Literal),
        make("SOP1", (23, 9, 0x17d), (8, 8), codes(F::Sop1, 0), Tail::Literal),
        make("SOPC", (23, 9, 0x17e), (16, 7), codes(F::Sopc, 0), Tail::Literal),
        make("SOPP", (23, 9, 0x17f), (16, 7), codes(F::Sopp, 0), Tail::Literal),
        make("SMEM", (26, 6, 0x30), (18, 8), codes(F::Smem, 0), Tail::Fields),
        make("VOP1", (25, 7, 0x3f), (9, 8), codes(F::Vop1, 0), Tail::Literal),
        make("VOP2", (31, 1, 0), (25, 6), codes(F::Vop2, 0), Tail::Literal),
        make("VOPC", (25, 7, 0x3e), (17, 8), codes(F::Vopc, 0), Tail::Literal),
        make("VOP3", (26, 6, 0x34), (16, 10), vop3, Tail::Sources(0)),
        make("VOP3P", (23, 9, 0x1a7), (16, 7), packed, Tail::Sources(0)),
        make("MAI", (23, 9, 0x1a7), (16, 7), codes(F::Mai, 0), Tail::Sources(3)),
        make("VOP1 SDWA", (25, 7, 0x3f), (9, 8), codes(F::Vop1, 0), Tail::Sdwa),
        make("VOP2 SDWA", (31, 1, 0), (25, 6), codes(F::Vop2, 0), Tail::Sdwa),
        make("VOPC SDWA", (25, 7, 0x3e), (17, 8), codes(F::Vopc, 0), Tail::Sdwa),
        make("VOP1 DPP", (25, 7, 0x3f), (9, 8), codes(F::Vop1, 0), Tail::Dpp),
        make("VOP2 DPP", (31, 1, 0), (25, 6), codes(F::Vop2, 0), Tail::Dpp),
        make("DS", (26, 6, 0x36), (17, 8), codes(F::Ds, 0), Tail::Fields),
        make("FLAT", (26, 6, 0x37), (18, 7), codes(F::Global, 0), Tail::Fields),
        make("MUBUF", (26, 6, 0x38), (18, 7), codes(F::Mubuf, 0), Tail::Fields),
        make("MTBUF", (26, 6, 0x3a), (15, 4), codes(F::Mtbuf, 0), Tail::Fields),
        make("any word", (0, 0, 0), (0, 0), vec![0], Tail::Fields),
    ]
}

/// The bytes we take for the instruction, or all of them where we see none: then a
/// difference in length shows as a difference in validity or in the number of instructions.
fn exact_bytes((words, ours): (&[u32; 2], &Result<Inst, DecodeError>)) -> Vec<u32> {
    match ours {
        Ok(inst) => words[..usize::from(inst.size) / 4].to_vec(),
        Err(_) => words.to_vec(),
    }
}

/// The first instructions of each operation and encoding on which both sides agree.
#[derive(Default)]
struct Samples(BTreeMap<(Format, Op), Vec<String>>);

impl Samples {
    fn offer(&mut self, inst: &Inst, words: [u32; 2]) {
        let kept = self.0.entry((inst.format, inst.op)).or_default();
        if kept.len() < 2 {
            let second = if inst.size == 8 { format!("{:08x}", words[1]) } else { "-".into() };
            kept.push(format!("{:08x} {second} {inst}\n", words[0]));
        }
    }

    fn merge(&mut self, other: Self) {
        for (key, mut texts) in other.0 {
            let kept = self.0.entry(key).or_default();
            kept.append(&mut texts);
            kept.truncate(2);
        }
    }

    fn text(&self) -> String {
        self.0.values().flatten().map(String::as_str).collect()
    }
}

fn number_from_env(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| {
        text.replace('_', "").parse().unwrap_or_else(|_| panic!("{name}={text} is not a number"))
    })
}

/// What came of the trials of one encoding.
#[derive(Default)]
struct Outcome {
    trials: u64,
    agreed: u64,
    valid: u64,
    crashes: Vec<u32>,
    wrong: Vec<String>,
    samples: Samples,
}

impl Outcome {
    fn judge(&mut self, words: [u32; 2], ours: &Result<Inst, DecodeError>, theirs: &Verdict) {
        self.trials += 1;
        self.valid += u64::from(ours.is_ok());
        let agree = match (ours, theirs) {
            (_, Verdict::Crash) => {
                self.crashes.push(words[0]);
                return;
            }
            (Ok(inst), Verdict::One(text)) => inst.to_string() == *text,
            (Err(_), Verdict::Invalid) => true,
            _ => false,
        };
        self.agreed += u64::from(agree);
        match ours {
            Ok(inst) if agree => self.samples.offer(inst, words),
            _ if agree => {}
            _ => {
                let ours = ours.map_or_else(|error| error.to_string(), |inst| inst.to_string());
                let [first, second] = words;
                self.wrong.push(format!("{first:08x} {second:08x}\n    ours: {ours}\n    llvm: {theirs:?}"));
            }
        }
    }
}

fn compare(mc: &llvm::Disassembler, encoding: &Encoding, trials: u64, seed: u64) -> Outcome {
    let mut rng = Rng(seed ^ encoding.name.bytes().fold(0, |h, b| h * 31 + u64::from(b)));
    let mut outcome = Outcome::default();
    let mut left = trials;
    while left > 0 {
        let batch = left.min(50_000);
        left -= batch;
        let words: Vec<[u32; 2]> = (0..batch).map(|_| encoding.draw(&mut rng)).collect();
        let ours: Vec<_> = words.iter().map(|words| decode(words, 0)).collect();
        let trials: Vec<_> = words.iter().zip(&ours).map(exact_bytes).collect();
        for ((words, ours), theirs) in words.into_iter().zip(&ours).zip(mc.disassemble(&trials)) {
            outcome.judge(words, ours, &theirs);
        }
    }
    outcome
}

fn main() -> ExitCode {
    let mut trials = test_needs::trials![llvm("LLVM_MC", "llvm-mc-19"); random_words_decode_as_in_llvm];
    trials.extend(
        test_needs::trials![llvm("LLVM_OBJDUMP", "llvm-objdump-19"); objects_print_as_in_llvm_objdump],
    );
    test_needs::run(trials)
}

fn random_words_decode_as_in_llvm(program: &str) {
    let mc = llvm::Disassembler::new(program.into());
    let trials = number_from_env("ASSAY_DECODE_WORDS", 20_000);
    let seed = number_from_env("ASSAY_DECODE_SEED", 1);
    eprintln!("{trials} trials per encoding, seed {seed}");
    let encodings = encodings();
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(BTreeMap::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((i, encoding)) = {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    encodings.get(i).map(|encoding| (i, encoding))
                } {
                    let outcome = compare(&mc, encoding, trials, seed);
                    outcomes.lock().unwrap().insert(i, outcome);
                }
            });
        }
    });

    let mut samples = Samples::default();
    let mut wrong = Vec::new();
    for (i, outcome) in outcomes.into_inner().unwrap() {
        let name = encodings[i].name;
        let Outcome { trials, agreed, valid, .. } = outcome;
        let crashed = outcome.crashes.len();
        eprintln!("{name:>9}: {agreed} of {trials} agree ({valid} valid), LLVM crashed on {crashed}");
        wrong.extend(outcome.wrong.into_iter().map(|text| format!("{name}: {text}")));
        samples.merge(outcome.samples);
    }
    if let Ok(path) = std::env::var("ASSAY_DECODE_SAMPLES") {
        std::fs::write(path, samples.text()).unwrap();
    }
    let shown = usize::try_from(number_from_env("ASSAY_DECODE_SHOW", 40)).unwrap();
    let sample: Vec<_> = wrong.iter().take(shown).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} disagreements:\n{}", wrong.len(), sample.join("\n"));
}

/// One line of `llvm-objdump -d`: address and text.
fn objdump_lines(stdout: &str) -> Vec<(u64, String)> {
    stdout
        .lines()
        .filter_map(|line| {
            let (text, comment) = line.split_once("//")?;
            let address = u64::from_str_radix(comment.split_once(':')?.0.trim(), 16).ok()?;
            Some((address, text.split_whitespace().collect::<Vec<_>>().join(" ")))
        })
        .collect()
}

fn objects_print_as_in_llvm_objdump(program: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/objects");
    let mut objects: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    objects.retain(|path| path.extension().is_some_and(|extension| extension == "hsaco"));
    assert!(!objects.is_empty());
    let mut total = 0;
    for path in &objects {
        let output = Command::new(program).args(["-d", "--mcpu=gfx942"]).arg(path).output().unwrap();
        let theirs = objdump_lines(&String::from_utf8(output.stdout).unwrap());
        let object = CodeObject::parse(&std::fs::read(path).unwrap()).unwrap();
        let text = object.image().segments().iter().find(|segment| segment.executable).unwrap();
        let words = object.words(text.range()).unwrap();
        let mut ours: Vec<_> = disassemble(&words, text.address)
            .map(|inst| inst.unwrap())
            .map(|inst| (inst.pc, inst.to_string()))
            .collect();
        // objdump leaves the padding between functions out.
        let shown: BTreeSet<u64> = theirs.iter().map(|(address, _)| *address).collect();
        ours.retain(|(address, _)| shown.contains(address));
        assert_eq!(ours, theirs, "{}", path.display());
        total += ours.len();
    }
    eprintln!("{total} instructions of {} objects agree", objects.len());
}
