//! Tokenizers: text to ids and back, by the vocabulary in the model file.
//!
//! `tokenizer.ggml.model` decides: `llama` is SentencePiece-style with byte fallback (`sentence_piece`),
//! `gpt2` byte-level BPE (`bpe`) after one of the pre-tokenizers in `pre`. Both merge with the same
//! heap (`merge`). Special tokens are cut out of the text first (`special`); [`StreamDecoder`] decodes
//! ids one by one.
//!
//! Behaviour follows llama.cpp, with three differences: decoding gives back exactly the text that
//! was encoded (llama.cpp also removes spaces before punctuation), text that a vocabulary cannot
//! express is an error instead of disappearing, and so is a special token outside the vocabulary.

mod bpe;
mod byte_text;
mod error;
mod merge;
mod pre;
mod sentence_piece;
mod special;
mod stream;
mod vocab;

pub use error::TokenizerError;
pub use stream::StreamDecoder;
pub use vocab::TokenKind;

use crate::gguf::Metadata;
use bpe::Bpe;
use pre::PreTokenizer;
use sentence_piece::{SPACE, SentencePiece};
use special::{Fragment, SPELLED, Specials};
use vocab::{DefaultIds, Vocab};

/// How a text is encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EncodeOptions {
    /// Add BOS and EOS where the model wants them.
    pub add_special: bool,
    /// Turn the text of a control token, such as `<|im_end|>`, into that token. Set it to false for text
    /// from users who must not be able to forge a turn of a conversation.
    pub parse_special: bool,
}

#[derive(Debug)]
enum Model {
    SentencePiece(SentencePiece),
    Bpe(Box<Bpe>),
}

/// The tokenizer of a model.
#[derive(Debug)]
pub struct Tokenizer {
    vocab: Vocab,
    specials: Specials,
    model: Model,
    /// Token before each text with `add_special`.
    add_bos: Option<u32>,
    /// Token after each text with `add_special`.
    add_eos: Option<u32>,
    /// A space is added before each text and after each special token, and removed again on decoding.
    add_space_prefix: bool,
}

/// What a text became.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Encoded {
    /// The tokens.
    pub ids: Vec<u32>,
    /// Bytes that the vocabulary has no token for, nor one for unknown text. They are left out.
    pub lost: usize,
}

impl Tokenizer {
    /// Reads the keys `tokenizer.ggml.*`.
    pub fn from_metadata(meta: &Metadata) -> Result<Self, TokenizerError> {
        let name = meta.str("tokenizer.ggml.model")?;
        let (vocab, model, bos_by_default) = match name {
            "llama" => {
                let defaults = DefaultIds { bos: Some(1), eos: Some(2), unknown: Some(0) };
                let vocab = Vocab::read(meta, defaults)?;
                let model = Model::SentencePiece(SentencePiece::read(meta, &vocab)?);
                (vocab, model, true)
            }
            "gpt2" => {
                let pre = PreTokenizer::named(meta.opt_str("tokenizer.ggml.pre")?)?;
                let adds_bos = pre.adds_bos();
                let vocab = Vocab::read(meta, DefaultIds::default())?;
                let model = Model::Bpe(Box::new(Bpe::read(meta, &vocab, pre)?));
                (vocab, model, adds_bos)
            }
            other => return Err(TokenizerError::Model { found: other.to_owned() }),
        };
        let add_bos = added(
            meta,
            "tokenizer.ggml.add_bos_token",
            bos_by_default,
            "tokenizer.ggml.bos_token_id",
            vocab.bos,
        )?;
        let add_eos =
            added(meta, "tokenizer.ggml.add_eos_token", false, "tokenizer.ggml.eos_token_id", vocab.eos)?;
        let sentence_piece = matches!(model, Model::SentencePiece(_));
        let add_space_prefix =
            sentence_piece && meta.opt_bool("tokenizer.ggml.add_space_prefix")?.unwrap_or(true);
        let specials = Specials::of(&vocab);
        Ok(Self { vocab, specials, model, add_bos, add_eos, add_space_prefix })
    }

    /// Number of tokens.
    pub fn vocab_size(&self) -> usize {
        self.vocab.len()
    }

    /// The token that begins a text.
    pub fn bos(&self) -> Option<u32> {
        self.vocab.bos
    }

    /// The token that ends a text.
    pub fn eos(&self) -> Option<u32> {
        self.vocab.eos
    }

    /// True if a text is encoded with BOS in front when special tokens are added.
    pub fn adds_bos(&self) -> bool {
        self.add_bos.is_some()
    }

    /// True for EOS, end of turn and end of message: the model has finished when it emits one.
    pub fn ends_generation(&self, id: u32) -> bool {
        self.vocab.ends_generation(id)
    }

    /// The token's text in the file, e.g. `Ġthe` or `<0x0A>`.
    pub fn text(&self, id: u32) -> Result<&str, TokenizerError> {
        self.vocab.text(id)
    }

    /// The token's kind.
    pub fn kind(&self, id: u32) -> Result<TokenKind, TokenizerError> {
        self.vocab.kind(id)
    }

