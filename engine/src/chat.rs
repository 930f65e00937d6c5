//! Chat templates: from a conversation to the text that the model was trained on.
//!
//! The template is the file's own (`tokenizer.chat_template`), in the Jinja dialect of Hugging Face: blocks
//! remove the line break after them and the indentation before them, Python's methods work on strings, lists and
//! dictionaries, `break` and `continue` exist, and `raise_exception` lets a template refuse a conversation.
//! The clock (`strftime_now`) is not available: the same conversation always gives the same text.
//!
//! A template is a program of a stranger. [`MAX_SOURCE`], [`FUEL`] and [`MAX_OUTPUT`] bound its source, its steps and its text, and it
//! runs on a stack of its own. One step may still ask for much memory or time (`|tojson(indent=1000000000)`), and a value may be
//! nested so deeply that dropping it overflows any stack. Who renders templates of strangers does it in a process that may die, with
//! limits of the operating system, as the command `assay` does.

use std::error::Error as _;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Object;
use minijinja::{Environment, Error, ErrorKind, State, Value, context};
use minijinja_contrib::pycompat::unknown_method_callback;

use crate::gguf::{GgufError, Metadata};
use crate::tokenizer::{Tokenizer, TokenizerError};

/// Bytes of a template at most. The longest real ones have some 30,000.
pub const MAX_SOURCE: usize = 128 << 10;

/// Steps after which a template is stopped. The longest real ones take some thousand.
pub const FUEL: u64 = 10_000_000;

/// Bytes of a rendered conversation at most.
pub const MAX_OUTPUT: usize = 64 << 20;

/// The stack of the thread that parses and renders. The parser takes less than 2 kB for a byte of the source, at the worst source
/// (`{{ ------…1 }}`). Memory that is not touched is not used.
const STACK: usize = MAX_SOURCE * (2 << 10);

const NAME: &str = "tokenizer.chat_template";

/// One turn of a conversation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// `system`, `user` or `assistant`; the template decides what a role means.
    pub role: String,
    /// What was said.
    pub content: String,
}

impl Message {
    /// A turn.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Self {
        Self { role: role.into(), content: content.into() }
    }
}

/// A template that is missing, broken, or refuses the conversation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The key has the wrong type.
    #[error(transparent)]
    Metadata(#[from] GgufError),
    /// The file has no template.
    #[error(
        "key 'tokenizer.chat_template' is missing: the model has no chat template; give a plain prompt instead"
    )]
    NoTemplate,
    /// The template cannot be parsed.
    #[error("chat template, line {line}: {message}")]
    Syntax {
        /// Line of the template, from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
    /// The template failed on this conversation, or refused it with `raise_exception`.
    #[error("chat template, line {line}: {message}")]
    Render {
        /// Line of the template, from 1.
        line: usize,
        /// Why.
        message: String,
    },
    /// The template calls `strftime_now`.
    #[error(
        "chat template, line {line}: strftime_now is not available: a prompt must not depend on the clock"
    )]
    Clock {
        /// Line of the template, from 1.
        line: usize,
    },
    /// The template has more than [`MAX_SOURCE`] bytes.
    #[error("chat template: {found} bytes, the limit is {MAX_SOURCE}")]
    TooLong {
        /// Its bytes.
        found: usize,
    },
    /// The rendered conversation has more than [`MAX_OUTPUT`] bytes.
    #[error("chat template: the rendered conversation has more than {MAX_OUTPUT} bytes")]
    Output,
    /// There is no thread to render in.
    #[error("chat template: no thread to render it in: {0}")]
    Thread(#[from] io::Error),
    /// The template engine panicked.
    #[error("chat template: the template engine panicked")]
    Panicked,
    /// The tokenizer's BOS or EOS has no text.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}

/// A model's chat template as text, with the texts of its BOS and EOS tokens; empty if there are none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChatSource {
    /// The template.
    pub template: String,
    /// Text of the token that begins a text.
    pub bos: String,
    /// Text of the token that ends a text.
    pub eos: String,
}

impl ChatSource {
    /// The file's template, with the texts of the tokenizer's tokens.
    pub fn from_metadata(meta: &Metadata, tokenizer: &Tokenizer) -> Result<Self, ChatError> {
        let template = meta.opt_str(NAME)?.ok_or(ChatError::NoTemplate)?;
        check_length(template)?;
        let text = |id: Option<u32>| id.map_or(Ok(""), |id| tokenizer.text(id));
        let (bos, eos) = (text(tokenizer.bos())?.to_owned(), text(tokenizer.eos())?.to_owned());
        Ok(ChatSource { template: template.to_owned(), bos, eos })
    }
}

/// A model's chat template, ready to be applied.
#[derive(Debug)]
pub struct ChatTemplate {
    env: Environment<'static>,
    bos: String,
    eos: String,
}

impl ChatTemplate {
    /// The file's template, with the texts of the tokenizer's BOS and EOS tokens.
    pub fn from_metadata(meta: &Metadata, tokenizer: &Tokenizer) -> Result<Self, ChatError> {
        let source = ChatSource::from_metadata(meta, tokenizer)?;
        Self::new(&source.template, &source.bos, &source.eos)
    }

