//! What foreign kernels cost: bytes moved against the fewest possible, and against our own kernels.

use backend_hip::HipBackend;
use conformance::taken::Taken;
use kernels::{Backend as _, Stem, Support};
use serde::Serialize;

use crate::quality::sizes::Case;
use crate::quality::{Measured, QualityError, sizes};

/// The cost of an op at a size of a model.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// Model and size.
    pub case: String,
    /// The kernels, in order.
    pub kernels: Vec<String>,
    /// Bytes read and written.
    pub bytes: u64,
    /// Bytes that the op has to move.
    pub least: u64,
    /// Bytes for each that has to be moved.
    pub ratio: f64,
    /// The same ratio of our own kernels.
    pub ratio_of_ours: f64,
    /// Cache lines that a vector access touches.
    pub lines_per_access: f64,
    /// Extra cycles of LDS for bank conflicts.
    pub conflicts: u64,
    /// Waves on a SIMD.
    pub waves: f64,
}

/// The costs of `stem` on `theirs`, in types that they take, and on `ours`, at the sizes that their kernels take.
pub fn costs(
    stem: Stem,
    taken: &Taken,
    theirs: &HipBackend,
    ours: &HipBackend,
) -> Result<Vec<Cost>, QualityError> {
    let mut costs = Vec::new();
    for case in sizes::cases().into_iter().filter(|case| case.record.stem == stem) {
        let posed = Case { name: case.name.clone(), record: taken.apply(&case.record).into_owned() };
        if theirs.supports(&posed.record.form()) != Support::Yes {
            continue;
        }
        let (theirs, ours) = (Measured::of(theirs, &posed)?, Measured::of(ours, &case)?);
        costs.push(Cost {
            ratio: theirs.ratio(),
            ratio_of_ours: ours.ratio(),
            lines_per_access: theirs.lines_per_access(),
            case: theirs.case,
            kernels: theirs.kernels,
            bytes: theirs.bytes,
            least: theirs.least,
            conflicts: theirs.conflicts,
            waves: theirs.waves,
        });
    }
    Ok(costs)
}
