//! The right answer to another question: the op with other parameters or operands.

use conformance::oracle::answers;
use kernels::{DType, Layout, Record, RecordOperand, Stem};
use serde_json::{Value, json};

use super::{Case, Evidence, Guess, wanted};
use crate::reduce;

/// Of ops larger than this only a part is recomputed: a guess is not worth minutes.
const LARGEST: usize = 8 << 20;

/// Two units in the last place of an f32, relative.
const SLACK: f64 = 2.4e-7;

pub(super) fn guesses(case: &Case, evidence: &Evidence<'_>) -> Vec<Guess> {
    if reduce::size(evidence.record) <= LARGEST {
        return weighed(case, evidence);
    }
    of_part(case, evidence).unwrap_or_default()
}

/// The guesses on a part of a large op, around its first wrong element.
fn of_part(case: &Case, evidence: &Evidence<'_>) -> Option<Vec<Guess>> {
    let mut rest = *case.wrong.first()?;
    let mut index: Vec<usize> = Vec::new();
    for extent in case.shape.iter().rev() {
        index.insert(0, rest % extent);
        rest /= extent;
    }
    let part = reduce::around(evidence.record, &index, LARGEST)?;
    let (layout, got) = part.of_output(evidence.layout, evidence.got)?;
    let expected = answers(&part.record, evidence.numerics).ok()?;
    let expected = expected.get(evidence.output)?;
    let evidence = Evidence { record: &part.record, layout: &layout, expected, got: &got, ..*evidence };
    Some(weighed(&Case::new(&evidence)?, &evidence))
}

/// The variations that predict what came out.
fn weighed(case: &Case, evidence: &Evidence<'_>) -> Vec<Guess> {
    let mut guesses = Vec::new();
    for (what, record) in variations(evidence.record) {
        let Ok(expected) = answers(&record, evidence.numerics) else { continue };
        let Some((value, bound)) = expected.get(evidence.output).and_then(|e| wanted(evidence.layout, e))
        else {
            continue;
        };
        // One rounding on the way to another question is not part of that question's bound.
        let bound: Vec<f64> = bound.iter().zip(&value).map(|(b, v)| b + v.abs() * SLACK).collect();
        // What is inside its bound must be as right under the hypothesis: a wrong question has a wrong answer everywhere.
        let consistent = (0..case.got.len())
            .filter(|&i| value.get(i).is_some_and(|v| super::near(case.got[i], *v, bound[i])))
            .count();
        let explained = case.explained(|i| Some((*value.get(i)?, bound[i])));
        if consistent * 4 >= case.got.len() * 3 {
            guesses.push(Guess { what, explained });
        }
    }
    guesses
}

