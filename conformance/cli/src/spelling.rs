//! Misspelt names, and what they were meant to be.

/// The one of `known` that is most like `name`.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    known.into_iter().min_by_key(|known| distance(name, known))
}

/// Insertions, deletions and replacements that turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn the_nearest_name_is_the_one_with_the_fewest_edits() {
        assert_eq!(nearest("cpuu", ["ref", "cpu", "soft"]), Some("cpu"));
        assert_eq!(nearest("x", []), None);
    }
}
