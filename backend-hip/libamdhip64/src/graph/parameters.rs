//! Nodes that a program puts together from parameters, and may ask for them.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

use hip_api::Code;

use super::{EXECUTABLE, add, change, find, graph_of, node_id};
use crate::dispatch::{Arguments, Configuration, Dim3};
use crate::export::{HIP, put};
use crate::later::Later;
use crate::node::{Given, HostParameters, MemsetParameters, Node, NodeKind};
use crate::registration;

/// `hipKernelNodeParams`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct KernelParameters {
    block: Dim3,
    extra: *mut *mut c_void,
    function: *mut c_void,
    grid: Dim3,
    arguments: *mut *mut c_void,
    shared_bytes: c_uint,
}

/// Reads parameters.
///
/// # Safety
///
/// `from` is null or valid for a read.
unsafe fn read<T>(from: *const T) -> Result<T, Code> {
    if from.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: not null, so valid as this function's.
    Ok(unsafe { from.read() })
}

/// A kernel node.
///
/// # Safety
///
/// `parameters` is null or valid, with arguments as `hipModuleLaunchKernel` demands.
unsafe fn kernel(parameters: *const KernelParameters) -> Result<Node, Code> {
    // SAFETY: as this function's.
    let given = unsafe { read(parameters) }?;
    let function = registration::function(given.function)?;
    let at = Configuration {
        grid: given.grid,
        block: given.block,
        shared_bytes: given.shared_bytes as usize,
        stream: null_mut(),
        cooperative: false,
    };
    let arguments = Arguments { params: given.arguments, extra: given.extra };
    // SAFETY: as this function's.
    Ok(Node::launch(unsafe { Later::new(given.function, function, at, arguments) }?))
}

/// Fills rows of elements.
fn fill(parameters: MemsetParameters, stream: *mut c_void) -> i32 {
    let MemsetParameters { to, element_size, height, pitch, value, width } = parameters;
    for row in 0..height {
        let to = to.wrapping_byte_add(row.wrapping_mul(pitch));
        let [low, high, ..] = value.to_le_bytes();
        let code = match element_size {
            // SAFETY: the software device checks the range; likewise below.
            1 => unsafe { (HIP.memset_async)(to, c_int::from(low), width, stream) },
            // SAFETY: as above.
            2 => unsafe { (HIP.memset_d16_async)(to, u16::from_le_bytes([low, high]), width, stream) },
            // SAFETY: as above.
            _ => unsafe { (HIP.memset_d32_async)(to, value.cast_signed(), width, stream) },
        };
        if code != Code::SUCCESS.0 {
            return code;
        }
    }
    Code::SUCCESS.0
}

/// A node that fills memory.
fn memset(given: MemsetParameters) -> Result<Node, Code> {
    let narrow = given.height > 1 && given.pitch < given.width.saturating_mul(given.element_size as usize);
    let sized = matches!(given.element_size, 1 | 2 | 4) && given.width > 0 && given.height > 0;
    if given.to.is_null() || !sized || narrow {
        return Err(Code::INVALID_VALUE);
    }
    Ok(Node::new(NodeKind::Fill, move |stream| fill(given, stream)).made_of(Given::Fill(given)))
}

/// A node that calls a function of the host.
fn host(given: HostParameters) -> Result<Node, Code> {
    let HostParameters { function, argument } = given;
    if function.is_none() {
        return Err(Code::INVALID_VALUE);
    }
    let call = move |stream| {
        // SAFETY: the caller keeps to HIP's contract, for as long as a graph has the call.
        unsafe { (HIP.launch_host_func)(stream, function, argument) }
    };
    Ok(Node::new(NodeKind::Host, call).made_of(Given::Host(given)))
}

