//! `libamdhip64.so` on the software device: a HIP program, linked as it is, runs with every access checked.
//!
//! ```sh
//! LD_LIBRARY_PATH=folder-of-this-library ./program
//! ```
//!
//! Reports go to the standard error stream as soon as the call that found them returns.
//!
//! | module | what is there |
//! |---|---|
//! | `export` | the macros that make C functions, and what every call does last |
//! | `forward` | calls that the software device has: name, signature and target |
//! | `queued` | calls that a stream runs later, or records |
//! | `capture`, `graph` | streams that capture, and graphs |
//! | `audit` | the log of copies to the host |
//! | `host_access` | memory of copies that the host has not waited for: the host may not touch it |
//! | `session` | the settings of `assay sanitize`, and what it is told |
//! | `registration` | fat binaries, kernels and variables that the compiler's code registers |
//! | `launch` | `hipLaunchKernel` and the call configuration of `<<<>>>` |
//! | `launch_threads` | launches whose grid is given in threads |
//! | `dispatch`, `later` | launches as they go to the device, and those of graphs |
//! | `node` | the nodes of graphs |
//! | `per_thread` | calls whose default stream is the thread's own |
//! | `rtc` | hiprtc, with a clang that the user has |
//! | `symbol` | variables of the device, by their host addresses |
//! | `memory` | pitched and managed memory, fills of rectangles, what an address is |
//! | `managed` | which memory host and device both see |
//! | `host_memory` | pinned memory and its flags |
//! | `registered` | memory of the program's own that kernels reach |
//! | `advice` | what a program says about ranges of memory |
//! | `array` | arrays of one and two dimensions, and copies of them |
//! | `volume` | memory, copies and fills in three dimensions |
//! | `pool` | memory pools |
//! | `virtual_memory` | reserved addresses, and memory that is mapped there |
//! | `location` | where memory is, and who may access it |
//! | `shared_memory` | memory that is given to others as a file descriptor |
//! | `device` | names, limits, properties in the layout of HIP 6 |
//! | `context` | contexts |
//! | `function` | modules from files, attributes, occupancy |
//! | `event` | events without a time |
//! | `stream` | flags, priorities, callbacks |
//! | `blas` | GEMM of hipBLAS and rocBLAS |
//! | `printed` | what kernels print |
//! | `proc_address` | `hipGetProcAddress` |
//! | `other` | exports that answer something else than a status |
//! | `unsupported` | every other call: `hipErrorNotSupported`, and one line that names it |

#![allow(
    unsafe_code,
    reason = "the C interface: raw pointers come in, and each one's use is argued where it happens"
)]
#![allow(non_snake_case, reason = "the names are HIP's")]

#[macro_use]
mod export;
mod advice;
mod array;
mod audit;
mod blas;
mod capture;
mod context;
mod device;
mod dispatch;
mod event;
mod forward;
mod function;
mod graph;
mod host_access;
mod host_memory;
mod later;
mod launch;
mod launch_threads;
mod location;
mod managed;
mod memory;
mod node;
mod other;
mod per_thread;
mod pool;
mod printed;
mod proc_address;
mod queued;
mod registered;
mod registration;
mod rtc;
mod session;
mod shared_memory;
mod stream;
mod symbol;
mod unsupported;
mod virtual_memory;
mod volume;
