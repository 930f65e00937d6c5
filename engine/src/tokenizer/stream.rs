//! Decoding token by token without ever splitting a character.

use super::{Tokenizer, TokenizerError};

/// Decodes a growing sequence of tokens. A character whose bytes are spread over several tokens is returned
/// with the last of them.
#[derive(Debug)]
pub struct StreamDecoder<'a> {
    tokenizer: &'a Tokenizer,
    show_special: bool,
    /// The first bytes of an incomplete character: at most three between calls.
    pending: Vec<u8>,
}

impl<'a> StreamDecoder<'a> {
    pub(super) fn new(tokenizer: &'a Tokenizer, show_special: bool) -> Self {
        Self { tokenizer, show_special, pending: Vec::new() }
    }

    /// The text that `id` completes; often a word, sometimes nothing yet.
    pub fn push(&mut self, id: u32) -> Result<String, TokenizerError> {
        self.tokenizer.piece_into(id, self.show_special, &mut self.pending)?;
        Ok(drain_complete(&mut self.pending))
    }

    /// The rest at the end: an incomplete character becomes U+FFFD.
    pub fn finish(self) -> String {
        String::from_utf8_lossy(&self.pending).into_owned()
    }
}

/// Removes all complete characters from `bytes` and returns them. Invalid bytes become U+FFFD.
fn drain_complete(bytes: &mut Vec<u8>) -> String {
    let mut incomplete = 0;
    if let Some(last) = bytes.utf8_chunks().last() {
        let tail = last.invalid();
        if std::str::from_utf8(tail).is_err_and(|e| e.error_len().is_none()) {
            incomplete = tail.len();
        }
    }
    let rest = bytes.split_off(bytes.len() - incomplete);
    let complete = std::mem::replace(bytes, rest);
    String::from_utf8_lossy(&complete).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(chunks: &[&[u8]]) -> (Vec<String>, Vec<u8>) {
        let mut pending = Vec::new();
        let texts = chunks.iter().map(|chunk| {
            pending.extend_from_slice(chunk);
            drain_complete(&mut pending)
        });
        (texts.collect(), pending)
    }

    #[test]
    fn a_character_waits_for_its_last_byte() {
        let llama = "🦙".as_bytes();
        let (texts, pending) = feed(&[b"a", &llama[..1], &llama[1..3], &llama[3..], b"b"]);
        assert_eq!(texts, ["a", "", "", "🦙", "b"]);
        assert!(pending.is_empty());
    }

    #[test]
    fn bad_bytes_become_replacement_characters_at_once() {
        let (texts, pending) = feed(&[b"\xFF", b"x\xE2\x82", b"y", b"\xF0\x9F"]);
        assert_eq!(texts, ["\u{FFFD}", "x", "\u{FFFD}y", ""]);
        assert_eq!(pending, b"\xF0\x9F");
    }
}
