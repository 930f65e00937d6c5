//! A plug-in in a Python file. Python runs as a process of its own, and requests and answers go through pipes.
//!
//! A message is a line of JSON with `bytes`, the number of bytes that follow it. The other side is `python/assay.py`, which this program
//! hands over: nothing but Python and numpy is to be installed.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use kernels::{DType, DeviceError, DeviceKind, Numerics, Support};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::abi;
use crate::call::{Answers, Call, Handle, Setting};
use crate::declaration;
use crate::error::PluginError;

/// What Python runs.
const BRIDGE: &str = include_str!("../python/assay.py");

/// A Python file that answers.
#[derive(Debug)]
pub(crate) struct Python {
    path: PathBuf,
    name: String,
    place: DeviceKind,
    process: RefCell<Process>,
}

#[derive(Debug)]
struct Process {
    child: Child,
    requests: BufWriter<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// The line of an answer.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    ok: Value,
    error: Option<String>,
    #[serde(default)]
    memory: bool,
    bytes: usize,
}

/// Why there is no answer.
enum Failure {
    /// The file's code raised an exception: its traceback.
    Raised { traceback: String, memory: bool },
    /// Python is gone, or says what means nothing.
    Lost(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Lost(error.to_string())
    }
}

/// Fields of `assay_numerics`, by name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Declared {
    accumulator: String,
    lanes: u32,
    activations: String,
    activation_type: String,
    activation_block: u32,
    weights: String,
    weight_type: String,
    angle: String,
    function_ulps: f64,
}

impl Default for Declared {
    fn default() -> Self {
        let word = str::to_owned;
        Declared {
            accumulator: word("f32"),
            lanes: 0,
            activations: word("exact"),
            activation_type: word("f32"),
            activation_block: 0,
            weights: word("decoded"),
            weight_type: word("f32"),
            angle: word("f64"),
            function_ulps: declaration::DEFAULT.function_ulps,
        }
    }
}

impl Python {
    /// Starts Python (`ASSAY_PYTHON`, or `python3`) on the file at `path`.
    pub fn start(path: &Path) -> Result<Self, PluginError> {
        let refused = |why: String| PluginError::Python { path: path.into(), why };
        let program = std::env::var_os("ASSAY_PYTHON").unwrap_or_else(|| OsString::from("python3"));
        let mut command = Command::new(&program);
        command.arg("-c").arg(BRIDGE).arg(path).stdin(Stdio::piped()).stdout(Stdio::piped());
        let named = |error: io::Error| {
            let program = program.display();
            refused(format!("{program} cannot be started: {error} (ASSAY_PYTHON names another)"))
        };
        let mut child = command.spawn().map_err(named)?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(refused("a process without pipes".into()));
        };
        let mut process =
            Process { child, requests: BufWriter::new(requests), answers: BufReader::new(answers) };
        let hello = process.hear(0).map_err(|failure| {
            refused(match failure {
                Failure::Raised { traceback, .. } => {
                    format!("the file cannot be run\n{}", traceback.trim_end())
                }
                Failure::Lost(why) => why,
            })
        })?;
        let text = |key: &str| hello.0[key].as_str().unwrap_or_default().to_owned();
        let place = match text("place").as_str() {
            "host" => DeviceKind::Host,
            "software" => DeviceKind::Software,
            "gpu" => DeviceKind::Gpu,
            other => return Err(refused(format!("assay.place is '{other}', want host, software or gpu"))),
        };
        Ok(Python { path: path.into(), name: text("name"), place, process: RefCell::new(process) })
    }

    fn ask(&self, request: Value, payload: &[u8]) -> Result<(Value, Vec<u8>), Failure> {
        self.process.borrow_mut().ask(request, payload, 0)
    }

    fn call(&self, call: &str, request: Value, payload: &[u8]) -> Result<(Value, Vec<u8>), DeviceError> {
        self.ask(request, payload).map_err(|failure| self.error(call, failure))
    }

    /// A failure of the call named `call`.
    fn error(&self, call: &str, failure: Failure) -> DeviceError {
        match failure {
            Failure::Raised { traceback, .. } => {
                DeviceError::Fault(format!("{call}: {}", traceback.trim_end()))
            }
            Failure::Lost(why) => DeviceError::Lost(format!("{}: {why}", self.path.display())),
        }
    }
}

impl Process {
    /// Sends a request. At most `most` bytes may stand behind the answer.
    fn ask(&mut self, mut request: Value, payload: &[u8], most: usize) -> Result<(Value, Vec<u8>), Failure> {
        request["bytes"] = payload.len().into();
        // A process that has ended says so when it is heard.
        let sent = writeln!(self.requests, "{request}")
            .and_then(|()| self.requests.write_all(payload))
            .and_then(|()| self.requests.flush());
        match sent {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
            Ok(()) | Err(_) => self.hear(most),
        }
    }

