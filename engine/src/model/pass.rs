//! One forward pass under way: from a line of `layer` to an op on the backend.

use kernels::ops::{Add, Attention, Copy, Embed, KvWrite, Matmul, RmsNorm, Rope, SiluMul};
use kernels::{Backend, DeviceError, IndexBuffer, Op, Site, Source, Tag, Valid, View};

use super::buffer_pool::{Home, Lent};
use super::scratch::Activation;
use super::weights::{Linear, Weight};
use super::{Batch, ModelError, Place, Step};
use crate::config::ModelConfig;
use crate::kv_cache::KvCache;
use crate::taps::{Point, Tap, TapSink};

/// What all ops of a pass have in common.
pub(super) struct Pass<'a, B: Backend> {
    backend: &'a B,
    stream: &'a B::Stream,
    config: &'a ModelConfig,
    /// Positions of the cache.
    slots: usize,
    ids: IndexBuffer<B::Buffer>,
    seqs: IndexBuffer<B::Buffer>,
    positions: IndexBuffer<B::Buffer>,
    /// Rows of the batch; from [`Pass::choose`] on, those that were chosen.
    rows: usize,
    /// Sequence and position of each of them, for taps.
    shown: Shown,
    step: Step,
    layer: Option<usize>,
    taps: &'a mut dyn TapSink,
}

/// One of several products of the same activations.
pub(super) struct Branch<'a, Buf> {
    pub(super) point: Point,
    pub(super) linear: &'a Linear<Buf>,
    pub(super) out: &'a mut Activation<Buf>,
}

struct Shown {
    seqs: Vec<u32>,
    positions: Vec<u32>,
}

impl<'a, B: Backend> Pass<'a, B> {
    pub(super) fn new(
        backend: &'a B,
        stream: &'a B::Stream,
        config: &'a ModelConfig,
        slots: usize,
        batch: &Batch,
        step: Step,
        taps: &'a mut dyn TapSink,
    ) -> Result<Self, ModelError> {
        let shown = Shown { seqs: batch.column(|row| row.seq), positions: batch.column(|row| row.position) };
        let upload = |values: &[u32], label: &str| {
            let load = |source| ModelError::Load { what: label.into(), source };
            backend.indices(stream, values, label).map_err(load)
        };
        Ok(Pass {
            ids: upload(&batch.column(|row| row.token), "token ids")?,
            seqs: upload(&shown.seqs, "sequences")?,
            positions: upload(&shown.positions, "positions")?,
            rows: batch.rows().len(),
            shown,
            backend,
            stream,
            config,
            slots,
            step,
            layer: None,
            taps,
        })
    }

    /// What follows belongs to layer `l`.
    pub(super) fn enter(&mut self, l: usize) {
        self.layer = Some(l);
    }

    pub(super) fn embed(
        &mut self,
        point: Point,
        table: &Weight<B::Buffer>,
        out: &mut Activation<B::Buffer>,
    ) -> Result<(), ModelError> {
        let op = Embed { table: table.view(), ids: self.ids.all(), out: out.view_mut(self.rows) };
        self.launch(point, Op::Embed(op))?;
        self.show(point, out)
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
        self.show(point, out)
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
        self.show(point, x)
    }

