//! A first manifest, from what a code object says about its kernels: names of arguments are taken for operands where they are like
//! them. What could not be guessed is a `?`, which the manifest's reader refuses with its line.

use std::fmt::Write;
use std::path::Path;

use code_object::{Argument, ArgumentKind, Kernel};
use kernels::{OperandKind, Stem};
use serde_json::Value as Json;

use crate::files::KernelFiles;

/// What else operands, dimensions and parameters are called. Without underscores, in small letters.
const ALSO: [(&str, &[&str]); 24] = [
    ("out", &["output", "dst", "y", "o", "result", "res", "z", "c"]),
    ("x", &["input", "inp", "in", "src", "a", "hidden", "hiddenstates"]),
    ("a", &["x", "lhs", "input", "in0"]),
    ("b", &["y", "rhs", "other", "residual", "in1"]),
    ("weight", &["w", "gamma", "gain", "g", "scale", "weights", "b"]),
    ("bias", &["beta", "b"]),
    ("gate", &["x", "g", "a"]),
    ("up", &["y", "u", "b"]),
    ("table", &["weight", "w", "embedding", "embeddings", "emb"]),
    ("ids", &["tokens", "tokenids", "inputids", "indices", "idx"]),
    ("positions", &["pos", "position", "slots", "slotmapping"]),
    ("seqs", &["seq", "sequences", "seqids"]),
    ("factors", &["freqfactors", "freqs"]),
    ("q", &["query"]),
    ("k", &["key", "keys"]),
    ("v", &["value", "values"]),
    ("k_cache", &["keycache", "kcache", "k", "key"]),
    ("v_cache", &["valuecache", "vcache", "v", "value"]),
    ("rows", &["nrows", "nrow", "numrows", "m", "tokens", "numtokens", "ntokens", "batch"]),
    ("columns", &["ncols", "ncol", "cols", "n", "numcols", "hiddensize", "dim", "d", "width", "size"]),
    ("eps", &["epsilon", "varianceepsilon"]),
    ("m", &["rows", "nrows"]),
    ("n", &["cols", "ncols"]),
    ("k", &["inner", "depth"]),
];

/// What Triton's compiler writes beside a code object.
struct Triton {
    name: String,
    threads: u64,
    shared: u64,
}

impl Triton {
    /// The file beside `object`, if it is one of Triton's.
    fn beside(object: &Path) -> Option<Self> {
        let text = input_file::read_text(&object.with_extension("json"), 1 << 20).ok()?;
        let json: Json = serde_json::from_str(&text).ok()?;
        let number = |name: &str| json.get(name).and_then(Json::as_u64);
        let lanes = json.pointer("/target/warp_size").and_then(Json::as_u64).or_else(|| number("warp_size"));
        Some(Triton {
            name: json.get("name")?.as_str()?.into(),
            threads: number("num_warps")?.checked_mul(lanes.unwrap_or(64))?,
            shared: number("shared").unwrap_or(0),
        })
    }
}

/// The kernel that a draft is about: the one asked for, the only one, or the one whose name is most like the op's.
pub fn kernel<'k>(files: &'k KernelFiles, stem: Stem, wanted: Option<&str>) -> Result<&'k Kernel, String> {
    let all: Vec<&Kernel> = files.kernels().collect();
    let names = || all.iter().map(|kernel| kernel.name.as_str()).collect::<Vec<_>>().join(", ");
    if let Some(wanted) = wanted {
        let found = all.iter().find(|kernel| kernel.name == wanted);
        return found
            .copied()
            .ok_or_else(|| format!("no kernel '{wanted}' in {files}; there are {}", names()));
    }
    let bare = |name: &str| name.replace('_', "").to_lowercase();
    let like: Vec<&Kernel> =
        all.iter().copied().filter(|kernel| bare(&kernel.name).contains(&bare(stem.name()))).collect();
    match (all.as_slice(), like.as_slice()) {
        ([], _) => Err(format!("{files}: no kernel there")),
        ([one], _) | (_, [one]) => Ok(one),
        _ => Err(format!("several kernels may compute {stem}: name one of {} with --kernel", names())),
    }
}

/// A first manifest for `kernel`, which computes `stem`; `object` is the file that it is from.
pub fn draft(kernel: &Kernel, stem: Stem, object: &Path) -> String {
    let triton = Triton::beside(object).filter(|triton| triton.name == kernel.name);
    let facts = stem.facts();
    let arguments: Vec<&Argument> = kernel.explicit_arguments().collect();
    let mut guessed: Vec<Option<String>> = guess(stem, &arguments);
    if triton.is_some() {
        // Two pointers of Triton's own come last: memory for the whole grid, and for the profiler.
        for guess in guessed.iter_mut().rev().take(2).filter(|guess| guess.is_none()) {
            *guess = Some("ptr null".into());
        }
    }
    let mut text = format!(
        "# How Assay launches {} as {stem}. {}.\n# The names: {}.\n\n[[op]]\nname = \"{stem}\"\n",
        kernel.name,
        facts_about(kernel),
        crate::vocabulary::offered(facts)
    );
    text += "# Which forms the kernel takes; the others are reported as unsupported.\nsupports = []\n";
    let unused: Vec<&str> = facts
        .params
        .iter()
        .filter(|param| !guessed.iter().flatten().any(|guess| guess.split(' ').any(|word| word == **param)))
        .copied()
        .collect();
    for param in &unused {
        let _ = writeln!(
            text,
            "# No argument is like the parameter {param}: pass it, or say under supports which value the kernel takes."
        );
    }
    text += "\n# How the kernel computes; its error bound follows from this. Without lanes, sums may have any order.\n[op.numerics]\n";
    text += "accumulator = \"f32\"\ndeterministic = true\nbatch_invariant = true\n\n[[op.launch]]\n";
    let _ = writeln!(text, "kernel = \"{}\"", kernel.name);
    let by_rows = facts.axes.first().map_or("1", |axis| axis.name);
    let _ = writeln!(text, "grid = [\"{by_rows}\"] # blocks: one per {by_rows} is a guess");
    let _ = writeln!(text, "block = {}", block(kernel, triton.as_ref()));
    if let Some(triton) = triton.filter(|triton| triton.shared > 0) {
        let _ = writeln!(text, "lds = {}", triton.shared);
    }
    text += "args = [\n";
    for (argument, guess) in arguments.iter().zip(guessed) {
        let line = guess.unwrap_or_else(|| format!("{} ?", type_of(argument)));
        let name = argument.name.as_deref().unwrap_or("unnamed");
        let _ = writeln!(text, "    \"{line}\", # {name}");
    }
    text + "]\n"
}

