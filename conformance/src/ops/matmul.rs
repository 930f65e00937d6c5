//! Cases of `matmul`.

use kernels::{Activations, Check, DType, Layout, Record, Size, Stem, Weights};
use proptest::prelude::*;
use proptest::sample::select;
use serde::{Deserialize, Serialize};

use super::rowwise::spoil;
use super::{EDGES, columns};
use crate::covering::{Axes, Strength};
use crate::data::{Data, Operands, Packing, Random};
use crate::family::Family;
use crate::name::Kind;
use crate::trial::{Stop, Trial};
use crate::weights::{Style, weights};

/// Cases of `matmul`.
#[derive(Debug)]
pub struct Matmul;

/// The family of this op.
pub type Cases = Matmul;

/// What distinguishes the cases of `matmul`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spec {
    format: DType,
    kind: Kind,
    topic: Topic,
    m: usize,
    n: usize,
    k: usize,
    bias: bool,
    data: Data,
    /// Whether the weights are column-major.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    columns: bool,
    packing: Packing,
    seed: u64,
}

/// What a case is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Topic {
    /// Comparison with the oracle.
    Values,
    /// A single 1 among zeros picks out a column of the weights.
    UnitVectors,
    /// NaN and infinity in one row of the activations stay in that row.
    Containment,
    /// Activations from denormal to huge.
    Extremes,
    /// A row's result does not depend on the other rows.
    RowInvariance,
    /// Column-major weights give the same as those weights in rows.
    Layouts,
    /// Column-major weights in blocks must be refused.
    ColumnsOfBlocks,
}

impl Spec {
    /// A small case.
    fn plain(format: DType) -> Self {
        Spec {
            format,
            kind: Kind::Bounded,
            topic: Topic::Values,
            m: 3,
            n: 5,
            k: 256,
            bias: false,
            data: Data::Gauss,
            columns: false,
            packing: Packing::Dense,
            seed: 1,
        }
    }

    fn x(&self) -> Vec<f32> {
        self.data.values(&mut Random::new(self.seed), self.m, self.k)
    }

    fn record(&self, m: usize, x: &[f32]) -> Record {
        let random = &mut Random::new(self.seed ^ 0x77);
        let style = if self.kind == Kind::Exact { Style::Integers } else { Style::Model };
        let weight = weights(self.format, style, random, self.n, self.k);
        let order = if self.columns { &[1, 0] } else { &[0, 1] };
        let mut record = Record::new(Stem::Matmul).floats("x", &[m, self.k], x, self.packing).bytes_in(
            "weight",
            self.format,
            &[self.n, self.k],
            &weight,
            self.packing,
            order,
        );
        if self.bias {
            let bias = self.data.values(random, 1, self.n);
            record = record.floats("bias", &[self.n], &bias, Packing::Dense);
        }
        record.out("out", DType::F32, &[m, self.n], self.packing)
    }
}

/// Rows of the activations: one by one, around the widths of tiles, and a whole batch.
const ROWS: [usize; 11] = [1, 2, 3, 4, 7, 8, 31, 32, 33, 64, 65];

/// Rows of the weights.
const OUTPUTS: [usize; 9] = [1, 2, 31, 32, 33, 64, 65, 127, 129];

impl Matmul {
    /// Cases of column-major weights.
    fn column_major() -> Vec<Spec> {
        let plain = Spec { columns: true, ..Spec::plain(DType::F32) };
        let axes = |data: &'static [Data]| {
            Axes::new()
                .axis(DType::FLOATS, |s: &mut Spec, v| s.format = v)
                .axis([1, 3, 8, 33], |s: &mut Spec, v| s.m = v)
                .axis([1, 2, 31, 33, 129], |s: &mut Spec, v| s.n = v)
                // Square with 33, where reading rows for columns stays inside.
                .axis([1, 33, 64, 255, 576], |s: &mut Spec, v| s.k = v)
                .axis([false, true], |s: &mut Spec, v| s.bias = v)
                .axis(data.iter().copied(), |s: &mut Spec, v| s.data = v)
                .axis([Packing::Dense, Packing::Padded], |s: &mut Spec, v| s.packing = v)
        };
        let any = |_: &Spec| true;
        let mut specs = axes(&[Data::Gauss, Data::Heavy]).array(&plain, Strength::Triples, any);
        let exact = Spec { kind: Kind::Exact, ..plain.clone() };
        specs.extend(axes(&[Data::Integers]).array(&exact, Strength::Pairs, any));
        let law = Spec { kind: Kind::Law, topic: Topic::Layouts, ..plain.clone() };
        specs.extend(axes(&[Data::Gauss]).array(&law, Strength::Pairs, any));
        let blocks = Spec { kind: Kind::Hostile, topic: Topic::ColumnsOfBlocks, columns: false, ..plain };
        let quantised = DType::WEIGHTS.into_iter().filter(|format| format.is_quantised());
        specs.extend(quantised.map(|format| Spec { format, ..blocks.clone() }));
        specs
    }
}

