//! The GEMM family of hipBLAS, hipBLASLt and rocBLAS, run as a kernel of ours on the device, so that its accesses are checked too.
//!
//! Programs find these names in `libhipblas.so` and `librocblas.so`, which are other names of this library. Sums are f32. What there is:
//! f32, f16, bf16 and byte matrices, plain, batched by stride and batched by pointers, with scalars in host memory.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::{Mutex, PoisonError};

use hip_api::Code;

use crate::export::{self, HIP, put, status};
use crate::launch::{self, Arguments, Configuration, Dim3};
use crate::session;

mod lt;

/// The kernel; `blas/build.sh` makes it.
static OBJECT: &[u8] = include_bytes!("../blas/gemm.hsaco");

/// Above the tag's position, addresses of user programs have no bits.
const HANDLE: usize = 0x5a << 48;
/// Rows and columns of C that a block has.
const BLOCK: [u32; 2] = [64, 4];

/// Why a call is refused.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Handle,
    Value,
    NotSupported,
    /// The launch was refused, or the device has faulted.
    Execution,
}

impl From<Code> for Refusal {
    fn from(_: Code) -> Self {
        Self::Execution
    }
}

/// `hipblasStatus_t`.
fn hipblas_status(result: Result<(), Refusal>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(Refusal::Handle) => 1,
        Err(Refusal::Value) => 3,
        Err(Refusal::NotSupported) => 7,
        Err(Refusal::Execution) => 5,
    }
}

/// `rocblas_status`.
fn rocblas_status(result: Result<(), Refusal>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(Refusal::Handle) => 1,
        Err(Refusal::Value) => 11,
        Err(Refusal::NotSupported) => 2,
        Err(Refusal::Execution) => 6,
    }
}

/// What a handle names.
#[derive(Clone, Copy)]
struct Context {
    stream: usize,
    function: usize,
}

static CONTEXTS: Mutex<BTreeMap<usize, Context>> = Mutex::new(BTreeMap::new());

fn with<T>(body: impl FnOnce(&mut BTreeMap<usize, Context>) -> T) -> T {
    body(&mut CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner))
}

fn context(handle: *mut c_void) -> Result<Context, Refusal> {
    with(|contexts| contexts.get(&handle.addr()).copied()).ok_or(Refusal::Handle)
}

/// Makes a handle.
///
/// # Safety
///
/// `out` is null or valid for a write.
unsafe fn create(out: *mut *mut c_void) -> Result<(), Refusal> {
    let (mut module, mut function) = (null_mut(), null_mut());
    // SAFETY: the output is valid for a write, and the image is whole.
    status(unsafe { (HIP.module_load_data)(&raw mut module, OBJECT.as_ptr().cast()) })?;
    // SAFETY: the output is valid for a write, and the name is a string.
    status(unsafe { (HIP.module_get_function)(&raw mut function, module, c"assay_gemm".as_ptr()) })?;
    let handle = with(|contexts| {
        let next = contexts.last_key_value().map_or(HANDLE, |(last, _)| last + 1);
        contexts.insert(next, Context { stream: 0, function: function.addr() });
        next
    });
    // SAFETY: as this function's.
    unsafe { put(out, without_provenance_mut(handle)) }.map_err(|_| Refusal::Value)
}

fn destroy(handle: *mut c_void) -> Result<(), Refusal> {
    with(|contexts| contexts.remove(&handle.addr())).map(|_| ()).ok_or(Refusal::Handle)
}

fn set_stream(handle: *mut c_void, stream: *mut c_void) -> Result<(), Refusal> {
    with(|contexts| {
        contexts.get_mut(&handle.addr()).ok_or(Refusal::Handle)?.stream = stream.addr();
        Ok(())
    })
}

/// An element type, as the kernel numbers them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    F32 = 0,
    F16 = 1,
    BF16 = 2,
    I8 = 3,
    I32 = 4,
}

impl Type {
    /// A type by its number in `hipblasDatatype_t` or `rocblas_datatype` (150 and up), or in `hipDataType`.
    fn of(number: c_int) -> Result<Self, Refusal> {
        match number {
            151 | 0 => Ok(Self::F32),
            150 | 2 => Ok(Self::F16),
            168 | 14 => Ok(Self::BF16),
            160 | 3 => Ok(Self::I8),
            162 | 10 => Ok(Self::I32),
            _ => Err(Refusal::NotSupported),
        }
    }

