//! Kernels of other people, in the place of ours: launched as a [manifest](kernel_manifest) says.
//!
//! The host's side is the same as for our own kernels: the launch builder checks every launch against the code object, and the
//! checkers of the software device see every access.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use code_object::{CodeObject, Kernel, TargetId};
use kernel_manifest::{Argument, Entry, FilesError, KernelFiles, Manifest, ManifestError, Plan, Promises};
use kernels::{DeviceError, Numerics, Op, OpForm, OperandRef, Stem, Support, Valid};

use crate::api::Api;
use crate::launch::Launch;
use crate::memory::DeviceBuffer;
use crate::module::Modules;
use crate::objects::{Objects, Provided};
use crate::stream::HipStream;

/// Foreign kernels that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// There are no kernels.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// The manifest is wrong, or does not fit the kernels.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

/// What happens to an op of a form that no entry of the manifest takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Others {
    /// It is unsupported: a suite must show what is missing.
    #[default]
    Refused,
    /// Our own kernels compute it: a model runs whole.
    OnOurs,
}

/// Kernels and their manifest. A clone is the same.
#[derive(Clone, Debug)]
pub struct Foreign {
    files: KernelFiles,
    manifest: Manifest,
    others: Others,
}

impl Foreign {
    /// The kernels for `target` in files, folders or sources, and the manifest that says how they are launched, checked against them.
    pub fn load(kernels: &[PathBuf], manifest: &Path, target: &TargetId) -> Result<Self, ForeignError> {
        let manifest = Manifest::open(manifest)?;
        let files = KernelFiles::load(kernels, target)?;
        manifest.check(&files)?;
        Ok(Foreign { files, manifest, others: Others::default() })
    }

    /// The same kernels, with what happens to forms that they do not take.
    #[must_use]
    pub const fn with_others(mut self, others: Others) -> Self {
        self.others = others;
        self
    }

    /// The manifest.
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stems: Vec<&str> = self.manifest.stems().into_iter().map(Stem::name).collect();
        write!(f, "{} on {} as {} says", stems.join(", "), self.files, self.manifest)
    }
}

/// Launches of an op by whose kernels they were.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ran {
    /// On the foreign kernels.
    pub foreign: usize,
    /// On ours, because the manifest takes no such form.
    pub ours: usize,
}

/// Foreign kernels on a device.
#[derive(Debug)]
pub struct ForeignKernels {
    foreign: Foreign,
    modules: Modules,
    ran: Mutex<BTreeMap<Stem, Ran>>,
}

impl ForeignKernels {
    pub(crate) fn new(api: &Arc<Api>, foreign: Foreign) -> Self {
        let files = foreign.files.clone();
        let objects = Objects::new(files.to_string(), move |name| {
            let image = files.images().iter().find(|image| image.name == name)?;
            Some(Ok(Cow::Owned(image.bytes.clone())))
        });
        ForeignKernels { foreign, modules: Modules::new(api, objects), ran: Mutex::default() }
    }

    /// Whether the manifest has kernels of an op.
    pub fn has(&self, stem: Stem) -> bool {
        self.foreign.manifest.has(stem)
    }

    /// How often each op of the manifest was launched so far.
    pub fn ran(&self) -> BTreeMap<Stem, Ran> {
        let ran = self.ran.lock().unwrap_or_else(PoisonError::into_inner);
        self.foreign
            .manifest
            .stems()
            .into_iter()
            .map(|stem| (stem, ran.get(&stem).copied().unwrap_or_default()))
            .collect()
    }

    /// What the kernels of a form promise; `None` where ours compute it.
    pub fn promises(&self, form: &OpForm) -> Option<Promises> {
        self.entry(form).map(Entry::promises)
    }

    /// The kernels of an op, each with the object that has it.
    pub fn kernels(&self, stem: Stem) -> impl Iterator<Item = (&CodeObject, &Kernel)> {
        let names = self.foreign.manifest.symbols(stem);
        names.into_iter().filter_map(|name| {
            let (image, kernel) = self.foreign.files.find(&name)?;
            Some((&image.object, kernel))
        })
    }

