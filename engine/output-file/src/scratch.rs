//! Files and folders with a name, for other processes to find, that go away.
//!
//! They are removed when their [`Scratch`] is dropped. A program that is told to end drops nothing: whoever handles its signals calls
//! [`remove_all`] first.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

/// Milliseconds for which the end of the program waits for the list.
const PATIENCE: u32 = 100;

static ALL: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A file or a folder that goes away.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// A folder that is made, with the folders above it.
    pub fn folder(path: PathBuf) -> io::Result<Self> {
        let scratch = Self::file(path);
        fs::create_dir_all(&scratch.0)?;
        Ok(scratch)
    }

    /// The place of a file that somebody will write.
    pub fn file(path: PathBuf) -> Self {
        all().push(path.clone());
        Scratch(path)
    }

    /// Lets it stay, or somebody else have its name.
    pub fn keep(mut self) {
        all().retain(|path| *path != self.0);
        self.0 = PathBuf::new();
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove(&self.0);
        all().retain(|path| *path != self.0);
    }
}

/// Removes everything that is still there. The program is about to end, maybe in the middle of a change of the list, for which nobody
/// waits long then.
pub fn remove_all() {
    for _ in 0..PATIENCE {
        let mut all = match ALL.try_lock() {
            Ok(all) => all,
            Err(TryLockError::Poisoned(all)) => all.into_inner(),
            Err(TryLockError::WouldBlock) => {
                thread::sleep(Duration::from_millis(1));
                continue;
            }
        };
        return all.drain(..).for_each(|path| remove(&path));
    }
}

fn all() -> MutexGuard<'static, Vec<PathBuf>> {
    // A list of paths is whole even if somebody panicked beside it.
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes a file or a folder. What was never made, or is gone, is no matter.
fn remove(path: &Path) {
    let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scratch_goes_away_when_dropped_and_when_told_to() {
        let folder = tempfile::tempdir().unwrap();
        let make = || {
            let ops = Scratch::folder(folder.path().join("a/ops")).unwrap();
            fs::write(ops.path().join("1.capsule"), "x").unwrap();
            let file = Scratch::file(folder.path().join("a/candidate"));
            fs::write(file.path(), "x").unwrap();
            (ops, file)
        };
        let left = || fs::read_dir(folder.path().join("a")).unwrap().count();
        let scratch = make();
        assert_eq!(left(), 2);
        drop(scratch);
        assert_eq!(left(), 0);
        let _scratch = make();
        remove_all();
        assert_eq!(left(), 0);
        let (_, file) = make();
        let path = file.path().to_owned();
        file.keep();
        remove_all();
        assert!(path.exists());
    }
}
