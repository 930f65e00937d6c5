//! Which code objects a sweep ran.

use std::fmt::Write;

use backend_hip::objects::Provided;
use serde_json::{Value, json};

use super::Sweep;

/// A code object that a backend ran.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceCode {
    /// The backend, as on the command line.
    pub backend: String,
    /// The object.
    pub object: Provided,
}

impl DeviceCode {
    /// The object as JSON.
    pub(super) fn json(&self) -> Value {
        let Provided { stem, origin, sha256, kernels } = &self.object;
        json!({ "backend": self.backend, "op": stem, "origin": origin, "sha256": sha256, "kernels": kernels.len(), "names": kernels })
    }
}

/// A line for each origin of each backend: which ops' objects come from there, with the first digits of their hashes.
pub fn device_code(sweep: &Sweep) -> String {
    let mut text = String::new();
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for code in &sweep.device_code {
        let key = (code.backend.as_str(), code.object.origin.as_str());
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        let same = sweep.device_code.iter().filter(|c| (c.backend.as_str(), c.object.origin.as_str()) == key);
        let objects: Vec<_> = same.map(|c| format!("{} {}", c.object.stem, &c.object.sha256[..8])).collect();
        let _ = writeln!(text, "{}: code objects {}: {}", key.0, key.1, objects.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(stem: &str, origin: &str, digit: &str) -> DeviceCode {
        let object = Provided {
            stem: stem.into(),
            origin: origin.into(),
            sha256: digit.repeat(64),
            kernels: vec![format!("{stem}_f32")],
        };
        DeviceCode { backend: "soft".into(), object }
    }

    #[test]
    fn objects_are_listed_by_origin() {
        let device_code =
            vec![code("add", "built in", "1"), code("mul", "theirs", "2"), code("rope", "built in", "3")];
        let sweep = Sweep { device_code, ..Sweep::default() };
        assert_eq!(
            super::device_code(&sweep),
            "soft: code objects built in: add 11111111, rope 33333333\nsoft: code objects theirs: mul 22222222\n"
        );
    }
}
