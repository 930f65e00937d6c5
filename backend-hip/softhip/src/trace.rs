//! Which instructions and branch directions launches reach: coverage of machine code.
//!
//! A process that [`start`]s it keeps, for every kernel that is loaded from then on, which of its instructions a wave has executed, and
//! which way conditional branches have gone. Launches of the same kernel add up, whichever device or thread runs them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use code_object::CodeObject;

use crate::dataflow;
use crate::isa::{Inst, Op};

static STARTED: AtomicBool = AtomicBool::new(false);
static KERNELS: Mutex<BTreeMap<(String, u64), Arc<Traced>>> = Mutex::new(BTreeMap::new());

/// Traces kernels that are loaded from now on.
pub fn start() {
    STARTED.store(true, Ordering::Relaxed);
}

/// Leaves kernels alone that are loaded from now on.
pub fn stop() {
    STARTED.store(false, Ordering::Relaxed);
}

/// What has been reached so far, by the names of kernels.
pub fn kernels() -> Vec<Arc<Traced>> {
    KERNELS.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
}

/// A wave has executed the instruction.
const EXECUTED: u8 = 1;
/// A wave has gone on to the next instruction.
const PASSED: u8 = 2;
/// A wave has gone on elsewhere.
const TAKEN: u8 = 4;
/// A wave has executed the instruction with some lane on.
const LIVE: u8 = 8;

/// A kernel, and what of it has been reached.
#[derive(Debug)]
pub struct Traced {
    object: Arc<CodeObject>,
    kernel: String,
    /// Those that the kernel can come to, in their order, at addresses of the object.
    code: Vec<Inst>,
    marks: Vec<AtomicU8>,
}

/// The record of a kernel that is being loaded, if there is one: `code` is what it can come to.
pub(crate) fn of(
    object: &Arc<CodeObject>,
    kernel: &str,
    code: impl Iterator<Item = Inst>,
) -> Option<Arc<Traced>> {
    if !STARTED.load(Ordering::Relaxed) {
        return None;
    }
    let code: Vec<Inst> = code.collect();
    let mut kernels = KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    let traced = match kernels.entry((kernel.to_owned(), identity(object, &code))) {
        Entry::Occupied(known) => Arc::clone(known.get()),
        Entry::Vacant(new) => {
            let marks = code.iter().map(|_| AtomicU8::new(0)).collect();
            Arc::clone(new.insert(Arc::new(Traced {
                object: Arc::clone(object),
                kernel: kernel.into(),
                code,
                marks,
            })))
        }
    };
    Some(traced)
}

/// Tells kernels of the same name and different code apart.
fn identity(object: &CodeObject, code: &[Inst]) -> u64 {
    let words = code.iter().filter_map(|inst| object.words(inst.pc..inst.pc + u64::from(inst.size)));
    words
        .flatten()
        .flat_map(u32::to_le_bytes)
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// A run of instructions that a wave executes from the first to the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Its instructions, by their index.
    pub code: Range<usize>,
    /// A wave has executed it.
    pub reached: bool,
}

/// One of the two ways on from a conditional branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Direction {
    /// The branch, by its index.
    pub branch: usize,
    /// To its target; else to the next instruction.
    pub taken: bool,
    /// A wave has gone there.
    pub reached: bool,
}

impl Traced {
    /// The kernel's name.
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// The object that it is in.
    pub fn object(&self) -> &CodeObject {
        &self.object
    }

    /// The instructions that it can come to.
    pub fn code(&self) -> &[Inst] {
        &self.code
    }

    /// Whether a wave has executed the instruction with an index.
    pub fn executed(&self, index: usize) -> bool {
        self.has(index, EXECUTED)
    }

    /// Whether a wave has executed the instruction with an index, and it had something to do: a scalar instruction, or some lane on.
    pub fn worked(&self, index: usize) -> bool {
        let lanes = self.code.get(index).is_some_and(|inst| dataflow::is_vector(inst.format));
        self.has(index, if lanes { LIVE } else { EXECUTED })
    }

    fn has(&self, index: usize, mark: u8) -> bool {
        self.marks.get(index).is_some_and(|marks| marks.load(Ordering::Relaxed) & mark != 0)
    }

    /// A wave has executed `index`, at which some lane was `live` or none, and goes on at `next`.
    #[inline]
    pub(crate) fn mark(&self, index: u32, next: u32, live: bool) {
        let Some(marks) = self.marks.get(index as usize) else { return };
        let new = EXECUTED | if next == index + 1 { PASSED } else { TAKEN } | if live { LIVE } else { 0 };
        if marks.load(Ordering::Relaxed) & new != new {
            marks.fetch_or(new, Ordering::Relaxed);
        }
    }

    /// Forgets what has been reached.
    pub fn clear(&self) {
        self.marks.iter().for_each(|marks| marks.store(0, Ordering::Relaxed));
    }

    /// Its basic blocks.
    pub fn blocks(&self) -> Vec<Block> {
        let mut first = vec![false; self.code.len()];
        for (at, inst) in self.code.iter().enumerate() {
            let entered = at == 0 || self.code[at - 1].pc + u64::from(self.code[at - 1].size) != inst.pc;
            first[at] |= entered;
            if let Some(target) = inst.branch_target() {
                if let Ok(target) = self.code.binary_search_by_key(&target, |inst| inst.pc) {
                    first[target] = true;
                }
                if let Some(next) = first.get_mut(at + 1) {
                    *next = true;
                }
            }
        }
        let starts: Vec<usize> = (0..self.code.len()).filter(|at| first[*at]).collect();
        let ends = starts.iter().skip(1).copied().chain([self.code.len()]);
        starts
            .iter()
            .zip(ends)
            .map(|(&start, end)| Block { code: start..end, reached: self.executed(start) })
            .collect()
    }

    /// Both ways on from each conditional branch.
    pub fn directions(&self) -> Vec<Direction> {
        let conditional =
            |(_, inst): &(usize, &Inst)| inst.branch_target().is_some() && inst.op != Op::s_branch;
        let ways = |(branch, _)| {
            [(false, PASSED), (true, TAKEN)].map(|(taken, mark)| Direction {
                branch,
                taken,
                reached: self.has(branch, mark),
            })
        };
        self.code.iter().enumerate().filter(conditional).flat_map(ways).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::decode;

    #[test]
    fn a_vector_instruction_works_only_with_a_lane_on_and_a_scalar_one_always() {
        let object = CodeObject::read(include_bytes!("../tests/objects/arithmetic.hsaco")).unwrap();
        // v_mov_b32 v1, v2; s_mov_b32 s5, 1
        let code: Vec<Inst> = [[0x7e02_0302], [0xbe85_0081]].map(|words| decode(&words, 0).unwrap()).into();
        let marks = code.iter().map(|_| AtomicU8::new(0)).collect();
        let traced = Traced { object: Arc::new(object), kernel: "kernel".into(), code, marks };
        for index in [0, 1] {
            traced.mark(index, index + 1, false);
        }
        assert!(traced.executed(0) && !traced.worked(0) && traced.worked(1));
        traced.mark(0, 1, true);
        assert!(traced.worked(0));
    }
}
