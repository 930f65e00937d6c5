//! Graphs: what a stream captured, to be launched again and again.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::{Mutex, PoisonError};

use hip_api::Code;

use crate::capture::{self, Node};
use crate::export::put;

/// Above the tag's position, addresses of user programs have no bits.
const TAG_SHIFT: u32 = 48;
const GRAPH: usize = 0x57 << TAG_SHIFT;
const EXECUTABLE: usize = 0x58 << TAG_SHIFT;
const NODE: usize = 0x59 << TAG_SHIFT;

/// Graphs and executable graphs by their handles.
struct Graphs {
    nodes: BTreeMap<usize, Vec<Node>>,
    next: usize,
}

static GRAPHS: Mutex<Graphs> = Mutex::new(Graphs { nodes: BTreeMap::new(), next: 1 });

fn with<T>(body: impl FnOnce(&mut Graphs) -> T) -> T {
    body(&mut GRAPHS.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Graphs {
    fn add(&mut self, tag: usize, nodes: Vec<Node>) -> *mut c_void {
        let handle = tag | self.next;
        self.next += 1;
        self.nodes.insert(handle, nodes);
        without_provenance_mut(handle)
    }
}

/// The nodes of a graph or of an executable graph.
fn nodes(tag: usize, handle: *mut c_void) -> Result<Vec<Node>, Code> {
    let found = with(|graphs| graphs.nodes.get(&handle.addr()).cloned());
    found.filter(|_| handle.addr() >> TAG_SHIFT == tag >> TAG_SHIFT).ok_or(Code::INVALID_VALUE)
}

fn remove(tag: usize, handle: *mut c_void) -> Result<(), Code> {
    nodes(tag, handle)?;
    with(|graphs| graphs.nodes.remove(&handle.addr()));
    Ok(())
}

/// Makes an executable graph.
///
/// # Safety
///
/// `executable` is null or valid for a write.
unsafe fn instantiate(executable: *mut *mut c_void, graph: *mut c_void) -> Result<(), Code> {
    if executable.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let nodes = nodes(GRAPH, graph)?;
    let handle = with(|graphs| graphs.add(EXECUTABLE, nodes));
    // SAFETY: as this function's.
    unsafe { put(executable, handle) }
}

compose! {
    /// `hipStreamBeginCapture`: all modes are as strict here.
    fn hipStreamBeginCapture(stream: *mut c_void, _mode: c_int) {
        capture::begin(stream)
    }

    /// `hipStreamEndCapture`.
    fn hipStreamEndCapture(stream: *mut c_void, graph: *mut *mut c_void) {
        let nodes = capture::end(stream)?;
        let handle = with(|graphs| graphs.add(GRAPH, nodes));
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(graph, handle) }
    }

    /// `hipStreamIsCapturing`.
    fn hipStreamIsCapturing(stream: *mut c_void, state: *mut c_int) {
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(state, capture::state(stream)) }
    }

    /// `hipStreamGetCaptureInfo`.
    fn hipStreamGetCaptureInfo(stream: *mut c_void, state: *mut c_int, id: *mut u64) {
        if let (Some(session), false) = (capture::session(stream), id.is_null()) {
            // SAFETY: not null, so valid by HIP's contract.
            unsafe { put(id, session as u64) }?;
        }
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(state, capture::state(stream)) }
    }

    /// `hipThreadExchangeStreamCaptureMode`: the mode was, and is, whatever the caller says.
    fn hipThreadExchangeStreamCaptureMode(mode: *mut c_int) {
        if mode.is_null() { Err(Code::INVALID_VALUE) } else { Ok(()) }
    }

    /// `hipGraphCreate`.
    fn hipGraphCreate(graph: *mut *mut c_void, _flags: c_uint) {
        let handle = with(|graphs| graphs.add(GRAPH, Vec::new()));
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(graph, handle) }
    }

    /// `hipGraphDestroy`.
    fn hipGraphDestroy(graph: *mut c_void) {
        remove(GRAPH, graph)
    }

    /// `hipGraphClone`.
    fn hipGraphClone(clone: *mut *mut c_void, graph: *mut c_void) {
        let nodes = nodes(GRAPH, graph)?;
        let handle = with(|graphs| graphs.add(GRAPH, nodes));
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(clone, handle) }
    }

    /// `hipGraphInstantiate`.
    fn hipGraphInstantiate(
        executable: *mut *mut c_void, graph: *mut c_void, _node: *mut *mut c_void, _log: *mut c_char, _size: usize,
    ) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { instantiate(executable, graph) }
    }

    /// `hipGraphInstantiateWithFlags`.
    fn hipGraphInstantiateWithFlags(executable: *mut *mut c_void, graph: *mut c_void, _flags: u64) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { instantiate(executable, graph) }
    }

    /// `hipGraphExecUpdate`: a graph of the same kinds of nodes takes the place of the old one.
    fn hipGraphExecUpdate(
        executable: *mut c_void, graph: *mut c_void, error_node: *mut *mut c_void, result: *mut c_int,
    ) {
        let (old, new) = (nodes(EXECUTABLE, executable)?, nodes(GRAPH, graph)?);
        let same = old.iter().map(|node| node.kind).eq(new.iter().map(|node| node.kind));
        if !error_node.is_null() {
            // SAFETY: not null, so valid by HIP's contract.
            unsafe { put(error_node, null_mut()) }?;
        }
        if !result.is_null() {
            // hipGraphExecUpdateSuccess, or hipGraphExecUpdateErrorTopologyChanged.
            // SAFETY: not null, so valid by HIP's contract.
            unsafe { put(result, if same { 0 } else { 2 }) }?;
        }
        if !same {
            return Err(Code::GRAPH_EXEC_UPDATE_FAILURE);
        }
        with(|graphs| graphs.nodes.insert(executable.addr(), new));
        Ok(())
    }

    /// `hipGraphUpload`: there is nothing to prepare.
    fn hipGraphUpload(executable: *mut c_void, _stream: *mut c_void) {
        nodes(EXECUTABLE, executable).map(|_| ())
    }

    /// `hipGraphLaunch`.
    fn hipGraphLaunch(executable: *mut c_void, stream: *mut c_void) {
        if capture::is_capturing(stream) {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        nodes(EXECUTABLE, executable)?.iter().try_for_each(|node| node.run(stream))
    }

    /// `hipGraphExecDestroy`.
    fn hipGraphExecDestroy(executable: *mut c_void) {
        remove(EXECUTABLE, executable)
    }

    /// `hipGraphGetNodes`: as many handles as there is room for, and how many there are.
    fn hipGraphGetNodes(graph: *mut c_void, out: *mut *mut c_void, count: *mut usize) {
        let nodes = nodes(GRAPH, graph)?;
        if count.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        if out.is_null() {
            // SAFETY: not null, so valid by HIP's contract.
            return unsafe { put(count, nodes.len()) };
        }
        // SAFETY: not null, so valid by HIP's contract.
        let room = unsafe { count.read() };
        for (at, node) in nodes.iter().take(room).enumerate() {
            // SAFETY: there is room for `room` handles.
            unsafe { put(out.wrapping_add(at), without_provenance_mut(NODE | node.id)) }?;
        }
        // SAFETY: not null, so valid by HIP's contract.
        unsafe { put(count, nodes.len().min(room)) }
    }

    /// `hipGraphNodeGetType`.
    fn hipGraphNodeGetType(node: *mut c_void, kind: *mut c_int) {
        let found = with(|graphs| {
            graphs.nodes.values().flatten().find(|known| NODE | known.id == node.addr()).map(|node| node.kind)
        });
        let found = found.ok_or(Code::INVALID_VALUE)?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(kind, found as c_int) }
    }
}