/// A node that copies.
fn copy(to: *mut c_void, from: *const c_void, size: usize, kind: c_int) -> Result<Node, Code> {
    if to.is_null() || from.is_null() || size == 0 {
        return Err(Code::INVALID_VALUE);
    }
    Ok(Node::new(NodeKind::Copy, move |stream| {
        // SAFETY: the caller keeps to HIP's contract, for as long as a graph has the call.
        unsafe { (HIP.memcpy_async)(to, from, size, kind, stream) }
    }))
}

/// What a node of a graph was made of.
fn given(node: *mut c_void) -> Result<Given, Code> {
    let (id, graph) = graph_of(node)?;
    let found = graph.nodes.into_iter().find(|node| node.id == id);
    found.map(|node| node.given).ok_or(Code::INVALID_VALUE)
}

/// Gives a node of a graph another call of the same kind.
fn set(node: *mut c_void, new: &Node) -> Result<(), Code> {
    let (id, _) = graph_of(node)?;
    change(None, id, |node| {
        let same = node.kind == new.kind;
        *node = if same { node.with_call_of(new.clone()) } else { return Err(Code::INVALID_VALUE) };
        Ok(())
    })
}

/// The same for the node of an executable graph.
fn set_in(executable: *mut c_void, node: *mut c_void, new: &Node) -> Result<(), Code> {
    find(EXECUTABLE, executable)?;
    change(Some(executable), node_id(node)?, |node| {
        let same = node.kind == new.kind;
        *node = if same { node.with_call_of(new.clone()) } else { return Err(Code::INVALID_VALUE) };
        Ok(())
    })
}

