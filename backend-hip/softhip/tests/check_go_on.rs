//! A launch that goes on after wrong accesses: each instruction is told once, in the order of the workgroups, however many threads run them.

mod hip;

use hip::{Arg, Handle, Hip, Launch, SUCCESS, offset};
use softhip::control::Options;
use softhip::memory::Checks;
use softhip::sched::Limits;

const CHECKS: Checks = Checks { go_on: true, ..Checks::ALL };

/// Runs `silu_mul_f32` over `n` elements of buffers of 64: `gate` is moved by so many bytes. What was said, and the first of the results.
fn run(threads: usize, moved: isize, n: u32) -> (i32, Vec<String>, f32) {
    let hip = Hip::with(Options {
        checks: CHECKS,
        limits: Limits { threads, ..Limits::default() },
        ..Options::default()
    });
    let function = hip.kernel("silu_mul", "silu_mul_f32");
    let buffers: [Handle; 3] = ["gate", "up", "out"].map(|label| {
        let buffer = hip.upload(&[2f32; 64]);
        hip.device.label(buffer.addr() as u64, label);
        buffer
    });
    let [gate, up, out] = buffers;
    let arguments = [Arg::Pointer(offset(gate, moved)), Arg::Pointer(up), Arg::Pointer(out), Arg::Word(n)];
    assert_eq!(hip.launch(function, Launch::new(n.div_ceil(64), 64), &arguments), SUCCESS);
    let code = hip.synchronize();
    let said = hip.reports().iter().map(ToString::to_string).collect();
    let mut bytes = [0; 4];
    hip.device.memory().read(out.addr() as u64, &mut bytes, true).expect("the buffer is there");
    (code, said, f32::from_le_bytes(bytes))
}

#[test]
fn every_instruction_is_told_once_with_its_count() {
    let (code, said, first) = run(1, 0, 160);
    assert_eq!((code, said.len()), (700, 3), "{said:#?}");
    for (report, what) in said.iter().zip(["read", "read", "write"]) {
        assert!(report.starts_with(&format!("Invalid global {what} of size 4 bytes")), "{report}");
        assert!(report.contains("by thread (0,0,0) in block (1,0,0)"), "{report}");
        assert!(report.contains("this instruction did so 95 more times"), "{report}");
    }
    assert!(
        ["'gate'", "'up'", "'out'"].iter().all(|name| said.iter().any(|one| one.contains(name))),
        "{said:#?}"
    );
    assert!(first > 3.0, "the elements that are there are computed: {first}");
}

#[test]
fn what_is_told_does_not_depend_on_the_number_of_threads() {
    for (moved, n) in [(0, 64), (4, 64), (0, 6400), (-256, 640)] {
        assert_eq!(run(1, moved, n), run(3, moved, n), "{moved} {n}");
    }
}

#[test]
fn lanes_that_are_right_are_carried_out_and_the_others_give_zero() {
    // The first element of `gate` is before the buffer: 0 * sigmoid(0) * 2.
    let (_, said, first) = run(1, -4, 64);
    assert_eq!((said.len(), first), (1, 0.0), "{said:#?}");
    let (_, said, first) = run(1, 0, 64);
    assert!(said.is_empty() && first > 3.0, "{said:#?} {first}");
}
