//! HIP's functions, and what each call's status means.
//!
//! The same table serves the real runtime and the software device; nothing above this file knows which one it is.
//! Every status is checked at once. A call that cannot return its error (in a `drop`) *parks* it, and the next
//! synchronisation returns it.
#![expect(
    unsafe_code,
    reason = "HIP is a C interface; `Api::call` is the only place where its functions are reached"
)]

use std::ffi::{CStr, CString, c_void};
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hip_api::{Code, HipApi};
use kernels::DeviceError;
use softhip::control::SoftDevice;
use softhip::sched::Ticket;

use crate::planted::HostBug;

/// Codes after which a context answers nothing else.
const FAULTS: [Code; 4] = [Code::ILLEGAL_ADDRESS, Code::LAUNCH_TIME_OUT, Code::ASSERT, Code::LAUNCH_FAILURE];

/// A handle of the runtime: a stream, an event, a module, a function. The host never follows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handle(pub *mut c_void);

// SAFETY: HIP's handles may be used from any thread.
unsafe impl Send for Handle {}
// SAFETY: and from several at once.
unsafe impl Sync for Handle {}

/// A runtime: its functions, and the error that is parked.
#[derive(Debug)]
pub struct Api {
    table: HipApi,
    /// The software device that the calls act on, if it is one.
    software: Option<Arc<SoftDevice>>,
    parked: Mutex<Option<DeviceError>>,
    /// Calls so far, and the one that fails instead of being made.
    calls: AtomicU64,
    failing: Option<u64>,
}

impl Api {
    /// A software device.
    pub fn software(device: Arc<SoftDevice>) -> Self {
        let (parked, calls) = Default::default();
        Api { table: softhip::api::table(), software: Some(device), parked, calls, failing: None }
    }

    /// ROCm.
    pub fn rocm() -> Result<Self, crate::shared_library::MissingLibrary> {
        let (parked, calls) = Default::default();
        Ok(Api { table: crate::rocm::table()?, software: None, parked, calls, failing: None })
    }

    /// Makes call number `failing`, from 0, fail.
    pub(crate) fn failing(self, failing: Option<u64>) -> Self {
        Api { failing, ..self }
    }

    /// Plants a bug between the backend and the software device. Of a GPU nothing is changed.
    pub(crate) fn with_bug(mut self, bug: Option<HostBug>) -> Self {
        if let (Some(bug), Some(device)) = (bug, &self.software) {
            bug.plant(device, &mut self.table);
        }
        self
    }

    /// The latest operation of a stream of the software device; `None` on a GPU.
    pub(crate) fn ticket(&self, stream: *mut c_void) -> Option<Ticket> {
        let _bound = self.software.as_ref()?.bind();
        softhip::api::ticket(stream).ok()
    }

    /// The software device, if it is one.
    pub const fn software_device(&self) -> Option<&Arc<SoftDevice>> {
        self.software.as_ref()
    }

    /// Calls a function of the table and checks its status.
    #[track_caller]
    pub(crate) fn call(&self, name: &'static str, f: impl FnOnce(&HipApi) -> i32) -> Result<(), DeviceError> {
        match self.status(f) {
            Code::SUCCESS => Ok(()),
            code => Err(self.error(name, code)),
        }
    }

    /// Calls a function of the table, on this device, and returns its status.
    #[track_caller]
    pub(crate) fn status(&self, f: impl FnOnce(&HipApi) -> i32) -> Code {
        if self.failing == Some(self.calls.fetch_add(1, Ordering::Relaxed)) {
            return Code::UNKNOWN;
        }
        let _bound = self.software.as_ref().map(SoftDevice::bind);
        self.set_call_site(Location::caller());
        Code(f(&self.table))
    }

    /// Tells the software device which line of host code makes the call. The real runtime ignores it.
    fn set_call_site(&self, site: &Location<'_>) {
        if self.software.is_some()
            && let Ok(file) = CString::new(site.file())
        {
            // SAFETY: the string is valid and terminated, and copied by the callee.
            unsafe { (self.table.set_call_site)(file.as_ptr(), site.line()) };
        }
    }

    /// What a failed call means.
    pub(crate) fn error(&self, call: &'static str, code: Code) -> DeviceError {
        if FAULTS.contains(&code) {
            return self.finding().unwrap_or_else(|| {
                DeviceError::Fault(format!(
                    "{call} reports {} ({}): a kernel or a copy before it faulted",
                    code.0,
                    self.name(code)
                ))
            });
        }
        // A refused launch or copy of the software device says why in its report.
        match self.finding() {
            Some(DeviceError::Fault(report)) => {
                DeviceError::Fault(format!("{call} failed with {} ({}): {report}", code.0, self.name(code)))
            }
            _ => DeviceError::Runtime { call, code: code.0, name: self.name(code) },
        }
    }

    /// The runtime's name of a code.
    fn name(&self, code: Code) -> String {
        // SAFETY: the function takes any number.
        let name = unsafe { (self.table.get_error_name)(code.0) };
        if name.is_null() {
            return "unknown".into();
        }
        // SAFETY: the runtime's names are static and terminated.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }

    /// The first finding of the software device's checkers that has not been returned yet.
    pub(crate) fn finding(&self) -> Option<DeviceError> {
        let device = self.software.as_ref()?;
        let reports = device.reports();
        let first = reports.first()?;
        let more = match reports.len() - 1 {
            0 => String::new(),
            n => format!("\n(and {n} more)"),
        };
        Some(DeviceError::Fault(format!("{first}{more}")))
    }

    /// Parks an error that the caller cannot return. The first one stays.
    pub(crate) fn park(&self, error: DeviceError) {
        self.parked().get_or_insert(error);
    }

    /// Returns the parked error, or a finding of the checkers.
    pub(crate) fn settle(&self) -> Result<(), DeviceError> {
        match self.parked().take().or_else(|| self.finding()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn parked(&self) -> std::sync::MutexGuard<'_, Option<DeviceError>> {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
