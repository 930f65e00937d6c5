//! Every check has a program that must trigger it and one that must not, run through HIP's calls.
//!
//! | check | must trigger it, and must not |
//! |---|---|
//! | global write out of bounds by 1 byte and 1 GiB, before and after | `check_kernel`: `writes_outside_are_found_at_any_distance`, `accesses_within_bounds_pass` |
//! | global read out of bounds by 1 byte and 1 GiB, before and after | `check_kernel`: `reads_outside_are_found_at_any_distance`; here: `a_read_one_byte_outside_is_found` |
//! | use after free | `check_kernel`: `memory_freed_under_a_queued_kernel_is_found` |
//! | double free, free of the middle | `check_host`: `a_double_free_is_reported_with_both_sites`, `a_free_of_the_middle_is_reported` |
//! | uninitialised global read | `check_kernel`: `an_uninitialised_read_is_found_when_it_is_checked` |
//! | uninitialised LDS read | here: `an_lds_word_that_nothing_wrote_is_found` |
//! | LDS out of bounds | here: `an_lds_access_outside_is_found` |
//! | LDS race | here: `waves_that_share_lds_without_a_barrier_race` |
//! | global race between workgroups | `check_kernel`: `workgroups_that_share_bytes_race_whatever_the_number_of_threads`; cases in `check_group_race` |
//! | global race between streams | `check_kernel`: `kernels_on_two_streams_race_when_nothing_orders_them`; cases in `check_stream_race` |
//! | host reads the destination of a copy before synchronising | `check_host`: `a_pageable_destination_is_poison_until_the_stream_is_synchronised` |
//! | missing argument | `check_host`: `a_missing_argument_is_named` |
//! | extra or mis-sized arguments | `check_host`: `packed_arguments_must_have_the_kernels_size` |
//! | stale argument | `check_host`: `a_pointer_to_freed_memory_is_a_stale_argument` |
//! | block larger than the kernel allows | `check_host`: `a_block_larger_than_the_kernel_allows_is_refused` |
//! | LDS request too large | `check_host`: `more_lds_than_a_block_has_is_refused` |
//! | divergent barrier | here: `a_barrier_that_some_waves_never_reach_is_found` |
//! | endless loop | here: `a_kernel_that_never_ends_is_stopped` |
//! | misaligned access | `check_kernel`: `atomics_must_be_aligned_and_do_not_race` |
//! | null pointer | `check_host`: `a_null_pointer_faults_in_the_kernel_and_the_next_call_says_so` |
//! | code object for another GPU | `check_host`: `a_code_object_for_another_gpu_is_refused` |
//! | launch on a destroyed stream | `check_host`: `a_launch_on_a_destroyed_stream_is_refused` |
//! | copy past either end | `check_host`: `a_copy_past_either_end_is_refused` |
//! | over-read by a widened load | here: `a_load_wider_than_what_is_used_is_no_fault` |
//! | positions of 2 bytes each, the seeds' bug | `check_host`: `the_position_vector_of_the_true_story_is_caught_and_named` |

mod hip;

use hip::{Arg, Hip, Launch, SUCCESS, offset};
use softhip::sched::Limits;

const ILLEGAL_ADDRESS: i32 = 700;
const LAUNCH_TIME_OUT: i32 = 702;
const LAUNCH_FAILURE: i32 = 719;

/// How `lds_reverse` is launched on two waves; by default, correctly.
#[derive(Clone, Copy)]
struct Reverse {
    lds: u32,
    filled: u32,
    reach: u32,
    synced: u32,
    cleared: u32,
}

const CORRECT: Reverse = Reverse { lds: 512, filled: 128, reach: 128, synced: 1, cleared: 0 };

impl Reverse {
    /// The code of the launch, and its reports or its results.
    fn run(self) -> (i32, String, Vec<u32>) {
        let hip = Hip::new();
        let function = hip.kernel("faults", "lds_reverse");
        let x: Vec<u32> = (0..128).collect();
        let (x, out) = (hip.upload(&x), hip.malloc(512));
        let words = [self.filled, self.reach, self.synced, self.cleared].map(Arg::Word);
        let args = [&[Arg::Pointer(x), Arg::Pointer(out)], &words[..]].concat();
        assert_eq!(hip.launch(function, Launch { lds: self.lds, ..Launch::new(1, 128) }, &args), SUCCESS);
        let code = hip.synchronize();
        let results = if code == SUCCESS { hip.download(out, 128) } else { Vec::new() };
        (code, hip.reports().iter().map(ToString::to_string).collect(), results)
    }

    #[track_caller]
    fn faults(self, code: i32, head: &str, explanation: &str) {
        let reversed: Vec<u32> = (0..128).rev().collect();
        assert_eq!(CORRECT.run(), (SUCCESS, String::new(), reversed));
        let (found, text, _) = self.run();
        assert_eq!(found, code, "{text}");
        assert!(text.starts_with(head) && text.contains(explanation), "{text}");
        assert!(text.contains("at lds_reverse+0x") && text.contains("(faults.hip:"), "{text}");
    }
}

