//! A host program in a few words: the HIP calls of the software device, bound to a device of the test's own.
#![allow(unsafe_code, reason = "HIP is a C interface")]
#![allow(clippy::unwrap_used, reason = "a test's equipment fails the test")]
#![allow(dead_code, reason = "each test takes what it needs")]

use std::ffi::{CString, c_void};
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::Arc;

use hip_api::HipApi;
use softhip::api;
use softhip::control::{Bound, CallSite, Options, SoftDevice};
use softhip::report::Report;
use softhip::sched::{Limits, Policy};

pub type Handle = *mut c_void;

pub const SUCCESS: i32 = 0;
pub const INVALID_VALUE: i32 = 1;
pub const H2D: i32 = 1;
pub const D2H: i32 = 2;
pub const D2D: i32 = 3;
pub const DEFAULT: i32 = 4;

/// A device, bound to the thread, and its calls.
pub struct Hip {
    pub api: HipApi,
    pub device: Arc<SoftDevice>,
    _bound: Bound,
}

/// How a kernel is launched.
#[derive(Clone, Copy)]
pub struct Launch {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub lds: u32,
    pub stream: Handle,
}

impl Launch {
    pub fn new(blocks: u32, threads: u32) -> Self {
        Self { grid: [blocks, 1, 1], block: [threads, 1, 1], lds: 0, stream: null_mut() }
    }
}

/// One kernel argument.
#[derive(Clone, Copy)]
pub enum Arg {
    Pointer(Handle),
    Word(u32),
}

impl Arg {
    fn bytes(self) -> Vec<u8> {
        match self {
            Self::Pointer(pointer) => (pointer.addr() as u64).to_le_bytes().to_vec(),
            Self::Word(word) => word.to_le_bytes().to_vec(),
        }
    }
}

/// Arguments one after the other, each at a multiple of its size.
pub fn packed(args: &[Arg]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for arg in args {
        let value = arg.bytes();
        bytes.resize(bytes.len().next_multiple_of(value.len()), 0);
        bytes.extend(value);
    }
    bytes
}

impl Hip {
    pub fn new() -> Self {
        Self::with(Options::default())
    }

    pub fn policy(policy: Policy) -> Self {
        Self::with(Options { policy, ..Options::default() })
    }

    pub fn with(options: Options) -> Self {
        let limits = Limits { budget: 10_000_000, ..options.limits };
        let device = Arc::new(SoftDevice::new(Options { limits, ..options }));
        Self { api: api::table(), _bound: device.bind(), device }
    }

    pub fn reports(&self) -> Vec<Report> {
        self.device.reports()
    }

    /// The text of the only report.
    #[track_caller]
    pub fn only_report(&self) -> String {
        let reports = self.reports();
        assert_eq!(reports.len(), 1, "{reports:?}");
        reports[0].to_string()
    }

    #[track_caller]
    pub fn malloc(&self, size: usize) -> Handle {
        let _site = CallSite::here();
        let mut pointer = null_mut();
        // SAFETY: the destination is valid.
        let code = unsafe { (self.api.malloc)(&raw mut pointer, size) };
        assert_eq!(code, SUCCESS);
        pointer
    }

    #[track_caller]
    pub fn labelled(&self, label: &str, size: usize) -> Handle {
        let pointer = self.malloc(size);
        assert!(self.device.label(pointer.addr() as u64, label));
        pointer
    }

    #[track_caller]
    pub fn upload<T: bytemuck::Pod>(&self, data: &[T]) -> Handle {
        let pointer = self.malloc(size_of_val(data));
        assert_eq!(self.copy_to(pointer, bytemuck::cast_slice(data)), SUCCESS);
        pointer
    }

    #[track_caller]
    pub fn copy_to(&self, to: Handle, data: &[u8]) -> i32 {
        let _site = CallSite::here();
        // SAFETY: the slice is valid until the call returns.
        unsafe { (self.api.memcpy)(to, data.as_ptr().cast(), data.len(), H2D) }
    }

    #[track_caller]
    pub fn copy_from(&self, from: Handle, out: &mut [u8]) -> i32 {
        let _site = CallSite::here();
        // SAFETY: the slice is valid until the call returns.
        unsafe { (self.api.memcpy)(out.as_mut_ptr().cast(), from, out.len(), D2H) }
    }

    #[track_caller]
    pub fn download<T: bytemuck::Pod>(&self, from: Handle, count: usize) -> Vec<T> {
        let mut out = vec![T::zeroed(); count];
        assert_eq!(self.copy_from(from, bytemuck::cast_slice_mut(&mut out)), SUCCESS, "{:?}", self.reports());
        out
    }

    #[track_caller]
    pub fn free(&self, pointer: Handle) -> i32 {
        let _site = CallSite::here();
        // SAFETY: device memory has no other user than the device.
        unsafe { (self.api.free)(pointer) }
    }

