//! Races between the workgroups of one launch: what is one, and what is not.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use softhip::memory::{
    AccessKind, Addresses, AllocationKind, Checks, FaultKind, Group, LaneFault, LaunchMemory, Memory,
    RaceSide, Ranges, WAVE, WaveAccess,
};

struct Bench {
    memory: Memory,
    base: u64,
    launch: LaunchMemory,
}

/// What is known of another workgroup's access.
fn side(access: AccessKind, workgroup: Option<u32>, pc: Option<u32>) -> RaceSide {
    RaceSide { access, workgroup, wave: None, lane: None, pc, value: None }
}

fn without_values(mut kind: FaultKind) -> FaultKind {
    if let FaultKind::Race { other, value, .. } = &mut kind {
        (other.value, *value) = (None, None);
    }
    kind
}

type Outcome = Result<(), Box<LaneFault>>;

impl Bench {
    /// Every race is a fault, that of equal values, too.
    fn new() -> Self {
        Self::checked(Checks { strict_races: true, ..Checks::ALL })
    }

    fn checked(checks: Checks) -> Self {
        let memory = Memory::new(1, 1 << 30);
        let base = memory.allocate(1 << 16, AllocationKind::Device, None).unwrap();
        memory.fill(base, &[0], 1 << 16).unwrap();
        let launch = memory.launch(64, checks);
        Self { memory, base, launch }
    }

    fn group(&self, id: u32) -> Group {
        self.launch.group(id)
    }

    /// All lanes, `bytes` each, side by side from `offset`.
    fn addresses(&self, offset: u64, bytes: u32) -> [u64; WAVE] {
        std::array::from_fn(|lane| self.base + offset + u64::from(bytes) * lane as u64)
    }

    fn load(&self, group: &mut Group, offset: u64, exec: u64) -> Outcome {
        let addresses = self.addresses(offset, 4);
        let mut out = [[0; WAVE]];
        self.launch.load(group, &plain(exec, &addresses, 4), &mut out)
    }

    fn store(&self, group: &mut Group, offset: u64, exec: u64) -> Outcome {
        self.store_narrow(group, offset, exec, 4)
    }

    fn store_narrow(&self, group: &mut Group, offset: u64, exec: u64, bytes: u32) -> Outcome {
        let addresses = self.addresses(offset, bytes);
        self.launch.store(group, &plain(exec, &addresses, bytes), &[[1; WAVE]])
    }

    fn add(&self, group: &mut Group, offset: u64) -> Outcome {
        let addresses = self.addresses(offset, 4);
        let mut old = [0; WAVE];
        self.launch.atomic_u32(group, &plain(1, &addresses, 4), &mut old, |_, old| old + 1)
    }
}

fn plain(exec: u64, addresses: &[u64; WAVE], bytes: u32) -> WaveAccess<'_> {
    WaveAccess {
        exec,
        addresses: Addresses::of(exec, addresses),
        bytes,
        align: 1,
        pc: 4 * bytes,
        atomic: false,
    }
}

#[track_caller]
fn races(outcome: Outcome, lane: u32, offset: u64, access: AccessKind, workgroup: Option<u32>) {
    let fault = outcome.unwrap_err();
    let other = side(access, workgroup, workgroup.map(|_| 16));
    assert_eq!(
        (fault.lane, without_values(fault.fault.kind)),
        (lane, FaultKind::Race { offset, other, value: None })
    );
}

#[test]
fn two_groups_that_write_one_byte_race() {
    let bench = Bench::new();
    bench.store(&mut bench.group(0), 0, u64::MAX).unwrap();
    races(bench.store(&mut bench.group(1), 252, u64::MAX), 0, 252, AccessKind::Write, Some(0));
}

#[test]
fn groups_that_write_neighbouring_bytes_do_not_race() {
    let bench = Bench::new();
    for group in 0..32 {
        bench.store_narrow(&mut bench.group(group), 2 * u64::from(group), 1, 2).unwrap();
    }
    let again = bench.store_narrow(&mut bench.group(5), 12, 1, 2).unwrap_err();
    let other = side(AccessKind::Write, Some(6), Some(8));
    assert_eq!(without_values(again.fault.kind), FaultKind::Race { offset: 12, other, value: None });
}

