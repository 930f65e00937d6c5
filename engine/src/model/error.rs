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
    /// The activations of a batch are larger than the address space.
    #[error("activations '{label}': {rows} rows of {row:?} f32 values overflow the address space")]
    ActivationSize {
        /// Which activations.
        label: &'static str,
        /// Rows of the batch.
        rows: usize,
        /// Shape of a row.
        row: Vec<usize>,
    },
    /// A number of the metadata is larger than every extent of the file's tensors. Memory is asked for by these numbers.
    #[error("{what} is {found}, the largest extent of a tensor of the file is {largest}")]
    NoSuchExtent {
        /// The key, or what else the number is.
        what: &'static str,
        /// The number.
        found: usize,
        /// The largest extent.
        largest: usize,
    },
    /// The backend could not store the weights, the activations or the indices of a batch.
    #[error("{what}: {source}")]
    Load {
        /// A tensor, or what else was to be stored.
        what: String,
        /// The device's error.
        source: DeviceError,
    },
    /// An op refused its operands: numbers of the file or of the batch contradict each other.
    #[error("{site}: {source}")]
    Op {
        /// Where in the model.
        site: Site,
        /// Which operand and which numbers.
        source: Box<OpError>,
    },
    /// The device failed.
    #[error("{site}: {source}")]
    Device {
        /// Where in the model.
        site: Box<Site>,
        /// The device's error.
        source: DeviceError,
    },
    /// The rows do not fit into the cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A tap could not be written.
    #[error(transparent)]
    Tap(#[from] TapError),
}

impl ModelError {
    /// True if the device is at fault, not the caller or the file.
    pub fn is_device(&self) -> bool {
        self.device().is_some()
    }

    /// The device's error, if it is at fault.
    pub const fn device(&self) -> Option<&DeviceError> {
        match self {
            ModelError::Device { source, .. } | ModelError::Load { source, .. } => Some(source),
            ModelError::Cache(error) => error.device(),
            _ => None,
        }
    }
}
