//! What the machine code of foreign kernels says by itself.

use backend_hip::HipBackend;
use kernels::Stem;
use softhip::isa::disassemble;

use super::Trick;

/// The instructions of the kernels of `stem` that add floats atomically, each mnemonic once.
pub fn float_atomics(stem: Stem, backend: &HipBackend) -> Vec<String> {
    let adds = |word: &str| word.contains("_add_") && (word.contains("atomic") || word.starts_with("ds_"));
    let floats = |word: &str| ["_f16", "_f32", "_f64", "_bf16"].iter().any(|end| word.contains(end));
    mnemonics(stem, backend, |word| adds(word) && floats(word))
}

/// Whether the kernels of `stem` read a clock, which no result of an op depends on.
pub fn clock(stem: Stem, backend: &HipBackend) -> Option<Trick> {
    let reads = mnemonics(stem, backend, |word| ["s_memtime", "s_memrealtime"].contains(&word));
    let what = format!("it reads a clock, on which no result depends: {}", reads.join(", "));
    (!reads.is_empty()).then(|| Trick { name: "reads_clock".into(), what })
}

/// The words of the listing for which `counts` holds, each once.
fn mnemonics(stem: Stem, backend: &HipBackend, counts: impl Fn(&str) -> bool) -> Vec<String> {
    let Some(foreign) = backend.foreign() else { return Vec::new() };
    let mut found: Vec<String> = Vec::new();
    for (object, kernel) in foreign.kernels(stem) {
        let words = object.words(kernel.code.clone()).unwrap_or_default();
        for line in disassemble(&words, kernel.code.start).flatten() {
            let text = line.to_string();
            if let Some(word) = text.split_whitespace().find(|word| counts(word))
                && !found.iter().any(|known| known == word)
            {
                found.push(word.to_owned());
            }
        }
    }
    found
}
