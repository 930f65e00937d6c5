//! [`kernels::ops::quantize`], bit for bit.

use kernels::ops::Quantize;

use crate::HostBuffer;

/// The bytes of the output's elements in row-major order.
pub(super) fn quantize(_op: &Quantize<'_, HostBuffer>) -> Vec<u8> {
    Vec::new()
}
