//! What a process asks of the operating system for itself. `unsafe` stands here for the calls; each changes this process alone.
//!
//! Where the system is no Unix, these functions do nothing: there are no such limits.

pub mod memory;

use std::fs;
use std::io;
use std::process;
use std::thread;
use std::time::Duration;

/// How often a process looks whether its parent is still there.
const LOOKS: Duration = Duration::from_millis(500);

/// A limit that the operating system keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Bytes of address space. An allocation beyond it fails: see [`memory`].
    Memory(u64),
    /// Seconds of processor time. The process is killed after it.
    Time(u64),
    /// Bytes of a file with the memory of a process that crashed.
    Core(u64),
}

/// Sets a limit of this process. It cannot be raised again.
pub fn limit(limit: Limit) -> io::Result<()> {
    #[cfg(unix)]
    unix::limit(limit)?;
    #[cfg(not(unix))]
    let _ = limit;
    Ok(())
}

/// A write beyond the largest size of files (`ulimit -f`) is an error from now on, not the end of the process by `SIGXFSZ`.
pub fn file_size_limit_is_an_error() {
    #[cfg(unix)]
    unix::ignore(libc::SIGXFSZ);
}

/// Ends this process when `parent` is no longer its parent: a worker does not outlive a program that was killed.
pub fn end_with_parent(parent: u32) -> io::Result<()> {
    #[cfg(unix)]
    {
        let watch = move || {
            while std::os::unix::process::parent_id() == parent {
                thread::sleep(LOOKS);
            }
            process::exit(0);
        };
        thread::Builder::new().name("parent watch".into()).spawn(watch)?;
    }
    #[cfg(not(unix))]
    let _ = parent;
    Ok(())
}

/// How long the threads of a process were ready to run and had no processor: the longest of them. `None` where the system does not say.
pub fn waited_for_processor(process: u32) -> Option<Duration> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let waited = |thread: io::Result<fs::DirEntry>| -> Option<u64> {
        let numbers = fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        numbers.split(' ').nth(1)?.parse().ok()
    };
    threads.filter_map(waited).max().map(Duration::from_nanos)
}

#[cfg(unix)]
mod unix {
    #![expect(unsafe_code, reason = "calls of the operating system")]

    use std::io;

    use super::Limit;

    pub(super) fn limit(limit: Limit) -> io::Result<()> {
        let (resource, value) = match limit {
            Limit::Memory(bytes) => (libc::RLIMIT_AS, bytes),
            Limit::Time(seconds) => (libc::RLIMIT_CPU, seconds),
            Limit::Core(bytes) => (libc::RLIMIT_CORE, bytes),
        };
        let limit = libc::rlimit { rlim_cur: value, rlim_max: value };
        // SAFETY: `limit` is a valid `rlimit`, which the call only reads.
        match unsafe { libc::setrlimit(resource, &raw const limit) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub(super) fn ignore(signal: libc::c_int) {
        // SAFETY: to ignore a signal runs no code of ours.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn time_without_a_processor_grows_where_there_are_too_few() {
        let waited = || waited_for_processor(process::id()).unwrap();
        let before = waited();
        let spin = || {
            let begin = std::time::Instant::now();
            while begin.elapsed() < Duration::from_millis(300) {
                std::hint::spin_loop();
            }
        };
        let threads = 4 * thread::available_parallelism().unwrap().get();
        let during = thread::scope(|scope| {
            (0..threads).for_each(|_| drop(scope.spawn(spin)));
            thread::sleep(Duration::from_millis(200));
            waited()
        });
        assert!(during > before, "{before:?} {during:?}");
        assert_eq!(waited_for_processor(u32::MAX), None);
    }
}
