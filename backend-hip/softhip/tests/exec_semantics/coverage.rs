//! The coverage table: which operations are executed, and which of them have a test here.

use std::collections::BTreeSet;

use softhip::exec::{Support, coverage};
use softhip::isa::{self, Op};

/// The operations of all assembled snippets.
fn tested() -> BTreeSet<Op> {
    let mut ops = BTreeSet::new();
    for line in include_str!("words.txt").lines() {
        let words = crate::bench::words(line.split_once(' ').unwrap().1);
        let mut at = 0;
        while at < words.len() {
            let inst = isa::decode(&words[at..], 0).unwrap();
            ops.insert(inst.op);
            at += usize::from(inst.size) / 4;
        }
    }
    ops
}

#[test]
fn the_coverage_table_lists_every_operation_once() {
    let tested = tested();
    let (mut executed, mut decoded, mut both) = (Vec::new(), Vec::new(), 0);
    for (op, support) in coverage() {
        match support {
            Support::Decoded => decoded.push(op.mnemonic()),
            Support::Executed if tested.contains(&op) => both += 1,
            Support::Executed => executed.push(op.mnemonic()),
        }
    }
    println!("{} operations: {both} executed and tested", Op::ALL.len());
    println!("\n{} executed, without a test of their own:\n{}", executed.len(), executed.join(" "));
    println!("\n{} decoded only:\n{}", decoded.len(), decoded.join(" "));
    assert_eq!(both + executed.len() + decoded.len(), Op::ALL.len());
    assert!(both >= 700, "{both} tested");
    assert!(
        decoded.iter().all(|name| !["v_cmp", "v_mfma", "ds_add"].iter().any(|known| name.starts_with(known)))
    );
}
