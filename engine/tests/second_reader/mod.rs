//! The vote of `gguf-rs`, an independent reader of the format.

use std::io::Cursor;

use engine::gguf::{Gguf, Tensor, Value, ValueType};
use gguf_rs::{ByteOrder, GGUFContainer};
use kernels::DType;
use serde_json::Value as Json;

/// Compares what `gguf` says of the file `bytes` with what `gguf-rs` reads from it. Only for files that
/// [`Gguf`] has accepted: `gguf-rs` may panic on others.
pub fn assert_agrees(bytes: &[u8], gguf: &Gguf) {
    let reader = Box::new(Cursor::new(bytes[4..].to_vec()));
    let model = GGUFContainer::new(ByteOrder::LE, reader, u64::MAX).decode().unwrap();
    assert_eq!(model.get_version(), format!("v{}", gguf.version()));

    assert_eq!(model.metadata().len(), gguf.metadata().len());
    for (key, value) in gguf.metadata().iter() {
        assert!(same_value(gguf, key, value, &model.metadata()[key]), "key {key:?}: {value:?}");
    }

    assert_eq!(model.tensors().len(), gguf.tensors().len());
    for (theirs, ours) in model.tensors().iter().zip(gguf.tensors()) {
        assert_eq!(theirs.name, ours.name());
        assert_eq!(Some(theirs.kind), ours.dtype().ggml(), "{}", theirs.name);
        assert_eq!(theirs.shape, ours.dims(), "{}", theirs.name);
        assert_eq!(model.data_offset() + theirs.offset, ours.range().start as u64, "{}", theirs.name);
        if sizes_are_right(ours) {
            assert_eq!(theirs.size, ours.range().len() as u64, "{}", theirs.name);
        }
    }
}

/// `gguf-rs` takes a block of 256 elements for these types.
fn sizes_are_right(tensor: &Tensor) -> bool {
    !matches!(tensor.dtype(), DType::BF16 | DType::Iq4Nl | DType::Mxfp4)
}

fn same_value(gguf: &Gguf, key: &str, ours: &Value, theirs: &Json) -> bool {
    match ours {
        Value::Int(x, _) => theirs.as_number().is_some_and(|n| n.as_str() == x.to_string()),
        Value::Float(x, t) => same_float(*x, *t, theirs),
        Value::Bool(x) => theirs.as_bool() == Some(*x),
        Value::String(x) => theirs.as_str() == Some(x),
        Value::Array(array) => {
            let Some(items) = theirs.as_array() else { return false };
            let same_items = match array.element {
                ValueType::String => {
                    let texts = gguf.metadata().strings(key).unwrap();
                    items.iter().zip(texts).all(|(theirs, ours)| theirs.as_str() == Some(ours))
                }
                ValueType::I32 => {
                    let numbers = gguf.metadata().opt_i32s(key).unwrap().unwrap();
                    items.iter().zip(numbers).all(|(theirs, ours)| theirs.as_i64() == Some(ours.into()))
                }
                ValueType::F32 => {
                    let numbers = gguf.metadata().opt_f32s(key).unwrap().unwrap();
                    items.iter().zip(numbers).all(|(t, x)| same_float(x.into(), ValueType::F32, t))
                }
                _ => true,
            };
            items.len() == array.len && same_items
        }
    }
}

/// JSON has neither NaN nor infinity (`gguf-rs` gives null), and an f32 comes with f32's digits.
#[expect(clippy::cast_possible_truncation, reason = "both sides are rounded to the width in the file")]
fn same_float(x: f64, t: ValueType, theirs: &Json) -> bool {
    match theirs.as_f64() {
        None => theirs.is_null() && !x.is_finite(),
        Some(y) if t == ValueType::F32 => (x as f32).to_bits() == (y as f32).to_bits(),
        Some(y) => x.to_bits() == y.to_bits(),
    }
}
