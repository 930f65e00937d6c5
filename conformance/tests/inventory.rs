//! Every op and every format has all of its files.
//!
//! One stem per op in every layer is what makes the tree an index of itself. A new layer is one line in [`OP_LAYERS`] or
//! [`FORMAT_LAYERS`]; a new op fails here until each layer has it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use kernels::{DType, Stem};
use safetensors::SafeTensors;

/// A file that belongs to each op or format.
struct Layer<T> {
    /// The file, from the top of the repository. `{stem}` stands for the name.
    path: &'static str,
    /// What the file must say; `{stem}` stands for the name, `{Op}` for the op's type.
    says: &'static [&'static str],
    /// Which ops or formats have it.
    of: fn(T) -> bool,
}

const fn each<T>(path: &'static str, says: &'static [&'static str]) -> Layer<T> {
    Layer { path, says, of: |_| true }
}

const OP_LAYERS: &[Layer<Stem>] = &[
    each("kernels/src/ops/{stem}.rs", &["pub struct {Op}<"]),
    each("kernels/tests/validation/{stem}.rs", &["fn sample()"]),
    each("kernels/tests/validation/main.rs", &["mod {stem};"]),
    each("backend-cpu/src/reference/{stem}.rs", &["pub(super) fn {stem}("]),
    each("backend-cpu/src/fast/{stem}.rs", &[]),
    each("kernels/hip/{stem}.hip", &["Grid: ", "Block: "]),
    each("kernels/hip/objects/{stem}.hsaco", &[]),
    each("kernels/hip/SHA256SUMS", &[" {stem}.hip", " objects/{stem}.hsaco"]),
    each("kernels/hip/mutants/mutants.toml", &["stem = \"{stem}\""]),
    each("backend-hip/src/ops/{stem}.rs", &["kernels::ops::{Op}"]),
    each("backend-hip/src/objects.rs", &["\"{stem}\""]),
    each("conformance/src/ops/{stem}.rs", &["pub struct {Op}"]),
    each("conformance/src/ops/mod.rs", &["{stem}::{Op}"]),
    Layer { path: "backend-cpu/tests/bounds/{stem}.rs", says: &["#[test]"], of: bounded },
    Layer { path: "backend-cpu/tests/bounds/main.rs", says: &["mod {stem};"], of: bounded },
    Layer { path: "backend-cpu/tests/bounds/correctly_rounded.rs", says: &["Stem::{Op}"], of: rounded },
    each("benches/benches/{stem}.rs", &["Stem::{Op}"]),
    each("benches/Cargo.toml", &["name = \"{stem}\""]),
    each("golden/{stem}/make.py", &["golden/{stem}/{stem}.safetensors"]),
    each("golden/{stem}/{stem}.safetensors", &[]),
];

const FORMAT_LAYERS: &[Layer<DType>] = &[
    Layer { path: "kernels/src/quant/{stem}.rs", says: &["impl BlockFormat<"], of: DType::is_quantised },
    Layer {
        path: "kernels/src/quant/float.rs",
        says: &["DType = DType::{Op};"],
        of: |dtype| !dtype.is_quantised(),
    },
    each("golden/quant/{stem}.safetensors", &[]),
];

/// Headings of an op's page, in their order.
const OP_PAGE: [&str; 6] = ["Formula", "Operands", "Errors", "Bound", "Edge cases", "References"];

/// Headings of a format's page, in their order.
const FORMAT_PAGE: [&str; 4] = ["Layout", "Formula", "Exactness", "References"];

/// Bytes that all golden files together may take.
const GOLDEN_BYTES: usize = 8_000_000;

enum Class {
    Bitwise,
    Rounded,
    Bounded,
}

/// How an op's output is compared, as the table in `kernels::ops` says.
fn class(stem: Stem) -> Class {
    match stem {
        Stem::RmsNorm
        | Stem::Matmul
        | Stem::Rope
        | Stem::Attention
        | Stem::Softmax
        | Stem::SiluMul
        | Stem::GeluMul => Class::Bounded,
        Stem::Add | Stem::Mul | Stem::Scale => Class::Rounded,
        Stem::Embed
        | Stem::KvWrite
        | Stem::Argmax
        | Stem::Dequantize
        | Stem::Quantize
        | Stem::Cast
        | Stem::Copy
        | Stem::Fill => Class::Bitwise,
    }
}

fn bounded(stem: Stem) -> bool {
    matches!(class(stem), Class::Bounded)
}

fn rounded(stem: Stem) -> bool {
    matches!(class(stem), Class::Rounded)
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What is wrong with the files of the op or format called `stem`, whose type in the source is called `name`.
fn faults<T: Copy>(layers: &[Layer<T>], of: T, stem: &str, name: &str) -> Vec<String> {
    let fill_in = |text: &str| text.replace("{stem}", stem).replace("{Op}", name);
    let mut faults = Vec::new();
    for layer in layers.iter().filter(|layer| (layer.of)(of)) {
        let path = fill_in(layer.path);
        match fs::read(top().join(&path)) {
            Err(error) => faults.push(format!("{stem}: {path}: {error}")),
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                let unsaid = layer.says.iter().map(|said| fill_in(said)).filter(|said| !text.contains(said));
                faults.extend(unsaid.map(|said| format!("{stem}: {path} does not say '{said}'")));
            }
        }
    }
    faults
}

/// What is wrong with the page in `path`: headings other than `due`, or one with nothing under it.
fn page_faults(path: &str, due: &[&str]) -> Vec<String> {
    let text = match fs::read_to_string(top().join(path)) {
        Ok(text) => text,
        Err(error) => return vec![format!("{path}: {error}")],
    };
    let mut sections: Vec<(&str, usize)> = Vec::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("//!")).map(str::trim) {
        match (line.strip_prefix("# "), sections.last_mut()) {
            (Some(heading), _) => sections.push((heading, 0)),
            (None, Some((_, lines))) => *lines += usize::from(!line.is_empty()),
            (None, None) => {}
        }
    }
    let headings: Vec<_> = sections.iter().map(|(heading, _)| *heading).collect();
    if headings != due {
        return vec![format!("{path}: headings {headings:?}, due are {due:?}")];
    }
    let empty = sections.iter().filter(|(_, lines)| *lines == 0);
    empty.map(|(heading, _)| format!("{path}: nothing under '{heading}'")).collect()
}

