//! What a plug-in prints, kept out of the way.
//!
//! A worker process answers on its standard output, and a plug-in in it may print there too.
#![cfg_attr(unix, expect(unsafe_code, reason = "the standard library cannot exchange a descriptor"))]

use std::fs::File;
use std::io;

/// The standard output, for the caller alone: from here on everything else that is printed goes to standard error.
#[cfg(unix)]
pub fn take() -> io::Result<File> {
    use std::os::fd::AsFd;
    let own = io::stdout().as_fd().try_clone_to_owned()?;
    // SAFETY: both descriptors belong to the process for as long as it runs; dup2 has no other precondition.
    match unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(own.into()),
    }
}

/// The standard output. On this system a plug-in must not print there.
#[cfg(not(unix))]
pub fn take() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(io::stdout().as_handle().try_clone_to_owned()?.into())
}
