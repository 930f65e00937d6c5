//! Fat binaries, kernels and variables that the compiler's code registers before `main`.
//!
//! A binary is loaded when something of it is used first. Whatever it registers is known by an address of the host.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr::{
    null, null_mut, with_exposed_provenance, with_exposed_provenance_mut, without_provenance_mut,
};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip_api::Code;

use crate::device;
use crate::export::{HIP, put, status};
use crate::{managed, session};

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { binaries: BTreeMap::new(), next: 1, symbols: None });

/// What has been registered, by number and by host address.
struct Registry {
    binaries: BTreeMap<usize, Binary>,
    next: usize,
    /// `None`: nothing yet.
    symbols: Option<HashMap<usize, Symbol>>,
}

/// One fat binary.
struct Binary {
    /// Address of the wrapper in `.hipFatBinSegment`.
    wrapper: usize,
    /// The loaded module's handle.
    module: Option<usize>,
    /// Managed variables: their names, and the addresses of their memory.
    managed: Vec<(CString, usize)>,
}

/// A kernel or a variable.
struct Symbol {
    binary: usize,
    name: CString,
    kind: Kind,
    /// The handle of the function, or the address of the variable, once it has been asked for.
    found: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Kernel,
    /// A variable of so many bytes.
    Variable {
        size: usize,
    },
}

/// A variable of the device.
pub(crate) struct Variable {
    pub(crate) address: *mut c_void,
    pub(crate) size: usize,
}

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Binary {
    /// The module, loaded now if it has not been.
    fn module(&mut self) -> Result<*mut c_void, Code> {
        if let Some(module) = self.module {
            return Ok(without_provenance_mut(module));
        }
        let mut module = null_mut();
        let image: *const c_void = with_exposed_provenance(self.wrapper);
        // SAFETY: `module` is valid for a write; the wrapper is in a section of a loaded program.
        status(unsafe { (HIP.module_load_data)(&raw mut module, image) })?;
        for (name, memory) in &self.managed {
            // The compiler's variable on the device is a pointer to the managed memory.
            let variable = global(module, name)?;
            let mut pointer = *memory as u64;
            // SAFETY: `pointer` has the eight bytes that are copied before the call returns.
            status(unsafe { (HIP.memcpy_htod)(variable, (&raw mut pointer).cast(), size_of::<u64>()) })?;
        }
        self.module = Some(module.addr());
        Ok(module)
    }
}

/// The address of a module's variable.
fn global(module: *mut c_void, name: &CStr) -> Result<*mut c_void, Code> {
    let (mut address, mut size) = (null_mut(), 0);
    // SAFETY: the outputs are valid for writes, and the name is a string.
    status(unsafe { (HIP.module_get_global)(&raw mut address, &raw mut size, module, name.as_ptr()) })?;
    Ok(address)
}

impl Registry {
    fn add(&mut self, binary: *mut *mut c_void, host: *const c_void, name: *const c_char, kind: Kind) {
        if name.is_null() {
            return;
        }
        // SAFETY: the compiler's code passes a string.
        let name = unsafe { CStr::from_ptr(name) }.to_owned();
        let symbol = Symbol { binary: binary.addr(), name, kind, found: None };
        self.symbols.get_or_insert_default().insert(host.addr(), symbol);
    }

    /// The function's handle or the variable's address; `None` when nothing of this kind is at the host address.
    fn resolve(&mut self, host: usize, wanted: fn(Kind) -> bool) -> Option<Result<(usize, Kind), Code>> {
        let symbol = self.symbols.as_mut()?.get_mut(&host).filter(|symbol| wanted(symbol.kind))?;
        if let Some(found) = symbol.found {
            return Some(Ok((found, symbol.kind)));
        }
        let binary = self.binaries.get_mut(&symbol.binary)?;
        let found = binary.module().and_then(|module| match symbol.kind {
            Kind::Kernel => {
                let mut function = null_mut();
                // SAFETY: the output is valid for a write, and the name is a string.
                status(unsafe {
                    (HIP.module_get_function)(&raw mut function, module, symbol.name.as_ptr())
                })?;
                Ok(function.addr())
            }
            Kind::Variable { .. } => Ok(global(module, &symbol.name)?.expose_provenance()),
        });
        Some(found.map(|found| {
            symbol.found = Some(found);
            (found, symbol.kind)
        }))
    }
}

/// The function of a kernel's host address. An address that was not registered may be a function's handle already.
pub(crate) fn function(host: *const c_void) -> Result<*mut c_void, Code> {
    let found = registry().resolve(host.addr(), |kind| kind == Kind::Kernel);
    match found {
        Some(found) => Ok(without_provenance_mut(found?.0)),
        None if is_handle(host) => Ok(host.cast_mut()),
        None => Err(Code::INVALID_DEVICE_FUNCTION),
    }
}

