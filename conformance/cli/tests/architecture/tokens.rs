//! Rust source as tokens: comments are gone, literals are opaque, every token knows its line.

/// A token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Token {
    /// An identifier, a keyword or a lifetime's name.
    Word(String),
    /// A string literal, without its quotes.
    Text(String),
    /// `::`
    PathSep,
    /// Any other character.
    Mark(char),
}

/// The tokens of `source`, each with its line, counted from 1.
pub fn tokens(source: &str) -> Vec<(Token, usize)> {
    let mut lexer = Lexer { rest: source, line: 1 };
    let mut all = Vec::new();
    loop {
        lexer.skip_blanks_and_comments();
        let line = lexer.line;
        match lexer.token() {
            Some(token) => all.push((token, line)),
            None => return all,
        }
    }
}

struct Lexer<'s> {
    rest: &'s str,
    line: usize,
}

impl<'s> Lexer<'s> {
    /// Takes `len` bytes.
    fn take(&mut self, len: usize) -> &'s str {
        let (taken, rest) = self.rest.split_at(len);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    /// Takes everything up to `end` and `end` itself, or all there is.
    fn take_past(&mut self, end: &str) -> &'s str {
        let len = self.rest.find(end).map_or(self.rest.len(), |at| at + end.len());
        self.take(len)
    }

    fn skip_blanks_and_comments(&mut self) {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.take(blank);
            if self.rest.starts_with("//") {
                self.take_past("\n");
            } else if self.rest.starts_with("/*") {
                self.skip_block_comment();
            } else {
                return;
            }
        }
    }

    /// Block comments nest.
    fn skip_block_comment(&mut self) {
        let mut depth = 0;
        while !self.rest.is_empty() {
            if self.rest.starts_with("/*") {
                depth += 1;
                self.take(2);
            } else if self.rest.starts_with("*/") {
                depth -= 1;
                self.take(2);
            } else {
                self.take_char();
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn take_char(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.take(c.len_utf8());
        Some(c)
    }

    fn token(&mut self) -> Option<Token> {
        if let Some(text) = self.string() {
            return Some(Token::Text(text));
        }
        let word = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(self.rest.len());
        if word > 0 {
            return Some(Token::Word(self.take(word).into()));
        }
        if self.rest.starts_with("::") {
            self.take(2);
            return Some(Token::PathSep);
        }
        if self.rest.starts_with('\'') {
            self.skip_char_literal();
            return Some(Token::Mark('\''));
        }
        self.take_char().map(Token::Mark)
    }

    /// A string literal of any kind, if one starts here.
    fn string(&mut self) -> Option<String> {
        let prefix = ["br", "cr", "b", "c", "r", ""].into_iter().find(|prefix| {
            let after = self.rest.strip_prefix(prefix).unwrap_or("");
            after.starts_with('"')
                || (prefix.ends_with('r') && after.trim_start_matches('#').starts_with('"'))
        })?;
        self.take(prefix.len());
        if prefix.ends_with('r') {
            let hashes = self.rest.len() - self.rest.trim_start_matches('#').len();
            self.take(hashes + 1);
            let end = format!("\"{}", "#".repeat(hashes));
            let text = self.take_past(&end);
            return Some(text.strip_suffix(&end).unwrap_or(text).into());
        }
        self.take(1);
        let mut text = String::new();
        loop {
            match self.take_char() {
                None | Some('"') => return Some(text),
                Some('\\') => text.extend(self.take_char()),
                Some(c) => text.push(c),
            }
        }
    }

    /// A character literal; of a lifetime, the quote alone.
    fn skip_char_literal(&mut self) {
        self.take(1);
        let mut chars = self.rest.chars();
        match (chars.next(), chars.next()) {
            (Some('\\'), _) => {
                self.take(1);
                self.take_char();
                self.take_past("'");
            }
            (Some(c), Some('\'')) => {
                self.take(c.len_utf8() + 1);
            }
            _ => {}
        }
    }
}

#[test]
fn comments_and_literals_hide_what_they_hold() {
    let source = "a /* crate::b /* c */ d */ e // crate::f\n\"crate::g \\\" h\" r#\"i \" j\"# 'k' '\\'' '\\u{6c}' &'m n::o";
    let words: Vec<_> = tokens(source)
        .into_iter()
        .filter_map(|(token, line)| match token {
            Token::Word(word) => Some((word, line)),
            _ => None,
        })
        .collect();
    let expected = [("a", 1), ("e", 1), ("m", 2), ("n", 2), ("o", 2)];
    assert_eq!(words, expected.map(|(word, line)| (word.to_owned(), line)));
}
