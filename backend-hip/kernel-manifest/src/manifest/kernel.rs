//! A manifest against what the code objects say about their kernels.

use code_object::{ArgumentKind, Kernel};
use kernels::{DType, OperandKind};

use super::{ArgumentEntry, ArgumentWhat, Entry, LaunchEntry, Manifest, ManifestError, Mistake};
use crate::expression::{Name, Scope};
use crate::files::KernelFiles;
use crate::value::{Value, ValueError};

/// LDS of a workgroup on every AMD GPU so far.
pub(crate) const LDS_BYTES: u64 = 64 << 10;

/// Names of a manifest without a form: nothing has a value.
struct Constants;

impl Scope for Constants {
    fn value(&self, name: &Name) -> Result<Value, ValueError> {
        Err(ValueError::Late(name.to_string()))
    }

    fn given(&self, name: &Name) -> Result<bool, ValueError> {
        Err(ValueError::Late(name.to_string()))
    }
}

impl Manifest {
    /// Checks every launch against its kernel: that it is there, and the count, kinds and sizes of its arguments, and what is the same
    /// for all forms of block and LDS.
    pub fn check(&self, files: &KernelFiles) -> Result<(), ManifestError> {
        let checked = self.entries.iter().try_for_each(|entry| {
            constants(entry)?;
            entry.launches.iter().try_for_each(|launch| check(entry, launch, files))
        });
        checked.map_err(|Mistake { line, what }| ManifestError {
            file: self.file.to_path_buf(),
            line: Some(line),
            what,
        })
    }
}

impl Manifest {
    /// The names of all kernels that an op may launch.
    pub fn symbols(&self, stem: kernels::Stem) -> Vec<String> {
        let entries = self.entries.iter().filter(|entry| entry.stem == stem);
        let launches = entries.flat_map(|entry| entry.launches.iter().map(move |launch| (entry, launch)));
        launches.flat_map(|(entry, launch)| symbols(entry, launch).unwrap_or_default()).collect()
    }
}

/// Expressions that are wrong whatever the form.
fn constants(entry: &Entry) -> Result<(), Mistake> {
    for stated in entry.stated() {
        match stated.expression.value(&Constants) {
            Ok(_) | Err(ValueError::Late(_)) => {}
            Err(error) => {
                let what = format!("{} '{}': {error}", stated.what, stated.expression.text());
                return Err(Mistake { line: stated.line, what });
            }
        }
    }
    Ok(())
}

fn check(entry: &Entry, launch: &LaunchEntry, files: &KernelFiles) -> Result<(), Mistake> {
    for name in symbols(entry, launch)? {
        let Some((_, kernel)) = files.find(&name) else {
            let known: Vec<&str> = files.kernels().map(|kernel| kernel.name.as_str()).collect();
            let what = format!("no kernel '{name}' in {files}; there {}", listed(&known));
            return Err(Mistake { line: launch.kernel_line, what });
        };
        arguments(launch, kernel)?;
        sizes(launch, kernel)?;
    }
    Ok(())
}

fn listed(names: &[&str]) -> String {
    match names {
        [] => "is none".into(),
        [one] => format!("is {one}"),
        several => format!("are {}", several.join(", ")),
    }
}

/// The names of the kernels that a launch may mean: one for each choice of the element types in its name.
fn symbols(entry: &Entry, launch: &LaunchEntry) -> Result<Vec<String>, Mistake> {
    let wrong = |what: String| Mistake {
        line: launch.kernel_line,
        what: format!("kernel '{}': {what}", launch.kernel),
    };
    let mut names = vec![launch.kernel.clone()];
    while let Some(operand) = names.first().and_then(|name| placeholder(name)).map(str::to_owned) {
        let facts = entry.stem.facts();
        if !facts.operands.iter().any(|known| known.name == operand) {
            return Err(wrong(format!("{} has no operand '{operand}'", entry.stem)));
        }
        let types = entry.types_of(&operand);
        let with = |name: &String| types.iter().map(|dtype| fill(name, &operand, *dtype)).collect::<Vec<_>>();
        names = names.iter().flat_map(with).collect();
        if names.len() > MOST {
            return Err(wrong(format!("stands for more than {MOST} kernels")));
        }
    }
    Ok(names)
}

/// Most kernels that one name with element types in it may stand for.
const MOST: usize = 1024;

/// The operand between the first braces of a kernel's name.
pub(crate) fn placeholder(name: &str) -> Option<&str> {
    let (_, rest) = name.split_once('{')?;
    rest.split_once('}').map(|(operand, _)| operand)
}

