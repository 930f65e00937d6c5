//! Decoder and printer against recorded LLVM output; needs no LLVM.
//!
//! `decode_samples.txt` holds instructions of every operation in every encoding, one per line:
//! first word, second word or `-`, text. `decode_agrees_with_llvm` makes it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use softhip::isa::coverage::{self, Coverage, Status};
use softhip::isa::{DecodeError, Op, decode, table};

const SAMPLES: &str = include_str!("decode_samples.txt");

/// Words and text of every sample.
fn samples() -> impl Iterator<Item = (Vec<u32>, &'static str)> {
    SAMPLES.lines().map(|line| {
        let mut parts = line.splitn(3, ' ');
        let mut next = || parts.next().unwrap();
        let (first, second, text) = (next(), next(), next());
        let words = [first, second].into_iter().filter(|word| *word != "-");
        (words.map(|word| u32::from_str_radix(word, 16).unwrap()).collect(), text)
    })
}

#[test]
fn samples_print_as_recorded() {
    for (words, text) in samples() {
        let inst = decode(&words, 0).unwrap();
        assert_eq!(inst.to_string(), text);
        assert_eq!(usize::from(inst.size), 4 * words.len(), "{text}");
    }
}

#[test]
fn every_operation_is_sampled_in_every_encoding_it_has() {
    let sampled: BTreeSet<_> =
        samples().map(|(words, _)| decode(&words, 0).unwrap()).map(|inst| (inst.op, inst.format)).collect();
    let known: BTreeSet<_> = Op::ALL
        .iter()
        .flat_map(|&op| coverage::formats(op).into_iter().map(move |format| (op, format)))
        .collect();
    let missing: Vec<_> = known.difference(&sampled).collect();
    let extra: Vec<_> = sampled.difference(&known).collect();
    assert!(missing.is_empty() && extra.is_empty(), "missing {missing:?}, extra {extra:?}");
}

#[test]
fn every_operation_is_listed_in_a_table_once() {
    let listed: Vec<_> = table::listings().map(|listing| listing.op).collect();
    let distinct: BTreeSet<_> = listed.iter().copied().collect();
    assert_eq!(distinct.len(), Op::ALL.len());
    assert_eq!(listed.len(), distinct.len());
}

#[test]
fn a_cut_instruction_is_an_error_that_says_what_is_missing() {
    for (words, text) in samples().filter(|(words, _)| words.len() == 2) {
        let error = decode(&words[..1], 0x100).unwrap_err();
        let expected = DecodeError::Truncated { pc: 0x100, need: 8, have: 4, first: words[0] };
        assert_eq!(error, expected, "{text}");
    }
    assert_eq!(decode(&[], 8).unwrap_err(), DecodeError::Truncated { pc: 8, need: 4, have: 0, first: 0 });
}

#[test]
fn an_unknown_opcode_is_an_error_with_bytes_and_address() {
    let error = decode(&[0xc400_0000, 0x1234_5678], 0x1700).unwrap_err();
    assert_eq!(error.to_string(), "no gfx942 instruction at 0x1700: c4000000 12345678");
}

#[test]
fn coverage_never_sinks_and_counts_every_operation() {
    let mut coverage = Coverage::new();
    coverage.note(Op::v_add_f32, Status::Tested);
    coverage.note(Op::v_add_f32, Status::Executed);
    coverage.note(Op::s_endpgm, Status::Executed);
    assert_eq!(coverage.status(Op::v_add_f32), Status::Tested);
    let sums =
        coverage.totals().values().fold([0; 3], |sum, c| [sum[0] + c[0], sum[1] + c[1], sum[2] + c[2]]);
    assert_eq!(sums, [Op::ALL.len(), 2, 1]);
}