    /// The type of the scalars: by a data type, or by `hipblasComputeType_t`, whose 0 and 1 are f16, 2 to 6 f32, 7 and 8 i32.
    fn of_compute(number: c_int) -> Result<Self, Refusal> {
        match number {
            151 | 2..=6 => Ok(Self::F32),
            150 | 0 | 1 => Ok(Self::F16),
            162 | 7 | 8 => Ok(Self::I32),
            _ => Err(Refusal::NotSupported),
        }
    }

    /// The scalar at an address.
    ///
    /// # Safety
    ///
    /// `from` is null or points to a value of this type.
    unsafe fn read(self, from: *const c_void) -> Result<f32, Refusal> {
        if from.is_null() {
            return Err(Refusal::Value);
        }
        if self == Self::F32 {
            // SAFETY: as this function's.
            return Ok(unsafe { from.cast::<f32>().read_unaligned() });
        }
        if self == Self::I32 {
            // SAFETY: as this function's.
            return Ok(unsafe { from.cast::<i32>().read_unaligned() } as f32);
        }
        // SAFETY: as this function's.
        let bits = u32::from(unsafe { from.cast::<u16>().read_unaligned() });
        Ok(if self == Self::BF16 { f32::from_bits(bits << 16) } else { from_f16(bits) })
    }
}

/// An f16 by its bits.
fn from_f16(bits: u32) -> f32 {
    let (sign, rest) = ((bits & 0x8000) << 16, bits & 0x7fff);
    // The exponents differ by 112; infinities and NaNs have the largest of their format.
    let magnitude = match rest >> 10 {
        0 => f32::from_bits(0x3380_0000) * (rest as f32),
        31 => f32::from_bits(0x7f80_0000 | (rest << 13)),
        _ => f32::from_bits((rest << 13) + (112 << 23)),
    };
    f32::from_bits(magnitude.to_bits() | sign)
}

/// A matrix operand.
#[derive(Clone, Copy)]
struct Matrix {
    data: *const c_void,
    kind: Type,
    /// Elements from column to column.
    leading: c_int,
    /// Elements from batch to batch.
    stride: i64,
}

impl Matrix {
    fn of(data: *const c_void, kind: c_int, leading: c_int, stride: i64) -> Result<Self, Refusal> {
        Ok(Self { data, kind: Type::of(kind)?, leading, stride })
    }
}

/// A product.
struct Gemm {
    handle: *mut c_void,
    transposed: [bool; 2],
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: f32,
    beta: f32,
    a: Matrix,
    b: Matrix,
    c: Matrix,
    batches: c_int,
    /// The operands are arrays of matrices.
    pointers: bool,
    finish: Finish,
}

/// What becomes of the product.
#[derive(Clone, Copy)]
struct Finish {
    /// Where it goes, if not to C.
    d: Option<Matrix>,
    /// A value for each row, or null.
    bias: *const c_void,
    bias_kind: Type,
    activation: Activation,
}

impl Finish {
    /// It goes to C as it is.
    const PLAIN: Self =
        Self { d: None, bias: std::ptr::null(), bias_kind: Type::F32, activation: Activation::None };
}

/// A function of each element, as the kernel numbers them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Activation {
    None = 0,
    Relu = 1,
    Gelu = 2,
}

/// `OP_N`, `OP_T` or `OP_C`; of real numbers, the last two are the same.
fn transposed(operation: c_int) -> Result<bool, Refusal> {
    match operation {
        111 => Ok(false),
        112 | 113 => Ok(true),
        _ => Err(Refusal::Value),
    }
}

impl Gemm {
    /// Queues the product on the handle's stream.
    fn queue(&self) -> Result<(), Refusal> {
        self.queue_on(context(self.handle)?)
    }

