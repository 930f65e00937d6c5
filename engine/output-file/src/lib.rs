//! Output files that appear whole or not at all.
//!
//! [`OutputFile`] writes to a temporary file on its target's disk, which takes the target's name at [`OutputFile::commit`]: a
//! reader sees the old content or the new, whatever happens in between. The temporary file has no name where the system
//! allows that (Linux), so that nothing is left of it even if the process is killed. What the path names decides:
//!
//! | the path names | what happens |
//! |---|---|
//! | nothing | a new file, with the permissions that the umask leaves |
//! | a regular file | the file is replaced, its permissions stay |
//! | a symbolic link | the link stays, and what it points at is written by these rules |
//! | a device, FIFO or open descriptor (`/dev/fd/3`) | bytes are written to it as they come |
//! | `-`, or standard output as `/dev/stdout` | bytes are written to standard output as they come; a reader that has gone is no error |
//! | a directory | an error |
//!
//! [`scratch`] has files and folders that other processes must find by name, and that go away all the same.
#![forbid(unsafe_code)]

pub mod scratch;

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, ErrorKind, Stdout, Write};
use std::path::{Path, PathBuf};

mod temporary;

use temporary::{Temporary, directory_of};

/// Paths that mean standard output. To open them again would be another position in the same file.
const STANDARD_OUTPUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// Links of links that are followed, as in Linux.
const MAX_LINKS: usize = 40;

/// Writes `bytes` to `path`, whole or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OutputFile::create(path)?;
    file.write_all(bytes)?;
    file.commit()
}

/// A file being written. Without [`OutputFile::commit`] the temporary file is removed and the target stays as it is.
#[derive(Debug)]
pub struct OutputFile {
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    /// A temporary file that will replace `target`.
    Replace {
        temporary: BufWriter<Temporary>,
        target: PathBuf,
    },
    /// Something that cannot be replaced.
    Direct(BufWriter<File>),
    Stdout(Stdout),
}

impl OutputFile {
    /// Starts a file that [`OutputFile::commit`] puts at `path`.
    pub fn create(path: &Path) -> io::Result<Self> {
        let sink = match Target::of(path)? {
            Target::Stdout => Sink::Stdout(io::stdout()),
            Target::Direct(path) => Sink::Direct(BufWriter::new(File::options().append(true).open(path)?)),
            Target::Replace { path, permissions } => {
                let temporary = BufWriter::new(Temporary::beside(&path, permissions)?);
                Sink::Replace { temporary, target: path }
            }
        };
        Ok(OutputFile { sink })
    }

    /// A directory for more temporary files: the target's, so that they are on its disk; the system's if there is no target
    /// to replace.
    pub fn temporary_directory(&self) -> PathBuf {
        match &self.sink {
            Sink::Replace { target, .. } => directory_of(target).to_owned(),
            Sink::Direct(_) | Sink::Stdout(_) => std::env::temp_dir(),
        }
    }

    /// Writes what is still buffered. A file to be replaced is flushed to the disk and renamed.
    pub fn commit(mut self) -> io::Result<()> {
        if matches!(self.sink, Sink::Stdout(_)) {
            return self.flush();
        }
        match self.sink {
            Sink::Replace { temporary, target } => {
                let temporary = temporary.into_inner().map_err(io::IntoInnerError::into_error)?;
                temporary.persist(&target)
            }
            Sink::Direct(mut file) => file.flush(),
            Sink::Stdout(mut stdout) => stdout.flush(),
        }
    }

    /// Whether an error only says that the reader of standard output has gone away, which is its right.
    fn is_unread(&self, error: &io::Error) -> bool {
        error.kind() == ErrorKind::BrokenPipe && matches!(self.sink, Sink::Stdout(_))
    }

    fn writer(&mut self) -> &mut dyn Write {
        match &mut self.sink {
            Sink::Replace { temporary, .. } => temporary,
            Sink::Direct(file) => file,
            Sink::Stdout(stdout) => stdout,
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.writer().write(bytes) {
            Err(error) if self.is_unread(&error) => Ok(bytes.len()),
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.writer().flush() {
            Err(error) if self.is_unread(&error) => Ok(()),
            flushed => flushed,
        }
    }
}

/// What a path names once links are followed.
enum Target {
    Stdout,
    Direct(PathBuf),
    Replace {
        path: PathBuf,
        /// Those of the file that is there.
        permissions: Option<Permissions>,
    },
}

impl Target {
    fn of(path: &Path) -> io::Result<Self> {
        let mut path = path.to_owned();
        for _ in 0..=MAX_LINKS {
            if STANDARD_OUTPUT.iter().any(|name| path.as_os_str() == *name) {
                return Ok(Target::Stdout);
            }
            // Links below /proc lead to open files that may have no path, e.g. `pipe:[4711]`.
            if path.starts_with("/proc") {
                return Ok(Target::Direct(path));
            }
            let metadata = match fs::symlink_metadata(&path) {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return Ok(Target::Replace { path, permissions: None });
                }
                Err(error) => return Err(error),
            };
            if metadata.is_dir() {
                return Err(io::Error::new(ErrorKind::IsADirectory, "is a directory, want a file"));
            } else if metadata.is_file() {
                return Ok(Target::Replace { path, permissions: Some(metadata.permissions()) });
            } else if !metadata.is_symlink() {
                return Ok(Target::Direct(path));
            }
            path = directory_of(&path).join(fs::read_link(&path)?);
        }
        Err(io::Error::new(ErrorKind::InvalidInput, format!("more than {MAX_LINKS} symbolic links")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn a_file_appears_at_commit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        let mut file = OutputFile::create(&path).unwrap();
        file.write_all(b"half ").unwrap();
        file.flush().unwrap();
        assert!(!path.exists());
        file.write_all(b"whole").unwrap();
        file.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"half whole");
        assert_eq!(names(folder.path()), ["out.txt"]);
    }

    #[test]
    fn without_commit_the_old_content_stays_and_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        fs::write(&path, "old").unwrap();
        let mut file = OutputFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["out.txt"]);
    }

