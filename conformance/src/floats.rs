//! Types of a case's floats: any case can be posed with activations, gains and biases in f16 or bf16.
//!
//! The types stand at the end of a case's name, `x_type=f16,out_type=bf16`, for the operands that are not f32. Values are those of
//! the case in f32, rounded. A target that takes an op in other types alone gets all cases in those ([`Taken`](crate::taken::Taken)).

use std::borrow::Cow;
use std::collections::HashSet;

use kernels::{DType, Layout, OpForm, Record, SplitMix64, Stem, quant};

use crate::data::PADDING;
use crate::name::{CaseName, NameError};

/// What follows an operand's name in the name of a case.
const SUFFIX: &str = "_type";

/// Operands of type *float* that are shorter than f32, with their types.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Floats(Vec<(&'static str, DType)>);

impl Floats {
    /// The types that `type_of` gives to the floats of `stem`.
    pub fn of(stem: Stem, mut type_of: impl FnMut(&str) -> DType) -> Self {
        let named = stem.facts().floats.iter().map(|name| (*name, type_of(name)));
        Floats(named.filter(|(_, dtype)| *dtype != DType::F32).collect())
    }

    /// Takes the types off a case's name.
    pub fn split(name: &CaseName) -> Result<(CaseName, Self), NameError> {
        let error = |why: String| NameError { name: name.to_string(), why };
        let mut floats = Vec::new();
        let mut kept = Vec::new();
        for field in name.fields.split(',') {
            let Some((operand, dtype)) = field.split_once('=').and_then(|(key, dtype)| {
                let operand = key.strip_suffix(SUFFIX)?;
                Some((operand, dtype))
            }) else {
                kept.push(field);
                continue;
            };
            let known = name.stem.facts().floats;
            let Some(operand) = known.iter().find(|known| **known == operand) else {
                let why = format!("'{operand}' is none of the floats of {}: {}", name.stem, known.join(", "));
                return Err(error(why));
            };
            match dtype.parse() {
                Ok(dtype @ (DType::F16 | DType::BF16)) => floats.push((*operand, dtype)),
                _ => return Err(error(format!("'{field}' is neither f16 nor bf16"))),
            }
        }
        let base = CaseName { stem: name.stem, format: name.format, fields: kept.join(",") };
        Ok((base, Floats(floats)))
    }

    /// The name of the case `base` with these types.
    #[must_use]
    pub fn name(&self, base: &CaseName) -> CaseName {
        let mut name = base.clone();
        for (operand, dtype) in &self.0 {
            name.fields.extend([",", operand, SUFFIX, "=", dtype.name()]);
        }
        name
    }

    /// Every choice of types for the floats of `stem`, all f32 first.
    pub fn choices(stem: Stem) -> Vec<Self> {
        let mut choices = vec![Vec::new()];
        for name in stem.facts().floats {
            let with = |choice: &Vec<_>, dtype| {
                let short = (dtype != DType::F32).then_some((*name, dtype));
                choice.iter().copied().chain(short).collect()
            };
            choices = DType::FLOATS
                .iter()
                .flat_map(|&dtype| choices.iter().map(move |choice| with(choice, dtype)).collect::<Vec<_>>())
                .collect();
        }
        choices.into_iter().map(Floats).collect()
    }

    fn dtype(&self, operand: &str) -> Option<DType> {
        self.0.iter().find(|(name, _)| *name == operand).map(|(_, dtype)| *dtype)
    }

    /// `form` with its floats of these types.
    pub fn form(&self, form: &OpForm) -> OpForm {
        let mut form = form.clone();
        for (name, _, layout) in &mut form.operands {
            if let Some(dtype) = self.dtype(name) {
                *layout = retyped(layout, dtype);
            }
        }
        form
    }

    /// The op of `record` with its floats rounded to these types.
    pub fn apply<'r>(&self, record: &'r Record) -> Cow<'r, Record> {
        if self.0.is_empty() {
            return Cow::Borrowed(record);
        }
        let mut typed = Record::new(record.stem);
        typed.params.clone_from(&record.params);
        for operand in record.operands() {
            let (layout, bytes) = match self.dtype(&operand.name) {
                Some(dtype) if operand.layout.dtype() == DType::F32 => {
                    rounded(&operand.layout, &operand.bytes, dtype)
                }
                _ => (operand.layout, operand.bytes.clone()),
            };
            typed = if operand.blank {
                typed.blank(&operand.name, layout, bytes)
            } else {
                typed.operand(&operand.name, operand.role, layout, bytes)
            };
        }
        Cow::Owned(typed)
    }
}

/// The layout of f32 as one of `dtype`, element by element at the same place.
fn retyped(layout: &Layout, dtype: DType) -> Layout {
    let offset = layout.offset() / DType::F32.block_bytes() * dtype.block_bytes();
    Layout::strided(dtype, layout.shape(), layout.strides()).at(offset)
}

/// A tensor of f32 in `bytes` as one of `dtype`, element by element at the same place, and nothing but padding around them.
fn rounded(layout: &Layout, bytes: &[u8], dtype: DType) -> (Layout, Vec<u8>) {
    let (from, to) = (DType::F32.block_bytes(), dtype.block_bytes());
    let short = retyped(layout, dtype);
    let mut out = vec![PADDING; bytes.len() / from * to];
    for (from, to) in layout.rows().zip(short.rows()) {
        let values: Vec<f32> = bytes.get(from).map(bytemuck::pod_collect_to_vec).unwrap_or_default();
        if let Some(to) = out.get_mut(to) {
            // Of other lengths they are not in their buffer, which validation refuses.
            let _ = quant::encode_row(dtype, &values, to);
        }
    }
    (short, out)
}

