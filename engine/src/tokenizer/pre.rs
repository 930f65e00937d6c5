//! Pre-tokenizers: how byte-level BPE cuts a text into words before it merges.
//!
//! The published patterns need one look-ahead, `\s+(?!\S)|\s+`: of a run of white space, all but the last
//! character is a word, because the last one belongs to what follows. Here the patterns leave it out,
//! so that a regex engine of guaranteed linear time can run them, and the rule is applied to the match.

use regex::Regex;

use super::TokenizerError;

/// Names that `tokenizer.ggml.pre` may have.
const NAMES: [&str; 5] = ["default", "gpt-2", "llama-bpe", "qwen2", "smollm"];

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+";
const LLAMA3: &str = r"'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+";
const QWEN2: &str = r"'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+";

/// One step: cuts each piece of the text into smaller ones.
#[derive(Debug)]
enum Step {
    /// Each match is a piece, and so is the text between matches.
    Isolate(Regex),
    /// The pattern covers the whole text; each match is a piece, except for the rule on white space.
    /// `lines`: white space that ends in a line break has a pattern of its own, to which the rule does not apply.
    Words { pattern: Regex, lines: bool },
}

#[derive(Debug)]
pub(super) struct PreTokenizer {
    name: &'static str,
    steps: Vec<Step>,
}

impl PreTokenizer {
    /// The pre-tokenizer that a file names; `default` if it names none.
    pub(super) fn named(name: Option<&str>) -> Result<Self, TokenizerError> {
        let name = name.unwrap_or("default");
        let Some(&name) = NAMES.iter().find(|&&known| known == name) else {
            return Err(TokenizerError::PreTokenizer { found: name.to_owned(), known: &NAMES });
        };
        let regex =
            |pattern| Regex::new(pattern).map_err(|e| TokenizerError::Pattern { name, source: Box::new(e) });
        let isolate = |pattern| regex(pattern).map(Step::Isolate);
        let words = |pattern, lines| regex(pattern).map(|pattern| Step::Words { pattern, lines });
        let steps = match name {
            "gpt-2" => vec![words(GPT2, false)?],
            "smollm" => vec![isolate(r"\p{N}")?, words(GPT2, false)?],
            "llama-bpe" => vec![words(LLAMA3, true)?],
            "qwen2" => vec![words(QWEN2, true)?],
            "default" => vec![
                isolate(r"[\p{P}\$\+<=>\^~\|]+")?,
                words(GPT2, false)?,
                isolate(r"\p{N}+")?,
                isolate("[0-9][0-9][0-9]")?,
            ],
            other => unreachable!("'{other}' is in NAMES but has no steps"),
        };
        Ok(Self { name, steps })
    }

    /// True if a word that is a token is not split and merged.
    pub(super) fn prefers_whole_words(&self) -> bool {
        self.name == "llama-bpe"
    }

    /// True if a text starts with the BOS token unless the file says otherwise.
    pub(super) fn adds_bos(&self) -> bool {
        self.name == "llama-bpe"
    }

    /// Calls `word` for the words of `text`, in order. They are not empty and add up to `text`.
    pub(super) fn words<E>(&self, text: &str, mut word: impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        run(&self.steps, text, &mut word)
    }
}

fn run<E>(steps: &[Step], text: &str, word: &mut dyn FnMut(&str) -> Result<(), E>) -> Result<(), E> {
    let Some((step, rest)) = steps.split_first() else {
        return if text.is_empty() { Ok(()) } else { word(text) };
    };
    match step {
        Step::Isolate(pattern) => {
            let mut at = 0;
            for found in pattern.find_iter(text) {
                run(rest, &text[at..found.start()], word)?;
                run(rest, found.as_str(), word)?;
                at = found.end();
            }
            run(rest, &text[at..], word)
        }
        Step::Words { pattern, lines } => {
            let mut at = 0;
            while let Some(found) = pattern.find_at(text, at) {
                run(rest, &text[at..found.start()], word)?;
                let end = end_of_word(text, found.start(), found.end(), *lines);
                run(rest, &text[found.start()..end], word)?;
                at = end;
            }
            run(rest, &text[at..], word)
        }
    }
}

