//! `assay gpu info`: what a launch of each kernel must give, and what it takes.

use std::fmt::Write;

use softhip::isa::disassemble;
use softhip::object::{self, CodeObject, GFX942, Kernel, Packed};

use super::file::{Source, read, trouble};
use crate::commands::{End, Trouble, print};

/// Lists the code objects of a file, and shows the kernels of those for the target: arguments, registers, LDS, scratch,
/// largest block.
#[derive(clap::Args)]
pub struct Info {
    #[command(flatten)]
    source: Source,
}

impl Info {
    pub fn run(self) -> Result<End, Trouble> {
        let path = &self.source.path;
        let bytes = read(path)?;
        let all = object::open(&bytes).map_err(|error| trouble(path, error))?;
        let wanted =
            object::open_for(&bytes, &self.source.target.target).map_err(|error| trouble(path, error))?;
        let mut text = String::new();
        if all.len() > 1 {
            list(&mut text, &path.display().to_string(), &all);
        }
        for Packed { target, bytes } in &wanted {
            let object = CodeObject::read(bytes).map_err(|error| trouble(path, error))?;
            if !text.is_empty() {
                text.push('\n');
            }
            let _ = writeln!(
                text,
                "{}: {target}, {} bytes, kernels: {}",
                path.display(),
                bytes.len(),
                object.kernels().len()
            );
            object.kernels().iter().for_each(|kernel| describe(&mut text, &object, kernel));
        }
        print(&text);
        Ok(End::Well)
    }
}

/// What is inside a file with several code objects.
fn list(text: &mut String, path: &str, all: &[Packed<'_>]) {
    let wide =
        all.iter().map(|packed| packed.target.to_string().len()).max().unwrap_or(0).max("target".len());
    let _ = writeln!(text, "{path}: code objects: {}", all.len());
    let _ = writeln!(text, "  {:<wide$} {:>10} {:>8}  names", "target", "bytes", "kernels");
    for packed in all {
        let (count, names) = match CodeObject::read(&packed.bytes) {
            Ok(object) => {
                let names: Vec<&str> = object.kernels().iter().map(|kernel| kernel.name.as_str()).collect();
                (names.len().to_string(), names.join(", "))
            }
            Err(error) => ("-".to_owned(), error.to_string()),
        };
        let target = packed.target.to_string();
        let line = format!("  {target:<wide$} {:>10} {count:>8}  {names}", packed.bytes.len());
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

fn describe(text: &mut String, object: &CodeObject, kernel: &Kernel) {
    let words = object.words(kernel.code.clone()).unwrap_or_default();
    let instructions = if object.target() == GFX942 {
        format!("{} instructions, ", disassemble(&words, kernel.code.start).count())
    } else {
        String::new()
    };
    let block = kernel
        .required_workgroup_size
        .map_or(String::new(), |[x, y, z]| format!(", exactly {x} x {y} x {z} demanded"));
    let facts = [
        ("code", format!("{} bytes, {instructions}at {:#x}", 4 * words.len(), kernel.entry)),
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
    for note in kernel.notes() {
        let _ = writeln!(text, "  {:<10} {note}", "note");
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
