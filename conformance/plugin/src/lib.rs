//! Backends that are somebody else's.
//!
//! * [`abi`]: the structs and numbers of the C interface, `assay.h`.
//! * `call`: an op as a plug-in sees it. [`declaration`]: how a plug-in says that it computes.
//! * `library`: a plug-in in a shared library. `python`: one in a Python file, which runs in a process of its own.
//! * [`backend`]: either of them as a backend. [`open`] opens it by its file. `elsewhere`: ops that it lacks, on the CPU.
//! * [`stdout`]: keeps what a plug-in prints out of the answers of a worker process.
//!
//! A plug-in is code that nobody here has seen: it may crash, hang or end the process that opens it. Open it in a process that may die.

pub mod abi;
pub mod backend;
mod call;
pub mod declaration;
mod elsewhere;
mod error;
mod library;
mod python;
pub mod stdout;

use std::path::Path;

pub use backend::PluginBackend;
pub use error::PluginError;
#[doc(hidden)]
pub use python::read_answers;

/// The C header, for those who have the program alone.
pub const HEADER: &str = include_str!("../assay.h");

/// A first plug-in in C.
pub const EXAMPLE_C: &str = include_str!("../examples/plain.c");

/// A first plug-in in Python.
pub const EXAMPLE_PYTHON: &str = include_str!("../examples/plain.py");

/// Opens the plug-in in the file at `path`: Python where its name ends in `.py`, otherwise a shared library.
///
/// Its code runs in this process (a library's) or on its behalf.
pub fn open(path: &Path) -> Result<PluginBackend, PluginError> {
    // A FIFO would be waited for.
    input_file::open(path).map_err(|source| PluginError::File { path: path.into(), source })?;
    if path.extension().is_some_and(|e| e == "py") {
        return Ok(PluginBackend::new(path, python::Python::start(path)?));
    }
    Ok(PluginBackend::new(path, library::Library::open(path)?))
}