    /// A template from its source. `bos` and `eos` are the texts of these tokens, empty if there are none.
    pub fn new(source: &str, bos: &str, eos: &str) -> Result<Self, ChatError> {
        check_length(source)?;
        on_large_stack(|| Self::parse(source, bos, eos))
    }

    fn parse(source: &str, bos: &str, eos: &str) -> Result<Self, ChatError> {
        let mut env = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        env.set_syntax(syntax.map_err(|e| syntax_error(&e))?);
        env.set_fuel(Some(FUEL));
        env.set_unknown_method_callback(unknown_method_callback);
        env.add_function("raise_exception", raise_exception);
        env.add_global("strftime_now", Value::from_object(Clock));
        env.add_test("defined", is_defined);
        env.add_test("undefined", |value: &Value| !is_defined(value));
        env.add_template_owned(NAME, source.to_owned()).map_err(|e| syntax_error(&e))?;
        Ok(Self { env, bos: bos.to_owned(), eos: eos.to_owned() })
    }

    /// The text of a conversation; with `generate`, up to where the assistant's answer begins.
    ///
    /// The text contains the control tokens' texts: encode it with `parse_special`, and without
    /// `add_special`, since a template writes its own BOS.
    pub fn render(&self, messages: &[Message], generate: bool) -> Result<String, ChatError> {
        on_large_stack(|| self.render_here(messages, generate))
    }

    fn render_here(&self, messages: &[Message], generate: bool) -> Result<String, ChatError> {
        let turns =
            messages.iter().map(|m| Value::from_pairs([("role", &*m.role), ("content", &*m.content)]));
        let context = context! {
            messages => turns.collect::<Vec<Value>>(),
            add_generation_prompt => generate,
            bos_token => self.bos.as_str(),
            eos_token => self.eos.as_str(),
        };
        let template = self.env.get_template(NAME).map_err(|e| render_error(&e))?;
        let mut output = Output::default();
        let rendered = template.render_captured_to(context, &mut output).map(drop);
        if output.is_full {
            return Err(ChatError::Output);
        }
        rendered.map_err(|e| render_error(&e))?;
        String::from_utf8(output.bytes).map_err(|_| ChatError::Panicked)
    }
}

fn check_length(template: &str) -> Result<(), ChatError> {
    match template.len() {
        found if found > MAX_SOURCE => Err(ChatError::TooLong { found }),
        _ => Ok(()),
    }
}

/// Does `work` on a stack of [`STACK`] bytes.
fn on_large_stack<T: Send>(work: impl FnOnce() -> Result<T, ChatError> + Send) -> Result<T, ChatError> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("chat template".into()).stack_size(STACK);
        thread.spawn_scoped(scope, work)?.join().unwrap_or(Err(ChatError::Panicked))
    })
}

/// The rendered text, up to [`MAX_OUTPUT`] bytes.
#[derive(Default)]
struct Output {
    bytes: Vec<u8>,
    is_full: bool,
}

impl io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.is_full |= self.bytes.len() + bytes.len() > MAX_OUTPUT;
        if self.is_full {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the template engine hands over owned arguments")]
fn raise_exception(message: String) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, format!("the template refuses the conversation: {message}")))
}

/// The function `strftime_now`, which refuses to be called. A template that asks first finds it undefined.
#[derive(Debug)]
struct Clock;

/// What a call of [`Clock`] fails with, so that the failure is known by its type.
#[derive(Debug, thiserror::Error)]
#[error("a prompt must not depend on the clock")]
struct ClockCalled;

impl Object for Clock {
    fn is_true(self: &Arc<Self>) -> bool {
        false
    }

    /// Nothing, as for an undefined value.
    fn render(self: &Arc<Self>, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }

    fn call(self: &Arc<Self>, _: &mut State<'_, '_>, _: &[Value]) -> Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, "strftime_now is not available").with_source(ClockCalled))
    }
}

/// The template's test `is defined`.
fn is_defined(value: &Value) -> bool {
    !value.is_undefined() && value.downcast_object_ref::<Clock>().is_none()
}

fn message_of(error: &Error) -> String {
    match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    }
}

fn syntax_error(error: &Error) -> ChatError {
    ChatError::Syntax { line: error.line().unwrap_or(1), message: message_of(error) }
}

