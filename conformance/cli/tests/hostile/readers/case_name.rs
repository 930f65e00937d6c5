//! Names of cases, which are filters too.

use conformance::suite;

use crate::Reader;

pub const READER: Reader = Reader {
    name: "case_name",
    sound: || {
        let names = suite::names("cpu", &suite::Filter::new("rope/ rows=5"));
        names.into_iter().step_by(50).map(String::into_bytes).collect()
    },
    words: &[
        "/", ",", "=", "rows=", "n=", "seed=", "rope", "matmul", "cpu", "exact", "bounded", "f32", "q4_0",
        "-1", " ",
    ],
    read: |path| {
        let text = super::text(path)?;
        // A filter takes any words.
        let _ = suite::Filter::new(&text).matches("rope/cpu/f32/exact,rows=5");
        suite::understands(&text).map_err(|e| e.to_string())
    },
    command: None,
};
