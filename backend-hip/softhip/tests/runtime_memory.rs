//! Device memory: what each access reads and writes, and which faults each wrong one gets.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::needless_range_loop, reason = "a lane is an index into every register of a wave")]

use softhip::memory::{
    AccessKind, Addresses, AllocationKind, Checks, FaultKind, Lanes, LaunchMemory, Memory, MemoryError, Side,
    Site, WAVE, WaveAccess,
};

const GIB: u64 = 1 << 30;

fn memory() -> Memory {
    Memory::new(7, GIB)
}

fn device(memory: &Memory, size: u64) -> u64 {
    memory.allocate(size, AllocationKind::Device, Some(Site::here())).unwrap()
}

/// An allocation of `size` bytes that holds 0, 1, 2, ...
fn counted(memory: &Memory, size: u64) -> u64 {
    let address = device(memory, size);
    let bytes: Vec<u8> = (0..size).map(|i| i.to_le_bytes()[0]).collect();
    memory.write(address, &bytes).unwrap();
    address
}

fn access(exec: u64, addresses: &[u64; WAVE], bytes: u32) -> WaveAccess<'_> {
    WaveAccess { exec, addresses: Addresses::of(exec, addresses), bytes, align: 1, pc: 0, atomic: false }
}

fn strided(base: u64, stride: u64) -> [u64; WAVE] {
    std::array::from_fn(|lane| base.wrapping_add(stride.wrapping_mul(lane as u64)))
}

fn load(
    launch: &LaunchMemory,
    exec: u64,
    addresses: &[u64; WAVE],
    bytes: u32,
) -> Result<Vec<Lanes>, (u32, FaultKind)> {
    let mut out = vec![[0xDEAD_BEEF; WAVE]; 4];
    let mut group = launch.group(0);
    launch
        .load(&mut group, &access(exec, addresses, bytes), &mut out)
        .map(|()| out)
        .map_err(|fault| (fault.lane, fault.fault.kind))
}

fn expected_bytes(offset: u64, bytes: u32) -> [u32; 4] {
    let mut dwords = [0xDEAD_BEEF; 4];
    for (i, dword) in (0u64..).zip(&mut dwords[..(bytes as usize).div_ceil(4)]) {
        let wanted = (bytes - 4 * u32::try_from(i).unwrap()).min(4);
        let raw: [u8; 4] = std::array::from_fn(|b| (offset + 4 * i + b as u64).to_le_bytes()[0]);
        *dword = u32::from_le_bytes(raw) & u32::MAX.checked_shr(32 - 8 * wanted).unwrap();
    }
    dwords
}

#[test]
fn loads_of_every_width_and_pattern_give_the_bytes_of_memory() {
    let memory = memory();
    let base = counted(&memory, 4096);
    let launch = memory.launch(1, Checks::ALL);
    for bytes in [1u32, 2, 4, 8, 12, 16] {
        for shift in 0..4u64 {
            for stride in [u64::from(bytes), 0, 20, 3] {
                for exec in [u64::MAX, 0xF0F0_1234_0000_0001, 1 << 63, 0xFFFF] {
                    let addresses = strided(base + shift, stride);
                    let out = load(&launch, exec, &addresses, bytes).unwrap();
                    for lane in 0..WAVE {
                        let wanted = if exec >> lane & 1 == 1 {
                            expected_bytes(shift + stride * lane as u64, bytes)
                        } else {
                            [0xDEAD_BEEF; 4]
                        };
                        let got: [u32; 4] = std::array::from_fn(|i| out[i][lane]);
                        assert_eq!(got, wanted, "{bytes} bytes, shift {shift}, stride {stride}, lane {lane}");
                    }
                }
            }
        }
    }
}

