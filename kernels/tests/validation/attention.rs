//! Validation of `attention`.

use kernels::{Check, DType, Op, Record, Stem};

use crate::{
    assert_accepted, assert_refusal, indices, input, output, refusal, refusal_after, reindexed, reshaped,
};

/// Three rows of four heads over a cache of three sequences with eight slots of two heads each.
pub(crate) fn sample() -> Record {
    let record = Record::new(Stem::Attention)
        .param("scale", 0.125f32)
        .param("window", None::<usize>)
        .param("softcap", None::<f32>);
    let record = input(record, "q", &[3, 4, 64]);
    let record = input(input(record, "k_cache", &[3, 8, 2, 64]), "v_cache", &[3, 8, 2, 64]);
    let record = indices(indices(record, "seqs", &[0, 2, 2]), "positions", &[7, 0, 7]);
    output(record, "out", &[3, 4, 64])
}

/// The sample with both caches of type `dtype` and shape `shape`.
fn over(dtype: DType, shape: &[usize]) -> Record {
    reshaped(&reshaped(&sample(), "k_cache", dtype, shape), "v_cache", dtype, shape)
}

#[test]
fn accepts_caches_of_every_type_and_every_divisor_of_heads() {
    for dtype in DType::CACHE {
        for kv_heads in [1, 2, 4] {
            assert_accepted(&over(dtype, &[3, 8, kv_heads, 64]));
        }
    }
}

#[test]
fn rejects_heads_that_do_not_divide() {
    for kv_heads in [3, 8] {
        let error = refusal(&over(DType::F32, &[3, 8, kv_heads, 64]));
        assert_refusal(&error, Stem::Attention, "k_cache", Check::Shape, "divisor of 4", kv_heads);
    }
}

#[test]
fn rejects_a_position_past_the_cache() {
    let error = refusal(&reindexed(&sample(), "positions", &[8, 0, 7]));
    assert_refusal(&error, Stem::Attention, "positions", Check::Index, "below 8", "8 at index 0");
}

#[test]
fn rejects_a_sequence_that_the_cache_does_not_have() {
    let error = refusal(&reindexed(&sample(), "seqs", &[0, 3, 2]));
    assert_refusal(&error, Stem::Attention, "seqs", Check::Index, "below 3", "3 at index 1");
}

#[test]
fn rejects_another_number_of_indices_than_of_rows() {
    for name in ["seqs", "positions"] {
        for values in [&[0, 1][..], &[0, 1, 2, 2]] {
            let error = refusal(&reindexed(&sample(), name, values));
            assert_refusal(&error, Stem::Attention, name, Check::Shape, 3, values.len());
        }
    }
}

#[test]
fn rejects_keys_of_another_dimension_than_the_queries() {
    let error = refusal(&over(DType::F32, &[3, 8, 2, 32]));
    assert_refusal(&error, Stem::Attention, "k_cache", Check::Shape, 64, 32);
}

#[test]
fn rejects_values_of_another_shape_than_the_keys() {
    let error = refusal(&reshaped(&sample(), "v_cache", DType::F32, &[3, 9, 2, 64]));
    assert_refusal(&error, Stem::Attention, "v_cache", Check::Shape, "[3, 8, 2, 64]", "[3, 9, 2, 64]");
}

#[test]
fn rejects_an_output_of_another_shape_than_the_queries() {
    let error = refusal(&reshaped(&sample(), "out", DType::F32, &[3, 2, 64]));
    assert_refusal(&error, Stem::Attention, "out", Check::Shape, "[3, 4, 64]", "[3, 2, 64]");
}

#[test]
fn rejects_a_scale_that_is_no_number() {
    for scale in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let error = refusal_after(Stem::Attention, |op| {
            let Op::Attention(op) = op else { unreachable!() };
            op.scale = scale;
        });
        assert_refusal(&error, Stem::Attention, "scale", Check::Parameter, "finite", scale);
    }
}

#[test]
fn rejects_a_window_of_nothing() {
    let error = refusal(&sample().param("window", 0));
    assert_refusal(&error, Stem::Attention, "window", Check::Parameter, "at least 1", 0);
    assert_accepted(&sample().param("window", 1));
    assert_accepted(&sample().param("window", usize::MAX));
}

#[test]
fn rejects_a_soft_cap_that_is_no_positive_number() {
    for softcap in [0.0, -30.0, f32::NAN, f32::INFINITY] {
        let error = refusal_after(Stem::Attention, |op| {
            let Op::Attention(op) = op else { unreachable!() };
            op.softcap = Some(softcap);
        });
        assert_refusal(&error, Stem::Attention, "softcap", Check::Parameter, "finite positive", softcap);
    }
    assert_accepted(&sample().param("softcap", 30.0f32));
}
