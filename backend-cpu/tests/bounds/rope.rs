//! Bound of `rope`.

use kernels::ops::rope::{Pairing, Scaling, correction_range};
use kernels::{Float, Numerics, Record, Stem, Verdict};

use crate::{Numbers, indices, input, judge, output};

const HEADS: usize = 2;
const HEAD_DIM: usize = 72;

/// Parameters of the op, over heads of [`HEAD_DIM`].
#[derive(Clone)]
struct Rope {
    pairing: Pairing,
    n_rot: usize,
    base: f32,
    scaling: Scaling,
    factors: Option<Vec<f32>>,
    positions: Vec<u32>,
}

const YARN: Scaling = Scaling::Yarn {
    factor: 8.0,
    original_context: 4096,
    beta_fast: 32.0,
    beta_slow: 1.0,
    extrapolation: 1.0,
    attention: 0.9,
};

const FULL_RANGE: [u32; 6] = [0, 1, 63, 5000, 300_007, (1 << 20) - 1];

impl Rope {
    fn plain() -> Self {
        Rope {
            pairing: Pairing::Neox,
            n_rot: 64,
            base: 10_000.0,
            scaling: Scaling::None,
            factors: None,
            positions: FULL_RANGE.to_vec(),
        }
    }

    /// Every variant of the op.
    fn variants() -> Vec<Self> {
        let factors = (0u8..32).map(|i| 1.0 + f32::from(i) * 0.23).collect();
        let plain = Rope::plain();
        vec![
            Rope { pairing: Pairing::Interleaved, ..plain.clone() },
            Rope { n_rot: 72, base: 1e6, ..plain.clone() },
            Rope { n_rot: 6, ..plain.clone() },
            Rope { scaling: Scaling::Linear { factor: 3.0 }, ..plain.clone() },
            Rope { scaling: YARN, ..plain.clone() },
            Rope { scaling: YARN, factors: Some(factors), pairing: Pairing::Interleaved, ..plain.clone() },
            plain,
        ]
    }

    fn places(&self, i: usize) -> (usize, usize) {
        match self.pairing {
            Pairing::Interleaved => (2 * i, 2 * i + 1),
            Pairing::Neox => (i, i + self.n_rot / 2),
        }
    }

    fn x(&self) -> Vec<f32> {
        Numbers::new(31).take(self.positions.len() * HEADS * HEAD_DIM)
    }

    fn judge(&self, angle: Float, got: &[f32]) -> Verdict {
        let shape = [self.positions.len(), HEADS, HEAD_DIM];
        let record = Record::new(Stem::Rope)
            .param("pairing", self.pairing)
            .param("n_rot", self.n_rot)
            .param("base", self.base)
            .param("scaling", self.scaling)
            .param("max_positions", 1 << 20);
        let mut record = indices(input(record, "x", &shape, &self.x()), "positions", &self.positions);
        if let Some(factors) = &self.factors {
            record = input(record, "factors", &[factors.len()], factors);
        }
        judge(&output(record, "out", &shape), &Numerics { angle, ..Numerics::F32 }, got)
    }

    /// Rotates in f32 by what `angles` gives for a position: the sines and cosines of all pairs.
    fn rotate(&self, angles: impl Fn(u32) -> Vec<(f32, f32)>) -> Vec<f32> {
        let mut x = self.x();
        for (row, &position) in x.chunks_mut(HEADS * HEAD_DIM).zip(&self.positions) {
            for head in row.chunks_mut(HEAD_DIM) {
                for (i, &(sin, cos)) in angles(position).iter().enumerate() {
                    let (a, b) = self.places(i);
                    let (x0, x1) = (head[a], head[b]);
                    head[a] = x0 * cos - x1 * sin;
                    head[b] = x0.mul_add(sin, x1 * cos);
                }
            }
        }
        x
    }

    fn divisor(&self, i: usize) -> f32 {
        self.factors.as_ref().map_or(1.0, |f| f[i])
    }

