//! Lists of known failures.

use conformance::expectations::Expectations;

use crate::{Command, Reader};

pub const READER: Reader = Reader {
    name: "expectations",
    sound: || {
        super::texts(&[
            "[[expect]]\ncase = \"rope/cpu rows=5\"\nreason = \"known\"\n\n[[expect]]\ncase = \"add\"\nreason = \"other\"\n",
            "",
        ])
    },
    words: &[
        "[[expect]]",
        "case = ",
        "reason = ",
        "\"",
        "\n",
        "'''",
        "{",
        "}",
        "[",
        "]",
        "1979-05-27",
        "\\u0000",
    ],
    read: |path| Expectations::read(path).map(drop).map_err(|e| e.to_string()),
    command: Some(Command {
        args: |path| {
            super::with_file(&["check", "add/ rows=5 exact n=31", "--backend", "cpu", "--expectations"], path)
        },
        ends: &[0, 1],
    }),
};
