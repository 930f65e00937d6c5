//! Temporary files that become their targets.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::scratch::Scratch;

/// The directory that holds `path`.
pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A file being written, on the disk of its target.
#[derive(Debug)]
pub(crate) enum Temporary {
    /// A file without a name: nothing is left of it when the process dies.
    #[cfg(target_os = "linux")]
    Nameless(File),
    /// A file beside the target, where the disk or the system has no files without names.
    Named(NamedTempFile, Scratch),
}

impl Temporary {
    /// A file in the directory of `target`.
    pub(crate) fn beside(target: &Path, permissions: Option<Permissions>) -> io::Result<Self> {
        let temporary = Self::without_name(target).map_or_else(|| Self::with_name(target), Ok)?;
        if let Some(permissions) = permissions {
            temporary.file().set_permissions(permissions)?;
        }
        Ok(temporary)
    }

    #[cfg(target_os = "linux")]
    fn without_name(target: &Path) -> Option<Self> {
        use std::os::unix::fs::OpenOptionsExt;
        let mut options = File::options();
        options.write(true).mode(0o666).custom_flags(libc::O_TMPFILE);
        let file = options.open(directory_of(target)).ok()?;
        // The file gets its name through /proc.
        linux::path_of(&file).exists().then_some(Temporary::Nameless(file))
    }

    #[cfg(not(target_os = "linux"))]
    fn without_name(_: &Path) -> Option<Self> {
        None
    }

    fn with_name(target: &Path) -> io::Result<Self> {
        let prefix = prefix(target);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(SUFFIX);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(directory_of(target))?;
        let scratch = Scratch::file(file.path().into());
        Ok(Temporary::Named(file, scratch))
    }

    fn file(&self) -> &File {
        match self {
            #[cfg(target_os = "linux")]
            Temporary::Nameless(file) => file,
            Temporary::Named(file, _) => file.as_file(),
        }
    }

    /// Flushes the file to the disk and makes it `target`.
    pub(crate) fn persist(self, target: &Path) -> io::Result<()> {
        self.file().sync_all()?;
        match self {
            #[cfg(target_os = "linux")]
            Temporary::Nameless(file) => linux::persist(&file, target),
            Temporary::Named(file, scratch) => {
                file.persist(target)?;
                scratch.keep();
                Ok(())
            }
        }
    }
}

impl Write for Temporary {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

/// The end of a temporary file's name.
const SUFFIX: &str = ".part";

/// The beginning of a temporary file's name.
fn prefix(target: &Path) -> std::ffi::OsString {
    let mut prefix = target.file_name().unwrap_or_default().to_owned();
    prefix.push(".");
    prefix
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::path::{Path, PathBuf};

    use rustix::fs::{AtFlags, CWD, linkat};
    use rustix::io::Errno;

    use super::{SUFFIX, prefix};
    use crate::directory_of;
    use crate::scratch::Scratch;

    /// Where /proc shows an open file.
    pub(super) fn path_of(file: &File) -> PathBuf {
        format!("/proc/self/fd/{}", file.as_raw_fd()).into()
    }

    /// Gives a file without a name the name `target`. A name is given to new places only, so an existing target is replaced by way of
    /// a second name, for a moment. If the program ends in that moment, the name goes with it.
    pub(super) fn persist(file: &File, target: &Path) -> io::Result<()> {
        let link = |to: &Path| linkat(CWD, path_of(file), CWD, to, AtFlags::SYMLINK_FOLLOW);
        match link(target) {
            Err(Errno::EXIST) => {}
            other => return Ok(other?),
        }
        let make = |path: &Path| {
            let scratch = Scratch::file(path.into());
            match link(path) {
                Ok(()) => Ok(scratch),
                Err(error) => {
                    scratch.keep();
                    Err(error.into())
                }
            }
        };
        let named = tempfile::Builder::new()
            .prefix(&prefix(target))
            .suffix(SUFFIX)
            .make_in(directory_of(target), make)?;
        let (scratch, path) = named.into_parts();
        // Dropping the path without renaming it removes the second name.
        path.persist(target)?;
        scratch.keep();
        Ok(())
    }
}
