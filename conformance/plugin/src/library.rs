//! A plug-in in a shared library.
//!
//! Every call into it is in this file. What the header asks of a plug-in is what the proofs rest on: a plug-in that does not keep to it
//! can do anything to this process, so the process should be one that may die.
#![expect(unsafe_code, reason = "calls of a C interface")]

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;
use std::ptr;

use kernels::{Arrangement, DeviceError, DeviceKind, Numerics, Support};
use libloading::Symbol;

use crate::abi;
use crate::call::{Answers, Call, Handle, Setting};
use crate::declaration;
use crate::error::PluginError;

/// Bytes of a plug-in's words that are shown.
const WORDS: usize = 2000;

/// The functions of a plug-in; those that may be absent are options.
#[derive(Debug)]
pub(crate) struct Library {
    place: DeviceKind,
    /// How operands may lie in memory, besides in rows.
    layouts: u32,
    name: unsafe extern "C" fn() -> *const c_char,
    error: Option<unsafe extern "C" fn() -> *const c_char>,
    supports: unsafe extern "C" fn(*const abi::Op, *mut *const c_char) -> i32,
    numerics: Option<unsafe extern "C" fn(*const abi::Op, *mut abi::Numerics)>,
    alloc: unsafe extern "C" fn(u64, *mut *mut c_void) -> i32,
    free: unsafe extern "C" fn(*mut c_void) -> i32,
    write: unsafe extern "C" fn(*mut c_void, u64, *const c_void, u64) -> i32,
    read: unsafe extern "C" fn(*mut c_void, u64, *mut c_void, u64) -> i32,
    launch: unsafe extern "C" fn(*const abi::Op) -> i32,
    synchronize: Option<unsafe extern "C" fn() -> i32>,
}

impl Library {
    /// Loads the library at `path` and takes its table of functions. It stays loaded for as long as the process runs: threads of its own
    /// may go on after the last call.
    pub fn open(path: &Path) -> Result<Self, PluginError> {
        let own = || path.to_owned();
        // A bare name would be looked for in the folders of the system.
        let file = path.canonicalize().map_err(|source| PluginError::File { path: own(), source })?;
        let library =
            load(&file).map_err(|error| PluginError::Load { path: own(), why: error.to_string() })?;
        // Leaked on purpose: see above.
        let library: &'static libloading::Library = Box::leak(Box::new(library));
        // SAFETY: the header declares the function under this name and with this type.
        let open: Result<Symbol<'_, abi::Open>, _> = unsafe { library.get(abi::OPEN.as_bytes()) };
        let Ok(open) = open else { return Err(PluginError::NoSymbol { path: own() }) };
        // SAFETY: it takes any number.
        let table = unsafe { open(abi::ABI) };
        if table.is_null() {
            return Err(PluginError::Refused { path: own() });
        }
        // SAFETY: the header asks for a table that outlives every call; in every version it begins with these two.
        let [version, size] = unsafe { table.cast::<[u32; 2]>().read() };
        if version != abi::ABI {
            return Err(PluginError::Version { path: own(), got: version });
        }
        if size as usize != size_of::<abi::Plugin>() {
            let what =
                format!("its table has {size} bytes, that of assay.h has {}", size_of::<abi::Plugin>());
            return Err(PluginError::Table { path: own(), what });
        }
        // SAFETY: version and size are those of the struct.
        let table = unsafe { table.read() };
        Library::from_table(&table).map_err(|what| PluginError::Table { path: own(), what })
    }

    fn from_table(table: &abi::Plugin) -> Result<Self, String> {
        let place = match table.place {
            abi::ON_HOST => DeviceKind::Host,
            abi::ON_SOFTWARE => DeviceKind::Software,
            abi::ON_GPU => DeviceKind::Gpu,
            other => {
                return Err(format!(
                    "place is {other}, want ASSAY_ON_HOST, ASSAY_ON_SOFTWARE or ASSAY_ON_GPU"
                ));
            }
        };
        if table.layouts & !(abi::PERMUTED | abi::TRANSPOSED) != 0 {
            return Err(format!(
                "layouts is {}, want ASSAY_PERMUTED, ASSAY_TRANSPOSED, both or 0",
                table.layouts
            ));
        }
        let missing = |name: &str| format!("its function '{name}' is NULL");
        Ok(Library {
            place,
            layouts: table.layouts,
            name: table.name.ok_or_else(|| missing("name"))?,
            error: table.error,
            supports: table.supports.ok_or_else(|| missing("supports"))?,
            numerics: table.numerics,
            alloc: table.alloc.ok_or_else(|| missing("alloc"))?,
            free: table.free.ok_or_else(|| missing("free"))?,
            write: table.write.ok_or_else(|| missing("write"))?,
            read: table.read.ok_or_else(|| missing("read"))?,
            launch: table.launch.ok_or_else(|| missing("launch"))?,
            synchronize: table.synchronize,
        })
    }

