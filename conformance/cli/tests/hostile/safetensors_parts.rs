//! Damage inside the header of a safetensors file, which stays a safetensors file: its metadata are JSON, and often hold JSON as text.

use serde_json::{Map, Value};

use crate::damage::{NUMBERS, Rng};

/// The file with one place of its header changed; `None` if it is no safetensors file.
pub fn damaged(file: &[u8], words: &[&str], rng: &mut Rng) -> Option<Vec<u8>> {
    let (length, rest) = file.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let data = rest.get(length..)?;
    let mut header: Value = serde_json::from_slice(&rest[..length]).ok()?;
    change(&mut header, words, rng);
    let mut text = header.to_string();
    while !text.len().is_multiple_of(8) {
        text.push(' ');
    }
    let mut out = (text.len() as u64).to_le_bytes().to_vec();
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(data);
    Some(out)
}

/// Changes one place in a tree of values.
fn change(value: &mut Value, words: &[&str], rng: &mut Rng) {
    if rng.one_in(12) {
        *value = replacement(value, words, rng);
        return;
    }
    match value {
        Value::Object(fields) if !fields.is_empty() => change_field(fields, words, rng),
        Value::Array(items) if !items.is_empty() => {
            let at = rng.below(items.len());
            match rng.below(8) {
                0 => drop(items.remove(at)),
                1 => items.insert(at, items[at].clone()),
                _ => change(&mut items[at], words, rng),
            }
        }
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(mut inside @ (Value::Object(_) | Value::Array(_))) => {
                change(&mut inside, words, rng);
                *text = inside.to_string();
            }
            _ => *value = replacement(value, words, rng),
        },
        _ => *value = replacement(value, words, rng),
    }
}

fn change_field(fields: &mut Map<String, Value>, words: &[&str], rng: &mut Rng) {
    let at = rng.below(fields.len());
    let Some(key) = fields.keys().nth(at).cloned() else { return };
    match rng.below(12) {
        0 => drop(fields.remove(&key)),
        1 => {
            let copy = fields[&key].clone();
            fields.insert((*rng.of(words)).to_owned(), copy);
        }
        _ => change(&mut fields[&key], words, rng),
    }
}

fn replacement(value: &Value, words: &[&str], rng: &mut Rng) -> Value {
    match rng.below(8) {
        0 => Value::Null,
        1 => Value::Array(vec![value.clone(), value.clone()]),
        2 => Value::Bool(rng.one_in(2)),
        3 => Value::from(-1),
        4 => Value::from(f64::MAX),
        5 => Value::from((*rng.of(words)).to_owned()),
        _ => Value::from(*rng.of(&NUMBERS)),
    }
}
