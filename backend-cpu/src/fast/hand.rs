//! Items dealt out to threads, neighbours to the same one: it then reads long pieces of memory in order.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Items with their numbers, each to be taken once.
pub struct Hand<T> {
    shares: Vec<Share<T>>,
}

/// The items of one player. Apart from the others in memory, so that players who keep to their own do not disturb each other.
#[repr(align(128))]
struct Share<T>(Mutex<VecDeque<(usize, T)>>);

impl<T> Share<T> {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(usize, T)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Hand<T> {
    /// Items for so many players.
    pub fn new(items: impl ExactSizeIterator<Item = T>, players: usize) -> Self {
        let (count, players) = (items.len(), players.max(1));
        let mut items = items.enumerate();
        let size = |player: usize| (player + 1) * count / players - player * count / players;
        let share = |player: usize| Share(Mutex::new(items.by_ref().take(size(player)).collect()));
        Hand { shares: (0..players).map(share).collect() }
    }

    /// Does `f` to the items of player `player`, and then to those that others have not yet come to, from the last one back.
    pub fn play(&self, player: usize, f: impl Fn(usize, T)) {
        let players = self.shares.len();
        let own = &self.shares[player % players];
        while let Some((i, item)) = { own.lock().pop_front() } {
            f(i, item);
        }
        for other in 1..players {
            let other = &self.shares[(player + other) % players];
            while let Some((i, item)) = { other.lock().pop_back() } {
                f(i, item);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn every_item_is_taken_once_whoever_comes() {
        for (items, players) in [(0usize, 1), (1, 1), (1, 3), (7, 2), (16, 3), (100, 7)] {
            for come in [1, players, players + 2] {
                let hand = Hand::new(0..items, players);
                let taken = Mutex::new(Vec::new());
                thread::scope(|scope| {
                    for player in 0..come {
                        let (hand, taken) = (&hand, &taken);
                        scope.spawn(move || {
                            hand.play(player, |i, item| {
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
            let hand = Hand::new(0..6, 2);
            let taken = Mutex::new(Vec::new());
            hand.play(player, |_, item| taken.lock().unwrap().push(item));
            assert_eq!(taken.into_inner().unwrap(), order);
        }
    }
}
