//! Weights as floats and activations as they are: every output is a sum in eight lanes.

use std::cell::RefCell;
use std::marker::PhantomData;

use super::super::blocks::decode_by_vectors;
use super::super::f32_panel::{AT_A_TIME, ROWS, Sixteen};
use super::super::prefetch::Way;
use super::super::rows::{filled_up, floats, put};
use super::super::simd::{Kernel, LINE, Rows16, Simd, WIDTH, prefetch};
use super::column_tiles::Piece;
use super::{Plan, Product};

/// Weight formats that are multiplied as they lie in memory, eight in `BYTES` bytes.
pub trait Stored<const BYTES: usize> {
    /// Eight weights.
    fn eight<S: Simd>(s: S, bytes: &[u8; BYTES]) -> S::F;
}

/// f32.
pub struct Single;

impl Stored<32> for Single {
    #[inline(always)]
    fn eight<S: Simd>(s: S, bytes: &[u8; 32]) -> S::F {
        s.load_bytes(bytes)
    }
}

/// f16.
pub struct Half;

impl Stored<16> for Half {
    #[inline(always)]
    fn eight<S: Simd>(s: S, bytes: &[u8; 16]) -> S::F {
        s.halves(bytemuck::must_cast(*bytes))
    }
}

/// bf16.
pub struct BrainHalf;

impl Stored<16> for BrainHalf {
    #[inline(always)]
    fn eight<S: Simd>(s: S, bytes: &[u8; 16]) -> S::F {
        s.brain_halves(bytemuck::must_cast(*bytes))
    }
}

/// Products of `R` rows of activations with `C` rows of weights.
pub struct Dots<'a, W, const BYTES: usize, const R: usize, const C: usize> {
    x: [&'a [f32]; R],
    weights: [&'a [u8]; C],
    /// What to ask for meanwhile, where every weight comes from memory.
    way: Option<Way>,
    stored: PhantomData<W>,
}

impl<'a, W, const BYTES: usize, const R: usize, const C: usize> Dots<'a, W, BYTES, R, C> {
    /// All rows are of one length.
    pub fn new(x: [&'a [f32]; R], weights: [&'a [u8]; C], way: Option<Way>) -> Self {
        Dots { x, weights, way, stored: PhantomData }
    }
}

impl<W: Stored<BYTES>, const BYTES: usize, const R: usize, const C: usize> Kernel
    for Dots<'_, W, BYTES, R, C>
{
    type Output = [[f32; C]; R];

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> [[f32; C]; R] {
        let full = self.x[0].len() / WIDTH;
        let x = self.x.map(|x| &x.as_chunks::<WIDTH>().0[..full]);
        let weights = self.weights.map(|weights| &weights.as_chunks::<BYTES>().0[..full]);
        let ahead = self.way.map(|way| way.ahead(self.weights[0].as_ptr()));
        let mut sums = [[s.splat(0.0); C]; R];
        for i in 0..full {
            if let Some(ahead) = ahead {
                for line in (0..C * BYTES).step_by(LINE) {
                    prefetch(ahead + i * C * BYTES + line);
                }
            }
            let mut eights = [s.splat(0.0); R];
            for (eight, x) in eights.iter_mut().zip(x) {
                *eight = s.load(&x[i]);
            }
            for (c, weights) in weights.into_iter().enumerate() {
                add_products(s, &mut sums, c, eights, W::eight(s, &weights[i]));
            }
        }
        let tail = self.x[0].len() % WIDTH;
        if tail > 0 {
            let mut eights = [s.splat(0.0); R];
            for (eight, x) in eights.iter_mut().zip(self.x) {
                let mut padded = [0.0; WIDTH];
                padded[..tail].copy_from_slice(&x[full * WIDTH..]);
                *eight = s.load(&padded);
            }
            for (c, weights) in self.weights.into_iter().enumerate() {
                let mut padded = [0; BYTES];
                let rest = &weights[full * BYTES..];
                padded[..rest.len()].copy_from_slice(rest);
                add_products(s, &mut sums, c, eights, W::eight(s, &padded));
            }
        }
        let mut values = [[0.0; C]; R];
        let (eights, rest) = sums.as_flattened().as_chunks::<8>();
        let (to_eights, to_rest) = values.as_flattened_mut().as_chunks_mut::<8>();
        for (values, sums) in to_eights.iter_mut().zip(eights) {
            *values = s.array(s.totals(*sums));
        }
        for (value, sum) in to_rest.iter_mut().zip(rest) {
            *value = s.total(*sum);
        }
        values
    }
}

/// Adds to the sums of column `c`.
#[inline(always)]
fn add_products<S: Simd, const R: usize, const C: usize>(
    s: S,
    sums: &mut [[S::F; C]; R],
    c: usize,
    x: [S::F; R],
    weights: S::F,
) {
    for (sums, x) in sums.iter_mut().zip(x) {
        sums[c] = s.mul_add(x, weights, sums[c]);
    }
}

/// Rows of activations from which on it pays to decode the weights first.
const MANY: usize = 3;

/// Rows of weights that are multiplied side by side with one row of activations.
const SIDE_BY_SIDE: usize = 8;

/// Times sixteen rows of weights that are decoded before the activations pass by.
const PANELS: usize = 2;

thread_local! {
    /// Weights that this thread has decoded: they stay near while the activations pass by.
    static DECODED: RefCell<Decoded> = RefCell::default();
}

/// The product of activations and weights that are stored as `W`.
pub fn stored<'a, W: Stored<BYTES>, const BYTES: usize>(product: &'a Product<'a>) -> Plan<'a> {
    if product.m >= MANY {
        return decoded(product);
    }
    let fill = |piece: &mut Piece<'_>| {
        let way = product.way(piece);
        product.threads.compute(Stream::<W, BYTES> { product, piece, way, stored: PhantomData });
    };
    Plan { unit: SIDE_BY_SIDE, fill: Box::new(fill) }
}