#[test]
fn runs_load_and_store_what_their_lanes_do_one_by_one() {
    for (bytes, shift, exec) in [1u32, 2, 4, 8, 12, 16]
        .into_iter()
        .flat_map(|bytes| (0..4u64).map(move |shift| (bytes, shift)))
        .flat_map(|(bytes, shift)| [u64::MAX, 0x7E0].map(|exec| (bytes, shift, exec)))
    {
        for stride in [0, 1, 3, 4, 6, 8, 34, 128] {
            let memory = memory();
            let (as_run, as_lanes) = (counted(&memory, 10_000), counted(&memory, 10_000));
            let launch = memory.launch(1, Checks::ALL);
            let (run, each) = (strided(as_run + shift, stride), strided(as_lanes + shift, stride));
            let run = access(exec, &run, bytes);
            assert!(matches!(run.addresses, Addresses::Run(_)));
            let each = WaveAccess { addresses: Addresses::Each(&each), ..run };
            let mut loaded = [[[7; WAVE]; 4]; 2];
            launch.load(&mut launch.group(0), &run, &mut loaded[0]).unwrap();
            launch.load(&mut launch.group(0), &each, &mut loaded[1]).unwrap();
            assert_eq!(loaded[0], loaded[1], "{bytes} bytes, shift {shift}, stride {stride}");
            let data: [Lanes; 4] = std::array::from_fn(|r| {
                std::array::from_fn(|lane| 0xA1B2_0000 | u32::try_from(256 * r + lane).unwrap())
            });
            launch.store(&mut launch.group(0), &run, &data).unwrap();
            launch.store(&mut launch.group(0), &each, &data).unwrap();
            let mut stored = [vec![0; 10_000], vec![0; 10_000]];
            memory.read(as_run, &mut stored[0], true).unwrap();
            memory.read(as_lanes, &mut stored[1], true).unwrap();
            assert_eq!(stored[0], stored[1], "{bytes} bytes, shift {shift}, stride {stride}");
        }
    }
}

#[test]
fn stores_of_every_width_change_exactly_their_bytes() {
    for bytes in [1u32, 2, 4, 8, 12, 16] {
        for shift in 0..4u64 {
            for (stride, exec) in
                [(u64::from(bytes), u64::MAX), (u64::from(bytes), 0x7E0), (19, 0x8421_8421_8421_8421)]
            {
                let memory = memory();
                let base = counted(&memory, 2048);
                let launch = memory.launch(1, Checks::ALL);
                let data: [Lanes; 4] = std::array::from_fn(|r| {
                    std::array::from_fn(|lane| 0xA1B2_0000 | u32::try_from(256 * r + lane).unwrap())
                });
                let addresses = strided(base + shift, stride);
                launch.store(&mut launch.group(0), &access(exec, &addresses, bytes), &data).unwrap();

                let mut wanted: Vec<u8> = (0..2048u64).map(|i| i.to_le_bytes()[0]).collect();
                for lane in (0..WAVE).filter(|lane| exec >> lane & 1 == 1) {
                    let raw: Vec<u8> =
                        data.iter().flat_map(|register| register[lane].to_le_bytes()).collect();
                    let at = usize::try_from(shift + stride * lane as u64).unwrap();
                    wanted[at..at + bytes as usize].copy_from_slice(&raw[..bytes as usize]);
                }
                let mut got = vec![0; 2048];
                memory.read(base, &mut got, true).unwrap();
                assert_eq!(got, wanted, "{bytes} bytes, shift {shift}, stride {stride}");
            }
        }
    }
}

#[test]
fn stored_bytes_are_initialised_and_their_neighbours_are_not() {
    let memory = memory();
    let base = device(&memory, 256);
    let launch = memory.launch(1, Checks::ALL);
    let addresses = strided(base, 4);
    launch.store(&mut launch.group(0), &access(0b0110, &addresses, 2), &[[5; WAVE]]).unwrap();
    assert!(memory.read(base + 4, &mut [0; 2], true).is_ok());
    let missing = |address, len: usize| memory.read(address, &mut vec![0; len], true).unwrap_err().kind;
    assert_eq!(missing(base, 6), FaultKind::Uninitialised { offset: 0 });
    assert_eq!(missing(base + 4, 4), FaultKind::Uninitialised { offset: 6 });
    assert!(memory.read(base, &mut [0; 256], false).is_ok());
}

#[test]
fn an_uninitialised_load_names_the_lane_and_the_byte() {
    let memory = memory();
    let base = device(&memory, 256);
    memory.write(base, &[1; 70]).unwrap();
    let launch = memory.launch(1, Checks::ALL);
    assert_eq!(
        load(&launch, u64::MAX, &strided(base, 4), 4),
        Err((17, FaultKind::Uninitialised { offset: 70 }))
    );
    assert!(load(&launch, 0x1FFFF, &strided(base, 4), 4).is_ok());
    assert!(load(&memory.launch(1, Checks::BOUNDS), u64::MAX, &strided(base, 4), 4).is_ok());
}

