//! Virtual memory: addresses are reserved, memory is created, and mapped where the program wants it.
//!
//! Memory is a file in memory. A reservation has a window, which is memory of the host's as long as itself: mapping puts the file's pages
//! into the window, so that one file can be mapped several times, and parts side by side are one piece. Each piece that kernels may access is an
//! allocation of the device's.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_ulonglong, c_void};
use std::ops::Range;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::ptr::{NonNull, with_exposed_provenance_mut, without_provenance_mut};
use std::sync::{Mutex, PoisonError};

use hip_api::Code;
use softhip::control::{CallSite, current};
use softhip::memory::{AllocationKind, HostRange, Site};

use crate::export::{HIP, put, status};
use crate::location::{Access, AccessDescription, DEVICE, Location};

/// Bytes that memory and addresses are multiples of.
const GRANULARITY: usize = 4096;
/// What is recommended: a large page.
const RECOMMENDED: usize = 2 << 20;
/// The handle before the first.
const HANDLES: usize = 0x57 << 48;

/// `hipMemAllocationProp`: type, handle type, location, and nothing else that is used here.
///
/// Releases before HIP 6 have a byte, the location, the handle type and the type.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct Properties([c_int; 8]);

/// `hipMemAllocationTypePinned`, the only type there is.
const PINNED: c_int = 1;

impl Properties {
    /// Is memory of this type there? What its handles are has not been looked at.
    fn check(self) -> Result<(), Code> {
        let location = match self.0 {
            [PINNED, _, kind, id, ..] => Location { kind, id },
            // In the later layout this type is invalid.
            [first, kind, id, _, PINNED, ..] if first.to_le_bytes()[0] == 0 => Location { kind, id },
            _ => return Err(Code::INVALID_VALUE),
        };
        location.check()
    }

    /// The properties of memory that came by a handle of this type.
    pub(crate) fn imported(handle_type: c_int) -> Self {
        Self([PINNED, handle_type, DEVICE, 0, 0, 0, 0, 0])
    }

    /// The type of handles that the memory can be shared by.
    pub(crate) fn handle_type(self) -> c_int {
        if self.0[0] == PINNED { self.0[1] } else { self.0[3] }
    }
}

/// `hipMemHandleTypePosixFileDescriptor`.
pub(crate) const POSIX_FILE: c_int = 1;

/// Memory of `hipMemCreate`.
pub(crate) struct Physical {
    pub(crate) file: OwnedFd,
    size: usize,
    pub(crate) properties: Properties,
    /// How often it must be released.
    references: usize,
    /// Parts of reservations that it is mapped to.
    mappings: usize,
    /// It has been mapped before, here or elsewhere, so that it may have been written.
    used: bool,
}

/// A part of a reservation that has memory.
struct Part {
    /// Bytes from the start of the reservation.
    offset: usize,
    size: usize,
    memory: usize,
    access: Access,
    site: Option<Site>,
}

impl Part {
    fn range(&self) -> Range<usize> {
        self.offset..self.offset + self.size
    }
}

/// Reserved addresses.
struct Reservation {
    size: usize,
    /// Where the host has the memory.
    window: usize,
    /// By offset, no two with a byte in common.
    parts: Vec<Part>,
    /// Offsets of the allocations that the device has now.
    pieces: Vec<usize>,
    /// Offsets that were written when the pieces were last taken apart.
    written: Vec<Range<usize>>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) memory: BTreeMap<usize, Physical>,
    /// By their first addresses.
    reservations: BTreeMap<usize, Reservation>,
}

static STATE: Mutex<State> = Mutex::new(State { memory: BTreeMap::new(), reservations: BTreeMap::new() });

pub(crate) fn with<T>(body: impl FnOnce(&mut State) -> Result<T, Code>) -> Result<T, Code> {
    body(&mut STATE.lock().unwrap_or_else(PoisonError::into_inner))
}

