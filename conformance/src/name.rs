//! Names of cases. A name says everything about a case, so that it is also the way to run it again:
//!
//! ```text
//! rope/cpu/f32/bounded,pairing=neox,rows=3,heads=9,head_dim=64,seed=7
//! op   backend format kind and parameters
//! ```
//!
//! The parameters are the fields of the op's specification, in the order of its struct. Values are numbers, `true`,
//! `false`, `none`, or words.

use std::fmt;

use kernels::{DType, SplitMix64, Stem};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

/// What a case demands of a backend.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Data for which every order of summation is exact: equal bits.
    Exact,
    /// Random data: inside the derived bound.
    Bounded,
    /// NaN, infinities, denormals, ties, extremes: inside the bound, contained, or refused.
    Hostile,
    /// A relation between several runs.
    Law,
}

impl Kind {
    /// The word in names.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Exact => "exact",
            Kind::Bounded => "bounded",
            Kind::Hostile => "hostile",
            Kind::Law => "law",
        }
    }
}

/// Specification of a case: a struct of plain fields, among them `format` and `kind`, which become parts of the name
/// of their own.
pub trait Spec: Serialize + DeserializeOwned + Clone + fmt::Debug + 'static {}

impl<T: Serialize + DeserializeOwned + Clone + fmt::Debug + 'static> Spec for T {}

/// Largest whole number in a case's name, seeds aside: extents, counts and positions, of which a few added up fit in a u32.
pub const LARGEST: u64 = 1 << 30;

/// The name of a case without its backend.
#[derive(Clone, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct CaseName {
    /// The op.
    pub stem: Stem,
    /// The format that the case is about: of the weights, the cache, the output.
    pub format: DType,
    /// Kind and parameters.
    pub fields: String,
}

/// A text that is no case's name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("'{name}' is not the name of a case: {why}")]
pub struct NameError {
    /// The text.
    pub name: String,
    /// What is wrong with it.
    pub why: String,
}

impl CaseName {
    /// The name of the case that `spec` describes.
    ///
    /// # Panics
    ///
    /// When the specification has no `format` or `kind`, or a field that is not plain: a mistake in the suite, which
    /// every enumeration of its cases would show.
    pub fn of<S: Spec>(stem: Stem, spec: &S) -> Self {
        let Ok(Value::Object(mut map)) = serde_json::to_value(spec) else { panic!("{stem}: not a struct") };
        let mut word = |key: &str| match map.shift_remove(key) {
            Some(Value::String(word)) => word,
            other => panic!("{stem}: field '{key}' is {other:?}"),
        };
        let format = word("format").parse().unwrap_or_else(|e| panic!("{stem}: {e}"));
        let mut fields = word("kind");
        for (key, value) in &map {
            let text = match value {
                Value::Null => "none".into(),
                Value::String(word) => word.clone(),
                Value::Bool(_) | Value::Number(_) => value.to_string(),
                other => panic!("{stem}: field '{key}' is {other:?}"),
            };
            fields.extend([",", key, "=", &text]);
        }
        CaseName { stem, format, fields }
    }

    /// The specification that the name was made of.
    pub fn spec<S: Spec>(&self) -> Result<S, NameError> {
        let error = |why: String| NameError { name: self.to_string(), why };
        let mut map = Map::new();
        map.insert("format".into(), Value::String(self.format.name().into()));
        let mut parts = self.fields.split(',');
        map.insert("kind".into(), Value::String(parts.next().unwrap_or_default().into()));
        for part in parts {
            let (key, text) = part.split_once('=').ok_or_else(|| error(format!("'{part}' has no '='")))?;
            let value = value(text);
            if key != "seed" && value.as_u64().is_some_and(|n| n > LARGEST) {
                return Err(error(format!("'{part}' is more than {LARGEST}")));
            }
            map.insert(key.into(), value);
        }
        serde_json::from_value(Value::Object(map)).map_err(|e| error(e.to_string()))
    }

    /// The kind.
    pub fn kind(&self) -> &str {
        self.fields.split(',').next().unwrap_or_default()
    }