#[test]
fn a_group_may_read_and_write_its_own_bytes() {
    let bench = Bench::new();
    let mut group = bench.group(3);
    bench.load(&mut group, 0, u64::MAX).unwrap();
    bench.store(&mut group, 0, u64::MAX).unwrap();
    bench.load(&mut group, 0, u64::MAX).unwrap();
    bench.store(&mut group, 0, 0x5555).unwrap();
}

#[test]
fn many_readers_do_not_race_and_a_writer_after_them_does() {
    let bench = Bench::new();
    for group in 0..10 {
        bench.load(&mut bench.group(group), 0, u64::MAX).unwrap();
    }
    races(bench.store(&mut bench.group(20), 8, 1), 0, 8, AccessKind::Read, Some(0));
    races(bench.store(&mut bench.group(0), 8, 1), 0, 8, AccessKind::Read, None);
    bench.store(&mut bench.group(20), 256, 1).unwrap();
}

#[test]
fn pages_that_many_read_are_still_guarded_against_writers() {
    let bench = Bench::new();
    let read_all = |group: &mut Group| -> Outcome {
        for offset in (0..1 << 16).step_by(256) {
            bench.load(group, offset, u64::MAX)?;
        }
        Ok(())
    };
    for group in 0..5 {
        read_all(&mut bench.group(group)).unwrap();
    }
    races(bench.store(&mut bench.group(9), 8192, 1), 0, 8192, AccessKind::Read, Some(0));
    races(bench.store(&mut bench.group(0), 8200, 1), 0, 8200, AccessKind::Read, None);
}

#[test]
fn a_page_that_an_ordered_writer_has_changed_is_no_longer_free_to_read() {
    let memory = Memory::new(1, 1 << 30);
    let base = memory.allocate(1 << 14, AllocationKind::Device, None).unwrap();
    memory.fill(base, &[0], 1 << 14).unwrap();
    let bench = Bench { launch: memory.launch(64, Checks::ALL), memory, base };
    let flag = 1 << 13;
    for group in 0..3 {
        let mut group = bench.group(group);
        for offset in (0..4096).step_by(256) {
            bench.load(&mut group, offset, u64::MAX).unwrap();
        }
        bench.add(&mut group, flag).unwrap();
    }
    let mut writer = bench.group(7);
    bench.add(&mut writer, flag).unwrap();
    bench.store(&mut writer, 512, 1).unwrap();
    bench.load(&mut bench.group(8), 1024, u64::MAX).unwrap();
    races(bench.load(&mut bench.group(8), 512, 1), 0, 512, AccessKind::Write, Some(7));
}

#[test]
fn a_reader_after_a_foreign_writer_races() {
    let bench = Bench::new();
    bench.store(&mut bench.group(0), 64, 0b1000).unwrap();
    races(bench.load(&mut bench.group(1), 0, u64::MAX), 19, 76, AccessKind::Write, Some(0));
}

#[test]
fn a_scattered_access_names_its_lane() {
    let bench = Bench::new();
    bench.store(&mut bench.group(0), 1000, 1).unwrap();
    let addresses: [u64; WAVE] = std::array::from_fn(|lane| bench.base + 4000 - 40 * lane as u64);
    let mut out = [[0; WAVE]];
    let outcome = bench.launch.load(&mut bench.group(1), &plain(u64::MAX, &addresses, 4), &mut out);
    let fault = outcome.err();
    assert!(fault.is_none(), "1000 is between two of the addresses: {fault:?}");
    let addresses = addresses.map(|address| address - 40);
    let outcome = bench.launch.load(&mut bench.group(1), &plain(u64::MAX >> 1, &addresses, 4), &mut out);
    assert!(outcome.is_ok());
    let addresses: [u64; WAVE] = std::array::from_fn(|lane| bench.base + 900 + 20 * lane as u64);
    let outcome = bench.launch.load(&mut bench.group(1), &plain(u64::MAX, &addresses, 4), &mut out);
    races(outcome, 5, 1000, AccessKind::Write, Some(0));
}

