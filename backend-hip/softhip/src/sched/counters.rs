//! What kernels cost, counted.

use std::collections::BTreeSet;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Counts over one or more launches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Launches.
    pub launches: u64,
    /// Workgroups.
    pub groups: u64,
    /// Waves.
    pub waves: u64,
    /// Wave instructions of every kind.
    pub instructions: u64,
    /// Scalar arithmetic and control (SOP*).
    pub scalar: u64,
    /// Vector arithmetic (VOP*).
    pub vector: u64,
    /// Matrix instructions (MFMA).
    pub matrix: u64,
    /// Wave instructions whose rounding follows a published model of the hardware: matrix and dot products of floats.
    #[serde(default)]
    pub modelled: u64,
    /// Wave instructions that are approximate on the hardware: transcendental functions, reciprocals, roots. All that are
    /// neither modelled nor approximate are exact.
    #[serde(default)]
    pub approximate: u64,
    /// Scalar loads (SMEM).
    pub scalar_loads: u64,
    /// Vector loads from memory.
    pub loads: u64,
    /// Vector stores to memory.
    pub stores: u64,
    /// Atomics on memory.
    pub atomics: u64,
    /// LDS instructions.
    pub lds: u64,
    /// Barriers, per wave.
    pub barriers: u64,
    /// Bytes that active lanes and scalar loads read from memory.
    pub bytes_read: u64,
    /// Bytes that active lanes wrote to memory.
    pub bytes_written: u64,
    /// Cache lines of 128 bytes that vector accesses touched, summed over the accesses.
    pub cache_lines: u64,
    /// Extra LDS cycles for bank conflicts.
    pub bank_conflicts: u64,
    /// Lanes whose access was beyond the range of its buffer resource: loads gave 0, stores and atomics did nothing.
    #[serde(default)]
    pub out_of_range: u64,
    /// Operations of the kernels that ran which have no test of their own.
    #[serde(default)]
    pub untested: BTreeSet<String>,
}

impl Counters {
    /// Wave instructions that are exact by integer arithmetic or IEEE 754.
    pub fn exact(&self) -> u64 {
        self.instructions - self.modelled - self.approximate
    }
}

impl AddAssign<&Self> for Counters {
    fn add_assign(&mut self, other: &Self) {
        self.launches += other.launches;
        self.groups += other.groups;
        self.waves += other.waves;
        self.instructions += other.instructions;
        self.scalar += other.scalar;
        self.vector += other.vector;
        self.matrix += other.matrix;
        self.modelled += other.modelled;
        self.approximate += other.approximate;
        self.scalar_loads += other.scalar_loads;
        self.loads += other.loads;
        self.stores += other.stores;
        self.atomics += other.atomics;
        self.lds += other.lds;
        self.barriers += other.barriers;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
        self.cache_lines += other.cache_lines;
        self.bank_conflicts += other.bank_conflicts;
        self.out_of_range += other.out_of_range;
        if !other.untested.is_empty() {
            self.untested.extend(other.untested.iter().cloned());
        }
    }
}
