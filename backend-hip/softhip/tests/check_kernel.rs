//! The checks on what kernels do to device memory, with compiled kernels: each fault is found and named, and the same
//! kernel, used correctly, passes.

mod hip;

use hip::{Arg, Handle, Hip, Launch, SUCCESS, offset};
use softhip::control::Options;
use softhip::memory::Checks;
use softhip::sched::{Limits, Policy};

const ILLEGAL_ADDRESS: i32 = 700;
const LAUNCH_FAILURE: i32 = 719;
const GIB: isize = 1 << 30;

/// `silu_mul_f32` over 64 elements, with buffers that the test may move.
struct Silu {
    hip: Hip,
    function: Handle,
    /// gate, up, out.
    buffers: [Handle; 3],
}

impl Silu {
    fn new(policy: Policy) -> Self {
        let hip = Hip::policy(policy);
        let function = hip.kernel("silu_mul", "silu_mul_f32");
        let buffers = ["gate", "up", "out"].map(|label| {
            let buffer = hip.upload(&[0f32; 64]);
            hip.device.label(buffer.addr() as u64, label);
            buffer
        });
        Self { hip, function, buffers }
    }

    fn launch(&self, n: u32) -> i32 {
        self.launch_on(std::ptr::null_mut(), n)
    }

    fn launch_on(&self, stream: Handle, n: u32) -> i32 {
        let [gate, up, out] = self.buffers.map(Arg::Pointer);
        self.hip.launch(
            self.function,
            Launch { stream, ..Launch::new(1, 64) },
            &[gate, up, out, Arg::Word(n)],
        )
    }

    /// Runs over `n` elements with buffer `which` moved by `distance` bytes, and answers the code and the report.
    fn moved(which: usize, distance: isize, n: u32) -> (i32, String) {
        let mut silu = Self::new(Policy::Eager);
        silu.buffers[which] = offset(silu.buffers[which], distance);
        assert_eq!(silu.launch(n), SUCCESS);
        let code = silu.hip.synchronize();
        let text = silu.hip.reports().iter().map(ToString::to_string).collect();
        (code, text)
    }
}

#[track_caller]
fn faults((code, text): &(i32, String), head: &str, explanation: &str) {
    assert_eq!(*code, ILLEGAL_ADDRESS, "{text}");
    assert!(text.starts_with(head), "{text}");
    assert!(text.contains(explanation), "{text}");
}

#[test]
fn accesses_within_bounds_pass() {
    assert_eq!(Silu::moved(2, 0, 64), (SUCCESS, String::new()));
    // 62 elements, two elements further on, end with the buffer.
    assert_eq!(Silu::moved(2, 8, 62), (SUCCESS, String::new()));
}

#[test]
fn writes_outside_are_found_at_any_distance() {
    let head = "Invalid global write of size 4 bytes\n  at silu_mul_f32+0x";
    faults(
        &Silu::moved(2, 1, 64),
        head,
        "out of bounds: the last 1 byte are past the end of 'out' (256 bytes)",
    );
    faults(
        &Silu::moved(2, GIB, 64),
        head,
        "out of bounds: 1073741568 bytes past the end of 'out' (256 bytes)",
    );
    faults(&Silu::moved(2, -1, 64), head, "out of bounds: 1 byte before the start of 'out' (256 bytes)");
    faults(&Silu::moved(2, -GIB, 64), head, "out of bounds: 1073741824 bytes before the start of 'out'");
}

#[test]
fn reads_outside_are_found_at_any_distance() {
    let head = "Invalid global read of size 4 bytes\n  at silu_mul_f32+0x";
    let after = Silu::moved(0, 4, 64);
    faults(&after, head, "out of bounds: at the end of 'gate' (256 bytes)");
    assert!(after.1.contains("by thread (63,0,0) in block (0,0,0), wave 0 lane 63"), "{}", after.1);
    assert!(after.1.contains("(silu_mul.hip:"), "{}", after.1);
    faults(&Silu::moved(0, GIB, 64), head, "out of bounds: 1073741568 bytes past the end of 'gate'");
    faults(&Silu::moved(0, -1, 64), head, "out of bounds: 1 byte before the start of 'gate'");
    faults(&Silu::moved(0, -GIB, 64), head, "out of bounds: 1073741824 bytes before the start of 'gate'");
}

#[test]
fn an_uninitialised_read_is_found_when_it_is_checked() {
    let run = |checks| {
        let mut silu = Silu::new(Policy::Eager);
        silu.hip.device.set_checks(checks);
        silu.buffers[1] = silu.hip.labelled("fresh", 256);
        assert_eq!(silu.hip.copy_to(silu.buffers[1], &[0; 100]), SUCCESS);
        assert_eq!(silu.launch(25), SUCCESS);
        assert_eq!(silu.hip.synchronize(), SUCCESS, "25 elements are there");
        silu.launch(26);
        (silu.hip.synchronize(), silu.hip.reports().iter().map(ToString::to_string).collect::<String>())
    };
    let checked = run(Checks::ALL);
    faults(&checked, "Uninitialised global read of size 4 bytes", "byte 100 of 'fresh' (256 bytes)");
    assert!(checked.1.contains("wave 0 lane 25"), "{}", checked.1);
    assert_eq!(run(Checks { uninitialised: false, ..Checks::ALL }), (SUCCESS, String::new()));
}