    /// Queues the product on a stream.
    fn queue_on(&self, Context { stream, function }: Context) -> Result<(), Refusal> {
        let (m, n) = (size(self.m)?, size(self.n)?);
        let (k, batches) = (size(self.k)?, size(self.batches)?);
        let [a_transposed, b_transposed] = self.transposed;
        let Finish { bias, bias_kind, activation, .. } = self.finish;
        let d = self.finish.d.unwrap_or(self.c);
        let rows = [if a_transposed { k } else { m }, if b_transposed { n } else { k }, m, m];
        let matrices = [self.a, self.b, self.c, d];
        // Bytes make sums of their own.
        let bytes = [self.a, self.b].map(|matrix| matrix.kind == Type::I8);
        let plain = bias.is_null() && activation == Activation::None;
        let numbers = !matrices.iter().any(|matrix| matrix.kind == Type::I32);
        if bytes[0] != bytes[1] || (bytes[0] && !plain) || (!bytes[0] && !numbers) {
            return Err(Refusal::NotSupported);
        }
        for (matrix, rows) in matrices.into_iter().zip(rows) {
            if size(matrix.leading)? < rows.max(1) {
                return Err(Refusal::Value);
            }
        }
        if m == 0 || n == 0 || batches == 0 {
            return Ok(());
        }
        let flag = |value: bool| u32::from(value);
        let [a, b, c, d] = matrices;
        let mut pointers = [a.data, b.data, c.data, d.data, bias];
        let mut strides = matrices.map(|matrix| matrix.stride);
        let mut sizes = [self.m, self.n, self.k, a.leading, b.leading, c.leading, d.leading];
        let mut scalars = [self.alpha, self.beta];
        let mut flags = [
            a.kind as u32,
            b.kind as u32,
            c.kind as u32,
            d.kind as u32,
            bias_kind as u32,
            flag(a_transposed),
            flag(b_transposed),
            flag(self.pointers),
            activation as u32,
        ];
        let mut arguments: Vec<*mut c_void> = Vec::with_capacity(27);
        arguments.extend(pointers.iter_mut().map(|value| (&raw mut *value).cast::<c_void>()));
        arguments.extend(strides.iter_mut().map(|value| (&raw mut *value).cast::<c_void>()));
        arguments.extend(sizes.iter_mut().map(|value| (&raw mut *value).cast::<c_void>()));
        arguments.extend(scalars.iter_mut().map(|value| (&raw mut *value).cast::<c_void>()));
        arguments.extend(flags.iter_mut().map(|value| (&raw mut *value).cast::<c_void>()));
        let [block_x, block_y] = BLOCK;
        let at = Configuration {
            grid: Dim3 { x: m.div_ceil(block_x), y: n.div_ceil(block_y), z: batches },
            block: Dim3 { x: block_x, y: block_y, z: 1 },
            shared_bytes: 0,
            stream: without_provenance_mut(stream),
            cooperative: false,
        };
        // SAFETY: the arguments are those of the kernel, in its order and of its sizes, and are read before the call returns.
        Ok(unsafe {
            let function = without_provenance_mut(function);
            launch::queue(function, function, at, Arguments::each(arguments.as_mut_ptr()))
        }?)
    }
}

fn size(given: c_int) -> Result<u32, Refusal> {
    u32::try_from(given).map_err(|_| Refusal::Value)
}

/// Exports: `status: fn name(arguments) body;`, whose body is a `Result<(), Refusal>`.
macro_rules! blas {
    ($($status:ident: fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {
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
                    $status(result)
                })
            }
        )*
    };
}

/// The calls of one element type: plain, by stride, by pointers.
macro_rules! typed {
    ($($status:ident $kind:ident $scalar:ty: $plain:ident $strided:ident $batched:ident;)*) => {
        $(blas! {
            $status: fn $plain(
                handle: *mut c_void, op_a: c_int, op_b: c_int, m: c_int, n: c_int, k: c_int, alpha: *const $scalar, a: *const c_void,
                lda: c_int, b: *const c_void, ldb: c_int, beta: *const $scalar, c: *mut c_void, ldc: c_int,
            ) {
                let matrix = |data, leading| Matrix { data, kind: Type::$kind, leading, stride: 0 };
                Gemm {
                    handle, transposed: [transposed(op_a)?, transposed(op_b)?], m, n, k,
                    // SAFETY: null or valid by BLAS's contract.
                    alpha: unsafe { Type::$kind.read(alpha.cast()) }?,
                    // SAFETY: as above.
                    beta: unsafe { Type::$kind.read(beta.cast()) }?,
                    a: matrix(a, lda), b: matrix(b, ldb), c: matrix(c.cast_const(), ldc), batches: 1, pointers: false, finish: Finish::PLAIN,
                }.queue()
            }
            $status: fn $strided(
                handle: *mut c_void, op_a: c_int, op_b: c_int, m: c_int, n: c_int, k: c_int, alpha: *const $scalar, a: *const c_void,
                lda: c_int, a_stride: i64, b: *const c_void, ldb: c_int, b_stride: i64, beta: *const $scalar, c: *mut c_void, ldc: c_int,
                c_stride: i64, batches: c_int,
            ) {
                let matrix = |data, leading, stride| Matrix { data, kind: Type::$kind, leading, stride };
                Gemm {
                    handle, transposed: [transposed(op_a)?, transposed(op_b)?], m, n, k,
                    // SAFETY: null or valid by BLAS's contract.
                    alpha: unsafe { Type::$kind.read(alpha.cast()) }?,
                    // SAFETY: as above.
                    beta: unsafe { Type::$kind.read(beta.cast()) }?,
                    a: matrix(a, lda, a_stride), b: matrix(b, ldb, b_stride), c: matrix(c.cast_const(), ldc, c_stride), batches,
                    pointers: false, finish: Finish::PLAIN,
                }.queue()
            }
            $status: fn $batched(
                handle: *mut c_void, op_a: c_int, op_b: c_int, m: c_int, n: c_int, k: c_int, alpha: *const $scalar, a: *const c_void,
                lda: c_int, b: *const c_void, ldb: c_int, beta: *const $scalar, c: *const c_void, ldc: c_int, batches: c_int,
            ) {
                let matrix = |data, leading| Matrix { data, kind: Type::$kind, leading, stride: 0 };
                Gemm {
                    handle, transposed: [transposed(op_a)?, transposed(op_b)?], m, n, k,
                    // SAFETY: null or valid by BLAS's contract.
                    alpha: unsafe { Type::$kind.read(alpha.cast()) }?,
                    // SAFETY: as above.
                    beta: unsafe { Type::$kind.read(beta.cast()) }?,
                    a: matrix(a, lda), b: matrix(b, ldb), c: matrix(c, ldc), batches, pointers: true, finish: Finish::PLAIN,
                }.queue()
            }
        })*
    };
}

