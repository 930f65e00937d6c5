//! The nodes of graphs: calls that are made later.

use std::ffi::{c_uint, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hip_api::{Code, HostFunction};

use crate::export::status;
use crate::later::Later;

static NEXT: AtomicUsize = AtomicUsize::new(1);

/// `hipGraphNodeType`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NodeKind {
    Kernel = 0,
    Copy = 1,
    Fill = 2,
    Host = 3,
    /// A graph inside of the graph.
    Graph = 4,
    /// Nothing but order.
    Empty = 5,
    /// Waits for an event.
    WaitEvent = 6,
    /// Records one.
    RecordEvent = 7,
}

/// A recorded call.
#[derive(Clone)]
pub(crate) struct Node {
    /// Unique in the process.
    pub(crate) id: usize,
    pub(crate) kind: NodeKind,
    run: Arc<dyn Fn(*mut c_void) -> i32>,
    /// What it was made of, where a program may ask for that.
    pub(crate) given: Given,
    /// In an executable graph: whether it does anything.
    pub(crate) enabled: bool,
}

/// What a node was made of.
#[derive(Clone)]
pub(crate) enum Given {
    /// Nothing that can be asked for.
    Nothing,
    Launch(Arc<Later>),
    Fill(MemsetParameters),
    Host(HostParameters),
    /// The event that is recorded or waited for.
    Event(*mut c_void),
}

// SAFETY: a call holds addresses that its caller lets the runtime use on any thread, and no thread's own data.
unsafe impl Send for Node {}

impl Node {
    /// A node that makes a call.
    pub(crate) fn new(kind: NodeKind, run: impl Fn(*mut c_void) -> i32 + 'static) -> Self {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { id, kind, run: Arc::new(run), given: Given::Nothing, enabled: true }
    }

    /// A node that launches.
    pub(crate) fn launch(later: Later) -> Self {
        let later = Arc::new(later);
        let given = Given::Launch(Arc::clone(&later));
        Self { given, ..Self::new(NodeKind::Kernel, move |stream| later.run(stream)) }
    }

    /// The node with what it was made of.
    pub(crate) fn made_of(self, given: Given) -> Self {
        Self { given, ..self }
    }

    /// The node with the call of another.
    pub(crate) fn with_call_of(&self, other: Self) -> Self {
        Self { id: self.id, enabled: self.enabled, ..other }
    }

    /// Makes the call on a stream.
    pub(crate) fn run(&self, stream: *mut c_void) -> Result<(), Code> {
        if self.enabled { status((self.run)(stream)) } else { Ok(()) }
    }
}

/// `hipMemsetParams`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct MemsetParameters {
    pub(crate) to: *mut c_void,
    pub(crate) element_size: c_uint,
    pub(crate) height: usize,
    pub(crate) pitch: usize,
    pub(crate) value: c_uint,
    pub(crate) width: usize,
}

/// `hipHostNodeParams`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct HostParameters {
    pub(crate) function: Option<HostFunction>,
    pub(crate) argument: *mut c_void,
}
