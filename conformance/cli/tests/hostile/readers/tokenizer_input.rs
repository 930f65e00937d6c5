//! Texts for the tokenizers of the tiny models: what comes back is what went in, unless the tokenizer says what it lost.

use std::path::Path;
use std::sync::LazyLock;

use engine::gguf::Gguf;
use engine::tokenizer::{EncodeOptions, Tokenizer};

use crate::{Command, Reader};

pub const READER: Reader = Reader {
    name: "tokenizer_input",
    sound: || super::texts(&["the quick brown fox\n", " jumps\tover 123 dogs' days", "naïve 日本 \u{1f600}"]),
    words: &[
        "<|im_start|>",
        "<|endoftext|>",
        "<s>",
        "<unk>",
        "<0x0A>",
        "\u{2581}",
        "\u{fdd0}",
        "\r\n",
        "   ",
        "\u{0}",
        "\u{301}",
    ],
    read,
    command: Some(Command {
        args: |path| super::with_file(&["tokenize", "-m", &super::tiny_model(), "-f"], path),
        ends: &[0],
    }),
};

static TOKENIZERS: LazyLock<Vec<Tokenizer>> = LazyLock::new(|| {
    let tokenizer = |name: &str| {
        let model = Gguf::open(Path::new(super::TOP).join("golden/tiny").join(name)).unwrap();
        Tokenizer::from_metadata(model.metadata()).unwrap()
    };
    ["llama.gguf", "qwen2.gguf"].map(tokenizer).into()
});

fn read(path: &Path) -> Result<(), String> {
    let text = super::text(path)?;
    for tokenizer in &*TOKENIZERS {
        for parse_special in [false, true] {
            let options = EncodeOptions { add_special: false, parse_special };
            let encoded = tokenizer.encode_with_losses(&text, options).map_err(|e| e.to_string())?;
            if encoded.lost == 0 {
                assert_eq!(tokenizer.decode(&encoded.ids, true).unwrap(), text);
            }
        }
        if let Ok(spelled) = tokenizer.spell(&text) {
            let literal = EncodeOptions { add_special: false, parse_special: false };
            let plain = tokenizer.encode_with_losses(&text, literal).map_err(|e| e.to_string())?;
            let said = tokenizer.encode_conversation(&spelled).map_err(|e| e.to_string())?;
            assert_eq!(said, plain, "a text forges a control token");
        }
    }
    Ok(())
}
