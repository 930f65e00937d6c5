//! Code objects on the device, loaded when the first of their kernels is asked for.
#![expect(unsafe_code, reason = "the runtime's handles are pointers")]

use std::collections::HashMap;
use std::ffi::CString;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, PoisonError};

use kernels::DeviceError;
use softhip::object::{CodeObject, Kernel};

use crate::api::{Api, Handle};
use crate::objects::Objects;

/// A kernel that can be launched, and what its object says about it.
#[derive(Clone, Debug)]
pub struct Function {
    pub(crate) api: Arc<Api>,
    pub(crate) raw: Handle,
    pub(crate) kernel: Arc<Kernel>,
    /// The module stays loaded as long as one of its functions is held.
    _module: Arc<Module>,
}

#[derive(Debug)]
struct Module {
    api: Arc<Api>,
    raw: Handle,
    object: CodeObject,
}

impl Module {
    fn load(api: &Arc<Api>, stem: &str, image: &[u8]) -> Result<Self, DeviceError> {
        let object = CodeObject::read(image)
            .map_err(|error| DeviceError::Lost(format!("code object of '{stem}': {error}")))?;
        let mut raw = null_mut();
        // SAFETY: `raw` is a valid destination; the image is a whole code object, which `read` has checked.
        api.call("hipModuleLoadData", |hip| unsafe {
            (hip.module_load_data)(&raw mut raw, image.as_ptr().cast())
        })?;
        Ok(Module { api: Arc::clone(api), raw: Handle(raw), object })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: the handle is live and unloaded once.
        if let Err(error) = self.api.call("hipModuleUnload", |hip| unsafe { (hip.module_unload)(self.raw.0) })
        {
            self.api.park(error);
        }
    }
}

/// All kernels of a device.
#[derive(Debug)]
pub(crate) struct Modules {
    api: Arc<Api>,
    source: Objects,
    loaded: Mutex<Loaded>,
}

#[derive(Debug, Default)]
struct Loaded {
    modules: HashMap<String, Arc<Module>>,
    functions: HashMap<String, Function>,
}

impl Modules {
    pub fn new(api: &Arc<Api>, source: Objects) -> Self {
        Modules { api: Arc::clone(api), source, loaded: Mutex::default() }
    }

    /// Kernel `name` of the object of `stem`.
    pub fn function(&self, stem: &str, name: &str) -> Result<Function, DeviceError> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = loaded.functions.get(name) {
            return Ok(function.clone());
        }
        if !loaded.modules.contains_key(stem) {
            let image = self.source.find(stem).map_err(|error| DeviceError::Lost(error.to_string()))?;
            loaded.modules.insert(stem.into(), Arc::new(Module::load(&self.api, stem, &image)?));
        }
        let function = self.find(Arc::clone(&loaded.modules[stem]), stem, name)?;
        loaded.functions.insert(name.into(), function.clone());
        Ok(function)
    }

    fn find(&self, module: Arc<Module>, stem: &str, name: &str) -> Result<Function, DeviceError> {
        let missing = || DeviceError::Lost(format!("the code object of '{stem}' has no kernel '{name}'"));
        let kernel = Arc::new(module.object.kernel(name).ok_or_else(missing)?.clone());
        let symbol = CString::new(name).map_err(|_| missing())?;
        let mut raw = null_mut();
        // SAFETY: `raw` is a valid destination, the module is loaded, the name is terminated.
        self.api.call("hipModuleGetFunction", |hip| unsafe {
            (hip.module_get_function)(&raw mut raw, module.raw.0, symbol.as_ptr())
        })?;
        Ok(Function { api: Arc::clone(&self.api), raw: Handle(raw), kernel, _module: module })
    }
}
