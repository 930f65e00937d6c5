//! The pre-decoded program: dense, with operands resolved and branch targets looked up.

use super::core::uop::Uop;
use super::handlers;
use super::reach::reaches;
use super::resolve::Layout;
use crate::isa::{self, DecodeError, Inst};
use crate::memory::Lanes;

/// How many vector registers a wave of the kernel has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registers {
    /// VGPRs, at most 256.
    pub vgprs: u16,
    /// Accumulation registers, at most 256.
    pub agprs: u16,
}

/// A kernel's code, ready to run.
///
/// All of a text section is taken, kernels and padding alike: words that are no instruction become one that
/// faults when it is reached.
#[derive(Debug)]
pub struct Program {
    uops: Vec<Uop>,
    /// Index of the instruction that starts at each word; `u32::MAX` in the middle of one.
    starts: Vec<u32>,
    base: u64,
    words: Vec<u32>,
    layout: Layout,
    has_atomics: bool,
}

impl Program {
    /// Decodes `text`, which is loaded at `base`, for a kernel that begins at `entry` and has `registers`.
    pub fn new(text: &[u32], base: u64, entry: u64, registers: Registers) -> Self {
        let mut layout = Layout::new(registers);
        let mut starts = vec![u32::MAX; text.len()];
        let mut decoded: Vec<Result<Inst, DecodeError>> = Vec::new();
        let mut word = 0;
        while word < text.len() {
            starts[word] = decoded.len() as u32;
            let inst = isa::decode(&text[word..], base + 4 * word as u64);
            word += inst.as_ref().map_or(1, |inst| usize::from(inst.size) / 4);
            decoded.push(inst);
        }
        let index_of = |address: u64| {
            let offset = address.wrapping_sub(base);
            let word = usize::try_from(offset / 4).ok().filter(|_| offset.is_multiple_of(4))?;
            starts.get(word).copied().filter(|&index| index != u32::MAX)
        };
        let mut uops = Vec::with_capacity(decoded.len());
        let mut address = base;
        for inst in decoded {
            let mut uop = match inst {
                Ok(inst) => layout.resolve(inst),
                Err(_) => handlers::undecodable(address),
            };
            address = uop.inst.next_pc();
            uop.offset = uop.inst.pc.wrapping_sub(entry) as u32;
            if let Some(target) = uop.inst.branch_target() {
                uop.target = index_of(target).unwrap_or(u32::MAX);
            }
            uops.push(uop);
        }
        // The code that preloading of arguments skips leads to the rest: one entry is enough.
        let has_atomics = index_of(entry)
            .is_none_or(|entry| reaches(&uops, entry, |uop| handlers::orders_workgroups(&uop.inst)));
        Self { uops, starts, base, words: text.to_vec(), layout, has_atomics }
    }

    /// Whether waves of different workgroups can influence each other by instructions that the kernel can reach.
    ///
    /// Their order then matters, so such programs run on one thread.
    pub fn has_global_atomics(&self) -> bool {
        self.has_atomics
    }

    pub(super) fn index_of(&self, address: u64) -> Option<u32> {
        let offset = address.wrapping_sub(self.base);
        let word = usize::try_from(offset / 4).ok().filter(|_| offset.is_multiple_of(4))?;
        self.starts.get(word).copied().filter(|&index| index != u32::MAX)
    }

    #[inline]
    pub(super) fn uop(&self, index: u32) -> Option<&Uop> {
        self.uops.get(index as usize)
    }

    /// The words of an instruction.
    pub(super) fn words(&self, inst: &Inst) -> Vec<u32> {
        let first = usize::try_from((inst.pc - self.base) / 4).unwrap_or(usize::MAX);
        self.words.iter().skip(first).take(usize::from(inst.size) / 4).copied().collect()
    }

    /// The two words from an address, as far as there are any.
    pub(super) fn words_from(&self, address: u64) -> Vec<u32> {
        let first = usize::try_from(address.wrapping_sub(self.base) / 4).unwrap_or(usize::MAX);
        self.words.iter().skip(first).take(2).copied().collect()
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(super) fn vgprs(&self) -> u32 {
        u32::from(self.layout.registers().vgprs)
    }

    /// A fresh vector file: registers zero, constants in their places.
    pub(super) fn vector_file(&self) -> Box<[Lanes]> {
        self.layout.file()
    }

    /// Clears the registers of a used vector file.
    pub(super) fn clear(&self, file: &mut [Lanes]) {
        let registers = self.layout.registers();
        file[..usize::from(registers.vgprs + registers.agprs)].fill([0; 64]);
    }
}
