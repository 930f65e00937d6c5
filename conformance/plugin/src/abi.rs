//! The structs and numbers of `assay.h`, as Rust sees them. A test compares the two.
//!
//! Only plain integers and pointers cross the border: a number that this program does not know is an error, never an invalid value.

use std::ffi::{c_char, c_void};

use kernels::{DType, Role};

/// Version of the interface.
pub const ABI: u32 = 1;

/// Most dimensions of an operand.
pub const RANK: usize = 4;

/// Declares structs as C lays them out, each with the names and places of its fields.
macro_rules! structs {
    ($($(#[$doc:meta])* $Name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty,)+ })+) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug)]
            pub struct $Name { $($(#[$field_doc])* pub $field: $kind,)+ }

            impl $Name {
                /// Name and first byte of each field.
                pub const FIELDS: &'static [(&'static str, usize)] =
                    &[$((stringify!($field), std::mem::offset_of!($Name, $field)),)+];
            }
        )+
    };
}

structs! {
    /// A tensor: `assay_operand`.
    Operand {
        /// Name of the op's field.
        name: *const c_char,
        /// One of [`role`]'s numbers.
        role: u32,
        /// One of [`dtype`]'s numbers.
        dtype: u32,
        /// Dimensions.
        rank: u32,
        /// 0.
        reserved: u32,
        /// Extents, outermost first.
        shape: [u64; RANK],
        /// Distances in elements.
        strides: [u64; RANK],
        /// Bytes from the start of the buffer.
        offset: u64,
        /// As the plug-in returned it; null where there is none yet.
        buffer: *mut c_void,
    }

    /// A parameter: `assay_param`.
    Param {
        /// Its name.
        name: *const c_char,
        /// Its value, where that is a text.
        text: *const c_char,
        /// [`BOOL`], [`COUNT`], [`NUMBER`] or [`TEXT`].
        kind: u32,
        /// 0.
        reserved: u32,
        /// Its value, where that is a whole number, or 0 or 1.
        count: u64,
        /// Its value, where that is a number.
        number: f64,
    }

    /// An op: `assay_op`.
    Op {
        /// Its stem.
        name: *const c_char,
        /// Its operands.
        operands: *const Operand,
        /// Its parameters.
        params: *const Param,
        /// How many operands.
        operand_count: u32,
        /// How many parameters.
        param_count: u32,
    }

    /// How an op is computed: `assay_numerics`.
    Numerics {
        /// Format of sums.
        accumulator: u32,
        /// Interleaved partial sums; 0 for any order.
        lanes: u32,
        /// [`EXACT`], [`ROUNDED`] or [`INT8`].
        activations: u32,
        /// Format that they are rounded to, or of their scale.
        activation_type: u32,
        /// Activations that share a scale.
        activation_block: u32,
        /// [`DECODED`], [`ROUNDED`] or [`FACTORED`].
        weights: u32,
        /// Format that they are rounded to.
        weight_type: u32,
        /// Format of RoPE's angle.
        angle: u32,
        /// Error of functions, in units in the last place.
        function_ulps: f64,
        /// 0.
        reserved: [u32; 4],
    }

    /// The table of functions: `assay_plugin`.
    Plugin {
        /// [`ABI`].
        abi: u32,
        /// Bytes of this struct.
        size: u32,
        /// [`ON_HOST`], [`ON_SOFTWARE`] or [`ON_GPU`].
        place: u32,
        /// [`PERMUTED`] and [`TRANSPOSED`], or 0.
        layouts: u32,
        /// What it is called.
        name: Option<unsafe extern "C" fn() -> *const c_char>,
        /// Words about the last error.
        error: Option<unsafe extern "C" fn() -> *const c_char>,
        /// Whether it implements an op.
        supports: Option<unsafe extern "C" fn(*const Op, *mut *const c_char) -> i32>,
        /// How it computes an op.
        numerics: Option<unsafe extern "C" fn(*const Op, *mut Numerics)>,
        /// New memory.
        alloc: Option<unsafe extern "C" fn(u64, *mut *mut c_void) -> i32>,
        /// Returns memory.
        free: Option<unsafe extern "C" fn(*mut c_void) -> i32>,
        /// Copies to a buffer.
        write: Option<unsafe extern "C" fn(*mut c_void, u64, *const c_void, u64) -> i32>,
        /// Copies from a buffer.
        read: Option<unsafe extern "C" fn(*mut c_void, u64, *mut c_void, u64) -> i32>,
        /// Starts an op.
        launch: Option<unsafe extern "C" fn(*const Op) -> i32>,
        /// Waits for all work.
        synchronize: Option<unsafe extern "C" fn() -> i32>,
    }
}

/// The function that a plug-in exports, `assay_plugin_open`.
pub type Open = unsafe extern "C" fn(abi: u32) -> *const Plugin;

/// Its name.
pub const OPEN: &str = "assay_plugin_open";

macro_rules! numbers {
    ($($(#[$doc:meta])* $NAME:ident: $kind:ty = $value:literal;)+) => {
        $($(#[$doc])* pub const $NAME: $kind = $value;)+

        /// The numbers of the header but for element types and roles, by name.
        pub const NUMBERS: &[(&str, i64)] = &[$((stringify!($NAME), $value),)+];
    };
}

numbers! {
    /// A parameter that is 0 or 1.
    BOOL: u32 = 0;
    /// A parameter that is a whole number.
    COUNT: u32 = 1;
    /// A parameter that is a number.
    NUMBER: u32 = 2;
    /// A parameter that is a text.
    TEXT: u32 = 3;
    /// Activations that enter as they are.
    EXACT: u32 = 0;
    /// Activations or weights that are rounded to a shorter format.
    ROUNDED: u32 = 1;
    /// Activations in blocks of 8-bit integers.
    INT8: u32 = 2;
    /// Weights that are decoded one by one.
    DECODED: u32 = 0;
    /// Weights whose scales are multiplied apart.
    FACTORED: u32 = 2;
    /// Computes on the host.
    ON_HOST: u32 = 0;
    /// Computes on an emulated device.
    ON_SOFTWARE: u32 = 1;
    /// Computes on a GPU.
    ON_GPU: u32 = 2;
    /// Outer dimensions in another order.
    PERMUTED: u32 = 1;
    /// Elements of a row apart.
    TRANSPOSED: u32 = 2;
    /// All is well.
    OK: i32 = 0;
    /// An allocation cannot be made.
    OUT_OF_MEMORY: i32 = 1;
    /// An op that is not implemented.
    UNSUPPORTED: i32 = 2;
    /// Something went wrong on the device.
    FAULT: i32 = 3;
    /// f64, which is the type of no tensor.
    F64: u32 = 28;
    /// Indices.
    U32: u32 = 256;
}

/// The number of an element type: GGUF's, and [`U32`] for indices, which GGUF lacks.
pub fn dtype(dtype: DType) -> u32 {
    dtype.ggml().unwrap_or(U32)
}

/// The number of a role.
pub const fn role(role: Role) -> u32 {
    match role {
        Role::Input => 0,
        Role::Indices => 1,
        Role::Output => 2,
    }
}
