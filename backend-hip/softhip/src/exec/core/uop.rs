//! The instruction as the interpreter runs it.

use super::cx::Handler;
use crate::exec::access::atomic::Rmw;
use crate::exec::access::narrow::Width;
use crate::isa::Inst;
use crate::isa::table::Ty;

/// A vector operand that the kernel has no registers for.
#[derive(Debug, Clone, Copy)]
pub(in crate::exec) struct Missing {
    pub file: char,
    pub index: u32,
    pub count: u32,
}

/// A scalar source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::exec) enum Scalar {
    /// A register of the scalar file, and the one after it for 64 bits.
    Register(u8),
    /// A constant, widened as the operand's type says.
    Constant(u64),
    /// SCC, or a condition on VCC or EXEC.
    Flag(Flag),
}

/// A one-bit scalar source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::exec) enum Flag {
    Scc,
    Vccz,
    Execz,
}

/// What an instruction is counted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::exec) enum Kind {
    Scalar,
    ScalarMemory,
    Control,
    Vector,
    /// Vector arithmetic that is approximate on the hardware.
    Approximate,
    /// Dot products whose rounding follows a model.
    ModelledVector,
    /// Matrix products of floats, which follow a model.
    Matrix,
    /// Matrix products of integers, and moves of accumulation registers.
    ExactMatrix,
    GlobalLoad,
    GlobalStore,
    GlobalAtomic,
    ScratchLoad,
    ScratchStore,
    Local,
}

impl Kind {
    /// How many there are.
    pub const COUNT: usize = Self::Local as usize + 1;
}

/// One instruction, with its operands resolved to places in a wave's files.
///
/// In this order, so that what most instructions need is within one cache line.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(in crate::exec) struct Uop {
    /// Carries the instruction out, modifiers included.
    pub run: Handler,
    /// Carries the bare operation out, on `src` and `dst` as they are.
    pub base: Handler,
    /// First slots of the sources in the vector file, as the bare operation reads them.
    pub src: [u16; 3],
    /// First slot of the destination in the vector file, as the bare operation writes it.
    pub dst: u16,
    /// Where the sources stand; differ from `src` when they are modified.
    pub raw_src: [u16; 3],
    /// Where the destination stands; differs from `dst` when the result is modified.
    pub raw_dst: u16,
    /// Index of the branch target.
    pub target: u32,
    /// Bytes from the kernel's entry.
    pub offset: u32,
    /// Sources that are scalar registers and have to be copied to all lanes first: bit `i` for `src[i]`.
    pub splat: u8,
    /// Registers per source to be copied, 1 or 2.
    pub splat_width: [u8; 3],
    /// Scalar destination: of scalar operations, of compares, of carries.
    pub sdst: u8,
    /// What it counts as.
    pub kind: Kind,
    /// Integer saturation is asked for.
    pub clamp: bool,
    /// A floating-point operation: modes that flush denormals concern it.
    pub float: bool,
    /// A compare that writes EXEC, too.
    pub writes_exec: bool,
    /// What modifiers select. Of operations on pairs of registers: which register of each source's pair the low and the high
    /// result are made of, bit `i` for source `i`. Of conversions of a part: bits to shift it right, then left and back.
    pub select: [u8; 2],
    /// Scalar sources; of vector operations, those that are masks or lane numbers.
    pub scalar: [Scalar; 3],
    /// Bytes per lane of a memory access.
    pub width: Width,
    /// What an atomic does.
    pub rmw: Option<Rmw>,
    /// Types of the destination and the sources.
    pub types: [Ty; 4],
    /// The decoded instruction.
    pub inst: Inst,
    /// Scalar registers read, one bit each.
    pub reads: u128,
    /// Scalar registers written, one bit each.
    pub writes: u128,
    /// A register that the instruction names and the kernel does not have.
    pub missing: Option<Missing>,
    /// Makes the number of cache lines odd, see below.
    pub padding: [u8; LINE],
}

/// Bytes of a cache line.
const LINE: usize = 64;
// An odd number of cache lines, so that the first lines of neighbouring instructions, which is all that most of them need,
// are spread over all sets of the cache.
const _: () = assert!(size_of::<Uop>() / LINE % 2 == 1);
