//! Dense operands with seeded content, for ops at the sizes of a model.

use kernels::{DType, Record};

use crate::data::{Data, Operands, Packing, Random};
use crate::ops::cache::cache;
use crate::weights::{Style, weights};

/// Adds dense operands to a record.
pub trait Dense: Sized {
    /// Normal numbers in f32.
    #[must_use]
    fn gauss(self, name: &str, shape: &[usize]) -> Self;

    /// Weights `[rows, columns]` as in a model, in any format.
    #[must_use]
    fn weights(self, name: &str, dtype: DType, shape: [usize; 2]) -> Self;

    /// A full cache `[seqs, slots, kv_heads, head_dim]`, to read.
    #[must_use]
    fn cache(self, name: &str, dtype: DType, shape: [usize; 4]) -> Self;

    /// An output.
    #[must_use]
    fn empty(self, name: &str, dtype: DType, shape: &[usize]) -> Self;
}

impl Dense for Record {
    fn gauss(self, name: &str, shape: &[usize]) -> Self {
        let values = Data::Gauss.values(&mut seeded(name), 1, shape.iter().product());
        self.floats(name, shape, &values, Packing::Dense)
    }

    fn weights(self, name: &str, dtype: DType, shape: [usize; 2]) -> Self {
        let dense = weights(dtype, Style::Model, &mut seeded(name), shape[0], shape[1]);
        self.bytes(name, dtype, &shape, &dense, Packing::Dense)
    }

    fn cache(self, name: &str, dtype: DType, shape: [usize; 4]) -> Self {
        let dense = cache(dtype, &mut seeded(name), shape);
        self.bytes(name, dtype, &shape, &dense, Packing::Dense)
    }

    fn empty(self, name: &str, dtype: DType, shape: &[usize]) -> Self {
        self.out(name, dtype, shape, Packing::Dense)
    }
}

/// Other data for each operand of an op.
fn seeded(name: &str) -> Random {
    Random::new(name.bytes().fold(1, |seed, byte| seed * 31 + u64::from(byte)))
}
