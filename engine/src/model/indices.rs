//! What a batch says of its rows, on the device.

use kernels::{Backend, IndexBuffer};

use super::{Batch, ModelError};

/// Token, sequence and position of each row.
pub(super) struct Indices<Buf> {
    pub(super) ids: IndexBuffer<Buf>,
    pub(super) seqs: IndexBuffer<Buf>,
    pub(super) positions: IndexBuffer<Buf>,
}

impl<Buf> Indices<Buf> {
    /// Copies those of `batch` to the device on the stream `uploads`. What follows on `user` waits for them.
    pub(super) fn upload<B: Backend<Buffer = Buf>>(
        backend: &B,
        uploads: &B::Stream,
        user: &B::Stream,
        batch: &Batch,
    ) -> Result<Self, ModelError> {
        let failed = |what: &str, source| ModelError::Load { what: what.into(), source };
        let upload = |values: Vec<u32>, label: &str| {
            backend.indices(uploads, &values, label).map_err(|source| failed(label, source))
        };
        let indices = Indices {
            ids: upload(batch.column(|row| row.token), "token ids")?,
            seqs: upload(batch.column(|row| row.seq), "sequences")?,
            positions: upload(batch.column(|row| row.position), "positions")?,
        };
        let uploaded = backend.record(uploads).map_err(|source| failed("the batch", source))?;
        backend.wait_event(user, &uploaded).map_err(|source| failed("the batch", source))?;
        Ok(indices)
    }

    /// Rows of the batch.
    pub(super) fn rows(&self) -> usize {
        self.ids.values().len()
    }
}