/// True if the attributes of the function can be had.
fn is_handle(function: *const c_void) -> bool {
    // The software device's handles have a tag above the addresses of a user program.
    function.addr() >> 48 != 0
}

/// The variable of a host address.
pub(crate) fn variable(host: *const c_void) -> Result<Variable, Code> {
    let found = registry().resolve(host.addr(), |kind| kind != Kind::Kernel);
    match found.ok_or(Code::INVALID_SYMBOL)?? {
        (address, Kind::Variable { size }) => {
            Ok(Variable { address: with_exposed_provenance_mut(address), size })
        }
        (_, Kind::Kernel) => unreachable!("only variables were asked for"),
    }
}

/// The name of a kernel that is registered under a host address, or null. It stays as long as the kernel does.
pub(crate) fn kernel_name(host: *const c_void) -> *const c_char {
    let registry = registry();
    let found = registry.symbols.as_ref().and_then(|symbols| symbols.get(&host.addr()));
    found.filter(|symbol| symbol.kind == Kind::Kernel).map_or(null(), |symbol| symbol.name.as_ptr())
}

/// Forgets what was loaded: the device has been reset.
fn forget_modules() {
    let mut registry = registry();
    registry.binaries.values_mut().for_each(|binary| binary.module = None);
    registry.symbols.iter_mut().flat_map(HashMap::values_mut).for_each(|symbol| symbol.found = None);
}

compose! {
    /// `hipDeviceReset`.
    fn hipDeviceReset() {
        // SAFETY: the caller keeps to HIP's contract.
        let code = unsafe { (HIP.device_reset)() };
        forget_modules();
        device::forget_choices();
        status(code)
    }
}

/// Registers the binary of a wrapper; the handle names it in the calls below.
#[unsafe(no_mangle)]
unsafe extern "C" fn __hipRegisterFatBinary(wrapper: *const c_void) -> *mut *mut c_void {
    let mut registry = registry();
    let number = registry.next;
    registry.next += 1;
    let binary = Binary { wrapper: wrapper.expose_provenance(), module: None, managed: Vec::new() };
    registry.binaries.insert(number, binary);
    without_provenance_mut(number)
}

/// Registers a kernel under the address of its host function.
#[unsafe(no_mangle)]
unsafe extern "C" fn __hipRegisterFunction(
    binary: *mut *mut c_void,
    host: *const c_void,
    _device_function: *mut c_char,
    name: *const c_char,
    _thread_limit: c_uint,
    _thread: *mut c_void,
    _block: *mut c_void,
    _block_shape: *mut c_void,
    _grid_shape: *mut c_void,
    _warp_size: *mut c_int,
) {
    registry().add(binary, host, name, Kind::Kernel);
}

/// Registers a variable under the address of its host shadow.
#[unsafe(no_mangle)]
unsafe extern "C" fn __hipRegisterVar(
    binary: *mut *mut c_void,
    host: *mut c_void,
    _host_name: *mut c_char,
    name: *mut c_char,
    _external: c_int,
    size: usize,
    _constant: c_int,
    _global: c_int,
) {
    registry().add(binary, host, name, Kind::Variable { size });
}

/// Gives a managed variable memory that host and device both see, with its initial value.
#[unsafe(no_mangle)]
unsafe extern "C" fn __hipRegisterManagedVar(
    binary: *mut *mut c_void,
    host: *mut *mut c_void,
    initial: *const c_void,
    name: *const c_char,
    size: usize,
    _alignment: c_uint,
) {
    session::begin();
    let mut pointer = null_mut();
    // SAFETY: `pointer` is valid for a write.
    if unsafe { (HIP.host_malloc)(&raw mut pointer, size, 0) } != Code::SUCCESS.0 || name.is_null() {
        return;
    }
    // SAFETY: the new memory has `size` bytes, and so has the initial value that the compiler's code passes.
    unsafe { pointer.cast::<u8>().copy_from_nonoverlapping(initial.cast(), size) };
    // SAFETY: the compiler's code passes the variable that holds the address.
    if unsafe { put(host, pointer) }.is_err() {
        return;
    }
    managed::add(pointer);
    // SAFETY: not null, so a string.
    let name = unsafe { CStr::from_ptr(name) }.to_owned();
    if let Some(binary) = registry().binaries.get_mut(&binary.addr()) {
        binary.managed.push((name, pointer.expose_provenance()));
    }
}

/// Forgets a binary. Its image stays on the device, for work that is queued may need it.
#[unsafe(no_mangle)]
unsafe extern "C" fn __hipUnregisterFatBinary(binary: *mut *mut c_void) {
    let mut registry = registry();
    registry.binaries.remove(&binary.addr());
    if let Some(symbols) = &mut registry.symbols {
        symbols.retain(|_, symbol| symbol.binary != binary.addr());
    }
}
