//! Which run a report is part of: what the parts of one sweep have in common, and what tells them apart.

use std::fmt::Write;

use conformance::suite::Shard;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What was to run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// The program: its version and the commit that it was built from.
    pub build: String,
    /// The part of the sweep that this is.
    pub shard: Shard,
    /// Cases of the whole sweep, random ones aside.
    pub cases: usize,
    /// SHA-256 of their names.
    pub digest: String,
    /// Random cases of the whole sweep, for each backend.
    pub random: usize,
    /// Random cases that ran in this part.
    pub random_ran: usize,
    /// What noticed an access outside a buffer.
    pub guard: String,
    /// SHA-256 of the list of known failures.
    pub expectations: Option<String>,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            build: build(),
            shard: Shard::WHOLE,
            cases: 0,
            digest: digest([]),
            random: 0,
            random_ran: 0,
            guard: String::new(),
            expectations: None,
        }
    }
}

impl Plan {
    /// Notes the names of all cases of the sweep.
    pub fn cover(&mut self, names: &[String]) {
        self.cases = names.len();
        self.digest = digest(names.iter().map(String::as_str));
    }
}

/// Version and commit of this program; where the commit is unknown, the hash of the program itself.
fn build() -> String {
    match env!("BUILD_COMMIT") {
        "unknown" => forensics::provenance::build().into(),
        commit => format!("assay {}, commit {commit}", env!("CARGO_PKG_VERSION")),
    }
}

/// SHA-256 of names in hexadecimal, whatever their order.
fn digest<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_unstable();
    let mut hash = Sha256::new();
    for name in names {
        hash.update(name);
        hash.update(b"\n");
    }
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_of_the_names_and_not_of_their_order() {
        assert_eq!(digest(["a", "b"]), digest(["b", "a"]));
        assert_ne!(digest(["a", "b"]), digest(["ab"]));
        assert_ne!(digest(["a", "b"]), digest(["a"]));
    }
}
