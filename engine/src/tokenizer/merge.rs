//! Merging adjacent symbols in the order of their rank, for both kinds of tokenizer.
//!
//! The symbols are a linked list in an array; candidate pairs are in a heap. A pair that became stale because one side
//! was merged is recognised when it is popped. A text of n symbols takes O(n log n).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A range of the text that has been merged. `id` belongs to the caller, e.g. a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Symbol {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) id: u32,
}

/// The symbol that a pair becomes, and its rank: the lowest rank is merged first, the leftmost of equal ranks.
#[derive(Clone, Copy)]
pub(super) struct Merged {
    pub(super) rank: u32,
    pub(super) id: u32,
}

struct Node {
    symbol: Symbol,
    prev: Option<usize>,
    next: Option<usize>,
    live: bool,
}

/// A pair to merge, ordered by its first two fields. The ends are those at the time it was found.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    rank: u32,
    left: usize,
    right: usize,
    left_end: usize,
    right_end: usize,
    id: u32,
}

/// Merges `symbols`, which are adjacent ranges, until `pair` returns `None` for all neighbours.
pub(super) fn merge(
    symbols: impl IntoIterator<Item = Symbol>,
    pair: impl Fn(Symbol, Symbol) -> Option<Merged>,
) -> Vec<Symbol> {
    let mut nodes: Vec<Node> = symbols
        .into_iter()
        .enumerate()
        .map(|(i, symbol)| Node { symbol, prev: i.checked_sub(1), next: Some(i + 1), live: true })
        .collect();
    if let Some(last) = nodes.last_mut() {
        last.next = None;
    }

    let candidate = |nodes: &[Node], left: usize, right: usize| {
        let (l, r) = (nodes[left].symbol, nodes[right].symbol);
        let Merged { rank, id } = pair(l, r)?;
        Some(Reverse(Candidate { rank, left, right, left_end: l.end, right_end: r.end, id }))
    };
    let mut queue: BinaryHeap<_> = (1..nodes.len()).filter_map(|i| candidate(&nodes, i - 1, i)).collect();

    while let Some(Reverse(c)) = queue.pop() {
        let (left, right) = (&nodes[c.left], &nodes[c.right]);
        let fresh =
            left.live && right.live && left.symbol.end == c.left_end && right.symbol.end == c.right_end;
        if !fresh {
            continue;
        }
        let (prev, next) = (left.prev, right.next);
        nodes[c.right].live = false;
        nodes[c.left].symbol.end = c.right_end;
        nodes[c.left].symbol.id = c.id;
        nodes[c.left].next = next;
        if let Some(next) = next {
            nodes[next].prev = Some(c.left);
        }
        queue.extend(prev.and_then(|prev| candidate(&nodes, prev, c.left)));
        queue.extend(next.and_then(|next| candidate(&nodes, c.left, next)));
    }
    nodes.into_iter().filter(|n| n.live).map(|n| n.symbol).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Symbols of one byte each, `id` the byte; a pair merges if `table` has its text.
    fn run(text: &str, table: &[(&str, u32)]) -> Vec<String> {
        let symbols = text.bytes().enumerate().map(|(i, b)| Symbol { start: i, end: i + 1, id: b.into() });
        let merged = merge(symbols, |l, r| {
            let (_, rank) = table.iter().find(|(t, _)| *t == &text[l.start..r.end])?;
            Some(Merged { rank: *rank, id: 0 })
        });
        merged.iter().map(|s| text[s.start..s.end].to_owned()).collect()
    }

    #[test]
    fn lowest_rank_is_merged_first() {
        assert_eq!(run("abc", &[("ab", 2), ("bc", 1)]), ["a", "bc"]);
        assert_eq!(run("abc", &[("ab", 1), ("bc", 2)]), ["ab", "c"]);
    }

    #[test]
    fn equal_ranks_go_from_left_to_right() {
        assert_eq!(run("aaaaa", &[("aa", 1)]), ["aa", "aa", "a"]);
    }

    #[test]
    fn stale_pairs_are_skipped() {
        assert_eq!(run("abcd", &[("ab", 1), ("bc", 2), ("cd", 3), ("abcd", 4)]), ["abcd"]);
    }

    #[test]
    fn nothing_becomes_nothing() {
        assert!(run("", &[("ab", 1)]).is_empty());
    }
}
