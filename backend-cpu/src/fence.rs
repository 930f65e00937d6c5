//! Memory against unmapped pages: an access past its edge ends the process at the instruction that made it.
//!
//! Canaries show what was *written* outside a buffer, after the op. A fence shows a *read* as well, and at once: the bytes
//! beyond the edge belong to a page that the processor refuses to touch. One side of a buffer lies against such a page; the
//! pages of the other side are unmapped too, up to a page away from the content.
#![allow(unsafe_code, reason = "pages are mapped, protected and returned by system calls")]

use std::fmt;
use std::io;
use std::ptr::NonNull;

/// Which edge of a buffer touches the unmapped page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fence {
    /// The end. Content begins on a multiple of [`ALIGNMENT`], so up to 3 bytes lie between a length that is no multiple of
    /// it and the page.
    After,
    /// The start.
    Before,
}

/// Alignment of fenced content: that of f32 and u32, the widest elements that ops write in place.
pub const ALIGNMENT: usize = 4;

/// Memory that cannot be fenced.
#[derive(Debug, thiserror::Error)]
pub enum FenceError {
    /// Not a Unix system, so there is no known way to protect pages.
    #[error("fences need the memory protection of a Unix system, which this is not")]
    NoPages,
    /// The size in pages does not fit in a machine word.
    #[error("{len} bytes and their fences are more than can be addressed")]
    TooLarge {
        /// Bytes asked for.
        len: usize,
    },
    /// A system call failed.
    #[error("{call} of {len} bytes: {source}")]
    System {
        /// The call.
        call: &'static str,
        /// Bytes that it concerned.
        len: usize,
        /// What the system said.
        source: io::Error,
    },
}

/// Zero bytes with one edge against an unmapped page.
pub struct Fenced {
    pages: Pages,
    /// First byte of the content in `pages`.
    start: usize,
    len: usize,
}

impl Fenced {
    /// `len` zero bytes behind `fence`.
    pub fn zeroed(len: usize, fence: Fence) -> Result<Self, FenceError> {
        let too_large = || FenceError::TooLarge { len };
        let page = page_size()?;
        let room = len.checked_next_multiple_of(page).ok_or_else(too_large)?;
        let whole =
            room.checked_add(2 * page).filter(|n| isize::try_from(*n).is_ok()).ok_or_else(too_large)?;
        let pages = Pages::reserve(whole)?;
        if room > 0 {
            pages.open(page, room)?;
        }
        let start = match fence {
            Fence::After => page + room - len.next_multiple_of(ALIGNMENT),
            Fence::Before => page,
        };
        Ok(Fenced { pages, start, len })
    }

    /// The content.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `start` is at most `page + room`, inside the mapping.
        let first = unsafe { self.pages.base.add(self.start) };
        // SAFETY: bytes `start .. start + len` are within the pages that `zeroed` has opened (`page .. page + room`):
        // `Before` has start = page and len <= room; `After` has start + len <= page + room, and start >= page because
        // room is a multiple of the page, hence of ALIGNMENT. They are readable, initialised (new pages are zero),
        // owned by `self`, and nothing writes them while `self` is borrowed. No bytes are a valid slice at any address.
        unsafe { std::slice::from_raw_parts(first.as_ptr(), self.len) }
    }

    /// The content, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`.
        let first = unsafe { self.pages.base.add(self.start) };
        // SAFETY: as in `bytes`; the pages are writable too, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(first.as_ptr(), self.len) }
    }
}

impl fmt::Debug for Fenced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fenced({} bytes at {} of {})", self.len, self.start, self.pages.len)
    }
}

/// A mapping of whole pages that belongs to nobody else, returned when dropped.
struct Pages {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to this value alone, like the memory of a `Vec<u8>`; any thread may use or return it.
unsafe impl Send for Pages {}

// SAFETY: a shared reference gives only shared slices of plain bytes.
unsafe impl Sync for Pages {}

/// Whether this system can fence.
pub fn available() -> Result<(), FenceError> {
    page_size().map(drop)
}

#[cfg(unix)]
fn page_size() -> Result<usize, FenceError> {
    // SAFETY: takes a number, returns a number.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).ok().filter(|size| size.is_power_of_two()).ok_or(FenceError::NoPages)
}

#[cfg(unix)]
impl Pages {
    /// `len` bytes of address space, whole pages, none of which can be touched.
    fn reserve(len: usize) -> Result<Self, FenceError> {
        // SAFETY: an anonymous private mapping at an address of the system's choice replaces no other.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), len, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANON, -1, 0)
        };
        match NonNull::new(base) {
            Some(first) if base != libc::MAP_FAILED => Ok(Pages { base: first.cast(), len }),
            _ => Err(failed("mmap", len)),
        }
    }

    /// Makes `len` bytes from byte `from` readable and writable; both are multiples of the page and inside.
    fn open(&self, from: usize, len: usize) -> Result<(), FenceError> {
        // SAFETY: `from` is inside the mapping.
        let first = unsafe { self.base.add(from) };
        // SAFETY: the range lies in this mapping, to which no reference exists yet.
        let code = unsafe { libc::mprotect(first.as_ptr().cast(), len, libc::PROT_READ | libc::PROT_WRITE) };
        if code == 0 { Ok(()) } else { Err(failed("mprotect", len)) }
    }
}

#[cfg(unix)]
impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: exactly what `reserve` has mapped; whoever drops it has no slices of it left. It cannot fail for such a
        // range, and there would be nothing to do if it did.
        let _ = unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

#[cfg(unix)]
fn failed(call: &'static str, len: usize) -> FenceError {
    FenceError::System { call, len, source: io::Error::last_os_error() }
}

#[cfg(not(unix))]
fn page_size() -> Result<usize, FenceError> {
    Err(FenceError::NoPages)
}

#[cfg(not(unix))]
impl Pages {
    fn reserve(_: usize) -> Result<Self, FenceError> {
        Err(FenceError::NoPages)
    }

    fn open(&self, _: usize, _: usize) -> Result<(), FenceError> {
        Err(FenceError::NoPages)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn content_is_zero_writable_and_against_its_page() {
        let page = page_size().unwrap();
        for len in [0, 1, 2, 3, 4, 18, 20, page - 4, page, page + 4, 3 * page + 2] {
            for fence in [Fence::After, Fence::Before] {
                let mut fenced = Fenced::zeroed(len, fence).unwrap();
                assert_eq!(fenced.bytes(), vec![0; len], "{fenced:?}");
                fenced.bytes_mut().fill(0xa7);
                assert_eq!(fenced.bytes(), vec![0xa7; len], "{fenced:?}");
                let start = fenced.bytes().as_ptr().addr();
                let edge = match fence {
                    Fence::After => (start + len).next_multiple_of(ALIGNMENT),
                    Fence::Before => start,
                };
                assert_eq!((edge % page, start % ALIGNMENT), (0, 0), "{fenced:?}");
            }
        }
    }

    #[test]
    fn a_size_that_cannot_be_had_is_refused() {
        let refused = |len| Fenced::zeroed(len, Fence::After).unwrap_err();
        assert!(matches!(refused(usize::MAX), FenceError::TooLarge { .. }));
        assert!(matches!(refused(1 << 62), FenceError::System { call: "mmap", .. }));
    }
}
