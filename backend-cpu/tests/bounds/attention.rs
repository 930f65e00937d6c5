//! Bound of `attention`.

use kernels::{DType, Depth, Layout, Numerics, Record, Role, Stem, Verdict, quant};

use crate::{Numbers, ORDERS, indices, input, judge, output};

/// One query head over `v.len() / dim` keys.
#[derive(Clone)]
struct Head {
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
    scale: f32,
    softcap: Option<f32>,
}

impl Head {
    fn random(numbers: &mut Numbers, keys: usize, dim: usize, spread: f32, softcap: Option<f32>) -> Self {
        let mut take = |n| numbers.take(n).iter().map(|v| v * spread).collect::<Vec<_>>();
        Head { q: take(dim), k: take(keys * dim), v: take(keys * dim), scale: 0.125, softcap }
    }

    fn keys(&self) -> usize {
        self.k.len() / self.q.len()
    }

    fn judge(&self, numerics: &Numerics, got: &[f32]) -> Verdict {
        let (keys, dim) = (self.keys(), self.q.len());
        let record = Record::new(Stem::Attention).param("scale", self.scale).param("softcap", self.softcap);
        let record = input(record.param("window", ()), "q", &[1, 1, dim], &self.q);
        let record = input(record, "k_cache", &[1, keys, 1, dim], &self.k);
        let record = input(record, "v_cache", &[1, keys, 1, dim], &self.v);
        let last = u32::try_from(keys).expect("few keys") - 1;
        let record = indices(indices(record, "seqs", &[0]), "positions", &[last]);
        judge(&output(record, "out", &[1, 1, dim]), numerics, got)
    }

    /// Scores in f32, summed in a given order, capped.
    fn scores(&self, sum: fn(&[f32]) -> f32) -> Vec<f32> {
        let score = |k: &[f32]| {
            let products: Vec<f32> = self.q.iter().zip(k).map(|(q, k)| q * k).collect();
            let score = self.scale * sum(&products);
            self.softcap.map_or(score, |c| c * (score / c).tanh())
        };
        self.k.chunks(self.q.len()).map(score).collect()
    }

    /// All weights first, normalised, then the weighted mean.
    fn whole(&self, sum: fn(&[f32]) -> f32) -> Vec<f32> {
        let scores = self.scores(sum);
        let max = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let weights: Vec<f32> = scores.iter().map(|s| (s - max).exp()).collect();
        let inverse = 1.0 / sum(&weights);
        let dim = self.q.len();
        (0..dim)
            .map(|d| {
                let terms: Vec<f32> =
                    weights.iter().zip(self.v.chunks(dim)).map(|(w, v)| w * inverse * v[d]).collect();
                sum(&terms)
            })
            .collect()
    }

    /// Key by key, rescaling when the maximum grows.
    fn part(&self, scores: &[f32], first: usize) -> Part {
        let dim = self.q.len();
        let mut part = Part { max: f32::NEG_INFINITY, sum: 0.0, values: vec![0.0; dim] };
        for (s, v) in scores.iter().zip(self.v[first * dim..].chunks(dim)) {
            part.add(&Part { max: *s, sum: 1.0, values: v.to_vec() });
        }
        part
    }

    fn online(&self) -> Vec<f32> {
        self.part(&self.scores(ORDERS[0]), 0).divided()
    }

    /// Parts of `len` keys, joined by their maxima and sums.
    fn split(&self, len: usize) -> Vec<f32> {
        let scores = self.scores(ORDERS[2]);
        let mut parts = scores.chunks(len).enumerate().map(|(i, scores)| self.part(scores, i * len));
        let mut all = parts.next().expect("at least one key");
        parts.for_each(|part| all.add(&part));
        all.divided()
    }

