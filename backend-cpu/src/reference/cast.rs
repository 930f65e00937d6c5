//! [`kernels::ops::cast`], bit for bit.

use kernels::ops::Cast;

use super::array::encoded;
use crate::HostBuffer;

/// The bytes of the output's elements in row-major order.
pub(super) fn cast(op: &Cast<'_, HostBuffer>) -> Vec<u8> {
    encoded(&op.x, op.out.layout.dtype())
}
