//! Models split over several files: `name-00001-of-00003.gguf` and so on.
//!
//! Each part has its own directory and data; the first has the metadata of the model. The keys
//! `split.no` (from 0), `split.count` and `split.tensors.count` say how the parts belong together.

use std::path::{Path, PathBuf};

use super::{GgufError, Metadata};

/// What the metadata of a part say about the split.
pub(super) struct Split {
    /// Number of this part, from 0.
    pub(super) part: u32,
    /// Parts of the model.
    pub(super) count: u32,
    /// Tensors of all parts together.
    pub(super) tensors: Option<u32>,
}

impl Split {
    /// `None` for a model in one file.
    pub(super) fn of(metadata: &Metadata) -> Result<Option<Self>, GgufError> {
        match metadata.opt_u32("split.count")? {
            None | Some(0 | 1) => Ok(None),
            Some(count) => Ok(Some(Self {
                part: metadata.u32("split.no")?,
                count,
                tensors: metadata.opt_u32("split.tensors.count")?,
            })),
        }
    }

    /// Numbers and paths of the parts after the first, given the path of the first.
    ///
    /// The iterator is lazy because the count comes from the file.
    pub(super) fn other_parts(
        &self,
        first: &Path,
    ) -> Result<impl Iterator<Item = (u32, PathBuf)>, GgufError> {
        let name = first.file_name().unwrap_or_default().to_string_lossy();
        let stem = name.strip_suffix(&suffix(self.part, self.count));
        let Some(stem) = stem else {
            let part = self.part.saturating_add(1);
            return Err(GgufError::PartName { part, count: self.count, found: name.into_owned() });
        };
        if self.part != 0 {
            return Err(GgufError::NotFirstPart {
                part: self.part.saturating_add(1),
                count: self.count,
                first: format!("{stem}{}", suffix(0, self.count)),
            });
        }
        let (count, stem, directory) = (self.count, stem.to_owned(), first.with_file_name(""));
        Ok((1..count).map(move |part| (part, directory.join(format!("{stem}{}", suffix(part, count))))))
    }

    /// Returns an error unless `metadata` are those of part `part` of this model.
    pub(super) fn check_part(&self, metadata: &Metadata, part: u32) -> Result<(), GgufError> {
        for (key, want) in [("split.no", part), ("split.count", self.count)] {
            let found = metadata.u32(key)?;
            if found != want {
                return Err(GgufError::PartMismatch { key, found: found.into(), want: want.into() });
            }
        }
        Ok(())
    }
}

/// Suffix of the name of part `part` (from 0) of `count`.
fn suffix(part: u32, count: u32) -> String {
    format!("-{:05}-of-{count:05}.gguf", u64::from(part) + 1)
}
