//! How large a buffer would have to be.

use softhip::control::{LaunchRecord, Options, SoftDevice};
use softhip::memory::{Checks, FaultKind, Piece, Side};
use softhip::report::{Problem, Report};
use softhip::sched::Limits;

/// Largest buffer that is tried.
const LARGEST: u64 = 64 << 20;
/// Wave instructions after which a trial is given up.
const BUDGET: u64 = 100_000_000;

/// The bytes that the whole launch would touch of the buffer past whose end the report's access is: the launch runs again with a
/// larger buffer, whose new bytes are zero. `None`: the report is about something else, or no size that is tried lets the launch end.
pub fn bytes(record: &LaunchRecord, report: &Report) -> Option<u64> {
    let (base, first) = past_the_end(&report.problem)?;
    let at = record.memory.iter().position(|snapshot| snapshot.info.base == base)?;
    let mut size = first;
    loop {
        size = size.checked_next_power_of_two()?.checked_mul(2)?;
        if size > LARGEST {
            return None;
        }
        let mut larger = record.clone();
        let buffer = larger.memory.get_mut(at)?;
        let added = usize::try_from(size - buffer.info.size).ok()?;
        buffer.pieces.push(Piece { offset: buffer.info.size, bytes: vec![0; added] });
        buffer.info.size = size;
        let checks = Checks { races: true, ..Checks::BOUNDS };
        let limits = Limits { budget: BUDGET, ..Limits::default() };
        let device = SoftDevice::new(Options { checks, limits, ..Options::default() });
        device.replay(&larger).ok()?;
        match device.take_reports().first() {
            None => {
                let touched = device.memory().latest_footprint();
                let ends = [touched.reads, touched.writes].into_iter().filter_map(|ranges| {
                    let inside = ranges.iter().filter(|&(start, end)| start < base + size && base < end);
                    inside.map(|(_, end)| end.min(base + size) - base).max()
                });
                return ends.max();
            }
            Some(again) => size = past_the_end(&again.problem).filter(|&(other, _)| other == base)?.1,
        }
    }
}

/// The buffer past whose end an access is, and the bytes that the buffer would need for it.
fn past_the_end(problem: &Problem) -> Option<(u64, u64)> {
    let Problem::Access { fault, .. } = problem else { return None };
    let FaultKind::OutOfBounds { side: Side::After, .. } = fault.kind else { return None };
    let nearest = fault.nearest.as_deref()?;
    let end = fault.address.checked_sub(nearest.base)?.checked_add(fault.size)?;
    Some((nearest.base, end))
}