    /// The objects that kernels of an op are taken from.
    pub(crate) fn provided(&self, stem: Stem) -> Vec<Provided> {
        let mut all = Vec::new();
        let names: BTreeSet<String> = self.foreign.manifest.symbols(stem).into_iter().collect();
        for image in self.foreign.files.images() {
            let has = |name: &&String| image.object.kernel(name).is_some();
            let kernels: Vec<String> = names.iter().filter(has).cloned().collect();
            if !kernels.is_empty() {
                let sha256 = crate::objects::sha256(&image.bytes);
                all.push(Provided { stem: stem.name().into(), origin: image.name.clone(), sha256, kernels });
            }
        }
        all
    }

    /// The entry that takes a form; `None` where there is none, or ours compute the op.
    fn entry(&self, form: &OpForm) -> Option<&Entry> {
        self.foreign.manifest.entry(form)?.ok()
    }

    /// How the kernels of a form declare that they compute; `None` where ours compute it.
    pub(crate) fn numerics(&self, form: &OpForm) -> Option<Numerics> {
        self.entry(form)?.numerics(form).ok()
    }

    /// Whether the kernels take a form; `None` where ours are asked.
    pub(crate) fn supports(&self, form: &OpForm) -> Option<Support> {
        match self.foreign.manifest.entry(form)? {
            Ok(_) => Some(Support::Yes),
            Err(_) if self.foreign.others == Others::OnOurs => None,
            Err(reason) => Some(Support::No(reason)),
        }
    }

    /// Whether an op is for these kernels: the manifest has it, and takes its form or leaves no other way.
    pub(crate) fn takes(&self, op: &Valid<Op<'_, DeviceBuffer>>) -> bool {
        if !self.has(op.stem()) {
            return false;
        }
        let foreign = self.foreign.others == Others::Refused || self.entry(&op.form()).is_some();
        let mut ran = self.ran.lock().unwrap_or_else(PoisonError::into_inner);
        let ran = ran.entry(op.stem()).or_default();
        if foreign {
            ran.foreign += 1;
        } else {
            ran.ours += 1;
        }
        foreign
    }

    /// Starts an op.
    #[track_caller]
    pub(crate) fn launch(
        &self,
        api: &Arc<Api>,
        stream: &HipStream,
        op: &Valid<Op<'_, DeviceBuffer>>,
    ) -> Result<(), DeviceError> {
        let (form, manifest) = (op.form(), &self.foreign.manifest);
        let unsupported = |reason| DeviceError::Unsupported { op: op.stem().name(), reason };
        let entry = match manifest.entry(&form) {
            Some(Ok(entry)) => entry,
            Some(Err(reason)) => return Err(unsupported(reason)),
            None => return Err(unsupported("the manifest leaves it out".into())),
        };
        let largest = |name: &str| indices(op, name)?.iter().max().copied();
        let plan = entry
            .plan(&form, &largest)
            .map_err(|refusal| DeviceError::Fault(format!("launch refused: {}", manifest.at(&refusal))))?;
        let operands = Operands { stem: op.stem(), all: op.operands() };
        let workspaces = workspaces(api, op.stem(), &plan)?;
        for name in &plan.zeroed {
            zero(stream, name, &operands, &plan, &workspaces)?;
        }
        plan.launches.iter().try_for_each(|launch| self.start(stream, launch, &operands, &workspaces))
    }

