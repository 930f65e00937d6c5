//! What can go wrong in a forward pass, and where.

use kernels::{DeviceError, OpError, Site};

use crate::kv_cache::CacheError;
use crate::taps::TapError;

/// A model that cannot be loaded or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The file lacks a weight.
    #[error("tensor '{tensor}' is missing")]
    Missing {
        /// Its name.
        tensor: String,
    },
    /// The backend could not take the weights or make room for the activations.
    #[error("{what}: {source}")]
    Load {
        /// A tensor or what else was to be placed.
        what: String,
        /// What the device said.
        source: DeviceError,
    },
    /// An op refused its operands: the file's numbers, or those of the batch, do not fit together.
    #[error("{site}: {source}")]
    Op {
        /// Where.
        site: Site,
        /// Which operand and which numbers.
        source: OpError,
    },
    /// The device failed.
    #[error("{site}: {source}")]
    Device {
        /// Where.
        site: Site,
        /// What the device said.
        source: DeviceError,
    },
    /// The rows do not fit the cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A tap could not be written.
    #[error(transparent)]
    Tap(#[from] TapError),
}

impl ModelError {
    /// True where the device is at fault, not the caller or the file.
    pub fn is_device(&self) -> bool {
        match self {
            ModelError::Device { .. } | ModelError::Load { .. } => true,
            ModelError::Cache(error) => error.is_device(),
            _ => false,
        }
    }
}
