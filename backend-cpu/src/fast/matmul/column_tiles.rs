//! The outputs of products, cut into pieces for the threads.

use std::collections::VecDeque;

use super::super::work_stealing::quota;

/// Columns of an output.
pub struct Piece<'a> {
    /// Which product's.
    pub product: usize,
    /// The first column.
    pub first: usize,
    /// Of each row, these columns.
    pub tile: Vec<&'a mut [f32]>,
    /// Whether its thread has no neighbour of it to do afterwards.
    pub last: bool,
}

/// Columns of an output that are not yet cut.
pub struct Columns<'a> {
    piece: Piece<'a>,
    /// Columns of a piece.
    step: usize,
}

impl<'a> Columns<'a> {
    /// The columns of product number `product`, to be cut every `step`; `rows` are of one length.
    pub fn new(product: usize, rows: Vec<&'a mut [f32]>, step: usize) -> Self {
        Columns { piece: Piece { product, first: 0, tile: rows, last: true }, step: step.max(1) }
    }

    /// Pieces that are left.
    fn count(&self) -> usize {
        self.piece.tile.first().map_or(0, |row| row.len().div_ceil(self.step))
    }

    /// Cuts off the first `count` pieces, in one.
    fn cut(&mut self, count: usize) -> Piece<'a> {
        let Piece { product, first, tile, .. } = &mut self.piece;
        let at = tile.first().map_or(0, |row| row.len().min(count * self.step));
        let cut = tile.iter_mut().map(|row| {
            let (cut, rest) = std::mem::take(row).split_at_mut(at);
            *row = rest;
            cut
        });
        let cut = Piece { product: *product, first: *first, tile: cut.collect(), last: true };
        *first += at;
        cut
    }
}

/// The columns of one thread, cut into pieces from both ends.
#[derive(Default)]
pub struct Pieces<'a>(VecDeque<Columns<'a>>);

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let columns = self.0.front_mut()?;
        if columns.count() > 1 {
            return Some(Piece { last: false, ..columns.cut(1) });
        }
        self.0.pop_front().map(|columns| columns.piece)
    }
}

impl DoubleEndedIterator for Pieces<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let columns = self.0.back_mut()?;
        let count = columns.count();
        if count > 1 {
            let rest = columns.cut(count - 1);
            return Some(std::mem::replace(&mut columns.piece, rest));
        }
        self.0.pop_back().map(|columns| columns.piece)
    }
}

/// Shares of all columns for so many threads: equally many pieces each, neighbours to the same one.
pub fn share<'a>(outputs: impl IntoIterator<Item = Columns<'a>>, threads: usize) -> Vec<Pieces<'a>> {
    let outputs: Vec<_> = outputs.into_iter().collect();
    let count = outputs.iter().map(Columns::count).sum();
    let mut shares: Vec<_> = (0..threads).map(|_| Pieces::default()).collect();
    let (mut thread, mut room) = (0, quota(count, 0, threads));
    for mut columns in outputs {
        while columns.count() > 0 {
            while room == 0 {
                thread += 1;
                room = quota(count, thread, threads);
            }
            let taken = room.min(columns.count());
            let piece = columns.cut(taken);
            shares[thread].0.push_back(Columns { piece, step: columns.step });
            room -= taken;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Product, first column and number of columns of what comes from the front, or from the back.
    fn taken(mut pieces: Pieces<'_>, back: bool) -> Vec<(usize, usize, usize)> {
        let next = || if back { pieces.next_back() } else { pieces.next() };
        std::iter::from_fn(next).map(|piece| (piece.product, piece.first, piece.tile[0].len())).collect()
    }

    #[test]
    fn neighbours_stay_together_and_both_ends_give_the_same_pieces() {
        for (back, orders) in [
            (false, [vec![(0, 0, 4), (0, 4, 4), (0, 8, 2)], vec![(1, 0, 3), (1, 3, 3), (1, 6, 3)]]),
            (true, [vec![(0, 8, 2), (0, 4, 4), (0, 0, 4)], vec![(1, 6, 3), (1, 3, 3), (1, 0, 3)]]),
        ] {
            let (mut a, mut b) = ([[0.0; 10]; 2], [[0.0; 9]; 2]);
            let [a, b] = [
                a.iter_mut().map(|row| &mut row[..]).collect(),
                b.iter_mut().map(|row| &mut row[..]).collect(),
            ];
            let shares = share([Columns::new(0, a, 4), Columns::new(1, b, 3)], 2);
            for (pieces, order) in shares.into_iter().zip(orders) {
                assert_eq!(taken(pieces, back), order);
            }
        }
    }

    #[test]
    fn every_column_is_in_one_share() {
        for threads in [1, 2, 3, 7] {
            let (mut a, mut b) = ([0.0; 50], [0.0; 7]);
            let outputs = [Columns::new(0, vec![&mut a], 8), Columns::new(1, vec![&mut b], 8)];
            for piece in share(outputs, threads).into_iter().flatten() {
                piece.tile.into_iter().flatten().for_each(|value| *value += 1.0);
            }
            assert!(a.iter().chain(&b).all(|value| value.to_bits() == 1f32.to_bits()), "{threads} threads");
        }
    }
}
