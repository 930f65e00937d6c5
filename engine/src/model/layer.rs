//! The model, in the order in which it runs. Each call computes one tensor and names its trace point.

use kernels::Backend;

use super::ModelError;
use super::buffer_pool::{BufferPool, PooledBuffer};
use super::pass::{Pass, Projection};
use super::scratch::Scratch;
use super::weights::{LayerWeights, Weight, Weights};
use crate::kv_cache::KvCache;
use crate::taps::Point;

/// Tokens to the residual stream.
pub(super) fn embed<B: Backend>(
    pass: &mut Pass<'_, B>,
    weights: &Weights<B::Buffer>,
    s: &mut Scratch<B::Buffer>,
) -> Result<(), ModelError> {
    pass.embed(Point::EmbedOut, &weights.embedding, &mut s.x)
}

/// Layer number `l`: attention, then feed-forward, each added to the residual stream `x`.
pub(super) fn layer<B: Backend>(
    pass: &mut Pass<'_, B>,
    l: usize,
    w: &LayerWeights<B::Buffer>,
    rope_factors: Option<&Weight<B::Buffer>>,
    s: &mut Scratch<B::Buffer>,
    cache: &mut KvCache<B::Buffer>,
) -> Result<(), ModelError> {
    pass.enter_layer(l);
    pass.tap(Point::XIn, &s.x)?;

    pass.rms_norm(Point::AttnNorm, &s.x, &w.attn_norm, &mut s.normed)?;
    pass.project(
        &s.normed,
        [
            Projection { point: Point::Q, linear: &w.q, out: &mut s.q },
            Projection { point: Point::K, linear: &w.k, out: &mut s.k },
            Projection { point: Point::V, linear: &w.v, out: &mut s.v },
        ],
    )?;
    if let Some(norm) = &w.q_norm {
        pass.norm_heads(Point::QNorm, &mut s.q, norm)?;
    }
    if let Some(norm) = &w.k_norm {
        pass.norm_heads(Point::KNorm, &mut s.k, norm)?;
    }
    pass.rope(Point::QRope, &mut s.q, rope_factors)?;
    pass.rope(Point::KRope, &mut s.k, rope_factors)?;
    pass.kv_write(Point::KvWrite, &s.k, &s.v, cache)?;
    pass.attention(Point::AttnOut, &s.q, cache, &mut s.attn_out)?;
    pass.linear(Point::WoOut, &s.attn_out, &w.attn_output, &mut s.delta)?;
    pass.add(Point::XAfterAttn, &mut s.x, &s.delta)?;

    pass.rms_norm(Point::FfnNorm, &s.x, &w.ffn_norm, &mut s.normed)?;
    pass.project(
        &s.normed,
        [
            Projection { point: Point::Gate, linear: &w.gate, out: &mut s.gate },
            Projection { point: Point::Up, linear: &w.up, out: &mut s.up },
        ],
    )?;
    pass.silu_mul(Point::Act, &mut s.gate, &s.up)?;
    pass.linear(Point::MlpOut, &s.gate, &w.down, &mut s.delta)?;
    pass.add(Point::XOut, &mut s.x, &s.delta)
}

/// The residual stream of the rows `outputs` to logits `[outputs, vocab]`, in memory of `host`.
pub(super) fn logits<B: Backend>(
    pass: &mut Pass<'_, B>,
    weights: &Weights<B::Buffer>,
    s: &mut Scratch<B::Buffer>,
    outputs: &[usize],
    host: &BufferPool,
) -> Result<PooledBuffer, ModelError> {
    if outputs.is_empty() {
        return host.filled(0, |_| pass.finish());
    }
    pass.gather_rows(Point::FinalNorm, &s.x, outputs, &mut s.output_rows)?;
    pass.rms_norm_in_place(Point::FinalNorm, &mut s.output_rows, &weights.output_norm)?;
    pass.matmul(Point::Logits, &s.output_rows, weights.output(), &mut s.logits)?;
    pass.read(Point::Logits, &s.logits, host)
}
