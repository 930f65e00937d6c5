//! The names that an op offers to the expressions of a manifest. They come from the op's own list of operands, parameters and axes.
//!
//! | name | what it is |
//! |---|---|
//! | `rows`, `columns`, … | how long an axis of the op is; where operands share it in groups, the longest |
//! | `x.shape[0]`, `x.stride[0]` | extent and stride (elements) of a dimension of an operand; negative from the innermost |
//! | `x.stride_bytes[0]` | the same stride in bytes, also of quantised rows |
//! | `x.type`, `x.rank`, `x.elements`, `x.offset`, `x.dense` | element type, dimensions, elements, first byte in its buffer, whether its rows lie close together |
//! | `eps`, `window`, … | the op's parameters; `scaling.factor` is a field of one |
//! | `in_place` | whether the first input is the output |
//! | `positions.max` | the largest of an operand's indices, at the launch |

use std::collections::BTreeMap;

use kernels::{Axis, AxisKind, Facts, Layout, OpForm, OperandKind, Stem};

use crate::expression::{Name, Scope};
use crate::value::{Value, ValueError};

/// Fields of an operand, and whether they take an index.
const FIELDS: [(&str, bool); 9] = [
    ("shape", true),
    ("stride", true),
    ("stride_bytes", true),
    ("type", false),
    ("rank", false),
    ("elements", false),
    ("offset", false),
    ("dense", false),
    ("max", false),
];

/// The largest index of an operand, by its name.
pub type Largest<'f> = &'f dyn Fn(&str) -> Option<u32>;

/// Whether `name` is one that `stem` offers, or one of `own`; if not, a sentence about it.
pub fn check(stem: Stem, own: &dyn Fn(&str) -> bool, name: &Name) -> Result<(), String> {
    let facts = stem.facts();
    let [first, fields @ ..] = name.parts.as_slice() else { return Err("an empty name".into()) };
    let plain = fields.is_empty() && name.index.is_none();
    if let Some(operand) = facts.operands.iter().find(|operand| operand.name == first) {
        let [field] = fields else {
            let about = operand_fields(operand.kind);
            return Err(format!("'{name}' is an operand; want {first}.FIELD, where FIELD is {about}"));
        };
        let indexed = FIELDS.iter().find(|(known, _)| known == field).map(|(_, indexed)| *indexed);
        return match indexed {
            Some(_) if field == "max" && operand.kind != OperandKind::Indices => {
                Err(format!("'{name}': '{first}' holds no indices"))
            }
            Some(indexed) if indexed == name.index.is_some() => Ok(()),
            Some(true) => Err(format!("'{name}' wants a dimension, as in {first}.{field}[0]")),
            Some(false) => Err(format!("'{name}': {field} has no dimensions")),
            None => Err(format!("'{first}' has no '{field}'; it has {}", operand_fields(operand.kind))),
        };
    }
    let param = facts.params.contains(&first.as_str());
    let known = own(first)
        || facts.axes.iter().any(|axis| axis.name == first)
        || (first == "in_place" && facts.in_place().is_some());
    if (param && fields.len() <= 1 && name.index.is_none()) || (known && plain) {
        return Ok(());
    }
    Err(format!("unknown name '{name}'; {stem} has {}", offered(facts)))
}

/// The fields of an operand, in words.
fn operand_fields(kind: OperandKind) -> String {
    let fits = |(field, _): &&(&str, bool)| *field != "max" || kind == OperandKind::Indices;
    let field = |(field, indexed): &(&str, bool)| format!("{field}{}", if *indexed { "[0]" } else { "" });
    FIELDS.iter().filter(fits).map(field).collect::<Vec<_>>().join(", ")
}

/// What an op offers, in words.
pub fn offered(facts: &Facts) -> String {
    let axes: Vec<_> = facts.axes.iter().map(|axis| axis.name).collect();
    let operands: Vec<_> = facts.operands.iter().map(|operand| operand.name).collect();
    let mut text = format!("the dimensions {}, the operands {}", axes.join(", "), operands.join(", "));
    if !facts.params.is_empty() {
        text.extend([", the parameters ", &facts.params.join(", ")]);
    }
    text
}

/// The layout that operand `name` has in `form`: in place, that of the output.
pub fn layout<'f>(form: &'f OpForm, name: &str) -> Option<&'f Layout> {
    form.layout(name).or_else(|| {
        let facts = form.stem.facts();
        let output = facts.operands.iter().find(|operand| operand.kind == OperandKind::Output)?;
        (facts.in_place() == Some(name)).then(|| form.layout(output.name)).flatten()
    })
}