#[test]
fn out_of_bounds_is_exact_to_the_byte_at_both_ends() {
    let memory = memory();
    let base = counted(&memory, 256);
    let launch = memory.launch(1, Checks::ALL);
    let at = |address: u64| load(&launch, 1, &[address; WAVE], 4).map(|_| ()).map_err(|(_, kind)| kind);
    let outside = |side, distance, outside| Err(FaultKind::OutOfBounds { side, distance, outside });
    assert_eq!(at(base), Ok(()));
    assert_eq!(at(base + 252), Ok(()));
    assert_eq!(at(base + 253), outside(Side::After, 0, 1));
    assert_eq!(at(base + 256), outside(Side::After, 0, 4));
    assert_eq!(at(base + 256 + GIB), outside(Side::After, GIB, 4));
    assert_eq!(at(base - 1), outside(Side::Before, 1, 1));
    assert_eq!(at(base - GIB), outside(Side::Before, GIB, 4));
    assert_eq!(at(0), Err(FaultKind::Null));
    assert_eq!(at(0x100), Err(FaultKind::Null));
    assert_eq!(at(0x7777_7777_7777_7777), Err(FaultKind::WildPointer));
    assert_eq!(at(u64::MAX - 1), Err(FaultKind::WildPointer));
}

#[test]
fn the_first_lane_outside_is_named_and_nothing_is_stored() {
    let memory = memory();
    let base = counted(&memory, 250);
    let launch = memory.launch(1, Checks::ALL);
    let addresses = strided(base, 4);
    let fault =
        launch.store(&mut launch.group(0), &access(u64::MAX, &addresses, 4), &[[0; WAVE]]).unwrap_err();
    assert_eq!(fault.lane, 62);
    assert_eq!(fault.fault.kind, FaultKind::OutOfBounds { side: Side::After, distance: 0, outside: 2 });
    assert_eq!(fault.fault.nearest.unwrap().size, 250);
    let mut bytes = [0; 4];
    memory.read(base, &mut bytes, true).unwrap();
    assert_eq!(bytes, [0, 1, 2, 3]);
}

#[test]
fn use_after_free_names_both_sites() {
    let memory = memory();
    let base = counted(&memory, 64);
    assert!(memory.label(base, "q"));
    memory.free(base, Some(Site::new("host.rs", 42))).unwrap();
    let fault = memory.read(base + 8, &mut [0; 4], true).unwrap_err();
    assert_eq!(fault.kind, FaultKind::UseAfterFree { offset: 8 });
    let nearest = fault.nearest.unwrap();
    assert_eq!(nearest.label.as_deref(), Some("q"));
    assert_eq!(nearest.freed, Some(Site::new("host.rs", 42)));
    assert!(nearest.allocated.is_some());
    assert!(!memory.label(base, "r"));
}

#[test]
fn a_second_free_and_a_free_of_the_middle_are_refused() {
    let memory = memory();
    let base = counted(&memory, 64);
    assert!(matches!(memory.free(base + 4, None), Err(MemoryError::NotAnAllocation { .. })));
    memory.free(base, None).unwrap();
    assert!(matches!(memory.free(base, None), Err(MemoryError::DoubleFree { .. })));
}

#[test]
fn memory_runs_out_and_comes_back() {
    let memory = Memory::new(0, 1000);
    let a = device(&memory, 600);
    let full = memory.allocate(500, AllocationKind::Device, None);
    assert_eq!(full, Err(MemoryError::OutOfMemory { requested: 500, free: 400, total: 1000 }));
    memory.free(a, None).unwrap();
    assert_eq!(memory.info(), (1000, 1000));
    assert!(memory.allocate(500, AllocationKind::Device, None).is_ok());
    assert_eq!(memory.allocate(0, AllocationKind::Device, None), Err(MemoryError::Empty));
}

#[test]
fn copies_within_the_device_carry_initialisation_along() {
    let memory = memory();
    let (a, b) = (device(&memory, 100), counted(&memory, 100));
    memory.write(a + 10, &[9; 5]).unwrap();
    memory.copy(b + 3, a, 20).unwrap();
    assert_eq!(memory.read(b, &mut [0; 100], true).unwrap_err().kind, FaultKind::Uninitialised { offset: 3 });
    let mut copied = [0; 5];
    memory.read(b + 13, &mut copied, true).unwrap();
    assert_eq!(copied, [9; 5]);
    assert!(memory.read(b + 23, &mut [0; 77], true).is_ok());
    assert!(matches!(memory.copy(b + 90, a, 20).unwrap_err().kind, FaultKind::OutOfBounds { .. }));
    assert!(matches!(memory.copy(b, a + 90, 20).unwrap_err().kind, FaultKind::OutOfBounds { .. }));
}

