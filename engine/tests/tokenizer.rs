//! Tokenizers on vocabularies small enough to work out by hand.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod gguf_builder;

use engine::gguf::Gguf;
use engine::tokenizer::{EncodeOptions, TokenKind, Tokenizer, TokenizerError};
use gguf_builder::{Builder, V, strs};

const PLAIN: EncodeOptions = EncodeOptions { add_special: false, parse_special: false };
const PARSED: EncodeOptions = EncodeOptions { add_special: false, parse_special: true };
const FULL: EncodeOptions = EncodeOptions { add_special: true, parse_special: true };

const NORMAL: i32 = 1;
const CONTROL: i32 = 3;
const USER: i32 = 4;
const BYTE: i32 = 6;

fn load(builder: &Builder) -> Result<Tokenizer, TokenizerError> {
    Tokenizer::from_metadata(Gguf::from_bytes(builder.build()).unwrap().metadata())
}

/// `<unk> <s> </s>`, the 256 bytes, then `pieces` with their scores: the first piece is token 259.
fn sentence_piece(pieces: &[(&str, f32)]) -> Builder {
    let mut tokens = vec!["<unk>".to_owned(), "<s>".to_owned(), "</s>".to_owned()];
    let mut types = vec![2, CONTROL, CONTROL];
    let mut scores = vec![0.0; 3];
    for byte in 0..=255 {
        tokens.push(format!("<0x{byte:02X}>"));
        types.push(BYTE);
        scores.push(0.0);
    }
    for &(piece, score) in pieces {
        tokens.push(piece.to_owned());
        types.push(NORMAL);
        scores.push(score);
    }
    Builder::new()
        .key("tokenizer.ggml.model", "llama")
        .key("tokenizer.ggml.tokens", V::Strs(tokens))
        .key("tokenizer.ggml.scores", V::F32s(scores))
        .key("tokenizer.ggml.token_type", V::I32s(types))
}

/// The characters of `alphabet`, then the results of `merges`, then `specials`.
fn bpe(pre: &str, alphabet: &str, merges: &[&str], specials: &[(&str, i32)]) -> Builder {
    let mut tokens: Vec<String> = alphabet.chars().map(String::from).collect();
    tokens.extend(merges.iter().map(|m| m.replace(' ', "")));
    let mut types = vec![NORMAL; tokens.len()];
    for &(text, kind) in specials {
        tokens.push(text.to_owned());
        types.push(kind);
    }
    Builder::new()
        .key("tokenizer.ggml.model", "gpt2")
        .key("tokenizer.ggml.pre", pre)
        .key("tokenizer.ggml.tokens", V::Strs(tokens))
        .key("tokenizer.ggml.token_type", V::I32s(types))
        .key("tokenizer.ggml.merges", strs(merges))
}

/// The texts of the tokens of `text`.
fn pieces(tokenizer: &Tokenizer, text: &str, options: EncodeOptions) -> Vec<String> {
    let ids = tokenizer.encode(text, options).unwrap();
    ids.iter().map(|&id| tokenizer.text(id).unwrap().to_owned()).collect()
}

#[test]
fn sentence_piece_merges_the_highest_score_first() {
    // "▁ab": a+b (-1) comes before ▁+a (-2); then ▁+ab (-3).
    let t = load(&sentence_piece(&[("▁a", -2.0), ("ab", -1.0), ("▁ab", -3.0), ("a", -9.0)])).unwrap();
    assert_eq!(pieces(&t, "ab", PLAIN), ["▁ab"]);
    // Without ▁ab the b is already taken when ▁+a is looked at.
    let t = load(&sentence_piece(&[("▁a", -2.0), ("ab", -1.0), ("▁", -9.0), ("b", -9.0)])).unwrap();
    assert_eq!(pieces(&t, "ab", PLAIN), ["▁", "ab"]);
}

#[test]
fn sentence_piece_takes_the_leftmost_of_equal_scores() {
    let t = load(&sentence_piece(&[("aa", -1.0), ("a", -5.0), ("▁", -9.0)])).unwrap();
    assert_eq!(pieces(&t, "aaa", PLAIN), ["▁", "aa", "a"]);
}

#[test]
fn sentence_piece_falls_back_to_bytes() {
    let t = load(&sentence_piece(&[("▁", -1.0)])).unwrap();
    let ids = t.encode("é", PLAIN).unwrap();
    assert_eq!(ids, [259, 3 + 0xC3, 3 + 0xA9]);
    assert_eq!(t.decode(&ids, false).unwrap(), "é");
    assert_eq!(t.kind(3 + 0xC3).unwrap(), TokenKind::Byte);
}

