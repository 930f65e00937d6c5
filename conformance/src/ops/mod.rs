//! Cases of each op, one file per stem. What row-wise ops share is in [`rowwise`], what conversions share
//! in [`convert`].

pub mod borders;
pub mod cache;
pub mod convert;
pub mod rowwise;

use kernels::DType;

use crate::family::{Cases, Of};

/// Declares a module per op, with its family of cases.
macro_rules! ops {
    ($($op:ident $Op:ident,)+) => {
        $(pub mod $op;)+

        /// The families of all ops, in the order of tables and reports.
        pub static FAMILIES: &[&dyn Cases] = &[$(&Of::<$op::Cases>::new(),)+];
    };
}
kernels::for_each_op!(ops);

/// Sizes at which kernels switch paths: around powers of two, primes, one.
pub const EDGES: [usize; 14] = [1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 251, 576];

/// Ends of rows in each eighth of a stretch of 256: three elements beyond a quad, with whole quads before them in the same eighth.
pub const TAILS: [usize; 8] = [11, 47, 75, 111, 139, 175, 203, 239];

/// Lengths of rows in `format`: whole blocks, few and many, with and without a tail for wider tiles.
pub fn columns(format: DType) -> Vec<usize> {
    match format.block_len() {
        1 => EDGES.into_iter().chain(TAILS).collect(),
        32 => vec![32, 64, 96, 160, 256, 288, 576, 992],
        block => vec![block, 2 * block, 3 * block, 4 * block],
    }
}
