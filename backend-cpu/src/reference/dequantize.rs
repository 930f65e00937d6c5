//! [`kernels::ops::dequantize`], bit for bit.

use kernels::ops::Dequantize;

use super::array::encoded;
use crate::HostBuffer;

/// The bytes of the output's elements in row-major order.
pub(super) fn dequantize(op: &Dequantize<'_, HostBuffer>) -> Vec<u8> {
    encoded(&op.x, op.out.layout.dtype())
}
