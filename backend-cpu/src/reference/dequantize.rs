//! [`kernels::ops::dequantize`], bit for bit.

use kernels::ops::Dequantize;
use ndarray::Ix2;

use super::array::array;
use crate::HostBuffer;

/// The bytes of the output's elements in row-major order.
pub(super) fn dequantize(op: &Dequantize<'_, HostBuffer>) -> Vec<u8> {
    array::<Ix2>(&op.x).iter().flat_map(|value| value.to_le_bytes()).collect()
}
