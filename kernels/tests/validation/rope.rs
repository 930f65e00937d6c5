//! Validation of `rope`.

use kernels::ops::rope::{MAX_POSITIONS, Pairing, Scaling};
use kernels::{Check, DType, Op, OpError, Record, Stem};

use crate::{
    assert_accepted, assert_refusal, indices, input, output, refusal, refusal_after, reindexed, reshaped,
    without,
};

/// Two heads of 64 elements, of which 32 rotate.
pub(crate) fn sample() -> Record {
    let record = Record::new(Stem::Rope)
        .param("pairing", Pairing::Neox)
        .param("n_rot", 32)
        .param("base", 10_000.0f32)
        .param("scaling", Scaling::None)
        .param("max_positions", 10);
    let record = indices(input(record, "x", &[3, 2, 64]), "positions", &[9, 0, 9]);
    output(input(record, "factors", &[16]), "out", &[3, 2, 64])
}

fn refusal_of_scaling(scaling: Scaling) -> OpError {
    refusal_after(Stem::Rope, |op| {
        let Op::Rope(op) = op else { unreachable!() };
        op.scaling = scaling;
    })
}

/// YaRN's parameters by name, all in range.
const YARN: [(&str, f32); 6] = [
    ("scaling.factor", 4.0),
    ("scaling.original_context", 4096.0),
    ("scaling.beta_fast", 32.0),
    ("scaling.beta_slow", 1.0),
    ("scaling.extrapolation", 1.0),
    ("scaling.attention", 1.0),
];

/// YaRN with one of its float parameters changed.
fn yarn(name: &str, value: f32) -> Scaling {
    let of = |at: usize| if YARN[at].0 == name { value } else { YARN[at].1 };
    Scaling::Yarn {
        factor: of(0),
        original_context: 4096,
        beta_fast: of(2),
        beta_slow: of(3),
        extrapolation: of(4),
        attention: of(5),
    }
}

#[test]
fn accepts_every_kind_of_scaling() {
    for scaling in [Scaling::None, Scaling::Linear { factor: 2.0 }, yarn("", 0.0)] {
        assert_accepted(&sample().param("scaling", scaling));
        assert_accepted(&without(&sample(), "factors").param("scaling", scaling));
    }
}

#[test]
fn rejects_a_position_equal_to_the_number_of_positions() {
    for position in [10, u32::MAX] {
        let error = refusal(&reindexed(&sample(), "positions", &[0, 9, position]));
        let got = format!("{position} at index 2");
        assert_refusal(&error, Stem::Rope, "positions", Check::Index, "below 10", got);
    }
}

#[test]
fn rejects_another_number_of_positions_than_of_rows() {
    for positions in [&[0, 1][..], &[0, 1, 2, 3]] {
        let error = refusal(&reindexed(&sample(), "positions", positions));
        assert_refusal(&error, Stem::Rope, "positions", Check::Shape, 3, positions.len());
    }
}

#[test]
fn positions_end_at_two_to_the_twentieth() {
    let last = u32::try_from(MAX_POSITIONS).unwrap() - 1;
    let far = reindexed(&sample(), "positions", &[0, 1, last]);
    assert_accepted(&far.clone().param("max_positions", MAX_POSITIONS));
    for beyond in [0, MAX_POSITIONS + 1] {
        let error = refusal(&far.clone().param("max_positions", beyond));
        assert_refusal(&error, Stem::Rope, "max_positions", Check::Parameter, MAX_POSITIONS, beyond);
    }
}

#[test]
fn rejects_rotary_dimensions_that_are_none_odd_or_more_than_the_head_has() {
    for n_rot in [0, 31, 63, 66] {
        let error = refusal(&sample().param("n_rot", n_rot));
        assert_refusal(&error, Stem::Rope, "n_rot", Check::Parameter, "even 64", n_rot);
    }
    assert_accepted(&reshaped(&sample(), "factors", DType::F32, &[32]).param("n_rot", 64));
}

#[test]
fn rejects_divisors_that_are_not_one_per_pair() {
    for n in [15, 32] {
        let error = refusal(&reshaped(&sample(), "factors", DType::F32, &[n]));
        assert_refusal(&error, Stem::Rope, "factors", Check::Shape, 16, n);
    }
}

#[test]
fn rejects_a_base_that_is_no_positive_number() {
    for base in [0.0, -10_000.0, f32::NAN, f32::INFINITY] {
        let error = refusal_after(Stem::Rope, |op| {
            let Op::Rope(op) = op else { unreachable!() };
            op.base = base;
        });
        assert_refusal(&error, Stem::Rope, "base", Check::Parameter, "finite positive", base);
    }
}

#[test]
fn rejects_a_base_with_which_yarn_has_no_frequencies_to_order() {
    let yarn = yarn("", 0.0);
    for base in [1.0f32, 0.5] {
        assert_accepted(&sample().param("base", base));
        let error = refusal(&sample().param("base", base).param("scaling", yarn));
        assert_refusal(&error, Stem::Rope, "base", Check::Parameter, "above 1", base);
    }
}

#[test]
fn rejects_a_linear_factor_that_is_no_positive_number() {
    for factor in [0.0, -2.0, f32::NAN, f32::INFINITY] {
        let error = refusal_of_scaling(Scaling::Linear { factor });
        assert_refusal(&error, Stem::Rope, "scaling.factor", Check::Parameter, "finite positive", factor);
    }
}

#[test]
fn rejects_parameters_of_yarn_that_are_no_positive_numbers() {
    for at in [0, 2, 3, 5] {
        let name = YARN[at].0;
        for value in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            let error = refusal_of_scaling(yarn(name, value));
            assert_refusal(&error, Stem::Rope, name, Check::Parameter, "finite positive", value);
        }
    }
}

#[test]
fn rejects_a_ramp_weight_outside_zero_to_one() {
    for value in [-0.1, 1.1, f32::NAN] {
        let error = refusal_of_scaling(yarn("scaling.extrapolation", value));
        assert_refusal(&error, Stem::Rope, "scaling.extrapolation", Check::Parameter, "0 1", value);
    }
    for value in [0.0, 1.0] {
        assert_accepted(&sample().param("scaling", yarn("scaling.extrapolation", value)));
    }
}

#[test]
fn rejects_an_original_context_of_nothing() {
    let Scaling::Yarn { factor, beta_fast, beta_slow, extrapolation, attention, .. } = yarn("", 0.0) else {
        unreachable!()
    };
    let original_context = 0;
    let error = refusal_of_scaling(Scaling::Yarn {
        factor,
        original_context,
        beta_fast,
        beta_slow,
        extrapolation,
        attention,
    });
    assert_refusal(&error, Stem::Rope, "scaling.original_context", Check::Parameter, "at least 1", 0);
}
