//! An op as a plug-in sees it: a name, operands and parameters, each by name.
//!
//! It is made from what the op's page says once (its operands and parameters as lists), so that a new op needs no line here.

use std::fmt;

use kernels::{DeviceError, DeviceKind, Layout, Numerics, OpForm, Role, Stem, Support};
use serde_json::{Map, Value};

/// A buffer, as the plug-in calls it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Handle(pub usize);

/// An operand.
#[derive(Clone, Debug)]
pub(crate) struct CallOperand {
    pub name: String,
    pub role: Role,
    pub layout: Layout,
    /// None where the plug-in is only asked about the op.
    pub buffer: Option<Handle>,
}

/// The value of a parameter.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Setting {
    Bool(bool),
    Count(u64),
    Number(f64),
    Text(String),
}

/// An op.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub stem: Stem,
    pub operands: Vec<CallOperand>,
    pub params: Vec<(String, Setting)>,
}

impl Call {
    /// The op of a form, without buffers.
    pub fn about(form: &OpForm) -> Self {
        let operands = form.operands.iter().map(|(name, role, layout)| CallOperand {
            name: name.clone(),
            role: *role,
            layout: *layout,
            buffer: None,
        });
        Call { stem: form.stem, operands: operands.collect(), params: settings(&form.params) }
    }
}

/// Parameters as a flat list. One that is none is left out.
pub(crate) fn settings(params: &Map<String, Value>) -> Vec<(String, Setting)> {
    let mut all = Vec::new();
    params.iter().for_each(|(name, value)| flatten(name, value, &mut all));
    all
}

/// A choice with values of its own, `{"yarn": {"factor": 4}}`, is a text and a parameter for each value.
fn flatten(name: &str, value: &Value, to: &mut Vec<(String, Setting)>) {
    let setting = match value {
        Value::Null => return,
        Value::Bool(value) => Setting::Bool(*value),
        Value::Number(number) => match number.as_u64() {
            Some(count) => Setting::Count(count),
            None => Setting::Number(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Setting::Text(text.clone()),
        Value::Object(choice) => {
            for (tag, values) in choice {
                to.push((name.into(), Setting::Text(tag.clone())));
                let values = values.as_object().into_iter().flatten();
                values.for_each(|(inner, value)| flatten(&format!("{name}.{inner}"), value, to));
            }
            return;
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            return items.for_each(|(at, item)| flatten(&format!("{name}.{at}"), item, to));
        }
    };
    to.push((name.into(), setting));
}

/// What a plug-in answers, however it is reached.
pub(crate) trait Answers: fmt::Debug {
    /// What it calls itself.
    fn name(&self) -> String;

    /// Where it computes.
    fn place(&self) -> DeviceKind;

    /// Whether it implements the op.
    fn supports(&self, call: &Call) -> Support;

    /// How it computes the op; a sentence where its declaration makes no sense.
    fn numerics(&self, call: &Call) -> Result<Numerics, String>;

    fn alloc(&self, bytes: usize, label: &str) -> Result<Handle, DeviceError>;

    fn free(&self, buffer: Handle) -> Result<(), DeviceError>;

    fn write(&self, buffer: Handle, offset: usize, bytes: &[u8]) -> Result<(), DeviceError>;

    fn read(&self, buffer: Handle, offset: usize, to: &mut [u8]) -> Result<(), DeviceError>;

    fn launch(&self, call: &Call) -> Result<(), DeviceError>;

    fn synchronize(&self) -> Result<(), DeviceError>;

    /// What launches have done since the last call besides computing, where that is seen.
    fn touched(&self) -> Result<Vec<String>, DeviceError> {
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parameters_are_a_flat_list() {
        let params = json!({
            "pairing": "neox", "n_rot": 64, "base": 10000.5, "window": null, "in_place": true,
            "scaling": { "yarn": { "factor": 4.0, "original_context": 4096 } }
        });
        let text = |text: &str| Setting::Text(text.into());
        let want = [
            ("pairing", text("neox")),
            ("n_rot", Setting::Count(64)),
            ("base", Setting::Number(10000.5)),
            ("in_place", Setting::Bool(true)),
            ("scaling", text("yarn")),
            ("scaling.factor", Setting::Number(4.0)),
            ("scaling.original_context", Setting::Count(4096)),
        ];
        let want = want.map(|(name, setting)| (name.to_owned(), setting));
        assert_eq!(settings(params.as_object().unwrap()), want);
    }
}
