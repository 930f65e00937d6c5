//! The run itself, in a process that may die.

use std::cell::Cell;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use engine::config::ModelConfig;
use engine::generate::{GenerateError, GenerateOptions, generate};
use engine::gguf::Gguf;
use engine::kv_cache::KvConfig;
use engine::model::{Model, ModelError};
use engine::sampler::{Sampler, SamplerConfig};
use engine::taps::NoTaps;
use kernels::decor::{AnyWatch, Seen, Wait, Watch, Watched};
use kernels::{Backend, Buffer, DType, DeviceError, Pending, Record, Tag};

use super::{Argument, Call, CopyCall, Event};
use crate::backends::Job;
use crate::capsule::{self, Capsule, Origin};
use crate::provenance::{self, ModelId};
use crate::replay::right_answers;

/// Tells an event to whoever started this process. A line is flushed before anything else happens.
pub fn tell(event: &Event) {
    let mut out = std::io::stdout().lock();
    // A parent that has gone away is told nothing; the run ends by itself.
    let _ = serde_json::to_writer(&mut out, event).map_err(std::io::Error::other);
    let _ = out.write_all(b"\n").and_then(|()| out.flush());
}

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Inside<'a> {
    /// The model.
    pub gguf: &'a Gguf,
    /// What it is made of.
    pub config: &'a ModelConfig,
    /// Its file.
    pub model: &'a ModelId,
    /// The prompt.
    pub prompt: &'a [u32],
    /// Tokens to generate.
    pub tokens: usize,
    /// Rows of the prompt that run together.
    pub chunk: usize,
    /// Type of the cache.
    pub kv: DType,
    /// Name of the backend.
    pub backend: &'a str,
    /// Whether to wait for each op.
    pub synced: bool,
    /// Where each op is stored before it starts; the file of the last one stays.
    pub capsule: Option<&'a Path>,
}

impl Job for Inside<'_> {
    type Answer = Result<(), GenerateError>;

    fn run<B: Backend + 'static>(self, backend: B) -> Result<(), GenerateError> {
        let watch: AnyWatch<'_, B> =
            if self.synced { Box::new(Locator { run: self, started: Cell::new(0) }) } else { Box::new(()) };
        let mut model = Model::load(Watched::new(backend, watch), self.gguf, self.config.clone())?;
        let slots = self.prompt.len() + self.tokens.saturating_sub(1);
        let cache = model.cache(KvConfig { dtype: self.kv, seqs: 1, slots });
        let mut cache = cache.map_err(ModelError::from)?;
        let greedy = Sampler::new(SamplerConfig::default());
        let mut greedy = greedy.map_err(|source| GenerateError::Sampler { step: 0, source })?;
        let options = GenerateOptions { max_tokens: self.tokens, chunk: self.chunk, stop: &|_| false };
        let go_on = |_| ControlFlow::Continue(());
        generate(&mut model, &mut cache, self.prompt, &mut greedy, options, &mut NoTaps, go_on).map(drop)
    }
}

/// Tells of each op before it starts, and waits for it.
struct Locator<'a> {
    run: Inside<'a>,
    /// Ops started.
    started: Cell<usize>,
}

impl<D: Backend> Watch<D> for Locator<'_> {
    /// A capsule holds all of a buffer, and a device that checks minds reading what nobody wrote.
    fn fill(&self) -> Option<u8> {
        self.run.capsule.map(|_| 0xff)
    }

    fn before(&self, seen: &Seen<'_, D>) -> Result<(), DeviceError> {
        tell(&Event::Op(Box::new(call(seen, self.started.replace(self.started.get() + 1)))));
        match self.run.capsule {
            Some(path) => self.store(seen, path),
            None => Ok(()),
        }
    }

    fn after(&self, seen: &Seen<'_, D>, ran: Result<(), DeviceError>) -> Result<(), DeviceError> {
        let ended = ran.and_then(|()| seen.backend.synchronize(seen.stream));
        if let Err(error) = &ended {
            tell(&Event::Fault { what: error.to_string(), launch: seen.backend.last_launch(seen.stream) });
        }
        ended
    }

    fn wait(&self, wait: &Wait<'_>) -> Result<(), DeviceError> {
        if let Wait::Copy { label, range, tag } = wait {
            tell(&Event::Copy(CopyCall {
                tensor: tag.tensor.into(),
                step: tag.step,
                layer: tag.layer,
                extent: range.clone(),
                owner: (*label).into(),
            }));
        }
        Ok(())
    }
}

impl Locator<'_> {
    fn store<D: Backend>(&self, seen: &Seen<'_, D>, path: &Path) -> Result<(), DeviceError> {
        let content = |buffer: &D::Buffer, range| {
            seen.backend.read_bytes(seen.stream, buffer, range, Tag::of(buffer.label()))?.wait()
        };
        let record = Record::cropped(seen.op, content)?;
        let origin = Origin {
            backend: self.run.backend.into(),
            device: seen.backend.identity().device,
            build: provenance::build().into(),
            model: Some(self.run.model.clone()),
            site: seen.site.map(Into::into),
            cut: None,
        };
        let expected = right_answers(&record);
        let name = format!("op {} of a run that faulted: {}", self.started.get() - 1, record.stem);
        let case = Capsule { name, record, expected, observed: Vec::new(), origin: Some(origin) };
        capsule::write(path, provenance::build(), &[case]).map_err(|e| DeviceError::Lost(e.to_string()))
    }
}

/// The op in sight, with all its arguments.
fn call<D: Backend>(seen: &Seen<'_, D>, number: usize) -> Call {
    let arguments = seen.op.operands().into_iter().map(|o| {
        let extent = o.layout.byte_range().unwrap_or(0..0);
        let start = u64::try_from(extent.start).unwrap_or(0);
        Argument {
            name: o.name.into(),
            role: o.role,
            layout: format!("{:?}", o.layout.densified()),
            address: seen.backend.address(o.buffer).map(|at| at + start),
            owner: o.buffer.label().into(),
            allocation: o.buffer.len(),
            extent,
        }
    });
    Call {
        number,
        spot: seen.site.map(Into::into),
        op: seen.op.stem().name().into(),
        params: seen.op.params(),
        launch: None,
        arguments: arguments.collect(),
    }
}
