//! The launches of an op of a given form.

use std::collections::BTreeMap;

use kernels::{Arrangement, Numerics, OpForm, OperandKind};

use crate::manifest::{
    ArgumentEntry, ArgumentWhat, Entry, LaunchEntry, Promises, Scalar, Stated, fill, placeholder,
};
use crate::refusal::Refusal;
use crate::value::{Value, ValueError};
use crate::vocabulary::{self, FormScope, Largest};

/// What is done for an op.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// Names and bytes of the memory that it needs besides its operands.
    pub workspaces: Vec<(String, usize)>,
    /// Outputs and workspaces that are set to zero first.
    pub zeroed: Vec<String>,
    /// The launches, in order.
    pub launches: Vec<Launch>,
}

/// A launch.
#[derive(Clone, PartialEq, Debug)]
pub struct Launch {
    /// The kernel.
    pub kernel: String,
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// Bytes of LDS beyond what the kernel declares.
    pub lds: u32,
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
}

/// An argument of a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Argument {
    /// The address of an operand's first element; 0 where it is not given.
    Operand(String),
    /// The address of a workspace, by its number.
    Workspace(usize),
    /// The address 0.
    Null,
    /// Little-endian bytes, the first `.1` of them.
    Value([u8; 8], u32),
}

impl Entry {
    /// Whether the kernels take a form; if not, what is in the way.
    pub fn accepts(&self, form: &OpForm) -> Result<(), Refusal> {
        let scope = self.scope(form, None);
        self.operands_fit(form)?;
        for stated in &self.supports {
            let holds = stated.expression.holds(&scope).map_err(|error| refusal(stated, &error))?;
            if !holds {
                let what = format!("'{}' does not hold", stated.expression.text());
                return Err(Refusal { line: stated.line, what, mistake: false });
            }
        }
        // What is known only at the launch is asked there.
        self.declared.numerics(&scope).map_err(|error| self.of_lanes(&error))?;
        self.steps(&scope, true).map(drop)
    }

    /// A form that the conditions let through must make sense in every line.
    pub(crate) fn rehearse(&self, form: &OpForm) -> Result<(), Refusal> {
        match self.accepts(form) {
            Err(refusal) if refusal.mistake => Err(refusal),
            _ => Ok(()),
        }
    }

    /// How the kernels declare that they compute a form.
    pub fn numerics(&self, form: &OpForm) -> Result<Numerics, Refusal> {
        self.declared.numerics(&self.scope(form, None)).map_err(|error| self.of_lanes(&error))
    }

    /// What the kernels promise.
    pub const fn promises(&self) -> Promises {
        self.declared.promises
    }

    /// Whether they declare atomic additions.
    pub const fn atomics(&self) -> bool {
        self.declared.atomics
    }

    /// What is done for a form that it accepts; `largest` tells the largest index of an operand.
    pub fn plan(&self, form: &OpForm, largest: Largest<'_>) -> Result<Plan, Refusal> {
        self.steps(&self.scope(form, Some(largest)), false)
    }

    fn of_lanes(&self, error: &ValueError) -> Refusal {
        match self.declared.lanes() {
            Some(stated) => refusal(stated, error),
            None => Refusal { line: self.line, what: error.to_string(), mistake: true },
        }
    }

    fn scope<'f>(&'f self, form: &'f OpForm, largest: Option<Largest<'f>>) -> FormScope<'f> {
        let mut scope = FormScope { form, own: BTreeMap::new(), largest };
        for (name, stated) in &self.own {
            let value = stated.expression.value(&scope);
            scope.own.insert(name, value);
        }
        scope
    }

    fn operands_fit(&self, form: &OpForm) -> Result<(), Refusal> {
        let no = |what: String| Err(Refusal { line: self.line, what, mistake: false });
        for operand in &self.stem.facts().operands {
            let name = operand.name;
            let Some(layout) = form.layout(name) else { continue };
            let types = self.types_of(name);
            if !types.contains(&layout.dtype()) {
                let known: Vec<&str> = types.iter().map(|dtype| dtype.name()).collect();
                return no(format!("'{name}' is {}, the kernels take {}", layout.dtype(), known.join(", ")));
            }
            let layouts = self.layouts.get(name).map_or(&[Arrangement::Rows][..], Vec::as_slice);
            if !layouts.contains(&layout.arrangement()) {
                let known: Vec<&str> = layouts.iter().map(|known| known.name()).collect();
                let own = layout.arrangement();
                return no(format!("'{name}' is {own} in memory, the kernels take {}", known.join(", ")));
            }
            let passed = self
                .arguments()
                .any(|argument| matches!(&argument.what, ArgumentWhat::Operand(passed) if passed == name));
            if operand.kind == OperandKind::Optional && !passed {
                return no(format!("'{name}' is given, and no kernel takes it"));
            }
        }
        Ok(())
    }

    /// The plan. `early`: what only a launch can tell may be missing.
    fn steps(&self, scope: &FormScope<'_>, early: bool) -> Result<Plan, Refusal> {
        let tell = Tell { scope, early };
        let mut plan = Plan { workspaces: Vec::new(), zeroed: self.zeroed.clone(), launches: Vec::new() };
        for (name, stated) in &self.workspaces {
            let bytes = tell.integer(stated)?;
            let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes <= MOST_BYTES);
            let what = format!("{} is beyond what there can be", stated.what);
            let bytes = bytes.ok_or(Refusal { line: stated.line, what, mistake: true })?;
            plan.workspaces.push((name.clone(), bytes));
        }
        for launch in &self.launches {
            let happens = match &launch.when {
                None => true,
                Some(stated) => match stated.expression.holds(scope) {
                    Err(ValueError::Late(_)) if early => true,
                    held => held.map_err(|error| refusal(stated, &error))?,
                },
            };
            if happens {
                plan.launches.push(tell.launch(launch)?);
            }
        }
        if plan.launches.is_empty() {
            let what = format!("{} of this form launches no kernel", self.stem);
            return Err(Refusal { line: self.line, what, mistake: true });
        }
        Ok(plan)
    }
}

