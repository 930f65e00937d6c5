//! [`kernels::ops::fill`], bit for bit.

use kernels::ops::Fill;
use kernels::quant;

use crate::HostBuffer;

/// The bytes of the output's elements in row-major order.
pub(super) fn fill(op: &Fill<'_, HostBuffer>) -> Vec<u8> {
    let dtype = op.out.layout.dtype();
    let mut element = vec![0; dtype.block_bytes()];
    quant::encode_row(dtype, &[op.value], &mut element).expect("one value is one block of a plain float");
    element.repeat(op.out.layout.elements().expect("validation has checked the size"))
}
