//! The state in which a wave starts.

use code_object::{Descriptor, UserSgpr};

use super::core::mode::Mode;
use super::core::wave::{LEFT_OVER, SCALARS, State, Wave};
use crate::isa::inst::scalar;
use crate::memory::{LaunchMemory, WAVE};
use crate::sched::Dispatch;

/// What all waves of a launch have in common.
#[derive(Debug, Clone)]
pub(super) struct Start {
    descriptor: Descriptor,
    block: [u32; 3],
    /// The scalar registers before the workgroup ids.
    user: [u32; MOST_USER_SGPRS],
    /// How many of them there are.
    count: usize,
    mode: Mode,
    entry: u32,
}

/// User SGPRs that the hardware can fill.
const MOST_USER_SGPRS: usize = 16;
/// Bytes of scratch per lane: the field for a wave's scratch has 13 bits, in units of 1 KiB.
const MOST_SCRATCH: u32 = 0x1FFF * 1024 / 64;

/// A kernel asks for something that the device does not give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum StartError {
    /// A user SGPR.
    #[error("the kernel asks for {0:?}, which this device does not provide")]
    UserSgpr(UserSgpr),
    /// More SGPRs than there are.
    #[error("the kernel asks for {0} user SGPRs")]
    TooMany(usize),
    /// More private memory than the hardware has for a wave.
    #[error(
        "the kernel asks for {0} bytes of scratch per thread; a wave has at most {MOST_SCRATCH} for each"
    )]
    Scratch(u32),
    /// The arguments to preload cannot be read.
    #[error("the arguments to preload are outside of the argument segment")]
    Preload,
}

impl Start {
    pub(super) fn new(
        descriptor: Descriptor,
        dispatch: &Dispatch,
        entry: u32,
        memory: &LaunchMemory,
    ) -> Result<Self, StartError> {
        let (block, kernarg) = (dispatch.block, dispatch.kernarg_address);
        let pair = |address: u64| [address as u32, (address >> 32) as u32];
        // Without the private segment's buffer, the kinds below need fewer than there are.
        let (mut user, mut count) = ([0; MOST_USER_SGPRS], 0);
        let mut push = |values: &[u32]| {
            user[count..count + values.len()].copy_from_slice(values);
            count += values.len();
        };
        for which in UserSgpr::ALL.into_iter().filter(|&which| descriptor.has_user_sgpr(which)) {
            match which {
                UserSgpr::KernargSegmentPtr => push(&pair(kernarg)),
                UserSgpr::DispatchPtr => push(&pair(dispatch.packet_address)),
                UserSgpr::QueuePtr => push(&pair(dispatch.queue_address)),
                UserSgpr::PrivateSegmentSize => push(&[descriptor.scratch_size]),
                // Scratch is addressed per lane from 0; dispatches are not numbered.
                UserSgpr::FlatScratchInit | UserSgpr::DispatchId => push(&[0, 0]),
                UserSgpr::PrivateSegmentBuffer => return Err(StartError::UserSgpr(which)),
            }
        }
        let (length, first) = (descriptor.kernarg_preload & 127, descriptor.kernarg_preload >> 7);
        if descriptor.scratch_size > MOST_SCRATCH {
            return Err(StartError::Scratch(descriptor.scratch_size));
        }
        let all = count + usize::from(length);
        let Some(preloaded) = user.get_mut(count..all) else { return Err(StartError::TooMany(all)) };
        if length != 0 {
            let at = kernarg.wrapping_add(4 * u64::from(first));
            let loaded = memory.load_masked(&mut memory.group(0), at, 0, preloaded);
            loaded.map_err(|_| StartError::Preload)?;
        }
        Ok(Self { descriptor, block, user, count: all, mode: Mode::from_rsrc1(descriptor.rsrc1), entry })
    }

    /// Waves per workgroup.
    pub(super) fn waves(&self) -> u32 {
        let threads: u32 = self.block.iter().product();
        threads.div_ceil(WAVE as u32)
    }

    /// Prepares wave `id` of the workgroup at `group`; the vector registers are left over already.
    pub(super) fn wave(&self, wave: &mut Wave, id: u32, group: [u32; 3]) {
        wave.s = [0; SCALARS];
        wave.s[..usize::from(scalar::FLAT_SCRATCH)].fill(LEFT_OVER);
        wave.set_pair(scalar::VCC, u64::from(LEFT_OVER) << 32 | u64::from(LEFT_OVER));
        let user = &self.user[..self.count];
        wave.s[..user.len()].copy_from_slice(user);
        let mut next = user.len().max(self.descriptor.user_sgprs() as usize);
        for (dimension, coordinate) in (0..).zip(group) {
            if self.descriptor.has_workgroup_id(dimension) {
                wave.s[next] = coordinate;
                next += 1;
            }
        }
        let threads: u32 = self.block.iter().product();
        let first = id * WAVE as u32;
        let active = (threads - first).min(WAVE as u32);
        wave.set_exec(u64::MAX >> (64 - active));
        wave.s[usize::from(scalar::M0)] = u32::MAX;
        let [x, y, _] = self.block;
        let [mut at_x, mut at_y, mut at_z] = [first % x, first / x % y, first / x / y];
        if at_x + WAVE as u32 <= x {
            // All in one row.
            let row = (at_y << 10) | (at_z << 20);
            wave.v[0] = std::array::from_fn(|lane| (at_x + lane as u32) | row);
        } else {
            for ids in &mut wave.v[0] {
                *ids = at_x | (at_y << 10) | (at_z << 20);
                at_x += 1;
                if at_x == x {
                    (at_x, at_y) = (0, at_y + 1);
                }
                if at_y == y {
                    (at_y, at_z) = (0, at_z + 1);
                }
            }
        }
        wave.scc = false;
        wave.mode = self.mode;
        wave.gpr_index = false;
        wave.vskip = false;
        wave.pc = self.entry;
        wave.marks = None;
        wave.poison = 0;
        wave.poisonings.clear();
        wave.waits.clear();
        wave.state = State::Ready;
        wave.executed = 0;
        wave.id = id;
    }
}
