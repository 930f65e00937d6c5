//! Cases of each op, one file per stem. What row-wise ops share is in [`rowwise`], what conversions share
//! in [`convert`].

pub mod add;
pub mod argmax;
pub mod attention;
pub mod borders;
pub mod cache;
pub mod cast;
pub mod convert;
pub mod copy;
pub mod dequantize;
pub mod embed;
pub mod fill;
pub mod gelu_mul;
pub mod kv_write;
pub mod matmul;
pub mod mul;
pub mod quantize;
pub mod rms_norm;
pub mod rope;
pub mod rowwise;
pub mod scale;
pub mod silu_mul;
pub mod softmax;

use kernels::DType;

use crate::family::{Cases, Of};
use convert::Converted;
use rowwise::Rows;

/// The families of all ops, in the order of tables and reports.
pub static FAMILIES: &[&dyn Cases] = &[
    &Of::<embed::Embed>::new(),
    &Of::<Rows<rms_norm::RmsNorm>>::new(),
    &Of::<matmul::Matmul>::new(),
    &Of::<rope::Rope>::new(),
    &Of::<kv_write::KvWrite>::new(),
    &Of::<attention::Attention>::new(),
    &Of::<Rows<softmax::Softmax>>::new(),
    &Of::<Rows<silu_mul::SiluMul>>::new(),
    &Of::<Rows<gelu_mul::GeluMul>>::new(),
    &Of::<Rows<add::Add>>::new(),
    &Of::<Rows<mul::Mul>>::new(),
    &Of::<Rows<scale::Scale>>::new(),
    &Of::<Rows<argmax::Argmax>>::new(),
    &Of::<Converted<dequantize::Dequantize>>::new(),
    &Of::<Converted<quantize::Quantize>>::new(),
    &Of::<Converted<cast::Cast>>::new(),
    &Of::<Converted<copy::Copy>>::new(),
    &Of::<fill::Fill>::new(),
];

/// Sizes at which kernels switch paths: around powers of two, primes, one.
pub const EDGES: [usize; 14] = [1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 251, 576];

/// Lengths of rows in `format`: whole blocks, few and many, with and without a tail for wider tiles.
pub fn columns(format: DType) -> Vec<usize> {
    match format.block_len() {
        1 => EDGES.to_vec(),
        32 => vec![32, 64, 96, 160, 256, 288, 576, 992],
        block => vec![block, 2 * block, 3 * block, 4 * block],
    }
}
