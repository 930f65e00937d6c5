//! Why a vocabulary was refused or a text could not be encoded.

use crate::gguf::GgufError;

/// A vocabulary that cannot be used, or a text or id that it does not cover.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenizerError {
    /// A key is missing or of the wrong type.
    #[error(transparent)]
    Metadata(#[from] GgufError),
    /// `tokenizer.ggml.model` names a kind that the engine does not know.
    #[error("key 'tokenizer.ggml.model': '{found}' is not supported, want 'llama' or 'gpt2'")]
    Model {
        /// The value in the file.
        found: String,
    },
    /// `tokenizer.ggml.pre` names a pre-tokenizer that the engine does not know.
    #[error("key 'tokenizer.ggml.pre': '{found}' is not supported, want one of {}", known.join(", "))]
    PreTokenizer {
        /// The value in the file.
        found: String,
        /// The accepted values.
        known: &'static [&'static str],
    },
    /// A pattern of a pre-tokenizer does not compile.
    #[error("pattern of pre-tokenizer '{name}'")]
    Pattern {
        /// The pre-tokenizer.
        name: &'static str,
        /// The pattern's defect.
        source: Box<regex::Error>,
    },
    /// An array with one entry per token has another number of entries.
    #[error("key '{key}': {found} entries for {tokens} tokens")]
    Entries {
        /// The array.
        key: &'static str,
        /// Its entries.
        found: usize,
        /// Tokens of the vocabulary.
        tokens: usize,
    },
    /// More tokens than ids.
    #[error("key 'tokenizer.ggml.tokens': {found} tokens, the limit is {limit}")]
    TooManyTokens {
        /// Tokens in the file.
        found: usize,
        /// Tokens accepted at most.
        limit: usize,
    },
    /// More merges than symbols can count.
    #[error("key 'tokenizer.ggml.merges': {found} merges, the limit is {limit}")]
    TooManyMerges {
        /// Merges in the file.
        found: usize,
        /// Merges accepted at most.
        limit: usize,
    },
    /// Two tokens with the same text.
    #[error("tokens {first} and {second} are both '{text}'")]
    DuplicateToken {
        /// The text.
        text: String,
        /// Lower id.
        first: u32,
        /// Higher id.
        second: u32,
    },
    /// A score that is NaN.
    #[error("key 'tokenizer.ggml.scores': token {id} has the score {found}")]
    Score {
        /// The token.
        id: u32,
        /// Its score.
        found: f32,
    },
    /// A token type that the format does not define.
    #[error("key 'tokenizer.ggml.token_type': token {id} has the type {found}, want 0 to 6")]
    TokenType {
        /// The token.
        id: u32,
        /// The number in the file.
        found: i32,
    },
    /// A byte token whose text is not of the form `<0xAB>`.
    #[error("token {id} is a byte token but its text is '{text}', want '<0x00>' to '<0xFF>'")]
    ByteToken {
        /// The token.
        id: u32,
        /// Its text.
        text: String,
    },
    /// A merge that does not consist of two parts.
    #[error(
        "key 'tokenizer.ggml.merges': merge {index} is '{text}', want two parts and a space between them"
    )]
    Merge {
        /// Its index in the list.
        index: usize,
        /// The text in the file.
        text: String,
    },
    /// A special token outside the vocabulary.
    #[error("key '{key}': token {found} of a vocabulary of {tokens}")]
    SpecialRange {
        /// The key.
        key: &'static str,
        /// The id in the file.
        found: u32,
        /// Tokens of the vocabulary.
        tokens: usize,
    },
    /// The file asks for a special token that it does not name.
    #[error("key '{flag}' is true but key '{id}' is missing")]
    SpecialMissing {
        /// The key that asks.
        flag: &'static str,
        /// The key that should name the token.
        id: &'static str,
    },
    /// A byte of the text has no token and there is no token for unknown text.
    #[error("byte 0x{byte:02X} at {at} of the text has no token, and the vocabulary has no unknown token")]
    NoToken {
        /// The byte.
        byte: u8,
        /// Its index in the piece of text between special tokens.
        at: usize,
    },
    /// A piece of text that is too long for one word.
    #[error("a piece of text of {found} symbols without a break, the limit is {limit}")]
    TooLong {
        /// Its symbols.
        found: usize,
        /// Symbols that a piece may have.
        limit: usize,
    },
    /// A text of a conversation with the character that marks what it spells.
    #[error("the text has the noncharacter U+FDD0 at byte {at}, which no text may have in a conversation")]
    Noncharacter {
        /// Where it stands.
        at: usize,
    },
    /// An id outside the vocabulary.
    #[error("token {id} of a vocabulary of {tokens}")]
    UnknownId {
        /// The id given.
        id: u32,
        /// Tokens of the vocabulary.
        tokens: usize,
    },
}
