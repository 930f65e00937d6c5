//! From a refused access to the fault that explains it. Only the failing path comes here.

use super::allocation::Allocation;
use super::fault::{AccessFault, AccessKind, FaultKind, Side};
use super::shadow::Conflict;
use super::space::Space;

/// Addresses below this are offsets from a null pointer.
pub(super) const NULL_PAGE: u64 = 1 << 16;

/// An access that was not, or not wholly, within a live allocation.
pub(super) fn unresolved(space: &Space, access: AccessKind, address: u64, size: u64) -> AccessFault {
    if address < NULL_PAGE {
        return AccessFault { kind: FaultKind::Null, access, address, size, nearest: None };
    }
    if let Some(fault) = reserved(space, access, address, size) {
        return fault;
    }
    let Some(nearest) = space.nearest(address) else {
        return AccessFault { kind: FaultKind::WildPointer, access, address, size, nearest: None };
    };
    let end = nearest.base + nearest.size;
    let kind = if address < nearest.base {
        let distance = nearest.base - address;
        FaultKind::OutOfBounds { side: Side::Before, distance, outside: distance.min(size) }
    } else if nearest.is_freed() && address < end {
        FaultKind::UseAfterFree { offset: address - nearest.base }
    } else {
        let inside = end.saturating_sub(address).min(size);
        FaultKind::OutOfBounds {
            side: Side::After,
            distance: address.saturating_sub(end),
            outside: size - inside,
        }
    };
    AccessFault { kind, access, address, size, nearest: Some(Box::new(nearest.info())) }
}

/// An access whose first byte without accessible memory is at a reserved address.
fn reserved(space: &Space, access: AccessKind, address: u64, size: u64) -> Option<AccessFault> {
    let live = space.resolve(address, 1).map(|(allocation, _)| allocation.base + allocation.size);
    let bad = live.unwrap_or(address);
    let reservation = space.reservation(bad)?;
    let offset = bad - reservation.info.base;
    let mapped = reservation.mapped.iter().any(|range| range.contains(&offset));
    let kind = FaultKind::Reserved { offset, mapped };
    Some(AccessFault { kind, access, address, size, nearest: Some(Box::new(reservation.info.clone())) })
}

/// An access within `allocation` that is refused for the reason `kind`.
pub(super) fn within(
    allocation: &Allocation,
    kind: FaultKind,
    access: AccessKind,
    address: u64,
    size: u64,
) -> AccessFault {
    AccessFault { kind, access, address, size, nearest: Some(Box::new(allocation.info())) }
}

/// An access that completes a race.
pub(super) fn race(
    allocation: &Allocation,
    conflict: Conflict,
    access: AccessKind,
    address: u64,
    size: u64,
) -> AccessFault {
    within(
        allocation,
        FaultKind::Race { offset: conflict.offset, other: conflict.other, value: None },
        access,
        address,
        size,
    )
}
