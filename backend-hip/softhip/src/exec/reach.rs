//! Decoding what a kernel can reach.
//!
//! Text sections hold many kernels, and to prepare an instruction for execution costs more than to execute it once:
//! so only those that a kernel can come to are taken.

use crate::isa::{self, DecodeError, Inst, Op};

/// The instruction at a word of a text section, or why there is none.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) word: u32,
    pub(super) inst: Result<Inst, DecodeError>,
}

impl Decoded {
    fn at(text: &[u32], base: u64, word: usize) -> Self {
        Self { word: word as u32, inst: isa::decode(&text[word..], base + 4 * word as u64) }
    }

    /// The word after it.
    fn end(&self) -> usize {
        self.word as usize + self.inst.as_ref().map_or(1, |inst| usize::from(inst.size) / 4)
    }
}

/// The instructions, in their order, that a wave which starts at the address `entry` can come to. A jump to a computed
/// address can go anywhere: then it is all of them, from the first word on.
///
/// Where one falls through to the next, that is the next in the list.
pub(super) fn reachable(text: &[u32], base: u64, entry: u64) -> Vec<Decoded> {
    follow(text, base, entry).unwrap_or_else(|| all(text, base))
}

fn all(text: &[u32], base: u64) -> Vec<Decoded> {
    let mut word = 0;
    std::iter::from_fn(|| {
        let decoded = (word < text.len()).then(|| Decoded::at(text, base, word))?;
        word = decoded.end();
        Some(decoded)
    })
    .collect()
}

/// Follows the branches. `None` if they can go anywhere, or into the middle of an instruction.
fn follow(text: &[u32], base: u64, entry: u64) -> Option<Vec<Decoded>> {
    let word_of = |address: u64| {
        let offset = address.wrapping_sub(base);
        usize::try_from(offset / 4).ok().filter(|_| offset.is_multiple_of(4))
    };
    let mut seen = vec![false; text.len()];
    let mut waiting = vec![word_of(entry)?];
    let mut found = Vec::new();
    while let Some(mut word) = waiting.pop() {
        while word < text.len() && !seen[word] {
            seen[word] = true;
            let decoded = Decoded::at(text, base, word);
            word = decoded.end();
            let next = decoded.inst.as_ref().ok().map(|inst| (inst.op, inst.branch_target()));
            found.push(decoded);
            let Some((op, target)) = next else { break };
            if goes_anywhere(op) {
                return None;
            }
            waiting.extend(target.and_then(word_of));
            if matches!(op, Op::s_branch | Op::s_endpgm | Op::s_endpgm_saved) {
                break;
            }
        }
    }
    found.sort_unstable_by_key(|decoded| decoded.word);
    let overlap = found.windows(2).any(|pair| pair[0].end() > pair[1].word as usize);
    (!overlap).then_some(found)
}

/// The next instruction's address comes from registers.
pub(super) fn goes_anywhere(op: Op) -> bool {
    matches!(
        op,
        Op::s_setpc_b64
            | Op::s_swappc_b64
            | Op::s_rfe_b64
            | Op::s_rfe_restore_b64
            | Op::s_cbranch_g_fork
            | Op::s_cbranch_i_fork
            | Op::s_cbranch_join
    )
}

#[cfg(test)]
mod tests {
    use super::super::program::{Program, Registers};

    /// `global_atomic_add v0, v1, s[0:1]`.
    const ATOMIC: [u32; 2] = [0xdd08_8000, 0x0000_0100];
    const END: u32 = 0xbf81_0000;
    /// `s_branch` over so many words.
    const fn branch(words: u32) -> u32 {
        0xbf82_0000 | words
    }
    /// `s_cbranch_scc0` over so many words.
    const fn branch_if(words: u32) -> u32 {
        0xbf84_0000 | words
    }
    /// `s_setpc_b64 s[0:1]`.
    const ANYWHERE: u32 = 0xbe80_1d00;

    fn has_atomics(text: &[u32]) -> bool {
        Program::new(text, 0x1000, 0x1000, Registers { vgprs: 8, agprs: 0 }).has_global_atomics()
    }

    #[test]
    fn only_atomics_that_a_kernel_can_reach_count() {
        let [a, b] = ATOMIC;
        assert!(has_atomics(&[a, b, END]));
        assert!(!has_atomics(&[END, a, b, END]));
        assert!(!has_atomics(&[branch(2), a, b, END]));
        assert!(has_atomics(&[branch_if(2), a, b, END]));
        assert!(has_atomics(&[branch_if(1), END, a, b, END]));
        assert!(has_atomics(&[ANYWHERE, END, a, b, END]));
        assert!(!has_atomics(&[ANYWHERE, END]));
    }
}
