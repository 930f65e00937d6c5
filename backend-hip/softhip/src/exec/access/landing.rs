//! Loads to LDS (LDS-DMA) that have not been waited for: their bytes have no value yet, for no wave.
//!
//! They come back in order with the wave's other vector memory instructions. The wave that issued one must wait for it
//! (`vmcnt`) before it reads the bytes, and before the barrier after which other waves read them.

use crate::waits::Wait;

/// A load to LDS that is under way: lane `i` writes the dword at `base + 4 * i`.
#[derive(Debug, Clone, Copy)]
pub(in crate::exec) struct Landing {
    /// The wave within the workgroup.
    wave: u32,
    /// The instruction's index.
    pub index: u32,
    /// Vector memory instructions that the wave has issued after it.
    pub after: u8,
    base: u64,
    exec: u64,
}

impl Landing {
    fn overlaps(&self, at: u64, size: u32) -> bool {
        (at..at + u64::from(size))
            .filter_map(|byte| byte.checked_sub(self.base))
            .any(|byte| byte / 4 < 64 && (self.exec >> (byte / 4)) & 1 != 0)
    }
}

/// The loads to LDS of a workgroup that are under way. Empty unless waves are watched.
#[derive(Debug, Default)]
pub(in crate::exec) struct Landings(Vec<Landing>);

impl Landings {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// A wave issues one.
    pub fn issue(&mut self, wave: u32, index: u32, base: u64, exec: u64) {
        self.0.push(Landing { wave, index, after: 0, base, exec });
    }

    /// A wave issues another vector memory instruction. A full counter makes it wait for the oldest one.
    pub fn count(&mut self, wave: u32) {
        self.0.retain_mut(|landing| {
            landing.after += u8::from(landing.wave == wave);
            landing.after < Wait::VM_MAX
        });
    }

    /// A wave waits until at most `vm` instructions are under way.
    pub fn wait(&mut self, wave: u32, vm: u8) {
        self.0.retain(|landing| landing.wave != wave || landing.after < vm);
    }

    /// The one that is still to write some of these bytes.
    pub fn writing(&self, at: u64, size: u32) -> Option<Landing> {
        self.0.iter().copied().find(|landing| landing.overlaps(at, size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_bytes_of_active_lanes_are_under_way() {
        let mut landings = Landings::default();
        landings.issue(0, 7, 256, 0b101);
        let found = |at, size| landings.writing(at, size).map(|landing| landing.index);
        assert_eq!(found(255, 1), None);
        assert_eq!(found(255, 2), Some(7));
        assert_eq!(found(260, 4), None);
        assert_eq!(found(263, 2), Some(7));
        assert_eq!(found(268, 4096), None);
    }

    #[test]
    fn a_wave_waits_for_its_own_in_order() {
        let mut landings = Landings::default();
        landings.issue(0, 1, 0, u64::MAX);
        landings.count(0);
        landings.count(1);
        landings.issue(0, 2, 256, u64::MAX);
        landings.wait(1, 0);
        assert!(landings.writing(0, 4).is_some(), "another wave's wait");
        landings.wait(0, 1);
        assert!(landings.writing(0, 4).is_none() && landings.writing(256, 4).is_some());
        (0..62).for_each(|_| landings.count(0));
        assert!(!landings.is_empty());
        landings.count(0);
        assert!(landings.is_empty(), "vmcnt counts to 63");
    }
}
