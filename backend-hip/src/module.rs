//! Code objects on the device, loaded when the first of their kernels is asked for.
#![expect(unsafe_code, reason = "the runtime's handles are pointers")]

use std::collections::HashMap;
use std::ffi::CString;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, PoisonError};

use code_object::{CodeObject, Kernel};
use kernels::DeviceError;

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
        let object = CodeObject::read(image).map_err(|error| unusable(stem, &error))?;
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
    /// By stem and layer.
    modules: HashMap<(String, usize), Arc<Module>>,
    functions: HashMap<String, Function>,
}

impl Modules {
    pub fn new(api: &Arc<Api>, source: Objects) -> Self {
        Modules { api: Arc::clone(api), source, loaded: Mutex::default() }
    }

    /// Kernel `name` of the objects of `stem`.
    pub fn function(&self, stem: &str, name: &str) -> Result<Function, DeviceError> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = loaded.functions.get(name) {
            return Ok(function.clone());
        }
        for layer in 0..self.source.layers() {
            let Some(module) = self.module(&mut loaded, stem, layer)? else { continue };
            if let Some(kernel) = module.object.kernel(name) {
                self.source.used(layer, &module.object, kernel);
                let kernel = Arc::new(kernel.clone());
                let function = self.get(module, kernel)?;
                loaded.functions.insert(name.into(), function.clone());
                return Ok(function);
            }
        }
        Err(unusable(stem, &format_args!("no kernel '{name}'")))
    }

    /// The object of `stem` in a layer, loaded; `None` where the layer has none.
    fn module(
        &self,
        loaded: &mut Loaded,
        stem: &str,
        layer: usize,
    ) -> Result<Option<Arc<Module>>, DeviceError> {
        let key = (stem.to_owned(), layer);
        if let Some(module) = loaded.modules.get(&key) {
            return Ok(Some(Arc::clone(module)));
        }
        let Some(found) = self.source.find(layer, stem) else { return Ok(None) };
        let image = found.map_err(|error| unusable(stem, &error))?;
        let module = Arc::new(Module::load(&self.api, stem, &image)?);
        loaded.modules.insert(key, Arc::clone(&module));
        Ok(Some(module))
    }

    fn get(&self, module: Arc<Module>, kernel: Arc<Kernel>) -> Result<Function, DeviceError> {
        let name = CString::new(kernel.name.as_str()).map_err(|error| unusable(&kernel.name, &error))?;
        let mut raw = null_mut();
        // SAFETY: `raw` is a valid destination, the module is loaded, the name is terminated.
        self.api.call("hipModuleGetFunction", |hip| unsafe {
            (hip.module_get_function)(&raw mut raw, module.raw.0, name.as_ptr())
        })?;
        Ok(Function { api: Arc::clone(&self.api), raw: Handle(raw), kernel, _module: module })
    }
}

/// A code object that cannot be used, and why.
fn unusable(stem: &str, reason: &dyn std::fmt::Display) -> DeviceError {
    DeviceError::CodeObject { stem: stem.into(), reason: reason.to_string() }
}
