//! A running forward pass: turns each call of `layer` into an op on the backend.

use kernels::ops::{Add, Attention, Copy, Embed, KvWrite, Matmul, RmsNorm, Rope, SiluMul};
use kernels::{Backend, DeviceError, Op, Site, Source, Valid, View};

use super::buffer_pool::{BufferPool, PooledBuffer};
use super::indices::Indices;
use super::scratch::Activation;
use super::weights::{Linear, Weight};
use super::{ModelError, Step};
use crate::config::ModelConfig;
use crate::kv_cache::KvCache;
use crate::taps::{Point, Tap, TapSink};

/// What all ops of a pass share.
pub(super) struct Pass<'a, B: Backend> {
    backend: &'a B,
    stream: &'a B::Stream,
    config: &'a ModelConfig,
    /// Positions of the cache.
    slots: usize,
    indices: Indices<B::Buffer>,
    /// Rows of the batch; after [`Pass::gather_rows`], the gathered rows.
    rows: usize,
    /// Which rows these are, for taps.
    labels: RowLabels,
    step: Step,
    layer: Option<usize>,
    taps: &'a mut dyn TapSink,
}

/// One of several matmuls of the same activations.
pub(super) struct Projection<'a, Buf> {
    pub(super) point: Point,
    pub(super) linear: &'a Linear<Buf>,
    pub(super) out: &'a mut Activation<Buf>,
}

/// Sequence and position of each row.
struct RowLabels {
    seqs: Vec<u32>,
    positions: Vec<u32>,
}

impl<'a, B: Backend> Pass<'a, B> {
    pub(super) fn new(
        backend: &'a B,
        stream: &'a B::Stream,
        config: &'a ModelConfig,
        slots: usize,
        indices: Indices<B::Buffer>,
        step: Step,
        taps: &'a mut dyn TapSink,
    ) -> Self {
        let labels = RowLabels {
            seqs: indices.seqs.values().to_vec(),
            positions: indices.positions.values().to_vec(),
        };
        let rows = indices.rows();
        Pass { indices, rows, labels, backend, stream, config, slots, step, layer: None, taps }
    }

    /// The ops that follow belong to layer `l`.
    pub(super) fn enter_layer(&mut self, l: usize) {
        self.layer = Some(l);
    }

    /// The layer of an op that only layers have.
    fn current_layer(&self) -> usize {
        self.layer.expect("the cache is read and written inside a layer")
    }

    pub(super) fn embed(
        &mut self,
        point: Point,
        table: &Weight<B::Buffer>,
        out: &mut Activation<B::Buffer>,
    ) -> Result<(), ModelError> {
        let op = Embed { table: table.view(), ids: self.indices.ids.all(), out: out.view_mut(self.rows) };
        self.launch(point, Op::Embed(op))?;
        self.tap(point, out)
    }

    pub(super) fn rms_norm(
        &mut self,
        point: Point,
        x: &Activation<B::Buffer>,
        weight: &Weight<B::Buffer>,
        out: &mut Activation<B::Buffer>,
    ) -> Result<(), ModelError> {
        let (x, out_view) = (Source::Of(x.view(self.rows)), out.view_mut(self.rows));
        let op = RmsNorm { x, weight: weight.view(), out: out_view, eps: self.config.rms_eps };
        self.launch(point, Op::RmsNorm(op))?;
        self.tap(point, out)
    }

    pub(super) fn rms_norm_in_place(
        &mut self,
        point: Point,
        x: &mut Activation<B::Buffer>,
        weight: &Weight<B::Buffer>,
    ) -> Result<(), ModelError> {
        let out = x.view_mut(self.rows);
        let op = RmsNorm { x: Source::InPlace, weight: weight.view(), out, eps: self.config.rms_eps };
        self.launch(point, Op::RmsNorm(op))?;
        self.tap(point, x)
    }

    /// Normalises each head by itself.
    pub(super) fn norm_heads(
        &mut self,
        point: Point,
        x: &mut Activation<B::Buffer>,
        weight: &Weight<B::Buffer>,
    ) -> Result<(), ModelError> {
        let out = x.head_rows_mut(self.rows, self.config.head_dim);
        let op = RmsNorm { x: Source::InPlace, weight: weight.view(), out, eps: self.config.rms_eps };
        self.launch(point, Op::RmsNorm(op))?;
        self.tap_heads(point, x)
    }

    pub(super) fn linear(
        &mut self,
        point: Point,
        x: &Activation<B::Buffer>,
        linear: &Linear<B::Buffer>,
        out: &mut Activation<B::Buffer>,
    ) -> Result<(), ModelError> {
        self.product(point, x, &linear.weight, linear.bias.as_ref(), out)
    }

