//! Why a file cannot be a plug-in here.

use std::path::PathBuf;

use crate::abi;

/// A file that is no plug-in, or none for this program.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The loader does not take it.
    #[error("{}: is no library that can be loaded: {why}", path.display())]
    Load {
        /// The file.
        path: PathBuf,
        /// What the loader says.
        why: String,
    },
    /// It does not export the function of a plug-in.
    #[error("{}: does not export {}, so it is no plug-in (see assay.h)", path.display(), abi::OPEN)]
    NoSymbol {
        /// The file.
        path: PathBuf,
    },
    /// It returned no table.
    #[error("{}: {} returned NULL: it does not speak version {} of the plug-in interface", path.display(), abi::OPEN, abi::ABI)]
    Refused {
        /// The file.
        path: PathBuf,
    },
    /// It was built for another version.
    #[error(
        "{}: speaks version {got} of the plug-in interface, this program version {}: build it with this program's assay.h ('assay plugin new' writes it)",
        path.display(), abi::ABI
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        got: u32,
    },
    /// Its table is not that of its version.
    #[error("{}: {what}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// Python cannot be started, or the file fails.
    #[error("{}: {why}", path.display())]
    Python {
        /// The file.
        path: PathBuf,
        /// What it says.
        why: String,
    },
}