    /// What the plug-in says of its last error.
    fn words(&self) -> String {
        // SAFETY: the header asks for a text or NULL.
        let text = self.error.map_or(ptr::null(), |error| unsafe { error() });
        // SAFETY: it is one or the other, and is read before the next call.
        unsafe { text_at(text) }.unwrap_or_else(|| "the plug-in says no more".into())
    }

    /// What the number that `call` returned means.
    fn checked(&self, call: &'static str, code: i32) -> Result<(), DeviceError> {
        match code {
            abi::OK => Ok(()),
            abi::FAULT => Err(DeviceError::Fault(format!("{call}: {}", self.words()))),
            code => Err(DeviceError::Runtime { call, code, name: self.words() }),
        }
    }
}

/// Loads a library whose every function can be found: one that is missing would end the process when it is called.
#[cfg(unix)]
fn load(path: &Path) -> Result<libloading::Library, libloading::Error> {
    use libloading::os::unix;
    // SAFETY: its initialisers run, which is what its user asks for.
    let loaded = unsafe { unix::Library::open(Some(path), unix::RTLD_NOW | unix::RTLD_LOCAL) };
    loaded.map(Into::into)
}

#[cfg(not(unix))]
fn load(path: &Path) -> Result<libloading::Library, libloading::Error> {
    // SAFETY: its initialisers run, which is what its user asks for.
    unsafe { libloading::Library::new(path) }
}

/// The text at `text`, without what is beyond [`WORDS`]; none for NULL.
///
/// # Safety
///
/// `text` is NULL or points to a text with a zero at its end.
unsafe fn text_at(text: *const c_char) -> Option<String> {
    // SAFETY: the caller's promise.
    let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })?;
    let bytes = text.to_bytes();
    Some(String::from_utf8_lossy(&bytes[..bytes.len().min(WORDS)]).into_owned())
}

fn pointer(buffer: Handle) -> *mut c_void {
    ptr::with_exposed_provenance_mut(buffer.0)
}

/// Calls `with` with the op as C sees it.
fn with_op<T>(call: &Call, with: impl FnOnce(&abi::Op) -> T) -> T {
    // Names of the contract have no zero in them; one that had would be empty.
    let text = |text: &str| CString::new(text).unwrap_or_default();
    let name = text(call.stem.name());
    let names: Vec<CString> = call.operands.iter().map(|operand| text(&operand.name)).collect();
    let settings: Vec<(CString, Option<CString>)> = call
        .params
        .iter()
        .map(|(name, setting)| match setting {
            Setting::Text(value) => (text(name), Some(text(value))),
            Setting::Bool(_) | Setting::Count(_) | Setting::Number(_) => (text(name), None),
        })
        .collect();
    let operands: Vec<abi::Operand> = call
        .operands
        .iter()
        .zip(&names)
        .map(|(operand, name)| abi::Operand {
            name: name.as_ptr(),
            role: abi::role(operand.role),
            dtype: abi::dtype(operand.layout.dtype()),
            rank: number(operand.layout.rank()),
            reserved: 0,
            shape: std::array::from_fn(|axis| operand.layout.dim(axis) as u64),
            strides: std::array::from_fn(|axis| operand.layout.stride(axis) as u64),
            offset: operand.layout.offset() as u64,
            buffer: operand.buffer.map_or(ptr::null_mut(), pointer),
        })
        .collect();
    let params: Vec<abi::Param> = call
        .params
        .iter()
        .zip(&settings)
        .map(|((_, setting), (name, text))| {
            let (kind, count, number) = match setting {
                Setting::Bool(value) => (abi::BOOL, u64::from(*value), f64::from(u8::from(*value))),
                Setting::Count(value) => (abi::COUNT, *value, *value as f64),
                Setting::Number(value) => (abi::NUMBER, 0, *value),
                Setting::Text(_) => (abi::TEXT, 0, 0.0),
            };
            let text = text.as_ref().map_or(ptr::null(), |text| text.as_ptr());
            abi::Param { name: name.as_ptr(), text, kind, reserved: 0, count, number }
        })
        .collect();
    with(&abi::Op {
        name: name.as_ptr(),
        operands: operands.as_ptr(),
        params: params.as_ptr(),
        operand_count: number(operands.len()),
        param_count: number(params.len()),
    })
}