/// Fills columns from `first` on, straight from the weights as they lie in memory.
struct Stream<'a, 'b, 'c, W, const BYTES: usize> {
    product: &'a Product<'a>,
    piece: &'b mut Piece<'c>,
    way: Way,
    stored: PhantomData<W>,
}

impl<W: Stored<BYTES>, const BYTES: usize> Kernel for Stream<'_, '_, '_, W, BYTES> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Stream { product, piece: Piece { first, tile, .. }, way, .. } = self;
        let columns = tile.first().map_or(0, |part| part.len());
        let mut memory = Vec::new();
        let x = floats(&product.x, tile.len(), &mut memory);
        let rows = product.weight.from(*first);
        for column in (0..columns).step_by(SIDE_BY_SIDE) {
            // The last row stands in for those beyond it.
            let weights = std::array::from_fn(|c| rows.bytes((column + c).min(columns - 1)));
            for (x, part) in x.iter().zip(tile.iter_mut()) {
                let [values] = Dots::<W, BYTES, 1, SIDE_BY_SIDE>::new([x], weights, Some(way)).run(s);
                put(part, column, &values);
            }
        }
    }
}

/// The product of activations and weights, which are decoded to f32 first, sixteen rows at a time.
pub fn decoded<'a>(product: &'a Product<'a>) -> Plan<'a> {
    let fill = move |piece: &mut Piece<'_>| {
        DECODED.with_borrow_mut(|decoded| product.threads.compute(Decode { product, piece, decoded }));
    };
    Plan { unit: ROWS * PANELS, fill: Box::new(fill) }
}

/// Memory for weights and activations.
#[derive(Default)]
struct Decoded {
    /// Sixteen rows of weights, one after the other.
    rows: Vec<f32>,
    /// Sixteen rows each, side by side.
    panels: [Sixteen; PANELS],
    /// Activations.
    x: Vec<f32>,
}

/// Fills columns from `first` on, from decoded weights.
struct Decode<'a, 'b, 'c> {
    product: &'a Product<'a>,
    piece: &'b mut Piece<'c>,
    decoded: &'b mut Decoded,
}

impl Kernel for Decode<'_, '_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Decode { product: &Product { x, weight, k, .. }, piece: Piece { first, tile, .. }, decoded } =
            self;
        let Decoded { rows, panels, x: memory } = decoded;
        let x = floats(&x, tile.len(), memory);
        rows.resize(ROWS * k, 0.0);
        let columns = tile.first().map_or(0, |part| part.len());
        for column in (0..columns).step_by(ROWS) {
            let here = ROWS.min(columns - column);
            for (c, to) in (column..column + here).zip(rows.chunks_exact_mut(k.max(1))) {
                decode_by_vectors(s, weight.dtype(), weight.bytes(*first + c), to);
            }
            if tile.len() < MANY {
                multiply::<S, 1, SIDE_BY_SIDE>(s, &x, rows, column, here, tile);
            } else if S::SPACIOUS {
                let Some(rows) = Rows16::new(bytemuck::cast_slice(rows), 4 * k, 4 * k) else { return };
                let nth = column / ROWS % PANELS;
                panels[nth].fill(s, rows);
                if nth + 1 == PANELS || column + ROWS >= columns {
                    pass_over(s, &x, &panels[..=nth], column - nth * ROWS, tile);
                }
            } else {
                multiply::<S, 3, 4>(s, &x, rows, column, here, tile);
            }
        }
    }
}

/// Multiplies all rows of activations, `R` at a time, with `here` rows of weights, `C` at a time.
#[inline(always)]
fn multiply<S: Simd, const R: usize, const C: usize>(
    s: S,
    x: &[&[f32]],
    weights: &[f32],
    column: usize,
    here: usize,
    tile: &mut [&mut [f32]],
) {
    let k = weights.len() / ROWS;
    for (x, parts) in x.chunks(R).zip(tile.chunks_mut(R)) {
        let x = filled_up::<_, R>(x);
        for first in (0..here).step_by(C) {
            let weights =
                std::array::from_fn(|c| bytemuck::cast_slice(&weights[(first + c).min(here - 1) * k..][..k]));
            let values = s.run(Dots::<Single, 32, R, C>::new(x, weights, None));
            for (part, values) in parts.iter_mut().zip(&values) {
                put(&mut part[..column + here], column + first, values);
            }
        }
    }
}

/// Multiplies all rows of activations with weights that lie side by side.
#[inline(always)]
fn pass_over<S: Simd>(s: S, x: &[&[f32]], panels: &[Sixteen], column: usize, tile: &mut [&mut [f32]]) {
    for (x, parts) in x.chunks(AT_A_TIME).zip(tile.chunks_mut(AT_A_TIME)) {
        let x = filled_up::<_, AT_A_TIME>(x);
        for (p, panel) in panels.iter().enumerate() {
            let values = panel.products(s, x);
            for (part, values) in parts.iter_mut().zip(&values) {
                put(part, column + p * ROWS, values);
            }
        }
    }
}