/// How long an axis of `form` is.
fn extent(form: &OpForm, axis: &Axis) -> Option<usize> {
    debug_assert!(matches!(axis.kind, AxisKind::Independent | AxisKind::Grouped | AxisKind::Summed));
    axis.operands.iter().filter_map(|(name, dim)| Some(layout(form, name)?.dim(*dim))).max()
}

/// The names of an op of a given form, and those of the manifest.
pub struct FormScope<'f> {
    /// The form.
    pub form: &'f OpForm,
    /// The manifest's own names, in the order in which they need each other.
    pub own: BTreeMap<&'f str, Result<Value, ValueError>>,
    /// The largest index of an operand; `None` before the launch.
    pub largest: Option<Largest<'f>>,
}

impl FormScope<'_> {
    fn field(&self, operand: &str, field: &str, name: &Name) -> Result<Value, ValueError> {
        if field == "max" {
            let largest = self.largest.ok_or_else(|| ValueError::Late(name.to_string()))?;
            let most = largest(operand).ok_or_else(|| ValueError::Absent(operand.into()))?;
            return Ok(Value::Integer(most.into()));
        }
        let layout = layout(self.form, operand).ok_or_else(|| ValueError::Absent(operand.into()))?;
        match field {
            "type" => return Ok(Value::Word(layout.dtype().name().into())),
            "dense" => return Ok(Value::Truth(layout.is_contiguous())),
            "rank" => return whole(layout.rank(), name),
            "offset" => return whole(layout.offset(), name),
            "elements" => return whole(layout.elements().unwrap_or(usize::MAX), name),
            _ => {}
        }
        let axis = axis_of(layout, name)?;
        match field {
            "shape" => whole(layout.dim(axis), name),
            "stride" => whole(layout.stride(axis), name),
            _ => {
                let (elements, dtype) = (layout.stride(axis), layout.dtype());
                whole(dtype.bytes_of(elements).unwrap_or(usize::MAX), name)
            }
        }
    }
}

/// The dimension that a name's index means.
fn axis_of(layout: &Layout, name: &Name) -> Result<usize, ValueError> {
    let rank = layout.rank();
    let index = name.index.unwrap_or_default();
    let from_end = usize::try_from(index.unsigned_abs()).ok().filter(|_| index < 0);
    let axis = match from_end {
        Some(back) => rank.checked_sub(back),
        None => usize::try_from(index).ok(),
    };
    axis.filter(|axis| *axis < rank)
        .ok_or_else(|| ValueError::Kind(format!("'{name}': the operand has {rank} dimensions")))
}

fn whole(n: usize, name: &Name) -> Result<Value, ValueError> {
    i64::try_from(n).map(Value::Integer).map_err(|_| ValueError::Overflow(format!("'{name}'")))
}

impl Scope for FormScope<'_> {
    fn value(&self, name: &Name) -> Result<Value, ValueError> {
        let [first, fields @ ..] = name.parts.as_slice() else {
            return Err(ValueError::UnknownName("an empty name".into()));
        };
        let facts = self.form.stem.facts();
        if let Some(value) = self.own.get(first.as_str()) {
            return value.clone();
        }
        if facts.operands.iter().any(|operand| operand.name == first) {
            return self.field(first, fields.first().map_or("", String::as_str), name);
        }
        if let Some(axis) = facts.axes.iter().find(|axis| axis.name == first) {
            let extent = extent(self.form, axis).ok_or_else(|| ValueError::Absent(first.clone()))?;
            return whole(extent, name);
        }
        if first == "in_place" {
            let source = facts.in_place().unwrap_or_default();
            return Ok(Value::Truth(self.form.layout(source).is_none()));
        }
        let absent = || ValueError::Absent(name.to_string());
        let json = self.form.params.get(first).ok_or_else(absent)?;
        match fields.first() {
            None => Value::of_parameter(json).ok_or_else(absent),
            Some(field) => {
                let mut inside = json.as_object().into_iter().flat_map(serde_json::Map::values);
                inside.find_map(|inner| Value::of_parameter(inner.get(field)?)).ok_or_else(absent)
            }
        }
    }

    fn given(&self, name: &Name) -> Result<bool, ValueError> {
        let operand = name.parts.len() == 1 && name.index.is_none();
        if operand && self.form.stem.facts().operands.iter().any(|o| o.name == name.parts[0]) {
            return Ok(layout(self.form, &name.parts[0]).is_some());
        }
        match self.value(name) {
            Ok(_) => Ok(true),
            Err(ValueError::Absent(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