    /// The token whose text in the file is `text`.
    pub fn id(&self, text: &str) -> Option<u32> {
        self.vocab.id(text)
    }

    /// The ids of `text`, without what no token can say.
    pub fn encode(&self, text: &str, options: EncodeOptions) -> Result<Vec<u32>, TokenizerError> {
        Ok(self.encode_with_losses(text, options)?.ids)
    }

    /// The ids of `text`, and how much of it they do not say.
    pub fn encode_with_losses(&self, text: &str, options: EncodeOptions) -> Result<Encoded, TokenizerError> {
        let mut out = Encoded::default();
        if options.add_special {
            out.ids.extend(self.add_bos);
        }
        let mut after_special = true;
        for fragment in self.specials.partition(text, options.parse_special) {
            match fragment {
                Fragment::Token(id) => out.ids.push(id),
                Fragment::Text(text) => self.encode_text(text, after_special, &mut out)?,
            }
            after_special = matches!(fragment, Fragment::Token(_));
        }
        if options.add_special {
            out.ids.extend(self.add_eos);
        }
        Ok(out)
    }

    /// `text` as a part of a conversation: control tokens that it spells stay text in [`Tokenizer::encode_conversation`].
    pub fn spell(&self, text: &str) -> Result<String, TokenizerError> {
        match text.find(SPELLED) {
            Some(at) => Err(TokenizerError::Noncharacter { at }),
            None => Ok(self.specials.spell(text)),
        }
    }

    /// The ids of a conversation that a template has written around texts that went through [`Tokenizer::spell`]. The
    /// template writes control tokens, and its own BOS.
    pub fn encode_conversation(&self, text: &str) -> Result<Encoded, TokenizerError> {
        let mut out = Encoded::default();
        let mut after_special = true;
        for fragment in self.specials.partition(text, true) {
            match fragment {
                Fragment::Token(id) => out.ids.push(id),
                Fragment::Text(text) => {
                    self.encode_text(&text.replace(SPELLED, ""), after_special, &mut out)?;
                }
            }
            after_special = matches!(fragment, Fragment::Token(_));
        }
        Ok(out)
    }

    fn encode_text(&self, text: &str, after_special: bool, out: &mut Encoded) -> Result<(), TokenizerError> {
        match &self.model {
            Model::Bpe(bpe) => bpe.encode(&self.vocab, text, out),
            Model::SentencePiece(model) => {
                let mut escaped = String::with_capacity(text.len() + 16);
                if self.add_space_prefix && after_special {
                    escaped.push(SPACE);
                }
                escaped.extend(text.chars().map(|c| if c == ' ' { SPACE } else { c }));
                model.encode(&self.vocab, &escaped, out)
            }
        }
    }

    /// The text of `ids`. Control tokens are left out unless `show_special`; bytes that are not
    /// UTF-8 become U+FFFD. For ids that [`Tokenizer::encode`] made, exactly the text it was given.
    pub fn decode(&self, ids: &[u32], show_special: bool) -> Result<String, TokenizerError> {
        let mut bytes = Vec::new();
        let mut after_special = true;
        for &id in ids {
            let start = bytes.len();
            self.piece_into(id, show_special, &mut bytes)?;
            let special = self.vocab.kind(id)?.is_isolated();
            if self.add_space_prefix && after_special && !special && bytes.get(start) == Some(&b' ') {
                bytes.remove(start);
            }
            after_special = special;
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A decoder for text that continues another text, such as generated tokens after a prompt. It removes no space.
    pub fn stream(&self, show_special: bool) -> StreamDecoder<'_> {
        StreamDecoder::new(self, show_special)
    }

    /// Appends the bytes of token `id`.
    fn piece_into(&self, id: u32, show_special: bool, out: &mut Vec<u8>) -> Result<(), TokenizerError> {
        let text = self.vocab.text(id)?;
        match self.vocab.kind(id)? {
            TokenKind::Control | TokenKind::Unknown if !show_special => {}
            TokenKind::Control | TokenKind::Unknown | TokenKind::UserDefined => {
                out.extend_from_slice(text.as_bytes());
            }
            TokenKind::Undefined | TokenKind::Unused => {}
            TokenKind::Byte => out.extend(vocab::byte_of(text)),
            TokenKind::Normal => match &self.model {
                Model::Bpe(bpe) => bpe.decode_into(text, out),
                Model::SentencePiece(_) => {
                    let mut buffer = [0; 4];
                    for c in text.chars() {
                        let c = if c == SPACE { ' ' } else { c };
                        out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
                    }
                }
            },
        }
        Ok(())
    }
}

/// The token that the key `flag` asks to add, if it does.
fn added(
    meta: &Metadata,
    flag: &'static str,
    by_default: bool,
    id_key: &'static str,
    id: Option<u32>,
) -> Result<Option<u32>, TokenizerError> {
    match meta.opt_bool(flag)? {
        Some(true) if id.is_none() => Err(TokenizerError::SpecialMissing { flag, id: id_key }),
        flag => Ok(id.filter(|_| flag.unwrap_or(by_default))),
    }
}
