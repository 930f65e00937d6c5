//! Validation of `kv_write`.

use kernels::{Check, DType, Record, Stem};

use crate::{assert_accepted, assert_refusal, indices, input, output, refusal, reindexed, reshaped};

/// Three rows of two heads, to a cache of three sequences with eight slots each.
pub(crate) fn sample() -> Record {
    let record = input(input(Record::new(Stem::KvWrite), "k", &[3, 2, 64]), "v", &[3, 2, 64]);
    let record = indices(indices(record, "seqs", &[0, 2, 2]), "positions", &[7, 7, 0]);
    output(output(record, "k_cache", &[3, 8, 2, 64]), "v_cache", &[3, 8, 2, 64])
}

#[test]
fn accepts_caches_of_every_type_also_of_two() {
    for k in DType::CACHE {
        for v in DType::CACHE {
            let record = reshaped(&sample(), "k_cache", k, &[3, 8, 2, 64]);
            assert_accepted(&reshaped(&record, "v_cache", v, &[3, 8, 2, 64]));
        }
    }
}

#[test]
fn rejects_a_position_past_the_cache() {
    let error = refusal(&reindexed(&sample(), "positions", &[7, 8, 0]));
    assert_refusal(&error, Stem::KvWrite, "positions", Check::Index, "below 8", "8 at index 1");
}

#[test]
fn rejects_a_sequence_that_the_cache_does_not_have() {
    let error = refusal(&reindexed(&sample(), "seqs", &[0, 2, 3]));
    assert_refusal(&error, Stem::KvWrite, "seqs", Check::Index, "below 3", "3 at index 2");
}

#[test]
fn rejects_another_number_of_indices_than_of_rows() {
    for name in ["seqs", "positions"] {
        for values in [&[0, 1][..], &[0, 1, 2, 2]] {
            let error = refusal(&reindexed(&sample(), name, values));
            assert_refusal(&error, Stem::KvWrite, name, Check::Shape, 3, values.len());
        }
    }
}

#[test]
fn rejects_two_rows_for_one_slot() {
    let record = reindexed(&sample(), "positions", &[7, 5, 5]);
    let error = refusal(&record);
    let got = "rows 1 and 2 both at sequence 2, position 5";
    assert_refusal(&error, Stem::KvWrite, "positions", Check::Duplicate, "one row per slot", got);
    assert_accepted(&reindexed(&record, "seqs", &[0, 2, 1]));
}

#[test]
fn rejects_heads_and_dimensions_that_the_cache_does_not_have() {
    let cache = |shape: &[usize]| {
        reshaped(&reshaped(&sample(), "k_cache", DType::F32, shape), "v_cache", DType::F32, shape)
    };
    let error = refusal(&cache(&[3, 8, 4, 64]));
    assert_refusal(&error, Stem::KvWrite, "k_cache", Check::Shape, 2, 4);
    let error = refusal(&cache(&[3, 8, 2, 32]));
    assert_refusal(&error, Stem::KvWrite, "k_cache", Check::Shape, 64, 32);
}

#[test]
fn rejects_values_of_another_shape_than_the_keys() {
    let error = refusal(&reshaped(&sample(), "v", DType::F32, &[3, 1, 64]));
    assert_refusal(&error, Stem::KvWrite, "v", Check::Shape, "[3, 2, 64]", "[3, 1, 64]");
    let error = refusal(&reshaped(&sample(), "v_cache", DType::F32, &[3, 9, 2, 64]));
    assert_refusal(&error, Stem::KvWrite, "v_cache", Check::Shape, "[3, 8, 2, 64]", "[3, 9, 2, 64]");
}
