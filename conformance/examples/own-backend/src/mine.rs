//! The backend: `scale` in host memory. One with memory and queues of its own implements `kernels::Backend`.

use backend_cpu::HostBuffer;
use backend_cpu::host::Compute;
use kernels::{DeviceError, Numerics, Op, OpForm, Source, Stem, Support, Valid};

/// Computes `scale`.
#[derive(Debug, Default)]
pub struct Mine {
    /// Forgets the last element of each row: the suite must notice.
    pub forgets_the_last: bool,
}

impl Compute for Mine {
    fn name(&self) -> &'static str {
        "mine"
    }

    fn describe(&self) -> String {
        "a backend of one's own".into()
    }

    fn numerics(&self, _: &OpForm) -> Numerics {
        Numerics::F32
    }

    fn supports(&self, form: &OpForm) -> Support {
        match form.stem {
            Stem::Scale if form.short_floats().next().is_some() => Support::No("in f32 alone".into()),
            Stem::Scale => Support::Yes,
            other => Support::No(format!("{other} is not written yet")),
        }
    }

    fn run(&self, op: Valid<Op<'_, HostBuffer>>) -> Result<(), DeviceError> {
        let Op::Scale(op) = op.into_inner() else {
            return Err(DeviceError::Unsupported { op: "op", reason: "only scale is written".into() });
        };
        let x = match &op.x {
            Source::Of(view) => (view.buffer.bytes().to_vec(), view.layout),
            Source::InPlace => (op.out.buffer.bytes().to_vec(), op.out.layout),
        };
        for (from, mut to) in x.1.rows().zip(op.out.layout.rows()) {
            if self.forgets_the_last {
                to.end -= 4;
            }
            let out = &mut op.out.buffer.bytes_mut()[to];
            for (out, x) in out.chunks_exact_mut(4).zip(x.0[from].chunks_exact(4)) {
                let x = f32::from_le_bytes([x[0], x[1], x[2], x[3]]);
                out.copy_from_slice(&(x * op.factor).to_le_bytes());
            }
        }
        Ok(())
    }
}
