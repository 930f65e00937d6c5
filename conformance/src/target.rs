//! A backend under test, whatever its types.

use kernels::decor::Guarded;
use kernels::{
    Backend, BindError, Breakpoint, DeviceError, Identity, Numerics, OpError, OpForm, Pending, Record, Site,
    Support,
};
use serde::{Deserialize, Serialize};

/// What a target promises of its results, besides that they lie within their bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Promises {
    /// The same op on the same data has the same bits.
    pub deterministic: bool,
    /// A row's bits do not depend on the rows beside it.
    pub batch_invariant: bool,
}

impl Promises {
    /// Both.
    pub const ALL: Promises = Promises { deterministic: true, batch_invariant: true };
}

/// Something that can run ops.
pub trait Target {
    /// Which backend, on what.
    fn identity(&self) -> Identity;

    /// Whether it implements the op.
    fn supports(&self, form: &OpForm) -> Support;

    /// The sizes of the op at which it changes from one way of computing to another.
    fn breakpoints(&self, _form: &OpForm) -> Vec<Breakpoint> {
        Vec::new()
    }

    /// How it computes the op.
    fn numerics(&self, form: &OpForm) -> Numerics;

    /// What it promises of the op's result. A target that sums by atomic additions promises nothing.
    fn promises(&self, _form: &OpForm) -> Promises {
        Promises::ALL
    }

    /// Runs an op in fresh buffers and returns the content of each of them afterwards, one per operand of the record.
    fn run(&self, record: &Record) -> Result<Vec<Vec<u8>>, RunError>;
}

/// Why an op did not run, or not to its end.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RunError {
    /// Validation refused it.
    #[error("refused: {0}")]
    Refused(#[from] OpError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The record describes no op.
    #[error("malformed record: {0}")]
    Bind(#[from] BindError),
}

/// A backend as a target, with guard zones around every buffer.
#[derive(Debug)]
pub struct Guards<D: Backend> {
    backend: Guarded<D>,
    stream: D::Stream,
}

impl<D: Backend> Guards<D> {
    /// Puts guard zones around the buffers of `backend`.
    pub fn new(backend: D) -> Result<Self, DeviceError> {
        let backend = Guarded::new(backend)?;
        let stream = backend.stream()?;
        Ok(Guards { backend, stream })
    }
}

impl<D: Backend> Target for Guards<D> {
    fn identity(&self) -> Identity {
        self.backend.identity()
    }

    fn supports(&self, form: &OpForm) -> Support {
        self.backend.supports(form)
    }

    fn breakpoints(&self, form: &OpForm) -> Vec<Breakpoint> {
        self.backend.breakpoints(form)
    }

    fn numerics(&self, form: &OpForm) -> Numerics {
        self.backend.numerics(form)
    }

    fn run(&self, record: &Record) -> Result<Vec<Vec<u8>>, RunError> {
        run(&self.backend, &self.stream, record)
    }
}

/// A backend as a target, without guard zones.
#[derive(Debug)]
pub struct Bare<D: Backend> {
    backend: D,
    stream: D::Stream,
}

impl<D: Backend> Bare<D> {
    /// `backend` as it is.
    pub fn new(backend: D) -> Result<Self, DeviceError> {
        let stream = backend.stream()?;
        Ok(Bare { backend, stream })
    }
}

impl<D: Backend> Target for Bare<D> {
    fn identity(&self) -> Identity {
        self.backend.identity()
    }

    fn supports(&self, form: &OpForm) -> Support {
        self.backend.supports(form)
    }

    fn breakpoints(&self, form: &OpForm) -> Vec<Breakpoint> {
        self.backend.breakpoints(form)
    }

    fn numerics(&self, form: &OpForm) -> Numerics {
        self.backend.numerics(form)
    }

    fn run(&self, record: &Record) -> Result<Vec<Vec<u8>>, RunError> {
        run(&self.backend, &self.stream, record)
    }
}

fn run<D: Backend>(backend: &D, stream: &D::Stream, record: &Record) -> Result<Vec<Vec<u8>>, RunError> {
    let mut buffers = record.upload(backend, stream)?;
    let op = record.bind(&mut buffers)?.validate()?;
    backend.launch(stream, op)?;
    backend.synchronize(stream)?;
    let content = |(operand, buffer): (&kernels::RecordOperand, _)| {
        backend
            .read_bytes(stream, buffer, 0..operand.bytes.len(), &Site::outside(operand.name.clone()))?
            .wait()
    };
    Ok(record.operands().iter().zip(&buffers).map(content).collect::<Result<_, _>>()?)
}
