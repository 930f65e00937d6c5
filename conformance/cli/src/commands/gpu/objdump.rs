//! `assay gpu objdump`: the instructions of a code object.

use std::fmt::Write;
use std::path::PathBuf;

use softhip::isa::disassemble;
use softhip::object::{CodeObject, Kernel};

use super::{no_kernel, parse, read};
use crate::commands::{End, Trouble, print};

/// Prints the instructions of a code object's kernels as llvm-objdump does, without needing it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay gpu objdump rope.hsaco               every kernel
  assay gpu objdump rope.hsaco rope_f32 -l   one kernel, with the lines of its source")]
pub struct Objdump {
    /// The code object, an ELF file for gfx942.
    object: PathBuf,
    /// Only this kernel.
    kernel: Option<String>,
    /// The source lines, where the object has a line table.
    #[arg(short, long)]
    lines: bool,
}

impl Objdump {
    pub fn run(self) -> Result<End, Trouble> {
        let object = parse(&self.object, &read(&self.object)?)?;
        let mut text = format!("{}: {}\n", self.object.display(), object.target());
        match &self.kernel {
            Some(name) => {
                let kernel = object.kernel(name).ok_or_else(|| no_kernel(&self.object, &object, name))?;
                dump(&mut text, &object, kernel, self.lines);
            }
            None => object.kernels().iter().for_each(|kernel| dump(&mut text, &object, kernel, self.lines)),
        }
        print(&text);
        Ok(End::Well)
    }
}

fn dump(text: &mut String, object: &CodeObject, kernel: &Kernel, lines: bool) {
    let start = kernel.code.start;
    let words = object.words(kernel.code.clone()).unwrap_or_default();
    let _ = writeln!(text, "\n{start:016x} <{}>:", kernel.name);
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
