//! Launches that are made later, and perhaps several times: those of graphs.

use std::cell::Cell;
use std::ffi::{c_uint, c_void};
use std::ptr::{null_mut, without_provenance_mut};

use hip_api::{Code, LAUNCH_PARAM_BUFFER_POINTER, LAUNCH_PARAM_BUFFER_SIZE, LAUNCH_PARAM_END};

use crate::dispatch::{Arguments, Configuration, run, with_packed};

/// A launch with copies of its arguments.
pub(crate) struct Later {
    /// The kernel as the program named it: the host address of a function, or a handle.
    pub(crate) symbol: *mut c_void,
    function: *mut c_void,
    pub(crate) at: Configuration,
    pub(crate) shared: c_uint,
    copies: Copies,
    shown: Shown,
}

/// Copies of arguments.
enum Copies {
    /// One by one.
    Each(Vec<Option<Vec<u8>>>),
    /// As the kernel lays them out.
    Packed(Vec<u8>),
}

/// What a program is shown of the arguments, and may change without changing the launch.
struct Shown {
    params: Box<[Cell<*mut c_void>]>,
    extra: Box<[Cell<*mut c_void>]>,
    _size: Box<Cell<usize>>,
    _bytes: Vec<Box<[Cell<u8>]>>,
}

impl Shown {
    fn of(copies: &Copies) -> Self {
        let cells = |bytes: &[u8]| bytes.iter().copied().map(Cell::new).collect::<Box<[Cell<u8>]>>();
        let pointer = |bytes: &[Cell<u8>]| bytes.as_ptr().cast_mut().cast::<c_void>();
        let (mut params, mut extra, mut kept, mut size) = (Vec::new(), Vec::new(), Vec::new(), 0);
        let length = Box::new(Cell::new(0));
        match copies {
            Copies::Each(values) => {
                for value in values {
                    let bytes = value.as_deref().map(cells);
                    params.push(Cell::new(bytes.as_deref().map_or(null_mut(), pointer)));
                    kept.extend(bytes);
                }
            }
            Copies::Packed(bytes) => {
                size = bytes.len();
                let bytes = cells(bytes);
                let values = [
                    without_provenance_mut(LAUNCH_PARAM_BUFFER_POINTER),
                    pointer(&bytes),
                    without_provenance_mut(LAUNCH_PARAM_BUFFER_SIZE),
                    (&raw const *length).cast_mut().cast(),
                    without_provenance_mut(LAUNCH_PARAM_END),
                ];
                extra.extend(values.map(Cell::new));
                kept.push(bytes);
            }
        }
        length.set(size);
        Self { params: params.into(), extra: extra.into(), _size: length, _bytes: kept }
    }
}

// SAFETY: what is shown is for the program alone, and this library does not look at it again; the rest is not changed.
unsafe impl Send for Later {}
// SAFETY: as above.
unsafe impl Sync for Later {}

impl Later {
    /// A launch of `function`, which the program calls `symbol`.
    ///
    /// # Safety
    ///
    /// The arguments are as `hipModuleLaunchKernel` demands.
    pub(crate) unsafe fn new(
        symbol: *mut c_void,
        function: *mut c_void,
        at: Configuration,
        arguments: Arguments,
    ) -> Result<Self, Code> {
        let shared = c_uint::try_from(at.shared_bytes).map_err(|_| Code::INVALID_CONFIGURATION)?;
        let copies = match (arguments.params.is_null(), arguments.extra.is_null()) {
            (false, false) => return Err(Code::INVALID_VALUE),
            // SAFETY: as this function's.
            (true, false) => Copies::Packed(unsafe { softhip::api::packed_arguments(arguments.extra) }?),
            // SAFETY: as this function's.
            _ => Copies::Each(unsafe { softhip::api::copy_arguments(function, arguments.params) }?),
        };
        let shown = Shown::of(&copies);
        Ok(Self { symbol, function, at, shared, copies, shown })
    }

    /// What a program is shown of the arguments.
    pub(crate) fn arguments(&self) -> Arguments {
        let pointer = |cells: &[Cell<*mut c_void>]| {
            if cells.is_empty() { null_mut() } else { cells.as_ptr().cast_mut().cast() }
        };
        Arguments { params: pointer(&self.shown.params), extra: pointer(&self.shown.extra) }
    }

    /// Makes the launch on a stream.
    pub(crate) fn run(&self, stream: *mut c_void) -> i32 {
        let at = Configuration { stream, ..self.at };
        match &self.copies {
            Copies::Each(values) => {
                let pointer = |copy: &Option<Vec<u8>>| {
                    copy.as_ref().map_or(null_mut(), |bytes| bytes.as_ptr().cast_mut().cast::<c_void>())
                };
                // The device only reads through these pointers.
                let mut params: Vec<_> = values.iter().map(pointer).collect();
                let arguments = Arguments { params: params.as_mut_ptr(), extra: null_mut() };
                // SAFETY: the copies are of the kernel's arguments.
                unsafe { run(self.function, at, self.shared, arguments) }
            }
            Copies::Packed(bytes) => {
                // SAFETY: the bytes are of the kernel's arguments.
                with_packed(bytes, |arguments| unsafe { run(self.function, at, self.shared, arguments) })
            }
        }
    }
}
