//! The pre-decoded program: dense, with operands resolved and branch targets looked up.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::core::file::VectorFile;
use super::core::uop::Uop;
use super::core::wave::LEFT_OVER;
use super::handlers;
use super::reach::{Decoded, reachable};
use super::resolve::Layout;
use super::unwaited;
use crate::host;
use crate::isa::{Inst, Op, is_tested, untested};
use crate::memory::Lanes;
use crate::trace::Traced;
use crate::waits::Unit;

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
/// Words that are no instruction become one that faults when it is reached.
#[derive(Debug)]
pub struct Program {
    uops: Vec<Uop>,
    /// The word at which each instruction starts, ascending.
    starts: Vec<u32>,
    base: u64,
    words: Vec<u32>,
    layout: Layout,
    has_atomics: bool,
    untested: BTreeSet<String>,
    watched: Option<Box<[Unit]>>,
    traced: Option<Arc<Traced>>,
}

impl Program {
    /// Decodes what a kernel that begins at `entry` and has `registers` can reach of `text`, which is loaded at
    /// `base`.
    pub fn new(text: &[u32], base: u64, entry: u64, registers: Registers) -> Self {
        let mut layout = Layout::new(registers);
        let decoded = reachable(text, base, entry);
        let starts: Vec<u32> = decoded.iter().map(|decoded| decoded.word).collect();
        let mut uops = Vec::with_capacity(decoded.len());
        let mut has_atomics = false;
        for Decoded { word, inst } in decoded {
            let mut uop = match inst {
                Ok(inst) => layout.resolve(inst),
                Err(_) => handlers::undecodable(base + 4 * u64::from(word)),
            };
            uop.offset = uop.inst.pc.wrapping_sub(entry) as u32;
            if let Some(target) = uop.inst.branch_target() {
                uop.target = index_of(&starts, base, target).unwrap_or(u32::MAX);
            }
            has_atomics |= handlers::orders_workgroups(&uop.inst);
            uops.push(uop);
        }
        // What is decoded only cannot have run.
        let executes = |op: &Op| !is_tested(*op) && handlers::handler(*op).is_some();
        let untested = untested(uops.iter().map(|uop| uop.inst.op).filter(executes));
        let (watched, traced) = (None, None);
        Self { uops, starts, base, words: text.to_vec(), layout, has_atomics, untested, watched, traced }
    }

    /// Whether waves of different workgroups can influence each other by instructions that the kernel can reach.
    ///
    /// Their order then matters, so such programs run on one thread.
    pub fn has_global_atomics(&self) -> bool {
        self.has_atomics
    }

    /// Operations of it that have no test of their own.
    pub(super) fn untested(&self) -> &BTreeSet<String> {
        &self.untested
    }

    /// Looks for waits that may be missing on some way from one of the addresses `entries` on.
    pub(super) fn look_for_missing_waits(&mut self, entries: &[u64]) {
        let entries: Vec<u32> = entries.iter().filter_map(|&entry| self.index_of(entry)).collect();
        self.watched = unwaited::watched(self.uops.iter().map(|uop| uop.inst).collect(), &entries);
    }

    /// The instructions, by index, if waves have to be watched for missing waits.
    pub(super) fn watched(&self) -> Option<&[Unit]> {
        self.watched.as_deref()
    }

    /// Keeps what waves reach, if `record` makes a record for these instructions.
    pub(super) fn trace(&mut self, record: impl FnOnce(&[Uop]) -> Option<Arc<Traced>>) {
        self.traced = record(&self.uops);
    }

    /// Where to keep what waves reach.
    pub(super) fn traced(&self) -> Option<&Traced> {
        self.traced.as_deref()
    }

    /// The instruction at an address.
    pub(super) fn inst_at(&self, address: u64) -> Option<Inst> {
        self.uop(self.index_of(address)?).map(|uop| uop.inst)
    }

    pub(super) fn index_of(&self, address: u64) -> Option<u32> {
        index_of(&self.starts, self.base, address)
    }

    /// The instruction so many bytes from the kernel's entry.
    pub(super) fn at_offset(&self, offset: u32) -> Option<&Uop> {
        self.uops.iter().find(|uop| uop.offset == offset)
    }

    #[inline]
    pub(super) fn uop(&self, index: u32) -> Option<&Uop> {
        self.uops.get(index as usize)
    }

    /// The words of an instruction.
    pub(super) fn words(&self, inst: &Inst) -> Vec<u32> {
        let first = host::size((inst.pc - self.base) / 4);
        self.words.iter().skip(first).take(usize::from(inst.size) / 4).copied().collect()
    }

    /// The two words from an address, as far as there are any.
    pub(super) fn words_from(&self, address: u64) -> Vec<u32> {
        let first = host::size(address.wrapping_sub(self.base) / 4);
        self.words.iter().skip(first).take(2).copied().collect()
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(super) fn vgprs(&self) -> u32 {
        u32::from(self.layout.registers().vgprs)
    }

    /// A fresh vector file: constants in their places.
    pub(super) fn vector_file(&self) -> VectorFile {
        self.layout.file()
    }

    /// Leaves in the registers of a vector file what nobody has written.
    pub(super) fn leave_over(&self, file: &mut [Lanes]) {
        let registers = self.layout.registers();
        file[..usize::from(registers.vgprs + registers.agprs)].fill([LEFT_OVER; 64]);
    }
}

/// The index of the instruction at an address, of those that start at the words `starts` after `base`.
fn index_of(starts: &[u32], base: u64, address: u64) -> Option<u32> {
    let offset = address.wrapping_sub(base);
    let word = u32::try_from(offset / 4).ok().filter(|_| offset.is_multiple_of(4))?;
    starts.binary_search(&word).ok().map(|index| index as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wave_begins_with_what_others_left_and_not_with_zeros() {
        // v_mov_b32 v1, 0x12345678; s_endpgm
        let program =
            Program::new(&[0x7e02_02ff, 0x1234_5678, 0xbf81_0000], 0, 0, Registers { vgprs: 3, agprs: 2 });
        let mut file = program.vector_file();
        let constants = file[5..].to_vec();
        program.leave_over(&mut file);
        assert!(file[..5].iter().flatten().all(|word| *word == LEFT_OVER && f32::from_bits(*word).is_nan()));
        assert_eq!(file[5..], constants);
        assert!(constants.iter().any(|lanes| lanes[0] == 0x1234_5678));
    }
}
