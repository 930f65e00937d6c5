//! Work dealt out to threads, neighbouring pieces to the same one: it then reads long pieces of memory in order.

use std::sync::{Mutex, PoisonError};

/// Work in shares, one for each player. A share is cut into pieces as they are taken, from the front by its player and from the back by
/// others who have nothing left.
pub struct Hand<I> {
    shares: Vec<Share<I>>,
}

/// The work of one player. Apart from the others in memory, so that players who keep to their own do not disturb each other.
#[repr(align(128))]
struct Share<I>(Mutex<I>);

impl<I: DoubleEndedIterator> Hand<I> {
    /// Work that has been dealt out.
    pub fn new(shares: impl IntoIterator<Item = I>) -> Self {
        Hand { shares: shares.into_iter().map(|share| Share(Mutex::new(share))).collect() }
    }

    /// Does `f` to the pieces of player `player`, and then to those that others have not yet come to, from the last one back.
    pub fn play(&self, player: usize, f: impl Fn(I::Item)) {
        let take = |player: usize, cut: fn(&mut I) -> Option<I::Item>| {
            let share = &self.shares[player % self.shares.len()];
            cut(&mut share.0.lock().unwrap_or_else(PoisonError::into_inner))
        };
        if self.shares.is_empty() {
            return;
        }
        while let Some(piece) = take(player, I::next) {
            f(piece);
        }
        for other in player + 1..player + self.shares.len() {
            while let Some(piece) = take(other, I::next_back) {
                f(piece);
            }
        }
    }
}

/// Shares of `items`, with their numbers, for so many players.
pub fn deal<T>(
    items: impl ExactSizeIterator<Item = T>,
    players: usize,
) -> Vec<std::vec::IntoIter<(usize, T)>> {
    let count = items.len();
    let mut items = items.enumerate();
    let share = |player| items.by_ref().take(quota(count, player, players)).collect::<Vec<_>>().into_iter();
    (0..players).map(share).collect()
}

/// How many of `count` pieces player `player` of `players` gets.
pub const fn quota(count: usize, player: usize, players: usize) -> usize {
    (player + 1) * count / players - player * count / players
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn every_item_is_taken_once_whoever_comes() {
        for (items, players) in [(0usize, 1), (1, 1), (1, 3), (7, 2), (16, 3), (100, 7)] {
            for come in [1, players, players + 2] {
                let hand = Hand::new(deal(0..items, players));
                let taken = Mutex::new(Vec::new());
                thread::scope(|scope| {
                    for player in 0..come {
                        let (hand, taken) = (&hand, &taken);
                        scope.spawn(move || {
                            hand.play(player, |(i, item)| {
                                assert_eq!(i, item);
                                taken.lock().unwrap().push(item);
                            });
                        });
                    }
                });
                let mut taken = taken.into_inner().unwrap();
                taken.sort_unstable();
                assert_eq!(
                    taken,
                    (0..items).collect::<Vec<_>>(),
                    "{items} items, {players} players, {come} come"
                );
            }
        }
    }

    #[test]
    fn a_lone_player_takes_its_own_in_order_and_the_others_from_the_back() {
        for (player, order) in [(0, [0, 1, 2, 5, 4, 3]), (1, [3, 4, 5, 2, 1, 0])] {
            let hand = Hand::new(deal(0..6, 2));
            let taken = Mutex::new(Vec::new());
            hand.play(player, |(_, item)| taken.lock().unwrap().push(item));
            assert_eq!(taken.into_inner().unwrap(), order);
        }
    }
}