    /// Whether `field=value` is among the fields.
    pub(crate) fn has(&self, field: &str) -> bool {
        self.fields.split(',').any(|own| own == field)
    }

    /// What the case is: its format, its kind and its fields. A seed is no property of a case.
    pub(crate) fn described(&self) -> impl Iterator<Item = &str> {
        let fields = self.fields.split(',').filter(|field| !field.starts_with("seed="));
        std::iter::once(self.format.name()).chain(fields)
    }

    /// A hash of the name: the same on every machine.
    pub(crate) fn hash(&self) -> u64 {
        hash(&[self.stem.name(), self.format.name(), &self.fields])
    }

    /// The full name on `backend`.
    pub fn on(&self, backend: &str) -> String {
        format!("{}/{backend}/{}/{}", self.stem, self.format, self.fields)
    }

    /// Takes a full name apart: the case and its backend.
    pub fn parse(full: &str) -> Result<(CaseName, String), NameError> {
        let error = |why: String| NameError { name: full.into(), why };
        let parts: Vec<_> = full.splitn(4, '/').collect();
        let [stem, backend, format, fields] = parts[..] else {
            return Err(error("want op/backend/format/kind,parameters".into()));
        };
        let stem = stem.parse().map_err(|e: kernels::ops::UnknownStem| error(e.to_string()))?;
        let format = format.parse().map_err(|e: kernels::UnknownDType| error(e.to_string()))?;
        Ok((CaseName { stem, format, fields: fields.into() }, backend.into()))
    }
}

/// A hash of the parts of a name.
pub(crate) fn hash(parts: &[&str]) -> u64 {
    // FNV-1a, with a last mix so that names that differ in their last letter are far apart.
    let bytes = parts.iter().copied().flat_map(str::bytes);
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    SplitMix64::new(hash).next_u64()
}

/// A field's value: a number where it reads as one, otherwise a word.
fn value(text: &str) -> Value {
    match text {
        "none" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => text
            .parse::<u64>()
            .map(Number::from)
            .ok()
            .or_else(|| text.parse::<f64>().ok().and_then(Number::from_f64))
            .map_or_else(|| Value::String(text.into()), Value::Number),
    }
}

impl fmt::Display for CaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.stem, self.format, self.fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
    struct Sample {
        format: DType,
        kind: Kind,
        rows: usize,
        eps: f32,
        window: Option<usize>,
        in_place: bool,
        data: String,
        seed: u64,
    }

    #[test]
    fn a_name_leads_back_to_its_specification_and_keeps_the_order_of_its_fields() {
        let spec = Sample {
            format: DType::Q4K,
            kind: Kind::Exact,
            rows: 33,
            eps: 1e-5,
            window: None,
            in_place: true,
            data: "outliers".into(),
            seed: u64::MAX,
        };
        let name = CaseName::of(Stem::RmsNorm, &spec);
        let full = name.on("cpu");
        assert!(full.starts_with("rms_norm/cpu/q4_k/exact,rows=33,eps="), "{full}");
        let (parsed, backend) = CaseName::parse(&full).unwrap();
        assert_eq!((&parsed, backend.as_str(), parsed.kind()), (&name, "cpu", "exact"));
        assert_eq!(parsed.spec::<Sample>().unwrap(), spec, "{full}");
    }

    #[test]
    fn what_is_wrong_with_a_name_is_said() {
        let why = |full: &str| CaseName::parse(full).unwrap_err().to_string();
        assert!(why("rms_norm/cpu").contains("op/backend/format"));
        assert!(why("rms_morn/cpu/f32/exact").contains("rms_morn"));
        assert!(why("rms_norm/cpu/f33/exact").contains("f33"));
        let (name, _) = CaseName::parse("rms_norm/cpu/f32/exact,rows=x").unwrap();
        assert!(name.spec::<Sample>().unwrap_err().to_string().contains("rows"));
        let (name, _) = CaseName::parse("rms_norm/cpu/f32/exact,rows=4294967296").unwrap();
        assert!(name.spec::<Sample>().unwrap_err().to_string().contains("is more than 1073741824"));
    }
}
