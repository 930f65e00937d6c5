//! Covering arrays: few cases in which every pair, or every triple, of values occurs.
//!
//! [`Axes`] makes one from the values that each parameter of an op can have; [`choose`] picks one among cases that are there.
//! Both are greedy and depend on nothing but their input.

use crate::data::Random;

/// How many values are looked at together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strength {
    /// Every two values of different parameters.
    Pairs,
    /// Every three.
    Triples,
}

/// Of `rows`, each a list of values, the positions of few in which every pair of values occurs that occurs in any of them.
/// Rows with more that is new come first, and of equal ones those with a smaller `tie`.
pub fn choose(rows: &[Vec<u32>], tie: &[u64]) -> Vec<usize> {
    let width = rows.iter().flatten().max().map_or(0, |most| *most as usize + 1);
    let mut covered = vec![false; width * width];
    let pairs = |row: &[u32]| -> Vec<usize> {
        let after = |at: usize| row[at + 1..].iter().map(move |b| (row[at] as usize, *b as usize));
        (0..row.len()).flat_map(after).map(|(a, b)| a.min(b) * width + a.max(b)).collect()
    };
    let new = |row: &[u32], covered: &[bool]| pairs(row).into_iter().filter(|pair| !covered[*pair]).count();
    // What a row adds only shrinks, so that the best one by an old count is the best one if its count is still the same.
    let mut heap: std::collections::BinaryHeap<_> = rows
        .iter()
        .enumerate()
        .map(|(at, row)| (pairs(row).len(), std::cmp::Reverse((tie[at], at))))
        .collect();
    let mut chosen = Vec::new();
    while let Some((count, std::cmp::Reverse((hash, at)))) = heap.pop() {
        let now = new(&rows[at], &covered);
        if now < count {
            if now > 0 {
                heap.push((now, std::cmp::Reverse((hash, at))));
            }
            continue;
        }
        for pair in pairs(&rows[at]) {
            covered[pair] = true;
        }
        chosen.push(at);
    }
    chosen
}

/// Sets one parameter of a case to one of its values.
type Setter<S> = Box<dyn Fn(&mut S)>;

/// The parameters of a case, each with the values that it can have.
pub struct Axes<S> {
    axes: Vec<Vec<Setter<S>>>,
}

impl<S> std::fmt::Debug for Axes<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.axes.iter().map(Vec::len)).finish()
    }
}

impl<S: Clone> Default for Axes<S> {
    fn default() -> Self {
        Axes { axes: Vec::new() }
    }
}

/// Candidates for a row: the one that covers most is taken.
const CANDIDATES: usize = 6;

/// Candidates that may be invalid before a combination counts as impossible.
const PATIENCE: usize = 48;

impl<S: Clone> Axes<S> {
    /// No parameters yet.
    pub fn new() -> Self {
        Axes::default()
    }

    /// A further parameter, which `set` sets to one of `values`; none where there are no values.
    #[must_use]
    pub fn axis<V: Clone + 'static>(
        mut self,
        values: impl IntoIterator<Item = V>,
        set: impl Fn(&mut S, V) + Copy + 'static,
    ) -> Self {
        let setter = |value: V| -> Setter<S> { Box::new(move |spec| set(spec, value.clone())) };
        let setters: Vec<_> = values.into_iter().map(setter).collect();
        if !setters.is_empty() {
            self.axes.push(setters);
        }
        self
    }

    /// Cases in which every combination of `strength` values occurs for which there is a valid case.
    pub fn array(&self, plain: &S, strength: Strength, valid: impl Fn(&S) -> bool) -> Vec<S> {
        let mut cover = Cover::new(self.axes.iter().map(Vec::len).collect(), strength);
        let mut random = Random::new(self.axes.len() as u64);
        let mut specs = Vec::new();
        while let Some(wanted) = cover.next_missing() {
            let mut best: Option<(usize, Vec<usize>, S)> = None;
            let mut found = 0;
            for attempt in 0..PATIENCE {
                // What adds most may be what is never valid: after a few attempts chance decides more and more.
                let greed = if attempt < CANDIDATES { PATIENCE } else { PATIENCE - attempt };
                let row = cover.candidate(&wanted, greed, &mut random);
                let mut spec = plain.clone();
                for (setters, value) in self.axes.iter().zip(&row) {
                    setters[*value](&mut spec);
                }
                if !valid(&spec) {
                    continue;
                }
                let gain = cover.gain(&row);
                if best.as_ref().is_none_or(|(most, ..)| gain > *most) {
                    best = Some((gain, row, spec));
                }
                found += 1;
                if found == CANDIDATES {
                    break;
                }
            }
            match best {
                Some((_, row, spec)) => {
                    cover.add(&row);
                    specs.push(spec);
                }
                None => cover.give_up(&wanted),
            }
        }
        specs
    }
}