impl Family for Matmul {
    const STEM: Stem = Stem::Matmul;
    type Spec = Spec;

    fn enumerate() -> Vec<Spec> {
        let mut specs = Vec::new();
        for format in DType::WEIGHTS {
            let plain = Spec::plain(format);
            let axes = |rows: &'static [usize], outputs: &'static [usize], data: &'static [Data]| {
                Axes::new()
                    .axis(rows.iter().copied(), |s: &mut Spec, v| s.m = v)
                    .axis(outputs.iter().copied(), |s: &mut Spec, v| s.n = v)
                    .axis(columns(format), |s: &mut Spec, v| s.k = v)
                    .axis([false, true], |s: &mut Spec, v| s.bias = v)
                    .axis(data.iter().copied(), |s: &mut Spec, v| s.data = v)
                    .axis([Packing::Dense, Packing::Padded], |s: &mut Spec, v| s.packing = v)
            };
            let any = |_: &Spec| true;
            let exact = Spec { kind: Kind::Exact, ..plain.clone() };
            specs.extend(axes(&ROWS, &OUTPUTS, &[Data::Integers]).array(&exact, Strength::Pairs, any));
            let unit = Spec { topic: Topic::UnitVectors, ..exact.clone() };
            specs.extend(axes(&[4], &[9, 129], &[Data::Integers]).array(&unit, Strength::Pairs, any));
            for topic in [Topic::Containment, Topic::Extremes] {
                let hostile = Spec { kind: Kind::Hostile, topic, ..plain.clone() };
                specs.extend(axes(&[5, 33], &[9, 33, 129], &[Data::Gauss]).array(
                    &hostile,
                    Strength::Pairs,
                    any,
                ));
            }
            let law = Spec { kind: Kind::Law, topic: Topic::RowInvariance, ..plain.clone() };
            specs.extend(axes(&[5, 33], &[9, 33, 129], &[Data::Gauss]).array(&law, Strength::Pairs, any));
            specs.push(Spec { m: 512, n: 33, data: Data::Outliers, ..plain.clone() });
            // As in real models: the longest rows of weights.
            for (m, n, k) in [(1, 3, 16_384), (2, 3, 8192), (9, 2, 6400)] {
                specs.push(Spec { m, n, k, ..plain.clone() });
            }
        }
        let plain = Spec { kind: Kind::Bounded, data: Data::Gauss, ..specs[0].clone() };
        let axes = Axes::new()
            .axis(DType::WEIGHTS, |s: &mut Spec, v| s.format = v)
            .axis(ROWS, |s: &mut Spec, v| s.m = v)
            .axis(OUTPUTS, |s: &mut Spec, v| s.n = v)
            .axis(0..EDGES.len(), |s: &mut Spec, nth| s.k = columns(s.format).get(nth).copied().unwrap_or(0))
            .axis([false, true], |s: &mut Spec, v| s.bias = v)
            .axis(Data::RANDOM, |s: &mut Spec, v| s.data = v)
            .axis([Packing::Dense, Packing::Padded], |s: &mut Spec, v| s.packing = v);
        specs.extend(axes.array(&plain, Strength::Triples, |s| s.k > 0));
        // The largest vocabularies.
        for (format, n, k) in
            [(DType::F16, 262_144, 32), (DType::Q8_0, 151_936, 32), (DType::Q6K, 49_152, 256)]
        {
            specs.push(Spec { format, m: 1, n, k, packing: Packing::Dense, ..plain.clone() });
        }
        // More rows, and more tiles in either direction, than fit in 16 bits.
        for (m, n) in [(65_537, 1), (3, 65_537)] {
            specs.push(Spec { m, n, k: 32, packing: Packing::Dense, ..plain.clone() });
        }
        specs.extend(Self::column_major());
        for (at, spec) in specs.iter_mut().enumerate() {
            spec.seed = 1 + at as u64;
        }
        specs
    }

    fn strategy() -> BoxedStrategy<Spec> {
        let shape = (1usize..70, 1usize..140, 1usize..40);
        let format = select(DType::WEIGHTS.to_vec());
        let data = select(Data::RANDOM.to_vec());
        let columns = prop_oneof![3 => Just(false), 1 => Just(true)];
        (format, shape, any::<bool>(), data, (columns, any::<bool>()), any::<u64>())
            .prop_map(|(format, (m, n, blocks), bias, data, (columns, padded), seed)| {
                let columns = columns && !format.is_quantised();
                let k = if format.block_len() == 256 { blocks.div_ceil(8) } else { blocks }
                    * format.block_len().max(3);
                let packing = if padded { Packing::Padded } else { Packing::Dense };
                let (kind, topic) = (Kind::Bounded, Topic::Values);
                Spec { format, kind, topic, m, n, k, bias, data, columns, packing, seed }
            })
            .boxed()
    }

    fn forms() -> Vec<Spec> {
        let rows = |format| [1, 2, 3, 8, 33].map(|m| Spec { m, bias: m == 2, ..Spec::plain(format) });
        let columns = Spec { columns: true, ..Spec::plain(DType::F16) };
        DType::WEIGHTS.into_iter().flat_map(rows).chain([columns]).collect()
    }

    fn record(spec: &Spec) -> Record {
        spec.record(spec.m, &spec.x())
    }

    fn resize(spec: &mut Spec, size: Size, to: usize) -> bool {
        match size {
            Size::Dim("x", 0) => spec.m = to,
            Size::Dim("x", 1) => (spec.k, spec.n) = (to, 2),
            Size::Dim("weight", 0) => spec.n = to,
            _ => return false,
        }
        true
    }

    fn granule(spec: &Spec, size: Size) -> usize {
        if size == Size::Dim("x", 1) { spec.format.block_len() } else { 1 }
    }

    fn run(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
        match spec.topic {
            Topic::Values if spec.kind == Kind::Exact => exact(spec, trial, &spec.x()),
            Topic::Values => trial.conform_visibly(&spec.record(spec.m, &spec.x())).map(drop),
            Topic::UnitVectors => {
                let mut x = vec![0.0; spec.m * spec.k];
                for row in 0..spec.m {
                    x[row * spec.k + (row * 7919 + 13) % spec.k] = 1.0;
                }
                exact(spec, trial, &x)
            }
            Topic::Containment => {
                let mut x = spec.x();
                spoil(&mut x, spec.k);
                trial.conform(&spec.record(spec.m, &x)).map(drop)
            }
            Topic::Extremes => {
                let mut x = spec.x();
                for (row, factor) in x.chunks_mut(spec.k).zip([0.0f32, 1e-42, 1e-20, 1e20, 1.0]) {
                    row.iter_mut().for_each(|v| *v *= factor);
                }
                trial.conform(&spec.record(spec.m, &x)).map(drop)
            }
            Topic::RowInvariance => row_invariance(spec, trial),
            Topic::Layouts => {
                let rows = Spec { columns: false, ..spec.clone() };
                let [rows, columns] = [&rows, spec].map(|s| trial.outputs(&s.record(s.m, &s.x())));
                trial.same_rows("column-major = row-major", &rows?[0].2, &columns?[0].2);
                Ok(())
            }
            Topic::ColumnsOfBlocks => {
                let record = spec.record(spec.m, &spec.x());
                trial.refused(&columns_of_blocks(&record), "weight", Check::Stride);
                Ok(())
            }
        }
    }
}

