//! Device code: one object per op, built from `kernels/hip/<op>.hip` and part of the program, or from elsewhere.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Declares the objects by their stems.
macro_rules! objects {
    ($($stem:literal),* $(,)?) => {
        /// Stems that have device code.
        pub const STEMS: &[&str] = &[$($stem),*];

        /// The gfx942 object of a stem.
        pub fn gfx942(stem: &str) -> Option<&'static [u8]> {
            match stem {
                $($stem => Some(include_bytes!(concat!("../../kernels/hip/objects/", $stem, ".hsaco"))),)*
                _ => None,
            }
        }
    };
}

objects!(
    "add",
    "argmax",
    "attention",
    "cast",
    "copy",
    "fill",
    "gelu_mul",
    "kv_write",
    "mul",
    "rms_norm",
    "rope",
    "scale",
    "silu_mul",
    "softmax",
);

/// Where objects come from: bytes for a stem.
#[derive(Clone)]
pub struct Objects(Arc<Find>);

type Find = dyn Fn(&str) -> Option<Cow<'static, [u8]>> + Send + Sync;

impl Objects {
    /// Those that `find` finds.
    pub fn new(find: impl Fn(&str) -> Option<Cow<'static, [u8]>> + Send + Sync + 'static) -> Self {
        Objects(Arc::new(find))
    }

    /// `STEM.hsaco` in `folder`, and where that is not there, the program's own.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self::new(move |stem| match std::fs::read(folder.join(stem).with_extension("hsaco")) {
            Ok(bytes) => Some(bytes.into()),
            Err(_) => gfx942(stem).map(Cow::Borrowed),
        })
    }

    pub(crate) fn find(&self, stem: &str) -> Option<Cow<'static, [u8]>> {
        (self.0)(stem)
    }
}

impl Default for Objects {
    /// The program's own.
    fn default() -> Self {
        Self::new(|stem| gfx942(stem).map(Cow::Borrowed))
    }
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Objects")
    }
}
