//! Device code: one object per op, built from `kernels/hip/<op>.hip` and part of the program, or from elsewhere.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::{fmt, fs, io};

use code_object::{CodeObject, Kernel};
use sha2::{Digest, Sha256};

pub use kernels::device_code::{HEADERS, STEMS, gfx942, source};

/// Where code objects come from: layers. The first layer that has a kernel provides it.
#[derive(Clone, Default)]
pub struct Objects {
    layers: Vec<Layer>,
}

/// A code object, or why it could not be made.
pub type Found = Result<Cow<'static, [u8]>, Box<dyn std::error::Error + Send + Sync>>;

type Find = dyn Fn(&str) -> Option<Found> + Send + Sync;

/// Is told of a kernel when it is first used.
type OnUse = dyn Fn(&CodeObject, &Kernel) + Send + Sync;

#[derive(Clone)]
struct Layer {
    /// Where its objects come from, in words.
    origin: Arc<str>,
    find: Arc<Find>,
    on_use: Option<Arc<OnUse>>,
}

/// An object, and the kernels of an op that it provides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Provided {
    /// The op.
    pub stem: String,
    /// Where the object comes from.
    pub origin: String,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// The kernels that are taken from it, sorted.
    pub kernels: Vec<String>,
}

/// A folder whose objects cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It cannot be read.
    #[error("code objects in {}: {error}", folder.display())]
    Unreadable {
        /// The folder.
        folder: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It has no object of an op.
    #[error("code objects in {}: none of {} is there", folder.display(), wanted())]
    Empty {
        /// The folder.
        folder: PathBuf,
    },
}

/// The file names that are looked for.
fn wanted() -> String {
    STEMS.iter().map(|stem| format!("{stem}.hsaco")).collect::<Vec<_>>().join(", ")
}

impl Objects {
    /// Those that `find` finds, for stems for which it finds anything. `origin` says in reports where they come from.
    pub fn new(
        origin: impl Into<Arc<str>>,
        find: impl Fn(&str) -> Option<Found> + Send + Sync + 'static,
    ) -> Self {
        Objects { layers: vec![Layer { origin: origin.into(), find: Arc::new(find), on_use: None }] }
    }

    /// The program's own.
    pub fn own() -> Self {
        Self::new("built in", |stem| gfx942(stem).map(|bytes| Ok(Cow::Borrowed(bytes))))
    }

    /// These, and `others` for kernels that these do not have.
    #[must_use]
    pub fn over(mut self, others: Objects) -> Self {
        self.layers.extend(others.layers);
        self
    }

    /// Calls `on_use` for each kernel of these when it is first used.
    #[must_use]
    pub fn watched(mut self, on_use: impl Fn(&CodeObject, &Kernel) + Send + Sync + 'static) -> Self {
        let on_use: Arc<OnUse> = Arc::new(on_use);
        for layer in &mut self.layers {
            layer.on_use = Some(Arc::clone(&on_use));
        }
        self
    }

    /// `STEM.hsaco` in `folder`. A folder without a single one is an error.
    pub fn in_folder(folder: PathBuf) -> Result<Self, FolderError> {
        if let Err(error) = fs::read_dir(&folder) {
            return Err(FolderError::Unreadable { folder, error });
        }
        let file = |folder: &PathBuf, stem: &str| folder.join(stem).with_extension("hsaco");
        if !STEMS.iter().any(|stem| file(&folder, stem).exists()) {
            return Err(FolderError::Empty { folder });
        }
        Ok(Self::new(folder.display().to_string(), move |stem| {
            let path = file(&folder, stem);
            let named = |error: io::Error| format!("{}: {error}", path.display()).into();
            path.exists().then(|| fs::read(&path).map(Cow::Owned).map_err(named))
        }))
    }

    /// The object that provides the kernels of `stem`, those of later layers aside.
    pub fn first(&self, stem: &str) -> Option<Found> {
        self.layers.iter().find_map(|layer| (layer.find)(stem))
    }

    /// Whether there are any layers.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// The ops that each layer has an object of, with the layer's origin.
    pub fn stand_ins(&self) -> impl Iterator<Item = (&str, Vec<&'static str>)> {
        self.layers.iter().map(|layer| {
            let stems = STEMS.iter().copied().filter(|stem| (layer.find)(stem).is_some());
            (&*layer.origin, stems.collect())
        })
    }

    /// Which objects provide the kernels of `stem`: a kernel that several layers have is taken from the first of them.
    pub fn provided(&self, stem: &str) -> Result<Vec<Provided>, Box<dyn std::error::Error + Send + Sync>> {
        let mut seen = BTreeSet::new();
        let mut all = Vec::new();
        for layer in &self.layers {
            let Some(found) = (layer.find)(stem) else { continue };
            let bytes = found?;
            let object =
                CodeObject::read(&bytes).map_err(|error| format!("{stem} from {}: {error}", layer.origin))?;
            let names: BTreeSet<String> = object.kernels().iter().map(|kernel| kernel.name.clone()).collect();
            let kernels: Vec<String> = names.difference(&seen).cloned().collect();
            if !kernels.is_empty() {
                let (origin, sha256) = (layer.origin.to_string(), sha256(&bytes));
                all.push(Provided { stem: stem.into(), origin, sha256, kernels });
            }
            seen.extend(names);
        }
        Ok(all)
    }

    /// How many layers there are.
    pub(crate) fn layers(&self) -> usize {
        self.layers.len()
    }

    /// The object of `stem` in a layer.
    pub(crate) fn find(&self, layer: usize, stem: &str) -> Option<Found> {
        (self.layers.get(layer)?.find)(stem)
    }

    /// A kernel of a layer is used for the first time.
    pub(crate) fn used(&self, layer: usize, object: &CodeObject, kernel: &Kernel) {
        if let Some(on_use) = self.layers.get(layer).and_then(|layer| layer.on_use.as_ref()) {
            on_use(object, kernel);
        }
    }
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origins: Vec<_> = self.layers.iter().map(|layer| &*layer.origin).collect();
        write!(f, "Objects({origins:?})")
    }
}

/// SHA-256 in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_an_object_of_an_op_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        let error = Objects::in_folder(missing.clone()).unwrap_err();
        assert!(matches!(error, FolderError::Unreadable { .. }));
        assert!(error.to_string().contains(&missing.display().to_string()), "{error}");

        fs::write(folder.path().join("rmsnorm.hsaco"), gfx942("rms_norm").unwrap()).unwrap();
        let error = Objects::in_folder(folder.path().into()).unwrap_err();
        assert!(matches!(error, FolderError::Empty { .. }));
        assert!(error.to_string().contains("rms_norm.hsaco"), "{error}");
    }

    #[test]
    fn what_provides_a_kernel_is_known_by_origin_and_hash() {
        let folder = tempfile::tempdir().unwrap();
        // An object of another op: it has none of the kernels that rms_norm needs.
        fs::write(folder.path().join("rms_norm.hsaco"), gfx942("add").unwrap()).unwrap();
        let objects = Objects::in_folder(folder.path().into()).unwrap();
        assert!(objects.stand_ins().all(|(_, stems)| stems == ["rms_norm"]));
        let provided = objects.over(Objects::own()).provided("rms_norm").unwrap();
        let [theirs, own] = provided.as_slice() else { panic!("{provided:?}") };
        assert_eq!(theirs.origin, folder.path().display().to_string());
        assert_eq!(own.origin, "built in");
        assert!(own.kernels.iter().all(|name| name.starts_with("rms_norm")), "{own:?}");
        assert!(theirs.sha256 != own.sha256 && own.sha256.len() == 64);
    }
}
