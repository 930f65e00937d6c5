//! The contract of Assay: what each op computes, what it refuses, and how wrong a correct
//! implementation may be.
//!
//! * [`ops`] has one page per op: formula, operands, errors, bound with its derivation, edge cases.
//!   [`Op`] is the closed enumeration of them.
//! * [`Backend`] is what an implementation provides: memory, streams, and a single
//!   [`launch`](Backend::launch) over [`Valid`] ops. Validation happens once, here; backends re-check nothing.
//! * [`quant`] has one page per block format, with its exact decoding.
//! * [`Numerics`] is how a backend declares that it computes; the bounds of the op pages follow from it.
//!   [`Expected`] is what an oracle answers, [`judge`](Expected::judge) how an output is compared with it.
//! * [`decor`] has backends around backends: guard zones, and observers of every op.
//! * [`Record`] is an op as data, to be stored, sent and replayed.
//!
//! This crate knows no backend and contains no `unsafe`.
#![forbid(unsafe_code)]

mod backend;
pub mod bias;
mod breakpoint;
pub mod decor;
pub mod device_code;
mod dtype;
mod error;
mod extended;
mod numerics;
pub mod ops;
pub mod quant;
mod rng;
mod site;
mod tensor;
mod tolerance;

pub use backend::{
    Adoption, Backend, DeviceKind, HostMemory, HostTensor, Identity, Pending, Readback, Support,
};
pub use bias::{Bias, Spread};
pub use breakpoint::{Breakpoint, Size};
pub use dtype::{DType, UnknownDType};
pub use error::{Check, DeviceError, Error, OpError, Overrun, Side};
pub use numerics::{Activations, Depth, Float, Growth, Numerics, Weights};
pub use ops::{
    Axis, AxisKind, BindError, Class, Facts, Op, OpForm, OperandFact, OperandKind, OperandRef, Rebind,
    Record, RecordOperand, Role, Stem, Valid,
};
pub use rng::SplitMix64;
pub use site::{Phase, Site, SiteFilter, SiteFilterError, UnknownPhase};
pub use tensor::{Arrangement, Buffer, IndexBuffer, Indices, Layout, MAX_RANK, Source, View, ViewMut};
pub use tolerance::{Expected, Judged, Verdict, Worst};
