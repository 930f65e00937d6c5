//! The KV cache: keys and values of the tokens so far, for several sequences.
//!
//! Each layer has two tensors `[sequences, slots, kv_heads, head_dim]` in f32, f16, bf16 or `q8_0`. The slot of a token is its
//! position. The cache knows the length of each sequence. Rows must continue their sequences without gaps,
//! so that every slot is written before it is read. [`KvCache::truncate`] shortens a sequence.

use kernels::ops::rope::MAX_POSITIONS;
use kernels::{Backend, DType, DeviceError, Layout, Readback, Site, View, ViewMut, quant};

use crate::batch::Row;
use crate::config::ModelConfig;

/// Size and type of a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KvConfig {
    /// f32, f16, bf16 or `q8_0`.
    pub dtype: DType,
    /// Sequences.
    pub seqs: usize,
    /// Positions of each sequence.
    pub slots: usize,
}

/// A cache that cannot be made, or rows that do not fit into it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// A type that a cache cannot have.
    #[error("a cache of {found} is not possible, want f32, f16, bf16 or q8_0")]
    Type {
        /// The type.
        found: DType,
    },
    /// Blocks that would span two heads.
    #[error("a {dtype} cache needs heads of a multiple of {block} elements, this model's have {head_dim}")]
    HeadDim {
        /// Type of the cache.
        dtype: DType,
        /// Elements of a block.
        block: usize,
        /// Elements of a head.
        head_dim: usize,
    },
    /// No sequences, no positions, or more than an op can address.
    #[error(
        "a cache of {seqs} sequences of {slots} positions is not possible, want 1 or more of 1 to {MAX_POSITIONS}"
    )]
    Size {
        /// Sequences.
        seqs: usize,
        /// Positions of each.
        slots: usize,
    },
    /// No rows at all.
    #[error("a batch without rows")]
    Empty,
    /// A sequence that the cache does not have.
    #[error("row {row} is of sequence {seq}, the cache has {seqs}")]
    Sequence {
        /// Row of the batch.
        row: usize,
        /// Its sequence.
        seq: usize,
        /// Sequences of the cache.
        seqs: usize,
    },
    /// A row that would leave a gap, or overwrite an earlier token.
    #[error("row {row} is at position {found} of sequence {seq}, which continues at {want}")]
    Gap {
        /// Row of the batch.
        row: usize,
        /// Its sequence.
        seq: usize,
        /// Its position.
        found: usize,
        /// Length of the sequence before it.
        want: usize,
    },
    /// More tokens than the context holds.
    #[error("context overflow: sequence {seq} has {have} tokens, {add} more make {sum}, the context holds {slots}", sum = have + add)]
    Overflow {
        /// The sequence.
        seq: usize,
        /// Its length.
        have: usize,
        /// Tokens to be added.
        add: usize,
        /// Positions of a sequence.
        slots: usize,
    },
    /// A sequence cannot be cut to more tokens than it has.
    #[error("sequence {seq} has {have} tokens and cannot be cut to {want}")]
    Truncate {
        /// The sequence.
        seq: usize,
        /// Its length.
        have: usize,
        /// The length asked for.
        want: usize,
    },
    /// A layer that the model does not have.
    #[error("layer {layer} of {layers}")]
    Layer {
        /// The layer.
        layer: usize,
        /// Layers of the cache.
        layers: usize,
    },
    /// The device failed.
    #[error("kv cache: {0}")]
    Device(#[from] DeviceError),
}

impl CacheError {
    /// True if the device is at fault.
    pub fn is_device(&self) -> bool {
        self.device().is_some()
    }

    /// The device's error, if it is at fault.
    pub const fn device(&self) -> Option<&DeviceError> {
        match self {
            CacheError::Device(error) => Some(error),
            _ => None,
        }
    }
}

/// Keys and values of one layer.
#[derive(Debug)]
struct Layer<Buf> {
    k: Buf,
    v: Buf,
}

/// Keys and values of all layers.
#[derive(Debug)]
pub struct KvCache<Buf> {
    layers: Vec<Layer<Buf>>,
    /// `[seqs, slots, kv_heads, head_dim]`.
    layout: Layout,
    /// Bytes of the keys of a layer, and of its values.
    bytes: usize,
    /// Tokens of each sequence.
    lengths: Vec<usize>,
}

/// Lengths of all sequences, to be set after the rows have been written.
pub(crate) struct Lengths(Vec<usize>);

impl<Buf> KvCache<Buf> {
    /// An empty cache on `backend` for a model with `model`'s layers and heads.
    pub fn new<B: Backend<Buffer = Buf>>(
        backend: &B,
        model: &ModelConfig,
        config: KvConfig,
    ) -> Result<Self, CacheError> {
        let KvConfig { dtype, seqs, slots } = config;
        if !DType::CACHE.contains(&dtype) {
            return Err(CacheError::Type { found: dtype });
        }
        let (block, head_dim) = (dtype.block_len(), model.head_dim);
        if !head_dim.is_multiple_of(block) {
            return Err(CacheError::HeadDim { dtype, block, head_dim });
        }
        let layout = Layout::contiguous(dtype, &[seqs, slots, model.n_kv_head, head_dim]);
        let bytes = layout.byte_range().filter(|_| slots <= MAX_POSITIONS);
        let bytes = bytes.ok_or(CacheError::Size { seqs, slots })?.len();
        let layer = |l: usize| {
            Ok(Layer {
                k: backend.alloc(bytes, &format!("k_cache.{l}"))?,
                v: backend.alloc(bytes, &format!("v_cache.{l}"))?,
            })
        };
        let layers = (0..model.n_layer).map(layer).collect::<Result<_, DeviceError>>()?;
        Ok(KvCache { layers, layout, bytes, lengths: vec![0; seqs] })
    }