/// Which combinations of values have occurred.
struct Cover {
    /// Values of each parameter.
    counts: Vec<usize>,
    /// Number of the first value of each parameter, when all values are counted through.
    first: Vec<usize>,
    /// All values together.
    values: usize,
    /// Every set of as many parameters as are looked at together, in ascending order.
    sets: Vec<Vec<usize>>,
    /// The sets that each parameter is in.
    sets_of: Vec<Vec<usize>>,
    seen: Vec<bool>,
    /// Where to go on looking for what is missing: a set, and a number of its combination.
    next: (usize, usize),
}

impl Cover {
    fn new(counts: Vec<usize>, strength: Strength) -> Self {
        let first: Vec<usize> = counts
            .iter()
            .scan(0, |sum, count| {
                let at = *sum;
                *sum += count;
                Some(at)
            })
            .collect();
        let values: usize = counts.iter().sum();
        let axes = counts.len();
        let pairs = (0..axes).flat_map(|a| (a + 1..axes).map(move |b| vec![a, b]));
        let (sets, size): (Vec<Vec<usize>>, usize) = match strength {
            Strength::Pairs => (pairs.collect(), values * values),
            Strength::Triples => {
                let with_third =
                    |pair: Vec<usize>| (pair[1] + 1..axes).map(move |c| vec![pair[0], pair[1], c]);
                (pairs.flat_map(with_third).collect(), values * values * values)
            }
        };
        let with = |axis| (0..sets.len()).filter(|set: &usize| sets[*set].contains(&axis)).collect();
        let sets_of = (0..axes).map(with).collect();
        Cover { counts, first, values, sets, sets_of, seen: vec![false; size], next: (0, 0) }
    }

    /// The number of a combination: `row[axis]` for each of `axes`.
    fn index(&self, axes: &[usize], row: impl Fn(usize) -> usize) -> usize {
        axes.iter().fold(0, |index, axis| index * self.values + self.first[*axis] + row(*axis))
    }

    /// A combination that has not occurred: parameters and values.
    fn next_missing(&mut self) -> Option<Vec<(usize, usize)>> {
        while let Some(set) = self.sets.get(self.next.0) {
            let all: usize = set.iter().map(|axis| self.counts[*axis]).product();
            while self.next.1 < all {
                let mut rest = self.next.1;
                let combination: Vec<(usize, usize)> = set
                    .iter()
                    .map(|axis| {
                        let value = rest % self.counts[*axis];
                        rest /= self.counts[*axis];
                        (*axis, value)
                    })
                    .collect();
                let index = combination
                    .iter()
                    .fold(0, |index, (axis, value)| index * self.values + self.first[*axis] + value);
                if !self.seen[index] {
                    return Some(combination);
                }
                self.next.1 += 1;
            }
            self.next = (self.next.0 + 1, 0);
        }
        None
    }

    /// A row with the wanted combination. Of the other values, `greed` in [`PATIENCE`] are those that add most to what is fixed before
    /// them, in a random order, and the rest is random.
    fn candidate(&self, wanted: &[(usize, usize)], greed: usize, random: &mut Random) -> Vec<usize> {
        let mut row: Vec<Option<usize>> = vec![None; self.counts.len()];
        for (axis, value) in wanted {
            row[*axis] = Some(*value);
        }
        let mut free: Vec<usize> = (0..row.len()).filter(|axis| row[*axis].is_none()).collect();
        for at in (1..free.len()).rev() {
            free.swap(at, random.below(at + 1));
        }
        for axis in free {
            let count = self.counts[axis];
            let start = random.below(count);
            if random.below(PATIENCE) >= greed {
                row[axis] = Some(start);
                continue;
            }
            let fixed = |set: &&Vec<usize>| set.iter().all(|a| *a == axis || row[*a].is_some());
            let sets: Vec<_> = self.sets_of[axis].iter().map(|set| &self.sets[*set]).filter(fixed).collect();
            let gain = |value: usize| {
                let of = |a: usize| if a == axis { value } else { row[a].unwrap_or(0) };
                sets.iter().filter(|set| !self.seen[self.index(set, of)]).count()
            };
            let order = (0..count).map(|turn| (start + turn) % count);
            // The first of the best, so that equal ones take turns.
            row[axis] = order.rev().max_by_key(|value| gain(*value));
        }
        row.into_iter().map(Option::unwrap_or_default).collect()
    }