fn variations(record: &Record) -> Vec<(String, Record)> {
    let mut all = Vec::new();
    let mut add = |what: &str, record: Option<Record>| all.extend(record.map(|r| (what.to_owned(), r)));
    match record.stem {
        Stem::Rope => {
            let other =
                if record.params.get("pairing") == Some(&json!("neox")) { "interleaved" } else { "neox" };
            add(&format!("rotated with {other} pairs"), Some(param(record, "pairing", json!(other))));
            // The last position may be the last that the op allows.
            let limit = record.params.get("max_positions").and_then(Value::as_u64).unwrap_or(0);
            let allowed = param(record, "max_positions", json!(limit + 1));
            add("positions one too large", indices(&allowed, "positions", |p| p.checked_add(1)));
            add("positions one too small", indices(record, "positions", |p| Some(p.saturating_sub(1))));
            add("frequency factors ignored", floats(record, "factors", |_| 1.0));
            if let Some(base) = record.params.get("base").and_then(Value::as_f64) {
                add(
                    "frequencies of a dimension twice as large",
                    Some(param(record, "base", json!(base.sqrt()))),
                );
                add(
                    "frequencies of a dimension half as large",
                    Some(param(record, "base", json!(base * base))),
                );
            }
        }
        Stem::Attention => {
            let scale = record.params.get("scale").and_then(Value::as_f64).unwrap_or(1.0);
            add("scale missing", Some(param(record, "scale", json!(1.0))));
            add("scale applied twice", Some(param(record, "scale", json!(scale * scale))));
            add(
                "over pos keys instead of pos + 1",
                indices(record, "positions", |p| Some(p.saturating_sub(1))),
            );
            // A row at the end of the cache has no key more to see.
            let last = record.find("k_cache").map_or(0, |k| k.layout.dim(1).saturating_sub(1));
            let later = |last: u32| indices(record, "positions", |p| Some(p.saturating_add(1).min(last)));
            add("one key too many: the mask is off by one", u32::try_from(last).ok().and_then(later));
            add("window ignored", Some(param(record, "window", Value::Null)));
            if let Some(window) = record.params.get("window").and_then(Value::as_u64) {
                add("the last key of the window dropped", shorter_window(record, window));
                add("one key too many in the window", Some(param(record, "window", json!(window + 1))));
            } else {
                // Rows at smaller positions keep their first key: the guess is about the one that sees most.
                add(
                    "the first key dropped",
                    largest(record, "positions").and_then(|p| shorter_window(record, p + 1)),
                );
            }
            add("soft-cap ignored", Some(param(record, "softcap", Value::Null)));
            add("query heads mapped by h % n_kv instead of h / group", heads_by_modulo(record));
            add("every row reads the first sequence", indices(record, "seqs", |_| Some(0)));
        }
        Stem::RmsNorm => {
            add("epsilon missing", Some(param(record, "eps", json!(0.0))));
            add("epsilon 1e-6", Some(param(record, "eps", json!(1e-6))));
            add("epsilon 1e-5", Some(param(record, "eps", json!(1e-5))));
            add("epsilon outside the root", epsilon_outside(record));
            add("weight missing", floats(record, "weight", |_| 1.0));
        }
        Stem::LayerNorm => {
            add("epsilon 1e-6", Some(param(record, "eps", json!(1e-6))));
            add("epsilon 1e-5", Some(param(record, "eps", json!(1e-5))));
            add("weight missing", floats(record, "weight", |_| 1.0));
            add("bias missing", floats(record, "bias", |_| 0.0));
        }
        Stem::Matmul => matmul(record, &mut add),
        Stem::Embed => {
            add("token ids one too large", indices(record, "ids", |id| id.checked_add(1)));
            add("token ids one too small", indices(record, "ids", |id| Some(id.saturating_sub(1))));
        }
        Stem::KvWrite => {
            add("written one slot late", indices(record, "positions", |p| p.checked_add(1)));
            add("written one slot early", indices(record, "positions", |p| Some(p.saturating_sub(1))));
            add("keys and values swapped", swapped(record, "k", "v"));
        }
        Stem::SiluMul | Stem::GeluMul => {
            let gate = if record.find("gate").is_some() { "gate" } else { "out" };
            add("gate and up swapped", swapped(record, gate, "up"));
            add("up missing", floats(record, "up", |_| 1.0));
        }
        Stem::Add => {
            add("second term added twice", floats(record, "b", |b| 2.0 * b));
            add("second term missing", floats(record, "b", |_| 0.0));
        }
        // No mistake of these is worth recomputing: elsewhere the pattern of the wrong elements says more.
        Stem::Softmax
        | Stem::Mul
        | Stem::Scale
        | Stem::Argmax
        | Stem::Dequantize
        | Stem::Quantize
        | Stem::Cast
        | Stem::Copy
        | Stem::Fill => {}
    }
    all
}

fn matmul(record: &Record, add: &mut impl FnMut(&str, Option<Record>)) {
    add("nibbles of the weights swapped", nibbles(record));
    add("block minimum ignored", minimum(record));
    add("bias missing", floats(record, "bias", |_| 0.0));
    add("bias added twice", floats(record, "bias", |b| 2.0 * b));
    let k = record.find("x").map_or(0, |x| x.layout.dim(1));
    for tile in [256, 128, 64, 32] {
        let kept = k - k % tile;
        if kept > 0 && kept < k {
            add(&format!("tail of K dropped behind the last {tile}"), columns_zeroed(record, kept));
        }
    }
    if k > 32 {
        add("last 32 of K dropped", columns_zeroed(record, k - 32));
    }
}

/// The record with a window of one slot less than `window`, which sees at least one.
fn shorter_window(record: &Record, window: u64) -> Option<Record> {
    (window > 1).then(|| param(record, "window", json!(window - 1)))
}

/// The largest index of an operand.
fn largest(record: &Record, name: &str) -> Option<u64> {
    let (words, _) = record.find(name)?.bytes.as_chunks::<4>();
    words.iter().map(|word| u64::from(u32::from_le_bytes(*word))).max()
}

fn param(record: &Record, name: &str, value: Value) -> Record {
    let mut changed = record.clone();
    changed.params.insert(name.into(), value);
    changed
}

/// The record with operand `name` changed; `None` where there is none.
fn operand(record: &Record, name: &str, with: impl Fn(&mut RecordOperand)) -> Option<Record> {
    record.find(name)?;
    let mut changed = Record::new(record.stem);
    changed.params.clone_from(&record.params);
    for operand in record.operands() {
        let mut operand = operand.clone();
        if operand.name == name {
            with(&mut operand);
        }
        changed = if operand.blank {
            changed.blank(&operand.name, operand.layout, operand.bytes)
        } else {
            changed.operand(&operand.name, operand.role, operand.layout, operand.bytes)
        };
    }
    Some(changed)
}

fn words(operand: &mut RecordOperand, with: impl Fn(usize, [u8; 4]) -> [u8; 4]) {
    for range in operand.layout.rows() {
        let (words, _) = operand.bytes[range].as_chunks_mut::<4>();
        words.iter_mut().enumerate().for_each(|(column, word)| *word = with(column, *word));
    }
}

fn indices(record: &Record, name: &str, with: impl Fn(u32) -> Option<u32>) -> Option<Record> {
    operand(record, name, |o| {
        words(o, |_, word| with(u32::from_le_bytes(word)).unwrap_or(u32::MAX).to_le_bytes());
    })
}