/// The types that a case is about: those that its name gives, or f32; none where its op has no floats.
pub fn types(name: &CaseName) -> Vec<DType> {
    if name.stem.facts().floats.is_empty() {
        return Vec::new();
    }
    let posed = |dtype: &DType| name.fields.contains(&format!("{SUFFIX}={dtype}"));
    let short: Vec<_> = [DType::F16, DType::BF16].into_iter().filter(posed).collect();
    if short.is_empty() { vec![DType::F32] } else { short }
}

/// Largest extent of cases that are posed in shorter types: what is about larger ones is the same in any.
const LARGEST: u64 = 2100;

/// Fields that say how large operands are; of attention, positions do as well.
const EXTENTS: [&str; 10] =
    ["rows", "n", "m", "k", "heads", "kv_heads", "head_dim", "seqs", "slots", "vocab"];

/// Cases of `names` with types of their own, so many that each type of an operand meets each value of every field and each type
/// of another operand, and that all operands of one type meet each value of every field: many kernels take nothing else.
pub fn typed(stem: Stem, names: &[CaseName]) -> Vec<CaseName> {
    if stem.facts().floats.is_empty() {
        return Vec::new();
    }
    let mut met = HashSet::new();
    let mut cases = Vec::new();
    for base in names.iter().filter(|name| suitable(name)) {
        let mut random = SplitMix64::new(base.hash());
        let absent = |operand: &str| {
            let in_place = stem.facts().in_place() == Some(operand) && base.has("in_place=true");
            in_place || base.has(&format!("{operand}=false"))
        };
        let all = match random.next_u64() >> 62 {
            0 => Some(DType::F16),
            1 => Some(DType::BF16),
            _ => None,
        };
        let floats = Floats::of(stem, |operand| match (all, random.next_u64() >> 62) {
            _ if absent(operand) => DType::F32,
            (Some(all), _) => all,
            (None, 0) => DType::F32,
            (None, 1) => DType::BF16,
            (None, _) => DType::F16,
        });
        let mut new = false;
        for (at, (operand, dtype)) in floats.0.iter().enumerate() {
            let others = floats.0[at + 1..].iter().map(|(name, dtype)| format!("{name}={dtype}"));
            for other in base.described().map(str::to_owned).chain(others) {
                new |= met.insert((*operand, *dtype, other));
            }
        }
        if let Some(all) = all {
            for field in base.described() {
                new |= met.insert(("all", all, field.to_owned()));
            }
        }
        if new {
            cases.push(floats.name(base));
        }
    }
    cases
}

/// Whether a case says as much in shorter types, and is not large.
pub fn suitable(name: &CaseName) -> bool {
    let extent = |field: &str| match field.split_once('=') {
        Some((key, value)) if EXTENTS.contains(&key) || (key, name.stem) == ("pos", Stem::Attention) => {
            value.parse().unwrap_or(0)
        }
        _ => 0,
    };
    means_the_same(name) && name.described().all(|field| extent(field) <= LARGEST)
}

/// Laws relate results whose roundings they know, but for those about the rows.
pub fn means_the_same(name: &CaseName) -> bool {
    name.kind() != "law" || name.has("topic=row_invariance")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite;

    #[test]
    fn types_stand_in_the_name_and_lead_back_to_the_case() {
        let (name, _) = CaseName::parse("rms_norm/cpu/f32/bounded,rows=3,seed=1").unwrap();
        let floats =
            Floats::of(Stem::RmsNorm, |operand| if operand == "x" { DType::F16 } else { DType::F32 });
        let typed = floats.name(&name);
        assert_eq!(typed.fields, "bounded,rows=3,seed=1,x_type=f16");
        assert_eq!((types(&name), types(&typed)), (vec![DType::F32], vec![DType::F16]));
        assert_eq!(Floats::split(&typed).unwrap(), (name, floats));
    }

    #[test]
    fn types_that_a_case_cannot_have_are_named() {
        let why = |fields: &str| {
            let (name, _) = CaseName::parse(&format!("rms_norm/cpu/f32/{fields}")).unwrap();
            Floats::split(&name).unwrap_err().to_string()
        };
        assert!(why("bounded,seed=1,gate_type=f16").contains("'gate' is none of the floats of rms_norm"));
        assert!(why("bounded,seed=1,x_type=q4_0").contains("'x_type=q4_0'"));
    }

    #[test]
    fn every_op_with_floats_is_posed_in_every_type_of_each() {
        let names = suite::names("any", &suite::Filter::default());
        for &stem in Stem::ALL {
            for operand in stem.facts().floats {
                for dtype in [DType::F16, DType::BF16] {
                    let field = format!("{operand}{SUFFIX}={dtype}");
                    let posed =
                        |name: &&String| name.starts_with(&format!("{stem}/")) && name.contains(&field);
                    assert!(names.iter().any(|name| posed(&name)), "{stem} {field}");
                }
            }
        }
    }

    #[test]
    fn a_padded_operand_keeps_its_places() {
        let layout = Layout::strided(DType::F32, &[2, 3], &[5, 1]).at(8);
        let mut bytes = vec![PADDING; 56];
        for (row, values) in layout.rows().zip([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]) {
            bytes[row].copy_from_slice(bytemuck::cast_slice(&values));
        }
        let (short, out) = rounded(&layout, &bytes, DType::F16);
        assert_eq!(short, Layout::strided(DType::F16, &[2, 3], &[5, 1]).at(4));
        assert_eq!(out.len(), 28);
        let dense = short.gather(&out, 0).unwrap();
        let mut values = [0.0; 6];
        quant::decode_row(DType::F16, &dense, &mut values).unwrap();
        assert_eq!(values.map(f32::to_bits), [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0].map(f32::to_bits));
        assert!(out[10..14].iter().all(|byte| *byte == PADDING));
    }
}
