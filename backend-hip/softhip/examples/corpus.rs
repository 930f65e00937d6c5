//! What the device makes of other people's code objects: `cargo run --example corpus -- [--llvm] FILE...`
//!
//! Loads every gfx942 code object of the files, decodes every instruction, and lists the operations that are decoded
//! but not executed, most frequent first. With `--llvm`, `llvm-objdump-19` disassembles the same objects and each
//! instruction's text must be the same. Exit code 1 if a file does not load or an instruction differs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, ExitCode, Stdio};

use softhip::exec::{Support, coverage};
use softhip::isa::{Op, disassemble};
use softhip::object::{self, CodeObject, TargetId};

#[derive(Default)]
struct Figures {
    files: usize,
    loaded: usize,
    objects: usize,
    kernels: usize,
    instructions: u64,
    undecoded: u64,
    compared: u64,
    different: u64,
    operations: BTreeMap<Op, u64>,
}

fn main() -> ExitCode {
    let mut figures = Figures::default();
    let llvm = std::env::args().any(|argument| argument == "--llvm");
    for path in std::env::args().skip(1).filter(|argument| argument != "--llvm") {
        figures.files += 1;
        match survey(&path, llvm, &mut figures) {
            Ok(()) => figures.loaded += 1,
            Err(error) => println!("{path}: {error}"),
        }
    }
    let executed: BTreeSet<Op> =
        coverage().filter(|(_, support)| *support == Support::Executed).map(|(op, _)| op).collect();
    let (known, missing): (Vec<_>, Vec<_>) =
        figures.operations.iter().partition(|(op, _)| executed.contains(op));
    let sum = |part: &[(&Op, &u64)]| part.iter().map(|(_, count)| **count).sum::<u64>();
    println!("files      {} of {} load", figures.loaded, figures.files);
    println!("objects    {}, with {} kernels", figures.objects, figures.kernels);
    println!("decoded    {} instructions, {} words are none", figures.instructions, figures.undecoded);
    if llvm {
        println!("as LLVM    {} of {}", figures.compared - figures.different, figures.compared);
    }
    println!("executable {} of {} instructions", sum(&known), figures.instructions);
    println!("operations {} of {} are executed", known.len(), figures.operations.len());
    let mut missing = missing;
    missing.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (op, count) in missing {
        println!("{count:>10} {}", op.mnemonic());
    }
    if figures.loaded == figures.files && figures.different == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn survey(path: &str, llvm: bool, figures: &mut Figures) -> Result<(), Box<dyn std::error::Error>> {
    let file = std::fs::read(path)?;
    for packed in object::open_for(&file, &TargetId::gfx942())? {
        let object = CodeObject::parse(&packed.bytes)?;
        figures.objects += 1;
        figures.kernels += object.kernels().len();
        let theirs = if llvm { objdump(&packed.bytes)? } else { Listing::default() };
        let mut seen = BTreeSet::new();
        for function in object.functions() {
            if !seen.insert(function.code.start) {
                continue;
            }
            let words = object.words(function.code.clone()).ok_or("code is not made of words")?;
            let mut at = function.code.start;
            for inst in disassemble(&words, function.code.start) {
                let Ok(inst) = inst else {
                    figures.undecoded += 1;
                    at += 4;
                    continue;
                };
                figures.instructions += 1;
                *figures.operations.entry(inst.op).or_default() += 1;
                if let Some(text) = theirs.instructions.get(&at) {
                    figures.compared += 1;
                    let ours = inst.to_string();
                    let ours = ours.split_whitespace().collect::<Vec<_>>().join(" ");
                    let named = inst.branch_target().is_some_and(|target| theirs.is_jump(text, target));
                    if ours != *text && !(named && ours.split(' ').next() == text.split(' ').next()) {
                        figures.different += 1;
                        if figures.different <= 20 {
                            println!("{path}: {at:#x}: {ours:?}, LLVM {text:?}");
                        }
                    }
                } else if llvm {
                    figures.compared += 1;
                    figures.different += 1;
                }
                at += u64::from(inst.size);
            }
        }
    }
    Ok(())
}

/// What LLVM prints.
#[derive(Default)]
struct Listing {
    /// By address.
    instructions: BTreeMap<u64, String>,
    labels: BTreeMap<String, u64>,
}

impl Listing {
    /// Whether the last operand is the label of an address: LLVM names targets that have one.
    fn is_jump(&self, text: &str, target: u64) -> bool {
        text.rsplit(' ').next().and_then(|label| self.labels.get(label)) == Some(&target)
    }
}

fn objdump(object: &[u8]) -> std::io::Result<Listing> {
    let path = std::env::temp_dir().join(format!("softhip-corpus-{}.co", std::process::id()));
    std::fs::File::create(&path)?.write_all(object)?;
    let output =
        Command::new("llvm-objdump-19").args(["-d", "-t"]).arg(&path).stderr(Stdio::null()).output()?;
    std::fs::remove_file(&path)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut found = Listing::default();
    for line in text.lines() {
        if !line.starts_with('\t') {
            // The symbol table has all labels of an address, the listing only one: address, flags, section, size, name.
            let mut words = line.split_whitespace();
            if let (Some(address), Some(label)) = (words.next(), words.last())
                && let Ok(address) = u64::from_str_radix(address, 16)
            {
                found.labels.insert(label.trim_matches(['<', '>', ':']).to_owned(), address);
            }
            continue;
        }
        let Some((inst, rest)) = line.split_once("//") else { continue };
        let Some((address, _)) = rest.trim().split_once(':') else { continue };
        if let Ok(address) = u64::from_str_radix(address, 16) {
            found.instructions.insert(address, inst.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    Ok(found)
}
