//! `assay gpu objdump`: the instructions of a code object.

use std::fmt::Write;
use std::ops::Range;

use softhip::isa::disassemble;
use softhip::object::CodeObject;

use super::file::{Loaded, Source, no_kernel};
use crate::commands::{End, Trouble, print};

/// Prints the instructions of gfx942 kernels, and of the functions they call, as llvm-objdump does, without needing it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay gpu objdump rope.hsaco               every kernel and function
  assay gpu objdump libops.so --target gfx942:xnack-   those of a library
  assay gpu objdump rope.hsaco rope_f32 -l   one kernel, with the lines of its source")]
pub struct Objdump {
    #[command(flatten)]
    source: Source,
    /// Only this kernel or function.
    function: Option<String>,
    /// The source lines, where the object has a line table.
    #[arg(short, long)]
    lines: bool,
}

impl Objdump {
    pub fn run(self) -> Result<End, Trouble> {
        let objects = self.source.load()?;
        let path = &self.source.path;
        let mut text = String::new();
        let mut found = false;
        for Loaded { target, object, .. } in &objects {
            let wanted = |name: &str| self.function.as_deref().is_none_or(|wanted| wanted == name);
            let functions = functions(object);
            let shown: Vec<_> = functions.into_iter().filter(|(name, _)| wanted(name)).collect();
            if shown.is_empty() && self.function.is_some() {
                continue;
            }
            found = true;
            let _ = writeln!(text, "{}: {target}", path.display());
            for (name, code) in shown {
                dump(&mut text, object, name, code, self.lines);
            }
        }
        if let Some(name) = self.function.filter(|_| !found) {
            return Err(no_kernel(path, &objects, &name));
        }
        print(&text);
        Ok(End::Well)
    }
}

/// Kernels in the order of the metadata, then the other functions by address.
fn functions(object: &CodeObject) -> Vec<(&str, Range<u64>)> {
    let kernels = object.kernels().iter().map(|kernel| (kernel.name.as_str(), kernel.code.clone()));
    let others = object
        .functions()
        .iter()
        .filter(|function| object.kernel(&function.name).is_none())
        .map(|function| (function.name.as_str(), function.code.clone()));
    kernels.chain(others).collect()
}

fn dump(text: &mut String, object: &CodeObject, name: &str, code: Range<u64>, lines: bool) {
    let start = code.start;
    let words = object.words(code).unwrap_or_default();
    let _ = writeln!(text, "\n{start:016x} <{name}>:");
    let mut at = 0;
    let mut shown = None;
    for inst in disassemble(&words, start) {
        let pc = start + 4 * at as u64;
        let location = object.location(pc).filter(|_| lines);
        if let Some(location) = location
            && shown != Some((location.file, location.line))
        {
            shown = Some((location.file, location.line));
            let _ = writeln!(text, "; {}:{}", location.file, location.line);
        }
        let (count, printed, target) = match &inst {
            Ok(inst) => (usize::from(inst.size) / 4, inst.to_string(), inst.branch_target()),
            Err(_) => (1, format!(".long {:#010x}", words[at]), None),
        };
        let bytes: Vec<String> = words[at..at + count].iter().map(|word| format!("{word:08X}")).collect();
        let _ = write!(text, "\t{printed:<58} // {pc:012X}: {}", bytes.join(" "));
        if let Some((name, offset)) = target.and_then(|target| object.function_at(target)) {
            let _ = write!(text, " <{name}+{offset:#x}>");
        }
        text.push('\n');
        at += count;
    }
}