#[test]
fn fills_repeat_their_pattern() {
    let memory = memory();
    let base = device(&memory, 1 << 17);
    memory.fill(base + 2, &[1, 2, 3, 4], 30_000).unwrap();
    let mut bytes = vec![0; 120_000];
    memory.read(base + 2, &mut bytes, true).unwrap();
    assert!(bytes.chunks(4).all(|chunk| chunk == [1, 2, 3, 4]));
    assert!(memory.read(base, &mut [0; 3], true).is_err());
    assert!(memory.fill(base, &[0], u64::MAX).is_err());
}

#[test]
fn a_widened_scalar_load_marks_what_it_may_not_use() {
    let memory = memory();
    let base = counted(&memory, 24);
    let launch = memory.launch(1, Checks::ALL);
    let mut group = launch.group(0);
    let mut out = [1; 4];
    let load = launch.load_masked(&mut group, base + 16, 0, &mut out).unwrap();
    assert_eq!(load.valid, 0b0011);
    assert_eq!(out, [0x1312_1110, 0x1716_1514, 0, 0]);
    assert!(matches!(
        load.fault.unwrap().kind,
        FaultKind::OutOfBounds { side: Side::After, distance: 0, .. }
    ));

    let whole = launch.load_masked(&mut group, base, 0, &mut out).unwrap();
    assert_eq!((whole.valid, whole.fault), (0b1111, None));

    let beyond = launch.load_masked(&mut group, base + 24, 0, &mut out).unwrap_err();
    assert_eq!(beyond.kind, FaultKind::OutOfBounds { side: Side::After, distance: 0, outside: 4 });
    assert_eq!(beyond.size, 16);
    let odd = launch.load_masked(&mut group, base + 2, 0, &mut out[..1]).unwrap_err();
    assert_eq!(odd.kind, FaultKind::Misaligned { required: 4 });
}

#[test]
fn a_partly_uninitialised_scalar_load_is_valid_where_written() {
    let memory = memory();
    let base = device(&memory, 16);
    memory.write(base + 4, &[8; 4]).unwrap();
    let launch = memory.launch(1, Checks::ALL);
    let mut out = [0; 4];
    let load = launch.load_masked(&mut launch.group(0), base, 0, &mut out).unwrap();
    assert_eq!(load.valid, 0b0010);
    assert_eq!(load.fault.unwrap().kind, FaultKind::Uninitialised { offset: 0 });
}

#[test]
fn kernel_arguments_are_read_only_for_kernels() {
    let memory = memory();
    let base = memory.allocate(64, AllocationKind::Kernarg, None).unwrap();
    memory.write(base, &[0; 64]).unwrap();
    let launch = memory.launch(1, Checks::ALL);
    let fault =
        launch.store(&mut launch.group(0), &access(1, &[base + 4; WAVE], 4), &[[0; WAVE]]).unwrap_err();
    assert_eq!(fault.fault.kind, FaultKind::ReadOnly { offset: 4 });
    assert!(load(&launch, 1, &[base + 4; WAVE], 4).is_ok());
}

#[test]
fn atomics_apply_in_lane_order_and_demand_alignment() {
    let memory = memory();
    let base = device(&memory, 16);
    memory.fill(base, &[0], 16).unwrap();
    let launch = memory.launch(1, Checks::ALL);
    let mut group = launch.group(0);
    let mut old = [0; WAVE];
    let (first, second, middle) = ([base; WAVE], [base + 8; WAVE], [base + 2; WAVE]);
    let add = WaveAccess { align: 4, ..access(u64::MAX, &first, 4) };
    launch.atomic_u32(&mut group, &add, &mut old, |lane, old| old + u32::try_from(lane).unwrap()).unwrap();
    let wanted: Lanes = std::array::from_fn(|lane| (0..u32::try_from(lane).unwrap()).sum());
    assert_eq!(old, wanted);

    let mut wide = [0; WAVE];
    let add = WaveAccess { align: 8, ..access(0b11, &second, 8) };
    launch.atomic_u64(&mut group, &add, &mut wide, |_, old| old + (1 << 40)).unwrap();
    assert_eq!(wide[..2], [0, 1 << 40]);
    let mut bytes = [0; 8];
    memory.read(base + 8, &mut bytes, true).unwrap();
    assert_eq!(u64::from_le_bytes(bytes), 1 << 41);

    let odd = WaveAccess { align: 4, ..access(1, &middle, 4) };
    let fault = launch.atomic_u32(&mut group, &odd, &mut old, |_, old| old).unwrap_err();
    assert_eq!(fault.fault.kind, FaultKind::Misaligned { required: 4 });
    assert_eq!(fault.fault.access, AccessKind::Atomic);
}