#[test]
#[allow(unsafe_code, reason = "HIP is a C interface")]
#[allow(clippy::multiple_unsafe_ops_per_block, reason = "a host program is a sequence of calls")]
fn memory_freed_under_a_queued_kernel_is_found() {
    for in_order in [true, false] {
        let silu = Silu::new(Policy::Deferred);
        let (a, b) = (silu.hip.stream(1), silu.hip.stream(1));
        assert_eq!(silu.launch_on(a, 64), SUCCESS);
        let freeing = if in_order { a } else { b };
        // SAFETY: nothing of the host is involved.
        unsafe {
            assert_eq!((silu.hip.api.free_async)(silu.buffers[0], freeing), SUCCESS);
            assert_eq!((silu.hip.api.stream_synchronize)(freeing), SUCCESS);
        }
        let code = silu.hip.synchronize();
        if in_order {
            assert_eq!(code, SUCCESS);
        } else {
            let text = silu.hip.only_report();
            faults(&(code, text), "Invalid global read", "is freed memory: 0 bytes into 'gate' (256 bytes)");
        }
    }
}

/// Rotates 8 tokens of 2 heads; `heads` is what the kernel is told.
fn rope(heads: u32, options: Options) -> (i32, String) {
    let hip = Hip::with(options);
    let function = hip.kernel("rope", "rope_f32");
    let x = hip.upload(&vec![1f32; 8 * 2 * 64]);
    hip.device.label(x.addr() as u64, "x");
    let positions = hip.upload(&[0u32; 8]);
    let table = hip.upload(&[1f32; 64]);
    let args =
        [Arg::Pointer(x), Arg::Pointer(positions), Arg::Pointer(table), Arg::Word(heads), Arg::Word(64)];
    assert_eq!(hip.launch(function, Launch { grid: [8, 2, 1], ..Launch::new(8, 32) }, &args), SUCCESS);
    (hip.synchronize(), hip.reports().iter().map(ToString::to_string).collect())
}

#[test]
fn workgroups_that_share_bytes_race_whatever_the_number_of_threads() {
    for threads in [1, 2] {
        let options = Options { limits: Limits { threads, ..Limits::default() }, ..Options::default() };
        assert_eq!(rope(2, options), (SUCCESS, String::new()));
        // With one head too few, the second head of a token is the first of the next.
        let (code, text) = rope(1, options);
        assert_eq!(code, LAUNCH_FAILURE, "{text}");
        assert!(text.starts_with("Racing global "), "{text}");
        assert!(text.contains(" of 'x' (4096 bytes), address 0x"), "{text}");
        assert!(text.contains(" by workgroup "), "{text}");
        assert!(text.contains("with no order between them"), "{text}");
        let lax = Options { checks: Checks { races: false, ..Checks::ALL }, ..options };
        assert_eq!(rope(1, lax), (SUCCESS, String::new()));
    }
}

#[test]
fn atomics_must_be_aligned_and_do_not_race() {
    for (shift, expected) in [(0, SUCCESS), (2, ILLEGAL_ADDRESS)] {
        let hip = Hip::new();
        let function = hip.kernel("atomics", "histogram");
        let x = hip.upload(&[7u8; 1024]);
        let counts = hip.upload(&[0u32; 257]);
        let args = [Arg::Pointer(x), Arg::Pointer(offset(counts, shift)), Arg::Word(1024)];
        assert_eq!(hip.launch(function, Launch::new(4, 256), &args), SUCCESS);
        assert_eq!(hip.synchronize(), expected, "{:?}", hip.reports());
        if shift == 0 {
            assert_eq!(hip.download::<u32>(counts, 8)[7], 1024);
        } else {
            let text = hip.only_report();
            assert!(text.starts_with("Misaligned global atomic of size 4 bytes"), "{text}");
            assert!(text.contains("is not a multiple of 4"), "{text}");
        }
    }
}

#[test]
fn kernels_on_two_streams_race_when_nothing_orders_them() {
    for policy in [Policy::Eager, Policy::Deferred, Policy::Random(9)] {
        let silu = Silu::new(policy);
        let (a, b) = (silu.hip.stream(1), silu.hip.stream(1));
        assert_eq!(silu.hip.synchronize(), SUCCESS);
        silu.launch_on(a, 64);
        silu.launch_on(b, 64);
        assert_eq!(silu.hip.synchronize(), LAUNCH_FAILURE, "{policy:?}");
        let text = silu.hip.only_report();
        assert!(text.starts_with("Race between streams\n  256 bytes at address 0x"), "{text}");
        assert!(text.contains("0 bytes into 'out' (256 bytes)"), "{text}");
        assert!(text.contains("write on stream 1 by hipModuleLaunchKernel at "), "{text}");
        assert!(text.contains("write on stream 2 by hipModuleLaunchKernel at "), "{text}");
    }
}