    #[test]
    fn two_files_of_one_path_do_not_mix() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        let (mut first, mut second) =
            (OutputFile::create(&path).unwrap(), OutputFile::create(&path).unwrap());
        first.write_all(b"first").unwrap();
        second.write_all(b"second").unwrap();
        second.commit().unwrap();
        first.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(names(folder.path()), ["out.txt"]);
    }

    #[test]
    fn a_directory_and_a_missing_folder_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let error = OutputFile::create(folder.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::IsADirectory);
        let error = OutputFile::create(&folder.path().join("none/out.txt")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }

    /// The test runs itself once more and reads what that process writes to its standard output.
    #[test]
    fn a_dash_is_standard_output() {
        const CHILD: &str = "ASSAY_TEST_OUTPUT_PATH";
        if let Some(path) = std::env::var_os(CHILD) {
            return write(Path::new(&path), b"to standard output").unwrap();
        }
        for path in STANDARD_OUTPUT {
            let test = "tests::a_dash_is_standard_output";
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            let child = child.args(["--exact", test, "--nocapture"]).env(CHILD, path).output().unwrap();
            let stdout = String::from_utf8(child.stdout).unwrap();
            assert!(child.status.success() && stdout.contains("to standard output"), "{path}: {stdout}");
        }
        assert!(!Path::new("-").exists());
    }

    #[cfg(unix)]
    mod unix {
        use std::io::Read;
        use std::os::unix::fs::{PermissionsExt, symlink};
        use std::process::Command;

        use super::*;

        fn mode(path: &Path) -> u32 {
            fs::metadata(path).unwrap().permissions().mode() & 0o777
        }

        #[test]
        fn permissions_stay() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("out.txt");
            fs::write(&path, "old").unwrap();
            for want in [0o600, 0o755] {
                fs::set_permissions(&path, Permissions::from_mode(want)).unwrap();
                write(&path, b"new").unwrap();
                assert_eq!(mode(&path), want);
            }
        }

        #[test]
        fn a_new_file_has_the_usual_permissions() {
            let folder = tempfile::tempdir().unwrap();
            let (usual, ours) = (folder.path().join("usual"), folder.path().join("ours"));
            fs::write(&usual, "").unwrap();
            write(&ours, b"").unwrap();
            assert_eq!(mode(&ours), mode(&usual));
        }

        #[test]
        fn links_stay_and_their_targets_are_replaced() {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            fs::create_dir(at("data")).unwrap();
            fs::write(at("data/real"), "old").unwrap();
            symlink("data/real", at("link")).unwrap();
            symlink(at("link"), at("link of link")).unwrap();
            symlink("data/absent", at("dangling")).unwrap();
            write(&at("link of link"), b"new").unwrap();
            write(&at("dangling"), b"made").unwrap();
            assert_eq!(fs::read(at("data/real")).unwrap(), b"new");
            assert_eq!(fs::read(at("data/absent")).unwrap(), b"made");
            for link in ["link", "link of link", "dangling"] {
                assert!(fs::symlink_metadata(at(link)).unwrap().is_symlink(), "{link}");
            }
            assert_eq!(names(&at("data")), ["absent", "real"]);
        }

        #[test]
        fn a_circle_of_links_is_an_error() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("self");
            symlink("self", &path).unwrap();
            assert_eq!(OutputFile::create(&path).unwrap_err().to_string(), "more than 40 symbolic links");
        }

        #[test]
        fn a_device_is_written_to() {
            write(Path::new("/dev/null"), b"gone").unwrap();
            let null = fs::metadata("/dev/null").unwrap();
            assert!(!null.is_file(), "the device was replaced");
            // The device that is always full refuses what is written to it.
            let full = Path::new("/dev/full");
            if full.exists() {
                assert_eq!(write(full, b"x").unwrap_err().kind(), ErrorKind::StorageFull);
            }
        }

        #[test]
        fn a_fifo_is_written_to() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("fifo");
            assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
            let reader = std::thread::spawn({
                let path = path.clone();
                move || {
                    let mut text = String::new();
                    File::open(path).unwrap().read_to_string(&mut text).unwrap();
                    text
                }
            });
            write(&path, b"through the pipe").unwrap();
            assert_eq!(reader.join().unwrap(), "through the pipe");
            assert_eq!(names(folder.path()), ["fifo"]);
        }
    }
}