    fn gain(&self, row: &[usize]) -> usize {
        self.sets.iter().filter(|set| !self.seen[self.index(set, |axis| row[axis])]).count()
    }

    fn add(&mut self, row: &[usize]) {
        for at in 0..self.sets.len() {
            let index = self.index(&self.sets[at], |axis| row[axis]);
            self.seen[index] = true;
        }
    }

    /// No valid case has this combination.
    fn give_up(&mut self, combination: &[(usize, usize)]) {
        let index = combination
            .iter()
            .fold(0, |index, (axis, value)| index * self.values + self.first[*axis] + value);
        self.seen[index] = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    type Case = [u8; 5];

    fn axes() -> Axes<Case> {
        Axes::new()
            .axis(0..4u8, |case: &mut Case, v| case[0] = v)
            .axis(0..3u8, |case: &mut Case, v| case[1] = v)
            .axis(0..5u8, |case: &mut Case, v| case[2] = v)
            .axis(0..2u8, |case: &mut Case, v| case[3] = v)
            .axis(0..2u8, |case: &mut Case, v| case[4] = v)
    }

    fn every(size: usize, valid: impl Fn(&Case) -> bool) -> HashSet<Vec<(usize, u8)>> {
        let mut all = HashSet::new();
        for number in 0..4 * 3 * 5 * 2 * 2usize {
            let digit = |base: usize, count: usize| u8::try_from(number / base % count).unwrap();
            let case = [digit(1, 4), digit(4, 3), digit(12, 5), digit(60, 2), digit(120, 2)];
            if valid(&case) {
                all.extend(combinations(case, size));
            }
        }
        all
    }

    fn combinations(case: Case, size: usize) -> Vec<Vec<(usize, u8)>> {
        (0..32usize)
            .filter(|mask| mask.count_ones() as usize == size)
            .map(|mask| (0..5).filter(|at| mask >> at & 1 == 1).map(|at| (at, case[at])).collect())
            .collect()
    }

    #[test]
    fn every_possible_combination_occurs_and_few_cases_are_needed() {
        let valid = |case: &Case| !(case[0] == 3 && case[2] == 4) && (case[3] == 0 || case[1] < 2);
        for (strength, size, most) in [(Strength::Pairs, 2, 30), (Strength::Triples, 3, 90)] {
            let array = axes().array(&[0; 5], strength, valid);
            assert!(array.iter().all(valid));
            let found: HashSet<_> = array.iter().flat_map(|case| combinations(*case, size)).collect();
            assert_eq!(found, every(size, valid), "{strength:?}");
            assert!(array.len() <= most, "{strength:?}: {}", array.len());
            assert_eq!(array, axes().array(&[0; 5], strength, valid), "the same every time");
        }
    }

    #[test]
    fn a_choice_has_every_pair_that_is_there() {
        let all: Vec<Vec<u32>> = axes()
            .array(&[0; 5], Strength::Triples, |_| true)
            .iter()
            .map(|case| case.iter().zip([0, 10, 20, 30, 40]).map(|(v, base)| u32::from(*v) + base).collect())
            .collect();
        let ties: Vec<u64> = (0..all.len() as u64).map(|at| at * 7919 % 101).collect();
        let chosen = choose(&all, &ties);
        let pairs = |rows: &mut dyn Iterator<Item = &Vec<u32>>| -> HashSet<(u32, u32)> {
            rows.flat_map(|row| row.iter().flat_map(|a| row.iter().map(|b| (*a, *b))).collect::<Vec<_>>())
                .collect()
        };
        assert_eq!(pairs(&mut all.iter()), pairs(&mut chosen.iter().map(|at| &all[*at])));
        assert!(chosen.len() * 2 < all.len(), "{} of {}", chosen.len(), all.len());
        assert_eq!(choose(&[], &[]), Vec::<usize>::new());
    }
}
