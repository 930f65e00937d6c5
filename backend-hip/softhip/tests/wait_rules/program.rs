//! Small programs, run and looked at.

use softhip::exec::WaveState;
use softhip::isa;
use softhip::memory::{AllocationKind, Checks, Memory};
use softhip::report::Problem;
use softhip::waits::{Certainty, Finding, Unit, findings};

/// The words of one assembled instruction.
pub fn instruction(text: &str) -> Vec<u32> {
    let (hex, _) = include_str!("words.txt")
        .lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(_, asm)| *asm == text)
        .unwrap_or_else(|| panic!("no words for, run assemble.sh: {text}"));
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// The words of instructions that `;` separates.
pub fn program(text: &str) -> Vec<u32> {
    text.split(';').map(str::trim).filter(|text| !text.is_empty()).flat_map(instruction).collect()
}

/// Everything that looking at a program finds.
pub fn lint(words: &[u32]) -> Vec<Finding> {
    let code: Vec<Unit> = isa::disassemble(words, 0).map(|inst| Unit::new(inst.unwrap())).collect();
    findings(&code, &[0])
}

/// What looking at a program finds for certain.
pub fn certain(words: &[u32]) -> Vec<Finding> {
    lint(words).into_iter().filter(|finding| finding.certainty == Certainty::Certain).collect()
}

/// Runs a program. `v[0:1]` and `s[8:9]` point to memory, all other registers are 0.
pub fn run(words: &[u32]) -> Result<(), Problem> {
    let memory = Memory::new(7, 1 << 30);
    let address = memory.allocate(4096, AllocationKind::Device, None).unwrap();
    memory.write(address, &[0; 4096]).unwrap();
    let launch = memory.launch(1, Checks::ALL);
    let mut wave = WaveState::new(256, 256, 4096);
    wave.set_pair(8, address);
    wave.vgprs[0] = [(address & 0xffff_ffff) as u32; 64];
    wave.vgprs[1] = [(address >> 32) as u32; 64];
    wave.run_watched(words, &launch)
}
