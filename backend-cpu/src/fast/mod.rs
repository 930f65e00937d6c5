//! The fast backend: f32 arithmetic on all cores, one file per op.
//!
//! Written independently of the [reference](crate::reference): what both get right is right for two reasons.
//!
//! * Work is split over *outputs* only, never over the terms of a sum, and every sum has the same shape
//!   (`sums`) whatever the number of rows. So the bits of a result depend neither on the
//!   number of threads nor on the other rows of a batch.
//! * Floats shorter than f32 and transposed inputs (keys by slots, column-major weights) are copied to rows of f32 before an op. That
//!   costs a pass over the whole operand, whatever the op itself reads of it, and memory for the copy.
//! * Besides such copies, only what the op needs is read: no padding, no cache slot outside a row's mask.
#![allow(
    clippy::inline_always,
    reason = "a kernel is compiled with vector instructions only where it is inlined into `Simd::run`"
)]

mod blocks;
mod exp;
mod f32_panel;
mod float16;
mod int8_block;
mod pool;
mod prefetch;
mod roofline;
mod rope_table;
mod round;
mod rows;
mod simd;
mod sums;
mod threads;
mod work_stealing;

use kernels::{Depth, DeviceError, Float, Numerics, Op, OpForm, Stem, Support, Valid};

use crate::HostBuffer;
use crate::host::{Compute, Host, out_of_memory};

pub use roofline::Roofline;
pub use simd::UnavailableInstructions;
pub use threads::{Activations, Threads};

/// The fast backend, `cpu` on the command line.
pub type Fast = Host<Threads>;

impl Fast {
    /// The backend on `count` threads; one per core for 0. The results are the same for every count.
    pub fn with_threads(count: usize) -> Self {
        Host::new(Threads::new(count))
    }

    /// The same with exact activations, `cpu-exact` on the command line.
    pub fn exact(count: usize) -> Self {
        Host::new(Threads::new(count).with_activations(Activations::Exact))
    }
}

/// Sums by `sums`. `exp` comes from the standard library, the other functions are evaluated in f64 and rounded, so 1 ulp
/// covers all of them.
const F32: Numerics =
    Numerics { depth: Depth::Lanes(sums::LANES), angle: Float::F64, function_ulps: 1.0, ..Numerics::F32 };

impl Compute for Threads {
    fn name(&self) -> &'static str {
        match self.activations() {
            Activations::Int8 => "cpu",
            Activations::Exact => "cpu-exact",
        }
    }

    fn describe(&self) -> String {
        let (arch, activations) = (
            self.arch().name(),
            match self.activations() {
                Activations::Int8 => "8-bit",
                Activations::Exact => "exact",
            },
        );
        match self.count() {
            1 => format!("CPU, {arch}, {activations} activations, 1 thread"),
            n => format!("CPU, {arch}, {activations} activations, {n} threads"),
        }
    }

    fn numerics(&self, op: &OpForm) -> Numerics {
        numerics(self, op)
    }

    fn supports(&self, _: &OpForm) -> Support {
        Support::Yes
    }

    fn run(&self, op: Valid<Op<'_, HostBuffer>>) -> Result<(), DeviceError> {
        self.in_rows_of_f32(op.into_inner())
    }

    /// All products as one batch, everything else one by one.
    fn run_together(&self, ops: Vec<Valid<Op<'_, HostBuffer>>>) -> Result<(), (usize, DeviceError)> {
        let mut products = Vec::new();
        for (nth, op) in ops.into_iter().enumerate() {
            if op.has_short_floats() || op.has_transposed_inputs() || op.stem() != Stem::Matmul {
                self.run(op).map_err(|error| (nth, error))?;
            } else if let Op::Matmul(op) = op.into_inner() {
                products.push(op);
            }
        }
        matmul::matmul_batch(self, products);
        Ok(())
    }
}

impl Threads {
    /// Computes `op` in f32 and from rows in one piece, for which shorter floats and transposed inputs are copied first.
    fn in_rows_of_f32(&self, op: Op<'_, HostBuffer>) -> Result<(), DeviceError> {
        let alloc =
            |bytes, label: &str| HostBuffer::zeroed(bytes, label).ok_or_else(|| out_of_memory(bytes, label));
        if op.stem() != Stem::Copy && op.has_transposed_inputs() {
            return op.in_rows(alloc, |op| self.in_rows_of_f32(op));
        }
        if op.has_short_floats() {
            return op.widened(alloc, |op| {
                self.perform(op);
                Ok(())
            });
        }
        self.perform(op);
        Ok(())
    }
}

/// Declares a module per op: its function of the same name computes the op, its `numerics` says how.
macro_rules! ops {
    ($($op:ident $Op:ident,)+) => {
        $(mod $op;)+

        impl Threads {
            /// Computes `op`.
            fn perform(&self, op: Op<'_, HostBuffer>) {
                match op { $(Op::$Op(op) => $op::$op(self, op),)+ }
            }
        }

        /// How `op` is computed.
        fn numerics(threads: &Threads, op: &OpForm) -> Numerics {
            match op.stem { $(Stem::$Op => $op::numerics(threads, op),)+ }
        }
    };
}
kernels::for_each_op!(ops);
