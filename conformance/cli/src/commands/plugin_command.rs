//! `assay plugin new`: a first plug-in, to be changed.

use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::{End, Trouble, print};

/// Begins a backend of your own.
#[derive(clap::Args)]
pub struct PluginCommand {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Writes a plug-in that works, in C (FILE.c, with assay.h beside it) or in Python (FILE.py).
    New {
        /// The file.
        file: PathBuf,
    },
}

impl PluginCommand {
    pub fn run(self) -> Result<End, Trouble> {
        let What::New { file } = self.what;
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("c") => {
                let header = file.with_file_name("assay.h");
                write_new(&file, plugin::EXAMPLE_C)?;
                // A header of this version that is there already is as good.
                if std::fs::read_to_string(&header).is_ok_and(|text| text == plugin::HEADER) {
                    print(&format!("{} is there\n", header.display()));
                } else {
                    write_new(&header, plugin::HEADER)?;
                }
                let library = file.with_extension("so");
                let (file, library) = (file.display(), library.display());
                print(&format!(
                    "next: cc -O2 -shared -fPIC -o {library} {file} -lm && assay check --plugin {library}\n"
                ));
            }
            Some("py") => {
                write_new(&file, plugin::EXAMPLE_PYTHON)?;
                print(&format!("next: assay check --plugin {}\n", file.display()));
            }
            _ => {
                let what = format!("{}: want a name that ends in .c or .py", file.display());
                return Err(Trouble::Input(what));
            }
        }
        Ok(End::Well)
    }
}

/// Writes a file that is not there yet.
fn write_new(path: &Path, text: &str) -> Result<(), Trouble> {
    let named = |what: &dyn std::fmt::Display| Trouble::Input(format!("{}: {what}", path.display()));
    if path.exists() {
        return Err(named(&"is there already"));
    }
    output_file::write(path, text.as_bytes()).map_err(|e| named(&e))?;
    print(&format!("wrote {}\n", path.display()));
    Ok(())
}