#[test]
fn scalar_loads_race_with_stores() {
    let bench = Bench::new();
    bench.store(&mut bench.group(0), 16, 1).unwrap();
    let fault = bench.launch.load_masked(&mut bench.group(1), bench.base, 0, &mut [0; 8]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Race { offset: 16, .. }));
}

#[test]
fn atomics_do_not_race_with_atomics_but_with_plain_accesses() {
    let bench = Bench::new();
    for group in 0..4 {
        bench.add(&mut bench.group(group), 0).unwrap();
    }
    races(bench.load(&mut bench.group(9), 0, 1), 0, 0, AccessKind::Atomic, Some(0));
    races(bench.store(&mut bench.group(9), 0, 1), 0, 0, AccessKind::Atomic, Some(0));
    bench.store(&mut bench.group(9), 128, 1).unwrap();
    races(bench.add(&mut bench.group(8), 128), 0, 128, AccessKind::Write, Some(9));
}

#[test]
fn the_last_group_to_finish_may_read_what_the_others_wrote() {
    let bench = Bench::new();
    let counter = 4096;
    for id in 0..8 {
        let mut group = bench.group(id);
        bench.store(&mut group, 64 * u64::from(id), 0xFFFF).unwrap();
        bench.add(&mut group, counter).unwrap();
    }
    let mut last = bench.group(9);
    bench.add(&mut last, counter).unwrap();
    bench.load(&mut last, 0, u64::MAX).unwrap();
    bench.store(&mut last, 0, u64::MAX).unwrap();
    races(bench.load(&mut bench.group(10), 0, 1), 0, 0, AccessKind::Write, Some(0));
}

#[test]
fn what_a_group_writes_after_its_atomic_is_not_published() {
    let bench = Bench::new();
    let mut first = bench.group(0);
    bench.store(&mut first, 0, 1).unwrap();
    bench.add(&mut first, 4096).unwrap();
    bench.store(&mut first, 4, 1).unwrap();
    let mut second = bench.group(1);
    bench.add(&mut second, 4096).unwrap();
    bench.load(&mut second, 0, 1).unwrap();
    races(bench.load(&mut second, 4, 1), 0, 4, AccessKind::Write, Some(0));
}

#[test]
fn device_scope_stores_and_loads_order_like_atomics() {
    let bench = Bench::new();
    let flag = [bench.base + 4096; WAVE];
    let flag = WaveAccess { atomic: true, ..plain(1, &flag, 4) };
    let mut producer = bench.group(0);
    bench.store(&mut producer, 0, u64::MAX).unwrap();
    bench.launch.store(&mut producer, &flag, &[[1; WAVE]]).unwrap();
    let mut consumer = bench.group(1);
    bench.launch.load(&mut consumer, &flag, &mut [[0; WAVE]]).unwrap();
    bench.load(&mut consumer, 0, u64::MAX).unwrap();
}

#[test]
fn equal_values_are_notes_for_those_who_wrote_them() {
    let bench = Bench::checked(Checks::ALL);
    let value = |value| [[value; WAVE]];
    let addresses = bench.addresses(256, 4);
    let store = |group: &mut Group, data: u32| {
        bench.launch.store(group, &plain(u64::MAX, &addresses, 4), &value(data))
    };
    let [mut a, mut b, mut c] = [0, 1, 2].map(|id| bench.group(id));
    store(&mut a, 7).unwrap();
    bench.load(&mut a, 256, u64::MAX).unwrap();
    b.enter_wave(3);
    store(&mut b, 7).unwrap();
    let notes = b.take_notes();
    assert!(!notes.is_empty());
    assert_eq!((notes[0].wave, notes[0].fault.lane), (3, 0));
    races(Err(Box::new(notes[0].fault.clone())), 0, 256, AccessKind::Write, Some(0));
    // Both may read what both wrote; a third workgroup may not, and another value is a fault.
    bench.load(&mut a, 256, u64::MAX).unwrap();
    bench.load(&mut b, 256, u64::MAX).unwrap();
    assert!(bench.load(&mut c, 256, 1).is_err());
    assert!(store(&mut b, 8).is_err());
    assert!(store(&mut a, 8).is_err());
    assert!(a.take_unsettled().is_none() && b.take_unsettled().is_none());
}

