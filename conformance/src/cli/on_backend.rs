//! Work that is generic over the backend, on a backend chosen by name.

use backend_cpu::fast::Fast;
use backend_cpu::reference::Reference;
use conformance::backends::OpenError;
use kernels::Backend;

use super::Trouble;

/// Work for any backend.
pub trait Job {
    /// What comes of it.
    type Answer;

    /// Does it on `backend`.
    fn run<B: Backend>(self, backend: B) -> Result<Self::Answer, Trouble>;
}

/// Does `job` on the backend called `name`; `threads` is for those that have a choice, 0 meaning one per core.
pub fn on_backend<J: Job>(name: &str, threads: usize, job: J) -> Result<J::Answer, Trouble> {
    match name {
        "ref" => job.run(Reference::default()),
        "cpu" => job.run(Fast::with_threads(threads)),
        _ => Err(OpenError::Unknown { name: name.into() }.into()),
    }
}
