//! Chat templates. The command renders each in a process of its own, which may die; here such a process renders one after the other, and
//! the next one goes on where one died.

use std::cell::RefCell;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{self, Child, ChildStdin, ChildStdout, Stdio};

use assay_cli::template::{MEMORY, TIME};
use engine::chat::{ChatTemplate, Message};
use own_process::Limit;

use crate::gguf_builder::bases::llama_base;
use crate::{Command, Reader};

pub const READER: Reader = Reader {
    name: "chat_template",
    sound: || {
        super::texts(&[
            "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>' }}\
             {% endif %}{{ message['role'] + '\n' + message['content'] | trim }}{% endfor %}",
            "{{ bos_token }}{% for m in messages %}{{ m.get('role').upper() }}{{ m.content.split('-')[-1] }}{% endfor %}",
            "{% macro f(x) %}{{ x|tojson }}{% endmacro %}{{ f(messages) }}{% set ns = namespace(n=0) %}",
        ])
    },
    words: &[
        "{{",
        "}}",
        "{%",
        "%}",
        "{#",
        "#}",
        "'",
        "for",
        "endfor",
        "if",
        "elif",
        "else",
        "endif",
        "set",
        "macro",
        "loop",
        "messages",
        "namespace(",
        "range(99999)",
        "|tojson(indent=1000000000)",
        "|join",
        "|indent(1000000000)",
        "|list",
        "* 1000000",
        "[",
        "]",
        "(",
        ")",
        "not ",
        "+",
        "~",
        "**",
        "|replace('a',",
        "raise_exception('x')",
        "\u{0}",
    ],
    read,
    command: Some(Command {
        args: |path| {
            let model = with_template(path)?;
            super::with_file(&["run", "--chat", "-p", "a-b c", "-n", "1", "-m"], &model)
        },
        // What is rendered may have more tokens than the model has positions.
        ends: &[0, 2],
    }),
};

/// A model with the template of the input.
fn with_template(path: &Path) -> Option<PathBuf> {
    let template = super::text(path).ok()?;
    let model = path.with_file_name("model.gguf");
    let mut file = llama_base().set("tokenizer.chat_template", Some(template.as_str().into()));
    // Weights that say nothing, so that the model runs.
    file.tensors.iter_mut().for_each(|tensor| tensor.data.fill(0));
    std::fs::write(&model, file.build()).ok()?;
    Some(model)
}

/// Templates that a process renders before the next one takes over, so that none of them reaches the limit of time by what others took.
const PER_PROCESS: u32 = 1000;

/// Tells a process of this program to render, and not to test.
const RENDERS: &str = "ASSAY_TEST_RENDERS_TEMPLATES";

/// Stands before an answer, which other lines on standard output do not have.
const ANSWER: char = '\u{1}';

struct Renderer {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    rendered: u32,
}

impl Renderer {
    fn start() -> Self {
        let mut command = process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "readers::chat_template::renders", "--nocapture"]).env(RENDERS, "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let (requests, answers) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        Renderer { process, requests, answers: BufReader::new(answers), rendered: 0 }
    }

    /// What the process says; `None` if it dies.
    fn ask(&mut self, template: &str) -> Option<Result<(), String>> {
        self.rendered += 1;
        let length = u32::try_from(template.len()).unwrap().to_le_bytes();
        self.requests.write_all(&[&length, template.as_bytes()].concat()).ok()?;
        for line in self.answers.by_ref().lines() {
            if let Some(answer) = line.ok()?.strip_prefix(ANSWER) {
                return Some(if answer == "+" { Ok(()) } else { Err(answer.into()) });
            }
        }
        None
    }
}

impl Drop for Renderer {
    fn drop(&mut self) {
        // One that has ended already is no matter.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn read(path: &Path) -> Result<(), String> {
    thread_local! {
        static RENDERER: RefCell<Option<Renderer>> = const { RefCell::new(None) };
    }
    let template = super::text(path)?;
    RENDERER.with_borrow_mut(|renderer| {
        let answer = renderer.get_or_insert_with(Renderer::start).ask(&template);
        if answer.is_none() || renderer.as_ref().is_some_and(|renderer| renderer.rendered == PER_PROCESS) {
            *renderer = None;
        }
        answer.unwrap_or_else(|| Err("it was stopped".into()))
    })
}

/// The side of the process that renders, limited as that of the command is.
#[test]
fn renders() {
    if std::env::var_os(RENDERS).is_none() {
        return;
    }
    for limit in [Limit::Core(0), Limit::Memory(MEMORY), Limit::Time(TIME)] {
        own_process::limit(limit).unwrap();
    }
    let mut requests = io::stdin().lock();
    let mut length = [0; 4];
    while requests.read_exact(&mut length).is_ok() {
        let mut template = vec![0; u32::from_le_bytes(length) as usize];
        requests.read_exact(&mut template).unwrap();
        let template = String::from_utf8(template).unwrap();
        let messages = [Message::new("user", "a-b c")];
        let rendered =
            ChatTemplate::new(&template, "<s>", "</s>").and_then(|template| template.render(&messages, true));
        let answer = match rendered {
            Ok(_) => "+".into(),
            Err(error) => error.to_string().replace('\n', " "),
        };
        println!("\n{ANSWER}{answer}");
    }
}
