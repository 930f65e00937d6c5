//! What a kernel costs, counted.

use super::uop::Kind;

/// Counts of one launch. Sums over waves; the order of execution has no influence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    /// Wave instructions by kind, see [`Counters::of`].
    instructions: [u64; Kind::ALL.len()],
    /// Waves run.
    pub waves: u64,
    /// Workgroups run.
    pub workgroups: u64,
    /// Bytes that lanes loaded from global memory.
    pub bytes_loaded: u64,
    /// Bytes that lanes stored to global memory.
    pub bytes_stored: u64,
    /// Bytes of scalar loads.
    pub scalar_bytes: u64,
    /// Distinct 64-byte lines, summed over accesses to global memory.
    pub lines_64: u64,
    /// Distinct 128-byte lines, summed over accesses to global memory.
    pub lines_128: u64,
    /// Accesses to global memory.
    pub accesses: u64,
    /// Extra passes that LDS accesses need because lanes hit different words of one bank.
    pub bank_conflicts: u64,
    /// Barriers passed, per wave.
    pub barriers: u64,
}

impl Counters {
    /// Wave instructions of one kind.
    pub fn of(&self, kind: Kind) -> u64 {
        self.instructions[kind as usize]
    }

    /// Wave instructions of all kinds.
    pub fn total(&self) -> u64 {
        self.instructions.iter().sum()
    }

    #[inline]
    pub(in crate::exec) fn count(&mut self, kind: Kind) {
        self.instructions[kind as usize] += 1;
    }

    /// Adds another thread's counts.
    pub fn add(&mut self, other: &Self) {
        for (sum, n) in self.instructions.iter_mut().zip(other.instructions) {
            *sum += n;
        }
        self.waves += other.waves;
        self.workgroups += other.workgroups;
        self.bytes_loaded += other.bytes_loaded;
        self.bytes_stored += other.bytes_stored;
        self.scalar_bytes += other.scalar_bytes;
        self.lines_64 += other.lines_64;
        self.lines_128 += other.lines_128;
        self.accesses += other.accesses;
        self.bank_conflicts += other.bank_conflicts;
        self.barriers += other.barriers;
    }
}