    /// Normalises each head for itself.
    pub(super) fn norm_heads(
        &mut self,
        point: Point,
        x: &mut Activation<B::Buffer>,
        weight: &Weight<B::Buffer>,
    ) -> Result<(), ModelError> {
        let out = x.head_rows_mut(self.rows, self.config.head_dim);
        let op = RmsNorm { x: Source::InPlace, weight: weight.view(), out, eps: self.config.rms_eps };
        self.launch(point, Op::RmsNorm(op))?;
        self.show_heads(point, x)
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

    /// Products of one `x`, none of which needs another.
    pub(super) fn linears<const N: usize>(
        &mut self,
        x: &Activation<B::Buffer>,
        mut branches: [Branch<'_, B::Buffer>; N],
    ) -> Result<(), ModelError> {
        let points = branches.each_ref().map(|branch| branch.point);
        let mut ops = Vec::with_capacity(N);
        for Branch { point, linear, out } in &mut branches {
            let bias = linear.bias.as_ref().map(Weight::view);
            let (x, out) = (x.view(self.rows), out.view_mut(self.rows));
            let op = Matmul { x, weight: linear.weight.view(), bias, out };
            ops.push((self.site(*point), self.validated(*point, Op::Matmul(op))?));
        }
        let launched = self.backend.launch_together(self.stream, ops);
        launched.map_err(|(nth, source)| self.device_error(points[nth], source))?;
        branches.into_iter().try_for_each(|branch| self.show(branch.point, branch.out))
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
        self.show(point, out)
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
            positions: self.positions.all(),
            factors: factors.map(Weight::view),
            out: x.heads_mut(self.rows, self.config.head_dim),
            pairing: rope.pairing,
            n_rot: rope.dims,
            base: rope.base,
            scaling: rope.scaling,
            max_positions: self.slots,
        };
        self.launch(point, Op::Rope(op))?;
        self.show_heads(point, x)
    }

    pub(super) fn kv_write(
        &mut self,
        point: Point,
        k: &Activation<B::Buffer>,
        v: &Activation<B::Buffer>,
        cache: &mut KvCache<B::Buffer>,
    ) -> Result<(), ModelError> {
        let layer = self.layer.unwrap_or_default();
        let head_dim = self.config.head_dim;
        let (k_cache, v_cache) = cache.layer_mut(layer)?;
        let op = KvWrite {
            k: k.heads(self.rows, head_dim),
            v: v.heads(self.rows, head_dim),
            seqs: self.seqs.all(),
            positions: self.positions.all(),
            k_cache,
            v_cache,
        };
        self.launch(point, Op::KvWrite(op))?;
        if self.taps.wants(point, self.layer) {
            let slots = self.shown.seqs.iter().zip(&self.shown.positions);
            let slots: Vec<_> = slots.map(|(&seq, &position)| (seq as usize, position as usize)).collect();
            let written = cache.slots_of(self.backend, self.stream, layer, &slots)?;
            self.take(point, &[2, self.rows, self.config.n_kv_head, head_dim], &written)?;
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
        let (k_cache, v_cache) = cache.layer(self.layer.unwrap_or_default())?;
        let op = Attention {
            q: q.heads(self.rows, head_dim),
            k_cache,
            v_cache,
            seqs: self.seqs.all(),
            positions: self.positions.all(),
            out: out.heads_mut(self.rows, head_dim),
            scale: attention_scale(head_dim),
            window: self.config.window(),
            softcap: None,
        };
        self.launch(point, Op::Attention(op))?;
        self.show_heads(point, out)
    }

    pub(super) fn add(
        &mut self,
        point: Point,
        x: &mut Activation<B::Buffer>,
        change: &Activation<B::Buffer>,
    ) -> Result<(), ModelError> {
        let op = Add { a: Source::InPlace, b: change.view(self.rows), out: x.view_mut(self.rows) };
        self.launch(point, Op::Add(op))?;
        self.show(point, x)
    }

    pub(super) fn silu_mul(
        &mut self,
        point: Point,
        gate: &mut Activation<B::Buffer>,
        up: &Activation<B::Buffer>,
    ) -> Result<(), ModelError> {
        let op = SiluMul { gate: Source::InPlace, up: up.view(self.rows), out: gate.view_mut(self.rows) };
        self.launch(point, Op::SiluMul(op))?;
        self.show(point, gate)
    }

    /// Copies the rows `chosen` of `x` to the front of `out`; what follows is about these rows alone.
    pub(super) fn choose(
        &mut self,
        point: Point,
        x: &Activation<B::Buffer>,
        chosen: &[usize],
        out: &mut Activation<B::Buffer>,
    ) -> Result<(), ModelError> {
        self.layer = None;
        let mut to = 0;
        for run in chosen.chunk_by(|a, b| a + 1 == *b) {
            let op = Copy { x: x.slice(run[0], run.len()), out: out.slice_mut(to, run.len()) };
            self.launch(point, Op::Copy(op))?;
            to += run.len();
        }
        let pick = |values: &[u32]| chosen.iter().map(|&row| values[row]).collect();
        self.shown = Shown { seqs: pick(&self.shown.seqs), positions: pick(&self.shown.positions) };
        self.rows = chosen.len();
        Ok(())
    }

    /// Waits for all work and returns the rows of `x`, in memory of `host`.
    pub(super) fn read(
        &self,
        point: Point,
        x: &Activation<B::Buffer>,
        host: &Home,
    ) -> Result<Lent, ModelError> {
        let View { buffer, layout } = x.view(self.rows);
        let range = layout.byte_range().unwrap_or_default();
        host.lend(range.len() / size_of::<f32>(), |values| {
            let to = bytemuck::cast_slice_mut(values);
            let read = self.backend.read_into(self.stream, buffer, range, self.tag(point), to);
            read.map_err(|source| self.device_error(point, source))
        })
    }

    /// Waits for all work.
    pub(super) fn finish(&self) -> Result<(), ModelError> {
        self.backend.synchronize(self.stream).map_err(|source| self.device_error(Point::XOut, source))
    }

    /// Shows the rows of `x` to the taps, if they want them.
    pub(super) fn show(&mut self, point: Point, x: &Activation<B::Buffer>) -> Result<(), ModelError> {
        self.tap(point, x.view(self.rows))
    }

    fn show_heads(&mut self, point: Point, x: &Activation<B::Buffer>) -> Result<(), ModelError> {
        self.tap(point, x.heads(self.rows, self.config.head_dim))
    }

    fn tap(&mut self, point: Point, x: View<'_, B::Buffer>) -> Result<(), ModelError> {
        if !self.taps.wants(point, self.layer) {
            return Ok(());
        }
        let values = self.fetch(point, x)?;
        self.take(point, x.layout.shape(), &values)
    }

    fn take(&mut self, point: Point, shape: &[usize], values: &[f32]) -> Result<(), ModelError> {
        let Shown { seqs, positions } = &self.shown;
        let Step { number: step, phase } = self.step;
        let tap = Tap { point, layer: self.layer, step, phase, seqs, positions, shape, values };
        Ok(self.taps.take(&tap)?)
    }

    fn fetch(&self, point: Point, x: View<'_, B::Buffer>) -> Result<Vec<f32>, ModelError> {
        let read = self.backend.read(self.stream, x, self.tag(point)).and_then(kernels::Readback::wait);
        let tensor = read.map_err(|source| self.device_error(point, source))?;
        Ok(tensor.f32s().unwrap_or_default())
    }

    fn launch(&self, point: Point, op: Op<'_, B::Buffer>) -> Result<(), ModelError> {
        let valid = self.validated(point, op)?;
        self.backend.enter(self.site(point));
        self.backend.launch(self.stream, valid).map_err(|source| self.device_error(point, source))
    }

    fn validated<'o>(
        &self,
        point: Point,
        op: Op<'o, B::Buffer>,
    ) -> Result<Valid<Op<'o, B::Buffer>>, ModelError> {
        op.validate().map_err(|source| ModelError::Op { place: self.place(point), source })
    }

    fn device_error(&self, point: Point, source: DeviceError) -> ModelError {
        ModelError::Device { place: self.place(point), source }
    }

    fn tag(&self, point: Point) -> Tag<'static> {
        Tag { tensor: point.name(), step: self.step.number, layer: self.layer }
    }

    fn place(&self, point: Point) -> Place {
        Place { layer: self.layer, point }
    }

    fn site(&self, point: Point) -> Site {
        let Step { number: step, phase } = self.step;
        Site { step, phase, layer: self.layer, point: point.name() }
    }
}

/// `1 / √head_dim`.
#[expect(clippy::cast_possible_truncation, reason = "the op takes the nearest f32")]
fn attention_scale(head_dim: usize) -> f32 {
    (1.0 / (head_dim as f64).sqrt()) as f32
}