/// Bytes of the largest workspace.
const MOST_BYTES: usize = 1 << 36;

/// A line that has no value for a form.
fn refusal(stated: &Stated, error: &ValueError) -> Refusal {
    let what = format!("{} '{}': {error}", stated.what, stated.expression.text());
    Refusal { line: stated.line, what, mistake: !matches!(error, ValueError::Absent(_)) }
}

/// Works out the values of a plan.
struct Tell<'s, 'f> {
    scope: &'s FormScope<'f>,
    early: bool,
}

impl Tell<'_, '_> {
    fn integer(&self, stated: &Stated) -> Result<i64, Refusal> {
        match stated.expression.integer(self.scope) {
            Err(ValueError::Late(_)) if self.early => Ok(1),
            value => value.map_err(|error| refusal(stated, &error)),
        }
    }

    /// A size of a grid or a block: at least 1.
    fn sizes(&self, all: &[Stated], limit: u32) -> Result<[u32; 3], Refusal> {
        let mut sizes = [1; 3];
        for (size, stated) in sizes.iter_mut().zip(all) {
            let value = self.integer(stated)?;
            let fits = u32::try_from(value).ok().filter(|n| (1..=limit).contains(n));
            *size = fits.ok_or_else(|| Refusal {
                line: stated.line,
                what: format!("{} '{}' is {value}, want 1 to {limit}", stated.what, stated.expression.text()),
                mistake: value < 1,
            })?;
        }
        Ok(sizes)
    }

    fn launch(&self, launch: &LaunchEntry) -> Result<Launch, Refusal> {
        let mut kernel = launch.kernel.clone();
        while let Some(operand) = placeholder(&kernel).map(str::to_owned) {
            let layout = vocabulary::layout(self.scope.form, &operand);
            let what = format!("kernel '{kernel}': '{operand}' is not given");
            let layout = layout.ok_or(Refusal { line: launch.line, what, mistake: false })?;
            kernel = fill(&kernel, &operand, layout.dtype());
        }
        let lds = match &launch.lds {
            None => 0,
            Some(stated) => {
                let bytes = self.integer(stated)?;
                let what = format!("lds is {bytes} bytes");
                u32::try_from(bytes).map_err(|_| Refusal { line: stated.line, what, mistake: true })?
            }
        };
        let argument = |argument: &ArgumentEntry| match &argument.what {
            ArgumentWhat::Operand(name) => Ok(Argument::Operand(name.clone())),
            ArgumentWhat::Workspace(number) => Ok(Argument::Workspace(*number)),
            ArgumentWhat::Null => Ok(Argument::Null),
            ArgumentWhat::Scalar(scalar, stated) => self.scalar(*scalar, stated),
        };
        Ok(Launch {
            kernel,
            grid: self.sizes(&launch.grid, i32::MAX.unsigned_abs())?,
            block: self.sizes(&launch.block, 1024)?,
            lds,
            arguments: launch.arguments.iter().map(argument).collect::<Result<_, _>>()?,
        })
    }

    fn scalar(&self, scalar: Scalar, stated: &Stated) -> Result<Argument, Refusal> {
        let value = match stated.expression.value(self.scope) {
            Err(ValueError::Late(_)) if self.early => Value::Integer(0),
            value => value.map_err(|error| refusal(stated, &error))?,
        };
        let unfit = |what: String| Refusal {
            line: stated.line,
            what: format!("{} '{}': {what}", stated.what, stated.expression.text()),
            mistake: true,
        };
        let bytes = bytes_of(scalar, &value).map_err(unfit)?;
        Ok(Argument::Value(bytes, scalar.size()))
    }
}

/// A value as the bytes of an argument.
#[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is what is meant")]
fn bytes_of(scalar: Scalar, value: &Value) -> Result<[u8; 8], String> {
    let number = match value {
        Value::Integer(n) => *n as f64,
        Value::Real(x) => *x,
        Value::Truth(truth) => return bytes_of(scalar, &Value::Integer((*truth).into())),
        Value::Word(_) => return Err(format!("{value} is a word, and no number")),
    };
    match (scalar, value) {
        (Scalar::F32, _) => Ok(u64::from((number as f32).to_bits()).to_le_bytes()),
        (Scalar::F64, _) => Ok(number.to_bits().to_le_bytes()),
        (Scalar::Signed(size), Value::Integer(n)) => {
            let limit = i64::MAX >> (64 - 8 * size);
            if (-limit - 1..=limit).contains(n) {
                Ok(n.to_le_bytes())
            } else {
                Err(format!("{n} does not fit in i{}", 8 * size))
            }
        }
        (Scalar::Unsigned(size), Value::Integer(n)) => {
            let limit = u64::MAX >> (64 - 8 * size);
            match u64::try_from(*n) {
                Ok(fits) if fits <= limit => Ok(fits.to_le_bytes()),
                _ => Err(format!("{n} does not fit in u{}", 8 * size)),
            }
        }
        (Scalar::Signed(_) | Scalar::Unsigned(_), _) => Err(format!("{value} is no whole number")),
    }
}
