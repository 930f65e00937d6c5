//! One page per op, and the closed enumeration [`Op`] of them.
//!
//! Every page has the same headings: **Formula**, **Operands**, **Errors**, **Bound** with its derivation,
//! **Edge cases**, **References**. Shapes are written `[rows, columns]`, outermost dimension first. Unless a page says
//! otherwise, the innermost dimension is dense, outer strides are free, and no dimension is empty. Outer strides that are free say also in
//! which order the outer dimensions lie. An operand of which a page says that it *may be transposed* has an innermost stride of any size
//! from 1 on, in types without blocks.
//!
//! An operand of type *float* is f32, f16 or bf16, each operand of its own. Those that are read are exact; intermediate results have
//! the declared accumulator whatever the types; the result is rounded to the type of the output, to nearest. Where that is shorter than
//! f32, the result may be rounded to f32 on its way: `store(y)` of the pages counts both roundings.
//!
//! What an op *is* (class, operands, parameters, axes) is said once, in its own file, by `operands!`; which ops there are is said
//! once, in [`for_each_op!`](crate::for_each_op). Everything else is derived from those two: [`Stem`], [`Op`], and in other crates
//! every list and every `match` over all ops.

mod axis;
mod check;
mod facts;
mod form;
mod operand;
mod record;
mod transposed;
mod widen;

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::{Buffer, OpError, ViewMut};

pub use axis::{Axis, AxisKind};
pub(crate) use check::Checker;
pub use facts::{Class, Facts, OperandFact, OperandKind};
pub use form::OpForm;
pub(crate) use operand::operands;
pub use operand::{OperandRef, Rebind, Role};
use record::Bag;
pub use record::{BindError, Record, RecordOperand};

/// Calls `$then! { module Type, … }` with every op, in the order of tables and reports.
///
/// This is the list of the ops. A crate that needs one item per op (a module, an arm of a `match`, a row of a table) defines a macro
/// that makes it and hands the macro's name to this one, so that a new op cannot be forgotten there.
#[macro_export]
macro_rules! for_each_op {
    ($then:ident) => {
        $then! {
            embed Embed,
            rms_norm RmsNorm,
            matmul Matmul,
            rope Rope,
            kv_write KvWrite,
            attention Attention,
            softmax Softmax,
            silu_mul SiluMul,
            gelu_mul GeluMul,
            add Add,
            mul Mul,
            scale Scale,
            argmax Argmax,
            dequantize Dequantize,
            quantize Quantize,
            cast Cast,
            copy Copy,
            fill Fill,
            layer_norm LayerNorm,
        }
    };
}

/// Declares [`Stem`] and [`Op`], the closed enumerations of the ops.
macro_rules! ops {
    ($($module:ident $Op:ident,)+) => {
        $(pub mod $module; pub use $module::$Op;)+

        /// Name of an op: the same stem in every layer, file and report.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[expect(missing_docs, reason = "each variant is documented on the page of its op")]
        pub enum Stem { $($Op,)+ }

        impl Stem {
            /// Every op.
            pub const ALL: &[Stem] = &[$(Stem::$Op,)+];

            /// The stem.
            pub const fn name(self) -> &'static str {
                match self { $(Stem::$Op => stringify!($module),)+ }
            }

            /// Name of the op's type: `RmsNorm`.
            pub const fn type_name(self) -> &'static str {
                match self { $(Stem::$Op => stringify!($Op),)+ }
            }

            /// What the op is: class, operands, parameters, axes.
            pub fn facts(self) -> &'static Facts {
                match self { $(Stem::$Op => $module::facts(),)+ }
            }
        }

        /// Any op, with its operands.
        #[derive(Debug)]
        #[expect(missing_docs, reason = "each variant is documented on the page of its op")]
        pub enum Op<'a, B> { $($Op($Op<'a, B>),)+ }

        impl<'a, B: 'a> Op<'a, B> {
            /// Which op this is.
            pub const fn stem(&self) -> Stem {
                match self { $(Op::$Op(_) => Stem::$Op,)+ }
            }

            /// Checks everything that can be checked before the op runs.
            pub fn validate(self) -> Result<Valid<Self>, OpError>
            where
                B: Buffer,
            {
                match &self { $(Op::$Op(op) => op.check(&Checker::new(Stem::$Op))?,)+ }
                Ok(Valid(self))
            }

            /// The operands, in the order of the op's struct; absent and in-place ones are left out.
            pub fn operands(&self) -> Vec<OperandRef<'_, B>> {
                let mut all = Vec::with_capacity(8);
                self.visit(&mut |operand| all.push(operand));
                all
            }

            fn visit<'s>(&'s self, visitor: &mut dyn FnMut(OperandRef<'s, B>)) {
                match self { $(Op::$Op(op) => op.visit(visitor),)+ }
            }

            /// The outputs, in the order of the op's struct.
            pub fn into_outputs(self) -> Vec<ViewMut<'a, B>> {
                match self { $(Op::$Op(op) => op.into_outputs(),)+ }
            }

            /// The same op over other buffers, for as long as this one is borrowed.
            pub fn rebind<'s, C>(&'s mut self, with: &mut dyn Rebind<'s, B, C>) -> Op<'s, C> {
                match self { $(Op::$Op(op) => Op::$Op(op.rebind(with)),)+ }
            }

            /// The parameters, by name.
            pub fn params(&self) -> Map<String, Value> {
                match self { $(Op::$Op(op) => op.params(),)+ }
            }

            pub(crate) fn bind(
                stem: Stem,
                params: &Map<String, Value>,
                bag: &mut Bag<'a, B>,
            ) -> Result<Self, BindError> {
                match stem { $(Stem::$Op => $Op::bind(params, bag).map(Op::$Op),)+ }
            }
        }
    };
}

for_each_op!(ops);

impl fmt::Display for Stem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no op's.
#[derive(Debug, thiserror::Error)]
#[error("unknown op '{0}'; the ops are {all}", all = Stem::ALL.iter().map(|s| s.name()).collect::<Vec<_>>().join(", "))]
pub struct UnknownStem(String);

impl FromStr for Stem {
    type Err = UnknownStem;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Stem::ALL.iter().copied().find(|s| s.name() == name).ok_or_else(|| UnknownStem(name.into()))
    }
}

/// A value that has passed its checks. Only validation makes one; backends take nothing else and re-check nothing.
#[derive(Debug)]
pub struct Valid<T>(T);

impl<T> Valid<T> {
    /// The value, to be taken apart.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for Valid<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
