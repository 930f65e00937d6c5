//! The outputs of products, split by columns into tiles for the threads.

use std::collections::VecDeque;

use super::super::work_stealing::part_size;

/// Consecutive columns of an output: the task of a thread.
pub struct ColumnTile<'a> {
    /// Index of the product.
    pub product: usize,
    /// The first column.
    pub first: usize,
    /// These columns of each row of the output.
    pub rows: Vec<&'a mut [f32]>,
    /// True if this is the thread's last task in the product: it does not go on with the next columns.
    pub last: bool,
}

impl ColumnTile<'_> {
    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.rows.first().map_or(0, |row| row.len())
    }
}

/// Columns of an output that are not yet split into tiles.
pub struct Columns<'a> {
    rest: ColumnTile<'a>,
    /// Columns of a tile.
    step: usize,
}

impl<'a> Columns<'a> {
    /// The columns of product `product`, in tiles of `step`. All `rows` have one length.
    pub fn new(product: usize, rows: Vec<&'a mut [f32]>, step: usize) -> Self {
        Columns { rest: ColumnTile { product, first: 0, rows, last: true }, step: step.max(1) }
    }

    /// Tiles that are left.
    fn count(&self) -> usize {
        self.rest.columns().div_ceil(self.step)
    }

    /// Splits off the first `count` tiles, as one.
    fn split_front(&mut self, count: usize) -> ColumnTile<'a> {
        let at = self.rest.columns().min(count * self.step);
        let ColumnTile { product, first, rows, .. } = &mut self.rest;
        let front = rows.iter_mut().map(|row| {
            let (front, rest) = std::mem::take(row).split_at_mut(at);
            *row = rest;
            front
        });
        let front = ColumnTile { product: *product, first: *first, rows: front.collect(), last: true };
        *first += at;
        front
    }
}

/// The tiles of one thread, split off from either end when they are taken.
#[derive(Default)]
pub struct TileQueue<'a>(VecDeque<Columns<'a>>);

impl<'a> Iterator for TileQueue<'a> {
    type Item = ColumnTile<'a>;

    fn next(&mut self) -> Option<ColumnTile<'a>> {
        let columns = self.0.front_mut()?;
        if columns.count() > 1 {
            return Some(ColumnTile { last: false, ..columns.split_front(1) });
        }
        self.0.pop_front().map(|columns| columns.rest)
    }
}

impl DoubleEndedIterator for TileQueue<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let columns = self.0.back_mut()?;
        let count = columns.count();
        if count > 1 {
            let front = columns.split_front(count - 1);
            return Some(std::mem::replace(&mut columns.rest, front));
        }
        self.0.pop_back().map(|columns| columns.rest)
    }
}

/// Splits all columns into one queue per thread, with equally many tiles each and neighbours in the same queue.
pub fn split_columns<'a>(
    outputs: impl IntoIterator<Item = Columns<'a>>,
    threads: usize,
) -> Vec<TileQueue<'a>> {
    let outputs: Vec<_> = outputs.into_iter().collect();
    let count = outputs.iter().map(Columns::count).sum();
    let mut queues: Vec<_> = (0..threads).map(|_| TileQueue::default()).collect();
    let (mut thread, mut room) = (0, part_size(count, 0, threads));
    for mut columns in outputs {
        while columns.count() > 0 {
            while room == 0 {
                thread += 1;
                room = part_size(count, thread, threads);
            }
            let count = room.min(columns.count());
            let rest = columns.split_front(count);
            queues[thread].0.push_back(Columns { rest, step: columns.step });
            room -= count;
        }
    }
    queues
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Product, first column and number of columns of each tile, taken from the front or from the back.
    fn taken(mut queue: TileQueue<'_>, back: bool) -> Vec<(usize, usize, usize)> {
        let next = || if back { queue.next_back() } else { queue.next() };
        std::iter::from_fn(next).map(|tile| (tile.product, tile.first, tile.columns())).collect()
    }

    #[test]
    fn neighbours_stay_together_and_both_ends_give_the_same_tiles() {
        for (back, orders) in [
            (false, [vec![(0, 0, 4), (0, 4, 4), (0, 8, 2)], vec![(1, 0, 3), (1, 3, 3), (1, 6, 3)]]),
            (true, [vec![(0, 8, 2), (0, 4, 4), (0, 0, 4)], vec![(1, 6, 3), (1, 3, 3), (1, 0, 3)]]),
        ] {
            let (mut a, mut b) = ([[0.0; 10]; 2], [[0.0; 9]; 2]);
            let [a, b] = [
                a.iter_mut().map(|row| &mut row[..]).collect(),
                b.iter_mut().map(|row| &mut row[..]).collect(),
            ];
            let queues = split_columns([Columns::new(0, a, 4), Columns::new(1, b, 3)], 2);
            for (queue, order) in queues.into_iter().zip(orders) {
                assert_eq!(taken(queue, back), order);
            }
        }
    }

    #[test]
    fn every_column_is_in_one_queue() {
        for threads in [1, 2, 3, 7] {
            let (mut a, mut b) = ([0.0; 50], [0.0; 7]);
            let outputs = [Columns::new(0, vec![&mut a], 8), Columns::new(1, vec![&mut b], 8)];
            for tile in split_columns(outputs, threads).into_iter().flatten() {
                tile.rows.into_iter().flatten().for_each(|value| *value += 1.0);
            }
            assert!(a.iter().chain(&b).all(|value| value.to_bits() == 1f32.to_bits()), "{threads} threads");
        }
    }
}
