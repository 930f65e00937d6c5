//! The tokens of a model: text, kind, and which of them have a special meaning.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::TokenizerError;
use crate::gguf::Metadata;

/// Tokens accepted at most. Ids are `u32`, and merges add symbols after the tokens; see `MAX_MERGES` in `bpe`.
const MAX_TOKENS: usize = 1 << 24;

/// Texts of tokens that end a generation, whatever type the file gives them; as in llama.cpp.
const END_TEXTS: [&str; 12] = [
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
];

/// What a token is, as numbered in `tokenizer.ggml.token_type`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenKind {
    /// Without a meaning; decodes to nothing.
    Undefined,
    /// Text.
    Normal,
    /// Replaces text outside the vocabulary.
    Unknown,
    /// A mark such as `<s>`: parsed and shown only on demand.
    Control,
    /// Text that is always kept whole.
    UserDefined,
    /// Reserved; decodes to nothing.
    Unused,
    /// One byte, text `<0xAB>`.
    Byte,
}

impl TokenKind {
    fn from_id(id: i32) -> Option<Self> {
        Some(match id {
            0 => Self::Undefined,
            1 => Self::Normal,
            2 => Self::Unknown,
            3 => Self::Control,
            4 => Self::UserDefined,
            5 => Self::Unused,
            6 => Self::Byte,
            _ => return None,
        })
    }

    /// Hidden in output, and parsed only when the caller wants special tokens parsed.
    pub(super) fn is_special(self) -> bool {
        matches!(self, Self::Control | Self::Unknown)
    }

    /// Cut out of the text before anything else happens to it.
    pub(super) fn is_isolated(self) -> bool {
        self.is_special() || self == Self::UserDefined
    }
}

/// All tokens. Invariant: texts are unique and not empty; all ids in it are below [`Vocab::len`].
#[derive(Debug)]
pub(super) struct Vocab {
    texts: Vec<Arc<str>>,
    kinds: Vec<TokenKind>,
    ids: HashMap<Arc<str>, u32>,
    pub(super) bos: Option<u32>,
    pub(super) eos: Option<u32>,
    pub(super) unknown: Option<u32>,
    end_of_generation: BTreeSet<u32>,
}

/// Ids to use if the file names none.
#[derive(Clone, Copy, Default)]
pub(super) struct DefaultIds {
    pub(super) bos: Option<u32>,
    pub(super) eos: Option<u32>,
    pub(super) unknown: Option<u32>,
}

impl Vocab {
    pub(super) fn read(meta: &Metadata, defaults: DefaultIds) -> Result<Self, TokenizerError> {
        let tokens = meta.strings("tokenizer.ggml.tokens")?;
        let count = tokens.len();
        if count > MAX_TOKENS {
            return Err(TokenizerError::TooManyTokens { found: count, limit: MAX_TOKENS });
        }
        let mut texts = Vec::with_capacity(count);
        let mut ids = HashMap::with_capacity(count);
        for (id, text) in (0_u32..).zip(tokens) {
            let text: Arc<str> = if text.is_empty() { format!("[EMPTY_{id}]").into() } else { text.into() };
            if let Some(first) = ids.insert(Arc::clone(&text), id) {
                return Err(TokenizerError::DuplicateToken { text: text.to_string(), first, second: id });
            }
            texts.push(text);
        }
        let kinds = read_kinds(meta, count)?;
        let special = |key, default: Option<u32>| special_id(meta, key, count, default);
        let bos = special("tokenizer.ggml.bos_token_id", defaults.bos)?;
        let eos = special("tokenizer.ggml.eos_token_id", defaults.eos)?;
        let unknown = special("tokenizer.ggml.unknown_token_id", defaults.unknown)?;
        let eot = special("tokenizer.ggml.eot_token_id", None)?;
        let eom = special("tokenizer.ggml.eom_token_id", None)?;

        let mut vocab = Self {
            texts,
            kinds,
            ids,
            bos,
            eos,
            unknown,
            end_of_generation: [eos, eot, eom].into_iter().flatten().collect(),
        };
        for text in END_TEXTS {
            if let Some(id) = vocab.id(text) {
                vocab.end_of_generation.insert(id);
                vocab.kinds[id as usize] = TokenKind::Control;
            }
        }
        // Some files name the end of the text as their unknown token. Text must not become that.
        vocab.unknown = vocab.unknown.filter(|&id| vocab.kinds[id as usize] != TokenKind::Control);
        let bad_byte =
            |&(_, text, kind): &(u32, &str, TokenKind)| kind == TokenKind::Byte && byte_of(text).is_none();
        if let Some((id, text, _)) = vocab.iter().find(bad_byte) {
            return Err(TokenizerError::ByteToken { id, text: text.to_owned() });
        }
        Ok(vocab)
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(super) fn id(&self, text: &str) -> Option<u32> {
        self.ids.get(text).copied()
    }

    /// The token that text with this spelling may become. Text never becomes a control token: whoever wrote it could end a turn.
    pub(super) fn id_of_plain(&self, text: &str) -> Option<u32> {
        self.id(text).filter(|&id| self.is_plain(id))
    }

    /// Whether text may become this token.
    pub(super) fn is_plain(&self, id: u32) -> bool {
        self.kinds.get(id as usize).is_some_and(|kind| !kind.is_special())
    }

    pub(super) fn text(&self, id: u32) -> Result<&str, TokenizerError> {
        let text = self.texts.get(id as usize).ok_or(TokenizerError::UnknownId { id, tokens: self.len() })?;
        Ok(text)
    }

    pub(super) fn kind(&self, id: u32) -> Result<TokenKind, TokenizerError> {
        self.kinds.get(id as usize).copied().ok_or(TokenizerError::UnknownId { id, tokens: self.len() })
    }

    /// Ids with their texts and kinds.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &str, TokenKind)> {
        (0..).zip(self.texts.iter().zip(&self.kinds)).map(|(id, (text, &kind))| (id, &**text, kind))
    }

    pub(super) fn ends_generation(&self, id: u32) -> bool {
        self.end_of_generation.contains(&id)
    }
}

fn read_kinds(meta: &Metadata, count: usize) -> Result<Vec<TokenKind>, TokenizerError> {
    const KEY: &str = "tokenizer.ggml.token_type";
    let Some(types) = meta.opt_i32s(KEY)? else { return Ok(vec![TokenKind::Normal; count]) };
    if types.len() != count {
        return Err(TokenizerError::Entries { key: KEY, found: types.len(), tokens: count });
    }
    let kind = |(id, found)| TokenKind::from_id(found).ok_or(TokenizerError::TokenType { id, found });
    (0..).zip(types).map(kind).collect()
}

fn special_id(
    meta: &Metadata,
    key: &'static str,
    tokens: usize,
    default: Option<u32>,
) -> Result<Option<u32>, TokenizerError> {
    match meta.opt_u32(key)? {
        Some(found) if found as usize >= tokens => Err(TokenizerError::SpecialRange { key, found, tokens }),
        Some(found) => Ok(Some(found)),
        None => Ok(default.filter(|&id| (id as usize) < tokens)),
    }
}

/// The byte that a token of the form `<0xAB>` encodes.
pub(super) fn byte_of(text: &str) -> Option<u8> {
    let digits = text.strip_prefix("<0x")?.strip_suffix('>')?;
    let hex = digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if hex { u8::from_str_radix(digits, 16).ok() } else { None }
}
