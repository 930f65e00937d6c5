//! Lists of known findings.

use assay_cli::suppressions::Suppressions;

use crate::{Command, Reader};

pub const READER: Reader = Reader {
    name: "suppressions",
    sound: || {
        super::texts(&[
            "[[suppression]]\ntool = \"memcheck\"\nkernel = \"k\"\nsource = \"a.hip:3\"\n\n[[suppression]]\nhost = \"main.cpp:7\"\n",
            "",
        ])
    },
    words: &[
        "[[suppression]]",
        "tool = ",
        "kernel = ",
        "source = ",
        "call = ",
        "host = ",
        "\"memcheck\"",
        "\"",
        "'''",
        "{",
        "[",
        "\n",
    ],
    read: |path| Suppressions::read(path).map(drop),
    // The list is read before the program, which is not there.
    command: Some(Command {
        args: |path| {
            let mut args = super::with_file(&["sanitize", "--suppressions"], path)?;
            args.extend(["--".into(), "./no-such-program".into()]);
            Some(args)
        },
        ends: &[2],
    }),
};