/// A small count.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl Answers for Library {
    fn name(&self) -> String {
        // SAFETY: the header asks for a text.
        let text = unsafe { (self.name)() };
        // SAFETY: it is a text, and is read before the next call.
        unsafe { text_at(text) }.unwrap_or_else(|| "without a name".into())
    }

    fn place(&self) -> DeviceKind {
        self.place
    }

    fn supports(&self, call: &Call) -> Support {
        let untaken = call.operands.iter().find_map(|operand| {
            let (flag, name) = match operand.layout.arrangement() {
                Arrangement::Rows => return None,
                Arrangement::Permuted => (abi::PERMUTED, "ASSAY_PERMUTED"),
                Arrangement::Transposed => (abi::TRANSPOSED, "ASSAY_TRANSPOSED"),
            };
            (self.layouts & flag == 0).then_some((&operand.name, operand.layout, name))
        });
        if let Some((operand, layout, flag)) = untaken {
            return Support::No(format!(
                "'{operand}' is {layout:?}, and the plug-in's layouts have no {flag}"
            ));
        }
        let mut why = ptr::null();
        // SAFETY: the op and what it points to live until the call returns, and `why` is a place for a pointer.
        let answer = with_op(call, |op| unsafe { (self.supports)(op, &raw mut why) });
        if answer != 0 {
            return Support::Yes;
        }
        // SAFETY: the header asks for a text or nothing.
        let why = unsafe { text_at(why) };
        Support::No(why.unwrap_or_else(|| "the plug-in does not implement it".into()))
    }

    fn numerics(&self, call: &Call) -> Result<Numerics, String> {
        let mut declared = declaration::DEFAULT;
        if let Some(numerics) = self.numerics {
            // SAFETY: the op and what it points to live until the call returns, and the declaration can be written.
            with_op(call, |op| unsafe { numerics(op, &raw mut declared) });
        }
        declaration::numerics(&declared)
    }

    fn alloc(&self, bytes: usize, label: &str) -> Result<Handle, DeviceError> {
        let mut buffer = ptr::null_mut();
        // SAFETY: `buffer` is a place for a pointer.
        let code = unsafe { (self.alloc)(bytes as u64, &raw mut buffer) };
        if code == abi::OUT_OF_MEMORY {
            return Err(DeviceError::OutOfMemory { label: label.into(), requested: bytes, available: 0 });
        }
        self.checked("alloc", code)?;
        if buffer.is_null() && bytes > 0 {
            let name = "it returned no buffer, and no error".into();
            return Err(DeviceError::Runtime { call: "alloc", code, name });
        }
        Ok(Handle(buffer.expose_provenance()))
    }

    fn free(&self, buffer: Handle) -> Result<(), DeviceError> {
        // SAFETY: the buffer is the plug-in's, and its owner frees it once.
        let code = unsafe { (self.free)(pointer(buffer)) };
        self.checked("free", code)
    }

    fn write(&self, buffer: Handle, offset: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        let (from, count) = (bytes.as_ptr().cast(), bytes.len() as u64);
        // SAFETY: the source has `count` bytes, and the caller has compared the range with the buffer's size.
        let code = unsafe { (self.write)(pointer(buffer), offset as u64, from, count) };
        self.checked("write", code)
    }

    fn read(&self, buffer: Handle, offset: usize, to: &mut [u8]) -> Result<(), DeviceError> {
        let (into, count) = (to.as_mut_ptr().cast(), to.len() as u64);
        // SAFETY: the destination has `count` bytes, and the caller has compared the range with the buffer's size.
        let code = unsafe { (self.read)(pointer(buffer), offset as u64, into, count) };
        self.checked("read", code)
    }

    fn launch(&self, call: &Call) -> Result<(), DeviceError> {
        // SAFETY: the op is valid, and it and what it points to live until the call returns.
        let code = with_op(call, |op| unsafe { (self.launch)(op) });
        if code == abi::UNSUPPORTED {
            return Err(DeviceError::Unsupported { op: call.stem.name(), reason: self.words() });
        }
        self.checked("launch", code)
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        let Some(synchronize) = self.synchronize else { return Ok(()) };
        // SAFETY: it takes nothing.
        let code = unsafe { synchronize() };
        self.checked("synchronize", code)
    }
}