#[test]
fn equal_values_over_what_another_group_read_are_a_race() {
    let bench = Bench::checked(Checks::ALL);
    let [mut a, mut b] = [0, 1].map(|id| bench.group(id));
    bench.load(&mut a, 0, u64::MAX).unwrap();
    let addresses = bench.addresses(0, 4);
    // The buffer holds zeros.
    assert!(bench.launch.store(&mut b, &plain(1, &addresses, 4), &[[0; WAVE]]).is_err());
}

#[test]
fn a_plain_load_is_a_race_unless_a_compare_and_swap_follows() {
    let bench = Bench::checked(Checks::ALL);
    let addresses = bench.addresses(0, 4);
    let swap = |group: &mut Group| {
        let access = plain(1, &addresses, 4);
        let mut old = [0; WAVE];
        bench.launch.atomic_u32(group, &access, &mut old, |_, old| old + 1).unwrap();
        bench.launch.settle_compare_swap(group, &access);
    };
    for id in 0..4 {
        let mut group = bench.group(id);
        bench.load(&mut group, 0, 1).unwrap();
        swap(&mut group);
        assert!(group.take_unsettled().is_none());
        assert_eq!(group.take_notes().len(), usize::from(id > 0));
    }
    let mut last = bench.group(5);
    bench.load(&mut last, 0, 1).unwrap();
    let unsettled = last.take_unsettled().unwrap();
    assert!(matches!(
        unsettled.fault.fault.kind,
        FaultKind::Race { other: RaceSide { access: AccessKind::Atomic, .. }, .. }
    ));
}

#[test]
fn the_next_launch_starts_clean() {
    let bench = Bench::new();
    bench.store(&mut bench.group(0), 0, u64::MAX).unwrap();
    let next = Bench { launch: bench.memory.launch(64, Checks::ALL), ..bench };
    next.store(&mut next.group(1), 0, u64::MAX).unwrap();
}

#[test]
fn races_pass_when_the_check_is_off() {
    let bench = Bench::checked(Checks { races: false, ..Checks::ALL });
    bench.store(&mut bench.group(0), 0, u64::MAX).unwrap();
    bench.store(&mut bench.group(1), 0, u64::MAX).unwrap();
}

#[test]
fn groups_on_several_threads_find_the_race_in_any_order() {
    for round in 0..50u64 {
        let bench = Bench::new();
        let faults: usize = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4u32)
                .map(|id| {
                    let bench = &bench;
                    scope.spawn(move || {
                        let mut group = bench.group(id);
                        let mut faults = 0;
                        for i in 0..16 {
                            bench.load(&mut group, 8192 + 256 * i, u64::MAX).unwrap();
                            bench
                                .store_narrow(&mut group, 16384 + 1024 * i + 256 * u64::from(id), u64::MAX, 4)
                                .unwrap();
                        }
                        faults += usize::from(bench.store(&mut group, 40960 + 4 * round, 1).is_err());
                        faults
                    })
                })
                .collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).sum()
        });
        assert_eq!(faults, 3, "four groups write one dword: all but the first race");
    }
}

#[test]
fn the_footprint_is_what_the_launch_touched() {
    let bench = Bench::new();
    bench.load(&mut bench.group(0), 0, u64::MAX).unwrap();
    bench.store(&mut bench.group(1), 512, 0b11).unwrap();
    bench.store(&mut bench.group(2), 520, 0b1).unwrap();
    let footprint = bench.launch.footprint();
    assert_eq!(footprint.reads, Ranges::one(bench.base, 256));
    assert_eq!(footprint.writes, Ranges::one(bench.base + 512, 12));
}
