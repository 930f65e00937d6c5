//! Compiles the embedded kernel sources with ROCm's run-time compiler, for GPUs without a built code object.
//!
//! The compiler is loaded when it is first needed, so that machines without it run everything else. What it makes is kept on
//! disk under the hash of source, architecture and options.
#![expect(unsafe_code, reason = "a library that is loaded at run time is called by address")]

use std::ffi::{CString, c_char, c_int, c_void};
use std::fs;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

use code_object::CodeObject;
use libloading::Library;
use sha2::{Digest, Sha256};

use crate::objects;
use crate::shared_library::{MissingLibrary, load_first};

/// Names under which the compiler is installed, newest first; older runtimes have it in the runtime's own library.
const LIBRARIES: [&str; 6] = [
    "libhiprtc.so.7",
    "libhiprtc.so.6",
    "libhiprtc.so.5",
    "libhiprtc.so",
    "libamdhip64.so.5",
    "libamdhip64.so",
];

/// Options besides the architecture: those of `kernels/hip/build.sh`.
const OPTIONS: [&str; 4] = ["-std=c++17", "-O3", "-ffp-contract=off", "-fhip-kernel-arg-name"];

/// Why a kernel could not be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// ROCm's compiler is not installed.
    #[error("no code object for {arch} comes with the program, and {missing}")]
    NoCompiler {
        /// The GPU.
        arch: String,
        /// What is missing.
        missing: MissingLibrary,
    },
    /// The stem has no source.
    #[error("there is no kernel source called '{0}'")]
    NoSource(String),
    /// The compiler refused.
    #[error("hiprtc: {call} of '{stem}' for {arch} failed with {code}:\n{log}")]
    Refused {
        /// Function.
        call: &'static str,
        /// Which source.
        stem: String,
        /// For which GPU.
        arch: String,
        /// Its code.
        code: c_int,
        /// What it wrote.
        log: String,
    },
}

type Program = *mut c_void;
type CreateProgram = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type CompileProgram = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
type GetSize = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type GetBytes = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
type DestroyProgram = unsafe extern "C" fn(*mut Program) -> c_int;

/// The compiler, once it has been loaded. One thread at a time may use it, and it is never unloaded: ROCm's libraries stand
/// neither.
static COMPILER: Mutex<Option<Compiler>> = Mutex::new(None);

/// The compiler's functions.
struct Compiler {
    create: CreateProgram,
    compile: CompileProgram,
    log_size: GetSize,
    log: GetBytes,
    code_size: GetSize,
    code: GetBytes,
    destroy: DestroyProgram,
    /// Keeps the functions where they are.
    _library: Library,
}

impl Compiler {
    fn load() -> Result<Self, MissingLibrary> {
        load_first("ROCm's run-time compiler", "libamdhip64-5", &LIBRARIES, Self::from_library)
    }

    fn from_library(library: Library) -> Result<Self, libloading::Error> {
        /// The address of a function.
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the type of the field is the function's, after the header of hiprtc.
                *unsafe { library.get($name) }?
            };
        }
        Ok(Compiler {
            create: function!(b"hiprtcCreateProgram\0"),
            compile: function!(b"hiprtcCompileProgram\0"),
            log_size: function!(b"hiprtcGetProgramLogSize\0"),
            log: function!(b"hiprtcGetProgramLog\0"),
            code_size: function!(b"hiprtcGetCodeSize\0"),
            code: function!(b"hiprtcGetCode\0"),
            destroy: function!(b"hiprtcDestroyProgram\0"),
            _library: library,
        })
    }

    /// What `size` and `get` give for `program`.
    fn bytes(program: Program, size: GetSize, get: GetBytes) -> Result<Vec<u8>, c_int> {
        let mut len = 0;
        // SAFETY: the program is live and `len` a valid destination.
        match unsafe { size(program, &raw mut len) } {
            0 => {}
            code => return Err(code),
        }
        let mut bytes = vec![0u8; len];
        // SAFETY: the program is live and the destination as long as was asked for.
        match unsafe { get(program, bytes.as_mut_ptr().cast()) } {
            0 => Ok(bytes),
            code => Err(code),
        }
    }
}

/// Whether the compiler is there.
pub fn available() -> Result<(), MissingLibrary> {
    let mut loaded = COMPILER.lock().unwrap_or_else(PoisonError::into_inner);
    if loaded.is_none() {
        *loaded = Some(Compiler::load()?);
    }
    Ok(())
}

/// The code object of `stem` for `arch`, from the cache of this user or from the compiler.
pub fn object(stem: &str, arch: &str) -> Result<Vec<u8>, CompileError> {
    object_cached(cache_folder().as_deref(), stem, arch)
}

