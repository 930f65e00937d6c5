//! Right numbers in wrong places: transposes, permutations, shifts.

use super::{Case, Guess};

pub(super) fn guesses(case: &Case) -> Vec<Guess> {
    let mut all = Vec::new();
    let mut add = |what: String, explained: f64| all.push(Guess { what, explained });
    let (rows, columns) = (case.rows(), case.columns());
    let split = |i: usize| (i / columns, i % columns);
    let join = |row: usize, column: usize| (row < rows && column < columns).then(|| row * columns + column);

    add("transposed".into(), case.moved(|i| join(i % columns, i / columns)));
    add("stored column by column".into(), case.moved(|i| join(i % rows, i / rows)));
    for tile in [16, 32] {
        let inside = |i: usize| {
            let (row, column) = split(i);
            let (r, c) = (row % tile, column % tile);
            join(row - r + c, column - c + r)
        };
        add(format!("tiles of {tile} × {tile} transposed"), case.moved(inside));
    }
    shifts(case, &mut add);
    let pairs: [(&str, &dyn Fn(usize) -> usize); 5] = [
        ("interleaved pairs (2i, 2i+1) stored as halves (i, i+d/2)", &|c| {
            if c < columns / 2 { 2 * c } else { 2 * (c - columns / 2) + 1 }
        }),
        ("halves (i, i+d/2) stored as interleaved pairs (2i, 2i+1)", &|c| c / 2 + c % 2 * (columns / 2)),
        ("halves of each row swapped", &|c| (c + columns / 2) % columns),
        ("neighbouring elements swapped", &|c| c ^ 1),
        ("nibbles swapped: elements i and i+16 of each block exchanged", &|c| c ^ 16),
    ];
    for (what, from) in pairs {
        add(what.into(), case.moved(|i| join(i / columns, from(i % columns))));
    }
    add_permutations(case, &mut add);
    all
}

/// By one along each dimension.
fn shifts(case: &Case, add: &mut impl FnMut(String, f64)) {
    let rank = case.shape.len();
    let mut stride = 1;
    for axis in (0..rank).rev() {
        let extent = case.shape[axis];
        let name = match (rank, axis) {
            (_, a) if a + 1 == rank => "element",
            (4, 1) => "slot",
            (3, 1) | (4, 2) => "head",
            _ => "row",
        };
        if extent > 1 {
            let place = |i: usize| i / stride % extent;
            add(
                format!("shifted by one {name}: each holds the one before"),
                case.moved(|i| (place(i) > 0).then(|| i - stride)),
            );
            add(
                format!("shifted by one {name}: each holds the one behind"),
                case.moved(|i| (place(i) + 1 < extent).then_some(i + stride)),
            );
        }
        stride *= extent;
    }
}

/// Equal parts in another order: heads, rows, blocks of columns.
fn add_permutations(case: &Case, add: &mut impl FnMut(String, f64)) {
    let columns = case.columns();
    let rank = case.shape.len();
    let mut kinds: Vec<(&str, usize, usize)> = Vec::new();
    if rank >= 3 {
        kinds.push(("heads", columns, case.shape[rank - 2]));
    } else {
        kinds.extend(
            [64, 128, 32]
                .into_iter()
                .filter(|d| columns.is_multiple_of(*d))
                .map(|d| ("heads", d, columns / d)),
        );
        kinds.push(("rows", columns, case.rows()));
    }
    for (name, len, count) in kinds.into_iter().filter(|(_, _, count)| (2..=512).contains(count)) {
        let Some(order) = order(case, len, count) else { continue };
        let moved: Vec<String> = order
            .iter()
            .enumerate()
            .filter(|(to, from)| to != *from)
            .map(|(to, from)| format!("{to}←{from}"))
            .collect();
        let shown = moved.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
        let more = if moved.len() > 8 { ", …" } else { "" };
        let explained = case.moved(|i| {
            let part = i / len % count;
            Some(i - part * len + order[part] * len)
        });
        add(format!("{name} of {len} permuted ({shown}{more})"), explained);
    }
}

/// The order in which the `count` parts of `len` elements stand, the same in every group; `None` where it is no permutation, or
/// the plain one.
fn order(case: &Case, len: usize, count: usize) -> Option<Vec<usize>> {
    let first = *case.wrong.first()?;
    let group = first / (len * count) * len * count;
    let fits = |to: usize, from: usize| {
        (0..len).all(|at| {
            let source = group + from * len + at;
            super::near(case.got[group + to * len + at], case.want[source], case.bound[source])
        })
    };
    let found: Vec<usize> = (0..count)
        .map(|to| if fits(to, to) { Some(to) } else { (0..count).find(|&from| fits(to, from)) })
        .collect::<Option<_>>()?;
    let mut sorted = found.clone();
    sorted.sort_unstable();
    (sorted.iter().copied().eq(0..count) && !found.iter().copied().eq(0..count)).then_some(found)
}
