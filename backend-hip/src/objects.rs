//! Device code: one object per op, built from `kernels/hip/<op>.hip` and part of the program, or from elsewhere.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::{fmt, fs};

pub use kernels::device_code::{HEADERS, STEMS, gfx942, source};

/// Where code objects come from: layers. The first layer that has a kernel provides it.
#[derive(Clone)]
pub struct Objects {
    layers: Vec<Arc<Find>>,
}

/// A code object, or why it could not be made.
pub type Found = Result<Cow<'static, [u8]>, Box<dyn std::error::Error + Send + Sync>>;

type Find = dyn Fn(&str) -> Option<Found> + Send + Sync;

impl Objects {
    /// Those that `find` finds, for stems for which it finds anything.
    pub fn new(find: impl Fn(&str) -> Option<Found> + Send + Sync + 'static) -> Self {
        Objects { layers: vec![Arc::new(find)] }
    }

    /// These, and `others` for kernels that these do not have.
    #[must_use]
    pub fn over(mut self, others: Objects) -> Self {
        self.layers.extend(others.layers);
        self
    }

    /// `STEM.hsaco` in `folder`.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self::new(move |stem| {
            let path = folder.join(stem).with_extension("hsaco");
            let named = |error: std::io::Error| format!("{}: {error}", path.display()).into();
            path.exists().then(|| fs::read(&path).map(Cow::Owned).map_err(named))
        })
    }

    /// The object that provides the kernels of `stem`, those of later layers aside.
    pub fn first(&self, stem: &str) -> Option<Found> {
        self.layers.iter().find_map(|find| find(stem))
    }

    /// How many layers there are.
    pub(crate) fn layers(&self) -> usize {
        self.layers.len()
    }

    /// The object of `stem` in a layer.
    pub(crate) fn find(&self, layer: usize, stem: &str) -> Option<Found> {
        self.layers.get(layer)?(stem)
    }
}

impl Default for Objects {
    /// The program's own.
    fn default() -> Self {
        Self::new(|stem| gfx942(stem).map(|bytes| Ok(Cow::Borrowed(bytes))))
    }
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Objects({} layers)", self.layers.len())
    }
}
