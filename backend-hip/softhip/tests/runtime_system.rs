//! What a launch gets from the runtime besides its arguments: packet, queue, the host's services, workgroups that meet, and
//! allocations of any size.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::unwrap_used,
    reason = "test data of known size"
)]

mod hip;

use hip::{Arg, Hip, Launch, SUCCESS, offset};

const ASSERT_TRAP: i32 = 719;
const TOO_LARGE: i32 = 720;

#[test]
fn the_dispatch_packet_describes_the_launch() {
    let hip = Hip::new();
    let out = hip.malloc(64);
    let launch = Launch { grid: [3, 2, 1], block: [32, 2, 1], ..Launch::new(1, 1) };
    assert_eq!(hip.launch(hip.kernel("system", "dispatch_packet"), launch, &[Arg::Pointer(out)]), SUCCESS);
    let packet = hip.download::<u32>(out, 16);
    // Dimensions; the workgroup's sizes as 16 bits each; the grid's sizes in work-items.
    assert_eq!((packet[0] >> 16, packet[1], packet[2]), (3, 32 | 2 << 16, 1));
    assert_eq!(packet[3..6], [96, 4, 1]);
    assert_ne!(packet[10..12], [0, 0], "the arguments");
}

#[test]
fn the_queue_takes_kernels_and_knows_the_apertures() {
    let hip = Hip::new();
    let out = hip.malloc(16);
    assert_eq!(hip.launch(hip.kernel("system", "queue"), Launch::new(1, 64), &[Arg::Pointer(out)]), SUCCESS);
    assert_eq!(hip.download::<u32>(out, 4), [0, 1, 0x0001_0000, 0x0002_0000]);
    assert_eq!(hip.device.memory().live().len(), 2, "the image and the output are left");
}

#[test]
fn allocations_may_exceed_four_gigabytes() {
    const SIZE: usize = 9 << 30;
    let hip = Hip::new();
    let kernel = hip.kernel("system", "far");
    let x = hip.malloc(SIZE);
    // Elements before 4 GiB, across it, beyond 8 GiB, and the last ones.
    for at in [0u64, (1 << 30) - 70, 1 << 30, (2 << 30) + 5, (SIZE as u64) / 4 - 128] {
        let arguments = [Arg::Pointer(x), Arg::Word((at >> 32) as u32), Arg::Word(at as u32)];
        assert_eq!(hip.launch(kernel, Launch::new(1, 64), &arguments), SUCCESS);
        let far = hip.download::<u32>(offset(x, 4 * at as isize), 128);
        assert!((0..64).all(|i| far[i] == i as u32 + 1 && far[64 + i] == 2 * (i as u32 + 1)), "{at}");
    }
    let beyond = (SIZE as u64) / 4 - 127;
    let arguments = [Arg::Pointer(x), Arg::Word(0), Arg::Word(beyond as u32)];
    let _ = hip.launch(kernel, Launch::new(1, 64), &arguments);
    let text = hip.only_report();
    assert!(text.contains("at the end of") && text.contains("9663676416 bytes"), "{text}");
    let (hip, mut pointers) = (Hip::new(), Vec::new());
    for _ in 0..3 {
        pointers.push(hip.malloc(5 << 30));
    }
    for pointer in pointers {
        assert_eq!(hip.free(pointer), SUCCESS);
    }
    hip.malloc(15 << 30);
}

#[test]
fn workgroups_of_a_cooperative_launch_meet() {
    for (groups, threads) in [(1, 64), (7, 64), (16, 256), (40, 128)] {
        let hip = Hip::new();
        let data: Vec<u32> = (0..4096).map(|i| i * 7 + 1).collect();
        let x = hip.upload(&data);
        let arguments = [Arg::Pointer(x), Arg::Word(4096), Arg::Word(groups)];
        let kernel = hip.kernel("system", "grid_sum");
        assert_eq!(
            hip.launch_together(kernel, Launch::new(groups, threads), &arguments),
            SUCCESS,
            "{:?}",
            hip.reports()
        );
        assert_eq!(hip.download::<u32>(x, 1), [data.iter().sum::<u32>()]);
        assert!(hip.device.notes().is_empty());
    }
}

#[test]
fn workgroups_that_do_not_meet_race() {
    let hip = Hip::new();
    let x = hip.upload(&vec![1u32; 4096]);
    let arguments = [Arg::Pointer(x), Arg::Word(4096), Arg::Word(8)];
    let _ = hip.launch_together(hip.kernel("system", "grid_sum_alone"), Launch::new(8, 64), &arguments);
    assert!(hip.only_report().starts_with("Racing global "), "{}", hip.only_report());
}

#[test]
fn a_cooperative_launch_has_to_fit() {
    let hip = Hip::new();
    let x = hip.upload(&vec![1u32; 4096]);
    let kernel = hip.kernel("system", "grid_sum");
    let arguments = [Arg::Pointer(x), Arg::Word(4096), Arg::Word(8)];
    assert_eq!(hip.launch_together(kernel, Launch::new(304 * 32 + 1, 64), &arguments), TOO_LARGE);
    assert!(hip.only_report().contains("workgroups that run together"));
    let together = Launch { lds: 40 << 10, ..Launch::new(305, 64) };
    assert_eq!(hip.launch_together(kernel, together, &arguments), TOO_LARGE);
}

