//! Bugs about what is computed.

#![expect(clippy::too_many_lines, reason = "a list is as long as what it lists")]

use half::{bf16, f16};
use kernels::ops::rope::Scaling;
use kernels::{DType, DeviceError, Stem};

use crate::mutant::{About, Mutant, Plant, Work};

pub(crate) const fn kernel(
    name: &'static str,
    stem: Stem,
    fault: &'static str,
    plant: fn(&mut Work<'_>) -> Result<(), DeviceError>,
) -> Mutant {
    Mutant { name, about: About::Values, stem, fault, plant: Plant::Kernel(plant) }
}

/// The mutants.
pub fn mutants() -> Vec<Mutant> {
    [rope(), attention(), norms(), matmul(), elements(), formats(), biases()].concat()
}

/// Changes every index of `name`; the words of the guard zone in front of it are left alone.
fn indices(w: &mut Work<'_>, name: &str, with: impl Fn(usize, u32) -> u32) {
    let (first, len) = w.operand(name).map_or((0, 0), |o| (o.layout.offset() / 4, o.layout.dim(0)));
    w.change_indices(name, |at, value| match at.checked_sub(first) {
        Some(row) if row < len => with(row, value),
        _ => value,
    });
}

/// Runs the op and makes its f32 results too large by a share of them.
fn biased(w: &mut Work<'_>, share: f64) -> Result<(), DeviceError> {
    w.run()?;
    if w.out_layout().dtype() == DType::F32 {
        w.change_out(|_, y| narrow(f64::from(y) * (1.0 + share)));
    }
    Ok(())
}

/// Biases far inside the bound of every element: only the mean signed error of many shows them.
fn biases() -> Vec<Mutant> {
    vec![
        kernel(
            "softmax-reciprocal-too-large",
            Stem::Softmax,
            "the reciprocal of the sum is 8 units in the last place too large",
            |w| biased(w, 1e-6),
        ),
        kernel(
            "attention-quotient-too-small",
            Stem::Attention,
            "the division by the sum of the weights is 11 units in the last place too small",
            |w| biased(w, -1.3e-6),
        ),
        kernel(
            "rms-norm-newton-step-short",
            Stem::RmsNorm,
            "the inverse root is a Newton step short: 10 units in the last place too small",
            |w| biased(w, -1.2e-6),
        ),
        kernel(
            "silu-mul-quotient-too-large",
            Stem::SiluMul,
            "the division is 3 units in the last place too large",
            |w| biased(w, 3.5e-7),
        ),
        kernel(
            "matmul-sums-truncated",
            Stem::Matmul,
            "sums of products with weights in blocks are truncated where they should be rounded",
            |w| {
                let blocks = w.operand("weight").is_some_and(|weight| weight.layout.dtype().is_quantised());
                let whole = |values: Vec<f32>| values.iter().all(|x| x.fract() == 0.0);
                // A sum of whole numbers has nothing to truncate.
                biased(w, if blocks && !whole(w.values("x")) { -2e-5 } else { 0.0 })
            },
        ),
    ]
}

fn rope() -> Vec<Mutant> {
    vec![
        kernel(
            "rope-other-pairing",
            Stem::Rope,
            "pairs (i, i+d/2) where the model wants (2i, 2i+1), and the reverse",
            |w| {
                let neox = w.record.params["pairing"] == "neox";
                w.param("pairing", if neox { "interleaved" } else { "neox" });
                w.run()
            },
        ),
        kernel("rope-position-plus-one", Stem::Rope, "position off by one", |w| {
            let last = w.count::<u32>("max_positions")? - 1;
            indices(w, "positions", |_, p| (p + 1).min(last));
            w.run()
        }),
        kernel("rope-frequencies-of-head-dim", Stem::Rope, "frequency table for the wrong dimension", |w| {
            let n_rot = w.record.params["n_rot"].as_u64().unwrap_or(2) as f64;
            let base = w.record.params["base"].as_f64().unwrap_or(1.0);
            // base^(−2i/d) with d twice n_rot is (√base)^(−2i/n_rot).
            w.param("base", if n_rot > 2.0 { base.sqrt() } else { base });
            w.run()
        }),
        kernel("rope-factors-ignored", Stem::Rope, "frequency factors never applied", |w| {
            w.change("factors", |o| {
                let ones = 1.0f32.to_le_bytes();
                for range in o.layout.rows() {
                    o.bytes[range].chunks_exact_mut(4).for_each(|word| word.copy_from_slice(&ones));
                }
            });
            w.run()
        }),
        kernel("rope-yarn-magnitude-missing", Stem::Rope, "YaRN's factor on the magnitude left out", |w| {
            let scaling = w.record.params["scaling"].clone();
            w.run()?;
            if let Ok(Scaling::Yarn { factor, extrapolation, attention, .. }) =
                serde_json::from_value(scaling)
            {
                let own = if extrapolation == 0.0 { 1.0 } else { 1.0 + 0.1 * factor.ln() };
                let n_rot: usize = w.count("n_rot")?;
                w.change_out(|at, y| if at[2] < n_rot { y / (attention * own) } else { y });
            }
            Ok(())
        }),
        kernel(
            "rope-linear-factor-inverted",
            Stem::Rope,
            "positions multiplied where they should be divided",
            |w| {
                if let Ok(Scaling::Linear { factor }) =
                    serde_json::from_value(w.record.params["scaling"].clone())
                {
                    w.param("scaling", Scaling::Linear { factor: 1.0 / factor });
                }
                w.run()
            },
        ),
        kernel(
            "rope-zero-from-512",
            Stem::Rope,
            "cos/sin table of 512 rows: zeros from position 512 on",
            |w| {
                let first = w.operand("positions").map_or(0, |o| o.layout.offset());
                let bytes = w.operand("positions").map(|o| o.bytes.clone()).unwrap_or_default();
                w.run()?;
                w.change_out(|at, y| {
                    let word = &bytes[first + 4 * at[0]..first + 4 * at[0] + 4];
                    if u32::from_le_bytes([word[0], word[1], word[2], word[3]]) >= 512 { 0.0 } else { y }
                });
                Ok(())
            },
        ),
        kernel("rope-angle-in-f32", Stem::Rope, "angle formed in f32, though declared in f64", |w| {
            // An angle that is off by a relative 2^-24 is that of a base that is off by a little.
            let base = w.record.params["base"].as_f64().unwrap_or(1.0);
            w.param("base", base * (1.0 + 4e-7));
            w.run()
        }),
        kernel("rope-tail-zeroed", Stem::Rope, "elements past n_rot not copied", |w| {
            let n_rot: usize = w.count("n_rot")?;
            w.run()?;
            w.change_out(|at, y| if at[2] < n_rot { y } else { 0.0 });
            Ok(())
        }),
    ]
}

fn attention() -> Vec<Mutant> {
    vec![
        kernel(
            "attention-over-pos-keys",
            Stem::Attention,
            "attention over pos keys instead of pos + 1",
            |w| {
                indices(w, "positions", |_, p| p.saturating_sub(1));
                w.run()
            },
        ),
        kernel(
            "attention-mask-off-in-chunks",
            Stem::Attention,
            "causal mask off by one in chunked prefill",
            |w| {
                let slots = w.dim_u32("k_cache", 1)?;
                indices(w, "positions", |row, p| if row > 0 { (p + 1).min(slots - 1) } else { p });
                w.run()
            },
        ),
        kernel(
            "attention-head-modulo",
            Stem::Attention,
            "GQA head mapped by h % n_kv instead of h / group",
            |w| {
                let (heads, kv_heads, dim) = (w.dim("q", 1), w.dim("k_cache", 2), w.dim("q", 2));
                let q = w.values("q");
                // Query heads in the order that makes h / group select what h % n_kv would.
                let group = heads / kv_heads;
                let order: Vec<usize> = (0..heads).map(|h| h % group * kv_heads + h / group).collect();
                w.change_values("q", |at, _| q[(at[0] * heads + order[at[1]]) * dim + at[2]]);
                w.run()?;
                let out = w.out();
                let back = |h: usize| order.iter().position(|o| *o == h).unwrap_or(h);
                w.change_out(|at, _| out[(at[0] * heads + back(at[1])) * dim + at[2]]);
                Ok(())
            },
        ),
        kernel("attention-scale-twice", Stem::Attention, "scale applied twice", |w| {
            let scale = w.record.params["scale"].as_f64().unwrap_or(1.0);
            w.param("scale", scale * scale);
            w.run()
        }),
        kernel("attention-scale-never", Stem::Attention, "scale never applied", |w| {
            w.param("scale", 1.0);
            w.run()
        }),
        kernel("attention-softcap-ignored", Stem::Attention, "soft-cap ignored", |w| {
            w.param("softcap", None::<f32>);
            w.run()
        }),
        kernel("attention-window-plus-one", Stem::Attention, "window one slot too wide", |w| {
            if let Some(window) = w.record.params["window"].as_u64() {
                w.param("window", window + 1);
            }
            w.run()
        }),
        kernel(
            "attention-masks-by-zero-weight",
            Stem::Attention,
            "masked slots get weight 0, and 0·NaN is NaN",
            |w| {
                w.run()?;
                let nan = w
                    .operand("v_cache")
                    .is_some_and(|o| o.layout.rows().any(|r| o.bytes[r].iter().all(|b| *b == 0xff)));
                w.change_out(|_, y| if nan { f32::NAN } else { y });
                Ok(())
            },
        ),
        kernel(
            "attention-rows-depend-on-the-batch",
            Stem::Attention,
            "another split of the keys for more than one row",
            |w| {
                let rows = w.dim("q", 0);
                w.run()?;
                w.change_out(|_, y| if rows > 1 && y != 0.0 { y.next_up() } else { y });
                Ok(())
            },
        ),
    ]
}

/// The elements of the bias; none where the op has none.
fn bias(w: &Work<'_>) -> Vec<f32> {
    if w.record.find("bias").is_some() { w.values("bias") } else { Vec::new() }
}

fn norms() -> Vec<Mutant> {
    vec![
        kernel("rms-norm-eps-outside", Stem::RmsNorm, "epsilon outside the root", |w| {
            let (x, weight) = (w.values("x"), w.values("weight"));
            let eps = w.record.params["eps"].as_f64().unwrap_or(0.0);
            let n = weight.len();
            w.run()?;
            w.change_out(|at, _| {
                let row = &x[at[0] * n..(at[0] + 1) * n];
                let mean = row.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() / n as f64;
                narrow(f64::from(row[at[1]]) * f64::from(weight[at[1]]) / (mean.sqrt() + eps))
            });
            Ok(())
        }),
        kernel("rms-norm-eps-missing", Stem::RmsNorm, "epsilon missing", |w| {
            w.param("eps", 0.0);
            w.run()
        }),
        kernel(
            "rms-norm-eps-of-another-key",
            Stem::RmsNorm,
            "epsilon of the wrong key: 1e-6 for 1e-5",
            |w| {
                w.param("eps", 1e-6);
                w.run()
            },
        ),
        kernel("rms-norm-mean-over-padding", Stem::RmsNorm, "mean over the padded row", |w| {
            let n = w.out_layout().dim(1);
            let padded = n.next_multiple_of(4);
            w.run()?;
            w.change_out(|_, y| y * narrow((padded as f64 / n as f64).sqrt()));
            Ok(())
        }),
        kernel(
            "rms-norm-32-of-64-lanes",
            Stem::RmsNorm,
            "reduction across 32 lanes on a 64-lane machine",
            |w| {
                let x = w.values("x");
                w.run()?;
                let n = w.out_layout().dim(1);
                w.change_out(|at, y| {
                    let row = &x[at[0] * n..(at[0] + 1) * n];
                    let all: f64 = row.iter().map(|v| f64::from(*v).powi(2)).sum();
                    let half: f64 = row
                        .iter()
                        .enumerate()
                        .filter(|(i, _)| i % 64 < 32)
                        .map(|(_, v)| f64::from(*v).powi(2))
                        .sum();
                    y * narrow((all / half).sqrt())
                });
                Ok(())
            },
        ),
        kernel("rms-norm-f16-accumulation", Stem::RmsNorm, "squares summed in f16", |w| {
            w.run()?;
            w.change_out(|_, y| f16::from_f32(y).to_f32());
            Ok(())
        }),
        kernel("rms-norm-leaks-padding", Stem::RmsNorm, "padding's NaN leaks into the result", |w| {
            let padded =
                w.operand("x").is_some_and(|o| o.layout.stride(0) > o.layout.dim(1) && o.layout.dim(0) > 1);
            w.run()?;
            w.change_out(|_, y| if padded { f32::NAN } else { y });
            Ok(())
        }),
        kernel(
            "layer-norm-mean-not-subtracted",
            Stem::LayerNorm,
            "the mean is used for the variance only",
            |w| {
                let (x, weight, bias) = (w.values("x"), w.values("weight"), bias(w));
                let eps = w.record.params["eps"].as_f64().unwrap_or(0.0);
                let n = weight.len();
                w.run()?;
                w.change_out(|at, _| {
                    let row = &x[at[0] * n..(at[0] + 1) * n];
                    let mean = row.iter().map(|v| f64::from(*v)).sum::<f64>() / n as f64;
                    let variance = row.iter().map(|v| (f64::from(*v) - mean).powi(2)).sum::<f64>() / n as f64;
                    let scaled = f64::from(row[at[1]]) * f64::from(weight[at[1]]) / (variance + eps).sqrt();
                    narrow(scaled + bias.get(at[1]).map_or(0.0, |b| f64::from(*b)))
                });
                Ok(())
            },
        ),
        kernel("layer-norm-bias-ignored", Stem::LayerNorm, "bias never added", |w| {
            let bias = bias(w);
            w.run()?;
            w.change_out(|at, y| y - bias.get(at[1]).copied().unwrap_or(0.0));
            Ok(())
        }),
        kernel("softmax-without-maximum", Stem::Softmax, "softmax without max subtraction", |w| {
            let (x, scale) = (w.values("x"), w.record.params["scale"].as_f64().unwrap_or(1.0));
            w.run()?;
            let n = w.out_layout().dim(1);
            w.change_out(|at, y| {
                let row = &x[at[0] * n..(at[0] + 1) * n];
                let overflows = row.iter().any(|v| f64::from(*v) * scale > 88.7);
                if overflows { f32::NAN } else { y }
            });
            Ok(())
        }),
        kernel("softmax-scale-ignored", Stem::Softmax, "scale never applied", |w| {
            w.param("scale", 1.0);
            w.run()
        }),
        kernel(
            "softmax-sum-of-the-padded-row",
            Stem::Softmax,
            "the tail of the last vector takes part in the sum",
            |w| {
                w.run()?;
                let n = w.out_layout().dim(1);
                w.change_out(|_, y| if n % 4 == 0 { y } else { y * 0.999 });
                Ok(())
            },
        ),
    ]
}

fn matmul() -> Vec<Mutant> {
    vec![
        kernel("matmul-tile-transposed", Stem::Matmul, "tile stored transposed, only when M > 32", |w| {
            w.run()?;
            let (m, n) = (w.out_layout().dim(0), w.out_layout().dim(1));
            if m > 32 && n >= 16 {
                let out = w.out();
                w.change_out(|at, y| if at[0] < 16 && at[1] < 16 { out[at[1] * n + at[0]] } else { y });
            }
            Ok(())
        }),
        kernel(
            "matmul-k-tail-dropped",
            Stem::Matmul,
            "K tail dropped when K is no multiple of the tile",
            |w| {
                let k = w.dim("x", 1);
                let kept = k - k % 32;
                if kept > 0 {
                    w.change_values("x", |at, v| if at[1] < kept { v } else { 0.0 });
                }
                w.run()
            },
        ),
        kernel("matmul-nibbles-swapped", Stem::Matmul, "quant nibble order swapped", |w| {
            if w.operand("weight").is_some_and(|o| o.layout.dtype() == DType::Q4_0) {
                w.change("weight", |o| {
                    for range in o.layout.rows() {
                        for block in o.bytes[range].chunks_exact_mut(18) {
                            block[2..].iter_mut().for_each(|b| *b = b.rotate_left(4));
                        }
                    }
                });
            }
            w.run()
        }),
        kernel("matmul-minimum-ignored", Stem::Matmul, "block minimum ignored", |w| {
            if w.operand("weight").is_some_and(|o| o.layout.dtype() == DType::Q4_1) {
                w.change("weight", |o| {
                    for range in o.layout.rows() {
                        o.bytes[range].chunks_exact_mut(20).for_each(|block| block[2..4].fill(0));
                    }
                });
            }
            w.run()
        }),
        kernel("matmul-6-bit-scales", Stem::Matmul, "6-bit scales unpacked wrongly", |w| {
            if w.operand("weight").is_some_and(|o| o.layout.dtype() == DType::Q4K) {
                w.change("weight", |o| {
                    for range in o.layout.rows() {
                        // The upper two bits of the last four scales live in the first eight bytes.
                        let block_bytes = 144;
                        for block in o.bytes[range].chunks_exact_mut(block_bytes) {
                            block[4..12].iter_mut().for_each(|b| *b &= 0x3f);
                        }
                    }
                });
            }
            w.run()
        }),
        kernel("matmul-f16-accumulation", Stem::Matmul, "f16 accumulation", |w| {
            w.run()?;
            w.change_out(|_, y| f16::from_f32(y).to_f32());
            Ok(())
        }),
        kernel("matmul-truncated-to-bf16", Stem::Matmul, "result truncated to bf16", |w| {
            w.run()?;
            w.change_out(|_, y| f32::from_bits(y.to_bits() & 0xffff_0000));
            Ok(())
        }),
        kernel("matmul-one-element-2-percent", Stem::Matmul, "one element off by 2 %", |w| {
            w.run()?;
            let (m, n) = (w.out_layout().dim(0), w.out_layout().dim(1));
            w.change_out(|at, y| if at[0] == m / 2 && at[1] == n / 2 { y * 1.02 } else { y });
            Ok(())
        }),
        kernel("matmul-bias-ignored", Stem::Matmul, "bias never added", |w| {
            w.change("bias", |o| {
                for range in o.layout.rows() {
                    o.bytes[range].fill(0);
                }
            });
            w.run()
        }),
        kernel(
            "matmul-last-bit",
            Stem::Matmul,
            "an extra rounding: every result one place off in the last bit",
            |w| {
                let long = w.dim("x", 1) >= 32;
                w.run()?;
                w.change_out(|_, y| if long && y != 0.0 && y.is_finite() { y.next_up() } else { y });
                Ok(())
            },
        ),
        kernel(
            "matmul-small-bias",
            Stem::Matmul,
            "a systematic error inside the bound of every element",
            |w| {
                let k = w.dim("x", 1);
                let (x, weight) = (w.values("x"), w.values("weight"));
                w.run()?;
                if k >= 512 && x.iter().all(|v| v.is_finite() && v.fract() != 0.0) {
                    w.change_out(|at, y| {
                        let products =
                            x[at[0] * k..(at[0] + 1) * k].iter().zip(&weight[at[1] * k..(at[1] + 1) * k]);
                        let magnitude: f64 = products.map(|(x, w)| f64::from(x * w).abs()).sum();
                        y + narrow(magnitude * 0.5 * k as f64 * 2f64.powi(-24))
                    });
                }
                Ok(())
            },
        ),
        kernel(
            "matmul-rows-depend-on-the-batch",
            Stem::Matmul,
            "another order of summation for more than one row",
            |w| {
                let m = w.dim("x", 0);
                let integers = w.values("x").iter().all(|v| v.fract() == 0.0);
                w.run()?;
                w.change_out(|_, y| if m > 1 && !integers && y.is_normal() { y.next_up() } else { y });
                Ok(())
            },
        ),
    ]
}

fn elements() -> Vec<Mutant> {
    vec![
        kernel("silu-mul-sigmoid-only", Stem::SiluMul, "sigmoid instead of SiLU", |w| {
            let gate = w.values("gate");
            w.run()?;
            let n = w.out_layout().dim(1);
            w.change_out(|at, y| y / gate[at[0] * n + at[1]]);
            Ok(())
        }),
        kernel("silu-mul-overflows", Stem::SiluMul, "exp overflows for large negative gates", |w| {
            let gate = w.values("gate");
            w.run()?;
            let n = w.out_layout().dim(1);
            w.change_out(|at, y| if gate[at[0] * n + at[1]] < -88.7 { f32::NAN } else { y });
            Ok(())
        }),
        kernel(
            "gelu-mul-other-formula",
            Stem::GeluMul,
            "tanh formula where erf is wanted, and the reverse",
            |w| {
                let erf = w.record.params["form"] == "erf";
                w.param("form", if erf { "tanh" } else { "erf" });
                w.run()
            },
        ),
        kernel("add-residual-twice", Stem::Add, "residual added twice", |w| {
            let b = w.values("b");
            w.run()?;
            let (n, one) = (w.out_layout().dim(1), w.dim("b", 0) == 1);
            w.change_out(|at, y| y + b[if one { at[1] } else { at[0] * n + at[1] }]);
            Ok(())
        }),
        kernel("add-row-not-repeated", Stem::Add, "a row for all rows is added to the first only", |w| {
            let one = w.dim("b", 0) == 1;
            let a = w.values("a");
            w.run()?;
            let n = w.out_layout().dim(1);
            w.change_out(|at, y| if one && at[0] > 0 { a[at[0] * n + at[1]] } else { y });
            Ok(())
        }),
        kernel("mul-flushes-denormals", Stem::Mul, "denormal results flushed to zero", |w| {
            w.run()?;
            w.change_out(|_, y| if y.is_subnormal() { 0.0 } else { y });
            Ok(())
        }),
        kernel("scale-twice", Stem::Scale, "factor applied twice", |w| {
            let factor = w.record.params["factor"].as_f64().unwrap_or(1.0);
            w.run()?;
            w.change_out(|_, y| y * narrow(factor));
            Ok(())
        }),
        kernel("argmax-last-on-a-tie", Stem::Argmax, "not the lowest index on a tie", |w| {
            search(w, |best, v| v >= best)
        }),
        kernel("argmax-nan-wins", Stem::Argmax, "NaN wins", |w| search(w, |best, v| v.is_nan() || v > best)),
        kernel(
            "argmax-starts-at-zero",
            Stem::Argmax,
            "maximum starts at 0: rows of negative numbers give 0",
            |w| {
                let x = w.values("x");
                w.run()?;
                let n = w.dim("x", 1);
                w.change_out(
                    |at, y| if x[at[0] * n..(at[0] + 1) * n].iter().all(|v| *v < 0.0) { 0.0 } else { y },
                );
                Ok(())
            },
        ),
    ]
}

/// Argmax by a rule of its own.
fn search(w: &mut Work<'_>, better: fn(f32, f32) -> bool) -> Result<(), DeviceError> {
    let (x, n) = (w.values("x"), w.dim("x", 1));
    w.run()?;
    w.change_out(|at, _| {
        let row = &x[at[0] * n..(at[0] + 1) * n];
        let (mut found, mut best) = (0u32, row[0]);
        for (i, v) in (0..).zip(row) {
            if better(best, *v) || (best.is_nan() && !v.is_nan()) {
                (found, best) = (i, *v);
            }
        }
        f32::from_bits(found)
    });
    Ok(())
}

fn formats() -> Vec<Mutant> {
    vec![
        kernel("cast-bf16-truncated", Stem::Cast, "bf16 truncated instead of rounded", |w| {
            let x = w.operand("x").filter(|o| o.layout.dtype() == DType::F32).map(|_| w.values("x"));
            w.run()?;
            let (layout, n) = (w.out_layout(), w.out_layout().dim(1));
            if let (DType::BF16, Some(x)) = (layout.dtype(), x) {
                for (row, range) in layout.rows().enumerate() {
                    for (at, word) in w.outputs[0][range].chunks_exact_mut(2).enumerate() {
                        word.copy_from_slice(&x[row * n + at].to_le_bytes()[2..]);
                    }
                }
            }
            Ok(())
        }),
        kernel(
            "cast-f16-saturates",
            Stem::Cast,
            "f16 overflow gives the largest number instead of infinity",
            |w| {
                w.run()?;
                let layout = w.out_layout();
                if layout.dtype() == DType::F16 {
                    for range in layout.rows() {
                        for word in w.outputs[0][range].chunks_exact_mut(2) {
                            let value = f16::from_le_bytes([word[0], word[1]]);
                            if value.is_infinite() {
                                word.copy_from_slice(&f16::MAX.copysign(value).to_le_bytes());
                            }
                        }
                    }
                }
                Ok(())
            },
        ),
        kernel("dequantize-nibbles-swapped", Stem::Dequantize, "quant nibble order swapped", |w| {
            if w.operand("x").is_some_and(|o| o.layout.dtype() == DType::Iq4Nl) {
                w.change("x", |o| {
                    for range in o.layout.rows() {
                        for block in o.bytes[range].chunks_exact_mut(18) {
                            block[2..].iter_mut().for_each(|b| *b = b.rotate_left(4));
                        }
                    }
                });
            }
            w.run()
        }),
        kernel("dequantize-scale-in-bf16", Stem::Dequantize, "scale rounded to bf16 on the way", |w| {
            if w.operand("x").is_some_and(|o| o.layout.dtype() == DType::Q8_0) {
                w.change("x", |o| {
                    for range in o.layout.rows() {
                        for block in o.bytes[range].chunks_exact_mut(34) {
                            let scale = f16::from_le_bytes([block[0], block[1]]).to_f32();
                            let coarse = f16::from_f32(bf16::from_f32(scale).to_f32());
                            block[..2].copy_from_slice(&coarse.to_le_bytes());
                        }
                    }
                });
            }
            w.run()
        }),
        kernel("quantize-truncates", Stem::Quantize, "codes truncated instead of rounded", |w| {
            recode_q8_0(w, |x, d| x / d)
        }),
        kernel("quantize-ties-to-even", Stem::Quantize, "halves rounded to the even code", |w| {
            recode_q8_0(w, |x, d| (x * (1.0 / d)).round_ties_even())
        }),
        kernel("quantize-divides", Stem::Quantize, "divided by the scale, not multiplied by 1/d", |w| {
            recode_q8_0(w, |x, d| (x / d).round())
        }),
        kernel("fill-last-skipped", Stem::Fill, "last element of an odd row skipped", |w| {
            let before = w.outputs.clone();
            w.run()?;
            let layout = w.out_layout();
            let size = layout.dtype().block_bytes();
            for range in layout.rows().filter(|r| r.len() / size % 2 == 1) {
                let last = range.end - size..range.end;
                w.outputs[0][last.clone()].copy_from_slice(&before[0][last]);
            }
            Ok(())
        }),
        kernel("kv-write-one-slot-late", Stem::KvWrite, "written at pos + 1", |w| {
            let slots = w.dim_u32("k_cache", 1)?;
            indices(w, "positions", |_, p| (p + 1) % slots);
            w.run()
        }),
        kernel("kv-write-keys-only", Stem::KvWrite, "values never stored", |w| {
            let before = w.outputs.clone();
            w.run()?;
            w.outputs[1].clone_from(&before[1]);
            Ok(())
        }),
        kernel(
            "kv-write-clears-the-rest",
            Stem::KvWrite,
            "the slot after the last one written is cleared",
            |w| {
                w.run()?;
                let layout = w.out_layout();
                let rows: Vec<_> = layout.rows().collect();
                if let Some(last) = rows.last() {
                    w.outputs[0][last.clone()].fill(0);
                }
                Ok(())
            },
        ),
        kernel("embed-first-block-only", Stem::Embed, "only the first block of a row is decoded", |w| {
            let before = w.outputs.clone();
            w.run()?;
            let (block, layout) =
                (w.operand("table").map_or(1, |o| o.layout.dtype().block_len()), w.out_layout());
            for range in layout.rows() {
                let rest = range.start + (layout.dtype().block_bytes() * block).min(range.len())..range.end;
                w.outputs[0][rest.clone()].copy_from_slice(&before[0][rest]);
            }
            Ok(())
        }),
        kernel("copy-rows-swapped", Stem::Copy, "first and last row swapped", |w| {
            w.run()?;
            let rows: Vec<_> = w.out_layout().rows().collect();
            let (first, last) = (rows[0].clone(), rows[rows.len() - 1].clone());
            let (one, other) = (w.outputs[0][first.clone()].to_vec(), w.outputs[0][last.clone()].to_vec());
            w.outputs[0][first].copy_from_slice(&other);
            w.outputs[0][last].copy_from_slice(&one);
            Ok(())
        }),
        kernel(
            "matmul-last-column-missing",
            Stem::Matmul,
            "the last row of the weights is never read",
            |w| {
                w.run()?;
                let columns = w.out_layout().dim(1) - 1;
                w.change_out(|at, y| if at[1] < columns { y } else { 0.0 });
                Ok(())
            },
        ),
    ]
}

/// Runs the op; then gives each value `x` of a `q8_0` block with scale `d` the code `code(x, d)`, without its fraction.
fn recode_q8_0(w: &mut Work<'_>, code: fn(f32, f32) -> f32) -> Result<(), DeviceError> {
    let x = w.values("x");
    w.run()?;
    let (layout, n) = (w.out_layout(), w.out_layout().dim(1));
    if layout.dtype() != DType::Q8_0 {
        return Ok(());
    }
    for (row, range) in layout.rows().enumerate() {
        let values = x[row * n..][..n].chunks_exact(32);
        for (values, block) in values.zip(w.outputs[0][range].chunks_exact_mut(34)) {
            let d = values.iter().fold(0.0f32, |peak, x| peak.max(x.abs())) / 127.0;
            if d > 0.0 && d.is_finite() {
                block[2..].iter_mut().zip(values).for_each(|(to, &x)| *to = truncated(code(x, d)));
            }
        }
    }
    Ok(())
}

#[expect(clippy::cast_possible_truncation, reason = "saturates, as the device's conversion does")]
fn truncated(x: f32) -> u8 {
    (x as i8).to_le_bytes()[0]
}

#[expect(clippy::cast_possible_truncation, reason = "a value on its way to an f32 output")]
fn narrow(x: f64) -> f32 {
    x as f32
}
