//! Lists of cases that have failed.

use conformance::regressions;

use crate::{Command, Reader};

pub const READER: Reader = Reader {
    name: "regressions",
    sound: || {
        super::texts(&["# Cases that have failed.\nrope/cpu/f32/exact,rows=5\nadd/cpu/f32/exact\n", ""])
    },
    words: &["#", "\n", "\r", "rope/", "\u{feff}", "\u{0}"],
    read: |path| regressions::read(path).map(drop).map_err(|e| e.to_string()),
    command: Some(Command {
        args: |path| {
            super::with_file(&["check", "add/ rows=5 exact n=31", "--backend", "cpu", "--regressions"], path)
        },
        ends: &[0, 2],
    }),
};
