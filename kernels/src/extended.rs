//! Floats in JSON, which has no infinity and no NaN: those are written as the words `inf`, `-inf` and `NaN`.

use serde::{Deserialize, Deserializer, Serializer};
use serde_json::Value;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
pub(crate) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.is_finite() {
        serializer.serialize_f64(*value)
    } else {
        serializer.serialize_str(&value.to_string())
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let parsed = match Value::deserialize(deserializer)? {
        Value::Number(number) => number.as_f64(),
        Value::String(word) => word.parse().ok(),
        _ => None,
    };
    parsed.ok_or_else(|| serde::de::Error::custom("want a number, inf, -inf or NaN"))
}
