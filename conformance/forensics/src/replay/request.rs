//! A capsule's path where the name of a case is expected.
//!
//! Names are text of one line, and paths may be anything: what is no plain text of a path is written as `%` and two hexadecimal
//! digits for each byte.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::PREFIX;

/// The name under which a worker replays the capsule at `path`.
pub fn request(path: &Path) -> String {
    let mut name = PREFIX.to_owned();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '%' || c.is_control() {
                escape(&mut name, c.encode_utf8(&mut [0; 4]).as_bytes());
            } else {
                name.push(c);
            }
        }
        escape(&mut name, chunk.invalid());
    }
    name
}

fn escape(name: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _ = write!(name, "%{byte:02x}");
    }
}

/// The path in a name that [`request`] made; `None` for the name of a case.
pub fn path_of(name: &str) -> Option<PathBuf> {
    let text = name.strip_prefix(PREFIX)?;
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        // What is no escape stands for itself.
        if let Some(byte) = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            bytes.push(byte);
            bytes.extend_from_slice(&part.as_bytes()[2..]);
        } else {
            bytes.push(b'%');
            bytes.extend_from_slice(part.as_bytes());
        }
    }
    Some(path_from(bytes))
}

#[cfg(unix)]
fn path_from(bytes: Vec<u8>) -> PathBuf {
    <OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes).into()
}

#[cfg(not(unix))]
fn path_from(bytes: Vec<u8>) -> PathBuf {
    OsString::from(String::from_utf8_lossy(&bytes).into_owned()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_a_line_and_comes_back() {
        let plain = ["a.capsule", "dir/ü b.capsule", "100%.capsule", "%41", "a\nb", "-"];
        let mut paths: Vec<PathBuf> = plain.iter().map(PathBuf::from).collect();
        #[cfg(unix)]
        paths.push(path_from(b"caf\xe9/\xff\xfe%ff.capsule".to_vec()));
        for path in paths {
            let name = request(&path);
            assert!(!name.contains('\n'), "{name}");
            assert_eq!(path_of(&name), Some(path), "{name}");
        }
        assert_eq!(request(Path::new("dir/ü.capsule")), "capsule:dir/ü.capsule");
        assert_eq!(path_of("rope/cpu/f32"), None);
    }
}