    /// The scaled angle and the magnitude in f32, given the plain angle.
    #[expect(clippy::cast_possible_truncation, reason = "the ends of the ramp are small whole numbers")]
    fn scaled(&self, i: u8, angle: f32) -> (f32, f32) {
        match self.scaling {
            Scaling::None => (angle, 1.0),
            Scaling::Linear { factor } => (angle * (1.0 / factor), 1.0),
            Scaling::Yarn { factor, original_context, beta_fast, beta_slow, extrapolation, attention } => {
                let [low, high] =
                    correction_range(self.n_rot, self.base, original_context, beta_fast, beta_slow)
                        .map(|pair| pair as f32);
                let kept = (1.0 - ((f32::from(i) - low) / (high - low)).clamp(0.0, 1.0)) * extrapolation;
                let slow = angle * (1.0 / factor);
                (slow * (1.0 - kept) + angle * kept, attention * (1.0 + 0.1 * factor.ln()))
            }
        }
    }

    /// Sines and cosines in f32, given each pair's plain angle at a position in f32.
    fn sines(&self, angle: impl Fn(u8) -> f32) -> Vec<(f32, f32)> {
        let pairs = u8::try_from(self.n_rot / 2).expect("few pairs");
        let pair = |i: u8| {
            let (angle, magnitude) = self.scaled(i, angle(i) / self.divisor(i.into()));
            (angle.sin() * magnitude, angle.cos() * magnitude)
        };
        (0..pairs).map(pair).collect()
    }

    fn by_powers(&self) -> Vec<f32> {
        self.rotate(|position| {
            let power = |i: u8| self.base.powf(-2.0 * f32::from(i) / self.n_rot as f32);
            self.sines(|i| position as f32 * power(i))
        })
    }

    fn by_reciprocals(&self) -> Vec<f32> {
        self.rotate(|position| {
            let power = |i: u8| 1.0 / self.base.powf(2.0 * f32::from(i) / self.n_rot as f32);
            self.sines(|i| position as f32 * power(i))
        })
    }

    fn by_exponentials(&self) -> Vec<f32> {
        self.rotate(|position| {
            let power = |i: u8| (-2.0 * f32::from(i) / self.n_rot as f32 * self.base.ln()).exp();
            self.sines(|i| position as f32 * power(i))
        })
    }

    fn by_iterated_products(&self) -> Vec<f32> {
        let step = self.base.powf(-2.0 / self.n_rot as f32);
        self.rotate(|position| self.sines(|i| (0..i).fold(position as f32, |angle, _| angle * step)))
    }

    /// The angle in f64, sine and cosine rounded to f32.
    #[expect(clippy::cast_possible_truncation, reason = "rounding is what is meant")]
    fn in_f64(&self) -> Vec<f32> {
        self.rotate(|position| {
            (0..self.n_rot / 2)
                .map(|i| {
                    let plain = f64::from(self.base).powf(-2.0 * i as f64 / self.n_rot as f64);
                    let (stretch, magnitude) = self.stretch_in_f64(i as f64);
                    let (sin, cos) =
                        (f64::from(position) * plain / f64::from(self.divisor(i)) * stretch).sin_cos();
                    (sin as f32 * magnitude, cos as f32 * magnitude)
                })
                .collect()
        })
    }

    fn stretch_in_f64(&self, i: f64) -> (f64, f32) {
        match self.scaling {
            Scaling::None => (1.0, 1.0),
            Scaling::Linear { factor } => (1.0 / f64::from(factor), 1.0),
            Scaling::Yarn { factor, original_context, beta_fast, beta_slow, extrapolation, attention } => {
                let [low, high] =
                    correction_range(self.n_rot, self.base, original_context, beta_fast, beta_slow);
                let kept = (1.0 - ((i - low) / (high - low)).clamp(0.0, 1.0)) * f64::from(extrapolation);
                let slow = 1.0 / f64::from(factor);
                (slow + (1.0 - slow) * kept, attention * (1.0 + 0.1 * factor.ln()))
            }
        }
    }
}

#[test]
fn angles_in_f64_stay_inside() {
    for rope in Rope::variants() {
        let verdict = rope.judge(Float::F64, &rope.in_f64());
        assert!(verdict.passed(), "{:?} {:?}: {verdict:?}", rope.scaling, rope.pairing);
    }
}