    pub fn memset(&self, to: Handle, value: i32, size: usize) -> i32 {
        // SAFETY: any address is allowed.
        unsafe { (self.api.memset)(to, value, size) }
    }

    pub fn synchronize(&self) -> i32 {
        // SAFETY: tests keep the host memory of queued copies alive.
        unsafe { (self.api.device_synchronize)() }
    }

    pub fn stream(&self, flags: u32) -> Handle {
        let mut stream = null_mut();
        // SAFETY: the destination is valid.
        let code = unsafe { (self.api.stream_create_with_flags)(&raw mut stream, flags) };
        assert_eq!(code, SUCCESS);
        stream
    }

    pub fn destroy_stream(&self, stream: Handle) -> i32 {
        // SAFETY: tests keep the host memory of queued copies alive.
        unsafe { (self.api.stream_destroy)(stream) }
    }

    pub fn try_load(&self, image: &[u8]) -> Result<Handle, i32> {
        let mut module = null_mut();
        // SAFETY: the destination is valid, and the image is a whole file.
        let code = unsafe { (self.api.module_load_data)(&raw mut module, image.as_ptr().cast()) };
        if code == SUCCESS { Ok(module) } else { Err(code) }
    }

    /// A kernel of one of the test objects.
    pub fn kernel(&self, object: &str, name: &str) -> Handle {
        let module = self.try_load(&object_file(object)).unwrap();
        let name = CString::new(name).unwrap();
        let mut function = null_mut();
        // SAFETY: the destination is valid, and the name ends with a zero byte.
        let code = unsafe { (self.api.module_get_function)(&raw mut function, module, name.as_ptr()) };
        assert_eq!(code, SUCCESS);
        function
    }

    /// Launches with `kernelParams`.
    #[track_caller]
    pub fn launch(&self, function: Handle, launch: Launch, args: &[Arg]) -> i32 {
        let mut values: Vec<Vec<u8>> = args.iter().map(|arg| arg.bytes()).collect();
        let mut params: Vec<Handle> = values.iter_mut().map(|value| value.as_mut_ptr().cast()).collect();
        self.launch_params(function, launch, &mut params)
    }

    #[track_caller]
    pub fn launch_params(&self, function: Handle, launch: Launch, params: &mut [Handle]) -> i32 {
        self.launch_raw(function, launch, params.as_mut_ptr(), null_mut())
    }

    /// Launches with `extra`.
    #[track_caller]
    pub fn launch_packed(&self, function: Handle, launch: Launch, arguments: &[u8]) -> i32 {
        let mut size = arguments.len();
        let mut extra: [Handle; 5] = [
            without_provenance_mut(hip_api::LAUNCH_PARAM_BUFFER_POINTER),
            arguments.as_ptr().cast_mut().cast(),
            without_provenance_mut(hip_api::LAUNCH_PARAM_BUFFER_SIZE),
            (&raw mut size).cast(),
            without_provenance_mut(hip_api::LAUNCH_PARAM_END),
        ];
        self.launch_raw(function, launch, null_mut(), extra.as_mut_ptr())
    }

    /// Launches with `kernelParams` and all workgroups at the same time.
    #[track_caller]
    pub fn launch_together(&self, function: Handle, launch: Launch, args: &[Arg]) -> i32 {
        let _site = CallSite::here();
        let mut values: Vec<Vec<u8>> = args.iter().map(|arg| arg.bytes()).collect();
        let mut params: Vec<Handle> = values.iter_mut().map(|value| value.as_mut_ptr().cast()).collect();
        let Launch { grid: [gx, gy, gz], block: [bx, by, bz], lds, stream } = launch;
        let (params, launch) = (params.as_mut_ptr(), self.api.module_launch_cooperative_kernel);
        // SAFETY: the list has an entry for each argument.
        unsafe { launch(function, gx, gy, gz, bx, by, bz, lds, stream, params) }
    }

    #[track_caller]
    fn launch_raw(&self, function: Handle, launch: Launch, params: *mut Handle, extra: *mut Handle) -> i32 {
        let _site = CallSite::here();
        let Launch { grid: [gx, gy, gz], block: [bx, by, bz], lds, stream } = launch;
        // SAFETY: the callers build both lists as HIP describes them.
        unsafe {
            (self.api.module_launch_kernel)(function, gx, gy, gz, bx, by, bz, lds, stream, params, extra)
        }
    }
}

/// The bytes of a test object.
pub fn object_file(stem: &str) -> Vec<u8> {
    let path = format!("{}/tests/objects/{stem}.hsaco", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
}

/// A device address `offset` bytes from another.
pub fn offset(pointer: Handle, offset: isize) -> Handle {
    pointer.wrapping_byte_offset(offset)
}
