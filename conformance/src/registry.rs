//! Backends by name, for work that runs on any of them.

use kernels::Backend;

/// Work for any backend.
pub trait Job {
    /// The result of the work.
    type Answer;

    /// Does the work on `backend`.
    fn run<B: Backend + 'static>(self, backend: B) -> Self::Answer;
}

/// Opens backends by name. The program implements this for the backends that it was built with.
pub trait Registry {
    /// Why a backend cannot be opened.
    type Error: std::error::Error + Send + 'static;

    /// Opens the backend called `name` and does `job` on it.
    fn on_backend<J: Job>(&self, name: &str, job: J) -> Result<J::Answer, Self::Error>;
}