#[test]
fn space_prefix_is_added_and_taken_away() {
    let t = load(&sentence_piece(&[("▁", -1.0), ("a", -2.0), ("▁a", -3.0), ("▁▁", -4.0)])).unwrap();
    for text in ["a", " a", "  a", " ", "", "a a"] {
        let ids = t.encode(text, PLAIN).unwrap();
        assert_eq!(t.decode(&ids, false).unwrap(), text, "{ids:?}");
    }
    let builder = sentence_piece(&[("▁", -1.0), ("a", -2.0)]).key("tokenizer.ggml.add_space_prefix", false);
    let t = load(&builder).unwrap();
    assert_eq!(pieces(&t, "a", PLAIN), ["a"]);
    assert_eq!(pieces(&t, " a", PLAIN), ["▁", "a"]);
}

#[test]
fn sentence_piece_adds_bos_unless_told_otherwise() {
    let pieces_of = |builder: &Builder| pieces(&load(builder).unwrap(), "a", FULL);
    let builder = sentence_piece(&[("▁a", -1.0)]);
    assert_eq!(pieces_of(&builder), ["<s>", "▁a"]);
    let both = builder.clone().key("tokenizer.ggml.add_eos_token", true);
    assert_eq!(pieces_of(&both), ["<s>", "▁a", "</s>"]);
    let neither = builder.key("tokenizer.ggml.add_bos_token", false);
    assert_eq!(pieces_of(&neither), ["▁a"]);
}

#[test]
fn control_tokens_are_parsed_only_on_demand() {
    let t =
        load(&sentence_piece(&[("▁", -1.0), ("a", -1.0), ("s", -1.0), ("<", -1.0), (">", -1.0)])).unwrap();
    assert_eq!(pieces(&t, "a<s>a", PLAIN), ["▁", "a", "<", "s", ">", "a"]);
    assert_eq!(pieces(&t, "a<s>a", PARSED), ["▁", "a", "<s>", "▁", "a"]);
    let ids = t.encode("a<s>a", PARSED).unwrap();
    assert_eq!(t.decode(&ids, true).unwrap(), "a<s>a");
    assert_eq!(t.decode(&ids, false).unwrap(), "aa");
}

#[test]
fn bpe_merges_in_the_order_of_the_list() {
    let t = load(&bpe("gpt-2", "abcĠ", &["b c", "a b", "a bc"], &[])).unwrap();
    assert_eq!(pieces(&t, "abc", PLAIN), ["abc"]);
    assert_eq!(pieces(&t, "ab", PLAIN), ["ab"]);
    assert_eq!(pieces(&t, "ab abc", PLAIN), ["ab", "Ġ", "abc"]);
    let t = load(&bpe("gpt-2", "abcĠ", &["a b", "b c", "a bc"], &[])).unwrap();
    assert_eq!(pieces(&t, "abc", PLAIN), ["ab", "c"]);
}

#[test]
fn bpe_never_merges_across_words() {
    let t = load(&bpe("gpt-2", "ab1Ġ", &["a 1", "Ġ a"], &[])).unwrap();
    assert_eq!(pieces(&t, "a1 a", PLAIN), ["a", "1", "Ġa"]);
}

#[test]
fn llama_bpe_does_not_split_a_word_that_is_a_token() {
    // No merge leads to "cab", so only the whole-word rule finds it.
    let whole = |pre| bpe(pre, "abcĠ", &["a b"], &[("cab", NORMAL), ("<|begin|>", CONTROL)]);
    assert_eq!(pieces(&load(&whole("llama-bpe")).unwrap(), "cab", PLAIN), ["cab"]);
    assert_eq!(pieces(&load(&whole("gpt-2")).unwrap(), "cab", PLAIN), ["c", "ab"]);
}

#[test]
fn llama_bpe_adds_bos_where_the_file_is_silent() {
    let file =
        |pre: &str| bpe(pre, "a", &[], &[("<|begin|>", CONTROL)]).key("tokenizer.ggml.bos_token_id", 1_u32);
    assert_eq!(pieces(&load(&file("llama-bpe")).unwrap(), "a", FULL), ["<|begin|>", "a"]);
    assert_eq!(pieces(&load(&file("qwen2")).unwrap(), "a", FULL), ["a"]);
}