impl State {
    /// The reservation that has all of `size` bytes at `pointer`, its address, and the offset in it.
    fn find(&mut self, pointer: *mut c_void, size: usize) -> Result<(usize, &mut Reservation, usize), Code> {
        let found = self.reservations.range_mut(..=pointer.addr()).next_back();
        let (&base, reservation) = found.ok_or(Code::INVALID_VALUE)?;
        let offset = pointer.addr() - base;
        let fits = size != 0 && offset.checked_add(size).is_some_and(|end| end <= reservation.size);
        if fits { Ok((base, reservation, offset)) } else { Err(Code::INVALID_VALUE) }
    }

    /// Takes new memory; its handle.
    pub(crate) fn add(&mut self, file: OwnedFd, size: usize, properties: Properties, used: bool) -> usize {
        let number = self.memory.keys().next_back().map_or(HANDLES, |last| *last) + 1;
        self.memory.insert(number, Physical { file, size, properties, references: 1, mappings: 0, used });
        number
    }

    /// From now on others may write the memory of a handle, unseen: it counts as written, wherever it is mapped.
    pub(crate) fn count_as_written(&mut self, handle: usize) -> Result<(), Code> {
        if let Some(memory) = self.memory.get_mut(&handle) {
            memory.used = true;
        }
        let maps = |part: &Part| part.memory == handle;
        for (&base, reservation) in &mut self.reservations {
            let ranges: Vec<_> =
                reservation.parts.iter().filter(|part| maps(part)).map(Part::range).collect();
            if !ranges.is_empty() {
                reservation.take_apart(base)?;
                reservation.written.extend(ranges);
                reservation.put_together(base)?;
            }
        }
        Ok(())
    }

    /// Gives memory back that nobody refers to.
    fn drop_unused(&mut self, handle: usize) {
        if self.memory.get(&handle).is_some_and(|memory| memory.references == 0 && memory.mappings == 0) {
            self.memory.remove(&handle);
        }
    }
}

impl Reservation {
    /// Waits for the device and takes its allocations away.
    fn take_apart(&mut self, base: usize) -> Result<(), Code> {
        if !self.pieces.is_empty() {
            // SAFETY: what is queued is under the contract of the calls that queued it.
            status(unsafe { (HIP.device_synchronize)() })?;
        }
        // What the device cannot access has not changed.
        let hidden = self.parts.iter().filter(|part| part.access == Access::None);
        self.written = hidden.flat_map(|part| clip(&self.written, &part.range())).collect();
        let device = current();
        for piece in self.pieces.drain(..) {
            let written = device.memory().unmap((base + piece) as u64, None).unwrap_or_default();
            let place =
                |offset: u64| piece + usize::try_from(offset).expect("an offset in memory of the host's");
            self.written.extend(written.into_iter().map(|range| place(range.start)..place(range.end)));
        }
        Ok(())
    }

    /// Gives the device an allocation for each piece that it may access.
    fn put_together(&mut self, base: usize) -> Result<(), Code> {
        let device = current();
        let mapped = self.parts.iter().map(|part| part.offset as u64..(part.offset + part.size) as u64);
        device.memory().set_mapped(base as u64, mapped.collect());
        let joined = |a: &Part, b: &Part| a.offset + a.size == b.offset && a.access == b.access;
        for parts in self.parts.chunk_by(joined).filter(|parts| parts[0].access != Access::None) {
            let (first, last) = (&parts[0], &parts[parts.len() - 1]);
            let range = first.offset..last.offset + last.size;
            let relative = |offset: usize| (offset - range.start) as u64;
            let written = clip(&self.written, &range);
            let written =
                written.into_iter().map(|bytes| relative(bytes.start)..relative(bytes.end)).collect();
            let piece = HostRange {
                host: NonNull::new(with_exposed_provenance_mut(self.window + range.start))
                    .expect("the window is not at address 0"),
                base: (base + range.start) as u64,
                size: range.len() as u64,
                kind: AllocationKind::Mapped,
                writable: first.access == Access::ReadWrite,
                written,
                site: first.site.clone(),
            };
            // SAFETY: the window is memory of the host's from its start to a page after the reservation's end. It goes away when the reservation
            // does, after the device has ended all work and lost the allocation.
            unsafe { device.memory().map(piece) }.map_err(|_| Code::OUT_OF_MEMORY)?;
            self.pieces.push(range.start);
        }
        Ok(())
    }
}