#[test]
fn angles_in_f32_stay_inside_in_every_way_of_forming_them() {
    for rope in Rope::variants() {
        let ways = [
            rope.by_powers(),
            rope.by_reciprocals(),
            rope.by_exponentials(),
            rope.by_iterated_products(),
            rope.in_f64(),
        ];
        for (way, got) in ways.iter().enumerate() {
            let verdict = rope.judge(Float::F32, got);
            assert!(verdict.passed(), "{:?} {:?} way={way}: {verdict:?}", rope.scaling, rope.pairing);
        }
    }
}

#[test]
fn angles_in_f32_do_not_pass_as_f64() {
    for rope in Rope::variants().iter().filter(|rope| rope.n_rot > 6) {
        let verdict = rope.judge(Float::F64, &rope.by_iterated_products());
        assert!(!verdict.passed(), "{:?}", rope.scaling);
    }
}

#[test]
fn faults_fall_outside() {
    let right = Rope { positions: vec![1, 2, 30, 511], scaling: YARN, ..Rope::plain() };
    let Scaling::Yarn { factor, original_context, beta_fast, beta_slow, extrapolation, attention } = YARN
    else {
        unreachable!()
    };
    let yarn = |factor, beta_slow, extrapolation, attention| Scaling::Yarn {
        factor,
        original_context,
        beta_fast,
        beta_slow,
        extrapolation,
        attention,
    };
    assert!(right.judge(Float::F32, &right.by_powers()).passed());
    let wrong = [
        ("other pairing", Rope { pairing: Pairing::Interleaved, ..right.clone() }),
        ("position off by one", Rope { positions: vec![2, 3, 31, 512], ..right.clone() }),
        ("position before", Rope { positions: vec![0, 1, 29, 510], ..right.clone() }),
        ("frequencies of another dimension", Rope { n_rot: 62, ..right.clone() }),
        ("other base", Rope { base: 10_100.0, ..right.clone() }),
        ("no scaling", Rope { scaling: Scaling::None, ..right.clone() }),
        ("linear instead of YaRN", Rope { scaling: Scaling::Linear { factor }, ..right.clone() }),
        (
            "no attention factor",
            Rope { scaling: yarn(factor, beta_slow, extrapolation, 1.0), ..right.clone() },
        ),
        (
            "other ramp",
            Rope { scaling: yarn(factor, 1.4 * beta_slow, extrapolation, attention), ..right.clone() },
        ),
        (
            "factor inverted",
            Rope { scaling: yarn(1.0 / factor, beta_slow, extrapolation, attention), ..right.clone() },
        ),
        ("factors where there are none", Rope { factors: Some(vec![1.01; 32]), ..right.clone() }),
    ];
    for (what, wrong) in wrong {
        let verdict = right.judge(Float::F32, &wrong.by_powers());
        assert!(verdict.outside > 0, "{what}: {verdict:?}");
    }
}

#[test]
fn a_rotation_backwards_falls_outside() {
    let rope = Rope { positions: vec![7], ..Rope::plain() };
    let got = rope.rotate(|position| {
        let power = |i: u8| rope.base.powf(-2.0 * f32::from(i) / rope.n_rot as f32);
        rope.sines(|i| -(position as f32) * power(i))
    });
    assert_eq!(rope.judge(Float::F32, &got).outside, HEADS * rope.n_rot);
}

#[test]
fn elements_that_do_not_rotate_have_no_tolerance() {
    let rope = Rope { scaling: YARN, ..Rope::plain() };
    let mut got = rope.in_f64();
    got[70] = got[70].next_up();
    let verdict = rope.judge(Float::F32, &got);
    assert_eq!((verdict.outside, verdict.worst.unwrap().index), (1, vec![0, 0, 70]));
}

#[test]
fn a_nan_stays_in_its_pair() {
    let rope = Rope { positions: vec![3], factors: Some(vec![1.0; 32]), ..Rope::plain() };
    let mut with_nan = rope.clone();
    with_nan.factors = Some((0u8..32).map(|i| if i == 4 { f32::NAN } else { 1.0 }).collect());
    let clean = rope.in_f64();
    let verdict = with_nan.judge(Float::F64, &clean);
    assert_eq!(verdict.outside, 2 * HEADS);
    let mut got = clean;
    for head in got.chunks_mut(HEAD_DIM) {
        (head[4], head[36]) = (f32::NAN, f32::NAN);
    }
    assert!(with_nan.judge(Float::F64, &got).passed());
}