/// The code object of `stem` for `arch`, from the cache in `folder` or from the compiler. A file that is no whole object for `arch` is
/// made anew.
pub fn object_cached(folder: Option<&Path>, stem: &str, arch: &str) -> Result<Vec<u8>, CompileError> {
    let source = objects::source(stem).ok_or_else(|| CompileError::NoSource(stem.into()))?;
    let cached = folder.map(|folder| folder.join(cache_name(stem, source, arch)));
    let whole =
        |bytes: &Vec<u8>| CodeObject::read(bytes).is_ok_and(|object| object.target().name() == Some(arch));
    if let Some(bytes) = cached.as_ref().and_then(|path| fs::read(path).ok()).filter(whole) {
        return Ok(bytes);
    }
    let bytes = compile(stem, source, arch)?;
    if let Some(path) = cached {
        // A cache that cannot be written costs time, not correctness.
        let _ = store(&path, &bytes);
    }
    Ok(bytes)
}

/// Compiles without the cache.
pub fn compile(stem: &str, source: &str, arch: &str) -> Result<Vec<u8>, CompileError> {
    let mut loaded = COMPILER.lock().unwrap_or_else(PoisonError::into_inner);
    let compiler = match &*loaded {
        Some(compiler) => compiler,
        None => loaded.insert(
            Compiler::load().map_err(|missing| CompileError::NoCompiler { arch: arch.into(), missing })?,
        ),
    };
    let refused = |call, code, log| {
        let (stem, arch) = (stem.into(), arch.into());
        CompileError::Refused { call, stem, arch, code, log }
    };
    let text = |s: &str| CString::new(s).map_err(|_| CompileError::NoSource(stem.into()));
    let (source, name) = (text(source)?, text(&format!("{stem}.hip"))?);
    let headers = objects::HEADERS.iter().map(|(_, content)| text(content)).collect::<Result<Vec<_>, _>>()?;
    let names = objects::HEADERS.iter().map(|(name, _)| text(name)).collect::<Result<Vec<_>, _>>()?;
    let pointers = |strings: &[CString]| strings.iter().map(|s| s.as_ptr()).collect::<Vec<_>>();
    let (header_pointers, name_pointers) = (pointers(&headers), pointers(&names));
    let count = count_of(&headers);

    let mut program = null_mut();
    // SAFETY: all strings are terminated and live; the arrays have `count` entries; `program` is a valid destination.
    let code = unsafe {
        (compiler.create)(
            &raw mut program,
            source.as_ptr(),
            name.as_ptr(),
            count,
            header_pointers.as_ptr(),
            name_pointers.as_ptr(),
        )
    };
    if code != 0 {
        return Err(refused("hiprtcCreateProgram", code, String::new()));
    }
    let options = [format!("--offload-arch={arch}").as_str()]
        .into_iter()
        .chain(OPTIONS)
        .map(text)
        .collect::<Result<Vec<_>, _>>()?;
    let option_pointers = pointers(&options);
    let count = count_of(&options);
    // SAFETY: the program is live, the array has `count` terminated strings.
    let code = unsafe { (compiler.compile)(program, count, option_pointers.as_ptr()) };
    let made = if code == 0 {
        Compiler::bytes(program, compiler.code_size, compiler.code)
            .map_err(|code| refused("hiprtcGetCode", code, String::new()))
    } else {
        let log = Compiler::bytes(program, compiler.log_size, compiler.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let log = match log.trim_end_matches('\0') {
            "" => {
                "the compiler wrote nothing; with AMD_COMGR_EMIT_VERBOSE_LOGS=1 AMD_COMGR_REDIRECT_LOGS=stderr it may"
            }
            log => log,
        };
        Err(refused("hiprtcCompileProgram", code, log.to_owned()))
    };
    // SAFETY: the program is live and destroyed once.
    unsafe { (compiler.destroy)(&raw mut program) };
    made
}

/// The length of a list as C passes it.
fn count_of(list: &[CString]) -> c_int {
    c_int::try_from(list.len()).expect("headers and options are few")
}

/// Where compiled objects are kept; `None` where the user has no home.
fn cache_folder() -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache")))?;
    Some(base.join("assay").join("hip"))
}

fn cache_name(stem: &str, source: &str, arch: &str) -> String {
    let mut hash = Sha256::new();
    for part in [source, arch].into_iter().chain(OPTIONS) {
        hash.update(part);
        hash.update([0]);
    }
    for (name, content) in objects::HEADERS {
        hash.update(name);
        hash.update([0]);
        hash.update(content);
    }
    let digest = hash.finalize();
    let half = digest.iter().take(16).fold(0u128, |number, &byte| number << 8 | u128::from(byte));
    format!("{stem}-{arch}-{half:032x}.hsaco")
}

/// Writes a file that is either whole or not there.
fn store(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let unfinished = path.with_extension(format!("{}.part", std::process::id()));
    fs::write(&unfinished, bytes)?;
    fs::rename(&unfinished, path)
}