#[track_caller]
fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn every_op_has_a_file_in_every_layer() {
    let each = |stem: &Stem| faults(OP_LAYERS, *stem, stem.name(), &format!("{stem:?}"));
    assert_none(&Stem::ALL.iter().flat_map(each).collect::<Vec<_>>());
}

#[test]
fn every_format_has_a_file_in_every_layer() {
    let each = |dtype| faults(FORMAT_LAYERS, dtype, dtype.name(), &format!("{dtype:?}"));
    assert_none(&DType::WEIGHTS.into_iter().flat_map(each).collect::<Vec<_>>());
}

#[test]
fn every_page_has_its_headings() {
    let ops = Stem::ALL.iter().map(|stem| page_faults(&format!("kernels/src/ops/{stem}.rs"), &OP_PAGE));
    let formats = DType::WEIGHTS.into_iter().map(|dtype| {
        let page = if dtype.is_quantised() { dtype.name() } else { "float" };
        page_faults(&format!("kernels/src/quant/{page}.rs"), &FORMAT_PAGE)
    });
    assert_none(&ops.chain(formats).flatten().collect::<Vec<_>>());
}

/// Every file in the folders of `golden/`, with its content.
fn golden_files() -> Vec<(PathBuf, Vec<u8>)> {
    let folders = fs::read_dir(top().join("golden")).unwrap().map(|entry| entry.unwrap().path());
    let entries = folders.filter(|path| path.is_dir()).flat_map(|folder| fs::read_dir(folder).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    let golden = paths.filter(|path| path.extension().is_some_and(|e| e == "safetensors"));
    golden
        .map(|path| {
            let bytes = fs::read(&path).unwrap();
            (path, bytes)
        })
        .collect()
}

#[test]
fn golden_files_name_what_made_them() {
    for (path, bytes) in golden_files() {
        let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
        let metadata = header.metadata().clone().unwrap_or_default();
        let generator = metadata.get("generator").map_or("", String::as_str);
        assert!(generator.contains("make.py"), "{}: generator '{generator}'", path.display());
        let version = generator.contains("numpy ") || metadata.contains_key("numpy");
        assert!(version, "{}: no version of numpy in '{generator}'", path.display());
    }
}

#[test]
fn golden_files_are_small_together() {
    let total: usize = golden_files().iter().map(|(_, bytes)| bytes.len()).sum();
    assert!((1..=GOLDEN_BYTES).contains(&total), "{total} bytes, {GOLDEN_BYTES} may be");
}
