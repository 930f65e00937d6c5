//! `assay scaffold`: the files of a new op.

use std::fs;
use std::path::{Path, PathBuf};

use assay_cli::layers::{LAYERS, Names, Origin};
use clap::ValueEnum;
use kernels::{Class, Stem};

use super::{End, Trouble, print};

/// Writes the skeleton of a new op into a checkout of Assay: a file in every layer, and its line in the list of ops.
///
/// What is left to write is listed at the end. Until it is there, the compiler or the inventory test names what is missing.
#[derive(clap::Args)]
#[command(after_help = "Example, at the top of the repository: assay scaffold layer_norm --class bounded")]
pub struct Scaffold {
    /// Name of the op, in snake case.
    op: String,
    /// How its outputs are compared with the oracle.
    #[arg(long, value_enum)]
    class: ClassName,
    /// Top of the repository.
    #[arg(long, default_value = ".")]
    root: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum ClassName {
    /// Equal bits.
    Bitwise,
    /// The f32 nearest to the exact result.
    Rounded,
    /// Within the bound that the op's page derives.
    Bounded,
}

impl From<ClassName> for Class {
    fn from(name: ClassName) -> Self {
        match name {
            ClassName::Bitwise => Class::Bitwise,
            ClassName::Rounded => Class::Rounded,
            ClassName::Bounded => Class::Bounded,
        }
    }
}

impl Scaffold {
    pub fn run(self) -> Result<End, Trouble> {
        let class = Class::from(self.class);
        let names = names(&self.op)?;
        let list = self.root.join("kernels/src/ops/mod.rs");
        let with_op = listed(&read(&list)?, &names)
            .ok_or_else(|| Trouble::Input(format!("{}: no list of ops (`for_each_op!`)", list.display())))?;
        let mut files = Vec::new();
        for layer in LAYERS.iter().filter(|layer| layer.has(class)) {
            if let Origin::Scaffold(template) = layer.origin {
                let path = self.root.join(layer.path(&names));
                if path.exists() {
                    return Err(Trouble::Input(format!(
                        "{} exists already; nothing was written",
                        path.display()
                    )));
                }
                files.push((path, names.fill(template).replace("{Class}", &format!("{class:?}"))));
            }
        }
        for (path, text) in files {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(|e| failed(folder, &e))?;
            }
            output_file::write(&path, text.as_bytes()).map_err(|e| failed(&path, &e))?;
            print(&format!("wrote   {}\n", path.display()));
        }
        output_file::write(&list, with_op.as_bytes()).map_err(|e| failed(&list, &e))?;
        print(&format!("changed {}\n\nLeft to do by hand or by script:\n", list.display()));
        for layer in LAYERS.iter().filter(|layer| layer.has(class)) {
            let what = match layer.origin {
                Origin::Scaffold(_) | Origin::Listed => continue,
                Origin::Shared(what) => what.to_owned(),
                Origin::Generated(command) => format!("run {command}"),
            };
            print(&format!("  {:<48} {}\n", layer.path(&names), names.fill(&what)));
        }
        print("\nThen: cargo test -p assay-cli --test inventory\n");
        Ok(End::Well)
    }
}

/// The two forms of a new op's name.
fn names(op: &str) -> Result<Names, Trouble> {
    let words: Vec<&str> = op.split('_').collect();
    let is_word = |w: &&str| {
        w.starts_with(|c: char| c.is_ascii_lowercase())
            && w.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    if !words.iter().all(is_word) {
        return Err(Trouble::Input(format!(
            "'{op}' is no name of an op: want words of a to z and 0 to 9, as in rms_norm"
        )));
    }
    if Stem::ALL.iter().any(|stem| stem.name() == op) {
        return Err(Trouble::Input(format!("the op '{op}' exists already (see assay story {op})")));
    }
    let ty = words.iter().map(|w| w[..1].to_ascii_uppercase() + &w[1..]).collect();
    Ok(Names { op: op.into(), ty })
}

/// The file with the list of ops, with the new op at the end of the list.
fn listed(text: &str, names: &Names) -> Option<String> {
    let list = text.find("macro_rules! for_each_op")?;
    let last = list + text[list..].find(",\n        }\n")? + 2;
    Some(format!("{}            {} {},\n{}", &text[..last], names.op, names.ty, &text[last..]))
}

fn read(path: &Path) -> Result<String, Trouble> {
    fs::read_to_string(path).map_err(|e| failed(path, &e))
}

fn failed(path: &Path, error: &std::io::Error) -> Trouble {
    Trouble::Input(format!("{}: {error}", path.display()))
}