#[test]
fn pinned_memory_is_reachable_at_its_host_address() {
    let memory = memory();
    let base = memory.allocate(100, AllocationKind::Pinned, None).unwrap();
    let launch = memory.launch(1, Checks::ALL);
    assert!(load(&launch, 1, &[base; WAVE], 4).is_ok());
    launch.store(&mut launch.group(0), &access(1, &[base + 96; WAVE], 4), &[[77; WAVE]]).unwrap();
    let mut bytes = [0; 4];
    memory.read(base + 96, &mut bytes, true).unwrap();
    assert_eq!(bytes, [77, 0, 0, 0]);
    let beyond = memory.read(base + 97, &mut bytes, true).unwrap_err();
    assert_eq!(beyond.kind, FaultKind::OutOfBounds { side: Side::After, distance: 0, outside: 1 });
}

#[test]
fn addresses_follow_from_the_seed() {
    let bases = |seed| {
        let memory = Memory::new(seed, GIB);
        (0..8).map(|_| device(&memory, 16)).collect::<Vec<_>>()
    };
    assert_eq!(bases(1), bases(1));
    assert_ne!(bases(1), bases(2));
}

#[test]
fn rows_of_lanes_are_stored_together_and_the_highest_lane_wins() {
    let memory = memory();
    for (dwords, gap) in [(1u32, 12u64), (2, 0), (4, 16), (1, 0)] {
        let base = device(&memory, 4096);
        let launch = memory.launch(1, Checks::ALL);
        let size = u64::from(4 * dwords);
        // Rows of 16 lanes. The third row is over the first one.
        let addresses = std::array::from_fn(|lane| {
            let (row, column) = (lane as u64 / 16, lane as u64 % 16);
            base + if row == 2 { 0 } else { row * (16 * size + gap) } + column * size
        });
        let data: Vec<Lanes> = (0..dwords)
            .map(|i| std::array::from_fn(|lane| 1000 * i + u32::try_from(lane).unwrap()))
            .collect();
        launch.store(&mut launch.group(0), &access(u64::MAX, &addresses, 4 * dwords), &data).unwrap();
        for lane in 0..WAVE {
            for (i, register) in (0u64..).zip(&data) {
                let mut word = [0; 4];
                memory.read(addresses[lane] + 4 * i, &mut word, true).unwrap();
                let last = if lane < 16 { lane + 32 } else { lane };
                assert_eq!(u32::from_le_bytes(word), register[last], "{dwords} dwords, lane {lane}");
            }
        }
        let end = addresses[63] + size;
        assert!(memory.read(end, &mut [0], true).is_err(), "nothing behind was written");
        if gap > 0 {
            assert!(memory.read(base + 16 * size, &mut [0], true).is_err(), "nothing between was written");
        }
    }
}

#[test]
fn one_workgroup_is_recorded_only_for_its_footprint() {
    let memory = memory();
    let base = counted(&memory, 256);
    let place = strided(base, 4);
    let store = |launch: &LaunchMemory, group: u32| {
        launch.store(&mut launch.group(group), &access(u64::MAX, &place, 4), &[[group; WAVE]])
    };
    let launch = memory.launch(1, Checks::ALL);
    store(&launch, 0).unwrap();
    assert!(!launch.footprint().writes.is_empty());
    let launch = memory.launch(1, Checks::ALL).without_footprint();
    store(&launch, 0).unwrap();
    assert!(launch.footprint().writes.is_empty());
    // Two race, whether somebody asks for the footprint or not.
    let launch = memory.launch(2, Checks::ALL).without_footprint();
    store(&launch, 0).unwrap();
    let fault = store(&launch, 1).unwrap_err();
    assert!(matches!(fault.fault.kind, FaultKind::Race { .. }));
}
