//! Seeded data for cases. Nothing here depends on the clock, the machine or the order of evaluation.

use std::cell::RefCell;
use std::rc::Rc;

use kernels::{DType, Layout, MAX_RANK, Record, Role, SplitMix64};
use serde::{Deserialize, Serialize};

use crate::recent::Recent;

/// `n` as an element of an index operand.
///
/// # Panics
///
/// When `n` does not fit in a u32: a mistake in the suite, since [names](crate::name::LARGEST) allow no number that large.
pub fn index(n: usize) -> u32 {
    u32::try_from(n).expect("numbers of a case are far below 2^32")
}

/// A stream of random numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Random(SplitMix64);

impl Random {
    /// The stream of `seed`.
    pub const fn new(seed: u64) -> Self {
        Random(SplitMix64::new(seed))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0 to `n − 1`.
    #[expect(clippy::cast_possible_truncation, reason = "less than n, which is a usize")]
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n.max(1) as u64) as usize
    }

    /// A number in 0..1.
    pub fn unit(&mut self) -> f64 {
        self.0.unit_f64()
    }

    /// A standard normal number (sum of twelve uniform ones: tails end at 6, which is enough).
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

thread_local! {
    /// Values that were drawn, by distribution, rows and columns.
    static RECENT: Remembered<(Data, usize, usize), f32> = const { Remembered::new() };
}

/// How the elements of a tensor are distributed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Data {
    /// Normal numbers.
    Gauss,
    /// Mostly small, some very large: the cube of a normal number.
    Heavy,
    /// Normal, with a few columns a hundred times larger, as in real language models.
    Outliers,
    /// Small integers, for which sums are exact in any order.
    Integers,
    /// Powers of two of either sign, for which products are exact.
    Powers,
}

impl Data {
    /// The distributions of bounded cases.
    pub const RANDOM: [Data; 3] = [Data::Gauss, Data::Heavy, Data::Outliers];

    /// `rows × columns` values. No row equals another, and no row is symmetric, so that a swap shows.
    pub fn values(self, random: &mut Random, rows: usize, columns: usize) -> Vec<f32> {
        RECENT.with(|recent| {
            recent.or_draw((self, rows, columns), random, |random| self.draw(random, rows, columns))
        })
    }

    #[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is what is meant")]
    fn draw(self, random: &mut Random, rows: usize, columns: usize) -> Vec<f32> {
        let mut values = Vec::with_capacity(rows * columns);
        for _ in 0..rows {
            for column in 0..columns {
                values.push(match self {
                    Data::Gauss => random.normal() as f32,
                    Data::Heavy => random.normal().powi(3) as f32,
                    Data::Outliers => {
                        let outlier = column % 37 == 5;
                        (random.normal() * if outlier { 100.0 } else { 1.0 }) as f32
                    }
                    Data::Integers => [-3.0, -2.0, -1.0, 1.0, 2.0, 3.0][random.below(6)],
                    Data::Powers => {
                        let sign = if random.below(2) == 0 { 1.0 } else { -1.0 };
                        sign * [0.25, 0.5, 1.0, 2.0, 4.0][random.below(5)]
                    }
                });
            }
        }
        values
    }
}

/// Data that were drawn lately. The same case on the next backend draws the same.
#[derive(Debug)]
pub(crate) struct Remembered<K, T>(RefCell<Recent<(K, Random), Drawn<T>, 8>>);

/// What was drawn, and the stream afterwards.
type Drawn<T> = (Rc<[T]>, Random);

impl<K: PartialEq, T: Copy> Remembered<K, T> {
    /// Values up to which data are remembered.
    const LONGEST: usize = 1 << 20;

    /// Nothing yet.
    pub const fn new() -> Self {
        Remembered(RefCell::new(Recent::new()))
    }

    /// What `draw` draws from `random` for `what`.
    pub fn or_draw(&self, what: K, random: &mut Random, draw: impl FnOnce(&mut Random) -> Vec<T>) -> Vec<T> {
        let known = self.0.borrow_mut().find(|(asked, before)| *asked == what && before == random);
        if let Some((values, after)) = known {
            *random = after;
            return values.to_vec();
        }
        let before = random.clone();
        let values = draw(random);
        if values.len() <= Self::LONGEST {
            let drawn = (Rc::from(values.as_slice()), random.clone());
            self.0.borrow_mut().add((what, before), drawn);
        }
        values
    }
}

/// Where a case's tensor lies in its buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Packing {
    /// Fills the buffer.
    Dense,
    /// Begins some way into the buffer, and its rows are further apart than they are long.
    Padded,
    /// Begins one element into the buffer: less aligned than the others.
    Shifted,
    /// Of a case: its second operand is shifted, all others are dense.
    SecondShifted,
    /// Of a case: its output is shifted, all others are dense.
    OutShifted,
}

impl Packing {
    /// That of a case's second operand.
    #[must_use]
    pub fn second(self) -> Self {
        if self == Packing::SecondShifted { Packing::Shifted } else { self }
    }

    /// That of an output which is no operand.
    #[must_use]
    pub fn out(self) -> Self {
        if self == Packing::OutShifted { Packing::Shifted } else { self }
    }
}

/// Content of what no op may read: a NaN in every float format.
pub const PADDING: u8 = 0xff;