/// The parts of `ranges` that are within `bounds`.
fn clip(ranges: &[Range<usize>], bounds: &Range<usize>) -> Vec<Range<usize>> {
    let clipped = ranges.iter().map(|range| range.start.max(bounds.start)..range.end.min(bounds.end));
    clipped.filter(|range| range.start < range.end).collect()
}

/// Maps host memory; null is any place.
fn map_host(at: usize, size: usize, protection: c_int, flags: c_int, file: c_int) -> Result<usize, Code> {
    // SAFETY: without MAP_FIXED nothing is replaced; with it, the pages are of a window of ours.
    let got = unsafe { libc::mmap(with_exposed_provenance_mut(at), size, protection, flags, file, 0) };
    if got == libc::MAP_FAILED { Err(Code::OUT_OF_MEMORY) } else { Ok(got.expose_provenance()) }
}

fn unmap_host(at: usize, size: usize) {
    // SAFETY: the pages are ours, and the device has ended all work that uses them.
    unsafe { libc::munmap(with_exposed_provenance_mut(at), size) };
}

const NOTHING: c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
const READ_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;

pub(crate) fn is_granular(size: usize) -> Result<(), Code> {
    if size != 0 && size.is_multiple_of(GRANULARITY) { Ok(()) } else { Err(Code::INVALID_VALUE) }
}

