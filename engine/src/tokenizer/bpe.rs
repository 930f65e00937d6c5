//! Byte-level BPE (`tokenizer.ggml.model = gpt2`).
//!
//! The pre-tokenizer cuts the text into words; each byte of a word is a symbol of the byte alphabet
//! ([`super::byte_text`]); pairs are merged in the order of the file's merge list.

use std::collections::HashMap;

use super::byte_text::ByteText;
use super::merge::{Merged, Symbol, merge};
use super::pre::PreTokenizer;
use super::vocab::Vocab;
use super::{Encoded, TokenizerError};
use crate::gguf::Metadata;

/// Merges accepted at most; real vocabularies have up to half a million. Each merge adds at most three symbols to those of
/// the tokens, so that numbers of symbols fit into `u32`.
const MAX_MERGES: usize = 1 << 24;

/// Id of a byte that occurs neither in the vocabulary nor in a merge.
const NO_SYMBOL: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Bpe {
    pre: PreTokenizer,
    alphabet: ByteText,
    /// By byte: its symbol. A symbol below the vocabulary's length is the token of that id; the others are
    /// texts that occur only in merges.
    bytes: Vec<u32>,
    /// By pair of symbols.
    merges: HashMap<(u32, u32), (u32, u32)>,
}

impl Bpe {
    pub(super) fn read(meta: &Metadata, vocab: &Vocab, pre: PreTokenizer) -> Result<Self, TokenizerError> {
        let alphabet = ByteText::new();
        let mut symbols = Symbols { vocab, extra: HashMap::new() };
        let list = meta.strings("tokenizer.ggml.merges")?;
        check_merge_count(list.len())?;
        let mut merges = HashMap::with_capacity(list.len());
        let mut joint = String::new();
        for (rank, (index, text)) in (0_u32..).zip(list.enumerate()) {
            let (left, right) =
                split_merge(text).ok_or_else(|| TokenizerError::Merge { index, text: text.to_owned() })?;
            joint.clear();
            joint.push_str(left);
            joint.push_str(right);
            let pair = (symbols.intern(left), symbols.intern(right));
            let merged = symbols.intern(&joint);
            merges.entry(pair).or_insert((rank, merged));
        }
        let mut buffer = [0; 4];
        let bytes = (0..=u8::MAX)
            .map(|byte| symbols.find(alphabet.char(byte).encode_utf8(&mut buffer)).unwrap_or(NO_SYMBOL))
            .collect();
        Ok(Self { pre, alphabet, bytes, merges })
    }

    /// Appends the tokens of `text`.
    pub(super) fn encode(&self, vocab: &Vocab, text: &str, out: &mut Encoded) -> Result<(), TokenizerError> {
        self.pre.words(text, |word| {
            let whole =
                self.pre.prefers_whole_words().then(|| vocab.id_of_plain(&self.alphabet.encode(word)));
            match whole.flatten() {
                Some(id) => {
                    out.ids.push(id);
                    Ok(())
                }
                None => self.encode_word(vocab, word.as_bytes(), out),
            }
        })
    }

    /// A byte without a token becomes the unknown one; where there is none it is lost, as in llama.cpp.
    fn encode_word(&self, vocab: &Vocab, word: &[u8], out: &mut Encoded) -> Result<(), TokenizerError> {
        let symbol =
            |(i, &byte): (usize, &u8)| Symbol { start: i, end: i + 1, id: self.bytes[usize::from(byte)] };
        let pair = |left: Symbol, right: Symbol| {
            self.merges.get(&(left.id, right.id)).map(|&(rank, id)| Merged { rank, id })
        };
        for symbol in merge(word.iter().enumerate().map(symbol), pair)? {
            if vocab.is_plain(symbol.id) {
                out.ids.push(symbol.id);
                continue;
            }
            for &byte in &word[symbol.start..symbol.end] {
                let token = Some(self.bytes[usize::from(byte)]).filter(|&id| vocab.is_plain(id));
                match token.or(vocab.unknown) {
                    Some(id) => out.ids.push(id),
                    None => out.lost += 1,
                }
            }
        }
        Ok(())
    }

    /// Appends the bytes that a token's text encodes. A text outside the byte alphabet is appended as it is.
    pub(super) fn decode_into(&self, text: &str, out: &mut Vec<u8>) {
        if self.alphabet.decode_into(text, out).is_none() {
            out.extend_from_slice(text.as_bytes());
        }
    }
}

/// Numbers for texts: tokens keep their ids, other texts get the numbers after them.
struct Symbols<'a> {
    vocab: &'a Vocab,
    extra: HashMap<String, u32>,
}

impl Symbols<'_> {
    fn find(&self, text: &str) -> Option<u32> {
        self.vocab.id(text).or_else(|| self.extra.get(text).copied())
    }

    fn intern(&mut self, text: &str) -> u32 {
        self.find(text).unwrap_or_else(|| {
            let number = u32::try_from(self.vocab.len() + self.extra.len())
                .expect("tokens and merges are limited to 2^24 each");
            self.extra.insert(text.to_owned(), number);
            number
        })
    }
}

fn check_merge_count(found: usize) -> Result<(), TokenizerError> {
    if found > MAX_MERGES { Err(TokenizerError::TooManyMerges { found, limit: MAX_MERGES }) } else { Ok(()) }
}

/// Both parts of a merge: the text before and after the first space that is not its first character.
fn split_merge(text: &str) -> Option<(&str, &str)> {
    let first = text.chars().next()?.len_utf8();
    let at = first + text[first..].find(' ')?;
    let (left, right) = (&text[..at], &text[at + 1..]);
    if right.is_empty() { None } else { Some((left, right)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_merges_than_symbols_can_count_are_refused() {
        assert!(check_merge_count(MAX_MERGES).is_ok());
        let error = check_merge_count(MAX_MERGES + 1).unwrap_err().to_string();
        assert_eq!(error, "key 'tokenizer.ggml.merges': 16777217 merges, the limit is 16777216");
    }
}