    /// Positions of each sequence.
    pub fn slots(&self) -> usize {
        self.layout.dim(1)
    }

    /// Sequences.
    pub fn seqs(&self) -> usize {
        self.lengths.len()
    }

    /// Type of the elements.
    pub fn dtype(&self) -> DType {
        self.layout.dtype()
    }

    /// Bytes of all layers.
    pub fn bytes(&self) -> usize {
        2 * self.layers.len() * self.bytes
    }

    /// Tokens of sequence `seq`; 0 for one that does not exist.
    pub fn len(&self, seq: usize) -> usize {
        self.lengths.get(seq).copied().unwrap_or(0)
    }

    /// True if no sequence has a token.
    pub fn is_empty(&self) -> bool {
        self.lengths.iter().all(|&len| len == 0)
    }

    /// Removes the tokens of sequence `seq` from position `len` on.
    pub fn truncate(&mut self, seq: usize, len: usize) -> Result<(), CacheError> {
        let seqs = self.seqs();
        let have = self.lengths.get_mut(seq).ok_or(CacheError::Sequence { row: 0, seq, seqs })?;
        if len > *have {
            return Err(CacheError::Truncate { seq, have: *have, want: len });
        }
        *have = len;
        Ok(())
    }

    /// Returns an error if `add` more tokens of sequence `seq` do not fit.
    pub fn check_room(&self, seq: usize, add: usize) -> Result<(), CacheError> {
        let (have, slots) = (self.len(seq), self.slots());
        if add > slots.saturating_sub(have) {
            return Err(CacheError::Overflow { seq, have, add, slots });
        }
        Ok(())
    }

    /// The lengths after `rows` have been written; an error if the rows do not continue their sequences or do not fit.
    pub(crate) fn lengths_after(&self, rows: &[Row]) -> Result<Lengths, CacheError> {
        let seqs = self.seqs();
        if rows.is_empty() {
            return Err(CacheError::Empty);
        }
        let mut lengths = self.lengths.clone();
        for (row, &Row { seq, position, .. }) in rows.iter().enumerate() {
            let (seq, found) = (seq as usize, position as usize);
            let len = lengths.get_mut(seq).ok_or(CacheError::Sequence { row, seq, seqs })?;
            if found != *len {
                return Err(CacheError::Gap { row, seq, found, want: *len });
            }
            *len += 1;
        }
        for (seq, (have, sum)) in self.lengths.iter().zip(&lengths).enumerate() {
            self.check_room(seq, sum - have)?;
        }
        Ok(Lengths(lengths))
    }

    pub(crate) fn set_lengths(&mut self, lengths: Lengths) {
        self.lengths = lengths.0;
    }

    /// Keys and values of layer `layer`.
    pub(crate) fn layer(&self, layer: usize) -> Result<(View<'_, Buf>, View<'_, Buf>), CacheError> {
        let found = self.layers.get(layer).ok_or(CacheError::Layer { layer, layers: self.layers.len() })?;
        Ok((View::new(&found.k, self.layout), View::new(&found.v, self.layout)))
    }

    /// Keys and values of layer `layer`, for writing.
    pub(crate) fn layer_mut(
        &mut self,
        layer: usize,
    ) -> Result<(ViewMut<'_, Buf>, ViewMut<'_, Buf>), CacheError> {
        let layers = self.layers.len();
        let found = self.layers.get_mut(layer).ok_or(CacheError::Layer { layer, layers })?;
        Ok((ViewMut::new(&mut found.k, self.layout), ViewMut::new(&mut found.v, self.layout)))
    }

    /// Keys and values of sequence `seq` in layer `layer`, decoded, each `[length, kv_heads, head_dim]`.
    pub(crate) fn dump<B: Backend<Buffer = Buf>>(
        &self,
        backend: &B,
        stream: &B::Stream,
        layer: usize,
        seq: usize,
    ) -> Result<[Vec<f32>; 2], CacheError> {
        let seqs = self.seqs();
        let len = *self.lengths.get(seq).ok_or(CacheError::Sequence { row: 0, seq, seqs })?;
        let slots: Vec<_> = (0..len).map(|slot| (seq, slot)).collect();
        let mut k = self.slots_of(backend, stream, layer, &slots)?;
        let v = k.split_off(k.len() / 2);
        Ok([k, v])
    }

    /// The decoded keys of the given slots (sequence and position), then their values: `[2, slots, kv_heads, head_dim]`.
    pub(crate) fn slots_of<B: Backend<Buffer = Buf>>(
        &self,
        backend: &B,
        stream: &B::Stream,
        layer: usize,
        slots: &[(usize, usize)],
    ) -> Result<Vec<f32>, CacheError> {
        let (k, v) = self.layer(layer)?;
        let [heads, head_dim] = [self.layout.dim(2), self.layout.dim(3)];
        let dtype = self.dtype();
        let mut values = Vec::new();
        for (name, cache) in [("k_cache", k), ("v_cache", v)] {
            for &(seq, slot) in slots {
                let slot_layout = Layout::contiguous(dtype, &[heads, head_dim]);
                let view = View::new(cache.buffer, slot_layout.at(self.layout.row_offset(&[seq, slot])));
                let site = Site { layer: Some(layer), ..Site::outside(name) };
                let tensor = backend.read(stream, view, &site).and_then(Readback::wait)?;
                let start = values.len();
                values.resize(start + heads * head_dim, 0.0);
                quant::decode_row(dtype, tensor.bytes(), &mut values[start..])
                    .expect("a slot holds heads·head_dim values of the cache's type in whole blocks");
            }
        }
        Ok(values)
    }
}
