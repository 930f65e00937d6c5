//! How kernels declare that they compute.

use kernels::{Activations, Depth, Float, Numerics, Weights};
use toml::Spanned;

use super::read::{Lines, Owner};
use super::{Mistake, Stated, raw};
use crate::expression::Scope;
use crate::value::ValueError;

/// What kernels promise besides a bound on their error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Promises {
    /// The same op on the same data has the same bits.
    pub deterministic: bool,
    /// A row's bits do not depend on the rows beside it.
    pub batch_invariant: bool,
}

/// A declaration.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Declared {
    /// All but the depth.
    numerics: Numerics,
    /// Interleaved partial sums; any order where there is none.
    lanes: Option<Stated>,
    /// What is promised.
    pub promises: Promises,
    /// Whether sums go through atomic additions.
    pub atomics: bool,
}

impl Declared {
    pub(super) fn read(raw: &raw::Numerics, lines: &Lines, owner: &Owner<'_>) -> Result<Self, Mistake> {
        let float_or = |given: &Option<Spanned<String>>, key: &str, default| match given {
            None => Ok(default),
            Some(name) => {
                float(name.get_ref()).ok_or_else(|| unknown(lines, name, key, "f64, f32, f16 and bf16"))
            }
        };
        let accumulator = float_or(&raw.accumulator, "accumulator", Float::F32)?;
        let angle = float_or(&raw.angle, "angle", accumulator)?;
        let int8 = raw.activations.as_ref().is_some_and(|given| given.get_ref() == "int8");
        let stray = [raw.int8_block.as_ref().map(Spanned::span), raw.int8_scale.as_ref().map(Spanned::span)];
        if let (false, Some(span)) = (int8, stray.into_iter().flatten().next()) {
            let what = "int8_block and int8_scale are about activations = \"int8\"".into();
            return Err(Mistake { line: lines.of(span.start), what });
        }
        let activations = match &raw.activations {
            None => Activations::Exact,
            Some(name) => match name.get_ref().as_str() {
                "exact" => Activations::Exact,
                "int8" => Activations::Int8 {
                    block: raw.int8_block.as_ref().map_or(32, |block| *block.get_ref()),
                    scale: float_or(&raw.int8_scale, "int8_scale", Float::F32)?,
                },
                other => float(other)
                    .map(Activations::Rounded)
                    .ok_or_else(|| unknown(lines, name, "activations", "exact, f16, bf16, f32 and int8"))?,
            },
        };
        if let Activations::Int8 { block: 0, .. } = activations {
            let line = raw.int8_block.as_ref().map_or(1, |block| lines.of(block.span().start));
            return Err(Mistake { line, what: "int8_block is 0".into() });
        }
        let weights = match &raw.weights {
            None => Weights::Decoded,
            Some(name) => match name.get_ref().as_str() {
                "decoded" => Weights::Decoded,
                "factored" => Weights::Factored,
                other => float(other)
                    .map(Weights::Rounded)
                    .ok_or_else(|| unknown(lines, name, "weights", "decoded, factored, f16, bf16 and f32"))?,
            },
        };
        let function_ulps = raw.function_ulps.as_ref().map_or(2.0, |ulps| *ulps.get_ref());
        if !(0.0..=1024.0).contains(&function_ulps) {
            let line = raw.function_ulps.as_ref().map_or(1, |ulps| lines.of(ulps.span().start));
            return Err(Mistake { line, what: format!("function_ulps is {function_ulps}, want 0 to 1024") });
        }
        let lanes = raw.lanes.as_ref().map(|text| owner.stated(lines, text, "lanes")).transpose()?;
        let deterministic = raw.deterministic.unwrap_or(!raw.atomics);
        let batch_invariant = raw.batch_invariant.unwrap_or(deterministic);
        Ok(Declared {
            numerics: Numerics { accumulator, activations, weights, angle, function_ulps, ..Numerics::F32 },
            lanes,
            promises: Promises { deterministic, batch_invariant },
            atomics: raw.atomics,
        })
    }

    /// The line of a depth, if there is one.
    pub(crate) const fn lanes(&self) -> Option<&Stated> {
        self.lanes.as_ref()
    }

    /// The declaration for a form.
    pub(crate) fn numerics(&self, scope: &dyn Scope) -> Result<Numerics, ValueError> {
        let Some(lanes) = &self.lanes else { return Ok(self.numerics) };
        let count = lanes.expression.integer(scope)?;
        let lanes = usize::try_from(count).ok().filter(|lanes| *lanes > 0);
        let lanes = lanes.ok_or_else(|| ValueError::Kind(format!("{count} lanes, want at least 1")))?;
        Ok(Numerics { depth: Depth::Lanes(lanes), ..self.numerics })
    }
}

fn float(name: &str) -> Option<Float> {
    match name {
        "f64" => Some(Float::F64),
        "f32" => Some(Float::F32),
        "f16" => Some(Float::F16),
        "bf16" => Some(Float::BF16),
        _ => None,
    }
}

fn unknown(lines: &Lines, name: &Spanned<String>, key: &str, known: &str) -> Mistake {
    let what = format!("{key} is '{}', there are {known}", name.get_ref());
    Mistake { line: lines.of(name.span().start), what }
}
