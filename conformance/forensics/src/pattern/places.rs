//! Where the wrong elements lie.

use super::{Case, Guess};

/// The smallest place that holds all wrong elements and says something.
pub(super) fn guess(case: &Case) -> Option<Guess> {
    let (rows, columns) = (case.rows(), case.columns());
    let span = |values: &mut dyn Iterator<Item = usize>| {
        values.fold(None, |span: Option<(usize, usize)>, v| {
            Some(span.map_or((v, v), |(low, high)| (low.min(v), high.max(v))))
        })
    };
    let (top, bottom) = span(&mut case.wrong.iter().map(|i| i / columns))?;
    let (left, right) = span(&mut case.wrong.iter().map(|i| i % columns))?;
    let said = |what: String| Some(Guess { what, explained: 1.0 });
    if case.wrong.len() == 1 {
        return said(format!("a single element is wrong: row {top}, column {left}"));
    }
    let full = case.wrong.len() == case.got.len();
    if full {
        return None;
    }
    for tile in [16, 32] {
        let one = |low: usize, high: usize, extent: usize| extent > tile && low / tile == high / tile;
        let filled = case.wrong.len() * 2 >= (bottom - top + 1) * (right - left + 1);
        if rows > tile && one(top, bottom, rows) && one(left, right, columns) && filled {
            let (row, column) = (top / tile * tile, left / tile * tile);
            return said(format!("only the {tile} × {tile} tile at row {row}, column {column} is wrong"));
        }
    }
    for tile in [256, 64, 32, 16, 8, 4] {
        let kept = columns - columns % tile;
        if kept > 0 && kept < columns && left >= kept {
            return said(format!("only the tail is wrong: columns from {kept} on, behind the last {tile}"));
        }
    }
    if left == right && columns > 1 {
        return said(format!("only column {left} of {columns} is wrong"));
    }
    if top == bottom && rows > 1 {
        return said(format!("only row {top} of {rows} is wrong"));
    }
    for block in [128, 64, 32] {
        if columns > block && left / block == right / block {
            let first = left / block * block;
            return said(format!("only columns {first}..{} of {columns} are wrong", first + block));
        }
    }
    (left > 0 && right + 1 == columns && columns > 1)
        .then(|| Guess { what: format!("only columns from {left} on are wrong"), explained: 1.0 })
}
