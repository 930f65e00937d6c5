//! The HIP kernels of `kernels/hip`, as part of the program: sources, headers, and the gfx942 objects built from them.
//!
//! They stand in this crate because they belong to the ops, as the pages do, and because a package can only include its own files.

/// Declares the device code of each op.
macro_rules! device_code {
    ($($op:ident $Op:ident,)+) => {
        /// Stems that have device code.
        pub const STEMS: &[&str] = &[$(stringify!($op)),+];

        /// The gfx942 object of a stem.
        pub fn gfx942(stem: &str) -> Option<&'static [u8]> {
            match stem {
                $(stringify!($op) => Some(include_bytes!(concat!("../hip/objects/", stringify!($op), ".hsaco"))),)+
                _ => None,
            }
        }

        /// The source of a stem, which includes [`HEADERS`].
        pub fn source(stem: &str) -> Option<&'static str> {
            match stem {
                $(stringify!($op) => Some(include_str!(concat!("../hip/", stringify!($op), ".hip"))),)+
                _ => None,
            }
        }
    };
}
crate::for_each_op!(device_code);

/// Kernels with one planted bug each: proof that the suite finds such bugs.
pub mod mutants {
    /// What is wrong with each, and which edits of the sources make it so: `mutants.toml`.
    pub const TABLE: &str = include_str!("../hip/mutants/mutants.toml");

    /// The gfx942 objects: a safetensors file with one tensor of bytes per mutant.
    pub static OBJECTS: &[u8] = include_bytes!("../hip/mutants/objects.safetensors");
}

/// What no case of the suite reaches of the objects, with reasons: `unreached.toml`.
pub const UNREACHED: &str = include_str!("../hip/unreached.toml");

/// Names and contents of headers.
macro_rules! headers {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../hip/", $name)))),*]
    };
}

/// Headers of the sources, by the names they are included under.
pub const HEADERS: &[(&str, &str)] = headers![
    "angle.h",
    "blocks.h",
    "cache.h",
    "common.h",
    "decode.h",
    "floats.h",
    "functions.h",
    "rows.h",
    "super_blocks.h",
];
