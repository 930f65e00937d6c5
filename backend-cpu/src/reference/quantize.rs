//! [`kernels::ops::quantize`], bit for bit.

use kernels::ops::Quantize;

use super::array::encoded;
use crate::HostBuffer;

/// The bytes of the output's elements in row-major order.
pub(super) fn quantize(op: &Quantize<'_, HostBuffer>) -> Vec<u8> {
    encoded(&op.x, op.out.layout.dtype())
}
