//! Memory of the CPU backends.

use kernels::{Buffer, HostMemory};

use crate::fence::{Fence, FenceError, Fenced};

/// Host memory that holds tensors.
#[derive(Debug)]
pub struct HostBuffer {
    content: Content,
    len: usize,
    label: String,
}

#[derive(Debug)]
enum Content {
    /// Words rather than bytes, so that every element type is aligned.
    Owned(Vec<u128>),
    /// Adopted without a copy; becomes owned when written.
    Adopted(HostMemory),
    /// Against an unmapped page.
    Fenced(Fenced),
}

impl HostBuffer {
    /// `len` zero bytes; `None` if there is not so much memory.
    pub fn zeroed(len: usize, label: &str) -> Option<Self> {
        let words = len.div_ceil(size_of::<u128>());
        let mut content = Vec::new();
        content.try_reserve_exact(words).ok()?;
        content.resize(words, 0);
        Some(HostBuffer { content: Content::Owned(content), len, label: label.into() })
    }

    /// `len` zero bytes behind `fence`.
    pub fn fenced(len: usize, label: &str, fence: Fence) -> Result<Self, FenceError> {
        let content = Content::Fenced(Fenced::zeroed(len, fence)?);
        Ok(HostBuffer { content, len, label: label.into() })
    }

    /// The bytes of `memory`, without a copy.
    pub fn adopted(memory: HostMemory, label: &str) -> Self {
        let len = memory.bytes().len();
        HostBuffer { content: Content::Adopted(memory), len, label: label.into() }
    }

    /// The content.
    pub fn bytes(&self) -> &[u8] {
        match &self.content {
            Content::Owned(words) => &bytemuck::cast_slice(words)[..self.len],
            Content::Adopted(memory) => memory.bytes(),
            Content::Fenced(fenced) => fenced.bytes(),
        }
    }

    /// The content for writing. Adopted memory is copied first, because it belongs to somebody else.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        if let Content::Adopted(memory) = &self.content {
            let mut words = vec![0u128; self.len.div_ceil(size_of::<u128>())];
            bytemuck::cast_slice_mut(&mut words)[..self.len].copy_from_slice(memory.bytes());
            self.content = Content::Owned(words);
        }
        match &mut self.content {
            Content::Owned(words) => &mut bytemuck::cast_slice_mut(words)[..self.len],
            Content::Adopted(_) => unreachable!("adopted memory was copied above"),
            Content::Fenced(fenced) => fenced.bytes_mut(),
        }
    }
}

impl Buffer for HostBuffer {
    fn len(&self) -> usize {
        self.len
    }

    fn label(&self) -> &str {
        &self.label
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn adopted_memory_is_shared_until_written() {
        let owner = Arc::new(vec![1u8, 2, 3, 4, 5]);
        let memory = HostMemory::new(owner.clone(), 1..4).unwrap();
        let mut buffer = HostBuffer::adopted(memory, "w");
        assert_eq!(buffer.bytes().as_ptr(), owner[1..].as_ptr());
        buffer.bytes_mut()[0] = 9;
        assert_eq!(buffer.bytes(), [9, 3, 4]);
        assert_eq!(owner[1], 2);
    }

    #[test]
    fn a_size_that_cannot_be_had_is_refused() {
        assert!(HostBuffer::zeroed(usize::MAX / 2, "too much").is_none());
        assert_eq!(HostBuffer::zeroed(5, "x").unwrap().bytes(), [0; 5]);
    }
}
