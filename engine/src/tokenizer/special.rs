//! Cutting special tokens out of a text before it is tokenized.

use std::collections::BTreeSet;

use super::vocab::{TokenKind, Vocab};

/// Stands before the text of a control token that a person spelled: it stays text. The character is a noncharacter, which Unicode
/// keeps for such use inside programs.
pub(super) const SPELLED: char = '\u{FDD0}';

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
        let isolated = vocab.iter().filter(|(_, text, kind)| kind.is_isolated() && !text.is_empty());
        let mut tokens: Vec<_> = isolated.map(|(id, text, kind)| (id, text.to_owned(), kind)).collect();
        tokens.sort_by_key(|(id, text, _)| (std::cmp::Reverse(text.len()), *id));
        Self { tokens }
    }

    /// Cuts `text` at its special tokens. User-defined tokens are always found; control tokens and the unknown
    /// token only if `parse_special`, and not behind [`SPELLED`]. No [`Fragment::Text`] is empty.
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

    /// `text` with [`SPELLED`] before each place where a control token or the unknown token is spelled.
    pub(super) fn spell(&self, text: &str) -> String {
        let mut places = BTreeSet::new();
        for (_, token, _) in self.tokens.iter().filter(|(_, _, kind)| kind.is_special()) {
            let mut from = 0;
            while let Some(at) = text[from..].find(token.as_str()) {
                places.insert(from + at);
                // Occurrences may overlap.
                from += at + text[from + at..].chars().next().map_or(1, char::len_utf8);
            }
        }
        let mut out = String::with_capacity(text.len() + places.len() * SPELLED.len_utf8());
        let mut from = 0;
        for place in places {
            out.push_str(&text[from..place]);
            out.push(SPELLED);
            from = place;
        }
        out.push_str(&text[from..]);
        out
    }
}

fn cut<'a>(fragment: Fragment<'a>, token: &str, id: u32) -> Vec<Fragment<'a>> {
    let Fragment::Text(text) = fragment else { return vec![fragment] };
    let mut out = Vec::new();
    let mut from = 0;
    for (at, _) in text.match_indices(token).filter(|&(at, _)| !text[..at].ends_with(SPELLED)) {
        if from < at {
            out.push(Fragment::Text(&text[from..at]));
        }
        out.push(Fragment::Token(id));
        from = at + token.len();
    }
    if from < text.len() {
        out.push(Fragment::Text(&text[from..]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specials(tokens: &[&str]) -> Specials {
        let token = |(id, text): (u32, &&str)| (id, (*text).to_owned(), TokenKind::Control);
        Specials { tokens: (0..).zip(tokens).map(token).collect() }
    }

    #[test]
    fn spelled_tokens_are_not_found_and_others_are() {
        let specials = specials(&["<s><s>", "<s>", "aa", "§"]);
        for text in ["<s>", "x<s><s>y", "aaaa", "§", "§§<s>aaa"] {
            let spelled = specials.spell(text);
            let found = specials.partition(&spelled, true);
            assert!(found.iter().all(|f| matches!(f, Fragment::Text(_))), "{text}: {found:?}");
            assert_eq!(spelled.replace(SPELLED, ""), text);
            let around = format!("<s>{spelled}§");
            let found = specials.partition(&around, true);
            assert_eq!((found.first(), found.last()), (Some(&Fragment::Token(1)), Some(&Fragment::Token(3))));
            assert_eq!(found.len(), 3, "{found:?}");
        }
    }

    #[test]
    fn tokens_are_cut_out_longest_first() {
        let specials = specials(&["<s><s>", "<s>"]);
        let found = specials.partition("<s><s>a<s>", true);
        assert_eq!(found, [Fragment::Token(0), Fragment::Text("a"), Fragment::Token(1)]);
        assert_eq!(specials.partition("<s>", false), [Fragment::Text("<s>")]);
    }
}
