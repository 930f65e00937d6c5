//! Which operations have a test of their own.

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use super::op::Op;

/// Whether each operation is in `tested.txt`, which lists mnemonics. The coverage test keeps it true.
static TESTED: LazyLock<Vec<bool>> = LazyLock::new(|| {
    let names: HashSet<&str> = include_str!("tested.txt").lines().collect();
    let mut tested = vec![false; Op::ALL.len()];
    for &op in Op::ALL {
        tested[op as usize] = names.contains(op.mnemonic());
    }
    tested
});

/// Whether a test compares an operation's results with an independent formulation.
pub fn is_tested(op: Op) -> bool {
    TESTED[op as usize]
}

/// The names of those operations that have no test of their own.
pub fn untested(ops: impl Iterator<Item = Op>) -> BTreeSet<String> {
    ops.filter(|&op| !is_tested(op)).map(|op| op.mnemonic().to_owned()).collect()
}
