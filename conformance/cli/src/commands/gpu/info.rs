//! `assay gpu info`: what a launch of each kernel must give, and what it takes.

use std::fmt::Write;
use std::path::PathBuf;

use softhip::isa::disassemble;
use softhip::object::{CodeObject, Kernel};

use super::{parse, read};
use crate::commands::{End, Trouble, print};

/// Shows the kernels of a code object: arguments, registers, LDS, scratch, largest block.
#[derive(clap::Args)]
pub struct Info {
    /// The code object, an ELF file for gfx942.
    object: PathBuf,
}

impl Info {
    pub fn run(self) -> Result<End, Trouble> {
        let bytes = read(&self.object)?;
        let object = parse(&self.object, &bytes)?;
        let mut text = format!(
            "{}: {}, {} bytes, kernels: {}\n",
            self.object.display(),
            object.target(),
            bytes.len(),
            object.kernels().len()
        );
        object.kernels().iter().for_each(|kernel| describe(&mut text, &object, kernel));
        print(&text);
        Ok(End::Well)
    }
}

fn describe(text: &mut String, object: &CodeObject, kernel: &Kernel) {
    let words = object.words(kernel.code.clone()).unwrap_or_default();
    let instructions = disassemble(&words, kernel.code.start).count();
    let block = kernel
        .required_workgroup_size
        .map_or(String::new(), |[x, y, z]| format!(", exactly {x} x {y} x {z} demanded"));
    let facts = [
        ("code", format!("{} bytes, {instructions} instructions, at {:#x}", 4 * words.len(), kernel.entry)),
        (
            "registers",
            format!("{} scalar, {} vector ({} of them AGPRs)", kernel.sgprs, kernel.vgprs, kernel.agprs),
        ),
        ("LDS", format!("{} bytes, and what a launch adds", kernel.lds_size)),
        ("scratch", format!("{} bytes per thread", kernel.scratch_size)),
        (
            "block",
            format!(
                "up to {} threads in waves of {}{block}",
                kernel.max_flat_workgroup_size, kernel.wavefront_size
            ),
        ),
        ("arguments", format!("{} bytes, aligned to {}", kernel.kernarg_size, kernel.kernarg_align)),
    ];
    let _ = writeln!(text, "\n{}", kernel.name);
    for (what, fact) in facts {
        let _ = writeln!(text, "  {what:<10} {fact}");
    }
    if kernel.arguments.is_empty() {
        return;
    }
    let _ = writeln!(text, "    {:>6} {:>5}  {:<26} {:<9} name", "offset", "bytes", "kind", "space");
    for argument in &kernel.arguments {
        let line = format!(
            "    {:>6} {:>5}  {:<26} {:<9} {}",
            argument.offset,
            argument.size,
            argument.kind.to_string(),
            argument.address_space.as_deref().unwrap_or("-"),
            argument.name.as_deref().unwrap_or("-"),
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
}
