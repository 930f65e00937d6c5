//! Bugs about the types of floats, as an implementation has them that computes in f32 whatever the types are.

use half::f16;
use kernels::{DType, DeviceError, Layout, Role, Stem};

use crate::mutant::{Mutant, Work, elements};
use crate::values::kernel;

/// The mutants.
pub fn mutants() -> Vec<Mutant> {
    vec![
        kernel("rms-norm-f16-truncated", Stem::RmsNorm, "result cut to f16 instead of rounded", |w| {
            stored(w, DType::F16, toward_zero)
        }),
        kernel("add-bf16-truncated", Stem::Add, "result cut to bf16 instead of rounded", |w| {
            stored(w, DType::BF16, upper)
        }),
        kernel("matmul-bf16-truncated", Stem::Matmul, "result cut to bf16 instead of rounded", |w| {
            stored(w, DType::BF16, upper)
        }),
        kernel(
            "silu-mul-output-cast-skipped",
            Stem::SiluMul,
            "f32 written where the output is shorter",
            |w| {
                let (result, layout) = (in_f32(w)?, w.out_layout());
                if layout.dtype() == DType::F32 {
                    return w.run();
                }
                let n = layout.dim(1);
                for (row, range) in layout.rows().enumerate() {
                    let bytes: &[u8] = bytemuck::cast_slice(&result[row * n..(row + 1) * n]);
                    let len = range.len();
                    w.outputs[0][range].copy_from_slice(&bytes[..len]);
                }
                Ok(())
            },
        ),
        kernel(
            "rms-norm-gain-of-another-type",
            Stem::RmsNorm,
            "a gain in f16 read as bf16, and the reverse",
            |w| {
                let other = match w.operand("weight").map(|o| o.layout.dtype()) {
                    Some(DType::F16) => DType::BF16,
                    Some(DType::BF16) => DType::F16,
                    _ => return w.run(),
                };
                w.change("weight", |o| o.layout = of_type(&o.layout, other));
                w.run()
            },
        ),
        kernel("add-types-swapped", Stem::Add, "either operand read in the type of the other", |w| {
            let types = ["a", "b"].map(|name| w.operand(name).map(|o| o.layout.dtype()));
            if let [Some(a @ (DType::F16 | DType::BF16)), Some(b @ (DType::F16 | DType::BF16))] = types {
                w.change("a", |o| o.layout = of_type(&o.layout, b));
                w.change("b", |o| o.layout = of_type(&o.layout, a));
            }
            w.run()
        }),
    ]
}

/// The same places as another type of the same size.
fn of_type(layout: &Layout, dtype: DType) -> Layout {
    Layout::strided(dtype, layout.shape(), layout.strides()).at(layout.offset())
}

/// The result rounded to f32 alone, in row-major order.
fn in_f32(w: &mut Work<'_>) -> Result<Vec<f32>, DeviceError> {
    let (record, outputs, shape) = (w.record.clone(), w.outputs.clone(), w.out_layout());
    if let (Some(source), Some(out)) = (record.stem.facts().in_place(), record.find("out"))
        && record.find(source).is_none()
    {
        w.record = record.clone().operand(source, Role::Input, out.layout, out.bytes.clone());
    }
    let wide = Layout::contiguous(DType::F32, shape.shape());
    w.change("out", |o| (o.layout, o.bytes) = (wide, vec![0; 4 * wide.elements().unwrap_or(0)]));
    w.run()?;
    let result = elements(&wide, &w.outputs[0]);
    (w.record, w.outputs) = (record, outputs);
    Ok(result)
}

/// Stores the result by `store` where the output is of type `dtype`.
fn stored(w: &mut Work<'_>, dtype: DType, store: fn(f32) -> [u8; 2]) -> Result<(), DeviceError> {
    let layout = w.out_layout();
    if layout.dtype() != dtype {
        return w.run();
    }
    let result = in_f32(w)?;
    let places = layout.rows().flat_map(|row| row.step_by(dtype.block_bytes()));
    for (at, value) in places.zip(result) {
        w.outputs[0][at..at + dtype.block_bytes()].copy_from_slice(&store(value));
    }
    Ok(())
}

/// The upper half of an f32.
fn upper(value: f32) -> [u8; 2] {
    let [_, _, third, fourth] = value.to_le_bytes();
    [third, fourth]
}

/// The f16 that is next to `value` on the side of zero, or `value` itself.
fn toward_zero(value: f32) -> [u8; 2] {
    let nearest = f16::from_f32(value);
    let away = nearest.to_f32().abs() > value.abs();
    f16::from_bits(nearest.to_bits() - u16::from(away)).to_le_bytes()
}