fn render_error(error: &Error) -> ChatError {
    let line = error.line().unwrap_or(1);
    match error.source() {
        Some(source) if source.is::<ClockCalled>() => ChatError::Clock { line },
        _ => ChatError::Render { line, message: message_of(error) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SmolLM2's template: `ChatML` with a system turn of its own.
    const CHATML: &str = "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}\
        {{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}\
        {% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}\
        {% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

    fn render(source: &str, messages: &[Message]) -> Result<String, ChatError> {
        ChatTemplate::new(source, "<s>", "</s>")?.render(messages, true)
    }

    #[test]
    fn chatml_adds_its_own_system_turn() {
        let text = render(CHATML, &[Message::new("user", "Hi & <bye>")]).unwrap();
        assert_eq!(
            text,
            "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n\
             <|im_start|>user\nHi & <bye><|im_end|>\n<|im_start|>assistant\n"
        );
    }

    #[test]
    fn chatml_keeps_a_given_system_turn() {
        let turns = [Message::new("system", "Be brief."), Message::new("user", "Hi")];
        let text = ChatTemplate::new(CHATML, "", "").unwrap().render(&turns, false).unwrap();
        assert_eq!(text, "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n");
    }

    #[test]
    fn python_methods_and_special_tokens_work() {
        let source = "{{ bos_token }}{% for m in messages %}\n  {%- if m.content.strip().startswith('x') %}\n\
            {{ m.get('role').upper() }}|{{ m['content'].split('-')[-1] }}{% endif %}\n{% endfor %}{{ eos_token }}";
        let text = render(source, &[Message::new("user", " x-y ")]).unwrap();
        assert_eq!(text, "<s>USER|y </s>");
    }

    #[test]
    fn a_template_can_refuse() {
        let source =
            "{% if messages[0].role == 'system' %}\n{{ raise_exception('no system role') }}{% endif %}";
        let error = render(source, &[Message::new("system", "x")]).unwrap_err();
        let expected =
            "chat template, line 2: invalid operation: the template refuses the conversation: no system role";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn the_clock_is_refused_by_name() {
        let error = render("{{ strftime_now('%d %b %Y') }}", &[]).unwrap_err();
        assert!(matches!(error, ChatError::Clock { line: 1 }), "{error:?}");
        assert_eq!(
            error.to_string(),
            "chat template, line 1: strftime_now is not available: a prompt must not depend on the clock"
        );
    }

    #[test]
    fn a_template_that_asks_first_gets_its_fixed_date() {
        for question in ["strftime_now is defined", "strftime_now is not undefined", "strftime_now"] {
            let source = format!(
                "{{% if {question} %}}{{{{ strftime_now('%Y') }}}}{{% else %}}26 Jul 2024{{% endif %}}"
            );
            assert_eq!(render(&source, &[]).unwrap(), "26 Jul 2024", "{question}");
        }
        let given = "{{ bos_token is defined }} {{ nothing is undefined }} {{ nothing is defined }}";
        assert_eq!(render(given, &[]).unwrap(), "True True False");
        assert_eq!(render("[{{ strftime_now }}]", &[]).unwrap(), "[]");
    }

    #[test]
    fn syntax_errors_name_the_line() {
        let error = render("a\n{% if %}", &[]).unwrap_err();
        assert!(matches!(error, ChatError::Syntax { line: 2, .. }), "{error}");
    }

    /// The deepest source of `MAX_SOURCE` bytes: `head`, many times `link`, `tail`.
    fn deepest([head, link, tail]: [&str; 3]) -> String {
        let links = (MAX_SOURCE - head.len() - tail.len()) / link.len();
        format!("{head}{}{tail}", link.repeat(links))
    }

    #[test]
    fn long_chains_overflow_no_stack() {
        let chains = [
            ["{{ ", "-", "1 }}"],
            ["{{ ", "not ", "1 }}"],
            ["{{ 1", "+1", " }}"],
            ["{{ 1", "**1", " }}"],
            ["{{ 1", " and 1", " }}"],
            ["{{ a", ".b", " }}"],
            ["{{ a", "[0]", " }}"],
            ["{{ a", "()", " }}"],
            ["{{ 'a'", "|e", " }}"],
            ["{{ 1", " if 1 else 1", " }}"],
            ["{{ ", "1 if 1 else ", "1 }}"],
            ["{% if a %}", "{% elif a %}", "{% endif %}"],
            ["", "{% if 1 %}", ""],
            ["{{ ", "(", ""],
            ["{{ ", "[", ""],
            ["{{ ", "{1:", ""],
        ];
        for chain in chains {
            // Whether it renders or not is no matter: it comes back.
            drop(render(&deepest(chain), &[]));
        }
    }

    #[test]
    fn sources_have_a_limit() {
        assert!(render(&"x".repeat(MAX_SOURCE), &[]).is_ok());
        let error = render(&"x".repeat(MAX_SOURCE + 1), &[]).unwrap_err();
        assert_eq!(error.to_string(), "chat template: 131073 bytes, the limit is 131072");
    }

    #[test]
    fn outputs_have_a_limit() {
        let line = "x".repeat(1 << 16);
        let source = |lines: usize| format!("{{% for i in range({lines}) %}}{line}{{% endfor %}}");
        let text = render(&source(MAX_OUTPUT >> 16), &[]).unwrap();
        assert_eq!(text.len(), MAX_OUTPUT);
        let error = render(&source((MAX_OUTPUT >> 16) + 1), &[]).unwrap_err();
        assert!(matches!(error, ChatError::Output), "{error}");
    }

    #[test]
    fn endless_templates_are_stopped() {
        let source =
            "{% for a in range(9999) %}{% for b in range(9999) %}{% set c = a * b %}{% endfor %}{% endfor %}";
        let error = render(source, &[]).unwrap_err();
        assert!(matches!(error, ChatError::Render { .. }), "{error}");
    }
}
