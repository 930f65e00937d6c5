//! Races that cannot change a result are notes, and faults if asked for.

mod hip;

use hip::{Arg, Hip, Launch, SUCCESS};
use softhip::control::Options;
use softhip::memory::Checks;
use softhip::report::Report;

const STRICT: Checks = Checks { strict_races: true, ..Checks::ALL };

/// The answer of the kernel's launch on four blocks, notes and reports, and the first words of the first buffer.
fn run(
    kernel: &str,
    checks: Checks,
    arguments: [u32; 2],
    threads: usize,
) -> (i32, Vec<Report>, Vec<Report>, Vec<u32>) {
    let mut options = Options { checks, ..Options::default() };
    options.limits.threads = threads;
    let hip = Hip::with(options);
    let function = hip.kernel("races", kernel);
    let buffer = hip.upload(&[0u32; 128]);
    let mut given = vec![Arg::Pointer(buffer)];
    if kernel.starts_with("add_by_swapping") {
        given.push(Arg::Pointer(hip.upload(&[0u32; 512])));
        given.push(Arg::Word(arguments[0]));
    } else {
        given.extend(arguments.map(Arg::Word));
    }
    // One wave per block where blocks are to race, not their waves.
    let threads = if kernel == "same_word" { 64 } else { 128 };
    assert_eq!(hip.launch(function, Launch::new(4, threads), &given), SUCCESS);
    let code = hip.synchronize();
    let words = if code == SUCCESS { hip.download(buffer, 128) } else { Vec::new() };
    (code, hip.device.notes(), hip.reports(), words)
}

#[test]
fn equal_values_by_several_blocks_are_a_note() {
    for threads in [1, 2] {
        let (code, notes, reports, words) = run("same_word", Checks::ALL, [9, 0], threads);
        assert_eq!((code, reports.len(), words[0]), (SUCCESS, 0, 9), "{reports:?}");
        assert_eq!(notes.len(), 1, "{notes:?}");
        let text = notes[0].to_string();
        assert!(text.starts_with("Racing global write of size 4 bytes\n  at same_word+0x"), "{text}");
        assert!(text.contains("in block (1,0,0)"), "{text}");
        assert!(text.contains("also has a write by workgroup 0 at +0x"), "{text}");
        assert!(text.contains("the other side is same_word+0x") && text.contains("races.hip:6"), "{text}");
        let (code, notes, reports, _) = run("same_word", STRICT, [9, 0], threads);
        assert_ne!(code, SUCCESS);
        assert_eq!((notes.len(), reports.len()), (0, 1));
        let (code, _, reports, _) = run("same_word", Checks::ALL, [9, 1], threads);
        assert_ne!(code, SUCCESS);
        assert!(reports[0].to_string().contains("the other side is "), "{}", reports[0]);
    }
}

#[test]
fn equal_values_by_several_waves_are_a_note() {
    let (code, notes, reports, words) = run("same_lds_word", Checks::ALL, [9, 0], 2);
    assert_eq!((code, reports.len()), (SUCCESS, 0), "{reports:?}");
    assert_eq!(words, [9; 128]);
    assert_eq!(notes.len(), 1, "{notes:?}");
    let text = notes[0].to_string();
    assert!(text.starts_with("Racing LDS write of size 4 bytes"), "{text}");
    assert!(text.contains("also has a write by wave 0"), "{text}");
    for (checks, spread) in [(STRICT, 0), (Checks::ALL, 1)] {
        let (code, _, reports, _) = run("same_lds_word", checks, [9, spread], 2);
        assert_ne!(code, SUCCESS);
        assert_eq!(reports.len(), 1);
    }
}

#[test]
fn the_load_before_compare_and_swaps_is_a_note() {
    for (kernel, count, segment) in
        [("add_by_swapping", 1, "scalar (s_load)"), ("add_by_swapping_each", 128, "global")]
    {
        let (code, notes, reports, words) = run(kernel, Checks::ALL, [1, 0], 2);
        assert_eq!((code, reports.len()), (SUCCESS, 0), "{reports:?}");
        assert_eq!(words[..count], vec![4; count]);
        assert_eq!(notes.len(), 1, "{notes:?}");
        let text = notes[0].to_string();
        assert!(text.starts_with(&format!("Racing {segment} read of size 4 bytes")), "{text}");
        assert!(text.contains("also has a atomic by workgroup"), "{text}");
        let (code, _, reports, _) = run(kernel, STRICT, [1, 0], 2);
        assert_ne!(code, SUCCESS);
        assert_eq!(reports.len(), 1);
        // The load alone.
        let (code, notes, reports, _) = run(kernel, Checks::ALL, [0, 0], 2);
        assert_ne!(code, SUCCESS, "{notes:?}");
        assert!(reports[0].to_string().contains("by workgroup 0"), "{}", reports[0]);
    }
}

#[test]
fn waves_of_a_block_race_on_global_memory() {
    let run_one = |fenced| {
        let hip = Hip::with(Options::default());
        let function = hip.kernel("races", "next_wave");
        let buffer = hip.upload(&[0u32; 128]);
        let given = [Arg::Pointer(buffer), Arg::Word(fenced), Arg::Word(0)];
        assert_eq!(hip.launch(function, Launch::new(1, 128), &given), SUCCESS);
        let code = hip.synchronize();
        (code, hip.reports())
    };
    let (code, reports) = run_one(1);
    assert_eq!((code, reports.len()), (SUCCESS, 0), "{reports:?}");
    let (code, reports) = run_one(0);
    assert_ne!(code, SUCCESS);
    let text = reports[0].to_string();
    // Wave 0 reads before wave 1 has written.
    assert!(text.starts_with("Racing global write of size 4 bytes\n  at next_wave+0x"), "{text}");
    assert!(text.contains("wave 1 lane 0"), "{text}");
    assert!(text.contains("also has a read by workgroup 0, wave 0 lane 0 at +0x"), "{text}");
    assert!(text.contains("the other side is next_wave+0x") && text.contains("races.hip:"), "{text}");
}

#[test]
fn equal_values_by_the_waves_of_a_block_are_a_note() {
    let (code, notes, reports, words) = run("same_by_waves", Checks::ALL, [7, 0], 1);
    assert_eq!((code, reports.len(), words[63]), (SUCCESS, 0, 7), "{reports:?}");
    assert_eq!(notes.len(), 1, "{notes:?}");
    let text = notes[0].to_string();
    assert!(text.contains("also has a write by workgroup 0, wave 0 lane 0 at +0x"), "{text}");
    assert!(text.ends_with("0x07 against 0x07") || text.contains(": 0x07 against 0x07"), "{text}");
    for (checks, spread) in [(STRICT, 0), (Checks::ALL, 1)] {
        let (code, _, reports, _) = run("same_by_waves", checks, [7, spread], 1);
        assert_ne!(code, SUCCESS);
        assert!(reports[0].to_string().contains("wave 1 lane 0"), "{}", reports[0]);
    }
}