    /// Matmuls of one `x` that do not depend on each other, launched together.
    pub(super) fn project<const N: usize>(
        &mut self,
        x: &Activation<B::Buffer>,
        mut projections: [Projection<'_, B::Buffer>; N],
    ) -> Result<(), ModelError> {
        let points = projections.each_ref().map(|projection| projection.point);
        let mut ops = Vec::with_capacity(N);
        for Projection { point, linear, out } in &mut projections {
            let bias = linear.bias.as_ref().map(Weight::view);
            let (x, out) = (x.view(self.rows), out.view_mut(self.rows));
            let op = Matmul { x, weight: linear.weight.view(), bias, out };
            ops.push((self.site(*point), self.validated(*point, Op::Matmul(op))?));
        }
        let launched = self.backend.launch_together(self.stream, ops);
        launched.map_err(|(nth, source)| self.device_error(points[nth], source))?;
        projections.into_iter().try_for_each(|projection| self.tap(projection.point, projection.out))
    }

    pub(super) fn matmul(
        &mut self,
        point: Point,
        x: &Activation<B::Buffer>,
        weight: &Weight<B::Buffer>,
        out: &mut Activation<B::Buffer>,
    ) -> Result<(), ModelError> {
        self.product(point, x, weight, None, out)
    }

    fn product(
        &mut self,
        point: Point,
        x: &Activation<B::Buffer>,
        weight: &Weight<B::Buffer>,
        bias: Option<&Weight<B::Buffer>>,
        out: &mut Activation<B::Buffer>,
    ) -> Result<(), ModelError> {
        let (x, bias) = (x.view(self.rows), bias.map(Weight::view));
        let op = Matmul { x, weight: weight.view(), bias, out: out.view_mut(self.rows) };
        self.launch(point, Op::Matmul(op))?;
        self.tap(point, out)
    }

    pub(super) fn rope(
        &mut self,
        point: Point,
        x: &mut Activation<B::Buffer>,
        factors: Option<&Weight<B::Buffer>>,
    ) -> Result<(), ModelError> {
        let rope = &self.config.rope;
        let op = Rope {
            x: Source::InPlace,
            positions: self.indices.positions.all(),
            factors: factors.map(Weight::view),
            out: x.heads_mut(self.rows, self.config.head_dim),
            pairing: rope.pairing,
            n_rot: rope.dims,
            base: rope.base,
            scaling: rope.scaling,
            max_positions: self.slots,
        };
        self.launch(point, Op::Rope(op))?;
        self.tap_heads(point, x)
    }

    pub(super) fn kv_write(
        &mut self,
        point: Point,
        k: &Activation<B::Buffer>,
        v: &Activation<B::Buffer>,
        cache: &mut KvCache<B::Buffer>,
    ) -> Result<(), ModelError> {
        let layer = self.current_layer();
        let head_dim = self.config.head_dim;
        let (k_cache, v_cache) = cache.layer_mut(layer)?;
        let op = KvWrite {
            k: k.heads(self.rows, head_dim),
            v: v.heads(self.rows, head_dim),
            seqs: self.indices.seqs.all(),
            positions: self.indices.positions.all(),
            k_cache,
            v_cache,
        };
        self.launch(point, Op::KvWrite(op))?;
        if self.taps.wants(point, self.layer) {
            let slots = self.labels.seqs.iter().zip(&self.labels.positions);
            let slots: Vec<_> = slots.map(|(&seq, &position)| (seq as usize, position as usize)).collect();
            let written = cache.slots_of(self.backend, self.stream, layer, &slots)?;
            self.record(point, &[2, self.rows, self.config.n_kv_head, head_dim], &written)?;
        }
        Ok(())
    }

    pub(super) fn attention(
        &mut self,
        point: Point,
        q: &Activation<B::Buffer>,
        cache: &KvCache<B::Buffer>,
        out: &mut Activation<B::Buffer>,
    ) -> Result<(), ModelError> {
        let head_dim = self.config.head_dim;
        let (k_cache, v_cache) = cache.layer(self.current_layer())?;
        let op = Attention {
            q: q.heads(self.rows, head_dim),
            k_cache,
            v_cache,
            seqs: self.indices.seqs.all(),
            positions: self.indices.positions.all(),
            out: out.heads_mut(self.rows, head_dim),
            scale: attention_scale(head_dim),
            window: self.config.window(),
            softcap: None,
        };
        self.launch(point, Op::Attention(op))?;
        self.tap_heads(point, out)
    }

    pub(super) fn add(
        &mut self,
        point: Point,
        x: &mut Activation<B::Buffer>,
        delta: &Activation<B::Buffer>,
    ) -> Result<(), ModelError> {
        let op = Add { a: Source::InPlace, b: delta.view(self.rows), out: x.view_mut(self.rows) };
        self.launch(point, Op::Add(op))?;
        self.tap(point, x)
    }

    pub(super) fn silu_mul(
        &mut self,
        point: Point,
        gate: &mut Activation<B::Buffer>,
        up: &Activation<B::Buffer>,
    ) -> Result<(), ModelError> {
        let op = SiluMul { gate: Source::InPlace, up: up.view(self.rows), out: gate.view_mut(self.rows) };
        self.launch(point, Op::SiluMul(op))?;
        self.tap(point, gate)
    }

    /// Copies the given rows of `x` to the front of `out`. The ops that follow are outside the layers and run on these rows only.
    pub(super) fn gather_rows(
        &mut self,
        point: Point,
        x: &Activation<B::Buffer>,
        rows: &[usize],
        out: &mut Activation<B::Buffer>,
    ) -> Result<(), ModelError> {
        self.layer = None;
        let mut to = 0;
        for run in rows.chunk_by(|a, b| a + 1 == *b) {
            let op = Copy { x: x.slice(run[0], run.len()), out: out.slice_mut(to, run.len()) };
            self.launch(point, Op::Copy(op))?;
            to += run.len();
        }
        let pick = |values: &[u32]| rows.iter().map(|&row| values[row]).collect();
        self.labels = RowLabels { seqs: pick(&self.labels.seqs), positions: pick(&self.labels.positions) };
        self.rows = rows.len();
        Ok(())
    }

    /// Waits for all work and returns the rows of `x`, in memory of `host`.
    pub(super) fn read(
        &self,
        point: Point,
        x: &Activation<B::Buffer>,
        host: &BufferPool,
    ) -> Result<PooledBuffer, ModelError> {
        let View { buffer, layout } = x.view(self.rows);
        let range = layout.byte_range().expect("the op that wrote `x` was validated");
        host.filled(range.len() / size_of::<f32>(), |values| {
            let to = bytemuck::cast_slice_mut(values);
            let read = self.backend.read_into(self.stream, buffer, range, &self.site(point), to);
            read.map_err(|source| self.device_error(point, source))
        })
    }

    /// Waits for all work.
    pub(super) fn finish(&self) -> Result<(), ModelError> {
        self.backend.synchronize(self.stream).map_err(|source| self.device_error(Point::XOut, source))
    }

    /// Gives the rows of `x` to the tap sink if it wants them.
    pub(super) fn tap(&mut self, point: Point, x: &Activation<B::Buffer>) -> Result<(), ModelError> {
        self.tap_view(point, x.view(self.rows))
    }

    fn tap_heads(&mut self, point: Point, x: &Activation<B::Buffer>) -> Result<(), ModelError> {
        self.tap_view(point, x.heads(self.rows, self.config.head_dim))
    }

    fn tap_view(&mut self, point: Point, x: View<'_, B::Buffer>) -> Result<(), ModelError> {
        if !self.taps.wants(point, self.layer) {
            return Ok(());
        }
        let values = self.read_back(point, x)?;
        self.record(point, x.layout.shape(), &values)
    }

    fn record(&mut self, point: Point, shape: &[usize], values: &[f32]) -> Result<(), ModelError> {
        let RowLabels { seqs, positions } = &self.labels;
        let Step { number: step, phase } = self.step;
        let tap = Tap { point, layer: self.layer, step, phase, seqs, positions, shape, values };
        Ok(self.taps.record(&tap)?)
    }

    fn read_back(&self, point: Point, x: View<'_, B::Buffer>) -> Result<Vec<f32>, ModelError> {
        let read = self.backend.read(self.stream, x, &self.site(point)).and_then(kernels::Readback::wait);
        let tensor = read.map_err(|source| self.device_error(point, source))?;
        Ok(tensor.f32s().expect("activations are f32"))
    }

    fn launch(&self, point: Point, op: Op<'_, B::Buffer>) -> Result<(), ModelError> {
        let valid = self.validated(point, op)?;
        self.backend.enter(&self.site(point));
        self.backend.launch(self.stream, valid).map_err(|source| self.device_error(point, source))
    }

    fn validated<'o>(
        &self,
        point: Point,
        op: Op<'o, B::Buffer>,
    ) -> Result<Valid<Op<'o, B::Buffer>>, ModelError> {
        op.validate().map_err(|source| ModelError::Op { site: self.site(point), source: Box::new(source) })
    }

    fn device_error(&self, point: Point, source: DeviceError) -> ModelError {
        ModelError::Device { site: Box::new(self.site(point)), source }
    }

    fn site(&self, point: Point) -> Site {
        let Step { number: step, phase } = self.step;
        Site { step, phase, layer: self.layer, point: point.name().into() }
    }
}

/// `1 / √head_dim`.
#[expect(clippy::cast_possible_truncation, reason = "the op takes the nearest f32")]
fn attention_scale(head_dim: usize) -> f32 {
    (1.0 / (head_dim as f64).sqrt()) as f32
}