#[test]
fn an_lds_word_that_nothing_wrote_is_found() {
    let head = "Uninitialised LDS read of size 4 bytes";
    Reverse { filled: 127, ..CORRECT }.faults(LAUNCH_FAILURE, head, "byte 508");
}

#[test]
fn an_lds_access_outside_is_found() {
    let write = "Invalid LDS write of size 4 bytes";
    Reverse { lds: 508, ..CORRECT }.faults(LAUNCH_FAILURE, write, "508");
    let read = "Invalid LDS read of size 4 bytes";
    Reverse { reach: 129, ..CORRECT }.faults(LAUNCH_FAILURE, read, "512");
    // A negative index is a huge one.
    Reverse { reach: 127, ..CORRECT }.faults(LAUNCH_FAILURE, read, "512");
}

#[test]
fn waves_that_share_lds_without_a_barrier_race() {
    let cleared = Reverse { cleared: 1, ..CORRECT };
    assert_eq!(cleared.run().0, SUCCESS);
    Reverse { synced: 0, ..cleared }.faults(LAUNCH_FAILURE, "Racing LDS write of size 4 bytes", "wave 0");
}

#[test]
fn a_barrier_that_some_waves_never_reach_is_found() {
    for (waves, expected) in [(2, SUCCESS), (0, SUCCESS), (1, LAUNCH_FAILURE)] {
        let hip = Hip::new();
        let function = hip.kernel("faults", "meet");
        let out = hip.malloc(512);
        let args = [Arg::Pointer(out), Arg::Word(waves)];
        assert_eq!(hip.launch(function, Launch::new(1, 128), &args), SUCCESS);
        assert_eq!(hip.synchronize(), expected, "{:?}", hip.reports());
        if expected != SUCCESS {
            let text = hip.only_report();
            assert!(text.starts_with("Divergent barrier") && text.contains("s_barrier"), "{text}");
        }
    }
}

#[test]
fn a_kernel_that_never_ends_is_stopped() {
    for (least, expected) in [(5, SUCCESS), (6, LAUNCH_TIME_OUT)] {
        let hip = Hip::new();
        hip.device.set_limits(Limits { budget: 100_000, ..Limits::default() });
        let function = hip.kernel("faults", "wait_for");
        let (word, out) = (hip.upload(&[5u32]), hip.malloc(256));
        let args = [Arg::Pointer(word), Arg::Pointer(out), Arg::Word(least)];
        assert_eq!(hip.launch(function, Launch::new(1, 64), &args), SUCCESS);
        assert_eq!(hip.synchronize(), expected, "{:?}", hip.reports());
        if expected != SUCCESS {
            let text = hip.only_report();
            assert!(text.contains("wait_for") && text.contains("100001 wave instructions"), "{text}");
        }
    }
}

#[test]
fn a_read_one_byte_outside_is_found() {
    for (shift, explanation) in [
        (0, None),
        (1, Some("out of bounds: at the end of 'x' (64 bytes)")),
        (-1, Some("out of bounds: 1 byte before the start of 'x' (64 bytes)")),
    ] {
        let hip = Hip::new();
        let function = hip.kernel("faults", "copy_u8");
        let (x, out) = (hip.upload(&[1u8; 64]), hip.malloc(64));
        hip.device.label(x.addr() as u64, "x");
        let args = [Arg::Pointer(offset(x, shift)), Arg::Pointer(out)];
        assert_eq!(hip.launch(function, Launch::new(1, 64), &args), SUCCESS);
        let code = hip.synchronize();
        match explanation {
            None => assert_eq!(code, SUCCESS, "{:?}", hip.reports()),
            Some(explanation) => {
                assert_eq!(code, ILLEGAL_ADDRESS);
                let text = hip.only_report();
                assert!(text.starts_with("Invalid global read of size 1 byte\n"), "{text}");
                assert!(text.contains(explanation), "{text}");
            }
        }
    }
}

#[test]
fn a_load_wider_than_what_is_used_is_no_fault() {
    for (words, written, expected) in [
        (3, 3, SUCCESS),
        // The fourth word is there, and nothing has written it.
        (4, 3, SUCCESS),
        (2, 2, ILLEGAL_ADDRESS),
        (3, 2, ILLEGAL_ADDRESS),
    ] {
        let hip = Hip::new();
        let function = hip.kernel("faults", "sum_of_three");
        let (x, out) = (hip.labelled("x", 4 * words), hip.malloc(256));
        assert_eq!(hip.copy_to(x, &[1, 0, 0, 0].repeat(written)), SUCCESS);
        assert_eq!(hip.launch(function, Launch::new(1, 64), &[Arg::Pointer(x), Arg::Pointer(out)]), SUCCESS);
        assert_eq!(hip.synchronize(), expected, "{words} words: {:?}", hip.reports());
        if expected == SUCCESS {
            assert_eq!(hip.download::<u32>(out, 64), [3; 64]);
        } else {
            let text = hip.only_report();
            assert!(text.contains("has no value since `s_load_dwordx4 s[4:7], s[0:1], 0x0`"), "{text}");
        }
    }
}
