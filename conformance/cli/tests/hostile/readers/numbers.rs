//! Numbers on the command line: token ids, dimensions, threads, launches, parts of a sweep.

use std::path::Path;

use assay_cli::numbers;
use conformance::suite::Shard;

use crate::{Command, Reader};

pub const READER: Reader = Reader {
    name: "numbers",
    sound: || super::texts(&["1,2,3", "5", "7-9", "2/3", "0"]),
    words: &[",", ",,", "-", "/", " ", "\n", "4294967296", "18446744073709551616", "+1", "1e3", "\u{0}"],
    read,
    command: Some(Command {
        args: |path| super::with_text(&["tokenize", "-m", &super::tiny_model(), "--tokens="], path),
        ends: &[0, 2],
    }),
};

/// Any of them may be meant.
fn read(path: &Path) -> Result<(), String> {
    let text = super::text(path)?;
    let dimensions = numbers::dimensions(&text).map(drop);
    let threads = numbers::thread_count(&text).map(drop);
    let launches = numbers::launches(&text).map(drop);
    let shard = text.parse::<Shard>().map(|shard| {
        let kept = shard.of(["add/cpu/f32/exact".into()].into());
        assert!(kept.len() <= 1 && shard.share(1) <= 1);
    });
    let ids = numbers::ids(&text).map(drop);
    ids.or(dimensions).or(threads).or(launches).or(shard)
}
