//! Memory of `hipMemCreate` that is given to others as a file descriptor.

use std::ffi::{c_int, c_ulonglong, c_void};
use std::fs::File;
use std::os::fd::{FromRawFd as _, IntoRawFd as _, OwnedFd};
use std::ptr::without_provenance_mut;

use hip_api::Code;

use crate::export::put;
use crate::virtual_memory::{POSIX_FILE, Properties, is_granular, with};

compose! {
    /// `hipMemExportToShareableHandle`: the memory is a file, which the program may send to other processes. It closes it.
    fn hipMemExportToShareableHandle(
        out: *mut c_void, handle: *mut c_void, handle_type: c_int, flags: c_ulonglong,
    ) {
        if flags != 0 || out.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let file = with(|state| {
            let memory = state.memory.get(&handle.addr());
            let memory = memory.filter(|memory| memory.properties.handle_type() == handle_type);
            let memory = memory.filter(|_| handle_type == POSIX_FILE).ok_or(Code::INVALID_VALUE)?;
            let file = memory.file.try_clone().map_err(|_| Code::OUT_OF_MEMORY)?;
            state.count_as_written(handle.addr())?;
            Ok(file)
        })?;
        // SAFETY: not null, so valid for this type's handle by HIP's contract.
        unsafe { put(out.cast::<c_int>(), file.into_raw_fd()) }
    }

    /// `hipMemImportFromShareableHandle`, of this process or of another one: the descriptor stays the caller's.
    fn hipMemImportFromShareableHandle(handle: *mut *mut c_void, from: *mut c_void, handle_type: c_int) {
        if handle.is_null() || from.is_null() || handle_type != POSIX_FILE {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, so it points to a number by HIP's contract.
        let number = unsafe { from.cast::<c_int>().read() };
        // SAFETY: the call takes any number.
        let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 0) };
        if copy < 0 {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the call has just opened it, for this owner alone.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(copy) });
        let size = file.metadata().ok().and_then(|about| usize::try_from(about.len()).ok());
        let size = size.filter(|&size| is_granular(size).is_ok()).ok_or(Code::INVALID_VALUE)?;
        // What others have written is not known here.
        let number = with(|state| Ok(state.add(file.into(), size, Properties::imported(handle_type), true)))?;
        // SAFETY: not null, so valid by HIP's contract.
        unsafe { put(handle, without_provenance_mut(number)) }
    }
}
