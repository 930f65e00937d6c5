//! Cutting special tokens out of a text before it is tokenized.

use super::vocab::{TokenKind, Vocab};

/// A piece of the text, or a token found in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fragment<'a> {
    Text(&'a str),
    Token(u32),
}

/// The tokens that are cut out, longest text first so that a token never matches inside a longer one, then by id.
#[derive(Debug)]
pub(super) struct Specials {
    tokens: Vec<(u32, String, TokenKind)>,
}

impl Specials {
    pub(super) fn of(vocab: &Vocab) -> Self {
        let isolated = vocab.iter().filter(|(_, _, kind)| kind.is_isolated());
        let mut tokens: Vec<_> = isolated.map(|(id, text, kind)| (id, text.to_owned(), kind)).collect();
        tokens.sort_by_key(|(id, text, _)| (std::cmp::Reverse(text.len()), *id));
        Self { tokens }
    }

    /// Cuts `text` at its special tokens. User-defined tokens are always found; control tokens and the unknown
    /// token only if `parse_special`. No [`Fragment::Text`] is empty.
    pub(super) fn partition<'a>(&self, text: &'a str, parse_special: bool) -> Vec<Fragment<'a>> {
        let mut fragments = if text.is_empty() { Vec::new() } else { vec![Fragment::Text(text)] };
        for (id, token, kind) in &self.tokens {
            let wanted = parse_special || !kind.is_special();
            if wanted && text.contains(token.as_str()) {
                fragments = fragments.into_iter().flat_map(|f| cut(f, token, *id)).collect();
            }
        }
        fragments
    }
}

fn cut<'a>(fragment: Fragment<'a>, token: &str, id: u32) -> Vec<Fragment<'a>> {
    let Fragment::Text(text) = fragment else { return vec![fragment] };
    let mut out = Vec::new();
    for (i, between) in text.split(token).enumerate() {
        if i > 0 {
            out.push(Fragment::Token(id));
        }
        if !between.is_empty() {
            out.push(Fragment::Text(between));
        }
    }
    out
}
