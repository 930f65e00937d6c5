//! Places in a model, as `--at` takes them.

use kernels::SiteFilter;

use crate::{Command, Reader};

pub const READER: Reader = Reader {
    name: "site_filter",
    sound: || {
        super::texts(&["layer=3,phase=decode,step=2,point=q", "point=logits", "layer=0", "phase=prefill"])
    },
    words: &[
        "layer=",
        "phase=",
        "step=",
        "point=",
        ",",
        "=",
        "decode",
        "prefill",
        "-1",
        "18446744073709551616",
        "\u{0}",
    ],
    read: |path| super::text(path)?.parse::<SiteFilter>().map(drop).map_err(|e| e.to_string()),
    command: Some(Command {
        args: |path| {
            super::with_text(
                &[
                    "capsule",
                    "save",
                    "-m",
                    &super::tiny_model(),
                    "-p",
                    "dog",
                    "--backend",
                    "ref",
                    "--out",
                    "o",
                    "--at=",
                ],
                path,
            )
        },
        ends: &[0, 2],
    }),
};
