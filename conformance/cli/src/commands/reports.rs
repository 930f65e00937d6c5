//! The reports of a sweep: on the terminal and in files.

use std::path::{Path, PathBuf};

use assay_cli::report::{self, Sweep};

use super::{Trouble, print, say};

/// Where reports go.
#[derive(clap::Args)]
pub struct Reports {
    /// Writes everything as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes `JUnit` XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Writes a page to open in a browser.
    #[arg(long, default_value = "assay-report.html", value_name = "FILE")]
    pub html: PathBuf,
}

impl Reports {
    /// The files.
    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        [Some(&self.html), self.json.as_ref(), self.junit.as_ref()].into_iter().flatten()
    }

    /// Finds out before the work, not after it, that a report cannot be written.
    pub fn prepare(&self) -> Result<(), Trouble> {
        if self.paths().filter(|path| is_stdout(path)).count() > 1 {
            return Err(Trouble::Input(
                "only one of --json, --junit and --html can be standard output".into(),
            ));
        }
        self.paths().filter(|path| !is_stdout(path)).try_for_each(|path| writable(path))
    }

    /// Prints a text for people: on standard error where standard output is a report.
    pub fn tell(&self, text: &str) {
        if self.paths().any(|path| is_stdout(path)) {
            say(text.trim_end_matches('\n'));
        } else {
            print(text);
        }
    }

    /// Prints and writes the results.
    pub fn write(&self, finished: &Sweep) -> Result<(), Trouble> {
        self.tell(&report::table(finished));
        self.tell_unless_empty(&report::device_code(finished));
        self.tell_unless_empty(&report::fidelity(finished));
        if finished.interrupted {
            self.tell(&format!("PARTIAL: {}\n", finished.not_run.join("; ")));
        }
        let write = |path: &Path, text: &str| {
            output_file::write(path, text.as_bytes())
                .map_err(|e| Trouble::Input(format!("{}: {e}", path.display())))
        };
        write(&self.html, &report::html::html(finished))?;
        self.tell(&format!("report: {}\n", self.html.display()));
        if let Some(path) = &self.json {
            write(path, &format!("{:#}\n", report::json(finished)))?;
        }
        if let Some(path) = &self.junit {
            write(path, &report::junit(finished).map_err(Trouble::input)?)?;
        }
        Ok(())
    }

    fn tell_unless_empty(&self, text: &str) {
        if !text.is_empty() {
            self.tell(text);
        }
    }
}

/// Whether `path` means standard output.
fn is_stdout(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

/// Finds out before the work, not after it, that a file cannot be written.
pub fn writable(path: &Path) -> Result<(), Trouble> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match folder.metadata() {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(Trouble::Input(format!("{}: '{}' is not a folder", path.display(), folder.display()))),
        Err(error) => Err(Trouble::Input(format!("{}: {error}", path.display()))),
    }
}
