//! A fence does what it is for: the process that steps over it dies there, and the one that stays inside lives.
//!
//! Each test starts itself again as a process that may die, with [`STEP`] in its environment.
#![cfg(unix)]
#![allow(unsafe_code, reason = "stepping over a fence is what is tested")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

use backend_cpu::HostBuffer;
use backend_cpu::fast::Threads;
use backend_cpu::fence::Fence;
use backend_cpu::host::Host;
use kernels::{Adoption, Backend, HostMemory, Pending, Site};

/// Set in a process that may die.
const STEP: &str = "ASSAY_TEST_STEP_OVER_FENCE";

/// Bytes of the buffers: no multiple of a page, and of 4 but not of 16.
const LEN: usize = 5000 + 4;

/// What the process does at the address.
#[derive(Clone, Copy)]
enum Touch {
    Read,
    Write,
}

fn buffer(fence: Fence) -> HostBuffer {
    Host::with_fence(Threads::new(1), fence).unwrap().alloc(LEN, "x").unwrap()
}

/// Touches the byte at `offset` from the start of a buffer, in a process of its own that runs the test called `test`.
fn touch(test: &str, fence: Fence, offset: isize, how: Touch) -> ExitStatus {
    if std::env::var_os(STEP).is_none() {
        let program = std::env::current_exe().unwrap();
        let mut child = Command::new(program);
        return child.args([test, "--exact", "--nocapture"]).env(STEP, "1").output().unwrap().status;
    }
    let mut buffer = buffer(fence);
    let at = buffer.bytes_mut().as_mut_ptr().wrapping_offset(offset);
    match how {
        // SAFETY: a volatile access is made as it stands; inside the buffer it is in bounds, and outside it lies on a
        // page that no object occupies, where the processor stops it: the process ends here, which is the test.
        Touch::Read => drop(unsafe { at.read_volatile() }),
        // SAFETY: as above.
        Touch::Write => unsafe { at.write_volatile(1) },
    }
    std::process::exit(0)
}

#[track_caller]
fn assert_killed(status: ExitStatus) {
    let signal = status.signal();
    assert!(matches!(signal, Some(libc::SIGSEGV | libc::SIGBUS)), "{status}");
}

#[test]
fn the_last_byte_behind_a_fence_can_be_written() {
    let test = "the_last_byte_behind_a_fence_can_be_written";
    assert!(touch(test, Fence::After, LEN.cast_signed() - 1, Touch::Write).success());
}

#[test]
fn the_first_byte_behind_a_fence_can_be_written() {
    let test = "the_first_byte_behind_a_fence_can_be_written";
    assert!(touch(test, Fence::Before, 0, Touch::Write).success());
}

#[test]
fn a_write_one_byte_past_the_end_kills_the_process() {
    let test = "a_write_one_byte_past_the_end_kills_the_process";
    assert_killed(touch(test, Fence::After, LEN.cast_signed(), Touch::Write));
}

#[test]
fn a_read_one_byte_past_the_end_kills_the_process() {
    let test = "a_read_one_byte_past_the_end_kills_the_process";
    assert_killed(touch(test, Fence::After, LEN.cast_signed(), Touch::Read));
}

#[test]
fn a_read_one_byte_before_the_start_kills_the_process() {
    let test = "a_read_one_byte_before_the_start_kills_the_process";
    assert_killed(touch(test, Fence::Before, -1, Touch::Read));
}

#[test]
fn what_is_written_behind_a_fence_is_read_back() {
    let backend = Host::with_fence(Threads::new(1), Fence::After).unwrap();
    let stream = backend.stream().unwrap();
    let content: Vec<u8> = (0..=255).cycle().take(LEN).collect();
    let buffer = backend.upload(&stream, &content, "x").unwrap();
    let back = backend.read_bytes(&stream, &buffer, 1..LEN, &Site::outside("x")).unwrap().wait().unwrap();
    assert_eq!(back, content[1..]);
}

#[test]
fn memory_of_the_host_is_copied_behind_the_fence() {
    let backend = Host::with_fence(Threads::new(1), Fence::Before).unwrap();
    let memory = HostMemory::new(std::sync::Arc::new(vec![1u8, 2, 3]), 0..3).unwrap();
    assert!(matches!(backend.adopt(&memory, "w").unwrap(), Adoption::NeedsCopy));
}
