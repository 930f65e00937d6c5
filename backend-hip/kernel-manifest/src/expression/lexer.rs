//! An expression as words and signs.

use crate::value::ValueError;

/// A word or a sign.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token {
    Integer(i64),
    Real(f64),
    /// Text between quotes.
    Word(String),
    Name(String),
    Sign(&'static str),
}

/// The signs, longer ones before those that they begin with.
const SIGNS: [&str; 20] = [
    "||", "&&", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "(", ")", "[", "]", ",", ".",
];

/// The tokens of `text`, each with the character at which it begins, from 1.
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, ValueError> {
    let characters: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&c) = characters.get(at) {
        if c.is_whitespace() {
            at += 1;
            continue;
        }
        let start = at;
        let rest = &characters[at..];
        let error = |what: String| ValueError::Syntax { at: start + 1, what };
        let run = |keep: fn(char) -> bool| rest.iter().take_while(|c| keep(**c)).collect::<String>();
        let token = if c.is_ascii_digit() {
            let (digits, token) = number(rest).map_err(error)?;
            at += digits;
            token
        } else if c.is_ascii_alphabetic() || c == '_' {
            let name = run(|c| c.is_ascii_alphanumeric() || c == '_');
            at += name.len();
            Token::Name(name)
        } else if c == '\'' {
            let word: String = rest[1..].iter().take_while(|c| **c != '\'').collect();
            let length = word.chars().count();
            if rest.len() == length + 1 {
                return Err(error(format!("the word '{word} has no end")));
            }
            at += length + 2;
            Token::Word(word)
        } else {
            let starts = |sign: &&&str| sign.chars().zip(rest).filter(|(a, b)| a == *b).count() == sign.len();
            let sign = SIGNS.iter().find(starts).ok_or_else(|| error(format!("unexpected '{c}'")))?;
            at += sign.len();
            Token::Sign(sign)
        };
        tokens.push((start + 1, token));
    }
    Ok(tokens)
}

/// A number at the start of `rest`, and how many characters it has.
fn number(rest: &[char]) -> Result<(usize, Token), String> {
    let mut text = String::new();
    let mut real = false;
    for (at, &c) in rest.iter().enumerate() {
        let exponent = real || !text.is_empty();
        let signed = matches!(c, '+' | '-') && text.ends_with(['e', 'E']);
        // A dot belongs to a number only where a digit follows.
        let dot = c == '.' && !real && rest.get(at + 1).is_some_and(char::is_ascii_digit);
        if !(c.is_ascii_digit() || dot || signed || (matches!(c, 'e' | 'E') && exponent)) {
            break;
        }
        real |= !c.is_ascii_digit();
        text.push(c);
    }
    let token = if real {
        text.parse().map(Token::Real).map_err(|_| format!("'{text}' is no number"))?
    } else {
        text.parse().map(Token::Integer).map_err(|_| format!("{text} is beyond 64 bits"))?
    };
    Ok((text.len(), token))
}
