//! Trace points, as `--tap` takes them.

use engine::taps::Selection;

use crate::{Command, Reader};

pub const READER: Reader = Reader {
    name: "tap_list",
    sound: || super::texts(&["q_rope,x_out@0-3,logits", "all@3", "all", "attn_out@7"]),
    words: &["@", "-", ",", "all", "logits", "q", "@0-18446744073709551615", "@99999999999999", "\u{0}"],
    read: |path| super::text(path)?.parse::<Selection>().map(drop).map_err(|e| e.to_string()),
    command: Some(Command {
        args: |path| {
            super::with_text(
                &["run", "-m", &super::tiny_model(), "-p", "dog", "-n", "1", "--tap-out", "o", "--tap="],
                path,
            )
        },
        ends: &[0, 2],
    }),
};
