//! Code objects that a program has loaded or registered, and the kernels in them.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use code_object::CodeObject;
use hip_api::Code;

/// A kernel that can be launched.
#[derive(Clone)]
pub(crate) struct Known {
    /// The file that it is in.
    pub(crate) file: Arc<[u8]>,
    pub(crate) object: Arc<CodeObject>,
    pub(crate) name: String,
}

/// A code object with its file.
type Loaded = (Arc<[u8]>, Arc<CodeObject>);

#[derive(Default)]
struct Registry {
    /// By the handles of modules and of fat binaries.
    modules: HashMap<usize, Loaded>,
    /// By the handles of functions and by host addresses.
    kernels: HashMap<usize, Known>,
}

static REGISTRY: Mutex<Option<Registry>> = Mutex::new(None);

fn with<T>(body: impl FnOnce(&mut Registry) -> T) -> T {
    body(REGISTRY.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

/// The kernel of a host address or of a function's handle, if its code object could be read.
pub(crate) fn find(function: *const c_void) -> Option<Known> {
    with(|registry| registry.kernels.get(&function.addr()).cloned())
}

/// A module or a fat binary has been loaded from `image`.
///
/// # Safety
///
/// `image` is as `hipModuleLoadData` demands.
unsafe fn loaded(handle: usize, image: *const c_void) {
    // SAFETY: as this function's.
    if let Some(file) = unsafe { softhip::api::code_object_at(image) } {
        add(handle, &file);
    }
}

fn add(handle: usize, file: &[u8]) {
    if let Ok(object) = CodeObject::read(file) {
        with(|registry| registry.modules.insert(handle, (file.into(), Arc::new(object))));
    }
}

/// A kernel `name` of a module is known by `function` from now on.
///
/// # Safety
///
/// `name` is null or a string.
unsafe fn named(module: usize, function: usize, name: *const c_char) {
    if name.is_null() {
        return;
    }
    // SAFETY: not null, so a string.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    with(|registry| {
        if let Some((file, object)) = registry.modules.get(&module).cloned() {
            registry.kernels.insert(function, Known { file, object, name });
        }
    });
}

/// Reads an output of a call that succeeded.
///
/// # Safety
///
/// `out` is valid for a read if `code` is success.
unsafe fn output(code: i32, out: *mut *mut c_void) -> Option<usize> {
    // SAFETY: as this function's.
    (code == Code::SUCCESS.0 && !out.is_null()).then(|| unsafe { out.read() }.addr())
}

/// What a module is that was loaded from `image`.
///
/// # Safety
///
/// As those of [`output`] and [`loaded`].
unsafe fn module_loaded(code: i32, module: *mut *mut c_void, image: *const c_void) {
    // SAFETY: as this function's.
    if let Some(module) = unsafe { output(code, module) } {
        // SAFETY: as this function's.
        unsafe { loaded(module, image) };
    }
}

/// What a module is that was loaded from a file.
///
/// # Safety
///
/// As that of [`output`]; `path` is null or a string.
unsafe fn file_loaded(code: i32, module: *mut *mut c_void, path: *const c_char) {
    // SAFETY: as this function's.
    let Some(module) = (unsafe { output(code, module) }) else { return };
    // SAFETY: the real library has read the string.
    let path = unsafe { CStr::from_ptr(path) }.to_string_lossy().into_owned();
    if let Ok(file) = std::fs::read(path) {
        // SAFETY: the file is whole.
        unsafe { loaded(module, file.as_ptr().cast()) };
    }
}

/// What a function is.
///
/// # Safety
///
/// As that of [`output`]; `name` is null or a string.
unsafe fn function_found(code: i32, function: *mut *mut c_void, module: *mut c_void, name: *const c_char) {
    // SAFETY: as this function's.
    if let Some(function) = unsafe { output(code, function) } {
        // SAFETY: as this function's.
        unsafe { named(module.addr(), function, name) };
    }
}

forwarded! {
    // SAFETY: a call that succeeds has written its output, and its image is whole; likewise below.
    hipModuleLoadData(module: *mut *mut c_void, image: *const c_void) => |code| unsafe { module_loaded(code, module, image) };
    hipModuleLoadDataEx(
        module: *mut *mut c_void, image: *const c_void, count: c_uint, options: *mut c_int, values: *mut *mut c_void,
        // SAFETY: as above.
    ) => |code| unsafe { module_loaded(code, module, image) };
    // SAFETY: as above.
    hipModuleLoad(module: *mut *mut c_void, path: *const c_char) => |code| unsafe { file_loaded(code, module, path) };
    hipModuleGetFunction(function: *mut *mut c_void, module: *mut c_void, name: *const c_char)
        // SAFETY: as above.
        => |code| unsafe { function_found(code, function, module, name) };
}

/// Registers the binary of a wrapper.
#[unsafe(no_mangle)]
unsafe extern "C" fn __hipRegisterFatBinary(wrapper: *const c_void) -> *mut *mut c_void {
    let function = real!(__hipRegisterFatBinary: unsafe extern "C" fn(*const c_void) -> *mut *mut c_void);
    // SAFETY: the compiler's code keeps to the contract.
    let handle = unsafe { function(wrapper) };
    // SAFETY: the wrapper is in a section of a loaded program.
    unsafe { loaded(handle.addr(), wrapper) };
    handle
}

/// The signature of `__hipRegisterFunction`.
type RegisterFunction = unsafe extern "C" fn(
    *mut *mut c_void,
    *const c_void,
    *mut c_char,
    *const c_char,
    c_uint,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_int,
);

/// Registers a kernel under the address of its host function.
#[unsafe(no_mangle)]
unsafe extern "C" fn __hipRegisterFunction(
    binary: *mut *mut c_void,
    host: *const c_void,
    device_function: *mut c_char,
    name: *const c_char,
    thread_limit: c_uint,
    thread: *mut c_void,
    block: *mut c_void,
    block_shape: *mut c_void,
    grid_shape: *mut c_void,
    warp_size: *mut c_int,
) {
    let function = real!(__hipRegisterFunction: RegisterFunction);
    // SAFETY: the compiler's code keeps to the contract.
    unsafe {
        function(
            binary,
            host,
            device_function,
            name,
            thread_limit,
            thread,
            block,
            block_shape,
            grid_shape,
            warp_size,
        );
    };
    // SAFETY: the compiler's code passes a string.
    unsafe { named(binary.addr(), host.addr(), name) };
}