/// Adds operands to a record.
pub trait Operands: Sized {
    /// An f32 operand in `packing`.
    #[must_use]
    fn floats(self, name: &str, shape: &[usize], values: &[f32], packing: Packing) -> Self;

    /// An operand of any type whose elements, in row-major order, have the bytes `dense`.
    #[must_use]
    fn bytes(self, name: &str, dtype: DType, shape: &[usize], dense: &[u8], packing: Packing) -> Self;

    /// As [`Operands::bytes`], with the dimensions in memory in `order`, outermost first.
    #[must_use]
    fn bytes_in(
        self,
        name: &str,
        dtype: DType,
        shape: &[usize],
        dense: &[u8],
        packing: Packing,
        order: &[usize],
    ) -> Self;

    /// Indices.
    #[must_use]
    fn indices(self, name: &str, values: &[u32]) -> Self;

    /// An output whose prior content must not affect the result.
    #[must_use]
    fn out(self, name: &str, dtype: DType, shape: &[usize], packing: Packing) -> Self;

    /// An output that already holds values: an in-place input, or a cache.
    #[must_use]
    fn out_holding(self, name: &str, dtype: DType, shape: &[usize], dense: &[u8], packing: Packing) -> Self;

    /// As [`Operands::out_holding`], with the dimensions in memory in `order`, outermost first.
    #[must_use]
    fn out_holding_in(
        self,
        name: &str,
        dtype: DType,
        shape: &[usize],
        dense: &[u8],
        packing: Packing,
        order: &[usize],
    ) -> Self;
}

impl Operands for Record {
    fn floats(self, name: &str, shape: &[usize], values: &[f32], packing: Packing) -> Self {
        self.bytes(name, DType::F32, shape, bytemuck::cast_slice(values), packing)
    }

    fn bytes(self, name: &str, dtype: DType, shape: &[usize], dense: &[u8], packing: Packing) -> Self {
        self.bytes_in(name, dtype, shape, dense, packing, &ROW_MAJOR[..shape.len()])
    }

    fn bytes_in(
        self,
        name: &str,
        dtype: DType,
        shape: &[usize],
        dense: &[u8],
        packing: Packing,
        order: &[usize],
    ) -> Self {
        let layout = packed(dtype, shape, packing, order);
        self.operand(name, Role::Input, layout, scatter(&layout, dense, packing))
    }

    fn indices(self, name: &str, values: &[u32]) -> Self {
        let layout = Layout::contiguous(DType::U32, &[values.len()]);
        self.operand(name, Role::Indices, layout, bytemuck::cast_slice(values).to_vec())
    }

    fn out(self, name: &str, dtype: DType, shape: &[usize], packing: Packing) -> Self {
        let layout = packed(dtype, shape, packing, &ROW_MAJOR[..shape.len()]);
        self.blank(name, layout, vec![PADDING; buffer_len(&layout, packing)])
    }

    fn out_holding(self, name: &str, dtype: DType, shape: &[usize], dense: &[u8], packing: Packing) -> Self {
        self.out_holding_in(name, dtype, shape, dense, packing, &ROW_MAJOR[..shape.len()])
    }

    fn out_holding_in(
        self,
        name: &str,
        dtype: DType,
        shape: &[usize],
        dense: &[u8],
        packing: Packing,
        order: &[usize],
    ) -> Self {
        let layout = packed(dtype, shape, packing, order);
        self.operand(name, Role::Output, layout, scatter(&layout, dense, packing))
    }
}

/// Each dimension encloses those after it.
const ROW_MAJOR: [usize; MAX_RANK] = [0, 1, 2, 3];

fn packed(dtype: DType, shape: &[usize], packing: Packing, order: &[usize]) -> Layout {
    let (padded, offset) = match packing {
        Packing::Dense | Packing::SecondShifted | Packing::OutShifted => (false, 0),
        Packing::Shifted => (false, dtype.block_bytes()),
        // 48 bytes: a multiple of every alignment that an op asks for, and of no power of two above 16.
        Packing::Padded => (true, 48),
    };
    let block = dtype.block_len();
    let mut strides = vec![1; shape.len()];
    let mut span = 1;
    for (nth, &axis) in order.iter().rev().enumerate() {
        strides[axis] = span;
        span *= shape[axis];
        if nth == 0 && padded {
            span = (span + if block == 1 { 3 } else { block }).next_multiple_of(block);
        }
    }
    Layout::strided(dtype, shape, &strides).at(offset)
}

fn buffer_len(layout: &Layout, packing: Packing) -> usize {
    let end = layout.byte_range().map_or(0, |range| range.end);
    // Of tensors with an odd number of rows nothing lies behind the last one: what is read there is out of bounds.
    let rows: usize = layout.shape().iter().rev().skip(1).product();
    end + if packing == Packing::Padded && rows.is_multiple_of(2) { 20 } else { 0 }
}

/// A buffer with the elements at their places and [`PADDING`] between them.
fn scatter(layout: &Layout, dense: &[u8], packing: Packing) -> Vec<u8> {
    let mut bytes = vec![PADDING; buffer_len(layout, packing)];
    let mut rest = dense;
    for row in layout.rows() {
        let (from, after) = rest.split_at(row.len());
        bytes[row].copy_from_slice(from);
        rest = after;
    }
    bytes
}