/// The end of the word, without the last of several white-space characters if more text follows.
fn end_of_word(text: &str, start: usize, end: usize, lines: bool) -> usize {
    let Some(last) = text[start..end].chars().next_back() else { return end };
    let by_rule = last.is_whitespace() && !(lines && matches!(last, '\r' | '\n'));
    let shorter = end - last.len_utf8();
    if by_rule && end < text.len() && shorter > start { shorter } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(name: &str, text: &str) -> Vec<String> {
        words_of(&PreTokenizer::named(Some(name)).unwrap(), text)
    }

    fn words_of(pre: &PreTokenizer, text: &str) -> Vec<String> {
        let mut out = Vec::new();
        let collect = |w: &str| {
            out.push(w.to_owned());
            Ok::<(), ()>(())
        };
        pre.words(text, collect).unwrap();
        assert_eq!(out.concat(), text);
        out
    }

    #[test]
    fn gpt2_leaves_the_last_space_to_the_next_word() {
        assert_eq!(words("gpt-2", "a   b"), ["a", "  ", " b"]);
        assert_eq!(words("gpt-2", "a\n\n\nb"), ["a", "\n\n", "\n", "b"]);
        assert_eq!(words("gpt-2", "a  "), ["a", "  "]);
        assert_eq!(words("gpt-2", " "), [" "]);
    }

    #[test]
    fn gpt2_cuts_contractions_numbers_and_signs() {
        assert_eq!(words("gpt-2", "We'll pay 125$!?"), ["We", "'ll", " pay", " 125", "$!?"]);
        assert_eq!(words("gpt-2", "I'LL"), ["I", "'", "LL"]);
    }

    #[test]
    fn smollm_takes_digits_one_by_one() {
        assert_eq!(words("smollm", "in 1999 x"), ["in", " ", "1", "9", "9", "9", " x"]);
        // The space before a digit ends its piece: the look-ahead sees nothing after it.
        assert_eq!(words("smollm", "a  1"), ["a", "  ", "1"]);
    }

    #[test]
    fn llama_takes_three_digits_and_line_breaks_with_what_precedes() {
        assert_eq!(words("llama-bpe", "12345"), ["123", "45"]);
        assert_eq!(words("llama-bpe", "I'LL go;\n\n  \n x"), ["I", "'LL", " go", ";\n\n", "  \n", " x"]);
        assert_eq!(words("llama-bpe", "a   b"), ["a", "  ", " b"]);
        assert_eq!(words("llama-bpe", "a\n\n\nb"), ["a", "\n\n\n", "b"]);
        assert_eq!(words("llama-bpe", "(x)"), ["(x", ")"]);
    }

    #[test]
    fn qwen_takes_single_digits() {
        assert_eq!(words("qwen2", "ab 12"), ["ab", " ", "1", "2"]);
    }

    #[test]
    fn default_isolates_punctuation_first() {
        assert_eq!(words("default", "a, b 1234"), ["a", ",", " b", " ", "123", "4"]);
    }

    #[test]
    fn long_runs_are_cut_in_one_pass() {
        let text = format!("{}x", " ".repeat(3_000_000));
        for name in NAMES {
            assert_eq!(words(name, &text).len(), 2, "{name}");
        }
    }

    #[test]
    fn unknown_name_is_refused_with_the_known_ones() {
        let error = PreTokenizer::named(Some("tekken")).unwrap_err().to_string();
        assert!(error.contains("'tekken'") && error.contains("smollm"), "{error}");
    }

    /// The published patterns, look-ahead included, on an engine that has look-ahead.
    #[test]
    fn words_are_those_of_the_published_patterns() {
        let gpt2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
        let llama = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
        let qwen = llama.replace(r"\p{N}{1,3}", r"\p{N}");
        let alphabet: Vec<char> = "aZé中 \u{a0}\t\n\r'sStLlvVeErm12½.,!$🦙\u{301}".chars().collect();
        let mut rng = crate::rng::Rng::new(5);
        for (name, pattern) in [("gpt-2", gpt2), ("llama-bpe", llama), ("qwen2", &qwen)] {
            let published = fancy_regex::Regex::new(pattern).unwrap();
            let pre = PreTokenizer::named(Some(name)).unwrap();
            for _ in 0..4000 {
                let mut pick = |n: usize| usize::try_from(rng.next_u64() % n as u64).unwrap();
                let text: String = (0..pick(24)).map(|_| alphabet[pick(alphabet.len())]).collect();
                let want: Vec<&str> = published.find_iter(&text).map(|m| m.unwrap().as_str()).collect();
                assert_eq!(words_of(&pre, &text), want, "{name}: {text:?}");
            }
        }
    }
}
