//! Tensors as `ndarray` arrays, and back.
//!
//! Only for layouts that validation has accepted: they lie inside their buffers.

use std::borrow::Cow;

use kernels::{DType, Layout, View, ViewMut, quant};
use ndarray::{ArrayD, ArrayViewD, CowArray, Dimension, IxDyn, ShapeBuilder};

use crate::HostBuffer;

/// A tensor of any weight format as f32, which represents every decoded value exactly. Without a copy where the
/// buffer holds aligned f32.
///
/// `D` is the rank that the op's page states.
pub(super) fn array<'a, D: Dimension>(view: &View<'a, HostBuffer>) -> CowArray<'a, f32, D> {
    let array = match borrowed(view) {
        Some(array) => CowArray::from(array),
        None => CowArray::from(decoded(view)),
    };
    array.into_dimensionality().expect("validation has checked the rank")
}

fn borrowed<'a>(view: &View<'a, HostBuffer>) -> Option<ArrayViewD<'a, f32>> {
    if view.layout.dtype() != DType::F32 {
        return None;
    }
    let bytes = view.buffer.bytes().get(view.layout.byte_range()?)?;
    let floats = bytemuck::try_cast_slice(bytes).ok()?;
    ArrayViewD::from_shape(IxDyn(view.layout.shape()).strides(IxDyn(view.layout.strides())), floats).ok()
}

fn decoded(view: &View<'_, HostBuffer>) -> ArrayD<f32> {
    let bytes = view.layout.gather(view.buffer.bytes(), 0).expect("validation has checked the extent");
    let mut values = vec![0.0; view.layout.elements().expect("validation has checked the size")];
    quant::decode_row(view.layout.dtype(), &bytes, &mut values).expect("whole blocks of a weight format");
    ArrayD::from_shape_vec(IxDyn(view.layout.shape()), values).expect("as many values as the shape says")
}

/// A tensor rounded to `dtype`, which has an encoder: the bytes of its elements in row-major order.
pub(super) fn encoded(view: &View<'_, HostBuffer>, dtype: DType) -> Vec<u8> {
    let array = array::<IxDyn>(view);
    let values = array.as_standard_layout();
    encode(values.as_slice().expect("standard layout is a slice"), dtype)
}

/// Values rounded to `dtype`, which has an encoder and whose blocks they fill.
pub(super) fn encode(values: &[f32], dtype: DType) -> Vec<u8> {
    let mut bytes = vec![0; dtype.bytes_of(values.len()).expect("validation has checked the blocks")];
    quant::encode_row(dtype, values, &mut bytes).expect("whole blocks of a format with an encoder");
    bytes
}

/// One row (innermost dimension) of a tensor of any weight format, decoded into `row`.
pub(super) fn decode_row(view: &View<'_, HostBuffer>, index: &[usize], row: &mut [f32]) {
    let dtype = view.layout.dtype();
    quant::decode_row(dtype, &row_bytes(view, index), row).expect("whole blocks of a weight format");
}

/// The bytes of one row, gathered where its elements lie apart.
pub(super) fn row_bytes<'a>(view: &View<'a, HostBuffer>, index: &[usize]) -> Cow<'a, [u8]> {
    let (layout, bytes) = (&view.layout, view.buffer.bytes());
    let start = layout.row_offset(index);
    let columns = layout.shape().last().copied().unwrap_or(1);
    if layout.is_transposed() {
        let stride = layout.stride(layout.rank() - 1);
        let row = Layout::strided(layout.dtype(), &[columns], &[stride]).at(start);
        return Cow::Owned(row.gather(bytes, 0).expect("validation has checked the extent"));
    }
    let len = layout.dtype().bytes_of(columns).expect("validation has checked the blocks");
    Cow::Borrowed(&bytes[start..start + len])
}

/// Writes values in row-major order, rounded to the type of `out`.
pub(super) fn store_floats(out: &mut ViewMut<'_, HostBuffer>, values: &[f32]) {
    let bytes = encode(values, out.layout.dtype());
    store_bytes(out, &bytes);
}

/// Writes the bytes of all elements, in row-major order.
pub(super) fn store_bytes(out: &mut ViewMut<'_, HostBuffer>, dense: &[u8]) {
    let bytes = out.buffer.bytes_mut();
    let mut rest = dense;
    for row in out.layout.rows() {
        let (from, after) = rest.split_at(row.len());
        bytes[row].copy_from_slice(from);
        rest = after;
    }
}
