//! The readers. A new one is a file here and its name below, which is that of its test too.

use std::ffi::OsString;
use std::path::Path;

macro_rules! readers {
    ($($name:ident)*) => {
        $(
            mod $name;

            #[test]
            fn $name() {
                crate::try_reader(&$name::READER);
            }
        )*
    };
}

readers! {
    audit_log
    audit_state
    capsule
    case_name
    chat_template
    code_object
    expectations
    gate_run
    gpu_argument
    launch_capsule
    manifest
    model
    numbers
    plugin_answer
    regressions
    site_filter
    suppressions
    sweep_report
    tap_list
    taps
    tokenizer_input
    triton_json
}

/// Top folder of the repository.
const TOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A tiny model.
fn tiny_model() -> String {
    format!("{TOP}/golden/tiny/llama.gguf")
}

/// The text of an expression as a command line has it.
fn text(path: &Path) -> Result<String, String> {
    String::from_utf8(std::fs::read(path).unwrap()).map_err(|e| e.to_string())
}

fn texts(inputs: &[&str]) -> Vec<Vec<u8>> {
    inputs.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// The words of a command, and the file that it reads.
#[expect(clippy::unnecessary_wraps, reason = "not every reader's inputs can be given to its command")]
fn with_file(words: &[&str], path: &Path) -> Option<Vec<OsString>> {
    Some(words.iter().map(OsString::from).chain([path.into()]).collect())
}

/// The words of a command, of which the last ends in `=` and takes the text of the file. A command line has no NUL, and an argument that
/// is too long is refused by the system.
fn with_text(words: &[&str], path: &Path) -> Option<Vec<OsString>> {
    let text = text(path).ok().filter(|text| text.len() < 100_000 && !text.contains('\0'))?;
    let mut words: Vec<OsString> = words.iter().map(OsString::from).collect();
    words.last_mut()?.push(text);
    Some(words)
}

/// Words of the headers of safetensors files.
const HEADER_WORDS: &[&str] = &[
    "x", "weight", "out", "0.x", "F32", "U8", "F64", "input", "output", "indices", "f32", "q4_0", "1", "",
    "rope", "\u{0}",
];
