//! Graphs: what a stream captured, or what was put together node by node, to be launched again and again.
//!
//! A graph runs its calls one after the other, in an order that keeps to all dependencies.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::{Mutex, PoisonError};

use hip_api::Code;

use crate::capture;
use crate::export::put;
use crate::node::{Node, NodeKind};

mod events;
mod parameters;

pub(crate) use events::address as events_address;
pub(crate) use parameters::address as parameters_address;

/// Above the tag's position, addresses of user programs have no bits.
const TAG_SHIFT: u32 = 48;
const GRAPH: usize = 0x57 << TAG_SHIFT;
const EXECUTABLE: usize = 0x58 << TAG_SHIFT;
const NODE: usize = 0x59 << TAG_SHIFT;

/// A graph, or an executable one.
#[derive(Clone, Default)]
struct Graph {
    nodes: Vec<Node>,
    /// Numbers of nodes: the second waits for the first.
    edges: Vec<(usize, usize)>,
}

impl Graph {
    /// What a capture has made: each node waits for the one before.
    fn captured(nodes: Vec<Node>) -> Self {
        let edges = nodes.windows(2).map(|pair| (pair[0].id, pair[1].id)).collect();
        Self { nodes, edges }
    }

    /// A node that runs all of it.
    fn into_node(self) -> Node {
        Node::new(NodeKind::Graph, move |stream| {
            let failed = self.nodes.iter().find_map(|node| node.run(stream).err());
            failed.unwrap_or(Code::SUCCESS).0
        })
    }

    /// The nodes in an order that keeps to all dependencies. An error: they form a cycle.
    fn sorted(mut self) -> Result<Self, Code> {
        let mut sorted: Vec<Node> = Vec::with_capacity(self.nodes.len());
        while !self.nodes.is_empty() {
            let waits = |node: &Node| {
                let mut before = self.edges.iter().filter(|edge| edge.1 == node.id);
                before.any(|edge| self.nodes.iter().any(|other| other.id == edge.0))
            };
            let ready = self.nodes.iter().position(|node| !waits(node)).ok_or(Code::INVALID_VALUE)?;
            sorted.push(self.nodes.remove(ready));
        }
        Ok(Self { nodes: sorted, edges: self.edges })
    }
}

/// Graphs and executable graphs by their handles.
struct Graphs {
    all: BTreeMap<usize, Graph>,
    next: usize,
}

static GRAPHS: Mutex<Graphs> = Mutex::new(Graphs { all: BTreeMap::new(), next: 1 });

