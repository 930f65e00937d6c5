//! Weights as floats and activations as they are: every output is a sum in eight lanes.

use std::cell::RefCell;
use std::marker::PhantomData;

use kernels::DType;

use super::super::blocks::decode_by_vectors;
use super::super::rows::Rows;
use super::super::simd::{Kernel, LINE, Simd, WIDTH, prefetch};
use super::super::trail::Way;
use super::pieces::Piece;
use super::{Plan, Product, put};

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

/// Rows of weights that are decoded at a time: they stay near while the activations pass by. A multiple of the columns of a tile.
const DECODED: usize = 24;

thread_local! {
    /// Rows of weights that this thread has decoded, one after the other.
    static WEIGHTS: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
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
        let mut scratch = Vec::new();
        for column in (0..columns).step_by(SIDE_BY_SIDE) {
            let weights = product.weights::<SIDE_BY_SIDE>(*first + column);
            for (row, part) in tile.iter_mut().enumerate() {
                let x = [product.x.read(row, &mut scratch)];
                let [values] = Dots::<W, BYTES, 1, SIDE_BY_SIDE>::new(x, weights, Some(way)).run(s);
                put(part, column, &values);
            }
        }
    }
}

/// The product of activations and weights, which are decoded to f32 first.
pub fn decoded<'a>(product: &'a Product<'a>) -> Plan<'a> {
    let k = product.k;
    let fill = move |Piece { first, tile, .. }: &mut Piece<'_>| {
        let columns = tile.first().map_or(0, |part| part.len());
        WEIGHTS.with_borrow_mut(|weights| {
            for column in (0..columns).step_by(DECODED) {
                let here = DECODED.min(columns - column);
                weights.resize(DECODED * k, 0.0);
                for (row, to) in
                    (*first + column..*first + column + here).zip(weights.chunks_exact_mut(k.max(1)))
                {
                    let weight = product.weight;
                    product.threads.compute(Decode { dtype: weight.dtype(), bytes: weight.bytes(row), to });
                }
                let mut tile: Vec<_> = tile.iter_mut().map(|part| &mut part[column..column + here]).collect();
                product.threads.compute(Multiply { x: &product.x, k, weights, tile: &mut tile });
            }
        });
    };
    Plan { unit: DECODED, fill: Box::new(fill) }
}

/// Fills a tile, given the rows of weights of its columns.
struct Multiply<'a, 'b, 'c> {
    x: &'a Rows<'a>,
    k: usize,
    weights: &'a [f32],
    tile: &'b mut [&'c mut [f32]],
}

impl Kernel for Multiply<'_, '_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        // As many sums as there are registers for.
        if S::SPACIOUS { self.by_tiles::<S, 4, 6>(s) } else { self.by_tiles::<S, 3, 4>(s) }
    }
}

impl Multiply<'_, '_, '_> {
    /// By tiles of `R` rows of activations and `C` rows of weights.
    #[inline(always)]
    fn by_tiles<S: Simd, const R: usize, const C: usize>(self, s: S) {
        let Multiply { x, k, weights, tile } = self;
        let last = tile.len() - 1;
        let mut scratch = [const { Vec::new() }; R];
        for row in (0..tile.len()).step_by(R) {
            let mut rows = (row..).map(|row| row.min(last));
            let x = scratch.each_mut().map(|scratch| x.read(rows.next().unwrap_or(last), scratch));
            let columns = tile[row].len();
            for column in (0..columns).step_by(C) {
                let at = |c: usize| (column + c).min(columns - 1) * k;
                let weights = std::array::from_fn(|c| bytemuck::cast_slice(&weights[at(c)..at(c) + k]));
                let values = s.run(Dots::<Single, 32, R, C>::new(x, weights, None));
                for (part, values) in tile[row..].iter_mut().zip(&values) {
                    put(part, column, values);
                }
            }
        }
    }
}

/// Decodes a row of weights.
struct Decode<'a> {
    dtype: DType,
    bytes: &'a [u8],
    to: &'a mut [f32],
}

impl Kernel for Decode<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        decode_by_vectors(s, self.dtype, self.bytes, self.to);
    }
}
