//! The host's view of a launch's memory while the launch runs.

use super::launch::LaunchMemory;

impl LaunchMemory {
    /// The 8 bytes at an address, whatever is known about them; `None` if they are in no allocation.
    pub(crate) fn peek(&self, address: u64) -> Option<u64> {
        let (allocation, offset) = self.space.resolve(address, 8)?;
        let mut bytes = [0; 8];
        allocation.cells.read(offset, &mut bytes);
        Some(u64::from_le_bytes(bytes))
    }

    /// Replaces the 8 bytes at an address; `None` if they are in no allocation.
    pub(crate) fn poke(&self, address: u64, word: u64) -> Option<()> {
        let (allocation, offset) = self.space.resolve(address, 8)?;
        allocation.cells.write(offset, &word.to_le_bytes());
        allocation.init.cover(offset, 8);
        Some(())
    }
}
