//! Each op of a case as a capsule, stored before the op runs.

use std::cell::Cell;
use std::path::PathBuf;

use conformance::guard::Guard;
use conformance::target::{Promises, RunError, Target};
use kernels::{DeviceError, Identity, Numerics, OpForm, Record, Support};

use super::{Capsule, Origin, right_answers, write};
use crate::provenance;

/// A target that stores each op before it runs, so that the file is there whatever the op does.
pub struct Recorder {
    inner: Box<dyn Target>,
    backend: String,
    guard: Guard,
    folder: PathBuf,
    runs: Cell<usize>,
}

impl Recorder {
    /// Stores the ops of `inner`, called `backend` on the command line and guarded by `guard`, in `folder`.
    pub fn new(inner: Box<dyn Target>, backend: &str, guard: Guard, folder: PathBuf) -> Self {
        Recorder { inner, backend: backend.into(), guard, folder, runs: Cell::new(0) }
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Recorder({}, {})", self.backend, self.folder.display())
    }
}

impl Target for Recorder {
    fn identity(&self) -> Identity {
        self.inner.identity()
    }

    fn supports(&self, form: &OpForm) -> Support {
        self.inner.supports(form)
    }

    fn numerics(&self, form: &OpForm) -> Numerics {
        self.inner.numerics(form)
    }

    fn promises(&self, form: &OpForm) -> Promises {
        self.inner.promises(form)
    }

    fn run(&self, record: &Record) -> Result<Vec<Vec<u8>>, RunError> {
        let run = self.runs.replace(self.runs.get() + 1);
        let origin = Origin {
            backend: self.backend.clone(),
            device: self.identity().device,
            build: provenance::build().into(),
            guard: Some(self.guard),
            ..Origin::default()
        };
        let case = Capsule {
            name: record.stem.name().into(),
            record: record.clone(),
            expected: right_answers(record),
            observed: Vec::new(),
            origin: Some(origin),
        };
        let path = self.folder.join(format!("{run:06}.capsule"));
        write(&path, provenance::build(), &[case]).map_err(|e| DeviceError::Watch(e.to_string()))?;
        self.inner.run(record)
    }
}
