//! The text of a manifest as TOML has it.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    #[serde(default)]
    pub op: Vec<Op>,
}

/// An op of some forms.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Op {
    pub name: Spanned<String>,
    #[serde(default)]
    pub types: BTreeMap<Spanned<String>, Texts>,
    #[serde(default)]
    pub layouts: BTreeMap<Spanned<String>, Texts>,
    #[serde(default)]
    pub supports: Vec<Spanned<Text>>,
    #[serde(default)]
    pub ignore: Vec<Spanned<String>>,
    #[serde(default, rename = "let")]
    pub own: BTreeMap<Spanned<String>, Text>,
    #[serde(default)]
    pub workspace: BTreeMap<Spanned<String>, Text>,
    #[serde(default)]
    pub zero: Vec<Spanned<String>>,
    #[serde(default)]
    pub numerics: Numerics,
    #[serde(default)]
    pub launch: Vec<Launch>,
}

/// A launch.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Launch {
    pub kernel: Spanned<String>,
    pub grid: Spanned<Texts>,
    pub block: Spanned<Texts>,
    pub lds: Option<Spanned<Text>>,
    #[serde(default)]
    pub when: Option<Spanned<Text>>,
    pub args: Spanned<Vec<Spanned<String>>>,
}

/// How the kernels declare that they compute.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Numerics {
    pub accumulator: Option<Spanned<String>>,
    pub lanes: Option<Spanned<Text>>,
    pub activations: Option<Spanned<String>>,
    pub int8_block: Option<Spanned<usize>>,
    pub int8_scale: Option<Spanned<String>>,
    pub weights: Option<Spanned<String>>,
    pub angle: Option<Spanned<String>>,
    pub function_ulps: Option<Spanned<f64>>,
    pub deterministic: Option<bool>,
    pub batch_invariant: Option<bool>,
    #[serde(default)]
    pub atomics: bool,
}

/// An expression: text, or a number.
pub(super) struct Text(pub String);

/// One expression or several.
pub(super) struct Texts(pub Vec<String>);

struct Scalar;

impl Visitor<'_> for Scalar {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an expression: a text, or a whole number")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        Ok(text.into())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<String, E> {
        Ok(number.to_string())
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Scalar).map(Text)
    }
}

struct Several;

impl<'de> Visitor<'de> for Several {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an expression, or a list of expressions")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<String>, E> {
        Scalar.visit_str(text).map(|text| vec![text])
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Vec<String>, E> {
        Scalar.visit_i64(number).map(|text| vec![text])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<String>, A::Error> {
        let mut texts = Vec::new();
        while let Some(Text(text)) = list.next_element()? {
            texts.push(text);
        }
        Ok(texts)
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Several).map(Texts)
    }
}