#[test]
fn smollm_prompt_has_the_recorded_pieces() {
    // The words of "The capital of France is" that llama.cpp records as 504 3575 282 4649 314.
    let merges = [
        "T h",
        "Th e",
        "Ġ c",
        "a p",
        "i t",
        "a l",
        "Ġc ap",
        "it al",
        "Ġcap ital",
        "Ġ o",
        "Ġo f",
        "Ġ F",
        "r a",
        "n c",
        "ra nc",
        "ĠF ranc",
        "ĠFranc e",
        "Ġ i",
        "Ġi s",
    ];
    let t = load(&bpe("smollm", "TheĠcapitlofFrns19", &merges, &[])).unwrap();
    assert_eq!(pieces(&t, "The capital of France is", FULL), ["The", "Ġcapital", "Ġof", "ĠFrance", "Ġis"]);
    assert_eq!(pieces(&t, " is 19", FULL), ["Ġis", "Ġ", "1", "9"]);
}

#[test]
fn longer_special_tokens_win() {
    let specials = [("<|im|>", CONTROL), ("<|im|>x", CONTROL), ("ab", USER)];
    let t = load(&bpe("gpt-2", "abx<|im>", &[], &specials)).unwrap();
    assert_eq!(pieces(&t, "<|im|>x<|im|>b", PARSED), ["<|im|>x", "<|im|>", "b"]);
    assert_eq!(pieces(&t, "<|im|>", PLAIN), ["<", "|", "i", "m", "|", ">"]);
    assert_eq!(pieces(&t, "xabx", PLAIN), ["x", "ab", "x"], "user-defined tokens are always whole");
}

#[test]
fn generation_ends_at_eos_and_at_well_known_texts() {
    let specials = [("<|im_end|>", CONTROL), ("<|stop|>", CONTROL), ("</s>", NORMAL), ("<|x|>", CONTROL)];
    let t = load(&bpe("gpt-2", "a", &[], &specials).key("tokenizer.ggml.eos_token_id", 2_u32)).unwrap();
    let ends: Vec<bool> = (0..5).map(|id| t.ends_generation(id)).collect();
    assert_eq!(ends, [false, true, true, true, false]);
    assert_eq!(t.kind(3).unwrap(), TokenKind::Control, "a control text is a control token whatever its type");
}

#[test]
fn streaming_keeps_characters_whole() {
    // "é" is two tokens, "Ã" and "©" in the byte alphabet.
    let t = load(&bpe("gpt-2", "aÃ©Ġ", &[], &[])).unwrap();
    let ids = t.encode("aé é", PLAIN).unwrap();
    assert_eq!(ids, [0, 1, 2, 3, 1, 2]);
    let mut stream = t.stream(false);
    let texts: Vec<String> = ids[..5].iter().map(|&id| stream.push(id).unwrap()).collect();
    assert_eq!(texts, ["a", "", "é", " ", ""]);
    assert_eq!(stream.finish(), "\u{FFFD}");
}

#[test]
fn text_outside_the_vocabulary_is_lost_or_the_unknown_token() {
    let t = load(&bpe("gpt-2", "a", &[], &[])).unwrap();
    let encoded = t.encode_with_losses("abc", PLAIN).unwrap();
    assert_eq!((encoded.ids, encoded.lost), (vec![0], 2));
    let t =
        load(&bpe("gpt-2", "a", &[], &[("<unk>", 2)]).key("tokenizer.ggml.unknown_token_id", 1_u32)).unwrap();
    assert_eq!(pieces(&t, "ab", PLAIN), ["a", "<unk>"]);
}

#[test]
fn text_forges_no_control_token() {
    // SmolLM2 names the end of the text as its unknown token; the second file calls that token a plain one.
    for kind in [3, 1] {
        let file = bpe("gpt-2", "a", &[], &[("<|endoftext|>", kind)]);
        let t = load(&file.key("tokenizer.ggml.unknown_token_id", 1_u32)).unwrap();
        let encoded = t.encode_with_losses("a\u{4}a", PLAIN).unwrap();
        assert_eq!((encoded.ids, encoded.lost), (vec![0, 0], 1));
    }
    // A control token that is a word of its own, where words that are tokens need no merges.
    let t = load(&bpe("llama-bpe", "ab", &[], &[("ab", 3)])).unwrap();
    assert_eq!(pieces(&t, "ab", PLAIN), ["a", "b"]);
    // In the vocabulary of Llama 2, "</" and "s>" are tokens, and so is the end of the text.
    let t = load(&sentence_piece(&[("</", -1.0), ("s>", -2.0)])).unwrap();
    let options = EncodeOptions { add_special: false, parse_special: false };
    let plain = t.encode("x</s>", options).unwrap();
    assert!(!plain.contains(&2), "{plain:?}");
}

