//! What notices an access outside a buffer.

use std::fmt;
use std::str::FromStr;

use backend_cpu::fence::{Fence, FenceError};
use backend_cpu::host::{Compute, Host};
use kernels::{Backend, DeviceError};
use serde::{Deserialize, Serialize};

use crate::far::Far;
use crate::target::{Bare, Guards, Target};

/// What notices an access outside a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Guard {
    /// Canaries on both sides of each buffer: a write outside is found after the op.
    #[default]
    Canaries,
    /// Each buffer ends at an unmapped page: a read or a write past the end kills the worker at once. CPU backends only.
    FenceAfter,
    /// Each buffer starts at an unmapped page: a read or a write before the start does the same. CPU backends only.
    FenceBefore,
    /// Rows are gigabytes apart, and what is between them is never touched: offsets that do not fit in 32 bits. Software device only.
    Far,
    /// Nothing, for comparison.
    Off,
}

impl Guard {
    /// All of them, in the order of help texts.
    pub const ALL: [Guard; 5] =
        [Guard::Canaries, Guard::FenceAfter, Guard::FenceBefore, Guard::Far, Guard::Off];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Guard::Canaries => "canaries",
            Guard::FenceAfter => "fence-after",
            Guard::FenceBefore => "fence-before",
            Guard::Far => "far",
            Guard::Off => "off",
        }
    }

    /// What it does, in a sentence for help texts.
    pub const fn about(self) -> &'static str {
        match self {
            Guard::Canaries => "Canaries on both sides of each buffer: a write outside is found after the op",
            Guard::FenceAfter => {
                "Each buffer ends at an unmapped page: a read or a write past the end kills the worker at once. CPU backends only"
            }
            Guard::FenceBefore => {
                "Each buffer starts at an unmapped page: a read or a write before the start does the same. CPU backends only"
            }
            Guard::Far => {
                "Rows begin gigabytes apart: an offset that is cut to 32 bits leads elsewhere. Software device only"
            }
            Guard::Off => "Nothing, for comparison",
        }
    }

    /// The edge of a buffer that is fenced, if one is.
    pub const fn fence(self) -> Option<Fence> {
        match self {
            Guard::FenceAfter => Some(Fence::After),
            Guard::FenceBefore => Some(Fence::Before),
            Guard::Canaries | Guard::Far | Guard::Off => None,
        }
    }
}

impl fmt::Display for Guard {
    /// As on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The name of no guard.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("'{0}' is no guard: want canaries, fence-after, fence-before, far or off")]
pub struct UnknownGuard(String);

impl FromStr for Guard {
    type Err = UnknownGuard;

    fn from_str(name: &str) -> Result<Self, UnknownGuard> {
        let found = Guard::ALL.into_iter().find(|guard| guard.name() == name);
        found.ok_or_else(|| UnknownGuard(name.into()))
    }
}

/// `backend` as a target with canaries around every buffer.
pub fn with_canaries<B: Backend + 'static>(backend: B) -> Result<Box<dyn Target>, DeviceError> {
    Ok(Box::new(Guards::new(backend)?))
}

/// `backend` as a target with rows far apart, see [`Far`].
pub fn with_rows_far_apart<B: Backend + 'static>(backend: B) -> Result<Box<dyn Target>, DeviceError> {
    Ok(Box::new(Far::new(backend, 0)?))
}

/// `backend` as a target with nothing around its buffers.
pub fn without<B: Backend + 'static>(backend: B) -> Result<Box<dyn Target>, DeviceError> {
    Ok(Box::new(Bare::new(backend)?))
}

/// A target that cannot be fenced.
#[derive(Debug, thiserror::Error)]
pub enum FencedError {
    /// This system has no fences.
    #[error(transparent)]
    Fence(#[from] FenceError),
    /// The backend failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// A backend in host memory as a target, with each buffer against an unmapped page.
pub fn with_fence<C: Compute + 'static>(compute: C, fence: Fence) -> Result<Box<dyn Target>, FencedError> {
    Ok(without(Host::with_fence(compute, fence)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_reads_as_it_is_written() {
        for guard in Guard::ALL {
            assert_eq!(guard.to_string().parse(), Ok(guard));
            assert_eq!(serde_json::to_value(guard).unwrap(), guard.name());
        }
        assert_eq!("fences".parse::<Guard>(), Err(UnknownGuard("fences".into())));
    }
}
