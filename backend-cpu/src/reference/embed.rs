//! [`kernels::ops::embed`], bit for bit.

use kernels::ops::Embed;

use super::array::{decode_row, encode};
use crate::HostBuffer;

/// The bytes of the output's elements in row-major order.
pub(super) fn embed(op: &Embed<'_, HostBuffer>) -> Vec<u8> {
    let mut row = vec![0.0f32; op.table.layout.dim(1)];
    let mut bytes = Vec::new();
    for &id in op.ids.values() {
        decode_row(&op.table, &[id as usize], &mut row);
        bytes.extend(encode(&row, op.out.layout.dtype()));
    }
    bytes
}
