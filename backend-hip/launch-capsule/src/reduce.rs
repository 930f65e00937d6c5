//! A capsule cut to what the launch touches, and shrunk as long as it fails in the same way.

use softhip::control::{LaunchRecord, ReplayError};
use softhip::memory::{AllocationKind, Footprint, Piece, Ranges, Snapshot};
use softhip::report::Report;
use softhip::sched::Given;

use crate::replay::{Replayed, buffer, run, same_way};
use crate::{Found, LaunchCapsule};

/// The capsule without what the launch does not touch. `None`: it does not fail in the same way, with or without that.
pub fn cut(capsule: &LaunchCapsule) -> Result<Option<LaunchCapsule>, ReplayError> {
    let Some(report) = expected(capsule)? else { return Ok(None) };
    let Some(touched) = failing(&capsule.record, &report)? else { return Ok(None) };
    let record = only_touched(&capsule.record, &report, &touched, false);
    // What a launch reads before it fails may depend on more than this run has shown.
    let fails = failing(&record, &report)?.is_some();
    let record = if fails { record } else { capsule.record.clone() };
    Ok(Some(LaunchCapsule { record, found: capsule.found.clone() }))
}

/// The smallest capsule found that fails in the same way: fewer blocks, smaller buffers. `None`: it does not fail in the same way.
pub fn shrink(capsule: &LaunchCapsule) -> Result<Option<LaunchCapsule>, ReplayError> {
    let Some(report) = expected(capsule)? else { return Ok(None) };
    if failing(&capsule.record, &report)?.is_none() {
        return Ok(None);
    }
    let mut best = capsule.record.clone();
    for axis in 0..3 {
        let (mut low, mut high) = (1, best.shape.grid[axis]);
        while low < high {
            let middle = low + (high - low) / 2;
            let mut fewer = best.clone();
            fewer.shape.grid[axis] = middle;
            if failing(&fewer, &report)?.is_some() {
                (best, high) = (fewer, middle);
            } else {
                low = middle + 1;
            }
        }
    }
    if let Some(touched) = failing(&best, &report)? {
        for ends_too in [true, false] {
            let small = only_touched(&best, &report, &touched, ends_too);
            if failing(&small, &report)?.is_some() {
                best = small;
                break;
            }
        }
    }
    let found = run(&best)?.reports.into_iter().find(|found| same_way(found, &report));
    Ok(found.map(|report| LaunchCapsule { record: best, found: Found::Report(Box::new(report)) }))
}

/// How the launch fails: as it did in its program on the software device, or in any way if that was on a GPU.
fn expected(capsule: &LaunchCapsule) -> Result<Option<Report>, ReplayError> {
    Ok(match &capsule.found {
        Found::Report(report) => Some((**report).clone()),
        Found::Answer(_) => run(&capsule.record)?.reports.into_iter().next(),
    })
}

/// What a launch touches, if it fails in the way of `report`.
fn failing(record: &LaunchRecord, report: &Report) -> Result<Option<Footprint>, ReplayError> {
    let Replayed { reports, touched } = run(record)?;
    Ok(reports.iter().any(|found| same_way(found, report)).then_some(touched))
}

/// The launch with the touched bytes of its buffers alone. Buffers stay that are touched, that the report names, or that an
/// argument points to. With `ends_too`, buffers but the report's end after the last touched byte.
fn only_touched(record: &LaunchRecord, report: &Report, touched: &Footprint, ends_too: bool) -> LaunchRecord {
    let ranges = Ranges::union([&touched.reads, &touched.writes]);
    let named = buffer(&report.problem);
    let arguments = pointers(&record.given);
    let mut small = record.clone();
    small.memory.retain_mut(|snapshot| {
        let base = snapshot.info.base;
        let end = base.saturating_add(snapshot.info.size);
        let inside: Vec<(u64, u64)> = ranges
            .iter()
            .filter(|&(start, stop)| start < end && base < stop)
            .map(|(start, stop)| (start.max(base) - base, stop.min(end) - base))
            .collect();
        let is_argument = arguments.iter().any(|&address| (base..end).contains(&address));
        let is_image = snapshot.info.kind == AllocationKind::Image;
        let stays = !inside.is_empty() || named == Some(base) || is_argument;
        keep_only(snapshot, &inside);
        let last = inside.last().map_or(1, |&(_, stop)| stop);
        if ends_too && named != Some(base) && !is_image && !snapshot.info.is_freed {
            snapshot.info.size = snapshot.info.size.min(last);
        }
        stays
    });
    small
}

/// Cuts the pieces of a buffer to the given ranges of offsets.
fn keep_only(snapshot: &mut Snapshot, inside: &[(u64, u64)]) {
    let part = |piece: &Piece, (start, stop): (u64, u64)| {
        let end = piece.offset + piece.bytes.len() as u64;
        let (from, to) = (start.max(piece.offset), stop.min(end));
        let at = |offset: u64| usize::try_from(offset - piece.offset).expect("an index of bytes in memory");
        (from < to).then(|| Piece { offset: from, bytes: piece.bytes[at(from)..at(to)].to_vec() })
    };
    snapshot.pieces = snapshot
        .pieces
        .iter()
        .flat_map(|piece| inside.iter().filter_map(move |&range| part(piece, range)))
        .collect();
}

/// What arguments may point to.
fn pointers(given: &Given) -> Vec<u64> {
    let words = |bytes: &[u8]| -> Vec<u64> {
        bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
    };
    match given {
        Given::Packed(bytes) => words(bytes),
        Given::Each(values) => values.iter().flatten().flat_map(|bytes| words(bytes)).collect(),
    }
}
