//! `assay sanitize --on gpu`: a library that is preloaded over a real `libamdhip64`.
//!
//! Calls go on to the real library (`real`). On the way,
//!
//! | module | what is checked |
//! |---|---|
//! | `calls` | every call's status, at once |
//! | `memory` | which allocations are live |
//! | `guard`, `malloc` | with `--guard-zones`, bytes around allocations |
//! | `kernels` | code objects, and the kernels in them |
//! | `launch` | the arguments of a launch against its code object and against live allocations; with `--sync-per-op`, whether it ends well |
//! | `copies` | the log of copies to the host |
//! | `lookup` | calls that are found by name |
//! | `session` | the settings of the command, and what it is told |
//!
//! The launch that fails first becomes a capsule, which the software device explains elsewhere.

#![allow(
    unsafe_code,
    reason = "the C interface: raw pointers come in, and each one's use is argued where it happens"
)]
#![allow(non_snake_case, reason = "the names are HIP's")]

#[macro_use]
mod real;
mod calls;
mod copies;
mod guard;
mod kernels;
mod launch;
mod lookup;
mod malloc;
mod memory;
mod session;
