//! [`kernels::ops::copy`], bit for bit.

use kernels::ops::Copy;

use crate::HostBuffer;

/// The bytes of the output's elements in row-major order.
pub(super) fn copy(op: &Copy<'_, HostBuffer>) -> Vec<u8> {
    op.x.layout.gather(op.x.buffer.bytes(), 0).expect("validation has checked the extent")
}
