//! Caches for cases: content in any cache type, and how it lies in memory.

use kernels::{DType, Layout, MAX_RANK, Record, quant};
use serde::{Deserialize, Serialize};

use crate::data::{Data, Random};

/// How the caches of keys and of values `[seqs, slots, kv_heads, head_dim]` of a case lie in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Caches {
    /// A slot holds all heads.
    #[default]
    TokenMajor,
    /// A head holds all slots.
    HeadMajor,
    /// Of keys, an element of a head holds all slots; values are head-major.
    KTransposed,
    /// Of values, an element of a head holds all slots; keys are token-major.
    VTransposed,
}

impl Caches {
    /// Those that are not token-major.
    pub const OTHERS: [Caches; 3] = [Caches::HeadMajor, Caches::KTransposed, Caches::VTransposed];

    /// Dimensions of the keys and of the values as they lie in memory, outermost first.
    pub const fn orders(self) -> [&'static [usize; MAX_RANK]; 2] {
        const TOKENS: &[usize; MAX_RANK] = &[0, 1, 2, 3];
        const HEADS: &[usize; MAX_RANK] = &[0, 2, 1, 3];
        const SLOTS_INNERMOST: &[usize; MAX_RANK] = &[0, 2, 3, 1];
        match self {
            Caches::TokenMajor => [TOKENS, TOKENS],
            Caches::HeadMajor => [HEADS, HEADS],
            Caches::KTransposed => [SLOTS_INNERMOST, HEADS],
            Caches::VTransposed => [TOKENS, SLOTS_INNERMOST],
        }
    }

    /// Whether caches of these types can lie so: blocks along a head stay together.
    pub fn suit(self, keys: DType, values: DType) -> bool {
        match self {
            Caches::TokenMajor | Caches::HeadMajor => true,
            Caches::KTransposed => !keys.is_quantised(),
            Caches::VTransposed => !values.is_quantised(),
        }
    }

    /// Whether this is what a case has that says nothing about it.
    pub fn is_default(&self) -> bool {
        *self == Caches::TokenMajor
    }
}

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

/// `record` with the cache `name` `[seqs, slots, kv_heads, head_dim]` where each element of a head holds all slots, in whatever type it is.
pub fn transposed(record: &Record, name: &str, shape: [usize; MAX_RANK]) -> Record {
    let [_, slots, heads, dim] = shape;
    let mut changed = Record::new(record.stem);
    changed.params.clone_from(&record.params);
    record.operands().iter().fold(changed, |changed, operand| {
        let layout = if operand.name == name {
            let strides = [heads * dim * slots, 1, dim * slots, slots];
            Layout::strided(operand.layout.dtype(), &shape, &strides)
        } else {
            operand.layout
        };
        changed.operand(&operand.name, operand.role, layout, operand.bytes.clone())
    })
}
