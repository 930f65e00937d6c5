//! The state of one wave.

use super::file::VectorFile;
use super::mode::Mode;
use crate::exec::access::scratch::Scratch;
use crate::exec::unwritten::Marks;
use crate::isa::Inst;
use crate::isa::inst::scalar;
use crate::memory::AccessFault;
use crate::waits;

/// Words of the scalar file: those of the encoding, and two that writes to `null` go to.
pub(in crate::exec) const SCALARS: usize = 130;
/// Where writes to `null` go.
pub(in crate::exec) const SINK: u8 = 128;

/// What a register holds when a wave begins that is given nothing in it: on a GPU, something of another wave. NaN in every format of
/// floats, a large number, no lane mask and no part of an address.
pub(in crate::exec) const LEFT_OVER: u32 = 0xffc5_ffc5;

/// What a wave is waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::exec) enum State {
    /// Nothing: it can run.
    Ready,
    /// The other waves, at the barrier with this index.
    AtBarrier(u32),
    /// Nothing any more.
    Ended,
}

/// A scalar load that found some of its dwords invalid.
#[derive(Debug, Clone)]
pub(in crate::exec) struct Poisoning {
    /// The registers it left without a value.
    pub registers: u128,
    /// Why.
    pub fault: AccessFault,
    /// The load.
    pub load: Inst,
}

/// One wave of 64 lanes.
#[derive(Debug)]
pub(in crate::exec) struct Wave {
    /// The scalar file.
    pub s: [u32; SCALARS],
    /// The vector file: VGPRs, AGPRs, temporaries, constants.
    pub v: VectorFile,
    /// Scalar condition code.
    pub scc: bool,
    /// Floating-point modes.
    pub mode: Mode,
    /// VGPR operands are moved by M0, see [`crate::exec::gpr_index`].
    pub gpr_index: bool,
    /// No vector instruction is issued (`s_setvskip`).
    pub vskip: bool,
    /// Index of the next instruction.
    pub pc: u32,
    /// Scalar registers that hold no value.
    pub poison: u128,
    /// Where the poison came from.
    pub poisonings: Vec<Poisoning>,
    /// What has not been waited for; kept up only for programs that need it, see [`crate::exec::unwaited`].
    pub waits: waits::State,
    /// Values that nothing has written, where there are some, see [`crate::exec::unwritten`].
    pub marks: Option<Box<Marks>>,
    /// Private memory.
    pub scratch: Scratch,
    /// Whether it can run.
    pub state: State,
    /// Instructions executed.
    pub executed: u64,
    /// Number within the workgroup.
    pub id: u32,
}

impl Wave {
    /// The active lanes.
    #[inline]
    pub fn exec(&self) -> u64 {
        self.pair(scalar::EXEC)
    }

    #[inline]
    pub fn set_exec(&mut self, exec: u64) {
        self.set_pair(scalar::EXEC, exec);
    }

    /// Two scalar registers as one value.
    #[inline]
    pub fn pair(&self, first: u8) -> u64 {
        let at = usize::from(first);
        u64::from(self.s[at]) | (u64::from(self.s[at + 1]) << 32)
    }

    #[inline]
    pub fn set_pair(&mut self, first: u8, value: u64) {
        let at = usize::from(first);
        self.s[at] = value as u32;
        self.s[at + 1] = (value >> 32) as u32;
    }
}