    fn hear(&mut self, most: usize) -> Result<(Value, Vec<u8>), Failure> {
        match hear(&mut self.answers, most) {
            Ok(None) => {
                let status = self.child.wait()?;
                Err(Failure::Lost(format!("Python has ended ({status})")))
            }
            Ok(Some(answer)) => Ok(answer),
            Err(failure) => Err(failure),
        }
    }
}

/// Bytes of the longest line of an answer: a traceback.
const LONGEST: u64 = 1 << 20;

/// An answer: its value, and at most `most` bytes behind it. `None` where there is none any more.
fn hear(answers: &mut impl BufRead, most: usize) -> Result<Option<(Value, Vec<u8>)>, Failure> {
    let mut line = Vec::new();
    answers.take(LONGEST).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    let said = || String::from_utf8_lossy(&line[..line.len().min(SHOWN)]).trim_end().to_owned();
    let answer: Answer =
        serde_json::from_slice(&line).map_err(|e| Failure::Lost(format!("Python says '{}': {e}", said())))?;
    if answer.bytes > most {
        let bytes = answer.bytes;
        return Err(Failure::Lost(format!("Python says '{}': {bytes} bytes, want at most {most}", said())));
    }
    let mut bytes = vec![0; answer.bytes];
    answers.read_exact(&mut bytes)?;
    match answer.error {
        Some(traceback) => Err(Failure::Raised { traceback, memory: answer.memory }),
        None => Ok(Some((answer.ok, bytes))),
    }
}

/// Bytes of a line that means nothing which a message shows.
const SHOWN: usize = 200;

