//! [`kernels::ops::argmax`], bit for bit.

use kernels::ops::Argmax;
use ndarray::{ArrayView1, Ix2};

use super::array::array;
use crate::HostBuffer;

/// The bytes of the output's elements in row-major order.
pub(super) fn argmax(op: &Argmax<'_, HostBuffer>) -> Vec<u8> {
    array::<Ix2>(&op.x).rows().into_iter().flat_map(|row| first_largest(&row).to_le_bytes()).collect()
}

/// Index of the first of the largest numbers; 0 where there is none but NaN.
fn first_largest(row: &ArrayView1<'_, f32>) -> u32 {
    let mut best = 0;
    for (i, x) in row.iter().enumerate() {
        if *x > row[best] || (row[best].is_nan() && !x.is_nan()) {
            best = i;
        }
    }
    u32::try_from(best).expect("validation has checked the number of columns")
}
