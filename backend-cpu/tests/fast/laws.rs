//! The laws.

use backend_cpu::fast::{Activations, Fast, Threads};
use backend_cpu::host::Host;
use kernels::{Role, Stem};

use super::cases;
use super::relay::{alone, in_place, padded, reversed};
use super::run::{outputs, outputs_on, run};

#[test]
fn the_number_of_threads_leaves_no_trace() {
    for record in cases::all() {
        let one = outputs(&record, 1);
        for threads in [2, 3, 7] {
            assert!(outputs(&record, threads) == one, "{} on {threads} threads: {record:?}", record.stem);
        }
    }
}

#[test]
fn plain_rust_gives_the_bits_of_all_vector_instructions() {
    for record in cases::all() {
        for activations in [Activations::Int8, Activations::Exact] {
            let on = |set| {
                let threads = Threads::new(2).with_activations(activations).with_instructions(set);
                outputs_on(&record, &Host::new(threads.unwrap()))
            };
            let portable = on("portable");
            for set in Threads::instruction_sets() {
                assert!(on(set) == portable, "{} by {set}: {record:?}", record.stem);
            }
        }
    }
}

#[test]
fn exact_activations_leave_no_trace_of_threads_and_rows_either() {
    for record in cases::all().into_iter().filter(|record| record.stem == Stem::Matmul) {
        let rows = record.find("out").unwrap().layout.dim(0);
        let whole = &outputs_on(&record, &Fast::exact(1))[0];
        assert!(outputs_on(&record, &Fast::exact(3))[0] == *whole, "{record:?}");
        for row in 0..rows {
            let single = &outputs_on(&alone(&record, row, rows), &Fast::exact(2))[0];
            let size = whole.len() / rows;
            assert!(single[..] == whole[row * size..][..size], "row {row} of {rows}: {record:?}");
        }
    }
}

#[test]
fn two_runs_give_the_same_bits() {
    for record in cases::all() {
        assert!(outputs(&record, 3) == outputs(&record, 3), "{}", record.stem);
    }
}

#[test]
fn the_other_rows_of_a_batch_leave_no_trace() {
    let mut compared = 0;
    for record in cases::all().into_iter().filter(|record| record.stem != Stem::KvWrite) {
        let out = record.find("out").unwrap();
        let rows = out.layout.dim(0);
        let whole = &outputs(&record, 2)[0];
        for row in 0..rows {
            let single = &outputs(&alone(&record, row, rows), 2)[0];
            let size = whole.len() / rows;
            assert!(single[..] == whole[row * size..][..size], "{}, row {row} of {rows}", record.stem);
            compared += 1;
        }
    }
    assert!(compared > 500, "{compared}");
}

#[test]
fn strides_offsets_and_padding_leave_no_trace() {
    for record in cases::all() {
        let dense = outputs(&record, 1);
        for poison in [0xff, 0x00, 0x7f] {
            assert!(outputs(&padded(&record, poison), 2) == dense, "{}, poison {poison:#x}", record.stem);
            assert!(outputs(&reversed(&record, poison), 3) == dense, "{}, poison {poison:#x}", record.stem);
        }
    }
}

#[test]
fn only_the_elements_of_outputs_are_written() {
    let all = cases::all().into_iter().flat_map(|record| [padded(&record, 0xee), reversed(&record, 0xee)]);
    for record in all {
        for (operand, buffer) in record.operands().iter().zip(run(&record, 2)) {
            let mut after = buffer.bytes().to_vec();
            if operand.role == Role::Output {
                for row in operand.layout.rows() {
                    after[row.clone()].copy_from_slice(&operand.bytes[row]);
                }
            }
            assert!(after == operand.bytes, "{}: {} changed outside its elements", record.stem, operand.name);
        }
    }
}

#[test]
fn in_place_gives_the_bits_of_out_of_place() {
    let all = cases::all();
    let pairs: Vec<_> = all.iter().filter_map(|record| Some((record, in_place(record)?))).collect();
    for (apart, together) in &pairs {
        assert!(outputs(apart, 2) == outputs(together, 2), "{}", apart.stem);
        assert!(outputs(apart, 2) == outputs(&padded(together, 0xff), 2), "{}", apart.stem);
    }
    let stems: std::collections::BTreeSet<_> = pairs.iter().map(|(record, _)| record.stem).collect();
    let able = Stem::ALL.iter().copied().filter(|stem| stem.facts().in_place().is_some()).collect();
    assert_eq!(stems, able, "cases of `cases.rs`, and ops that can work in place");
}

#[test]
fn every_op_has_a_case() {
    let stems: std::collections::BTreeSet<_> = cases::all().iter().map(|record| record.stem).collect();
    let missing: Vec<_> = Stem::ALL.iter().filter(|stem| !stems.contains(stem)).collect();
    assert!(missing.is_empty(), "no case in tests/fast/cases.rs: {missing:?}");
}
