//! Floats in JSON, which has no infinity and no NaN: those are written as the words `inf`, `-inf` and `NaN`.

use serde::{Deserialize, Deserializer, Serializer};

#[derive(Deserialize)]
#[serde(untagged)]
enum Form {
    Number(f64),
    Word(String),
}

pub(crate) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.is_finite() { serializer.serialize_f64(*value) } else { serializer.serialize_str(&value.to_string()) }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    match Form::deserialize(deserializer)? {
        Form::Number(value) => Ok(value),
        Form::Word(word) => word.parse().map_err(serde::de::Error::custom),
    }
}
