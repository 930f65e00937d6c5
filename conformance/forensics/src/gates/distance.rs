//! How far two runs are apart.

use serde::Serialize;

use super::folder::{Entry, Stored};

/// How far two runs are apart.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Distance {
    /// Entries that both runs have, with equal tokens up to there.
    pub entries: usize,
    /// Logits in them.
    pub logits: usize,
    /// The largest difference of two logits; `None` where one of them is no number.
    pub max_abs_diff: Option<f64>,
    /// The difference that 99 % of the logits do not exceed.
    pub p99_abs_diff: Option<f64>,
    /// The share of entries whose likeliest token is the same.
    pub top1_agreement: f64,
    /// Logits that are no numbers on at least one side.
    pub not_finite: usize,
    /// Entry and token of the largest difference.
    pub worst: Option<(u64, usize)>,
    /// Whether all bits are equal.
    pub identical: bool,
    /// Why the rest was not compared; `None` where all was.
    pub cut: Option<String>,
}

/// The distance of two runs. Entries are compared as long as number, token and size agree.
pub fn between(left: &Stored, right: &Stored) -> Distance {
    let mut distance = Distance {
        entries: 0,
        logits: 0,
        max_abs_diff: Some(0.0),
        p99_abs_diff: Some(0.0),
        top1_agreement: 0.0,
        not_finite: 0,
        worst: None,
        identical: true,
        cut: None,
    };
    let (mut differences, mut agree) = (Vec::new(), 0usize);
    for (a, b) in left.entries.iter().zip(&right.entries) {
        distance.cut = mismatch(a, b);
        if distance.cut.is_some() {
            break;
        }
        distance.entries += 1;
        agree += usize::from(top(&a.logits) == top(&b.logits));
        for (at, (x, y)) in a.logits.iter().zip(&b.logits).enumerate() {
            distance.identical &= x.to_bits() == y.to_bits();
            let difference = (f64::from(*x) - f64::from(*y)).abs();
            if !difference.is_finite() {
                distance.not_finite += 1;
                distance.worst.get_or_insert((a.token_idx, at));
            } else if distance.not_finite == 0 && distance.max_abs_diff.is_some_and(|max| difference > max) {
                distance.max_abs_diff = Some(difference);
                distance.worst = Some((a.token_idx, at));
            }
            differences.push(difference);
        }
    }
    if distance.cut.is_none() && left.entries.len() != right.entries.len() {
        distance.cut =
            Some(format!("{} entries on one side, {} on the other", left.entries.len(), right.entries.len()));
    }
    distance.logits = differences.len();
    distance.top1_agreement =
        if distance.entries == 0 { 0.0 } else { agree as f64 / distance.entries as f64 };
    if distance.not_finite > 0 {
        (distance.max_abs_diff, distance.p99_abs_diff) = (None, None);
    } else if !differences.is_empty() {
        // Nearest rank: at least 99 of 100 are no larger.
        let rank = (differences.len() * 99).div_ceil(100) - 1;
        distance.p99_abs_diff = Some(*differences.select_nth_unstable_by(rank, f64::total_cmp).1);
    }
    distance
}

/// Why two entries are none of the same place.
fn mismatch(a: &Entry, b: &Entry) -> Option<String> {
    let at = a.token_idx;
    if a.token_idx != b.token_idx {
        return Some(format!("token_idx is {at} on one side and {} on the other", b.token_idx));
    }
    if a.token_id != b.token_id {
        return Some(format!(
            "at token_idx {at} token_id is {} on one side and {} on the other",
            a.token_id, b.token_id
        ));
    }
    (a.logits.len() != b.logits.len()).then(|| {
        format!(
            "at token_idx {at} there are {} logits on one side and {} on the other",
            a.logits.len(),
            b.logits.len()
        )
    })
}

/// The likeliest token: the first of several.
fn top(logits: &[f32]) -> usize {
    (0..logits.len()).fold(0, |best, at| if logits[at] > logits[best] { at } else { best })
}
