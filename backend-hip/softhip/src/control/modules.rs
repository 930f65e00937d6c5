//! Code objects on the device.

use std::sync::Arc;

use code_object::{CodeObject, ContainerError, ObjectError};
use hip_api::Code;

use super::{ReplayError, SoftDevice};
use crate::exec::LoadedKernel;
use crate::memory::{AllocationInfo, AllocationKind, Snapshot};
use crate::report::{HostCall, Problem, Report};

/// A loaded module, by the order of loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ModuleId(pub(crate) usize);

/// A kernel of a module, by the order in which it was first asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FunctionId(pub(crate) usize);

#[derive(Debug, Default)]
pub(super) struct Modules {
    /// `None`: unloaded.
    loaded: Vec<Option<Module>>,
    functions: Vec<Function>,
}

#[derive(Debug)]
struct Module {
    /// The file that was loaded.
    bytes: Arc<[u8]>,
    object: Arc<CodeObject>,
    base: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Function {
    module: ModuleId,
    pub(super) run: Arc<LoadedKernel>,
}

impl Modules {
    fn module(&self, module: ModuleId) -> Result<&Module, Code> {
        self.loaded.get(module.0).and_then(Option::as_ref).ok_or(Code::INVALID_HANDLE)
    }

    /// The file whose image is at `base`.
    pub(super) fn file(&self, base: u64) -> Option<Arc<[u8]>> {
        let module = self.loaded.iter().flatten().find(|module| module.base == base)?;
        Some(Arc::clone(&module.bytes))
    }

    /// A function of a module that is still loaded.
    pub(super) fn function(&self, function: FunctionId) -> Result<&Function, Code> {
        let function = self.functions.get(function.0).ok_or(Code::INVALID_HANDLE)?;
        self.module(function.module)?;
        Ok(function)
    }
}

impl SoftDevice {
    /// Loads a gfx942 code object.
    pub(crate) fn load_module(&self, bytes: &[u8], call: HostCall) -> Result<ModuleId, Code> {
        let object = self.parse(bytes, &call)?;
        let base = self.allocate(object.image().span().max(1), AllocationKind::Image, call.site)?;
        self.fill_module(bytes, object, base)
    }

    /// Loads a gfx942 code object to where it was in another run.
    pub(super) fn load_module_at(
        &self,
        bytes: &[u8],
        base: u64,
        call: &HostCall,
    ) -> Result<ModuleId, ReplayError> {
        let object = self.parse(bytes, call).map_err(ReplayError::Refused)?;
        let info = AllocationInfo {
            base,
            size: object.image().span().max(1),
            label: None,
            kind: AllocationKind::Image,
            allocated: call.site.clone(),
            freed: None,
            is_freed: false,
        };
        self.memory.restore(&Snapshot { info, pieces: Vec::new() })?;
        self.fill_module(bytes, object, base).map_err(ReplayError::Refused)
    }

    fn parse(&self, bytes: &[u8], call: &HostCall) -> Result<CodeObject, Code> {
        CodeObject::parse(bytes).map_err(|error| {
            let report = Report::new(Problem::CodeObject { reason: error.to_string() });
            self.state().reports.push(report.call(call.clone()));
            match error {
                ObjectError::OtherGpu { .. } => Code::NO_BINARY_FOR_GPU,
                _ => Code::INVALID_IMAGE,
            }
        })
    }

    /// Fills the image at `base`.
    fn fill_module(&self, bytes: &[u8], object: CodeObject, base: u64) -> Result<ModuleId, Code> {
        for segment in object.image().relocated(base) {
            self.memory.write(base + segment.address, &segment.bytes).map_err(|_| Code::INVALID_IMAGE)?;
        }
        let mut state = self.state();
        state.modules.loaded.push(Some(Module { bytes: bytes.into(), object: Arc::new(object), base }));
        Ok(ModuleId(state.modules.loaded.len() - 1))
    }

    /// Reports a file that has no code object for this device, and answers what a HIP program sees.
    pub(crate) fn refuse_container(&self, error: &ContainerError, call: HostCall) -> Code {
        let report = Report::new(Problem::CodeObject { reason: error.to_string() });
        self.state().reports.push(report.call(call));
        match error {
            ContainerError::NoTarget { .. } => Code::NO_BINARY_FOR_GPU,
            ContainerError::Kpack => Code::NOT_SUPPORTED,
            _ => Code::INVALID_IMAGE,
        }
    }

    /// Unloads a module, after all work.
    pub(crate) fn unload_module(&self, module: ModuleId) -> Result<(), Code> {
        let mut state = self.state();
        state.synchronise(&self.memory)?;
        let base = state.modules.module(module)?.base;
        state.modules.loaded[module.0] = None;
        self.memory.free(base, None).map_err(|_| Code::INVALID_HANDLE)
    }

    /// A kernel by its name.
    pub(crate) fn function(&self, module: ModuleId, name: &str) -> Result<FunctionId, Code> {
        let mut state = self.state();
        let Module { object, base, .. } = state.modules.module(module)?;
        let same = |function: &Function| function.module == module && function.run.kernel().name == name;
        if let Some(known) = state.modules.functions.iter().position(same) {
            return Ok(FunctionId(known));
        }
        let run = LoadedKernel::new(Arc::clone(object), name, *base).ok_or(Code::NOT_FOUND)?;
        state.modules.functions.push(Function { module, run: Arc::new(run) });
        Ok(FunctionId(state.modules.functions.len() - 1))
    }

    /// Address and size of a device variable.
    pub(crate) fn global(&self, module: ModuleId, name: &str) -> Result<(u64, u64), Code> {
        let state = self.state();
        let Module { object, base, .. } = state.modules.module(module)?;
        let range = object.symbol(name).ok_or(Code::NOT_FOUND)?;
        Ok((base + range.start, range.end - range.start))
    }

    /// What the metadata says about a kernel.
    pub(crate) fn kernel(&self, function: FunctionId) -> Result<Arc<LoadedKernel>, Code> {
        Ok(Arc::clone(&self.state().modules.function(function)?.run))
    }
}
