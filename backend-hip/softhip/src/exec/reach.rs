//! Which instructions a kernel can reach.

use super::core::uop::Uop;
use crate::isa::Op;

/// Can a wave that starts at `entry` come to an instruction for which `test` holds?
///
/// A jump to a computed address can go anywhere in the text section.
pub(super) fn reaches(uops: &[Uop], entry: u32, test: impl Fn(&Uop) -> bool) -> bool {
    let mut seen = vec![false; uops.len()];
    let mut waiting = vec![entry];
    while let Some(index) = waiting.pop() {
        let at = index as usize;
        let Some(uop) = uops.get(at).filter(|_| !seen[at]) else { continue };
        seen[at] = true;
        if test(uop) {
            return true;
        }
        if goes_anywhere(uop.inst.op) {
            return uops.iter().any(test);
        }
        if uop.inst.branch_target().is_some() {
            waiting.push(uop.target);
        }
        if !matches!(uop.inst.op, Op::s_branch | Op::s_endpgm | Op::s_endpgm_saved) {
            waiting.push(index + 1);
        }
    }
    false
}

/// The next instruction's address comes from registers.
fn goes_anywhere(op: Op) -> bool {
    ["s_setpc", "s_swappc", "s_rfe", "s_cbranch_i_fork", "s_cbranch_g_fork", "s_cbranch_join"]
        .iter()
        .any(|name| op.mnemonic().starts_with(name))
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
