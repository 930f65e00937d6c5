//! Where memory is, and who may access it: allocations, `hipMemLocation`, `hipMemAccessDesc`.

use std::ffi::{c_int, c_void};

use hip_api::Code;
use softhip::control::current;
use softhip::memory::AllocationInfo;

/// `hipMemLocationTypeDevice`.
pub(crate) const DEVICE: c_int = 1;

/// `hipMemLocation`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Location {
    pub(crate) kind: c_int,
    pub(crate) id: c_int,
}

impl Location {
    /// There is one device.
    pub(crate) fn check(self) -> Result<(), Code> {
        if self.kind == DEVICE && self.id == 0 { Ok(()) } else { Err(Code::INVALID_VALUE) }
    }
}

/// `hipMemAccessFlagsProtNone`, `…ProtRead`, `…ProtReadWrite`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    None,
    Read,
    ReadWrite,
}

impl Access {
    pub(crate) fn number(self) -> c_int {
        match self {
            Self::None => 0,
            Self::Read => 1,
            Self::ReadWrite => 3,
        }
    }
}

/// `hipMemAccessDesc`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct AccessDescription {
    location: Location,
    flags: c_int,
}

impl AccessDescription {
    /// The access that is asked for, of the one device.
    pub(crate) fn access(self) -> Result<Access, Code> {
        if self.location.kind == DEVICE && self.location.id != 0 {
            return Err(Code::INVALID_DEVICE);
        }
        self.location.check()?;
        let all = [Access::None, Access::Read, Access::ReadWrite];
        all.into_iter().find(|access| access.number() == self.flags).ok_or(Code::INVALID_VALUE)
    }
}

/// The live allocation that holds an address.
pub(crate) fn allocation(pointer: *const c_void) -> Result<AllocationInfo, Code> {
    let found = current().allocation_at(pointer.addr() as u64);
    found.filter(|found| !found.is_freed).ok_or(Code::INVALID_VALUE)
}