compose! {
    /// `hipGraphAddKernelNode`.
    fn hipGraphAddKernelNode(
        out: *mut *mut c_void, graph: *mut c_void, after: *const *mut c_void, count: usize,
        parameters: *const KernelParameters,
    ) {
        // SAFETY: the caller keeps to HIP's contract.
        let node = unsafe { kernel(parameters) }?;
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { add(out, graph, after, count, node) }
    }

    /// `hipGraphKernelNodeGetParams`: the arguments stay for as long as the node has this call.
    fn hipGraphKernelNodeGetParams(node: *mut c_void, parameters: *mut KernelParameters) {
        let Given::Launch(later) = given(node)? else { return Err(Code::INVALID_VALUE) };
        let Arguments { params, extra } = later.arguments();
        let Configuration { grid, block, .. } = later.at;
        let (function, shared_bytes) = (later.symbol, later.shared);
        let found = KernelParameters { block, extra, function, grid, arguments: params, shared_bytes };
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(parameters, found) }
    }

    /// `hipGraphKernelNodeSetParams`.
    fn hipGraphKernelNodeSetParams(node: *mut c_void, parameters: *const KernelParameters) {
        // SAFETY: the caller keeps to HIP's contract.
        set(node, &unsafe { kernel(parameters) }?)
    }

    /// `hipGraphExecKernelNodeSetParams`.
    fn hipGraphExecKernelNodeSetParams(
        executable: *mut c_void, node: *mut c_void, parameters: *const KernelParameters,
    ) {
        // SAFETY: the caller keeps to HIP's contract.
        set_in(executable, node, &unsafe { kernel(parameters) }?)
    }

    /// `hipGraphAddMemsetNode`.
    fn hipGraphAddMemsetNode(
        out: *mut *mut c_void, graph: *mut c_void, after: *const *mut c_void, count: usize,
        parameters: *const MemsetParameters,
    ) {
        // SAFETY: null or valid by HIP's contract.
        let node = memset(unsafe { read(parameters) }?)?;
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { add(out, graph, after, count, node) }
    }

    /// `hipGraphMemsetNodeGetParams`: of a fill that a stream captured, the parameters are not known.
    fn hipGraphMemsetNodeGetParams(node: *mut c_void, parameters: *mut MemsetParameters) {
        let Given::Fill(found) = given(node)? else { return Err(Code::INVALID_VALUE) };
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(parameters, found) }
    }

    /// `hipGraphMemsetNodeSetParams`.
    fn hipGraphMemsetNodeSetParams(node: *mut c_void, parameters: *const MemsetParameters) {
        // SAFETY: null or valid by HIP's contract.
        set(node, &memset(unsafe { read(parameters) }?)?)
    }

    /// `hipGraphExecMemsetNodeSetParams`.
    fn hipGraphExecMemsetNodeSetParams(
        executable: *mut c_void, node: *mut c_void, parameters: *const MemsetParameters,
    ) {
        // SAFETY: null or valid by HIP's contract.
        set_in(executable, node, &memset(unsafe { read(parameters) }?)?)
    }

    /// `hipGraphAddHostNode`.
    fn hipGraphAddHostNode(
        out: *mut *mut c_void, graph: *mut c_void, after: *const *mut c_void, count: usize,
        parameters: *const HostParameters,
    ) {
        // SAFETY: null or valid by HIP's contract.
        let node = host(unsafe { read(parameters) }?)?;
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { add(out, graph, after, count, node) }
    }

    /// `hipGraphHostNodeGetParams`.
    fn hipGraphHostNodeGetParams(node: *mut c_void, parameters: *mut HostParameters) {
        let Given::Host(found) = given(node)? else { return Err(Code::INVALID_VALUE) };
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(parameters, found) }
    }

    /// `hipGraphHostNodeSetParams`.
    fn hipGraphHostNodeSetParams(node: *mut c_void, parameters: *const HostParameters) {
        // SAFETY: null or valid by HIP's contract.
        set(node, &host(unsafe { read(parameters) }?)?)
    }

    /// `hipGraphExecHostNodeSetParams`.
    fn hipGraphExecHostNodeSetParams(
        executable: *mut c_void, node: *mut c_void, parameters: *const HostParameters,
    ) {
        // SAFETY: null or valid by HIP's contract.
        set_in(executable, node, &host(unsafe { read(parameters) }?)?)
    }

    /// `hipGraphAddMemcpyNode1D`.
    fn hipGraphAddMemcpyNode1D(
        out: *mut *mut c_void, graph: *mut c_void, after: *const *mut c_void, count: usize, to: *mut c_void,
        from: *const c_void, size: usize, kind: c_int,
    ) {
        let node = copy(to, from, size, kind)?;
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { add(out, graph, after, count, node) }
    }

    /// `hipGraphMemcpyNodeSetParams1D`.
    fn hipGraphMemcpyNodeSetParams1D(
        node: *mut c_void, to: *mut c_void, from: *const c_void, size: usize, kind: c_int,
    ) {
        set(node, &copy(to, from, size, kind)?)
    }

    /// `hipGraphExecMemcpyNodeSetParams1D`.
    fn hipGraphExecMemcpyNodeSetParams1D(
        executable: *mut c_void, node: *mut c_void, to: *mut c_void, from: *const c_void, size: usize, kind: c_int,
    ) {
        set_in(executable, node, &copy(to, from, size, kind)?)
    }

    /// `hipGraphNodeSetEnabled`: kernels, copies and fills of an executable graph can be turned off.
    fn hipGraphNodeSetEnabled(executable: *mut c_void, node: *mut c_void, enabled: c_uint) {
        find(EXECUTABLE, executable)?;
        change(Some(executable), node_id(node)?, |node| {
            if !matches!(node.kind, NodeKind::Kernel | NodeKind::Copy | NodeKind::Fill) {
                return Err(Code::INVALID_VALUE);
            }
            node.enabled = enabled != 0;
            Ok(())
        })
    }

    /// `hipGraphNodeGetEnabled`.
    fn hipGraphNodeGetEnabled(executable: *mut c_void, node: *mut c_void, enabled: *mut c_uint) {
        let id = node_id(node)?;
        let nodes = find(EXECUTABLE, executable)?.nodes;
        let found = nodes.into_iter().find(|node| node.id == id).ok_or(Code::INVALID_VALUE)?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(enabled, found.enabled.into()) }
    }
}