#[test]
fn kernels_print() {
    let hip = Hip::new();
    let out = hip.malloc(4 * 256);
    hip.memset(out, 0, 4 * 256);
    let kernel = hip.kernel("system", "hello");
    assert_eq!(hip.launch(kernel, Launch::new(2, 128), &[Arg::Pointer(out), Arg::Word(3)]), SUCCESS);
    let lengths = hip.download::<u32>(out, 256);
    let line = |thread: u32| {
        let half = f64::from(thread) * 0.5;
        format!("thread {thread:3} has {half:.2}, says wo, and -1%\n, in more than fifty-six bytes of text\n")
    };
    let expected: Vec<String> = (0..256).filter(|thread| thread % 64 < 3).map(line).collect();
    // In which order waves print is nobody's promise.
    let printed = String::from_utf8(hip.device.take_printed().out).unwrap();
    let mut printed: Vec<&str> = printed.split_inclusive("of text\n").collect();
    printed.sort_unstable();
    assert_eq!(printed, expected);
    assert!((0..256).all(|i| lengths[i as usize] as usize == if i % 64 < 3 { line(i).len() } else { 0 }));
    assert!(hip.device.notes().is_empty(), "{:?}", hip.device.notes());
}

#[test]
fn an_assertion_says_its_last_words() {
    let hip = Hip::new();
    let kernel = hip.kernel("system", "check_all");
    let x = hip.upload(&[1u32; 64]);
    assert_eq!(hip.launch(kernel, Launch::new(1, 64), &[Arg::Pointer(x), Arg::Word(64)]), SUCCESS);
    hip.copy_to(offset(x, 4 * 37), &[0; 4]);
    let _ = hip.launch(kernel, Launch::new(1, 64), &[Arg::Pointer(x), Arg::Word(64)]);
    assert_eq!(hip.synchronize(), ASSERT_TRAP);
    let text = hip.only_report();
    assert!(text.starts_with("Trap\n") && text.contains("last words are: x[37] is 0"), "{text}");
    let printed = hip.device.take_printed();
    assert!(printed.out.is_empty());
    assert!(printed.err.starts_with(b"x[37] is 0"), "{}", printed.err.escape_ascii());
}

#[test]
fn a_service_that_the_host_does_not_have_is_a_fault() {
    let hip = Hip::new();
    let out = hip.malloc(256);
    let _ = hip.launch(hip.kernel("system", "unknown_service"), Launch::new(1, 64), &[Arg::Pointer(out)]);
    assert!(hip.only_report().starts_with("Invalid request to the host\n"), "{}", hip.only_report());
}

#[test]
fn messages_of_a_buffer_are_printed_after_the_launch() {
    let hip = Hip::new();
    let (text, format) = (hip.upload(b"nine byte\0"), hip.upload(b"<%i|%p>\n\0"));
    let arguments = [Arg::Pointer(text), Arg::Pointer(format), Arg::Word(100)];
    let kernel = hip.kernel("printf", "messages");
    assert_eq!(hip.launch(kernel, Launch::new(1, 128), &arguments), SUCCESS, "{:?}", hip.reports());
    assert_eq!(hip.synchronize(), SUCCESS, "{:?}", hip.reports());
    let printed = String::from_utf8(hip.device.take_printed().out).unwrap();
    let mut lines: Vec<&str> = printed.lines().collect();
    lines.sort_unstable();
    let mut expected: Vec<String> = (0..100)
        .map(|i| format!("{i}: {:5.2} of twelve bytes, nine byte, 123456789abc, %", f64::from(i) / 4.0))
        .collect();
    // Of a format that the compiler does not know, a string is a pointer.
    expected.push(format!("<7|{:#x}>", text.addr()));
    expected.sort_unstable();
    assert_eq!(lines, expected);
    assert_eq!(hip.device.memory().live().len(), 3, "the image and two strings are left");
}

#[test]
fn a_full_buffer_takes_no_more_messages() {
    let hip = Hip::new();
    assert_eq!(hip.launch(hip.kernel("printf", "flood"), Launch::new(1, 1), &[Arg::Word(100_000)]), SUCCESS);
    assert_eq!(hip.synchronize(), SUCCESS, "{:?}", hip.reports());
    let printed = String::from_utf8(hip.device.take_printed().out).unwrap();
    // 20 bytes for each, and 8 before them, of a mebibyte.
    let lines = ((1 << 20) - 8) / 20;
    assert!(printed.lines().eq((0..lines).map(|i| i.to_string())), "{}", printed.lines().count());
}

#[test]
fn a_damaged_buffer_of_messages_is_reported() {
    // No bytes; no whole words; more than there are.
    for (word, expected) in [(0, "damaged"), (16 << 2, "damaged"), (4004 << 2, "damaged")] {
        let hip = Hip::new();
        let _ = hip.launch(hip.kernel("printf", "damage"), Launch::new(1, 64), &[Arg::Word(word)]);
        let _ = hip.synchronize();
        let text = hip.only_report();
        assert!(text.contains(expected), "{text}");
    }
}