/// The op with its weights called column-major, blocks or not.
fn columns_of_blocks(record: &Record) -> Record {
    record.operands().iter().fold(Record::new(record.stem), |changed, operand| {
        let layout = match operand.name.as_str() {
            "weight" => {
                let (n, k) = (operand.layout.dim(0), operand.layout.dim(1));
                Layout::strided(operand.layout.dtype(), &[n, k], &[1, n])
            }
            _ => operand.layout,
        };
        changed.operand(&operand.name, operand.role, layout, operand.bytes.clone())
    })
}

/// Integers with sums below 2^24: equal bits in any order, unless the backend declares that it rounds the operands.
fn exact(spec: &Spec, trial: &mut Trial<'_>, x: &[f32]) -> Result<(), Stop> {
    let record = spec.record(spec.m, x);
    let numerics = trial.numerics(&record);
    let as_they_are =
        numerics.activations == Activations::Exact && !matches!(numerics.weights, Weights::Rounded(_));
    if as_they_are { trial.conform_exactly(&record).map(drop) } else { trial.conform(&record).map(drop) }
}

fn row_invariance(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
    let x = spec.x();
    let whole = trial.outputs(&spec.record(spec.m, &x))?;
    let per_row = whole[0].2.len() / spec.m;
    for (row, (values, together)) in x.chunks(spec.k).zip(whole[0].2.chunks(per_row)).enumerate() {
        let alone = trial.outputs(&spec.record(1, values))?;
        trial.same_rows(&format!("row invariance, row {row}"), together, &alone[0].2);
    }
    Ok(())
}
