//! hipBLASLt: products described by objects.
//!
//! Descriptions are objects of this library behind pointers that programs treat as opaque. There is one algorithm, which needs no workspace.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null;

use super::{
    Activation, Context, Finish, Gemm, Matrix, Refusal, Type, context, create, destroy, hipblas_status, size,
    transposed,
};
use crate::export::{self, put};
use crate::session;

/// `HIPBLASLT_EPILOGUE_…`.
const PLAIN: u32 = 1;
const RELU: u32 = 2;
const BIAS: u32 = 4;
const GELU: u32 = 32;

/// A matrix without its data.
#[derive(Clone, Copy)]
struct Layout {
    kind: c_int,
    rows: u64,
    columns: u64,
    leading: i64,
    batches: i32,
    stride: i64,
    order: i32,
}

/// What is done with the matrices.
#[derive(Clone, Copy)]
struct Description {
    scale: c_int,
    operations: [c_int; 2],
    epilogue: u32,
    bias: *const c_void,
    bias_kind: Option<c_int>,
    /// Scalars are on the device, or factors of whole matrices are given.
    unsupported: bool,
}

/// Bytes of workspace that a program offers.
struct Preference;

/// `hipblasLtMatmulHeuristicResult_t`.
#[repr(C)]
pub(crate) struct Heuristic {
    algorithm: [u64; 3],
    workspace: usize,
    state: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

/// Puts an object behind a pointer.
///
/// # Safety
///
/// `out` is null or valid for a write.
unsafe fn make<T>(out: *mut *mut T, value: T) -> Result<(), Refusal> {
    if out.is_null() {
        return Err(Refusal::Value);
    }
    // SAFETY: as this function's.
    unsafe { put(out, Box::into_raw(Box::new(value))) }.map_err(|_| Refusal::Value)
}

/// Ends an object.
///
/// # Safety
///
/// `object` is null or came from [`make`], and this is its last use.
unsafe fn drop_it<T>(object: *mut T) -> Result<(), Refusal> {
    if object.is_null() {
        return Err(Refusal::Value);
    }
    // SAFETY: as this function's.
    drop(unsafe { Box::from_raw(object) });
    Ok(())
}

/// An object.
///
/// # Safety
///
/// `object` is null or came from [`make`] and has not been ended.
unsafe fn look<T: Copy>(object: *const T) -> Result<T, Refusal> {
    if object.is_null() {
        return Err(Refusal::Value);
    }
    // SAFETY: as this function's.
    Ok(unsafe { object.read() })
}

/// The layouts of a product's matrices.
///
/// # Safety
///
/// As of [`look`], for each of them.
unsafe fn all_of(layouts: [*const Layout; 4]) -> Result<[Layout; 4], Refusal> {
    let mut found = [Layout { kind: 0, rows: 0, columns: 0, leading: 0, batches: 0, stride: 0, order: 0 }; 4];
    for (found, layout) in found.iter_mut().zip(layouts) {
        // SAFETY: as this function's.
        *found = unsafe { look(layout) }?;
    }
    Ok(found)
}

/// The value of an attribute, which has the size of `T`.
///
/// # Safety
///
/// `from` is null or valid for reads of `bytes` bytes.
unsafe fn value<T: Copy>(from: *const c_void, bytes: usize) -> Result<T, Refusal> {
    if from.is_null() || bytes < size_of::<T>() {
        return Err(Refusal::Value);
    }
    // SAFETY: as this function's.
    Ok(unsafe { from.cast::<T>().read_unaligned() })
}

impl Layout {
    fn matrix(self, data: *const c_void) -> Result<Matrix, Refusal> {
        let leading = c_int::try_from(self.leading).map_err(|_| Refusal::Value)?;
        // HIPBLASLT_ORDER_COL.
        if self.order != 0 {
            return Err(Refusal::NotSupported);
        }
        Matrix::of(data, self.kind, leading, self.stride)
    }
}

/// The activation and whether there is a bias.
fn epilogue(number: u32) -> Result<(Activation, bool), Refusal> {
    let bias = number & BIAS != 0;
    match number & !BIAS {
        0 | PLAIN => Ok((Activation::None, bias)),
        RELU => Ok((Activation::Relu, bias)),
        GELU => Ok((Activation::Gelu, bias)),
        _ => Err(Refusal::NotSupported),
    }
}

/// Whether a product of these kinds can be had.
fn check(about: Description, layouts: [Layout; 4]) -> Result<(), Refusal> {
    epilogue(about.epilogue)?;
    layouts.into_iter().try_for_each(|layout| layout.matrix(null()).map(|_| ()))?;
    if about.unsupported { Err(Refusal::NotSupported) } else { Ok(()) }
}

macro_rules! lt {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`.")]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
                export::call(stringify!($name), || {
                    let body = || -> Result<(), Refusal> { $body };
                    let result = body();
                    if result == Err(Refusal::NotSupported) {
                        session::refused(stringify!($name));
                    }
                    hipblas_status(result)
                })
            }
        )*
    };
}

lt! {
    fn hipblasLtCreate(handle: *mut *mut c_void) {
        // SAFETY: the caller keeps to the library's contract.
        unsafe { create(handle) }
    }

    fn hipblasLtDestroy(handle: *mut c_void) { destroy(handle) }

    fn hipblasLtGetVersion(_handle: *mut c_void, version: *mut c_int) {
        // SAFETY: null or valid by the library's contract.
        unsafe { put(version, 100_000) }.map_err(|_| Refusal::Value)
    }

    fn hipblasLtGetGitRevision(_handle: *mut c_void, revision: *mut c_char) {
        // SAFETY: null or valid by the library's contract.
        unsafe { put(revision, 0) }.map_err(|_| Refusal::Value)
    }

    fn hipblasLtMatrixLayoutCreate(out: *mut *mut Layout, kind: c_int, rows: u64, columns: u64, leading: i64) {
        let layout = Layout { kind, rows, columns, leading, batches: 1, stride: 0, order: 0 };
        // SAFETY: null or valid by the library's contract.
        unsafe { make(out, layout) }
    }

    fn hipblasLtMatrixLayoutDestroy(layout: *mut Layout) {
        // SAFETY: the caller keeps to the library's contract.
        unsafe { drop_it(layout) }
    }

    fn hipblasLtMatrixLayoutSetAttribute(layout: *mut Layout, attribute: c_int, from: *const c_void, bytes: usize) {
        // SAFETY: the caller keeps to the library's contract.
        let mut all = unsafe { look(layout) }?;
        // SAFETY: null or valid by the library's contract.
        let int = || unsafe { value::<c_int>(from, bytes) };
        // SAFETY: as above.
        let long = || unsafe { value::<i64>(from, bytes) };
        match attribute {
            0 => all.batches = int()?,
            1 => all.stride = long()?,
            2 => all.kind = int()?,
            3 => all.order = int()?,
            4 => all.rows = long()?.cast_unsigned(),
            5 => all.columns = long()?.cast_unsigned(),
            6 => all.leading = long()?,
            _ => return Err(Refusal::Value),
        }
        // SAFETY: it is an object, as it has been read.
        unsafe { put(layout, all) }.map_err(|_| Refusal::Value)
    }

    fn hipblasLtMatmulDescCreate(out: *mut *mut Description, _compute: c_int, scale: c_int) {
        let operations = [111; 2];
        let about =
            Description { scale, operations, epilogue: PLAIN, bias: null(), bias_kind: None, unsupported: false };
        // SAFETY: null or valid by the library's contract.
        unsafe { make(out, about) }
    }

    fn hipblasLtMatmulDescDestroy(about: *mut Description) {
        // SAFETY: the caller keeps to the library's contract.
        unsafe { drop_it(about) }
    }

    fn hipblasLtMatmulDescSetAttribute(about: *mut Description, attribute: c_int, from: *const c_void, bytes: usize) {
        // SAFETY: the caller keeps to the library's contract.
        let mut all = unsafe { look(about) }?;
        // SAFETY: null or valid by the library's contract.
        let int = || unsafe { value::<c_int>(from, bytes) };
        // SAFETY: as above.
        let pointer = || unsafe { value::<*const c_void>(from, bytes) };
        match attribute {
            0 => all.operations[0] = int()?,
            1 => all.operations[1] = int()?,
            2 => all.epilogue = int()?.cast_unsigned(),
            3 => all.bias = pointer()?,
            4 => all.bias_kind = Some(int()?),
            // Factors of matrices, and a maximum.
            5..=10 | 14 => all.unsupported |= !pointer()?.is_null(),
            // Scalars on the device.
            13 => all.unsupported |= int()? != 0,
            11 | 12 | 22 | 31 | 32 | 100 | 101 => {}
            _ => return Err(Refusal::Value),
        }
        // SAFETY: it is an object, as it has been read.
        unsafe { put(about, all) }.map_err(|_| Refusal::Value)
    }

    fn hipblasLtMatmulPreferenceCreate(out: *mut *mut Preference) {
        // SAFETY: null or valid by the library's contract.
        unsafe { make(out, Preference) }
    }

    fn hipblasLtMatmulPreferenceDestroy(preference: *mut Preference) {
        // A preference has no bytes, and its pointer owns nothing.
        if preference.is_null() { Err(Refusal::Value) } else { Ok(()) }
    }

    fn hipblasLtMatmulPreferenceSetAttribute(
        _preference: *mut Preference, _attribute: c_int, _from: *const c_void, _bytes: usize,
    ) {
        Ok(())
    }

    fn hipblasLtMatmulAlgoGetHeuristic(
        handle: *mut c_void, about: *const Description, a: *const Layout, b: *const Layout, c: *const Layout,
        d: *const Layout, _preference: *mut Preference, asked: c_int, results: *mut Heuristic, found: *mut c_int,
    ) {
        context(handle)?;
        // SAFETY: the caller keeps to the library's contract.
        let about = unsafe { look(about) }?;
        // SAFETY: as above.
        let layouts = unsafe { all_of([a, b, c, d]) }?;
        if asked < 1 || results.is_null() {
            return Err(Refusal::Value);
        }
        check(about, layouts)?;
        let only = Heuristic { algorithm: [0; 3], workspace: 0, state: 0, waves: 1.0, reserved: [0; 4] };
        // SAFETY: there is room for one at least.
        unsafe { put(results, only) }.map_err(|_| Refusal::Value)?;
        // SAFETY: null or valid by the library's contract.
        unsafe { put(found, 1) }.map_err(|_| Refusal::Value)
    }

    fn hipblasLtMatmul(
        handle: *mut c_void, about: *const Description, alpha: *const c_void, a: *const c_void, a_layout: *const Layout,
        b: *const c_void, b_layout: *const Layout, beta: *const c_void, c: *const c_void, c_layout: *const Layout,
        d: *mut c_void, d_layout: *const Layout, _algorithm: *const c_void, _workspace: *mut c_void,
        _workspace_bytes: usize, stream: *mut c_void,
    ) {
        let Context { function, .. } = context(handle)?;
        // SAFETY: the caller keeps to the library's contract.
        let about = unsafe { look(about) }?;
        // SAFETY: as above.
        let layouts = unsafe { all_of([a_layout, b_layout, c_layout, d_layout]) }?;
        check(about, layouts)?;
        let [of_a, of_b, of_c, of_d] = layouts;
        let operations = [transposed(about.operations[0])?, transposed(about.operations[1])?];
        let k = if operations[0] { of_a.rows } else { of_a.columns };
        let small = |number: u64| c_int::try_from(number).map_err(|_| Refusal::Value);
        let (activation, has_bias) = epilogue(about.epilogue)?;
        let scale = Type::of(about.scale)?;
        let bias_kind = Type::of(about.bias_kind.unwrap_or(of_d.kind))?;
        size(of_d.batches)?;
        let gemm = Gemm {
            handle,
            transposed: operations,
            m: small(of_d.rows)?,
            n: small(of_d.columns)?,
            k: small(k)?,
            // SAFETY: null or valid by the library's contract.
            alpha: unsafe { scale.read(alpha) }?,
            // SAFETY: as above.
            beta: unsafe { scale.read(beta) }?,
            a: of_a.matrix(a)?,
            b: of_b.matrix(b)?,
            c: of_c.matrix(c)?,
            batches: of_d.batches,
            pointers: false,
            finish: Finish {
                d: Some(of_d.matrix(d.cast_const())?),
                bias: if has_bias { about.bias } else { null() },
                bias_kind,
                activation,
            },
        };
        gemm.queue_on(Context { stream: stream.addr(), function })
    }
}