fn with<T>(body: impl FnOnce(&mut Graphs) -> T) -> T {
    body(&mut GRAPHS.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Graphs {
    fn add(&mut self, tag: usize, graph: Graph) -> *mut c_void {
        let handle = tag | self.next;
        self.next += 1;
        self.all.insert(handle, graph);
        without_provenance_mut(handle)
    }
}

/// A graph or an executable graph.
fn find(tag: usize, handle: *mut c_void) -> Result<Graph, Code> {
    let found = with(|graphs| graphs.all.get(&handle.addr()).cloned());
    found.filter(|_| handle.addr() >> TAG_SHIFT == tag >> TAG_SHIFT).ok_or(Code::INVALID_VALUE)
}

fn remove(tag: usize, handle: *mut c_void) -> Result<(), Code> {
    find(tag, handle)?;
    with(|graphs| graphs.all.remove(&handle.addr()));
    Ok(())
}

/// The number of a node's handle.
fn node_id(node: *mut c_void) -> Result<usize, Code> {
    let id = node.addr() ^ NODE;
    if id >> TAG_SHIFT == 0 && id != 0 { Ok(id) } else { Err(Code::INVALID_VALUE) }
}

/// Adds a node that waits for others.
///
/// # Safety
///
/// `out` is null or valid for a write, and `after` has `count` entries.
unsafe fn add(
    out: *mut *mut c_void,
    graph: *mut c_void,
    after: *const *mut c_void,
    count: usize,
    node: Node,
) -> Result<(), Code> {
    find(GRAPH, graph)?;
    if out.is_null() || (after.is_null() && count > 0) {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: as this function's.
    let entries = (0..count).map(|at| node_id(unsafe { after.wrapping_add(at).read() }));
    let before = entries.collect::<Result<Vec<usize>, Code>>()?;
    let id = node.id;
    with(|graphs| {
        let graph = graphs.all.get_mut(&graph.addr()).ok_or(Code::INVALID_VALUE)?;
        if before.iter().any(|first| graph.nodes.iter().all(|node| node.id != *first)) {
            return Err(Code::INVALID_VALUE);
        }
        graph.edges.extend(before.into_iter().map(|first| (first, id)));
        graph.nodes.push(node);
        Ok(())
    })?;
    // SAFETY: as this function's.
    unsafe { put(out, without_provenance_mut(NODE | id)) }
}

/// Writes as many handles as there is room for, and how many there are.
///
/// # Safety
///
/// `count` is null or valid; `out` is null or has room for as many handles as `count` says.
unsafe fn list(nodes: &[usize], out: *mut *mut c_void, count: *mut usize) -> Result<(), Code> {
    if count.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    if out.is_null() {
        // SAFETY: not null, so valid as this function's.
        return unsafe { put(count, nodes.len()) };
    }
    // SAFETY: not null, so valid as this function's.
    let room = unsafe { count.read() };
    for (at, id) in nodes.iter().take(room).enumerate() {
        // SAFETY: there is room for `room` handles.
        unsafe { put(out.wrapping_add(at), without_provenance_mut(NODE | id)) }?;
    }
    // SAFETY: not null, so valid as this function's.
    unsafe { put(count, nodes.len().min(room)) }
}

/// The graph that has a node.
fn graph_of(node: *mut c_void) -> Result<(usize, Graph), Code> {
    let id = node_id(node)?;
    let found = with(|graphs| {
        let mut all = graphs.all.iter().filter(|(handle, _)| *handle >> TAG_SHIFT == GRAPH >> TAG_SHIFT);
        all.find(|(_, graph)| graph.nodes.iter().any(|node| node.id == id)).map(|(_, graph)| graph.clone())
    });
    found.map(|graph| (id, graph)).ok_or(Code::INVALID_VALUE)
}

/// Changes a node of an executable graph, or of graphs if there is none.
fn change(
    executable: Option<*mut c_void>,
    id: usize,
    body: impl FnOnce(&mut Node) -> Result<(), Code>,
) -> Result<(), Code> {
    with(|graphs| {
        let here = |handle: usize| match executable {
            Some(executable) => handle == executable.addr(),
            None => handle >> TAG_SHIFT == GRAPH >> TAG_SHIFT,
        };
        let mut all = graphs.all.iter_mut().filter(|(handle, _)| here(**handle));
        let found = all.find_map(|(_, graph)| graph.nodes.iter_mut().find(|node| node.id == id));
        body(found.ok_or(Code::INVALID_VALUE)?)
    })
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
    let graph = find(GRAPH, graph)?.sorted()?;
    let handle = with(|graphs| graphs.add(EXECUTABLE, graph));
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
        let handle = with(|graphs| graphs.add(GRAPH, Graph::captured(nodes)));
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

    /// `hipStreamGetCaptureInfo_v2`: the graph is made when the capture ends, and has no handle before.
    fn hipStreamGetCaptureInfo_v2(
        stream: *mut c_void, state: *mut c_int, id: *mut u64, graph: *mut *mut c_void,
        after: *mut *const *mut c_void, count: *mut usize,
    ) {
        if let (Some(session), false) = (capture::session(stream), id.is_null()) {
            // SAFETY: not null, so valid by HIP's contract.
            unsafe { put(id, session as u64) }?;
        }
        if !graph.is_null() {
            // SAFETY: not null, so valid by HIP's contract.
            unsafe { put(graph, null_mut()) }?;
        }
        if !after.is_null() {
            // SAFETY: not null, so valid by HIP's contract.
            unsafe { put(after, std::ptr::null()) }?;
        }
        if !count.is_null() {
            // SAFETY: not null, so valid by HIP's contract.
            unsafe { put(count, 0) }?;
        }
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(state, capture::state(stream)) }
    }

    /// `hipStreamUpdateCaptureDependencies`: each call of a capture comes after all before it, so that none can be missing.
    fn hipStreamUpdateCaptureDependencies(
        stream: *mut c_void, _after: *mut *mut c_void, _count: usize, flags: c_uint,
    ) {
        if flags > 1 {
            return Err(Code::INVALID_VALUE);
        }
        if capture::is_capturing(stream) { Ok(()) } else { Err(Code::ILLEGAL_STATE) }
    }

    /// `hipThreadExchangeStreamCaptureMode`: the mode was, and is, whatever the caller says.
    fn hipThreadExchangeStreamCaptureMode(mode: *mut c_int) {
        if mode.is_null() { Err(Code::INVALID_VALUE) } else { Ok(()) }
    }

    /// `hipGraphCreate`.
    fn hipGraphCreate(graph: *mut *mut c_void, _flags: c_uint) {
        let handle = with(|graphs| graphs.add(GRAPH, Graph::default()));
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(graph, handle) }
    }

    /// `hipGraphDestroy`.
    fn hipGraphDestroy(graph: *mut c_void) {
        remove(GRAPH, graph)
    }

    /// `hipGraphClone`.
    fn hipGraphClone(clone: *mut *mut c_void, graph: *mut c_void) {
        let graph = find(GRAPH, graph)?;
        let handle = with(|graphs| graphs.add(GRAPH, graph));
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
        let (old, new) = (find(EXECUTABLE, executable)?, find(GRAPH, graph)?.sorted()?);
        let same = old.nodes.iter().map(|node| node.kind).eq(new.nodes.iter().map(|node| node.kind));
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
        with(|graphs| graphs.all.insert(executable.addr(), new));
        Ok(())
    }

    /// `hipGraphUpload`: there is nothing to prepare.
    fn hipGraphUpload(executable: *mut c_void, _stream: *mut c_void) {
        find(EXECUTABLE, executable).map(|_| ())
    }

    /// `hipGraphLaunch`.
    fn hipGraphLaunch(executable: *mut c_void, stream: *mut c_void) {
        let graph = find(EXECUTABLE, executable)?;
        if capture::is_capturing(stream) {
            return capture::record(stream, graph.into_node());
        }
        graph.nodes.iter().try_for_each(|node| node.run(stream))
    }

    /// `hipGraphExecDestroy`.
    fn hipGraphExecDestroy(executable: *mut c_void) {
        remove(EXECUTABLE, executable)
    }

    /// `hipGraphGetNodes`: as many handles as there is room for, and how many there are.
    fn hipGraphGetNodes(graph: *mut c_void, out: *mut *mut c_void, count: *mut usize) {
        let nodes: Vec<usize> = find(GRAPH, graph)?.nodes.iter().map(|node| node.id).collect();
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { list(&nodes, out, count) }
    }

    /// `hipGraphGetRootNodes`: those that wait for none.
    fn hipGraphGetRootNodes(graph: *mut c_void, out: *mut *mut c_void, count: *mut usize) {
        let Graph { nodes, edges } = find(GRAPH, graph)?;
        let ids = nodes.iter().map(|node| node.id);
        let roots: Vec<usize> = ids.filter(|id| edges.iter().all(|edge| edge.1 != *id)).collect();
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { list(&roots, out, count) }
    }

    /// `hipGraphGetEdges`.
    fn hipGraphGetEdges(graph: *mut c_void, from: *mut *mut c_void, to: *mut *mut c_void, count: *mut usize) {
        let edges = find(GRAPH, graph)?.edges;
        let (first, second): (Vec<usize>, Vec<usize>) = edges.into_iter().unzip();
        if from.is_null() || to.is_null() || count.is_null() {
            // SAFETY: the caller keeps to HIP's contract.
            return unsafe { list(&first, null_mut(), count) };
        }
        // SAFETY: not null, so valid by HIP's contract.
        let mut room = unsafe { count.read() };
        // SAFETY: there is room for as many handles by HIP's contract.
        unsafe { list(&first, from, &raw mut room) }?;
        // SAFETY: as above.
        unsafe { list(&second, to, count) }
    }

    /// `hipGraphNodeGetDependencies`: what the node waits for.
    fn hipGraphNodeGetDependencies(node: *mut c_void, out: *mut *mut c_void, count: *mut usize) {
        let (id, graph) = graph_of(node)?;
        let found: Vec<usize> = graph.edges.iter().filter(|edge| edge.1 == id).map(|edge| edge.0).collect();
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { list(&found, out, count) }
    }

    /// `hipGraphNodeGetDependentNodes`: what waits for the node.
    fn hipGraphNodeGetDependentNodes(node: *mut c_void, out: *mut *mut c_void, count: *mut usize) {
        let (id, graph) = graph_of(node)?;
        let found: Vec<usize> = graph.edges.iter().filter(|edge| edge.0 == id).map(|edge| edge.1).collect();
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { list(&found, out, count) }
    }

    /// `hipGraphAddDependencies`.
    fn hipGraphAddDependencies(
        graph: *mut c_void, from: *const *mut c_void, to: *const *mut c_void, count: usize,
    ) {
        find(GRAPH, graph)?;
        if count > 0 && (from.is_null() || to.is_null()) {
            return Err(Code::INVALID_VALUE);
        }
        for at in 0..count {
            // SAFETY: there are as many entries by HIP's contract.
            let first = node_id(unsafe { from.wrapping_add(at).read() })?;
            // SAFETY: as above.
            let second = node_id(unsafe { to.wrapping_add(at).read() })?;
            with(|graphs| {
                let graph = graphs.all.get_mut(&graph.addr()).ok_or(Code::INVALID_VALUE)?;
                let known = |id| graph.nodes.iter().any(|node| node.id == id);
                if !known(first) || !known(second) || graph.edges.contains(&(first, second)) {
                    return Err(Code::INVALID_VALUE);
                }
                graph.edges.push((first, second));
                Ok(())
            })?;
        }
        Ok(())
    }

    /// `hipGraphRemoveDependencies`.
    fn hipGraphRemoveDependencies(
        graph: *mut c_void, from: *const *mut c_void, to: *const *mut c_void, count: usize,
    ) {
        find(GRAPH, graph)?;
        if count > 0 && (from.is_null() || to.is_null()) {
            return Err(Code::INVALID_VALUE);
        }
        for at in 0..count {
            // SAFETY: there are as many entries by HIP's contract.
            let first = node_id(unsafe { from.wrapping_add(at).read() })?;
            // SAFETY: as above.
            let second = node_id(unsafe { to.wrapping_add(at).read() })?;
            with(|graphs| {
                let edges = &mut graphs.all.get_mut(&graph.addr()).ok_or(Code::INVALID_VALUE)?.edges;
                let known = edges.iter().position(|edge| *edge == (first, second));
                edges.remove(known.ok_or(Code::INVALID_VALUE)?);
                Ok::<(), Code>(())
            })?;
        }
        Ok(())
    }

    /// `hipGraphNodeFindInClone`: a node has one handle in a graph and in its clones.
    fn hipGraphNodeFindInClone(out: *mut *mut c_void, node: *mut c_void, clone: *mut c_void) {
        let id = node_id(node)?;
        if find(GRAPH, clone)?.nodes.iter().all(|node| node.id != id) {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(out, node) }
    }

    /// `hipGraphDestroyNode`.
    fn hipGraphDestroyNode(node: *mut c_void) {
        let (id, _) = graph_of(node)?;
        with(|graphs| {
            for (_, graph) in graphs.all.iter_mut().filter(|(handle, _)| *handle >> TAG_SHIFT == GRAPH >> TAG_SHIFT) {
                graph.nodes.retain(|node| node.id != id);
                graph.edges.retain(|edge| edge.0 != id && edge.1 != id);
            }
        });
        Ok(())
    }

    /// `hipGraphAddEmptyNode`.
    fn hipGraphAddEmptyNode(out: *mut *mut c_void, graph: *mut c_void, after: *const *mut c_void, count: usize) {
        let node = Node::new(NodeKind::Empty, |_| Code::SUCCESS.0);
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { add(out, graph, after, count, node) }
    }

    /// `hipGraphAddChildGraphNode`: the graph as it is now.
    fn hipGraphAddChildGraphNode(
        out: *mut *mut c_void, graph: *mut c_void, after: *const *mut c_void, count: usize, child: *mut c_void,
    ) {
        let node = find(GRAPH, child)?.sorted()?.into_node();
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { add(out, graph, after, count, node) }
    }

    /// `hipGraphNodeGetType`.
    fn hipGraphNodeGetType(node: *mut c_void, kind: *mut c_int) {
        let (id, graph) = graph_of(node)?;
        let found = graph.nodes.iter().find(|node| node.id == id).ok_or(Code::INVALID_VALUE)?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(kind, found.kind as c_int) }
    }
}
