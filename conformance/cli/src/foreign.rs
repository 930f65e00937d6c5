//! Kernels of other people, as the command line names them: files, and the manifest that says how they are launched.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use backend_hip::HipBackend;
use backend_hip::foreign::{Foreign, ForeignError, ForeignKernels, Others, Ran};
use conformance::target::{Promises, RunError, Target};
use kernels::{Breakpoint, Identity, Numerics, OpForm, Record, Stem, Support};

/// Files with kernels, and their manifest.
#[derive(Clone, Debug)]
pub struct ForeignFiles {
    /// Code objects, folders of them, or sources.
    pub kernels: Vec<PathBuf>,
    /// The manifest.
    pub manifest: PathBuf,
    /// What happens to forms that the manifest does not take.
    pub others: Others,
    ran: Arc<Mutex<Option<HipBackend>>>,
}

impl ForeignFiles {
    /// `kernels`, launched as `manifest` says. Forms that it does not take are unsupported.
    pub fn new(kernels: Vec<PathBuf>, manifest: PathBuf) -> Self {
        ForeignFiles { kernels, manifest, others: Others::default(), ran: Arc::default() }
    }

    /// The same, with what happens to forms that the manifest does not take.
    #[must_use]
    pub fn with_others(self, others: Others) -> Self {
        ForeignFiles { others, ..self }
    }

    /// `backend` with these kernels.
    pub fn on(&self, backend: HipBackend) -> Result<HipBackend, ForeignError> {
        let foreign = Foreign::load(&self.kernels, &self.manifest, backend.target())?;
        let backend = backend.with_foreign(foreign.with_others(self.others));
        *self.ran.lock().unwrap_or_else(PoisonError::into_inner) = Some(backend.clone());
        Ok(backend)
    }

    /// How often each op of the manifest was launched on the backend that was made last.
    pub fn ran(&self) -> BTreeMap<Stem, Ran> {
        let backend = self.ran.lock().unwrap_or_else(PoisonError::into_inner);
        backend.as_ref().and_then(HipBackend::foreign).map(ForeignKernels::ran).unwrap_or_default()
    }

    /// The flags that name them.
    pub fn flags(&self) -> Vec<OsString> {
        let mut flags = Vec::new();
        for path in &self.kernels {
            flags.extend([OsString::from("--kernels"), OsString::from(path)]);
        }
        flags.extend([OsString::from("--manifest"), OsString::from(&self.manifest)]);
        flags
    }

    /// The flags as text, for a line that runs a case again.
    pub fn text(&self) -> String {
        let quoted = |flag: OsString| {
            let flag = flag.to_string_lossy().into_owned();
            let plain = flag.chars().all(|c| c.is_ascii_alphanumeric() || "-_./+=:".contains(c));
            if plain { flag } else { format!("'{flag}'") }
        };
        self.flags().into_iter().map(quoted).collect::<Vec<_>>().join(" ")
    }
}

/// A target with the promises of its foreign kernels.
pub(crate) struct Promised {
    pub target: Box<dyn Target>,
    pub backend: HipBackend,
}

impl Target for Promised {
    fn identity(&self) -> Identity {
        self.target.identity()
    }

    fn supports(&self, form: &OpForm) -> Support {
        self.target.supports(form)
    }

    fn breakpoints(&self, form: &OpForm) -> Vec<Breakpoint> {
        self.target.breakpoints(form)
    }

    fn numerics(&self, form: &OpForm) -> Numerics {
        self.target.numerics(form)
    }

    fn promises(&self, form: &OpForm) -> Promises {
        let declared = self.backend.foreign().and_then(|foreign| foreign.promises(form));
        declared.map_or(Promises::ALL, |declared| Promises {
            deterministic: declared.deterministic,
            batch_invariant: declared.batch_invariant,
        })
    }

    fn run(&self, record: &Record) -> Result<Vec<Vec<u8>>, RunError> {
        self.target.run(record)
    }
}