compose! {
    /// `hipMemGetAllocationGranularity`.
    fn hipMemGetAllocationGranularity(out: *mut usize, properties: *const Properties, option: c_int) {
        if properties.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, so valid by HIP's contract.
        unsafe { properties.read() }.check()?;
        let bytes = match option {
            0 => GRANULARITY,
            1 => RECOMMENDED,
            _ => return Err(Code::INVALID_VALUE),
        };
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(out, bytes) }
    }

    /// `hipMemAddressReserve`: the host cannot use the addresses.
    fn hipMemAddressReserve(
        out: *mut *mut c_void, size: usize, alignment: usize, wanted: *mut c_void, flags: c_ulonglong,
    ) {
        if out.is_null() || flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        if is_granular(size).is_err() || !(alignment == 0 || alignment.is_power_of_two()) {
            return Err(Code::OUT_OF_MEMORY);
        }
        let alignment = alignment.max(GRANULARITY);
        let length = size.checked_add(alignment).ok_or(Code::OUT_OF_MEMORY)?;
        let window = map_host(0, size + GRANULARITY, READ_WRITE, NOTHING, -1)?;
        let whole = map_host(wanted.addr(), length, libc::PROT_NONE, NOTHING, -1)
            .inspect_err(|_| unmap_host(window, size + GRANULARITY))?;
        let base = whole.next_multiple_of(alignment);
        // What is before and after goes back.
        if base > whole {
            unmap_host(whole, base - whole);
        }
        if whole + length > base + size {
            unmap_host(base + size, whole + length - base - size);
        }
        current().memory().reserve(base as u64, size as u64, CallSite::get());
        with(|state| {
            let (parts, pieces, written) = (Vec::new(), Vec::new(), Vec::new());
            state.reservations.insert(base, Reservation { size, window, parts, pieces, written });
            Ok(())
        })?;
        // SAFETY: not null, so valid by HIP's contract.
        unsafe { put(out, without_provenance_mut(base)) }
    }

    /// `hipMemAddressFree`: nothing may be mapped there.
    fn hipMemAddressFree(pointer: *mut c_void, size: usize) {
        with(|state| {
            let base = pointer.addr();
            let free = |found: &&Reservation| found.size == size && found.parts.is_empty();
            state.reservations.get(&base).filter(free).ok_or(Code::INVALID_VALUE)?;
            if let Some(Reservation { window, .. }) = state.reservations.remove(&base) {
                unmap_host(window, size + GRANULARITY);
                unmap_host(base, size);
            }
            current().memory().release(base as u64);
            Ok(())
        })
    }

    /// `hipMemCreate`.
    fn hipMemCreate(
        handle: *mut *mut c_void, size: usize, properties: *const Properties, flags: c_ulonglong,
    ) {
        is_granular(size)?;
        if handle.is_null() || properties.is_null() || flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, so valid by HIP's contract.
        let properties = unsafe { properties.read() };
        properties.check()?;
        if !matches!(properties.handle_type(), 0 | POSIX_FILE) {
            return Err(Code::NOT_SUPPORTED);
        }
        if size as u64 > current().memory().info().1 {
            return Err(Code::OUT_OF_MEMORY);
        }
        // SAFETY: the name is a string.
        let file = unsafe { libc::memfd_create(c"assay".as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(Code::OUT_OF_MEMORY);
        }
        // SAFETY: the call has just opened it, for this owner alone.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        let length = libc::off_t::try_from(size).map_err(|_| Code::OUT_OF_MEMORY)?;
        // SAFETY: the file is open.
        if unsafe { libc::ftruncate(file.as_raw_fd(), length) } != 0 {
            return Err(Code::OUT_OF_MEMORY);
        }
        let number = with(|state| Ok(state.add(file, size, properties, false)))?;
        // SAFETY: not null, so valid by HIP's contract.
        unsafe { put(handle, without_provenance_mut(number)) }
    }

    /// `hipMemRelease`: what is mapped stays until it is unmapped.
    fn hipMemRelease(handle: *mut c_void) {
        with(|state| {
            let memory = state.memory.get_mut(&handle.addr()).filter(|memory| memory.references > 0);
            memory.ok_or(Code::INVALID_VALUE)?.references -= 1;
            state.drop_unused(handle.addr());
            Ok(())
        })
    }

    /// `hipMemRetainAllocationHandle`.
    fn hipMemRetainAllocationHandle(handle: *mut *mut c_void, pointer: *mut c_void) {
        if handle.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let number = with(|state| {
            let (_, reservation, offset) = state.find(pointer, 1)?;
            let part = reservation.parts.iter().find(|part| part.range().contains(&offset));
            let number = part.ok_or(Code::INVALID_VALUE)?.memory;
            state.memory.get_mut(&number).ok_or(Code::INVALID_VALUE)?.references += 1;
            Ok(number)
        })?;
        // SAFETY: not null, so valid by HIP's contract.
        unsafe { put(handle, without_provenance_mut(number)) }
    }

    /// `hipMemGetAllocationPropertiesFromHandle`.
    fn hipMemGetAllocationPropertiesFromHandle(out: *mut Properties, handle: *mut c_void) {
        let found = with(|state| {
            state.memory.get(&handle.addr()).map(|memory| memory.properties).ok_or(Code::INVALID_VALUE)
        })?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(out, found) }
    }

    /// `hipMemMap`.
    fn hipMemMap(
        pointer: *mut c_void, size: usize, offset: usize, handle: *mut c_void, flags: c_ulonglong,
    ) {
        is_granular(size)?;
        if offset != 0 || flags != 0 || !pointer.addr().is_multiple_of(GRANULARITY) {
            return Err(Code::INVALID_VALUE);
        }
        with(|state| {
            let number = handle.addr();
            let (file, used) = {
                let memory = state.memory.get_mut(&number).filter(|memory| size <= memory.size);
                let memory = memory.ok_or(Code::INVALID_VALUE)?;
                (memory.file.as_raw_fd(), memory.used)
            };
            let (base, reservation, at) = state.find(pointer, size)?;
            let overlaps = |part: &Part| part.offset < at + size && at < part.offset + part.size;
            if reservation.parts.iter().any(overlaps) {
                return Err(Code::INVALID_VALUE);
            }
            reservation.take_apart(base)?;
            let place = reservation.window + at;
            map_host(place, size, READ_WRITE, libc::MAP_SHARED | libc::MAP_FIXED, file)?;
            let site = CallSite::get();
            reservation.parts.push(Part { offset: at, size, memory: number, access: Access::None, site });
            reservation.parts.sort_by_key(|part| part.offset);
            if used {
                // What was written elsewhere is not known here.
                reservation.written.push(at..at + size);
            }
            reservation.put_together(base)?;
            if let Some(memory) = state.memory.get_mut(&number) {
                memory.mappings += 1;
                memory.used = true;
            }
            Ok(())
        })
    }

    /// `hipMemUnmap`: everything queued runs first.
    fn hipMemUnmap(pointer: *mut c_void, size: usize) {
        with(|state| {
            let (base, reservation, at) = state.find(pointer, size)?;
            let inside = |part: &Part| at <= part.offset && part.offset + part.size <= at + size;
            let overlaps = |part: &Part| part.offset < at + size && at < part.offset + part.size;
            let found: usize = reservation.parts.iter().filter(|part| inside(part)).map(|part| part.size).sum();
            if found != size || reservation.parts.iter().any(|part| overlaps(part) && !inside(part)) {
                return Err(Code::INVALID_VALUE);
            }
            reservation.take_apart(base)?;
            let gone: Vec<Part> = reservation.parts.extract_if(.., |part| inside(part)).collect();
            map_host(reservation.window + at, size, READ_WRITE, NOTHING | libc::MAP_FIXED, -1)?;
            // Nothing has been written to what is mapped there next.
            let around = [0..at, at + size..reservation.size];
            reservation.written = around.iter().flat_map(|side| clip(&reservation.written, side)).collect();
            reservation.put_together(base)?;
            for part in gone {
                if let Some(memory) = state.memory.get_mut(&part.memory) {
                    memory.mappings -= 1;
                }
                state.drop_unused(part.memory);
            }
            Ok(())
        })
    }

    /// `hipMemSetAccess`: all of the range must be mapped.
    fn hipMemSetAccess(
        pointer: *mut c_void, size: usize, descriptions: *const AccessDescription, count: usize,
    ) {
        if descriptions.is_null() || count == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let mut access = Access::None;
        for at in 0..count {
            // SAFETY: the list has `count` entries by HIP's contract.
            access = unsafe { descriptions.wrapping_add(at).read() }.access()?;
        }
        with(|state| {
            let (base, reservation, at) = state.find(pointer, size)?;
            let inside = |part: &Part| at <= part.offset && part.offset + part.size <= at + size;
            let found: usize = reservation.parts.iter().filter(|part| inside(part)).map(|part| part.size).sum();
            if found != size {
                return Err(Code::INVALID_VALUE);
            }
            reservation.take_apart(base)?;
            reservation.parts.iter_mut().filter(|part| inside(part)).for_each(|part| part.access = access);
            reservation.put_together(base)
        })
    }

    /// `hipMemGetAccess`.
    fn hipMemGetAccess(flags: *mut c_ulonglong, location: *const Location, pointer: *mut c_void) {
        if location.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, so valid by HIP's contract.
        unsafe { location.read() }.check()?;
        let access = with(|state| {
            let (_, reservation, offset) = state.find(pointer, 1)?;
            let part = reservation.parts.iter().find(|part| part.range().contains(&offset));
            Ok(part.ok_or(Code::INVALID_VALUE)?.access)
        })?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(flags, access.number().unsigned_abs().into()) }
    }
}