/// Reads answers until there are none any more, and what they declare: for tests with answers that mean nothing.
#[doc(hidden)]
pub fn read_answers(mut answers: impl BufRead, most: usize) -> Result<(), String> {
    while let Some((value, _)) = hear(&mut answers, most).map_err(|failure| match failure {
        Failure::Raised { traceback, .. } => traceback,
        Failure::Lost(why) => why,
    })? {
        if value.is_object() {
            declared(value)?;
        }
    }
    Ok(())
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be in the middle of a kernel. One that has ended already is no matter.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The op as JSON.
fn described(call: &Call) -> Value {
    let operands = call.operands.iter().map(|operand| {
        let (layout, dtype) = (&operand.layout, operand.layout.dtype());
        json!({
            "name": operand.name,
            "role": operand.role,
            "dtype": dtype.name(),
            "block": [dtype.block_len(), dtype.block_bytes()],
            "shape": layout.shape(),
            "strides": layout.strides(),
            "layout": layout.arrangement().name(),
            "offset": layout.offset(),
            "buffer": operand.buffer.map(|buffer| buffer.0),
        })
    });
    let params = call.params.iter().map(|(name, setting)| {
        let value = match setting {
            Setting::Bool(value) => json!(value),
            Setting::Count(value) => json!(value),
            Setting::Number(value) => json!(value),
            Setting::Text(value) => json!(value),
        };
        (name.clone(), value)
    });
    json!({
        "name": call.stem.name(),
        "operands": operands.collect::<Vec<_>>(),
        "params": params.collect::<serde_json::Map<_, _>>(),
    })
}

/// The declaration in the words of Python.
fn declared(value: Value) -> Result<Numerics, String> {
    let shown = value.to_string();
    let declared: Declared = serde_json::from_value(value).map_err(|e| format!("{shown}: {e}"))?;
    let float = |name: &str, word: &str| match word {
        "f64" => Ok(abi::F64),
        word => word.parse::<DType>().map(abi::dtype).map_err(|e| format!("{name}: {e}")),
    };
    let choice = |name: &str, word: &str, words: [(&str, u32); 3]| {
        let found = words.iter().find(|(known, _)| *known == word).map(|(_, number)| *number);
        found.ok_or_else(|| format!("{name} is '{word}', want {}", words.map(|(known, _)| known).join(", ")))
    };
    declaration::numerics(&abi::Numerics {
        accumulator: float("accumulator", &declared.accumulator)?,
        lanes: declared.lanes,
        activations: choice(
            "activations",
            &declared.activations,
            [("exact", abi::EXACT), ("rounded", abi::ROUNDED), ("int8", abi::INT8)],
        )?,
        activation_type: float("activation_type", &declared.activation_type)?,
        activation_block: declared.activation_block,
        weights: choice(
            "weights",
            &declared.weights,
            [("decoded", abi::DECODED), ("rounded", abi::ROUNDED), ("factored", abi::FACTORED)],
        )?,
        weight_type: float("weight_type", &declared.weight_type)?,
        angle: float("angle", &declared.angle)?,
        function_ulps: declared.function_ulps,
        reserved: [0; 4],
    })
}

impl Answers for Python {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn place(&self) -> DeviceKind {
        self.place
    }

    fn supports(&self, call: &Call) -> Support {
        match self.ask(json!({ "do": "supports", "op": described(call) }), &[]) {
            // What is wrong shows when the op runs.
            Ok((Value::Null, _)) | Err(_) => Support::Yes,
            Ok((reason, _)) => Support::No(reason.as_str().unwrap_or_default().into()),
        }
    }

    fn numerics(&self, call: &Call) -> Result<Numerics, String> {
        match self.ask(json!({ "do": "numerics", "op": described(call) }), &[]) {
            Ok((value, _)) => declared(value),
            Err(Failure::Raised { traceback, .. }) => Err(traceback),
            Err(Failure::Lost(why)) => Err(why),
        }
    }

    fn alloc(&self, bytes: usize, label: &str) -> Result<Handle, DeviceError> {
        let request = json!({ "do": "alloc", "size": bytes });
        let (handle, _) = self.ask(request, &[]).map_err(|failure| match failure {
            Failure::Raised { memory: true, .. } => {
                DeviceError::OutOfMemory { label: label.into(), requested: bytes, available: 0 }
            }
            failure => self.error("alloc", failure),
        })?;
        let handle = handle.as_u64().and_then(|handle| usize::try_from(handle).ok());
        handle.map(Handle).ok_or_else(|| DeviceError::Lost(format!("{}: alloc", self.path.display())))
    }

    fn free(&self, buffer: Handle) -> Result<(), DeviceError> {
        self.call("free", json!({ "do": "free", "buffer": buffer.0 }), &[]).map(drop)
    }

    fn write(&self, buffer: Handle, offset: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        self.call("write", json!({ "do": "write", "buffer": buffer.0, "offset": offset }), bytes).map(drop)
    }

    fn read(&self, buffer: Handle, offset: usize, to: &mut [u8]) -> Result<(), DeviceError> {
        let request = json!({ "do": "read", "buffer": buffer.0, "offset": offset, "size": to.len() });
        let answer = self.process.borrow_mut().ask(request, &[], to.len());
        let (_, bytes) = answer.map_err(|failure| self.error("read", failure))?;
        if bytes.len() != to.len() {
            return Err(DeviceError::ShortCopy { want: to.len(), got: bytes.len() });
        }
        to.copy_from_slice(&bytes);
        Ok(())
    }

    fn launch(&self, call: &Call) -> Result<(), DeviceError> {
        let in_place = call.stem.facts().in_place();
        let request = json!({ "do": "launch", "op": described(call), "in_place": in_place });
        self.call("launch", request, &[]).map(drop)
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        self.call("synchronize", json!({ "do": "synchronize" }), &[]).map(drop)
    }

    fn touched(&self) -> Result<Vec<String>, DeviceError> {
        let (touched, _) = self.call("touched", json!({ "do": "touched" }), &[])?;
        serde_json::from_value(touched)
            .map_err(|error| DeviceError::Lost(format!("{}: touched: {error}", self.path.display())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels::{Depth, Float};

    #[test]
    fn answers_that_mean_nothing_are_refused() {
        let read = |text: &[u8]| read_answers(text, 4);
        assert_eq!(read(b"{\"ok\":1,\"bytes\":4}\nabcd{\"bytes\":0}\n"), Ok(()));
        for (text, naming) in [
            ("{\"bytes\":5}\nabcde".to_owned(), "5 bytes, want at most 4"),
            ("{\"bytes\":18446744073709551615}\n".to_owned(), "want at most 4"),
            ("{\"bytes\":4}\nabc".to_owned(), "fill whole buffer"),
            ("x".repeat(2 << 20), "Python says 'xxx"),
            ("{\"error\":\"traceback\",\"bytes\":0}\n".to_owned(), "traceback"),
        ] {
            let error = read(text.as_bytes()).unwrap_err();
            assert!(error.contains(naming) && error.len() < 1000, "{naming}: {error}");
        }
    }

    #[test]
    fn a_declaration_in_words_is_that_in_numbers() {
        let n = declared(json!({ "accumulator": "f16", "lanes": 64, "function_ulps": 4 })).unwrap();
        assert_eq!((n.accumulator, n.depth), (Float::F16, Depth::Lanes(64)));
        assert_eq!(declared(json!({})), Ok(Numerics::F32));
        for (value, naming) in [
            (json!({ "acumulator": "f16" }), "acumulator"),
            (json!({ "accumulator": "q4_0" }), "accumulator is 2"),
            (json!({ "weights": "guessed" }), "weights is 'guessed'"),
            (json!({ "lanes": -1 }), "-1"),
        ] {
            let error = declared(value).unwrap_err();
            assert!(error.contains(naming), "'{naming}' in: {error}");
        }
    }
}
