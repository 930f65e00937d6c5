//! Merging adjacent symbols in the order of their rank, for both kinds of tokenizer.
//!
//! The symbols are a linked list in an array; candidate pairs are in a heap. A pair that became stale because one side
//! was merged is recognised when it is popped. A text of n symbols takes O(n log n).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::TokenizerError;

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

/// Symbols of a text at most: what is kept of each takes some 50 bytes.
const MAX_SYMBOLS: usize = 1 << 24;

/// No node.
const NONE: u32 = u32::MAX;

/// A symbol in the list. Positions and indices are `u32`: there are at most [`MAX_SYMBOLS`], of up to four bytes each.
struct Node {
    start: u32,
    end: u32,
    id: u32,
    prev: u32,
    next: u32,
}

impl Node {
    fn symbol(&self) -> Symbol {
        Symbol { start: self.start as usize, end: self.end as usize, id: self.id }
    }

    /// A node that was merged into the one before it is an empty range.
    fn is_live(&self) -> bool {
        self.start < self.end
    }
}

/// A pair to merge, ordered by its first two fields. The ends are those at the time it was found.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    rank: u32,
    left: u32,
    right: u32,
    left_end: u32,
    right_end: u32,
    id: u32,
}

/// Merges `symbols`, which are adjacent ranges, none of them empty, until `pair` returns `None` for all neighbours.
pub(super) fn merge(
    symbols: impl IntoIterator<Item = Symbol>,
    pair: impl Fn(Symbol, Symbol) -> Option<Merged>,
) -> Result<Vec<Symbol>, TokenizerError> {
    let mut nodes = list(symbols)?;
    let candidate = |nodes: &[Node], left: u32, right: u32| {
        let (l, r) = (nodes.get(left as usize)?, nodes.get(right as usize)?);
        let Merged { rank, id } = pair(l.symbol(), r.symbol())?;
        Some(Reverse(Candidate { rank, left, right, left_end: l.end, right_end: r.end, id }))
    };
    let mut queue: BinaryHeap<_> =
        (0..).zip(&nodes).filter_map(|(at, node)| candidate(&nodes, at, node.next)).collect();

    while let Some(Reverse(c)) = queue.pop() {
        let (left, right) = (&nodes[c.left as usize], &nodes[c.right as usize]);
        let fresh = left.is_live() && right.is_live() && left.end == c.left_end && right.end == c.right_end;
        if !fresh {
            continue;
        }
        let (prev, next) = (left.prev, right.next);
        let gone = &mut nodes[c.right as usize];
        gone.start = gone.end;
        let merged = &mut nodes[c.left as usize];
        (merged.end, merged.id, merged.next) = (c.right_end, c.id, next);
        if let Some(next) = nodes.get_mut(next as usize) {
            next.prev = c.left;
        }
        queue.extend(candidate(&nodes, prev, c.left));
        queue.extend(candidate(&nodes, c.left, next));
    }
    Ok(nodes.iter().filter(|node| node.is_live()).map(Node::symbol).collect())
}

/// The symbols as a list.
fn list(symbols: impl IntoIterator<Item = Symbol>) -> Result<Vec<Node>, TokenizerError> {
    let mut symbols = symbols.into_iter();
    let mut nodes: Vec<Node> = Vec::new();
    let narrow = |at: usize| u32::try_from(at).expect("symbols of up to four bytes, 2^24 of them");
    for symbol in symbols.by_ref().take(MAX_SYMBOLS) {
        let at = narrow(nodes.len());
        let prev = at.checked_sub(1).unwrap_or(NONE);
        let (start, end) = (narrow(symbol.start), narrow(symbol.end));
        nodes.push(Node { start, end, id: symbol.id, prev, next: at + 1 });
    }
    let more = symbols.count();
    if more > 0 {
        return Err(TokenizerError::TooLong { found: MAX_SYMBOLS + more, limit: MAX_SYMBOLS });
    }
    if let Some(last) = nodes.last_mut() {
        last.next = NONE;
    }
    Ok(nodes)
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
        merged.unwrap().iter().map(|s| text[s.start..s.end].to_owned()).collect()
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
    fn a_text_that_would_take_all_memory_is_refused() {
        let symbols = |count: usize| (0..count).map(|at| Symbol { start: at, end: at + 1, id: 0 });
        let error = merge(symbols(MAX_SYMBOLS + 2), |_, _| None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a piece of text of 16777218 symbols without a break, the limit is 16777216"
        );
        assert_eq!(merge(symbols(MAX_SYMBOLS), |_, _| None).unwrap().len(), MAX_SYMBOLS);
    }

    #[test]
    fn nothing_becomes_nothing() {
        assert!(run("", &[("ab", 1)]).is_empty());
    }
}
