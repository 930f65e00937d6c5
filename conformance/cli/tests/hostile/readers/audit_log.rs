//! Logs of copies to the host, of this program and of others.

use std::path::Path;

use d2h_audit::lint;
use engine::config::ModelConfig;
use engine::gguf::Gguf;
use forensics::audit::sizes;

use crate::{Command, Reader};

pub const READER: Reader = Reader {
    name: "audit_log",
    sound: || super::texts(&[PAIRS, BLOCKS]),
    words: &[
        "[D2H_AUDIT_START]",
        "[D2H_AUDIT_END]",
        "[D2H_CHECK]",
        "[D2H TRACE] q:before",
        "[D2H TRACE] q:after",
        "[D2H FATAL] q:FAILED",
        "[D2H SAFE]",
        "op_id=",
        "op_id=18446744073709551615",
        "ts=18446744073709551615.999999",
        "layer=-1",
        "bytes=",
        "(nil)",
        "0x",
        "\n",
        " ",
    ],
    read,
    command: Some(Command { args: |path| super::with_file(&["audit", "lint"], path), ends: &[0, 1] }),
};

const PAIRS: &str = "\
loading 291 tensors
[D2H_AUDIT_START] op_id=0 ts=9.000001 stream=0x1 dev_ptr=0x2 host_ptr=0x3 bytes=512 tensor=logits step=0 layer=-1
[D2H_AUDIT_END] op_id=0 ts=9.000002 stream=0x1 result=hipSuccess tensor=logits
[D2H_AUDIT_START] op_id=1 ts=9.000003 stream=(nil) dev_ptr=0x2 host_ptr=0x3 bytes=4 tensor=q step=1 layer=1
[D2H_AUDIT_END] op_id=1 ts=9.000004 stream=(nil) result=hipSuccess tensor=q
";

const BLOCKS: &str = "\
[D2H SAFE] engaged for tensor=logits_async
[D2H_CHECK] tensor=logits_async step=0 layer=32 src_ptr=0x7 dst_ptr=0x7 offset=0 size=4096 alloc=4096
[D2H TRACE] logits:before
  src_ptr=0x7f0000000000
  bytes=4096
  stream=0x7f1234000000
[D2H TRACE] logits:after
  dst_ptr=0x7f1000000000
  bytes=4096
[D2H FATAL] logits:FAILED
  src_ptr=0x7f0000000000
  dst_ptr=0x7f1000000000
  bytes=4096
  hipError=700
";

fn read(path: &Path) -> Result<(), String> {
    thread_local! {
        static MODEL: ModelConfig =
            ModelConfig::from_gguf(&Gguf::open(super::tiny_model()).unwrap()).unwrap();
    }
    let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    let linted = MODEL.with(|model| lint(&text, Some(&|copy| sizes::fault(model, copy))));
    if linted.lines == 0 {
        return Err("no line of a log".into());
    }
    for finding in linted.findings {
        assert!(!finding.to_string().is_empty());
    }
    Ok(())
}