/// The name with an operand's element type in the place of its placeholder.
pub(crate) fn fill(name: &str, operand: &str, dtype: DType) -> String {
    name.replace(&format!("{{{operand}}}"), dtype.name())
}

impl Entry {
    /// The element types that operand `name` may have.
    pub(crate) fn types_of(&self, name: &str) -> Vec<DType> {
        let operand = self.stem.facts().operands.iter().find(|operand| operand.name == name);
        let indices = operand.is_some_and(|operand| operand.kind == OperandKind::Indices);
        // The output of argmax holds indices too.
        let index_output = self.stem == kernels::Stem::Argmax && name == "out";
        let usual = if indices || index_output { DType::U32 } else { DType::F32 };
        self.types.get(name).cloned().unwrap_or_else(|| vec![usual])
    }
}

fn arguments(launch: &LaunchEntry, kernel: &Kernel) -> Result<(), Mistake> {
    let want: Vec<_> = kernel.explicit_arguments().collect();
    for (at, (want, given)) in want.iter().zip(&launch.arguments).enumerate() {
        let (kind, size) = kind(given);
        if want.kind != kind || want.size != size {
            let name = want.name.as_deref().map_or(String::new(), |name| format!(" '{name}'"));
            let what = format!(
                "argument {} '{}' is {}, argument {}{name} of kernel {} is {}",
                at + 1,
                given.text,
                described(&kind, size),
                at + 1,
                kernel.name,
                described(&want.kind, want.size)
            );
            return Err(Mistake { line: given.line, what });
        }
    }
    if want.len() == launch.arguments.len() {
        return Ok(());
    }
    let rest: Vec<String> = want
        .iter()
        .skip(launch.arguments.len())
        .map(|missing| {
            let name = missing.name.as_deref().unwrap_or("unnamed");
            format!("'{name}' ({})", described(&missing.kind, missing.size))
        })
        .collect();
    let missing = if rest.is_empty() { String::new() } else { format!("; missing are {}", rest.join(", ")) };
    let (takes, given) = (want.len(), launch.arguments.len());
    let what = format!("kernel {} takes {takes} arguments, {given} are given{missing}", kernel.name);
    Err(Mistake { line: launch.args_line, what })
}

fn kind(given: &ArgumentEntry) -> (ArgumentKind, u32) {
    match &given.what {
        ArgumentWhat::Operand(_) | ArgumentWhat::Workspace(_) | ArgumentWhat::Null => {
            (ArgumentKind::GlobalBuffer, 8)
        }
        ArgumentWhat::Scalar(scalar, _) => (ArgumentKind::ByValue, scalar.size()),
    }
}

fn described(kind: &ArgumentKind, size: u32) -> String {
    match kind {
        ArgumentKind::GlobalBuffer => "a pointer".into(),
        ArgumentKind::ByValue => format!("{size} bytes by value"),
        other => format!("{size} bytes, {other}"),
    }
}

/// Block and LDS, where they are the same for all forms.
fn sizes(launch: &LaunchEntry, kernel: &Kernel) -> Result<(), Mistake> {
    let block: Result<Vec<i64>, _> =
        launch.block.iter().map(|stated| stated.expression.integer(&Constants)).collect();
    if let (Ok(block), Some(stated)) = (block, launch.block.first()) {
        let threads: i64 = block.iter().product();
        let limit = i64::from(kernel.max_flat_workgroup_size);
        if threads > limit || threads < 1 {
            let what = format!("block has {threads} threads, kernel {} takes 1 to {limit}", kernel.name);
            return Err(Mistake { line: stated.line, what });
        }
        let shape = [0, 1, 2].map(|axis| block.get(axis).copied().unwrap_or(1));
        if let Some(required) = kernel.required_workgroup_size
            && required.map(i64::from) != shape
        {
            let what = format!("block is {shape:?}, kernel {} demands {required:?}", kernel.name);
            return Err(Mistake { line: stated.line, what });
        }
    }
    let Some(stated) = &launch.lds else { return Ok(()) };
    if let Ok(bytes) = stated.expression.integer(&Constants) {
        let all = u64::try_from(bytes).map(|bytes| bytes.saturating_add(kernel.lds_size.into()));
        if !all.is_ok_and(|all| all <= LDS_BYTES) {
            let own = kernel.lds_size;
            let what = format!(
                "lds is {bytes} bytes besides {own} of kernel {}'s own, the limit is {LDS_BYTES}",
                kernel.name
            );
            return Err(Mistake { line: stated.line, what });
        }
    }
    Ok(())
}
