//! Planted patterns are recognised, and noise is not.

use kernels::{DType, Expected, Layout, Numerics, Record, Role, Spread, Stem};

use super::{Evidence, Guess, guess};
use conformance::data::{Data, Random};

/// Guesses on an output of `shape` that holds `wrong(right)`.
fn guesses(shape: &[usize], wrong: impl Fn(&[f32]) -> Vec<f32>) -> Vec<Guess> {
    guesses_with(shape, wrong, &[])
}

fn guesses_with(
    shape: &[usize],
    wrong: impl Fn(&[f32]) -> Vec<f32>,
    earlier: &[(&'static str, &[u8])],
) -> Vec<Guess> {
    let layout = Layout::contiguous(DType::F32, shape);
    let right = Data::Gauss.values(&mut Random::new(7), 1, layout.elements().unwrap());
    let got = wrong(&right);
    let expected = Expected::Within {
        value: right.iter().map(|v| f64::from(*v)).collect(),
        bound: vec![1e-6; right.len()],
        typical: vec![1e-6; right.len()],
        spread: vec![Spread::default(); right.len()],
    };
    guess(&Evidence {
        record: &Record::new(Stem::Copy),
        output: 0,
        layout: &layout,
        expected: &expected,
        got: bytemuck::cast_slice(&got),
        numerics: &Numerics::F32,
        earlier,
    })
}

/// What the best guess says, which must explain everything.
fn best(guesses: &[Guess]) -> &str {
    let first = guesses.first().expect("a guess");
    assert!(first.explained > 0.99, "{guesses:?}");
    &first.what
}

#[test]
fn a_transpose_is_recognised() {
    let found = guesses(&[24, 24], |x| (0..576).map(|i| x[i % 24 * 24 + i / 24]).collect());
    assert_eq!(best(&found), "transposed");
    let tiled = |tile: usize| {
        let found = guesses(&[64, 64], |x| {
            let from = |i: usize| {
                let (r, c) = (i / 64, i % 64);
                (r - r % tile + c % tile) * 64 + c - c % tile + r % tile
            };
            (0..4096).map(|i| x[from(i)]).collect()
        });
        best(&found).to_owned()
    };
    assert_eq!(tiled(16), "tiles of 16 × 16 transposed");
    assert_eq!(tiled(32), "tiles of 32 × 32 transposed");
    let found = guesses(&[8, 24], |x| (0..192).map(|i| x[i % 8 * 24 + i / 8]).collect());
    assert_eq!(best(&found), "stored column by column");
}

#[test]
fn a_shift_is_recognised_along_each_dimension() {
    let rows = guesses(&[12, 4, 16], |x| (0..768).map(|i| if i < 64 { x[i] } else { x[i - 64] }).collect());
    assert!(best(&rows).starts_with("shifted by one row: each holds the one before"), "{rows:?}");
    let heads = guesses(&[3, 64, 16], |x| {
        (0..3072).map(|i| if i / 16 % 64 == 63 { x[i] } else { x[i + 16] }).collect()
    });
    assert!(best(&heads).starts_with("shifted by one head: each holds the one behind"), "{heads:?}");
    let elements =
        guesses(&[4, 200], |x| (0..800).map(|i| if i % 200 == 0 { x[i] } else { x[i - 1] }).collect());
    assert!(best(&elements).starts_with("shifted by one element: each holds the one before"), "{elements:?}");
}

#[test]
fn permuted_heads_pairs_and_nibbles_are_recognised() {
    let order = [2, 0, 3, 1];
    let heads =
        guesses(&[5, 4, 16], |x| (0..320).map(|i| x[i - i / 16 % 4 * 16 + order[i / 16 % 4] * 16]).collect());
    assert_eq!(best(&heads), "heads of 16 permuted (0←2, 1←0, 2←3, 3←1)");
    let in_columns = guesses(&[3, 256], |x| (0..768).map(|i| x[i ^ 64]).collect());
    assert!(best(&in_columns).starts_with("heads of 64 permuted (0←1, 1←0"), "{in_columns:?}");
    let pairs =
        guesses(&[2, 3, 32], |x| (0..192).map(|i| x[i / 32 * 32 + i % 32 / 2 + i % 2 * 16]).collect());
    assert!(best(&pairs).starts_with("halves (i, i+d/2) stored as interleaved"), "{pairs:?}");
    let nibbles = guesses(&[2, 64], |x| (0..128).map(|i| x[i ^ 16]).collect());
    assert!(best(&nibbles).starts_with("nibbles swapped"), "{nibbles:?}");
}

#[test]
fn missing_scales_and_other_values_are_recognised() {
    let factor = |f: f32| guesses(&[4, 32], move |x| x.iter().map(|v| v * f).collect());
    assert!(best(&factor(0.125)).starts_with("scaled by 0.125"));
    assert!(best(&factor(2.0)).starts_with("doubled"));
    assert_eq!(best(&factor(-1.0)), "sign flipped");
    assert_eq!(best(&factor(0.0)), "zeros");
    assert_eq!(best(&factor(f32::NAN)), "NaN");
    assert_eq!(
        best(&guesses(&[4, 32], |x| x.iter().map(|v| half::f16::from_f32(*v).to_f32()).collect())),
        "rounded to f16"
    );
    let old: Vec<f32> = (0..128u8).map(f32::from).collect();
    let found =
        guesses_with(&[4, 32], |_| old.clone(), &[("the previous step's value", bytemuck::cast_slice(&old))]);
    assert_eq!(best(&found), "the previous step's value");
}

#[test]
fn the_place_of_a_bad_tile_or_tail_is_named() {
    let spoil = |shape: &[usize], bad: fn(usize, usize) -> bool| {
        let columns = shape[1];
        let found = guesses(shape, |x| {
            let one = |(i, v): (usize, &f32)| {
                if bad(i / columns, i % columns) { v + 1.0 + (i as f32).sin() } else { *v }
            };
            x.iter().enumerate().map(one).collect()
        });
        found.last().expect("a place").what.clone()
    };
    let tile = spoil(&[64, 64], |r, c| (16..32).contains(&r) && (32..48).contains(&c));
    assert_eq!(tile, "only the 16 × 16 tile at row 16, column 32 is wrong");
    assert!(
        spoil(&[64, 64], |r, c| r < 32 && c < 32).starts_with("only the 32 × 32 tile at row 0, column 0")
    );
    assert!(spoil(&[8, 70], |_, c| c >= 64).starts_with("only the tail is wrong: columns from 64 on"));
    assert_eq!(spoil(&[8, 64], |r, _| r == 7), "only row 7 of 8 is wrong");
    assert_eq!(spoil(&[8, 64], |r, c| (r, c) == (3, 5)), "a single element is wrong: row 3, column 5");
}

#[test]
fn noise_is_not_explained() {
    let found =
        guesses(&[16, 64], |x| x.iter().enumerate().map(|(i, v)| v + (i as f32 * 1.7).sin()).collect());
    assert!(found.is_empty(), "{found:?}");
}

/// Guesses on `record` where the backend answered `other` instead.
fn guesses_of(record: &Record, other: &Record) -> Vec<Guess> {
    let mut expected = conformance::oracle::answers(record, &Numerics::F32).unwrap();
    let Expected::Within { value, .. } =
        conformance::oracle::answers(other, &Numerics::F64).unwrap().remove(0)
    else {
        panic!("no values")
    };
    #[expect(clippy::cast_possible_truncation, reason = "outputs are f32")]
    let got: Vec<f32> = value.into_iter().map(|v| v as f32).collect();
    guess(&Evidence {
        record,
        output: 0,
        layout: &record.find("out").unwrap().layout,
        expected: &expected.remove(0),
        got: bytemuck::cast_slice(&got),
        numerics: &Numerics::F32,
        earlier: &[],
    })
}

#[test]
fn a_bug_in_a_large_matmul_is_recognised_by_a_part_of_it() {
    let (n, k) = (16384, 1024);
    // Scale 1, minimum 0.5, then codes.
    let block = |i: usize| {
        let codes = (0..16).map(|j| u8::try_from((i * 31 + j * 7) % 251).unwrap());
        [0x00, 0x3c, 0x00, 0x38].into_iter().chain(codes).collect::<Vec<u8>>()
    };
    let weight: Vec<u8> = (0..n * k / 32).flat_map(block).collect();
    let x = Data::Gauss.values(&mut Random::new(3), 1, k);
    let matmul = |weight: Vec<u8>| {
        Record::new(Stem::Matmul)
            .operand(
                "x",
                Role::Input,
                Layout::contiguous(DType::F32, &[1, k]),
                bytemuck::cast_slice(&x).to_vec(),
            )
            .operand("weight", Role::Input, Layout::contiguous(DType::Q4_1, &[n, k]), weight)
            .blank("out", Layout::contiguous(DType::F32, &[1, n]), vec![0; 4 * n])
    };
    let without = weight.chunks(20).flat_map(|b| [&b[..2], &[0, 0], &b[4..]].concat()).collect();
    let found = guesses_of(&matmul(weight), &matmul(without));
    assert_eq!(best(&found), "block minimum ignored");
}
