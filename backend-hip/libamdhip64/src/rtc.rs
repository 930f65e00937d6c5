//! hiprtc: kernels that a program compiles at run time, with a clang that the user has.
//!
//! A program that is compiled is a folder of temporary files: the source with its headers, and [`PROLOGUE`], which is included first. A name
//! expression becomes a variable behind the source that holds its address; the symbol at that address is its lowered name.

mod compiler;

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::without_provenance_mut;
use std::sync::{Mutex, PoisonError};

use code_object::CodeObject;

use self::compiler::{Failure, Sources};
use crate::session;

/// `hiprtcResult`.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
enum Answer {
    Success = 0,
    InvalidInput = 3,
    InvalidProgram = 4,
    InvalidOption = 5,
    Compilation = 6,
    NoNamesAfterCompilation = 8,
    NoLoweredNamesBeforeCompilation = 9,
    NameNotValid = 10,
    Internal = 11,
}

/// A program.
#[derive(Default)]
struct Program {
    name: String,
    source: String,
    /// By the names under which the source includes them.
    headers: BTreeMap<String, String>,
    expressions: Vec<String>,
    /// The symbols of the expressions.
    lowered: BTreeMap<String, CString>,
    log: Vec<u8>,
    code: Option<Vec<u8>>,
}

/// The handle before the first.
const HANDLES: usize = 0x58 << 48;

struct Programs {
    by_handle: BTreeMap<usize, Program>,
    last: usize,
}

static PROGRAMS: Mutex<Programs> = Mutex::new(Programs { by_handle: BTreeMap::new(), last: HANDLES });

fn with(program: *mut c_void, body: impl FnOnce(&mut Program) -> Result<(), Answer>) -> Result<(), Answer> {
    let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    body(programs.by_handle.get_mut(&program.addr()).ok_or(Answer::InvalidProgram)?)
}

