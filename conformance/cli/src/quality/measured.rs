//! What the software device counts while an op runs at the size of a model.

use backend_hip::{HipBackend, Options};
use kernels::Backend as _;
use serde::{Deserialize, Serialize};

use super::least::least;
use super::resources::Resources;
use super::sizes::{Case, cases};
use super::{Quality, QualityError, resources};

/// Costs of an op at one size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The op.
    pub op: String,
    /// Model and size.
    pub case: String,
    /// The kernels that it launches, in order.
    pub kernels: Vec<String>,
    /// Fewest waves on a SIMD among the launches, with the blocks and the LDS that they have.
    pub waves: f64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Bytes that the op has to move.
    pub least: u64,
    /// Vector accesses to memory.
    pub accesses: u64,
    /// Cache lines of 128 bytes that they touch.
    pub lines: u64,
    /// Extra cycles of LDS for bank conflicts.
    pub conflicts: u64,
}

impl Measured {
    /// Bytes moved for each that has to be.
    pub fn ratio(&self) -> f64 {
        self.bytes as f64 / self.least.max(1) as f64
    }

    /// Cache lines that a vector access touches.
    pub fn lines_per_access(&self) -> f64 {
        self.lines as f64 / self.accesses.max(1) as f64
    }

    /// The costs of `case` on a backend on the software device.
    pub fn of(backend: &HipBackend, case: &Case) -> Result<Self, QualityError> {
        let device = QualityError::device(case);
        let refused = |why: &dyn std::fmt::Display| QualityError::run(case, why);
        let software =
            backend.software_device().ok_or_else(|| refused(&"needs the software device to count"))?;
        let stream = backend.stream().map_err(&device)?;
        let mut buffers = case.record.upload(backend, &stream).map_err(&device)?;
        let op =
            case.record.bind(&mut buffers).map_err(|e| refused(&e))?.validate().map_err(|e| refused(&e))?;
        backend.synchronize(&stream).map_err(&device)?;
        let before = software.counters();
        backend.launch(&stream, op).map_err(&device)?;
        backend.synchronize(&stream).map_err(&device)?;
        let after = software.counters();
        let launches = stream.launches();
        let waves = launches.iter().map(|l| Resources::launched(&l.kernel, l.block, l.dynamic_lds).waves);
        Ok(Measured {
            op: case.record.stem.name().into(),
            case: case.name.clone(),
            kernels: launches.iter().map(|launch| launch.kernel.name.clone()).collect(),
            waves: waves.fold(f64::INFINITY, f64::min),
            bytes: after.bytes_read + after.bytes_written - before.bytes_read - before.bytes_written,
            least: least(&case.record) as u64,
            accesses: after.loads + after.stores + after.atomics
                - before.loads
                - before.stores
                - before.atomics,
            lines: after.cache_lines - before.cache_lines,
            conflicts: after.bank_conflicts - before.bank_conflicts,
        })
    }
}

/// The figures of the kernels of `options` whose names contain `name`; `each` is told how many of how many ops have run.
pub fn survey(
    options: Options,
    name: &str,
    mut each: impl FnMut(usize, usize),
) -> Result<Quality, QualityError> {
    let mut kernels = resources(&options.objects.clone().over(backend_hip::objects::Objects::own()))?;
    kernels.retain(|kernel| kernel.kernel.contains(name));
    let backend = HipBackend::software(softhip::control::Options::default(), options)?;
    let mut cases = cases();
    // A kernel is called after its op.
    cases.retain(|case| kernels.iter().any(|kernel| kernel.kernel.starts_with(case.record.stem.name())));
    let all = cases.len();
    let mut measured = Vec::with_capacity(all);
    for case in cases {
        measured.push(Measured::of(&backend, &case)?);
        each(measured.len(), all);
    }
    measured.retain(|op| op.kernels.iter().any(|kernel| kernel.contains(name)));
    Ok(Quality { kernels, measured })
}
