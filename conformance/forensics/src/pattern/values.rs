//! Numbers that follow from the right ones, or are something else altogether.

use half::{bf16, f16};
use kernels::Role;

use super::{Case, Evidence, Guess, numbers};

pub(super) fn guesses(case: &Case, evidence: &Evidence<'_>) -> Vec<Guess> {
    let mut all = Vec::new();
    let mut add = |what: String, explained: f64| all.push(Guess { what, explained });
    add("NaN".into(), case.explained(|_| Some((f64::NAN, 0.0))));
    add("zeros".into(), case.explained(|_| Some((0.0, 0.0))));
    add("sign flipped".into(), case.explained(|i| Some((-case.want[i], case.bound[i]))));
    for (what, bytes) in evidence.earlier {
        if let Some(values) = numbers(evidence.layout, bytes) {
            add((*what).into(), case.explained(|i| Some((*values.get(i)?, 0.0))));
        }
    }
    let outputs = evidence.record.operands().iter().filter(|o| o.role == Role::Output && !o.blank);
    if let Some(values) = outputs
        .clone()
        .nth(evidence.output)
        .and_then(|o| numbers(&o.layout.densified(), &o.layout.gather(&o.bytes, 0)?))
    {
        add(
            "never written: what was there before the op".into(),
            case.explained(|i| Some((*values.get(i)?, 0.0))),
        );
    }
    for input in evidence.record.operands().iter().filter(|o| o.role == Role::Input) {
        let dense = input.layout.gather(&input.bytes, 0);
        let values = dense.and_then(|dense| numbers(&input.layout.densified(), &dense));
        if let Some(values) = values.filter(|values| values.len() == case.got.len()) {
            add(
                format!("the input '{}' came back unchanged", input.name),
                case.explained(|i| Some((values[i], 0.0))),
            );
        }
    }
    if let Some((factor, explained)) = factor(case) {
        let name = match factor {
            f if (f - 2.0).abs() < 1e-3 => "doubled: something is applied or added twice".into(),
            f if (f - 0.5).abs() < 1e-3 => "halved".into(),
            f => format!("scaled by {f:.6}: a factor is missing, or one too many"),
        };
        add(name, explained);
    }
    roundings(case, &mut add);
    all
}

/// One factor for all wrong elements.
fn factor(case: &Case) -> Option<(f64, f64)> {
    let mut ratios: Vec<f64> =
        case.wrong.iter().map(|&i| case.got[i] / case.want[i]).filter(|r| r.is_finite()).collect();
    if ratios.len() < 4 {
        return None;
    }
    ratios.sort_by(f64::total_cmp);
    let factor = ratios[ratios.len() / 2];
    if !(1e-6..1e6).contains(&factor.abs()) || (factor - 1.0).abs() < 1e-3 {
        return None;
    }
    // A factor that is itself estimated is known to about this much.
    let explained = case.explained(|i| {
        let value = factor * case.want[i];
        Some((value, case.bound[i] * factor.abs() + 1e-5 * value.abs()))
    });
    Some((factor, explained))
}

/// A shorter format: its name, and the rounding to it.
type Rounding = (&'static str, fn(f32) -> f32);

/// The right value in fewer bits.
fn roundings(case: &Case, add: &mut impl FnMut(String, f64)) {
    let kinds: [Rounding; 3] = [
        ("rounded to f16", |v| f16::from_f32(v).to_f32()),
        ("rounded to bf16", |v| bf16::from_f32(v).to_f32()),
        ("truncated to bf16", |v| f32::from_bits(v.to_bits() & 0xffff_0000)),
    ];
    for (what, round) in kinds {
        let rounded = |v: f64| f64::from(round(narrow(v)));
        // The value before that rounding is known to its bound, which may decide which way it goes.
        let predicted = |i: usize| {
            let (value, bound) = (case.want[i], case.bound[i]);
            let (low, high) = (rounded(value - bound), rounded(value + bound));
            Some((f64::midpoint(low, high), (high - low).abs() / 2.0))
        };
        let coarse = case.got.iter().all(|v| !v.is_finite() || near_itself(*v, rounded(*v)));
        if coarse {
            add(what.into(), case.explained(predicted));
        }
    }
}

#[expect(clippy::float_cmp, reason = "whether a number is one of the shorter format")]
fn near_itself(value: f64, rounded: f64) -> bool {
    value == rounded
}

#[expect(clippy::cast_possible_truncation, reason = "rounding is what is meant")]
fn narrow(x: f64) -> f32 {
    x as f32
}