#[test]
fn ids_outside_the_vocabulary_are_errors() {
    let t = load(&bpe("gpt-2", "ab", &[], &[])).unwrap();
    assert_eq!(t.decode(&[0, 2], true).unwrap_err().to_string(), "token 2 of a vocabulary of 2");
    assert_eq!(t.stream(true).push(9).unwrap_err().to_string(), "token 9 of a vocabulary of 2");
}

#[test]
fn long_texts_stay_fast() {
    let t = load(&sentence_piece(&[("a", -9.0), ("aa", -1.0), ("aaaa", -2.0), ("▁", -9.0)])).unwrap();
    assert_eq!(t.encode(&"a".repeat(1_000_000), PLAIN).unwrap().len(), 1 + 250_000);
    let t = load(&bpe("gpt-2", "a", &["a a", "aa aa"], &[])).unwrap();
    assert_eq!(t.encode(&"a".repeat(1_000_000), PLAIN).unwrap().len(), 250_000);
}

#[test]
fn broken_vocabularies_are_named() {
    let message = |builder: &Builder| load(builder).unwrap_err().to_string();
    let base = bpe("gpt-2", "ab", &["a b"], &[]);
    let with = |key: &str, value: V| message(&base.clone().set(key, Some(value)));
    let without = |key: &str| message(&base.clone().set(key, None));

    assert_eq!(without("tokenizer.ggml.model"), "key 'tokenizer.ggml.model' is missing");
    assert_eq!(without("tokenizer.ggml.tokens"), "key 'tokenizer.ggml.tokens' is missing");
    assert_eq!(without("tokenizer.ggml.merges"), "key 'tokenizer.ggml.merges' is missing");
    assert_eq!(
        with("tokenizer.ggml.model", "bert".into()),
        "key 'tokenizer.ggml.model': 'bert' is not supported, want 'llama' or 'gpt2'"
    );
    assert!(
        with("tokenizer.ggml.pre", "tekken".into()).starts_with("key 'tokenizer.ggml.pre': 'tekken' is not")
    );
    assert_eq!(
        with("tokenizer.ggml.tokens", V::I32s(vec![1])),
        "key 'tokenizer.ggml.tokens': found array of 1 i32, want an array of string"
    );
    assert_eq!(with("tokenizer.ggml.tokens", strs(&["x", "y", "x"])), "tokens 0 and 2 are both 'x'");
    assert_eq!(
        with("tokenizer.ggml.token_type", V::I32s(vec![1])),
        "key 'tokenizer.ggml.token_type': 1 entries for 3 tokens"
    );
    assert_eq!(
        with("tokenizer.ggml.token_type", V::I32s(vec![1, 7, 1])),
        "key 'tokenizer.ggml.token_type': token 1 has the type 7, want 0 to 6"
    );
    assert_eq!(
        with("tokenizer.ggml.token_type", V::I32s(vec![1, BYTE, 1])),
        "token 1 is a byte token but its text is 'b', want '<0x00>' to '<0xFF>'"
    );
    assert_eq!(
        with("tokenizer.ggml.merges", strs(&["a b", "ab"])),
        "key 'tokenizer.ggml.merges': merge 1 is 'ab', want two parts and a space between them"
    );
    assert_eq!(
        with("tokenizer.ggml.eos_token_id", V::U32(3)),
        "key 'tokenizer.ggml.eos_token_id': token 3 of a vocabulary of 3"
    );
    assert_eq!(
        with("tokenizer.ggml.add_bos_token", V::Bool(true)),
        "key 'tokenizer.ggml.add_bos_token' is true but key 'tokenizer.ggml.bos_token_id' is missing"
    );
    let mut scores = vec![0.0; 260];
    scores[259] = f32::NAN;
    let builder = sentence_piece(&[("a", 0.0)]).set("tokenizer.ggml.scores", Some(V::F32s(scores)));
    assert_eq!(message(&builder), "key 'tokenizer.ggml.scores': token 259 has the score NaN");
    let builder = builder.set("tokenizer.ggml.scores", Some(V::F32s(vec![0.0])));
    assert_eq!(message(&builder), "key 'tokenizer.ggml.scores': 1 entries for 260 tokens");
}
