//! The text and the JSON of reports.

use softhip::memory::{
    AccessFault, AccessKind, AllocationInfo, AllocationKind, FaultKind, RaceSide, Side, Site,
};
use softhip::report::{
    CodePlace, HostCall, LaunchProblem, LdsFault, LdsProblem, Problem, Report, Segment, ThreadPlace,
};

#[expect(clippy::unnecessary_box_returns, reason = "a report holds it boxed")]
fn allocation() -> Box<AllocationInfo> {
    Box::new(AllocationInfo {
        base: 0x5_0000_0000,
        size: 4096,
        label: Some("q".into()),
        kind: AllocationKind::Device,
        allocated: Some(Site::new("engine/src/model/mod.rs", 212)),
        freed: None,
        is_freed: false,
    })
}

fn fault(kind: FaultKind, address: u64) -> AccessFault {
    AccessFault { kind, access: AccessKind::Write, address, size: 4, nearest: Some(allocation()) }
}

fn global(kind: FaultKind, address: u64) -> Report {
    Report::new(Problem::Access { segment: Segment::Global, fault: fault(kind, address) })
        .at(CodePlace {
            kernel: "rope_f32".into(),
            offset: 0x8b0,
            instruction: "global_store_dword v[2:3], v4, off".into(),
            source: Some(Site::new("kernels/hip/rope.hip", 41)),
        })
        .by(ThreadPlace::of_lane([278, 0, 0], [64, 1, 1], 0, 17))
        .launched(Some(Site::new("backend-hip/src/ops/rope.rs", 33)))
}

#[test]
fn the_text_has_the_shape_that_users_know() {
    let report = global(FaultKind::OutOfBounds { side: Side::After, distance: 4, outside: 4 }, 0x5_0000_1004);
    let text = "\
Invalid global write of size 4 bytes
  at rope_f32+0x8b0  (rope.hip:41)  global_store_dword v[2:3], v4, off
  by thread (17,0,0) in block (278,0,0), wave 0 lane 17
  address 0x5_0000_1004 is out of bounds: 4 bytes past the end of 'q' (4096 bytes)
  allocated at engine/src/model/mod.rs:212, launched at backend-hip/src/ops/rope.rs:33";
    assert_eq!(report.to_string(), text);
}

#[test]
fn each_kind_of_fault_is_explained_in_one_line() {
    let line = |kind| global(kind, 0x5_0000_0ffe).to_string().lines().nth(3).unwrap().trim().to_owned();
    let after = |distance, outside| FaultKind::OutOfBounds { side: Side::After, distance, outside };
    assert_eq!(
        line(after(0, 2)),
        "address 0x5_0000_0ffe is out of bounds: the last 2 bytes are past the end of 'q' (4096 bytes)"
    );
    assert_eq!(line(after(0, 4)), "address 0x5_0000_0ffe is out of bounds: at the end of 'q' (4096 bytes)");
    assert_eq!(
        line(FaultKind::OutOfBounds { side: Side::Before, distance: 1, outside: 1 }),
        "address 0x5_0000_0ffe is out of bounds: 1 byte before the start of 'q' (4096 bytes)"
    );
    assert_eq!(line(FaultKind::Null), "address 0x5_0000_0ffe is a null pointer");
    assert_eq!(
        line(FaultKind::Uninitialised { offset: 7 }),
        "address 0x5_0000_0ffe has never been written: byte 7 of 'q' (4096 bytes)"
    );
    let (workgroup, pc) = (Some(3), Some(0x40));
    let other = RaceSide { access: AccessKind::Read, workgroup, wave: None, lane: None, pc, value: None };
    assert_eq!(
        line(FaultKind::Race { offset: 7, other, value: None }),
        "byte 7 of 'q' (4096 bytes), address 0x5_0000_0ffe, also has a read by workgroup 3 at +0x40 with no order \
         between them"
    );
}

#[test]
fn headlines_name_the_kind() {
    let head = |report: Report| report.to_string().lines().next().unwrap().to_owned();
    assert_eq!(
        head(global(FaultKind::Uninitialised { offset: 0 }, 1)),
        "Uninitialised global write of size 4 bytes"
    );
    assert_eq!(
        head(global(FaultKind::Misaligned { required: 4 }, 1)),
        "Misaligned global write of size 4 bytes"
    );
    let lds = LdsFault {
        segment: Segment::Lds,
        problem: LdsProblem::OutOfBounds { limit: 1024 },
        access: AccessKind::Read,
        offset: 1024,
        size: 1,
    };
    let report = Report::new(lds);
    assert_eq!(
        report.to_string(),
        "Invalid LDS read of size 1 byte\n  offset 0x400 is out of bounds: LDS has 1024 bytes"
    );
}

#[test]
fn a_freed_allocation_shows_where_it_was_freed() {
    let mut fault = fault(FaultKind::UseAfterFree { offset: 16 }, 0x5_0000_0010);
    fault.nearest.as_mut().unwrap().freed = Some(Site::new("engine/src/drop.rs", 9));
    let report = Report::new(Problem::Access { segment: Segment::Copy, fault })
        .call(HostCall::new("hipMemcpy", Some(Site::new("host.rs", 4))));
    let text = "\
Invalid copy write of size 4 bytes
  by hipMemcpy at host.rs:4
  address 0x5_0000_0010 is freed memory: 16 bytes into 'q' (4096 bytes)
  allocated at engine/src/model/mod.rs:212, freed at engine/src/drop.rs:9";
    assert_eq!(report.to_string(), text);
}

#[test]
fn json_round_trips_and_carries_the_text() {
    let reports = [
        global(FaultKind::OutOfBounds { side: Side::After, distance: 4, outside: 4 }, 0x5_0000_1004),
        Report::new(Problem::Launch {
            kernel: "rope_f32".into(),
            problem: LaunchProblem::BlockTooLarge { threads: 2048, limit: 1024 },
        }),
        Report::new(Problem::Budget { instructions: 10 }).note("in a loop"),
    ];
    for report in reports {
        let json = report.to_json();
        assert_eq!(json["text"], report.to_string());
        let mut bare = json.clone();
        bare.as_object_mut().unwrap().remove("text");
        assert_eq!(serde_json::from_value::<Report>(bare).unwrap(), report);
    }
    let json = global(FaultKind::OutOfBounds { side: Side::After, distance: 4, outside: 4 }, 1).to_json();
    assert_eq!(json["problem"]["kind"], "access");
    assert_eq!(json["problem"]["fault"], "out_of_bounds");
    assert_eq!(json["problem"]["distance"], 4);
    assert_eq!(json["problem"]["nearest"]["label"], "q");
    assert_eq!(json["by"]["lane"], 17);
}
