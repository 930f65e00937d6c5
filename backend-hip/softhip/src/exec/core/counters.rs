//! What a kernel costs, counted while it runs.

use super::uop::Kind;
use crate::sched::Counters;

/// Counts of one host thread. They are sums over waves, so the order of execution has no influence.
#[derive(Debug, Clone, Default)]
pub(in crate::exec) struct Tally {
    /// Wave instructions by [`Kind`].
    pub instructions: [u64; Kind::COUNT],
    pub groups: u64,
    pub waves: u64,
    pub barriers: u64,
    /// Bytes that lanes and scalar loads read from global memory.
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// Distinct lines of 128 bytes, summed over accesses.
    pub cache_lines: u64,
    /// Extra passes of LDS accesses whose lanes hit different words of one bank.
    pub bank_conflicts: u64,
    /// Lanes whose access was beyond the range of its buffer resource.
    pub out_of_range: u64,
}

impl Tally {
    /// All wave instructions.
    pub fn instructions(&self) -> u64 {
        self.instructions.iter().sum()
    }

    /// Adds these counts to a launch's.
    pub fn add_to(&self, sum: &mut Counters) {
        let of = |kind: Kind| self.instructions[kind as usize];
        sum.groups += self.groups;
        sum.waves += self.waves;
        sum.instructions += self.instructions();
        sum.scalar += of(Kind::Scalar) + of(Kind::Control);
        sum.vector += of(Kind::Vector) + of(Kind::ModelledVector) + of(Kind::Approximate);
        sum.matrix += of(Kind::Matrix) + of(Kind::ExactMatrix);
        sum.modelled += of(Kind::Matrix) + of(Kind::ModelledVector);
        sum.approximate += of(Kind::Approximate);
        sum.scalar_loads += of(Kind::ScalarMemory);
        sum.loads += of(Kind::GlobalLoad) + of(Kind::ScratchLoad);
        sum.stores += of(Kind::GlobalStore) + of(Kind::ScratchStore);
        sum.atomics += of(Kind::GlobalAtomic);
        sum.lds += of(Kind::Local);
        sum.barriers += self.barriers;
        sum.bytes_read += self.bytes_read;
        sum.bytes_written += self.bytes_written;
        sum.cache_lines += self.cache_lines;
        sum.bank_conflicts += self.bank_conflicts;
        sum.out_of_range += self.out_of_range;
    }
}
