//! Nodes that record events and wait for them.

use std::ffi::c_void;

use hip_api::Code;

use super::{EXECUTABLE, add, change, find, graph_of, node_id};
use crate::export::{HIP, put};
use crate::node::{Given, Node, NodeKind};

/// A node that records an event, or waits for it.
fn of(kind: NodeKind, event: *mut c_void) -> Result<Node, Code> {
    if event.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let call = move |stream| {
        if kind == NodeKind::RecordEvent {
            // SAFETY: the software device checks the handles; likewise below.
            unsafe { (HIP.event_record)(event, stream) }
        } else {
            // SAFETY: as above.
            unsafe { (HIP.stream_wait_event)(stream, event, 0) }
        }
    };
    Ok(Node::new(kind, call).made_of(Given::Event(event)))
}

/// Gives a node of this kind another event; of the executable graph, or else of graphs.
fn set(
    executable: Option<*mut c_void>,
    kind: NodeKind,
    node: *mut c_void,
    event: *mut c_void,
) -> Result<(), Code> {
    let new = of(kind, event)?;
    let id = match executable {
        Some(executable) => find(EXECUTABLE, executable).and_then(|_| node_id(node))?,
        None => graph_of(node)?.0,
    };
    change(executable, id, |node| {
        *node = if node.kind == kind { node.with_call_of(new) } else { return Err(Code::INVALID_VALUE) };
        Ok(())
    })
}

/// The event of a node of this kind.
fn event(kind: NodeKind, node: *mut c_void) -> Result<*mut c_void, Code> {
    let (id, graph) = graph_of(node)?;
    let found = graph.nodes.into_iter().find(|node| node.id == id && node.kind == kind);
    match found.map(|node| node.given) {
        Some(Given::Event(event)) => Ok(event),
        _ => Err(Code::INVALID_VALUE),
    }
}

compose! {
    /// `hipGraphAddEventRecordNode`.
    fn hipGraphAddEventRecordNode(
        out: *mut *mut c_void, graph: *mut c_void, after: *const *mut c_void, count: usize, event: *mut c_void,
    ) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { add(out, graph, after, count, of(NodeKind::RecordEvent, event)?) }
    }

    /// `hipGraphAddEventWaitNode`.
    fn hipGraphAddEventWaitNode(
        out: *mut *mut c_void, graph: *mut c_void, after: *const *mut c_void, count: usize, event: *mut c_void,
    ) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { add(out, graph, after, count, of(NodeKind::WaitEvent, event)?) }
    }

    /// `hipGraphEventRecordNodeGetEvent`.
    fn hipGraphEventRecordNodeGetEvent(node: *mut c_void, out: *mut *mut c_void) {
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(out, event(NodeKind::RecordEvent, node)?) }
    }

    /// `hipGraphEventWaitNodeGetEvent`.
    fn hipGraphEventWaitNodeGetEvent(node: *mut c_void, out: *mut *mut c_void) {
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(out, event(NodeKind::WaitEvent, node)?) }
    }

    /// `hipGraphEventRecordNodeSetEvent`.
    fn hipGraphEventRecordNodeSetEvent(node: *mut c_void, event: *mut c_void) {
        set(None, NodeKind::RecordEvent, node, event)
    }

    /// `hipGraphEventWaitNodeSetEvent`.
    fn hipGraphEventWaitNodeSetEvent(node: *mut c_void, event: *mut c_void) {
        set(None, NodeKind::WaitEvent, node, event)
    }

    /// `hipGraphExecEventRecordNodeSetEvent`.
    fn hipGraphExecEventRecordNodeSetEvent(executable: *mut c_void, node: *mut c_void, event: *mut c_void) {
        set(Some(executable), NodeKind::RecordEvent, node, event)
    }

    /// `hipGraphExecEventWaitNodeSetEvent`.
    fn hipGraphExecEventWaitNodeSetEvent(executable: *mut c_void, node: *mut c_void, event: *mut c_void) {
        set(Some(executable), NodeKind::WaitEvent, node, event)
    }
}
