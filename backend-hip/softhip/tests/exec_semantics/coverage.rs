//! The coverage table: which operations are executed, and which of them have a test here.

use std::collections::BTreeSet;

use code_object::CodeObject;
use softhip::exec::{Support, coverage};
use softhip::isa::{self, Op, is_tested};

/// Operations that one wave alone cannot show: `waves_meet_by_arriving_at_a_barrier_whichever_it_is` in `exec_objects.rs`.
const TESTED_ELSEWHERE: [Op; 1] = [Op::s_barrier];

/// The operations of all assembled snippets.
fn tested() -> BTreeSet<Op> {
    let mut ops = BTreeSet::from(TESTED_ELSEWHERE);
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
    assert!(executed.is_empty(), "every executed operation has a test of its own");
    assert!(
        decoded.iter().all(|name| !["v_cmp", "v_mfma", "ds_add"].iter().any(|known| name.starts_with(known)))
    );
}

#[test]
fn the_list_of_tested_operations_is_that_of_the_tests() {
    let tested = tested();
    let rows: Vec<_> =
        coverage().filter(|(_, support)| *support == Support::Executed).map(|(op, _)| op).collect();
    let mut names: Vec<_> = rows.iter().filter(|op| tested.contains(op)).map(|op| op.mnemonic()).collect();
    names.sort_unstable();
    names.dedup();
    let listed: Vec<_> = include_str!("../../src/isa/tested.txt").lines().collect();
    assert_eq!(listed, names, "src/isa/tested.txt");
    assert!(rows.iter().all(|&op| is_tested(op) == tested.contains(&op)));
}

#[test]
fn every_operation_of_the_test_objects_is_executed() {
    let known: BTreeSet<Op> =
        coverage().filter(|(_, support)| *support == Support::Executed).map(|(op, _)| op).collect();
    let mut used = BTreeSet::new();
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/objects");
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "hsaco") {
            continue;
        }
        let object = CodeObject::parse(&std::fs::read(&path).unwrap()).unwrap();
        for kernel in object.kernels() {
            let words = object.words(kernel.code.clone()).unwrap();
            let mut at = 0;
            while at < words.len() {
                let inst = isa::decode(&words[at..], 0).unwrap();
                assert!(known.contains(&inst.op), "{}: {inst}", path.display());
                used.insert(inst.op);
                at += usize::from(inst.size) / 4;
            }
        }
    }
    println!("{} distinct operations in the test objects, all executed", used.len());
    assert!(used.len() > 200);
}
