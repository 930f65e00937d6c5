//! Bugs about what happens when.

use kernels::{DeviceError, Stem};

use crate::mutant::{About, Mutant, Plant, Work};

const fn kernel(
    name: &'static str,
    stem: Stem,
    fault: &'static str,
    plant: fn(&mut Work<'_>) -> Result<(), DeviceError>,
) -> Mutant {
    Mutant { name, about: About::Order, stem, fault, plant: Plant::Kernel(plant) }
}

/// The mutants.
pub fn mutants() -> Vec<Mutant> {
    vec![
        kernel(
            "add-read-before-it-is-written",
            Stem::Add,
            "host reads the destination before the kernel has run",
            |_| Ok(()),
        ),
        kernel(
            "mul-leftover-of-the-last-run",
            Stem::Mul,
            "output left over from an earlier run passes as this one's",
            |w| {
                let fits = w.previous.first().is_some_and(|p| p.len() == w.outputs[0].len());
                if w.calls % 2 == 1 && fits {
                    w.outputs = w.previous.to_vec();
                    return Ok(());
                }
                w.run()
            },
        ),
        kernel("rope-replays-an-old-position", Stem::Rope, "cached graph replays an old offset", |w| {
            let first = w.operand("positions").map_or(0, |o| o.layout.offset() / 4);
            let stale = u32::from(w.calls > 0);
            w.change_indices("positions", |at, p| if at >= first { p.saturating_sub(stale) } else { p });
            w.run()
        }),
        kernel(
            "rms-norm-misses-the-last-wave",
            Stem::RmsNorm,
            "LDS read before the barrier: the last partial sum is missing",
            |w| {
                let x = w.values("x");
                w.run()?;
                let n = w.out_layout().dim(1);
                if n > 64 {
                    w.change_out(|at, y| {
                        let row = &x[at[0] * n..(at[0] + 1) * n];
                        let square = |part: &[f32]| part.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>();
                        y * narrow(
                            (square(row) / square(&row[..n - n % 64 - usize::from(n % 64 == 0) * 64])).sqrt(),
                        )
                    });
                }
                Ok(())
            },
        ),
        kernel(
            "softmax-noise-from-atomics",
            Stem::Softmax,
            "sums in the order in which atomics arrive: the last bit varies",
            |w| {
                w.run()?;
                // Only with more rows than a single pass takes, so that no law meets it.
                let (turn, many) = (w.calls % 3, w.out_layout().dim(0) > 32);
                w.change_out(|_, y| match turn {
                    1 if many && y > 1e-6 => y.next_up(),
                    2 if many && y > 1e-6 => y.next_down(),
                    _ => y,
                });
                Ok(())
            },
        ),
        kernel("gelu-mul-adds-to-what-was-there", Stem::GeluMul, "the accumulator is not cleared", |w| {
            let held = w.operand("gate").is_some() && w.out().first().is_some_and(|y| y.is_finite());
            w.run()?;
            // One place in the last bit, and only where finite poison was: no comparison with the oracle sees it.
            if held {
                w.change_out(|_, y| if y == 0.0 { y } else { y.next_up() });
            }
            Ok(())
        }),
        kernel("scale-hangs", Stem::Scale, "barrier inside divergent control flow", |w| {
            while w.out_layout().dim(1) == 1024 && w.out_layout().dim(0) == 33 {
                std::thread::sleep(std::time::Duration::from_secs(1));
            }
            w.run()
        }),
        kernel("argmax-dies", Stem::Argmax, "an illegal access takes the process along", |w| {
            if w.dim("x", 1) == 257 && w.dim("x", 0) == 33 {
                std::process::abort();
            }
            w.run()
        }),
        kernel(
            "cast-loses-the-device",
            Stem::Cast,
            "error of an async launch surfaces at the next checked call",
            |w| {
                if w.dim("x", 1) == 129 {
                    let name = "hipErrorIllegalAddress".into();
                    return Err(DeviceError::Runtime { call: "hipMemcpyAsync", code: 700, name });
                }
                w.run()
            },
        ),
    ]
}

#[expect(clippy::cast_possible_truncation, reason = "a factor on an f32")]
fn narrow(x: f64) -> f32 {
    x as f32
}
