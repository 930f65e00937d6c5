//! `assay tokenize`: ids from text, or text from ids.

#![expect(clippy::doc_markdown, reason = "doc comments of arguments are the text of --help")]

use std::fmt::Write;
use std::path::PathBuf;

use engine::gguf::Gguf;
use engine::tokenizer::{EncodeOptions, Tokenizer};

use super::model::{encode, given_text, parse_ids};
use super::{End, Trouble, print};

/// Shows the tokens of a text, or the text of tokens.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay tokenize -m model.gguf -p 'Hello world'            ids on one line
  assay tokenize -m model.gguf -p 'Hello world' --pieces   each id with its text in the vocabulary
  assay tokenize -m model.gguf --tokens 504,3575           back to text")]
#[group(skip)]
pub struct Tokenize {
    /// The model, a GGUF file.
    #[arg(short, long, value_name = "FILE")]
    model: PathBuf,
    #[command(flatten)]
    input: Input,
    /// One line for each token: id and text as it stands in the vocabulary.
    #[arg(long)]
    pieces: bool,
    /// Adds no BOS and no EOS.
    #[arg(long)]
    no_special: bool,
    /// Takes the texts of control tokens, such as <|im_end|>, for ordinary text.
    #[arg(long)]
    literal: bool,
}

#[derive(clap::Args)]
#[group(multiple = false)]
struct Input {
    /// The text; read from standard input without -p, -f and --tokens.
    #[arg(short, long, value_name = "TEXT")]
    prompt: Option<String>,
    /// A file with the text, - for standard input; a line break at its end does not count.
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Ids to decode, separated by commas or blanks; - for standard input.
    #[arg(long, value_name = "IDS")]
    tokens: Option<String>,
}

impl Tokenize {
    pub fn run(self) -> Result<End, Trouble> {
        let gguf = Gguf::open(&self.model)?;
        let tokenizer = Tokenizer::from_metadata(gguf.metadata())
            .map_err(|error| Trouble::Input(format!("{}: {error}", self.model.display())))?;
        let options = EncodeOptions { add_special: !self.no_special, parse_special: !self.literal };
        let Input { prompt, file, tokens } = &self.input;
        let ids = match tokens {
            Some(tokens) => parse_ids(tokens)?,
            None => encode(&tokenizer, &given_text(prompt.as_deref(), file.as_deref())?, options)?,
        };
        if self.pieces {
            for &id in &ids {
                print(&format!("{id:>7} {:?}\n", tokenizer.text(id)?));
            }
        } else if self.input.tokens.is_some() {
            print(&(tokenizer.decode(&ids, true)? + "\n"));
        } else {
            let mut line = String::new();
            for (at, id) in ids.iter().enumerate() {
                let _ = write!(line, "{}{id}", if at == 0 { "" } else { " " });
            }
            print(&(line + "\n"));
        }
        Ok(End::Well)
    }
}
