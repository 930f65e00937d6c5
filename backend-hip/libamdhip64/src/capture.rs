//! Streams that capture: their work is recorded, and a graph is made of it.
//!
//! A capture has one list of calls, in the order in which the program made them. That order keeps to all dependencies
//! between the streams of the capture.

use std::collections::HashMap;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use hip_api::Code;

use crate::export::{HIP, status};
use crate::node::{Node, NodeKind};

#[derive(Default)]
struct Captures {
    /// The captures by their number, each with the stream it began on.
    sessions: HashMap<usize, (usize, Vec<Node>)>,
    streams: HashMap<usize, usize>,
    events: HashMap<usize, usize>,
}

static CAPTURES: Mutex<Option<Captures>> = Mutex::new(None);
/// How many captures there are. Without one, no lock is needed.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicUsize = AtomicUsize::new(1);

fn with<T>(body: impl FnOnce(&mut Captures) -> T) -> T {
    body(CAPTURES.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

/// The number of the capture that the stream takes part in.
pub(crate) fn session(stream: *mut c_void) -> Option<usize> {
    if ACTIVE.load(Ordering::Acquire) == 0 {
        return None;
    }
    with(|captures| captures.streams.get(&stream.addr()).copied())
}

pub(crate) fn is_capturing(stream: *mut c_void) -> bool {
    session(stream).is_some()
}

/// Makes the call on the stream, or records it if the stream captures.
pub(crate) fn queue(
    stream: *mut c_void,
    kind: NodeKind,
    run: impl Fn(*mut c_void) -> i32 + 'static,
) -> Result<(), Code> {
    if !is_capturing(stream) {
        return status(run(stream));
    }
    record(stream, Node::new(kind, run))
}

/// Adds a node to the capture of a stream.
pub(crate) fn record(stream: *mut c_void, node: Node) -> Result<(), Code> {
    let session = session(stream).ok_or(Code::ILLEGAL_STATE)?;
    with(|captures| {
        let (_, nodes) = captures.sessions.get_mut(&session).ok_or(Code::ILLEGAL_STATE)?;
        nodes.push(node);
        Ok(())
    })
}

/// `hipStreamBeginCapture`.
pub(crate) fn begin(stream: *mut c_void) -> Result<(), Code> {
    if stream.is_null() {
        return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
    }
    with(|captures| {
        if captures.streams.contains_key(&stream.addr()) {
            return Err(Code::ILLEGAL_STATE);
        }
        let session = NEXT.fetch_add(1, Ordering::Relaxed);
        captures.sessions.insert(session, (stream.addr(), Vec::new()));
        captures.streams.insert(stream.addr(), session);
        ACTIVE.fetch_add(1, Ordering::Release);
        Ok(())
    })
}

/// `hipStreamEndCapture`: the calls that were recorded.
pub(crate) fn end(stream: *mut c_void) -> Result<Vec<Node>, Code> {
    with(|captures| {
        let session = *captures.streams.get(&stream.addr()).ok_or(Code::ILLEGAL_STATE)?;
        if captures.sessions.get(&session).is_none_or(|(origin, _)| *origin != stream.addr()) {
            return Err(Code::ILLEGAL_STATE);
        }
        let (_, nodes) = captures.sessions.remove(&session).ok_or(Code::ILLEGAL_STATE)?;
        captures.streams.retain(|_, other| *other != session);
        captures.events.retain(|_, other| *other != session);
        ACTIVE.fetch_sub(1, Ordering::Release);
        Ok(nodes)
    })
}

/// `hipEventRecord`.
pub(crate) fn record_event(event: *mut c_void, stream: *mut c_void) -> Result<(), Code> {
    if let Some(session) = session(stream) {
        with(|captures| captures.events.insert(event.addr(), session));
        return Ok(());
    }
    if ACTIVE.load(Ordering::Acquire) > 0 {
        with(|captures| captures.events.remove(&event.addr()));
    }
    // SAFETY: the software device checks handles.
    status(unsafe { (HIP.event_record)(event, stream) })
}

/// `hipStreamWaitEvent`.
pub(crate) fn wait_event(stream: *mut c_void, event: *mut c_void, flags: c_uint) -> Result<(), Code> {
    if ACTIVE.load(Ordering::Acquire) > 0 {
        let joined = with(|captures| {
            let session = *captures.events.get(&event.addr())?;
            captures.streams.insert(stream.addr(), session);
            Some(())
        });
        if joined.is_some() {
            return Ok(());
        }
        if is_capturing(stream) {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
    }
    // SAFETY: the software device checks handles.
    status(unsafe { (HIP.stream_wait_event)(stream, event, flags) })
}

/// `hipStreamCaptureStatus`: none, or active.
pub(crate) fn state(stream: *mut c_void) -> c_int {
    c_int::from(is_capturing(stream))
}
