//! SentencePiece-style tokens (`tokenizer.ggml.model = llama`).
//!
//! Spaces become `▁`, the text is split into characters, and the neighbours whose joint text is the token
//! of the highest score are merged until none is left. A character without a token becomes its bytes,
//! `<0xAB>` each.

use super::merge::{Merged, Symbol, merge};
use super::vocab::Vocab;
use super::{Encoded, TokenizerError};
use crate::gguf::Metadata;

/// Replaces a space.
pub(super) const SPACE: char = '▁';

/// Id of a character that has no token.
const NO_TOKEN: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct SentencePiece {
    /// By token: rank of its score, 0 for the highest. Equal scores have the same rank.
    ranks: Vec<u32>,
    /// By byte: its token.
    bytes: Vec<Option<u32>>,
    /// Bytes of the longest token; longer texts are not looked up.
    longest: usize,
}

impl SentencePiece {
    pub(super) fn read(meta: &Metadata, vocab: &Vocab) -> Result<Self, TokenizerError> {
        let byte_token = |byte: u8| {
            let plain = byte.is_ascii().then(|| char::from(byte).to_string());
            vocab.id(&format!("<0x{byte:02X}>")).or_else(|| vocab.id(&plain?))
        };
        Ok(Self {
            ranks: read_ranks(meta, vocab.len())?,
            bytes: (0..=u8::MAX).map(byte_token).collect(),
            longest: vocab.iter().map(|(_, text, _)| text.len()).max().unwrap_or(0),
        })
    }

    /// Appends the tokens of `text`, in which spaces have already become [`SPACE`].
    pub(super) fn encode(&self, vocab: &Vocab, text: &str, out: &mut Encoded) -> Result<(), TokenizerError> {
        let symbol = |(start, c): (usize, char)| {
            let end = start + c.len_utf8();
            Symbol { start, end, id: vocab.id_of_plain(&text[start..end]).unwrap_or(NO_TOKEN) }
        };
        let pair = |left: Symbol, right: Symbol| {
            let joint = &text[left.start..right.end];
            let id = if joint.len() <= self.longest { vocab.id_of_plain(joint)? } else { return None };
            Some(Merged { rank: self.ranks[id as usize], id })
        };
        for symbol in merge(text.char_indices().map(symbol), pair)? {
            if symbol.id != NO_TOKEN {
                out.ids.push(symbol.id);
                continue;
            }
            for (at, &byte) in (symbol.start..).zip(&text.as_bytes()[symbol.start..symbol.end]) {
                let token = self.bytes[usize::from(byte)].or(vocab.unknown);
                out.ids.push(token.ok_or(TokenizerError::NoToken { byte, at })?);
            }
        }
        Ok(())
    }
}

/// Ranks of the scores, the highest first; all 0 without scores.
fn read_ranks(meta: &Metadata, tokens: usize) -> Result<Vec<u32>, TokenizerError> {
    const KEY: &str = "tokenizer.ggml.scores";
    let Some(scores) = meta.opt_f32s(KEY)? else { return Ok(vec![0; tokens]) };
    if scores.len() != tokens {
        return Err(TokenizerError::Entries { key: KEY, found: scores.len(), tokens });
    }
    let mut order: Vec<u32> = Vec::with_capacity(tokens);
    for (id, &found) in (0..).zip(&scores) {
        if found.is_nan() {
            return Err(TokenizerError::Score { id, found });
        }
        order.push(id);
    }
    order.sort_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]));
    let mut ranks = vec![0; tokens];
    let mut rank = 0;
    for pair in order.windows(2) {
        let (above, below) = (pair[0] as usize, pair[1] as usize);
        rank += u32::from(scores[above] > scores[below]);
        ranks[below] = rank;
    }
    Ok(ranks)
}
