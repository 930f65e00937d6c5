//! Streams, events and policies, with kernels written in Rust.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fake;

use std::sync::{Arc, Mutex};

use fake::{Kernel, Rig};
use softhip::memory::{AllocationKind, FaultKind};
use softhip::report::Problem;
use softhip::sched::{Completion, End, HostBytes, POISON, Policy, StreamError, StreamId, Work};

const POLICIES: [Policy; 4] = [Policy::Eager, Policy::Deferred, Policy::Random(1), Policy::Random(2)];

/// Host memory that a test can look at while a copy to it is queued.
#[derive(Clone, Default)]
struct Window(Arc<Mutex<Vec<u8>>>);

impl Window {
    fn new(len: usize) -> Self {
        Self(Arc::new(Mutex::new(vec![0; len])))
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl HostBytes for Window {
    fn read(&self, offset: usize, out: &mut [u8]) {
        self.0.lock().unwrap().read(offset, out);
    }

    fn write(&mut self, offset: usize, data: &[u8]) {
        self.0.lock().unwrap().write(offset, data);
    }
}

fn download(rig: &mut Rig, stream: StreamId, from: u64, len: usize) -> Window {
    let window = Window::new(len);
    rig.copy(stream, End::Host(Box::new(window.clone())), End::Device(from), len);
    window
}

#[test]
fn work_of_one_stream_runs_in_order_under_every_policy() {
    for policy in POLICIES {
        let mut rig = Rig::new(policy);
        let buffer = rig.device(256);
        rig.fill(StreamId::NULL, buffer, 1, 256);
        for _ in 0..5 {
            rig.launch(StreamId::NULL, Kernel::Double { buffer });
        }
        let window = download(&mut rig, StreamId::NULL, buffer, 256);
        rig.sched.synchronise(&rig.memory);
        assert_eq!(window.bytes(), vec![32; 256], "{policy:?}");
        assert!(rig.sched.take_findings().is_empty());
        assert_eq!(rig.sched.counters().launches, 5);
    }
}

#[test]
fn a_copy_that_has_not_been_waited_for_is_poison_when_deferred() {
    let mut rig = Rig::new(Policy::Deferred);
    let buffer = rig.device(16);
    rig.fill(StreamId::NULL, buffer, 7, 16);
    let window = download(&mut rig, StreamId::NULL, buffer, 16);
    assert_eq!(window.bytes(), vec![POISON; 16]);
    rig.sched.synchronise_stream(&rig.memory, StreamId::NULL).unwrap();
    assert_eq!(window.bytes(), vec![7; 16]);
}

#[test]
fn an_eager_copy_lands_at_once() {
    let mut rig = Rig::new(Policy::Eager);
    let buffer = rig.device(16);
    rig.fill(StreamId::NULL, buffer, 7, 16);
    assert_eq!(download(&mut rig, StreamId::NULL, buffer, 16).bytes(), vec![7; 16]);
}

#[test]
fn a_pinned_destination_is_poisoned_too() {
    let mut rig = Rig::new(Policy::Deferred);
    let buffer = rig.device(16);
    let pinned = rig.memory.allocate(16, AllocationKind::Pinned, None).unwrap();
    rig.fill(StreamId::NULL, buffer, 7, 16);
    rig.copy(StreamId::NULL, End::Device(pinned), End::Device(buffer), 16);
    let look = |rig: &Rig| {
        let mut bytes = vec![0; 16];
        rig.memory.read(pinned, &mut bytes, false).unwrap();
        bytes
    };
    assert_eq!(look(&rig), vec![POISON; 16]);
    rig.sched.synchronise(&rig.memory);
    assert_eq!(look(&rig), vec![7; 16]);
}

#[test]
fn synchronising_one_stream_leaves_the_others_queued() {
    let mut rig = Rig::new(Policy::Deferred);
    let (a, b) = (rig.sched.create_stream(false), rig.sched.create_stream(false));
    let (x, y) = (rig.device(8), rig.device(8));
    rig.fill(a, x, 1, 8);
    rig.fill(b, y, 2, 8);
    let (from_a, from_b) = (download(&mut rig, a, x, 8), download(&mut rig, b, y, 8));
    rig.sched.synchronise_stream(&rig.memory, a).unwrap();
    assert_eq!((from_a.bytes(), from_b.bytes()), (vec![1; 8], vec![POISON; 8]));
}

#[test]
fn an_event_carries_order_from_stream_to_stream() {
    for policy in POLICIES {
        let mut rig = Rig::new(policy);
        let (a, b) = (rig.sched.create_stream(false), rig.sched.create_stream(false));
        let buffer = rig.device(256);
        let event = rig.sched.create_event();
        rig.fill(a, buffer, 3, 256);
        rig.sched.record(&rig.memory, a, fake::call("hipEventRecord"), event).unwrap();
        rig.sched.wait(&rig.memory, b, fake::call("hipStreamWaitEvent"), event).unwrap();
        rig.launch(b, Kernel::Double { buffer });
        let window = download(&mut rig, b, buffer, 256);
        rig.sched.synchronise_stream(&rig.memory, b).unwrap();
        assert_eq!(window.bytes(), vec![6; 256], "{policy:?}");
        assert!(rig.sched.take_findings().is_empty());
        assert!(rig.sched.elapsed(event, event).unwrap().is_zero());
    }
}

#[test]
fn the_null_stream_and_blocking_streams_wait_for_each_other() {
    for policy in POLICIES {
        let mut rig = Rig::new(policy);
        let blocking = rig.sched.create_stream(true);
        let buffer = rig.device(256);
        rig.fill(blocking, buffer, 1, 256);
        rig.launch(StreamId::NULL, Kernel::Double { buffer });
        rig.launch(blocking, Kernel::Double { buffer });
        let window = download(&mut rig, StreamId::NULL, buffer, 256);
        rig.sched.synchronise_stream(&rig.memory, StreamId::NULL).unwrap();
        assert_eq!(window.bytes(), vec![4; 256], "{policy:?}");
        assert!(rig.sched.take_findings().is_empty());
    }
}

#[test]
fn a_stream_that_waits_before_the_recording_waits_for_nothing() {
    let mut rig = Rig::new(Policy::Deferred);
    let stream = rig.sched.create_stream(false);
    let event = rig.sched.create_event();
    rig.sched.wait(&rig.memory, stream, fake::call("hipStreamWaitEvent"), event).unwrap();
    assert_eq!(rig.sched.query_stream(&rig.memory, stream), Ok(Completion::Done));
    assert_eq!(rig.sched.query_event(&rig.memory, event), Ok(Completion::Done));
    assert_eq!(rig.sched.elapsed(event, event), Err(StreamError::NotRecorded(event)));
}

#[test]
fn polling_a_deferred_stream_ends() {
    let mut rig = Rig::new(Policy::Deferred);
    let buffer = rig.device(8);
    for _ in 0..3 {
        rig.fill(StreamId::NULL, buffer, 1, 8);
    }
    let answers: Vec<_> =
        (0..4).map(|_| rig.sched.query_stream(&rig.memory, StreamId::NULL).unwrap()).collect();
    let pending = Completion::Pending;
    assert_eq!(answers, [pending, pending, pending, Completion::Done]);
}

#[test]
fn host_functions_run_in_stream_order() {
    for policy in POLICIES {
        let mut rig = Rig::new(policy);
        let buffer = rig.device(8);
        let seen = Arc::new(Mutex::new(Vec::new()));
        for i in 0..3 {
            let seen = Arc::clone(&seen);
            rig.fill(StreamId::NULL, buffer, i, 8);
            rig.push(StreamId::NULL, Work::Host(Box::new(move || seen.lock().unwrap().push(i))));
        }
        rig.sched.synchronise(&rig.memory);
        assert_eq!(*seen.lock().unwrap(), [0, 1, 2]);
    }
}

#[test]
fn nothing_runs_after_a_fault_and_the_first_one_is_kept() {
    for policy in POLICIES {
        let mut rig = Rig::new(policy);
        let (short, long) = (rig.device(100), rig.device(256));
        rig.fill(StreamId::NULL, short, 1, 100);
        rig.fill(StreamId::NULL, long, 1, 256);
        rig.launch(StreamId::NULL, Kernel::Double { buffer: short });
        rig.launch(StreamId::NULL, Kernel::Double { buffer: long });
        rig.sched.synchronise(&rig.memory);
        let findings = rig.sched.take_findings();
        assert_eq!(findings.len(), 1);
        assert!(matches!(
            &findings[0].problem,
            Problem::Access { fault, .. } if matches!(fault.kind, FaultKind::OutOfBounds { .. })
        ));
        assert!(findings[0].launched.is_some());
        let mut bytes = [0; 256];
        rig.memory.read(long, &mut bytes, false).unwrap();
        assert_eq!(bytes, [1; 256], "{policy:?}");
    }
}

#[test]
fn a_free_in_stream_order_comes_after_the_work_before_it() {
    for policy in POLICIES {
        let mut rig = Rig::new(policy);
        let buffer = rig.device(256);
        rig.fill(StreamId::NULL, buffer, 1, 256);
        rig.launch(StreamId::NULL, Kernel::Double { buffer });
        rig.push(StreamId::NULL, Work::Free { address: buffer, site: None });
        rig.sched.synchronise(&rig.memory);
        assert!(rig.sched.take_findings().is_empty());
        rig.fill(StreamId::NULL, buffer, 1, 256);
        rig.sched.synchronise(&rig.memory);
        let findings = rig.sched.take_findings();
        assert!(
            matches!(&findings[0].problem, Problem::Access { fault, .. } if fault.kind == FaultKind::UseAfterFree { offset: 0 })
        );
        assert_eq!(findings[0].call.as_ref().unwrap().function, "hipMemsetAsync");
    }
}

#[test]
fn a_destroyed_stream_takes_no_work() {
    let mut rig = Rig::new(Policy::Deferred);
    let stream = rig.sched.create_stream(true);
    let buffer = rig.device(8);
    rig.fill(stream, buffer, 5, 8);
    rig.sched.destroy_stream(&rig.memory, stream).unwrap();
    let mut bytes = [0; 8];
    rig.memory.read(buffer, &mut bytes, true).unwrap();
    assert_eq!(bytes, [5; 8], "destruction completes what was queued");
    let refused = rig.sched.enqueue(&rig.memory, stream, fake::call("hipMemsetAsync"), Work::Marker);
    assert_eq!(refused, Err(StreamError::DestroyedStream(stream)));
    assert_eq!(rig.sched.synchronise_stream(&rig.memory, stream), Err(StreamError::DestroyedStream(stream)));
}

#[test]
fn random_orders_follow_from_the_seed() {
    let order = |seed| {
        let mut rig = Rig::new(Policy::Random(seed));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let streams: Vec<_> = (0..3).map(|_| rig.sched.create_stream(false)).collect();
        for i in 0..12 {
            let seen = Arc::clone(&seen);
            rig.push(streams[i % 3], Work::Host(Box::new(move || seen.lock().unwrap().push(i))));
        }
        rig.sched.synchronise(&rig.memory);
        seen.lock().unwrap().clone()
    };
    assert_eq!(order(1), order(1));
    let orders: std::collections::HashSet<_> = (0..20).map(order).collect();
    assert!(orders.len() > 5, "20 seeds give {} orders", orders.len());
}
