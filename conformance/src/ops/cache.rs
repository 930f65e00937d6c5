//! Caches for cases: content in any cache type, and rows of queries in them.

use kernels::{DType, quant};

use crate::data::{Data, Random};

/// Bytes of a cache `[seqs, slots, kv_heads, head_dim]`, in row-major order, with normal content.
///
/// # Panics
///
/// When `head_dim` is no multiple of the format's block: a mistake in the suite.
pub fn cache(dtype: DType, random: &mut Random, shape: [usize; 4]) -> Vec<u8> {
    let [seqs, slots, kv_heads, head_dim] = shape;
    let values = Data::Gauss.values(random, seqs * slots * kv_heads, head_dim);
    encoded(dtype, &values)
}

/// `values` in a cache's type.
///
/// # Panics
///
/// When the values do not fill whole blocks: a mistake in the suite.
pub fn encoded(dtype: DType, values: &[f32]) -> Vec<u8> {
    let mut bytes = vec![0; dtype.bytes_of(values.len()).expect("whole blocks")];
    quant::encode_row(dtype, values, &mut bytes).expect("cache types have encoders");
    bytes
}
