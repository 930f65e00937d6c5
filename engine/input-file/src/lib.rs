//! Input files: what is no file, or is larger than what is read from it, is refused before it is read.
//!
//! | the path names | what happens |
//! |---|---|
//! | a regular file, or a link to one | it is read, if it is not larger than the limit |
//! | an open descriptor (`/dev/stdin`, `/dev/fd/3`, as a shell's `<(…)` gives it) | it is read up to the limit |
//! | a FIFO, device, socket or directory | an error that says so: to open a FIFO may wait for ever, and a device may have no end |
#![forbid(unsafe_code)]

use std::fs::{File, FileType};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Text that is written by hand or read as a whole: prompts, lists, manifests.
pub const TEXT: u64 = 256 << 20;

/// Code objects, bundles, capsules and other files that are kept in memory as they are.
pub const BINARY: u64 = 4 << 30;

/// Opens a file that has an end.
pub fn open(path: &Path) -> io::Result<File> {
    if !is_open_descriptor(path) {
        let kind = std::fs::metadata(path)?.file_type();
        if !kind.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, format!("is {}, want a file", name(kind))));
        }
    }
    File::open(path)
}

/// The bytes of a file, at most `limit` of them.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let found = file.metadata()?.len();
    if found > limit {
        return Err(too_large(&format!("{found} bytes"), limit));
    }
    let mut bytes = Vec::new();
    read_up_to(file, limit, &mut bytes)?;
    Ok(bytes)
}

/// The text of a file, at most `limit` bytes of it.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    text(read(path, limit)?)
}

/// The text of a stream, at most `limit` bytes of it.
pub fn read_text_from(stream: impl Read, limit: u64) -> io::Result<String> {
    text(read_from(stream, limit)?)
}

/// As [`read_text_from`], of bytes that need be no text.
pub fn read_from(stream: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read_up_to(stream, limit, &mut bytes)?;
    Ok(bytes)
}

fn read_up_to(stream: impl Read, limit: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    stream.take(limit.saturating_add(1)).read_to_end(bytes)?;
    if bytes.len() as u64 > limit { Err(too_large("more bytes than that", limit)) } else { Ok(()) }
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::new(ErrorKind::InvalidData, format!("is no UTF-8 text: byte {at} begins no character"))
    })
}

fn too_large(found: &str, limit: u64) -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, format!("{found}, the limit is {limit}"))
}

/// Descriptors are open already, whatever they are.
fn is_open_descriptor(path: &Path) -> bool {
    path == Path::new("/dev/stdin")
        || ["/dev/fd", "/proc/self/fd"].iter().any(|folder| path.parent() == Some(Path::new(folder)))
}

#[cfg(unix)]
fn name(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match kind {
        _ if kind.is_dir() => "a directory",
        _ if kind.is_fifo() => "a FIFO",
        _ if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

#[cfg(not(unix))]
fn name(kind: FileType) -> &'static str {
    if kind.is_dir() { "a directory" } else { "no regular file" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &Path) -> String {
        read(path, 10).unwrap_err().to_string()
    }

    #[test]
    fn files_are_read_up_to_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"0123456789").unwrap();
        assert_eq!(read(&path, 10).unwrap(), b"0123456789");
        assert_eq!(read_text(&path, 10).unwrap(), "0123456789");
        assert_eq!(read(&path, 9).unwrap_err().to_string(), "10 bytes, the limit is 9");
        std::fs::write(&path, b"a\xffb").unwrap();
        let error = read_text(&path, 9).unwrap_err();
        assert_eq!(error.to_string(), "is no UTF-8 text: byte 1 begins no character");
        assert_eq!(read_text_from(&b"abc"[..], 3).unwrap(), "abc");
        let error = read_text_from(&b"abc"[..], 2).unwrap_err();
        assert_eq!(error.to_string(), "more bytes than that, the limit is 2");
        assert_eq!(read(&folder.path().join("none"), 1).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(refusal(folder.path()), "is a directory, want a file");
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_refused_before_it_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(refusal(Path::new("/dev/zero")), "is a device, want a file");
        let fifo = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        assert_eq!(refusal(&fifo), "is a FIFO, want a file");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&fifo, &link).unwrap();
        assert_eq!(refusal(&link), "is a FIFO, want a file");
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert_eq!(refusal(&socket), "is a socket, want a file");
    }
}