/// A text of the program's.
///
/// # Safety
///
/// `text` is null or a string.
unsafe fn text(text: *const c_char) -> Result<String, Answer> {
    if text.is_null() {
        return Err(Answer::InvalidInput);
    }
    // SAFETY: not null, so a string.
    Ok(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// The texts of a list.
///
/// # Safety
///
/// `list` has `count` strings, or null.
unsafe fn texts(list: *const *const c_char, count: c_int) -> Result<Vec<String>, Answer> {
    let count = usize::try_from(count).map_err(|_| Answer::InvalidInput)?;
    if count > 0 && list.is_null() {
        return Err(Answer::InvalidInput);
    }
    let entry = |at: usize| {
        // SAFETY: as this function's.
        let entry = unsafe { list.wrapping_add(at).read() };
        // SAFETY: as this function's.
        unsafe { text(entry) }
    };
    (0..count).map(entry).collect()
}

/// Writes an output.
///
/// # Safety
///
/// `to` is null or valid for a write.
unsafe fn put<T>(to: *mut T, value: T) -> Result<(), Answer> {
    // SAFETY: as this function's.
    unsafe { crate::export::put(to, value) }.map_err(|_| Answer::InvalidInput)
}

/// Writes bytes.
///
/// # Safety
///
/// `to` is null or has room for them.
unsafe fn put_bytes(to: *mut c_char, bytes: &[u8]) -> Result<(), Answer> {
    if to.is_null() {
        return Err(Answer::InvalidInput);
    }
    // SAFETY: not null, so there is room for as many.
    unsafe { to.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    Ok(())
}

impl Program {
    fn compile(&mut self, options: &[String]) -> Result<(), Answer> {
        let Self { name, source, headers, expressions, .. } = self;
        let sources = Sources { name, source: &with_expressions(source, expressions), headers };
        match compiler::compile(&sources, options) {
            Ok((code, log)) => {
                self.log = log;
                self.lowered = lowered(&code, &self.expressions).unwrap_or_default();
                self.code = Some(code);
                Ok(())
            }
            Err(failure) => {
                let answer = match failure {
                    Failure::Option(_) => Answer::InvalidOption,
                    Failure::Compiler(_) => Answer::Compilation,
                    Failure::NoCompiler | Failure::Files(_) => Answer::Internal,
                };
                if answer == Answer::Internal {
                    session::print_line(&format!("assay: {failure}"));
                }
                self.log = failure.to_string().into_bytes();
                Err(answer)
            }
        }
    }

    /// The log, as a C string.
    fn log(&self) -> Vec<u8> {
        self.log.iter().copied().filter(|&byte| byte != 0).chain([0]).collect()
    }
}

/// The variable of a name expression.
fn variable(number: usize) -> String {
    format!("__assay_name_expression_{number}")
}

fn with_expressions(source: &str, expressions: &[String]) -> String {
    let variables = expressions.iter().enumerate().map(|(number, expression)| {
        let address = if expression.trim_start().starts_with('&') { "" } else { "&" };
        let name = variable(number);
        format!(
            "\n#line 1 \"name expression {number}\"\n\
             extern \"C\" __device__ __attribute__((used)) const void* const {name} = (const void*)({address}{expression});\n"
        )
    });
    std::iter::once(source.to_owned()).chain(variables).collect()
}

/// The symbols that the variables of name expressions point to.
fn lowered(code: &[u8], expressions: &[String]) -> Option<BTreeMap<String, CString>> {
    if expressions.is_empty() {
        return None;
    }
    let object = CodeObject::read(code).ok()?;
    let symbol = |number: usize| {
        let place = object.symbol(&variable(number))?.start;
        let target =
            object.image().relocations().iter().find(|relocation| relocation.address == place)?.addend;
        CString::new(object.symbol_at(target)?).ok()
    };
    let known = expressions.iter().enumerate();
    Some(known.filter_map(|(number, expression)| Some((expression.clone(), symbol(number)?))).collect())
}

/// C functions whose body is a `Result<(), Answer>`.
macro_rules! hiprtc {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(
            $(#[$attribute])*
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
                let body = || -> Result<(), Answer> { $body };
                body().err().unwrap_or(Answer::Success) as c_int
            }
        )*
    };
}

hiprtc! {
    /// `hiprtcVersion`.
    fn hiprtcVersion(major: *mut c_int, minor: *mut c_int) {
        // SAFETY: null or valid by hiprtc's contract.
        unsafe { put(major, 9) }?;
        // SAFETY: as above.
        unsafe { put(minor, 0) }
    }

    /// `hiprtcCreateProgram`.
    fn hiprtcCreateProgram(
        program: *mut *mut c_void, source: *const c_char, name: *const c_char, count: c_int,
        headers: *const *const c_char, include_names: *const *const c_char,
    ) {
        // SAFETY: the caller keeps to hiprtc's contract; likewise below.
        let source = unsafe { text(source) }?;
        // SAFETY: as above.
        let name = unsafe { text(name) }.unwrap_or_default();
        // SAFETY: as above.
        let (headers, names) = (unsafe { texts(headers, count) }?, unsafe { texts(include_names, count) }?);
        let headers = names.into_iter().zip(headers).collect();
        let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = programs.last + 1;
        // SAFETY: as above.
        unsafe { put(program, without_provenance_mut(handle)) }?;
        programs.last = handle;
        programs.by_handle.insert(handle, Program { name, source, headers, ..Program::default() });
        Ok(())
    }

    /// `hiprtcDestroyProgram`.
    fn hiprtcDestroyProgram(program: *mut *mut c_void) {
        if program.is_null() {
            return Err(Answer::InvalidInput);
        }
        // SAFETY: not null, so valid by hiprtc's contract.
        let handle = unsafe { program.read() };
        let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
        programs.by_handle.remove(&handle.addr()).ok_or(Answer::InvalidProgram)?;
        // SAFETY: as above.
        unsafe { put(program, std::ptr::null_mut()) }
    }

    /// `hiprtcAddNameExpression`.
    fn hiprtcAddNameExpression(program: *mut c_void, expression: *const c_char) {
        // SAFETY: the caller keeps to hiprtc's contract.
        let expression = unsafe { text(expression) }?;
        with(program, |program| {
            if program.code.is_some() {
                return Err(Answer::NoNamesAfterCompilation);
            }
            program.expressions.push(expression);
            Ok(())
        })
    }

    /// `hiprtcCompileProgram`.
    fn hiprtcCompileProgram(program: *mut c_void, count: c_int, options: *const *const c_char) {
        // SAFETY: the caller keeps to hiprtc's contract.
        let options = unsafe { texts(options, count) }?;
        with(program, |program| program.compile(&options))
    }

    /// `hiprtcGetLoweredName`.
    fn hiprtcGetLoweredName(program: *mut c_void, expression: *const c_char, out: *mut *const c_char) {
        // SAFETY: the caller keeps to hiprtc's contract.
        let expression = unsafe { text(expression) }?;
        with(program, |program| {
            if program.code.is_none() {
                return Err(Answer::NoLoweredNamesBeforeCompilation);
            }
            let name = program.lowered.get(&expression).ok_or(Answer::NameNotValid)?;
            // SAFETY: null or valid by hiprtc's contract; the string stays until the program is destroyed.
            unsafe { put(out, name.as_ptr()) }
        })
    }

    /// `hiprtcGetProgramLogSize`.
    fn hiprtcGetProgramLogSize(program: *mut c_void, out: *mut usize) {
        // SAFETY: null or valid by hiprtc's contract.
        with(program, |program| unsafe { put(out, program.log().len()) })
    }

    /// `hiprtcGetProgramLog`.
    fn hiprtcGetProgramLog(program: *mut c_void, out: *mut c_char) {
        // SAFETY: null or with room for the log by hiprtc's contract.
        with(program, |program| unsafe { put_bytes(out, &program.log()) })
    }

    /// `hiprtcGetCodeSize`.
    fn hiprtcGetCodeSize(program: *mut c_void, out: *mut usize) {
        with(program, |program| {
            let size = program.code.as_ref().ok_or(Answer::InvalidProgram)?.len();
            // SAFETY: null or valid by hiprtc's contract.
            unsafe { put(out, size) }
        })
    }

    /// `hiprtcGetCode`.
    fn hiprtcGetCode(program: *mut c_void, out: *mut c_char) {
        with(program, |program| {
            let code = program.code.as_ref().ok_or(Answer::InvalidProgram)?;
            // SAFETY: null or with room for the code by hiprtc's contract.
            unsafe { put_bytes(out, code) }
        })
    }
}

/// Calls about bitcode and linking, which are not supported.
macro_rules! unsupported {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> c_int {
                session::refused(stringify!($name));
                Answer::Internal as c_int
            }
        )*
    };
}

unsupported! {
    hiprtcGetBitcode
    hiprtcGetBitcodeSize
    hiprtcLinkAddData
    hiprtcLinkAddFile
    hiprtcLinkComplete
    hiprtcLinkCreate
    hiprtcLinkDestroy
}

/// `hiprtcGetErrorString`.
#[unsafe(no_mangle)]
extern "C" fn hiprtcGetErrorString(code: c_int) -> *const c_char {
    let name = match code {
        0 => c"HIPRTC_SUCCESS",
        1 => c"HIPRTC_ERROR_OUT_OF_MEMORY",
        2 => c"HIPRTC_ERROR_PROGRAM_CREATION_FAILURE",
        3 => c"HIPRTC_ERROR_INVALID_INPUT",
        4 => c"HIPRTC_ERROR_INVALID_PROGRAM",
        5 => c"HIPRTC_ERROR_INVALID_OPTION",
        6 => c"HIPRTC_ERROR_COMPILATION",
        7 => c"HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE",
        8 => c"HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
        9 => c"HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
        10 => c"HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
        100 => c"HIPRTC_ERROR_LINKING",
        _ => c"HIPRTC_ERROR_INTERNAL_ERROR",
    };
    name.as_ptr()
}