fn facts_about(kernel: &Kernel) -> String {
    let (arguments, threads) = (kernel.explicit_arguments().count(), kernel.max_flat_workgroup_size);
    format!(
        "Its object says: {arguments} arguments, up to {threads} threads, {} bytes of LDS",
        kernel.lds_size
    )
}

fn block(kernel: &Kernel, triton: Option<&Triton>) -> String {
    if let Some(triton) = triton {
        return format!("{} # num_warps of Triton's json", triton.threads);
    }
    match kernel.required_workgroup_size {
        Some([x, y, z]) => format!("[{x}, {y}, {z}]"),
        // Who says nothing about the block gets this limit from the compiler.
        None if kernel.max_flat_workgroup_size == 1024 => "256 # a guess".into(),
        None => format!("{} # the most that the kernel allows", kernel.max_flat_workgroup_size),
    }
}

/// The type of an argument, as far as its size tells.
fn type_of(argument: &Argument) -> &'static str {
    match (&argument.kind, argument.size) {
        (ArgumentKind::GlobalBuffer, _) => "ptr",
        (_, 1) => "i8",
        (_, 2) => "i16",
        (_, 4) => "i32",
        _ => "i64",
    }
}

/// A name without what says only that it is a pointer.
fn plain(name: &str) -> String {
    let mut name = name.to_lowercase();
    for end in ["_ptr", "_pointer", "_ptrs", "ptr"] {
        if let Some(rest) = name.strip_suffix(end).filter(|rest| !rest.is_empty()) {
            name = rest.trim_end_matches('_').into();
        }
    }
    for start in ["d_", "p_", "ptr_"] {
        if let Some(rest) = name.strip_prefix(start) {
            name = rest.into();
        }
    }
    name.replace('_', "")
}

/// How well `name` stands for `what`; nothing for not at all.
fn likeness(name: &str, what: &str) -> Option<usize> {
    if name == what.replace('_', "") {
        return Some(0);
    }
    let also = ALSO.iter().filter(|(known, _)| *known == what).flat_map(|(_, also)| also.iter());
    also.copied().position(|other| other == name).map(|at| at + 1)
}

/// What each argument passes, as far as its name tells. No operand is guessed twice.
fn guess(stem: Stem, arguments: &[&Argument]) -> Vec<Option<String>> {
    let facts = stem.facts();
    let mut candidates = Vec::new();
    for (at, argument) in arguments.iter().enumerate() {
        let Some(name) = argument.name.as_deref().map(plain) else { continue };
        if argument.kind == ArgumentKind::GlobalBuffer {
            for operand in &facts.operands {
                if let Some(likeness) = likeness(&name, operand.name) {
                    candidates.push((likeness, at, operand.name, format!("ptr {}", operand.name)));
                }
            }
            continue;
        }
        let scalar = type_of(argument);
        for axis in facts.axes {
            if let Some(likeness) = likeness(&name, axis.name) {
                candidates.push((likeness, at, axis.name, format!("{scalar} {}", axis.name)));
            }
        }
        for param in facts.params {
            if let Some(likeness) = likeness(&name, param) {
                candidates.push((likeness, at, param, format!("{} {param}", float_of(scalar))));
            }
        }
        if let Some(rest) = name.split_once("stride").map(|(before, after)| format!("{before}{after}")) {
            let rest = rest.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches("row");
            let strided = facts.operands.iter().filter(|operand| operand.kind != OperandKind::Indices);
            for operand in strided {
                // A stride that says not whose it is, is the input's.
                let first = facts.operands.first().is_some_and(|first| first.name == operand.name);
                let like = likeness(rest, operand.name).or((rest.is_empty() && first).then_some(9));
                if let Some(likeness) = like {
                    candidates.push((likeness, at, "", format!("{scalar} {}.stride[0]", operand.name)));
                }
            }
        }
    }
    candidates.sort_by_key(|(likeness, at, ..)| (*likeness, *at));
    let mut guessed = vec![None; arguments.len()];
    let mut taken: Vec<String> = Vec::new();
    for (_, at, _, line) in candidates {
        if guessed[at].is_none() && !taken.contains(&line) {
            taken.push(line.clone());
            guessed[at] = Some(line);
        }
    }
    guessed
}

/// A parameter is a number with a fraction, as a rule.
fn float_of(scalar: &'static str) -> &'static str {
    if scalar == "i64" { "f64" } else { "f32" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_kernels_use_lead_to_operands() {
        for (name, operand) in [
            ("x_ptr", "x"),
            ("output_ptr", "out"),
            ("dst", "out"),
            ("gamma", "weight"),
            ("K_Cache", "k_cache"),
        ] {
            assert!(likeness(&plain(name), operand).is_some(), "{name}");
        }
        assert!(likeness("eps", "out").is_none());
    }
}
