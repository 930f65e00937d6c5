//! What the process of a plug-in answers.

use std::fs::File;
use std::io::BufReader;

use crate::Reader;

/// Bytes that a request asks for.
const ASKED: usize = 4096;

pub const READER: Reader = Reader {
    name: "plugin_answer",
    sound: || {
        super::texts(&[
            "{\"ok\":{\"accumulator\":\"f16\",\"lanes\":64,\"function_ulps\":4},\"bytes\":0}\n",
            "{\"ok\":null,\"bytes\":4}\nabcd{\"ok\":7,\"bytes\":0}\n",
            "{\"ok\":{\"activations\":\"int8\",\"activation_type\":\"f32\",\"activation_block\":32},\"bytes\":0}\n",
        ])
    },
    words: &[
        "\"ok\":",
        "\"error\":\"x\"",
        "\"memory\":true",
        "\"bytes\":18446744073709551615",
        "\"bytes\":4096",
        "\"lanes\":4294967296",
        "\"function_ulps\":1e999",
        "null",
        "{",
        "}",
        "[[[[",
        "\n",
    ],
    read: |path| plugin::read_answers(BufReader::new(File::open(path).unwrap()), ASKED),
    // It takes a plug-in to say it.
    command: None,
};
