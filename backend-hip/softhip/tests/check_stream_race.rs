//! Races between streams: two operations on one byte with no order between them.

mod fake;

use fake::{Kernel, Rig, call};
use softhip::memory::Checks;
use softhip::report::{Problem, Report};
use softhip::sched::{End, Policy, StreamId, Work};

const POLICIES: [Policy; 3] = [Policy::Eager, Policy::Deferred, Policy::Random(5)];

fn races(rig: &mut Rig) -> Vec<Report> {
    rig.sched.synchronise(&rig.memory);
    rig.sched.take_findings()
}

#[test]
fn a_kernel_and_a_copy_on_two_streams_race() {
    for policy in POLICIES {
        let mut rig = Rig::new(policy);
        let (a, b) = (rig.sched.create_stream(false), rig.sched.create_stream(false));
        let (x, y) = (rig.device(256), rig.device(256));
        rig.memory.label(x, "x");
        rig.fill(a, x, 1, 256);
        rig.sched.synchronise(&rig.memory);
        rig.launch(a, Kernel::Double { buffer: x });
        rig.copy(b, End::Device(y), End::Device(x + 252), 4);
        let findings = races(&mut rig);
        assert_eq!(findings.len(), 1, "{policy:?}");
        let Problem::StreamRace { address, size, first, second, .. } = &findings[0].problem else {
            panic!("{findings:?}")
        };
        assert_eq!((*address, *size), (x + 252, 4));
        let mut functions = [&*first.call.function, &*second.call.function];
        functions.sort_unstable();
        assert_eq!(functions, ["hipMemcpyAsync", "hipModuleLaunchKernel"]);
        let text = findings[0].to_string();
        assert!(text.starts_with("Race between streams\n  4 bytes at address 0x"), "{text}");
        assert!(text.contains("252 bytes into 'x' (256 bytes)"), "{text}");
        assert!(text.contains("kernel double"), "{text}");
    }
}

#[test]
fn neighbouring_bytes_do_not_race() {
    for policy in POLICIES {
        let mut rig = Rig::new(policy);
        let (a, b) = (rig.sched.create_stream(false), rig.sched.create_stream(false));
        let x = rig.device(512);
        rig.fill(a, x, 1, 512);
        rig.sched.synchronise(&rig.memory);
        rig.launch(a, Kernel::Double { buffer: x });
        rig.fill(b, x + 256, 2, 256);
        assert_eq!(races(&mut rig), []);
    }
}

#[test]
fn two_readers_do_not_race() {
    for policy in POLICIES {
        let mut rig = Rig::new(policy);
        let (a, b) = (rig.sched.create_stream(false), rig.sched.create_stream(false));
        let (x, y, z) = (rig.device(64), rig.device(64), rig.device(64));
        rig.fill(a, x, 1, 64);
        rig.sched.synchronise(&rig.memory);
        rig.copy(a, End::Device(y), End::Device(x), 64);
        rig.copy(b, End::Device(z), End::Device(x), 64);
        assert_eq!(races(&mut rig), []);
    }
}

#[test]
fn an_event_or_a_synchronisation_orders_the_two() {
    for policy in POLICIES {
        for by_event in [true, false] {
            let mut rig = Rig::new(policy);
            let (a, b) = (rig.sched.create_stream(false), rig.sched.create_stream(false));
            let x = rig.device(64);
            rig.fill(a, x, 1, 64);
            if by_event {
                let event = rig.sched.create_event();
                rig.sched.record(&rig.memory, a, call("hipEventRecord"), event).unwrap();
                rig.sched.wait(&rig.memory, b, call("hipStreamWaitEvent"), event).unwrap();
            } else {
                rig.sched.synchronise_stream(&rig.memory, a).unwrap();
            }
            rig.fill(b, x, 2, 64);
            assert_eq!(races(&mut rig), [], "{policy:?}, by event: {by_event}");
        }
    }
}

#[test]
fn a_recording_before_the_write_orders_nothing() {
    for policy in POLICIES {
        let mut rig = Rig::new(policy);
        let (a, b) = (rig.sched.create_stream(false), rig.sched.create_stream(false));
        let x = rig.device(64);
        let event = rig.sched.create_event();
        rig.sched.record(&rig.memory, a, call("hipEventRecord"), event).unwrap();
        rig.fill(a, x, 1, 64);
        rig.sched.wait(&rig.memory, b, call("hipStreamWaitEvent"), event).unwrap();
        rig.fill(b, x, 2, 64);
        assert_eq!(races(&mut rig).len(), 1, "{policy:?}");
    }
}

#[test]
fn order_through_a_third_stream_counts() {
    for policy in POLICIES {
        let mut rig = Rig::new(policy);
        let streams: Vec<StreamId> = (0..3).map(|_| rig.sched.create_stream(false)).collect();
        let x = rig.device(64);
        rig.fill(streams[0], x, 1, 64);
        for pair in streams.windows(2) {
            let event = rig.sched.create_event();
            rig.sched.record(&rig.memory, pair[0], call("hipEventRecord"), event).unwrap();
            rig.sched.wait(&rig.memory, pair[1], call("hipStreamWaitEvent"), event).unwrap();
        }
        rig.fill(streams[2], x, 2, 64);
        assert_eq!(races(&mut rig), []);
    }
}

#[test]
fn a_free_races_with_a_use_on_another_stream() {
    let mut rig = Rig::new(Policy::Eager);
    let (a, b) = (rig.sched.create_stream(false), rig.sched.create_stream(false));
    let x = rig.device(64);
    rig.fill(a, x, 1, 64);
    rig.push(b, Work::Free { address: x, site: None });
    assert!(matches!(races(&mut rig)[..], [Report { problem: Problem::StreamRace { .. }, .. }]));
}

#[test]
fn blocking_streams_do_not_race_with_the_null_stream_but_with_each_other() {
    for policy in POLICIES {
        let mut rig = Rig::new(policy);
        let (a, b) = (rig.sched.create_stream(true), rig.sched.create_stream(true));
        let x = rig.device(64);
        rig.fill(a, x, 1, 64);
        rig.fill(StreamId::NULL, x, 2, 64);
        rig.fill(b, x, 3, 64);
        assert_eq!(races(&mut rig), [], "{policy:?}");
        rig.fill(a, x, 1, 64);
        rig.fill(b, x, 3, 64);
        assert_eq!(races(&mut rig).len(), 1, "{policy:?}");
    }
}

#[test]
fn races_pass_when_the_check_is_off() {
    let mut rig = Rig::new(Policy::Eager);
    rig.sched.set_checks(Checks { races: false, ..Checks::ALL });
    let (a, b) = (rig.sched.create_stream(false), rig.sched.create_stream(false));
    let x = rig.device(64);
    rig.fill(a, x, 1, 64);
    rig.fill(b, x, 2, 64);
    assert_eq!(races(&mut rig), []);
}
