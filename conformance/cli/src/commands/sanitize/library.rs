//! Where the drop-in library is, and a folder in which programs find it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::commands::Trouble;

/// A library of ours.
struct Library {
    file: &'static str,
    /// The environment variable that names it.
    variable: &'static str,
    /// The package that makes it.
    package: &'static str,
}

/// The library on the software device.
const DROP_IN: Library =
    Library { file: "libamdhip64.so", variable: "ASSAY_LIBAMDHIP64", package: "assay-libamdhip64" };
/// The library that is preloaded over a real one.
const FORWARD: Library =
    Library { file: "libassay_hip_forward.so", variable: "ASSAY_HIP_FORWARD", package: "assay-hip-forward" };

/// The library that is preloaded over a real one.
pub fn forward() -> Result<PathBuf, Trouble> {
    find(&FORWARD)
}

/// The names that programs of different releases ask for. The library has hiprtc and the GEMM family of hipBLAS, hipBLASLt and rocBLAS, too.
const NAMES: [&str; 20] = [
    "libamdhip64.so",
    "libamdhip64.so.5",
    "libamdhip64.so.6",
    "libamdhip64.so.7",
    "libhiprtc.so",
    "libhiprtc.so.5",
    "libhiprtc.so.6",
    "libhiprtc.so.7",
    "libhipblas.so",
    "libhipblas.so.0",
    "libhipblas.so.2",
    "libhipblas.so.3",
    "libhipblaslt.so",
    "libhipblaslt.so.0",
    "libhipblaslt.so.1",
    "librocblas.so",
    "librocblas.so.0",
    "librocblas.so.3",
    "librocblas.so.4",
    "librocblas.so.5",
];

/// A folder with the library under every name, and with the file of messages. It goes away when it is dropped.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// A folder with the drop-in library.
    pub fn new() -> Result<Self, Trouble> {
        Self::with(Some(&find(&DROP_IN)?))
    }

    /// A folder for messages alone: the program finds the library that it would find without us.
    pub fn for_messages() -> Result<Self, Trouble> {
        Self::with(None)
    }

    fn with(library: Option<&Path>) -> Result<Self, Trouble> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("assay-sanitize-{}-{number}", std::process::id()));
        let folder = Self { path };
        folder
            .fill(library)
            .map_err(|error| Trouble::Input(format!("{}: {error}", folder.path.display())))?;
        Ok(folder)
    }

    fn fill(&self, library: Option<&Path>) -> std::io::Result<()> {
        std::fs::create_dir_all(&self.path)?;
        for (library, name) in library.into_iter().flat_map(|library| NAMES.map(|name| (library, name))) {
            link(library, &self.path.join(name))?;
        }
        // Where there is no room for messages, that is said now: a run without a message would have checked nothing.
        std::fs::write(self.messages(), [b' '; 4096])?;
        std::fs::write(self.messages(), "")
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The library under its plain name.
    pub fn library(&self) -> PathBuf {
        self.path.join(DROP_IN.file)
    }

    /// The file that the library appends messages to.
    pub fn messages(&self) -> PathBuf {
        self.path.join("messages.jsonl")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that stays in the place for temporary files harms nobody.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[cfg(unix)]
fn link(library: &Path, at: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(library, at)
}

#[cfg(not(unix))]
fn link(library: &Path, at: &Path) -> std::io::Result<()> {
    std::fs::copy(library, at).map(|_| ())
}

/// The library: what the variable says, or what was built beside this program.
fn find(Library { file, variable, package }: &Library) -> Result<PathBuf, Trouble> {
    if let Some(given) = std::env::var_os(variable) {
        if given.is_empty() {
            return Err(Trouble::Input(format!("{variable} is empty: it names {file}, or is not set")));
        }
        let path = PathBuf::from(given);
        let found = path.canonicalize().map_err(|error| format!("{variable}: {}: {error}", path.display()));
        return found.map_err(Trouble::Input);
    }
    let program =
        std::env::current_exe().map_err(|e| Trouble::Input(format!("finding this program: {e}")))?;
    let beside = program.with_file_name(file);
    if beside.exists() {
        return Ok(beside);
    }
    let profile = match env!("BUILD_PROFILE") {
        "release" => " --release",
        _ => "",
    };
    Err(Trouble::Input(format!(
        "{} is not there; 'cargo build{profile} -p {package}' makes it, or {variable} says where it is",
        beside.display()
    )))
}
