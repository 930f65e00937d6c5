//! Memory that goes from one forward pass to the next: a page of it that is new costs more than the copy of what it holds.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

/// A place for memory that nobody needs at the moment.
#[derive(Clone, Default, Debug)]
pub(crate) struct Home(Arc<Mutex<Vec<f32>>>);

impl Home {
    /// `count` values, filled by `fill`.
    pub(crate) fn lend<E>(
        &self,
        count: usize,
        fill: impl FnOnce(&mut [f32]) -> Result<(), E>,
    ) -> Result<Lent, E> {
        let values = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let mut lent = Lent { values, home: self.clone() };
        lent.values.resize(count, 0.0);
        fill(&mut lent.values)?;
        Ok(lent)
    }
}

/// Values in memory that goes home when they are dropped.
#[derive(Clone, Debug)]
pub(crate) struct Lent {
    values: Vec<f32>,
    home: Home,
}

impl Deref for Lent {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.values
    }
}

impl PartialEq for Lent {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        *self.home.0.lock().unwrap_or_else(PoisonError::into_inner) = std::mem::take(&mut self.values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_and_nothing_of_what_it_held() {
        let home = Home::default();
        let fill = |value: f32| {
            move |values: &mut [f32]| {
                values.fill(value);
                Ok::<_, ()>(())
            }
        };
        let first = home.lend(5, fill(1.0)).unwrap();
        let place = first.as_ptr();
        drop(first);
        let second = home.lend(3, fill(2.0)).unwrap();
        assert_eq!((second.as_ptr(), &*second), (place, &[2.0; 3][..]));
        let third = home.lend(4, fill(3.0)).unwrap();
        assert_eq!((&*second, &*third), (&[2.0; 3][..], &[3.0; 4][..]), "two at a time are apart");
        assert_eq!(home.lend(1, |_| Err("no")).unwrap_err(), "no");
    }
}