    #[track_caller]
    fn start(
        &self,
        stream: &HipStream,
        launch: &kernel_manifest::Launch,
        operands: &Operands<'_>,
        workspaces: &[DeviceBuffer],
    ) -> Result<(), DeviceError> {
        let (image, _) = self.foreign.files.find(&launch.kernel).ok_or_else(|| {
            let reason = format!("no kernel '{}'", launch.kernel);
            DeviceError::CodeObject { stem: self.foreign.files.to_string(), reason }
        })?;
        let function = self.modules.function(&image.name, &launch.kernel)?;
        let grid = launch.grid.map(|blocks| blocks as usize);
        let mut builder = Launch::new(function).grid(grid).block_of(launch.block).dynamic_lds(launch.lds);
        for argument in &launch.arguments {
            builder = match argument {
                Argument::Operand(name) => builder.next_pointer(operands.address(name)),
                Argument::Workspace(number) => builder.next_pointer(workspaces[*number].address(0)),
                Argument::Null => builder.next_pointer(0),
                Argument::Value(bytes, size) => builder.next_value(*bytes, *size),
            };
        }
        builder.run(stream)
    }
}

/// The operands of an op, by name.
struct Operands<'o> {
    stem: Stem,
    all: Vec<OperandRef<'o, DeviceBuffer>>,
}

impl Operands<'_> {
    /// An operand; in place, the output.
    fn find(&self, name: &str) -> Option<&OperandRef<'_, DeviceBuffer>> {
        let of = |name: &str| self.all.iter().find(|operand| operand.name == name);
        of(name).or_else(|| {
            let in_place = self.stem.facts().in_place() == Some(name);
            in_place.then(|| self.all.iter().find(|o| o.role == kernels::Role::Output)).flatten()
        })
    }

    /// The address of an operand's first element; 0 where it is not given.
    fn address(&self, name: &str) -> u64 {
        self.find(name).map_or(0, |operand| operand.buffer.address(operand.layout.offset()))
    }
}

/// Memory of exactly the size that is asked for, so that an access past it is found.
#[track_caller]
fn workspaces(api: &Arc<Api>, stem: Stem, plan: &Plan) -> Result<Vec<DeviceBuffer>, DeviceError> {
    let buffer = |(name, bytes): &(String, usize)| {
        DeviceBuffer::new(api, *bytes, &format!("workspace {name} of {stem}"))
    };
    plan.workspaces.iter().map(buffer).collect()
}

/// Sets an output or a workspace to zero, without what lies between the rows of an output.
#[track_caller]
fn zero(
    stream: &HipStream,
    name: &str,
    operands: &Operands<'_>,
    plan: &Plan,
    workspaces: &[DeviceBuffer],
) -> Result<(), DeviceError> {
    if let Some(number) = plan.workspaces.iter().position(|(known, _)| known == name) {
        let bytes = plan.workspaces[number].1;
        return if bytes == 0 { Ok(()) } else { stream.set_zero(workspaces[number].address(0), bytes) };
    }
    let Some(operand) = operands.find(name) else { return Ok(()) };
    if let Some(range) = operand.layout.byte_range().filter(|_| operand.layout.is_contiguous()) {
        return stream.set_zero(operand.buffer.address(range.start), range.len());
    }
    let mut rows = operand.layout.rows();
    rows.try_for_each(|row| stream.set_zero(operand.buffer.address(row.start), row.len()))
}

/// The values of an operand that holds indices.
fn indices<'o>(op: &'o Op<'_, DeviceBuffer>, name: &str) -> Option<&'o [u32]> {
    match (op, name) {
        (Op::Embed(op), "ids") => Some(op.ids.values()),
        (Op::Rope(op), "positions") => Some(op.positions.values()),
        (Op::KvWrite(op), "positions") => Some(op.positions.values()),
        (Op::KvWrite(op), "seqs") => Some(op.seqs.values()),
        (Op::Attention(op), "positions") => Some(op.positions.values()),
        (Op::Attention(op), "seqs") => Some(op.seqs.values()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use kernels::OperandKind;

    /// Whoever adds an op with indices tells [`super::indices`] where they are.
    #[test]
    fn every_operand_with_indices_is_thought_of() {
        let source = include_str!("foreign.rs");
        for stem in kernels::Stem::ALL {
            for operand in stem.facts().operands.iter().filter(|o| o.kind == OperandKind::Indices) {
                let arm = format!("(Op::{}(op), \"{}\")", stem.type_name(), operand.name);
                assert!(source.contains(&arm), "{arm}");
            }
        }
    }
}
