//! Items dealt out to threads, neighbours to the same one: it then reads long pieces of memory in order.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Items with their numbers, each to be taken once.
pub struct Hand<T> {
    items: Vec<Mutex<Option<(usize, T)>>>,
    players: usize,
    /// Players that have come.
    come: AtomicUsize,
}

impl<T> Hand<T> {
    /// Items for so many players at most.
    pub fn new(items: impl Iterator<Item = (usize, T)>, players: usize) -> Self {
        let items = items.map(|item| Mutex::new(Some(item))).collect();
        Hand { items, players: players.max(1), come: AtomicUsize::new(0) }
    }

    /// Does `f` to the items of one player, and then to those that others have not yet come to, from the last one back.
    pub fn play(&self, f: impl Fn(usize, T)) {
        let own = self.share(self.come.fetch_add(1, Ordering::Relaxed) % self.players);
        for item in own.chain((0..self.items.len()).rev()) {
            let taken = self.items[item].lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some((i, item)) = taken {
                f(i, item);
            }
        }
    }

    /// The items of player `player`.
    fn share(&self, player: usize) -> Range<usize> {
        let first = |player: usize| player * self.items.len() / self.players;
        first(player)..first(player + 1)
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
                let hand = Hand::new((0..items).enumerate(), players);
                let taken = Mutex::new(Vec::new());
                thread::scope(|scope| {
                    for _ in 0..come {
                        scope.spawn(|| {
                            hand.play(|i, item| {
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
        let hand = Hand::new((0..6).enumerate(), 2);
        let taken = Mutex::new(Vec::new());
        hand.play(|_, item| taken.lock().unwrap().push(item));
        assert_eq!(taken.into_inner().unwrap(), [0, 1, 2, 5, 4, 3]);
    }
}
