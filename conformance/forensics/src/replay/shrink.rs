//! From a failing capsule to a smaller one that fails in the same way.

use std::io;
use std::path::Path;

use conformance::outcome::CaseResult;
use conformance::shrink::{alike, finders};
use kernels::Record;
use output_file::scratch::Scratch;

use super::request;
use crate::capsule::{self, Capsule, right_answers};
use crate::{provenance, reduce};

/// The smallest capsule found that fails as `capsule` does, or the first with at most `enough` bytes of operands; `None` where
/// `capsule` does not fail. Candidates are written to `folder`; `run` runs one by name and must survive its crash.
pub fn shrink(
    capsule: &Capsule,
    enough: usize,
    folder: &Path,
    mut run: impl FnMut(&str) -> io::Result<CaseResult>,
) -> io::Result<Option<Capsule>> {
    let scratch = Scratch::file(folder.join(format!("candidate.{}.capsule", std::process::id())));
    let path = scratch.path();
    let name = request(path);
    let mut trouble = None;
    let mut attempt = |record: &Record| -> io::Result<CaseResult> {
        let candidate =
            Capsule { record: record.clone(), expected: Vec::new(), observed: Vec::new(), ..capsule.clone() };
        let bytes = capsule::bytes(provenance::build(), &[candidate]).map_err(io::Error::other)?;
        std::fs::write(path, bytes)?;
        run(&name)
    };
    let wanted = finders(&attempt(&capsule.record)?);
    let record = (!wanted.is_empty()).then(|| {
        reduce::shrink(&capsule.record, enough, |record| match attempt(record) {
            Ok(result) => alike(&wanted, &result),
            // Such an op cannot be asked for, so it is no smaller one of the same failure.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => false,
            Err(error) => {
                trouble.get_or_insert(error);
                false
            }
        })
    });
    match (trouble, record) {
        (Some(error), _) => Err(error),
        (None, None) => Ok(None),
        (None, Some(record)) => {
            let mut origin = capsule.origin.clone().unwrap_or_default();
            let before = origin.cut.map_or(String::new(), |cut| format!("{cut}; "));
            let (small, whole) = (reduce::size(&record), reduce::size(&capsule.record));
            origin.cut = Some(format!("{before}shrunk from {whole} to {small} bytes of operands"));
            let expected = right_answers(&record);
            Ok(Some(Capsule {
                record,
                expected,
                observed: Vec::new(),
                origin: Some(origin),
                ..capsule.clone()
            }))
        }
    }
}
