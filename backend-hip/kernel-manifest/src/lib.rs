//! Manifests of foreign kernels: what each computes, how it is launched, and how it declares that it computes.
//!
//! | module | what is there |
//! |---|---|
//! | [`expression`] | integer arithmetic and conditions over the dimensions of an op |
//! | [`value`] | what an expression is worth, and why it may be worth nothing |
//! | [`vocabulary`] | the names that an op offers, and their values for a form |
//! | [`files`] | code objects in files, folders and sources |
//! | [`manifest`] | the manifest: read from TOML, checked against the op and against the kernels |
//! | [`plan`] | the launches of an op of a given form |
//! | [`refusal`] | why there are none |
//! | [`draft`] | a first manifest, from what a code object says |
//!
//! Nothing here launches a kernel; `assay-backend-hip` does.
#![forbid(unsafe_code)]

pub mod draft;
pub mod expression;
pub mod files;
pub mod manifest;
pub mod plan;
pub mod refusal;
pub mod value;
pub mod vocabulary;

pub use files::{FilesError, KernelFiles};
pub use manifest::{Entry, Manifest, ManifestError, Promises};
pub use plan::{Argument, Launch, Plan};
pub use refusal::Refusal;
