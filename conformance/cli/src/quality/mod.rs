//! What kernels cost on a CDNA3 GPU, as far as that can be known without one.
//!
//! * [`mod@resources`]: what an object says about its kernels, and how many waves of them fit on a SIMD.
//! * [`sizes`]: the ops at the sizes of two models; [`least`], the bytes that each has to move.
//! * [`measured`]: what the software device counts while they run.
//! * [`baseline`]: figures that are on record, and what has become worse since.
//!
//! The counts are those of checked emulation. They are properties of the code (which addresses it touches), not times.

pub mod baseline;
pub mod least;
pub mod measured;
pub mod resources;
pub mod sizes;

use backend_hip::objects::{Objects, STEMS};
use kernels::DeviceError;
use softhip::object::{CodeObject, ObjectError};

pub use baseline::Baseline;
pub use measured::{Measured, survey};
pub use resources::Resources;

/// Figures of kernels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quality {
    /// Each kernel of the objects.
    pub kernels: Vec<Resources>,
    /// Each op at the sizes of a model.
    pub measured: Vec<Measured>,
}

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub enum QualityError {
    /// An object is not there, or cannot be had.
    #[error("code object of '{stem}': {why}")]
    NoObject {
        /// Its stem.
        stem: String,
        /// What is in the way.
        why: String,
    },
    /// An object cannot be read.
    #[error("code object of '{stem}': {source}")]
    Object {
        /// Its stem.
        stem: String,
        /// What is wrong with it.
        source: ObjectError,
    },
    /// The log of copies cannot be made.
    #[error("the software device: {0}")]
    Device(#[from] std::io::Error),
    /// An op at the size of a model is refused, or fails.
    #[error("{op} {case}: {why}")]
    Run {
        /// The op.
        op: &'static str,
        /// Its size.
        case: String,
        /// What was said.
        why: String,
    },
}

impl QualityError {
    fn run(case: &sizes::Case, why: &dyn std::fmt::Display) -> Self {
        QualityError::Run { op: case.record.stem.name(), case: case.name.clone(), why: why.to_string() }
    }

    fn device(case: &sizes::Case) -> impl Fn(DeviceError) -> Self {
        move |error| Self::run(case, &error)
    }
}

/// What `objects` say about all of their kernels.
pub fn resources(objects: &Objects) -> Result<Vec<Resources>, QualityError> {
    let mut all = Vec::new();
    for stem in STEMS {
        let no_object = |why: String| QualityError::NoObject { stem: (*stem).into(), why };
        let found = objects.first(stem).ok_or_else(|| no_object("there is none".into()))?;
        let bytes = found.map_err(|error| no_object(error.to_string()))?;
        let object = CodeObject::parse(&bytes)
            .map_err(|source| QualityError::Object { stem: (*stem).into(), source })?;
        all.extend(object.kernels().iter().map(Resources::of));
    }
    Ok(all)
}