    /// Parts of `len` keys, each divided by its sum, joined by the logarithms of the sums.
    fn split_by_logarithms(&self, len: usize) -> Vec<f32> {
        let scores = self.scores(ORDERS[3]);
        let parts: Vec<(f32, Vec<f32>)> = scores
            .chunks(len)
            .enumerate()
            .map(|(i, scores)| {
                let part = self.part(scores, i * len);
                (part.max + part.sum.ln(), part.divided())
            })
            .collect();
        let max = parts.iter().map(|(log, _)| *log).fold(f32::NEG_INFINITY, f32::max);
        let total = max + parts.iter().map(|(log, _)| (log - max).exp()).sum::<f32>().ln();
        let mut out = vec![0.0; self.q.len()];
        for (log, values) in &parts {
            out.iter_mut().zip(values).for_each(|(o, v)| *o += (log - total).exp() * v);
        }
        out
    }

    /// Powers of two, with scale and logarithm folded into the query.
    fn power_of_two(&self) -> Vec<f32> {
        let factor = self.scale * std::f32::consts::LOG2_E;
        let q: Vec<f32> = self.q.iter().map(|q| q * factor).collect();
        let dim = q.len();
        let scores: Vec<f32> =
            self.k.chunks(dim).map(|k| q.iter().zip(k).fold(0.0, |s, (q, k)| q.mul_add(*k, s))).collect();
        let max = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let weights: Vec<f32> = scores.iter().map(|s| (s - max).exp2()).collect();
        let sum: f32 = weights.iter().rev().sum();
        let column =
            |d: usize| weights.iter().zip(self.v.chunks(dim)).fold(0.0, |s, (w, v)| w.mul_add(v[d], s));
        (0..dim).map(|d| column(d) / sum).collect()
    }

    /// Every way above of computing it.
    fn all_ways(&self) -> Vec<Vec<f32>> {
        let mut ways: Vec<_> = ORDERS.into_iter().map(|sum| self.whole(sum)).collect();
        ways.extend([self.online(), self.split(7), self.split(64), self.split_by_logarithms(16)]);
        if self.softcap.is_none() {
            ways.push(self.power_of_two());
        }
        ways
    }
}

/// Some keys of an online softmax: the weights relative to `max`, summed, alone and with the values.
struct Part {
    max: f32,
    sum: f32,
    values: Vec<f32>,
}

impl Part {
    fn add(&mut self, other: &Part) {
        let max = self.max.max(other.max);
        let (old, new) = ((self.max - max).exp(), (other.max - max).exp());
        self.max = max;
        self.sum = self.sum * old + other.sum * new;
        self.values.iter_mut().zip(&other.values).for_each(|(a, b)| *a = *a * old + b * new);
    }

    fn divided(&self) -> Vec<f32> {
        self.values.iter().map(|v| v / self.sum).collect()
    }
}

