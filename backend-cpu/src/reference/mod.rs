//! The reference: f64 arithmetic, written to be read, and the oracle of the conformance suite.
//!
//! Each op's file has one function that computes the exact result, element by element, together with what
//! the error of a correct implementation scales with (the `Element` of the op's page in [`kernels::ops`]). The reference
//! backend stores the values; the oracle keeps the rest as well.
#![forbid(unsafe_code)]

mod answer;
mod array;

use kernels::{DType, DeviceError, Expected, Float, Numerics, Op, OpForm, Role, Support, Valid};

use crate::HostBuffer;
use crate::host::{Compute, Host};
use answer::{Answer, Answers};
use array::store_floats;

/// The reference backend, `ref` on the command line.
pub type Reference = Host<Exact>;

/// Computes by the functions of this module.
#[derive(Clone, Debug, Default)]
pub struct Exact(());

/// What is right for each output of `op`, for a backend that computes as `numerics` says.
pub fn oracle(op: &Valid<Op<'_, HostBuffer>>, numerics: &Numerics) -> Vec<Expected> {
    ExactResult::of(op).expected(numerics)
}

/// The exact result of an op, with what errors scale with. From it follows what is right for any backend.
#[derive(Debug)]
pub struct ExactResult(Vec<(Answer, DType)>);

impl ExactResult {
    /// Computes the exact result of `op`.
    pub fn of(op: &Valid<Op<'_, HostBuffer>>) -> Self {
        let outputs = op.operands().into_iter().filter(|operand| operand.role == Role::Output);
        let dtypes = outputs.map(|operand| operand.layout.dtype());
        ExactResult(answers(op).into_iter().zip(dtypes).collect())
    }

    /// What is right for each output, for a backend that computes as `numerics` says.
    pub fn expected(&self, numerics: &Numerics) -> Vec<Expected> {
        let expected =
            |(answer, out): &(Answer, DType)| answer.expected(numerics, out.float().unwrap_or(Float::F32));
        self.0.iter().map(expected).collect()
    }
}

/// Declares a module per op, whose function of the same name computes the exact outputs.
macro_rules! ops {
    ($($op:ident $Op:ident,)+) => {
        $(mod $op;)+

        /// The exact outputs of `op`, in the order of its struct.
        fn answers(op: &Op<'_, HostBuffer>) -> Vec<Answer> {
            match op { $(Op::$Op(op) => $op::$op(op).answers(),)+ }
        }
    };
}
kernels::for_each_op!(ops);

impl Compute for Exact {
    fn name(&self) -> &'static str {
        "ref"
    }

    fn describe(&self) -> String {
        "CPU, f64 reference".into()
    }

    fn numerics(&self, _: &OpForm) -> Numerics {
        Numerics::F64
    }

    fn supports(&self, _: &OpForm) -> Support {
        Support::Yes
    }

    fn run(&self, op: Valid<Op<'_, HostBuffer>>) -> Result<(), DeviceError> {
        // A model spends its time here, and only the oracle asks for what errors scale with.
        if let Op::Matmul(matmul) = &*op {
            let values = matmul::values(matmul);
            let outputs = op.into_inner().into_outputs();
            outputs.into_iter().for_each(|mut out| store_floats(&mut out, &values));
            return Ok(());
        }
        let answers = answers(&op);
        for (mut out, answer) in op.into_inner().into_outputs().into_iter().zip(answers) {
            answer.store(&mut out);
        }
        Ok(())
    }
}
