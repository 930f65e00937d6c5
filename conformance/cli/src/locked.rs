//! `--locked`: one run at a time on a device, with HIP's debug environment, and a record of everything that could make it differ from
//! another run.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

use crate::report::Provenance;

/// What a locked run sets, so that each launch and copy is waited for and calls are logged.
const DEBUG: [(&str, &str); 7] = [
    ("AMD_LOG_LEVEL", "3"),
    ("HIP_LAUNCH_BLOCKING", "1"),
    ("AMD_SERIALIZE_KERNEL", "3"),
    ("AMD_SERIALIZE_COPY", "3"),
    ("HSA_ENABLE_SDMA", "0"),
    ("HSA_ENABLE_INTERRUPT", "1"),
    ("HSA_ENABLE_DEBUG", "1"),
];

/// Variables that begin like this change what a HIP program does.
const PREFIXES: [&str; 11] =
    ["AMD_", "ASSAY_", "GCORE_", "GPU_", "GRETA_", "HIP_", "HSA_", "LD_", "OMP_", "ROCM_", "ROCR_"];

/// A device that another run holds, or a lock that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another run holds it.
    #[error("{}: the device is locked by {holder}", path.display())]
    Held {
        /// The lock.
        path: PathBuf,
        /// What the holder wrote.
        holder: String,
    },
    /// The file system's answer.
    #[error("{}: {source}", path.display())]
    Io {
        /// The lock.
        path: PathBuf,
        /// What went wrong.
        source: std::io::Error,
    },
}

/// A locked device. The lock goes with the process, however that ends.
#[derive(Debug)]
pub struct Locked {
    path: PathBuf,
    _file: File,
}

impl Locked {
    /// Locks the device that `HIP_VISIBLE_DEVICES` names, in the folder for temporary files.
    pub fn take() -> Result<Self, LockError> {
        Self::take_in(&std::env::temp_dir())
    }

    /// As [`Locked::take`], in a folder.
    fn take_in(folder: &Path) -> Result<Self, LockError> {
        let device = std::env::var("HIP_VISIBLE_DEVICES").unwrap_or_else(|_| "0".into());
        let device: String = device.chars().filter(char::is_ascii_alphanumeric).collect();
        let path = folder.join(format!("assay-device-{device}.lock"));
        let io = |source| LockError::Io { path: path.clone(), source };
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = opened.map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // A holder that has not written its name yet has none.
                let _ = file.read_to_string(&mut holder);
                let holder =
                    if holder.trim().is_empty() { "another process".into() } else { holder.trim().into() };
                return Err(LockError::Held { path, holder });
            }
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        file.set_len(0).and_then(|()| writeln!(file, "process {}", std::process::id())).map_err(io)?;
        Ok(Locked { path, _file: file })
    }

    /// Sets the debug environment of a process that is to run. What the user has set stays.
    pub fn prepare(command: &mut Command) {
        for (name, value) in DEBUG {
            if std::env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
    }

    /// What the lock is, and what was set.
    pub fn json(&self) -> Value {
        let set = DEBUG.map(|(name, value)| {
            let value = std::env::var(name).unwrap_or_else(|_| value.to_owned());
            (name.to_owned(), Value::from(value))
        });
        json!({ "lock": self.path.display().to_string(), "debug_environment": Map::from_iter(set) })
    }
}

/// Everything that could make a run differ from another: driver, clocks, environment, state of the sources.
pub fn surroundings() -> Value {
    let read = |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let here = Provenance::here();
    let variables = std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok()?;
        let ours = PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        ours.then(|| (name, Value::from(value.to_string_lossy().into_owned())))
    });
    let mut variables: Vec<_> = variables.collect();
    variables.sort_by(|a, b| a.0.cmp(&b.0));
    json!({
        "machine": here.machine,
        "system": read("/proc/sys/kernel/osrelease"),
        "driver": read("/sys/module/amdgpu/version"),
        "rocm": read("/opt/rocm/.info/version"),
        "clocks": {
            "gpu": read("/sys/class/drm/card0/device/pp_dpm_sclk"),
            "memory": read("/sys/class/drm/card0/device/pp_dpm_mclk"),
            "cpu_governor": read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        },
        "environment": Map::from_iter(variables),
        "git": { "commit": git(&["rev-parse", "HEAD"]), "changed_files": git(&["status", "--porcelain"]).map(|text| text.lines().count()) },
    })
}

/// What git says about the folder that the command was started in.
fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_locked_once_and_free_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let first = Locked::take_in(folder.path()).unwrap();
        let second = Locked::take_in(folder.path()).unwrap_err();
        let said = second.to_string();
        assert!(said.contains(&format!("locked by process {}", std::process::id())), "{said}");
        drop(first);
        Locked::take_in(folder.path()).unwrap();
    }

    #[test]
    fn the_debug_environment_is_set_and_recorded() {
        let mut command = Command::new("true");
        Locked::prepare(&mut command);
        let set: Vec<_> = command.get_envs().map(|(name, _)| name.to_str().unwrap().to_owned()).collect();
        let record = Locked::take_in(tempfile::tempdir().unwrap().path()).unwrap().json();
        for name in [
            "AMD_LOG_LEVEL",
            "HIP_LAUNCH_BLOCKING",
            "AMD_SERIALIZE_KERNEL",
            "AMD_SERIALIZE_COPY",
            "HSA_ENABLE_SDMA",
        ] {
            assert!(set.iter().any(|known| known == name) || std::env::var_os(name).is_some(), "{name}");
            assert!(record["debug_environment"][name].is_string(), "{name}");
        }
        assert!(surroundings()["machine"].is_string());
    }
}
