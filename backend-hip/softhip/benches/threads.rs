//! One thread against two, by the clock, in one run: how much faster a launch gets.
//!
//! The ways take turns, so that all see the same machine, and the median of each counts. "Two devices" is what the
//! machine itself gives to two threads that share nothing: two launches at once, each on a device and a thread of
//! its own. Meant for an idle machine with two processors.
#![allow(missing_docs, reason = "a bench is no interface")]

mod launches;

use std::time::{Duration, Instant};

use launches::{Launch, q8_matvec, rms_norm, softmax};
use softhip::memory::Checks;

/// How often every way is measured.
const ROUNDS: usize = 25;
/// Launches per measurement.
const LAUNCHES: u32 = 10;

fn clock(work: impl Fn()) -> Duration {
    let start = Instant::now();
    (0..LAUNCHES).for_each(|_| work());
    start.elapsed() / LAUNCHES
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// The medians of: one thread, two threads, one thread on each of two devices at once.
fn measure([launch, other]: &mut [Launch; 2]) -> [Duration; 3] {
    let mut times = [const { Vec::new() }; 3];
    other.set(Checks::ALL, 1);
    for _ in 0..ROUNDS {
        for (threads, times) in (1..).zip(&mut times[..2]) {
            launch.set(Checks::ALL, threads);
            launch.run();
            times.push(clock(|| {
                launch.run();
            }));
        }
        launch.set(Checks::ALL, 1);
        let (launch, other) = (&*launch, &*other);
        times[2].push(std::thread::scope(|scope| {
            let beside = scope.spawn(|| {
                clock(|| {
                    other.run();
                })
            });
            let here = clock(|| {
                launch.run();
            });
            here.max(beside.join().expect("a right kernel"))
        }));
    }
    times.map(median)
}

fn main() {
    println!("all checks, wave64 instructions by the clock, medians of {ROUNDS} x {LAUNCHES} launches");
    println!("{:16} {:>12} {:>12} {:>12}", "kernel", "one thread", "two threads", "two devices");
    for kernel in [q8_matvec, rms_norm, softmax] {
        let mut launches = [kernel(), kernel()];
        let instructions = launches[0].run().instructions as f64;
        let [one, two, devices] = measure(&mut launches).map(|time| time.as_secs_f64());
        let millions = |count: f64, time: f64| count / time / 1e6;
        println!(
            "{:16} {:8.1} M/s {:8.1} M/s {:8.1} M/s   two threads {:.2} x, two devices {:.2} x",
            launches[0].name,
            millions(instructions, one),
            millions(instructions, two),
            millions(2.0 * instructions, devices),
            one / two,
            2.0 * one / devices,
        );
    }
}
