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

        /// The source of a stem, which includes [`HEADERS`].
        pub fn source(stem: &str) -> Option<&'static str> {
            match stem {
                $($stem => Some(include_str!(concat!("../../kernels/hip/", $stem, ".hip"))),)*
                _ => None,
            }
        }
    };
}

/// Headers of the sources, by the names they are included under.
pub const HEADERS: [(&str, &str); 1] = [("common.h", include_str!("../../kernels/hip/common.h"))];

objects!("rms_norm");

/// Where objects come from: bytes for a stem.
#[derive(Clone)]
pub struct Objects(Arc<Find>);

/// An object, or why there is none.
pub type Found = Result<Cow<'static, [u8]>, Box<dyn std::error::Error + Send + Sync>>;

type Find = dyn Fn(&str) -> Found + Send + Sync;

impl Objects {
    /// Those that `find` finds.
    pub fn new(find: impl Fn(&str) -> Found + Send + Sync + 'static) -> Self {
        Objects(Arc::new(find))
    }

    /// `STEM.hsaco` in `folder`, and where that is not there, the program's own.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self::new(move |stem| match std::fs::read(folder.join(stem).with_extension("hsaco")) {
            Ok(bytes) => Ok(bytes.into()),
            Err(_) => own(stem),
        })
    }

    pub(crate) fn find(&self, stem: &str) -> Found {
        (self.0)(stem)
    }
}

impl Default for Objects {
    /// The program's own.
    fn default() -> Self {
        Self::new(own)
    }
}

fn own(stem: &str) -> Found {
    gfx942(stem).map(Cow::Borrowed).ok_or_else(|| format!("no code object for '{stem}'").into())
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Objects")
    }
}