typed! {
    hipblas_status F32 f32: hipblasSgemm hipblasSgemmStridedBatched hipblasSgemmBatched;
    hipblas_status F16 u16: hipblasHgemm hipblasHgemmStridedBatched hipblasHgemmBatched;
    rocblas_status F32 f32: rocblas_sgemm rocblas_sgemm_strided_batched rocblas_sgemm_batched;
    rocblas_status F16 u16: rocblas_hgemm rocblas_hgemm_strided_batched rocblas_hgemm_batched;
}

/// The calls whose types are arguments. Those with `_v2` number types as `hipDataType` does, and both numberings are understood.
macro_rules! untyped {
    ($($plain:ident $strided:ident $batched:ident;)*) => {
        $(blas! {
            hipblas_status: fn $plain(
                handle: *mut c_void, op_a: c_int, op_b: c_int, m: c_int, n: c_int, k: c_int, alpha: *const c_void, a: *const c_void,
                a_type: c_int, lda: c_int, b: *const c_void, b_type: c_int, ldb: c_int, beta: *const c_void, c: *mut c_void, c_type: c_int,
                ldc: c_int, compute: c_int, _algorithm: c_int,
            ) {
                let scalar = Type::of_compute(compute)?;
                let matrix = |data, kind, leading| Matrix::of(data, kind, leading, 0);
                Gemm {
                    handle, transposed: [transposed(op_a)?, transposed(op_b)?], m, n, k,
                    // SAFETY: null or valid by BLAS's contract.
                    alpha: unsafe { scalar.read(alpha) }?,
                    // SAFETY: as above.
                    beta: unsafe { scalar.read(beta) }?,
                    a: matrix(a, a_type, lda)?, b: matrix(b, b_type, ldb)?, c: matrix(c.cast_const(), c_type, ldc)?, batches: 1,
                    pointers: false, finish: Finish::PLAIN,
                }.queue()
            }
            hipblas_status: fn $strided(
                handle: *mut c_void, op_a: c_int, op_b: c_int, m: c_int, n: c_int, k: c_int, alpha: *const c_void, a: *const c_void,
                a_type: c_int, lda: c_int, a_stride: i64, b: *const c_void, b_type: c_int, ldb: c_int, b_stride: i64, beta: *const c_void,
                c: *mut c_void, c_type: c_int, ldc: c_int, c_stride: i64, batches: c_int, compute: c_int, _algorithm: c_int,
            ) {
                let scalar = Type::of_compute(compute)?;
                let matrix = Matrix::of;
                Gemm {
                    handle, transposed: [transposed(op_a)?, transposed(op_b)?], m, n, k,
                    // SAFETY: null or valid by BLAS's contract.
                    alpha: unsafe { scalar.read(alpha) }?,
                    // SAFETY: as above.
                    beta: unsafe { scalar.read(beta) }?,
                    a: matrix(a, a_type, lda, a_stride)?, b: matrix(b, b_type, ldb, b_stride)?,
                    c: matrix(c.cast_const(), c_type, ldc, c_stride)?, batches, pointers: false, finish: Finish::PLAIN,
                }.queue()
            }
            hipblas_status: fn $batched(
                handle: *mut c_void, op_a: c_int, op_b: c_int, m: c_int, n: c_int, k: c_int, alpha: *const c_void, a: *const c_void,
                a_type: c_int, lda: c_int, b: *const c_void, b_type: c_int, ldb: c_int, beta: *const c_void, c: *const c_void,
                c_type: c_int, ldc: c_int, batches: c_int, compute: c_int, _algorithm: c_int,
            ) {
                let scalar = Type::of_compute(compute)?;
                let matrix = |data, kind, leading| Matrix::of(data, kind, leading, 0);
                Gemm {
                    handle, transposed: [transposed(op_a)?, transposed(op_b)?], m, n, k,
                    // SAFETY: null or valid by BLAS's contract.
                    alpha: unsafe { scalar.read(alpha) }?,
                    // SAFETY: as above.
                    beta: unsafe { scalar.read(beta) }?,
                    a: matrix(a, a_type, lda)?, b: matrix(b, b_type, ldb)?, c: matrix(c, c_type, ldc)?, batches, pointers: true, finish: Finish::PLAIN,
                }.queue()
            }
        })*
    };
}