#[test]
fn f32_in_any_order_stays_inside() {
    let mut numbers = Numbers::new(21);
    for (keys, dim) in [(1, 1), (2, 64), (33, 7), (65, 64), (700, 64), (64, 128)] {
        for spread in [1e-12, 1.0, 6.0, 30.0] {
            for softcap in [None, Some(5.0)] {
                let head = Head::random(&mut numbers, keys, dim, spread, softcap);
                for (way, got) in head.all_ways().iter().enumerate() {
                    let verdict = head.judge(&Numerics::F32, got);
                    assert!(
                        verdict.passed(),
                        "keys={keys} dim={dim} spread={spread} cap={softcap:?} way={way}: {verdict:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn increasing_scores_rescale_at_each_key() {
    let keys = 1000u16;
    let k = (0..keys).map(|i| f32::from(i) * 0.013).collect();
    let head = Head { q: vec![1.0], k, v: Numbers::new(22).take(keys.into()), scale: 1.0, softcap: None };
    for got in [head.online(), head.split(10), head.split_by_logarithms(10)] {
        let verdict = head.judge(&Numerics::F32, &got);
        assert!(verdict.passed(), "{verdict:?}");
    }
}

/// Equal scores and values of small integers: the mean is exact where the number of keys is a power of two.
fn exact(keys: usize) -> Head {
    let v = (0..keys * 8).map(|i| if i / 8 == keys - 1 { 4.0 } else { [1.0, 2.0][i % 2] }).collect();
    Head { q: vec![0.0; 8], k: vec![1.0; keys * 8], v, scale: 1.0, softcap: None }
}

#[test]
fn the_last_key_left_out_falls_outside() {
    for keys in [2usize, 33, 1024] {
        let head = exact(keys);
        assert!(head.judge(&Numerics::F32, &head.online()).passed());
        let mut short = head.clone();
        short.k.truncate((keys - 1) * 8);
        short.v.truncate((keys - 1) * 8);
        let verdict = head.judge(&Numerics::F32, &short.online());
        assert_eq!(verdict.outside, 8, "keys={keys}: {verdict:?}");
    }
}

#[test]
fn one_dropped_product_of_a_score_falls_outside() {
    let mut head = exact(16);
    (head.q, head.scale) = (vec![1.0; 8], 0.25);
    head.k.iter_mut().enumerate().for_each(|(i, k)| *k = [1.0, -1.0, 2.0][i % 3]);
    assert!(head.judge(&Numerics::F32, &head.online()).passed());
    let mut dropped = head.clone();
    dropped.q[7] = 0.0;
    assert_eq!(head.judge(&Numerics::F32, &dropped.online()).outside, 8);
}

#[test]
fn a_scale_or_a_cap_left_out_falls_outside() {
    let head = Head::random(&mut Numbers::new(23), 40, 64, 2.0, Some(3.0));
    let wrong = [
        Head { scale: 1.0, ..head.clone() },
        Head { scale: head.scale * head.scale, ..head.clone() },
        Head { softcap: None, ..head.clone() },
    ];
    for wrong in wrong {
        assert!(head.judge(&Numerics::F32, &wrong.online()).outside > 32);
    }
}

#[test]
fn a_cap_before_the_scale_falls_outside() {
    let head = Head::random(&mut Numbers::new(24), 40, 64, 2.0, Some(3.0));
    let capped_first: Vec<f32> = Head { scale: 1.0, ..head.clone() }.scores(ORDERS[0]);
    let got = head.part(&capped_first.iter().map(|s| s * head.scale).collect::<Vec<_>>(), 0).divided();
    assert!(!head.judge(&Numerics::F32, &got).passed());
}

#[test]
fn a_key_of_no_weight_leaves_the_bound_tight() {
    for softcap in [None, Some(300.0)] {
        let mut head = Head::random(&mut Numbers::new(25), 32, 64, 1.0, softcap);
        head.q[0] = 1.0;
        head.k[5 * 64] = -1e12;
        let got = head.online();
        assert!(head.judge(&Numerics::F32, &got).passed());
        let off: Vec<f32> = got.iter().map(|y| y * 1.01).collect();
        assert!(head.judge(&Numerics::F32, &off).outside > 32);
    }
}

#[test]
fn values_rounded_to_half_precision_fall_outside() {
    let head = Head::random(&mut Numbers::new(26), 32, 64, 1.0, None);
    let mut rounded = head.clone();
    rounded.v.iter_mut().for_each(|v| *v = half::f16::from_f32(*v).to_f32());
    let numerics = Numerics { depth: Depth::Lanes(8), ..Numerics::F32 };
    assert!(head.judge(&numerics, &head.split(8)).passed());
    assert!(!head.judge(&numerics, &rounded.online()).passed());
}

#[test]
fn a_shallower_sum_has_a_tighter_bound() {
    let head = Head::random(&mut Numbers::new(27), 2048, 8, 1.0, None);
    let got = head.split(32);
    let share = |depth| head.judge(&Numerics { depth, ..Numerics::F32 }, &got).worst.unwrap().share;
    assert!(share(Depth::Lanes(64)) > 10.0 * share(Depth::Any));
}

/// Four query heads over two cached heads of dimension 32, in rows at positions 3 and 5 of sequence 1, window 3.
struct Rows {
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
}

fn encoded(dtype: DType, values: &[f32]) -> Vec<u8> {
    let mut bytes = vec![0; dtype.bytes_of(values.len()).expect("whole blocks")];
    quant::encode_row(dtype, values, &mut bytes).expect("a cache's type has an encoder");
    bytes
}

const POSITIONS: [usize; 2] = [3, 5];

impl Rows {
    fn random() -> Self {
        let mut numbers = Numbers::new(28);
        Rows { q: numbers.take(2 * 4 * 32), k: numbers.take(2 * 6 * 2 * 32), v: numbers.take(2 * 6 * 2 * 32) }
    }

    /// `slots(position)` says what a row sees, `group(head)` which cached head it reads.
    fn compute(&self, slots: fn(usize) -> std::ops::Range<usize>, group: fn(usize) -> usize) -> Vec<f32> {
        let cached = |cache: &[f32], slot: usize, head: usize| {
            let start = ((6 + slot) * 2 + head) * 32;
            cache[start..start + 32].to_vec()
        };
        let row = |(row, &position): (usize, &usize)| {
            (0..4).flat_map(move |head| {
                let pick = |cache| slots(position).flat_map(|s| cached(cache, s, group(head))).collect();
                let q = self.q[(row * 4 + head) * 32..][..32].to_vec();
                Head { q, k: pick(&self.k), v: pick(&self.v), scale: 0.5, softcap: None }.online()
            })
        };
        POSITIONS.iter().enumerate().flat_map(row).collect()
    }

    fn judge(&self, dtype: DType, got: &[f32]) -> Verdict {
        let record = Record::new(Stem::Attention).param("scale", 0.5).param("softcap", ()).param("window", 3);
        let mut record = input(record, "q", &[2, 4, 32], &self.q);
        for (name, values) in [("k_cache", &self.k), ("v_cache", &self.v)] {
            let layout = Layout::contiguous(dtype, &[2, 6, 2, 32]);
            record = record.operand(name, Role::Input, layout, encoded(dtype, values));
        }
        let record = indices(indices(record, "seqs", &[1, 1]), "positions", &[3, 5]);
        judge(&output(record, "out", &[2, 4, 32]), &Numerics::F32, got)
    }
}

#[test]
fn wrong_slots_and_heads_fall_outside() {
    let rows = Rows::random();
    let right = rows.compute(|p| p - 2..p + 1, |head| head / 2);
    assert!(rows.judge(DType::F32, &right).passed());
    let wrong = [
        ("window one short", rows.compute(|p| p - 1..p + 1, |head| head / 2)),
        ("window one long", rows.compute(|p| p - 3..p + 1, |head| head / 2)),
        ("own slot left out", rows.compute(|p| p - 2..p, |head| head / 2)),
        ("future seen", rows.compute(|p| p - 2..(p + 2).min(6), |head| head / 2)),
        ("head modulo", rows.compute(|p| p - 2..p + 1, |head| head % 2)),
    ];
    for (what, got) in wrong {
        assert!(rows.judge(DType::F32, &got).outside > 64, "{what}");
    }
}

#[test]
fn a_nan_counts_where_it_is_seen_and_nowhere_else() {
    let mut rows = Rows::random();
    let clean = rows.compute(|p| p - 2..p + 1, |head| head / 2);
    for slot in [0, 2] {
        // Slot 0 is before both windows; slot 2 is in that of position 3 only. Cached head 1 serves heads 2 and 3.
        rows.v[((6 + slot) * 2 + 1) * 32 + 9] = f32::NAN;
        rows.k[((6 + slot) * 2 + 1) * 32] = if slot == 0 { f32::NAN } else { 1.0 };
    }
    let hidden = rows.judge(DType::F32, &clean);
    assert!(hidden.outside >= 2, "a NaN in a seen value is due");
    let got = rows.compute(|p| p - 2..p + 1, |head| head / 2);
    assert!(rows.judge(DType::F32, &got).passed());
    let nans: Vec<usize> = (0..got.len()).filter(|&i| got[i].is_nan()).collect();
    assert_eq!(nans, [2 * 32 + 9, 3 * 32 + 9]);
}

#[test]
fn a_quantised_cache_is_judged_by_what_it_decodes_to() {
    for dtype in [DType::F16, DType::Q8_0] {
        let rows = Rows::random();
        let undecoded = rows.compute(|p| p - 2..p + 1, |head| head / 2);
        assert!(!rows.judge(dtype, &undecoded).passed());
        let mut decoded = Rows::random();
        for values in [&mut decoded.k, &mut decoded.v] {
            quant::decode_row(dtype, &encoded(dtype, values), values).unwrap();
        }
        assert!(rows.judge(dtype, &decoded.compute(|p| p - 2..p + 1, |head| head / 2)).passed());
    }
}