fn floats(record: &Record, name: &str, with: impl Fn(f32) -> f32) -> Option<Record> {
    record.find(name).filter(|o| o.layout.dtype() == DType::F32)?;
    operand(record, name, |o| words(o, |_, word| with(f32::from_le_bytes(word)).to_le_bytes()))
}

/// Rows scaled so that the op gives x·w/(r + eps) instead of x·w/√(r² + eps), where r is the row's root mean square: with s² = 1/(2r + eps),
/// s/√(s²r² + eps) = 1/(r + eps).
fn epsilon_outside(record: &Record) -> Option<Record> {
    let eps = record.params.get("eps").and_then(Value::as_f64)?;
    let x = if record.find("x").is_some() { "x" } else { "out" };
    record.find(x).filter(|o| o.layout.dtype() == DType::F32)?;
    operand(record, x, |o| {
        for range in o.layout.rows() {
            let (row, _) = o.bytes[range].as_chunks_mut::<4>();
            let values = || row.iter().map(|word| f64::from(f32::from_le_bytes(*word)));
            let r = (values().map(|v| v * v).sum::<f64>() / row.len() as f64).sqrt();
            let s = (1.0 / (2.0 * r + eps)).sqrt();
            let scaled: Vec<f64> = values().map(|v| v * s).collect();
            row.iter_mut().zip(scaled).for_each(|(word, v)| *word = narrow(v).to_le_bytes());
        }
    })
}

#[expect(clippy::cast_possible_truncation, reason = "the operand is f32")]
fn narrow(x: f64) -> f32 {
    x as f32
}

fn columns_zeroed(record: &Record, kept: usize) -> Option<Record> {
    operand(record, "x", |o| words(o, |column, word| if column < kept { word } else { [0; 4] }))
}

/// The contents of two operands of the same layout exchanged.
fn swapped(record: &Record, one: &str, other: &str) -> Option<Record> {
    let (a, b) = (record.find(one)?, record.find(other)?);
    let (a_bytes, b_bytes) = (a.layout.gather(&a.bytes, 0)?, b.layout.gather(&b.bytes, 0)?);
    if a_bytes.len() != b_bytes.len() {
        return None;
    }
    let put = |o: &mut RecordOperand, mut dense: &[u8]| {
        for range in o.layout.rows() {
            let (row, rest) = dense.split_at(range.len());
            o.bytes[range].copy_from_slice(row);
            dense = rest;
        }
    };
    operand(&operand(record, one, |o| put(o, &b_bytes))?, other, |o| put(o, &a_bytes))
}

/// The cache with a head for each query head, in the order that `h % n_kv` chooses them.
fn heads_by_modulo(record: &Record) -> Option<Record> {
    let heads = record.find("q")?.layout.dim(1);
    let spread = |o: &mut RecordOperand| {
        let (layout, kv_heads) = (o.layout, o.layout.dim(2));
        let dense = layout.gather(&o.bytes, 0).unwrap_or_default();
        let head = layout.dtype().bytes_of(layout.dim(3)).unwrap_or(1);
        let slots = dense.chunks_exact(kv_heads.max(1) * head);
        let spread = slots.flat_map(|slot| (0..heads).map(move |h| &slot[h % kv_heads * head..][..head]));
        let bytes = spread.flatten().copied().collect();
        o.layout = Layout::contiguous(layout.dtype(), &[layout.dim(0), layout.dim(1), heads, layout.dim(3)]);
        o.bytes = bytes;
    };
    if record.find("k_cache")?.layout.dim(2) == heads {
        return None;
    }
    operand(&operand(record, "k_cache", spread)?, "v_cache", spread)
}

/// First byte of the 4-bit codes of a block.
const fn codes(dtype: DType) -> Option<usize> {
    Some(match dtype {
        DType::Mxfp4 => 1,
        DType::Q4_0 | DType::Iq4Nl => 2,
        DType::Q4_1 => 4,
        DType::Q5_0 => 6,
        DType::Q5_1 | DType::Iq4Xs => 8,
        DType::Q4K => 16,
        DType::Q5K => 48,
        _ => return None,
    })
}

fn nibbles(record: &Record) -> Option<Record> {
    let dtype = record.find("weight")?.layout.dtype();
    let first = codes(dtype)?;
    blocks(record, dtype, |block| block[first..].iter_mut().for_each(|byte| *byte = byte.rotate_left(4)))
}

fn minimum(record: &Record) -> Option<Record> {
    let dtype = record.find("weight")?.layout.dtype();
    let place = match dtype {
        DType::Q4_1 | DType::Q5_1 | DType::Q4K | DType::Q5K => 2..4,
        DType::Q2K => 82..84,
        _ => return None,
    };
    blocks(record, dtype, |block| block[place.clone()].fill(0))
}

fn blocks(record: &Record, dtype: DType, with: impl Fn(&mut [u8])) -> Option<Record> {
    operand(record, "weight", |o| {
        for range in o.layout.rows() {
            o.bytes[range].chunks_exact_mut(dtype.block_bytes()).for_each(&with);
        }
    })
}