untyped! {
    hipblasGemmEx hipblasGemmStridedBatchedEx hipblasGemmBatchedEx;
    hipblasGemmEx_v2 hipblasGemmStridedBatchedEx_v2 hipblasGemmBatchedEx_v2;
}

blas! {
    hipblas_status: fn hipblasCreate(handle: *mut *mut c_void) {
        // SAFETY: the caller keeps to BLAS's contract.
        unsafe { create(handle) }
    }
    rocblas_status: fn rocblas_create_handle(handle: *mut *mut c_void) {
        // SAFETY: the caller keeps to BLAS's contract.
        unsafe { create(handle) }
    }
    hipblas_status: fn hipblasDestroy(handle: *mut c_void) { destroy(handle) }
    rocblas_status: fn rocblas_destroy_handle(handle: *mut c_void) { destroy(handle) }
    hipblas_status: fn hipblasSetStream(handle: *mut c_void, stream: *mut c_void) { set_stream(handle, stream) }
    rocblas_status: fn rocblas_set_stream(handle: *mut c_void, stream: *mut c_void) { set_stream(handle, stream) }
    hipblas_status: fn hipblasGetStream(handle: *mut c_void, stream: *mut *mut c_void) {
        let found = context(handle)?.stream;
        // SAFETY: null or valid by BLAS's contract.
        unsafe { put(stream, without_provenance_mut(found)) }.map_err(|_| Refusal::Value)
    }
    hipblas_status: fn hipblasSetMathMode(handle: *mut c_void, _mode: c_int) { context(handle).map(|_| ()) }
    hipblas_status: fn hipblasSetAtomicsMode(handle: *mut c_void, _mode: c_int) { context(handle).map(|_| ()) }
    hipblas_status: fn hipblasSetWorkspace(handle: *mut c_void, _memory: *mut c_void, _size: usize) { context(handle).map(|_| ()) }
    hipblas_status: fn hipblasSetPointerMode(handle: *mut c_void, mode: c_int) {
        context(handle)?;
        // HIPBLAS_POINTER_MODE_HOST.
        if mode == 0 { Ok(()) } else { Err(Refusal::NotSupported) }
    }
    rocblas_status: fn rocblas_set_pointer_mode(handle: *mut c_void, mode: c_int) {
        context(handle)?;
        if mode == 0 { Ok(()) } else { Err(Refusal::NotSupported) }
    }
    rocblas_status: fn rocblas_get_version_string_size(size: *mut usize) {
        // SAFETY: null or valid by BLAS's contract.
        unsafe { put(size, VERSION.to_bytes_with_nul().len()) }.map_err(|_| Refusal::Value)
    }
    rocblas_status: fn rocblas_get_version_string(out: *mut c_char, room: usize) {
        let bytes = VERSION.to_bytes_with_nul();
        if out.is_null() || room < bytes.len() {
            return Err(Refusal::Value);
        }
        // SAFETY: there is room for all of them by BLAS's contract.
        unsafe { out.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }
}

/// What `rocblas_get_version_string` answers: the interface is that of release 4.
const VERSION: &std::ffi::CStr = c"4.0.0.assay";

/// `rocblas_initialize`: there is nothing to prepare.
#[unsafe(no_mangle)]
extern "C" fn rocblas_initialize() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_read_exactly() {
        for (bits, value) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x0001, 2f32.powi(-24)),
            (0x03ff, 1023.0 * 2f32.powi(-24)),
            (0x7bff, 65504.0),
        ] {
            assert_eq!(from_f16(bits).to_bits(), f32::to_bits(value), "{bits:#x}");
        }
        assert_eq!(from_f16(0xfc00).to_bits(), f32::NEG_INFINITY.to_bits());
        assert!(from_f16(0x7e00).is_nan());
        assert_eq!(from_f16(0x8000).to_bits(), 0x8000_0000);
    }
}
