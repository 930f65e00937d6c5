//! The layers of the repository: which files an op has, what each must say, and who writes it.
//!
//! One stem per op in every layer is what makes the tree an index of itself. This list is the only place that knows the layers:
//! `assay story` prints it, `assay scaffold` writes the files of a new op from it, and the inventory test fails for an op that lacks
//! one. A new layer is one entry here.

use kernels::{Class, Stem};

/// Who writes a file.
#[derive(Clone, Copy, Debug)]
pub enum Origin {
    /// `assay scaffold` starts it from this template; a person finishes it.
    Scaffold(&'static str),
    /// `assay scaffold` adds the op to the list of ops.
    Listed,
    /// A person adds the op to a file that all ops share.
    Shared(&'static str),
    /// A script makes it.
    Generated(&'static str),
}

/// Files that belong to each op.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// What the file is, for people.
    pub what: &'static str,
    /// The file, from the top of the repository. `{op}` stands for the stem.
    path: &'static str,
    /// What the file must say; `{op}` stands for the stem, `{Op}` for the op's type.
    says: &'static [&'static str],
    /// Which classes of ops have it.
    classes: &'static [Class],
    /// Who writes it.
    pub origin: Origin,
}

const ALL: &[Class] = &[Class::Bitwise, Class::Rounded, Class::Bounded];

/// Every layer, in the order in which one would read them.
pub const LAYERS: &[Layer] = &[
    Layer {
        what: "what it computes, refuses, and may be wrong by",
        path: "kernels/src/ops/{op}.rs",
        says: &["pub struct {Op}<", "operands! {"],
        classes: ALL,
        origin: Origin::Scaffold(include_str!("templates/page.txt")),
    },
    Layer {
        what: "the list of ops",
        path: "kernels/src/ops/mod.rs",
        says: &["{op} {Op},"],
        classes: ALL,
        origin: Origin::Listed,
    },
    Layer {
        what: "tests of what it refuses",
        path: "kernels/tests/validation/{op}.rs",
        says: &["fn sample()"],
        classes: ALL,
        origin: Origin::Scaffold(include_str!("templates/validation.txt")),
    },
    Layer {
        what: "f64 reference and oracle",
        path: "backend-cpu/src/reference/{op}.rs",
        says: &["pub(super) fn {op}("],
        classes: ALL,
        origin: Origin::Scaffold(include_str!("templates/reference.txt")),
    },
    Layer {
        what: "test of its bound",
        path: "backend-cpu/tests/bounds/{op}.rs",
        says: &["#[test]"],
        classes: &[Class::Bounded],
        origin: Origin::Scaffold(include_str!("templates/bounds.txt")),
    },
    Layer {
        what: "the list of bounds under test",
        path: "backend-cpu/tests/bounds/main.rs",
        says: &["mod {op};"],
        classes: &[Class::Bounded],
        origin: Origin::Shared("one line `mod {op};`"),
    },
    Layer {
        what: "test that it rounds once",
        path: "backend-cpu/tests/bounds/correctly_rounded.rs",
        says: &["Stem::{Op}"],
        classes: &[Class::Rounded],
        origin: Origin::Shared("the op's case"),
    },
    Layer {
        what: "fast CPU implementation",
        path: "backend-cpu/src/fast/{op}.rs",
        says: &["pub fn {op}(", "pub(super) fn numerics("],
        classes: ALL,
        origin: Origin::Scaffold(include_str!("templates/fast.txt")),
    },
    Layer {
        what: "its case in the tests of the fast backend's laws",
        path: "backend-cpu/tests/fast/cases.rs",
        says: &["Stem::{Op}"],
        classes: ALL,
        origin: Origin::Shared("one case"),
    },
    Layer {
        what: "HIP kernel",
        path: "kernels/hip/{op}.hip",
        says: &["Grid: ", "Block: "],
        classes: ALL,
        origin: Origin::Scaffold(include_str!("templates/hip.txt")),
    },
    Layer {
        what: "its gfx942 object",
        path: "kernels/hip/objects/{op}.hsaco",
        says: &[],
        classes: ALL,
        origin: Origin::Generated("bash kernels/hip/build.sh"),
    },
    Layer {
        what: "hashes of sources and objects",
        path: "kernels/hip/SHA256SUMS",
        says: &[" {op}.hip", " objects/{op}.hsaco"],
        classes: ALL,
        origin: Origin::Generated("bash kernels/hip/build.sh"),
    },
    Layer {
        what: "launch of the kernel",
        path: "backend-hip/src/ops/{op}.rs",
        says: &["kernels::ops::{Op}", "pub(super) fn numerics("],
        classes: ALL,
        origin: Origin::Scaffold(include_str!("templates/launch.txt")),
    },
    Layer {
        what: "conformance cases",
        path: "conformance/src/ops/{op}.rs",
        says: &["pub struct {Op}", "pub type Cases"],
        classes: ALL,
        origin: Origin::Scaffold(include_str!("templates/cases.txt")),
    },
    Layer {
        what: "script that computes golden results",
        path: "golden/{op}/make.py",
        says: &["golden/{op}/{op}.safetensors"],
        classes: ALL,
        origin: Origin::Scaffold(include_str!("templates/golden.txt")),
    },
    Layer {
        what: "golden results, by other people's code",
        path: "golden/{op}/{op}.safetensors",
        says: &[],
        classes: ALL,
        origin: Origin::Generated("PYTHONPATH=golden python golden/{op}/make.py"),
    },
    Layer {
        what: "mutants of the backends",
        path: "conformance/zoo/src/values.rs",
        says: &["Stem::{Op}"],
        classes: ALL,
        origin: Origin::Shared("at least one wrong result that somebody has computed"),
    },
    Layer {
        what: "mutants of the kernel",
        path: "kernels/hip/mutants/mutants.toml",
        says: &["stem = \"{op}\""],
        classes: ALL,
        origin: Origin::Shared("at least one bug, then `python kernels/hip/mutants/build.py`"),
    },
    Layer {
        what: "what a wrong result looks like",
        path: "conformance/forensics/src/pattern/recomputed.rs",
        says: &["Stem::{Op}"],
        classes: ALL,
        origin: Origin::Shared("mistakes that can be recomputed, or the arm of ops without any"),
    },
    Layer {
        what: "sizes of real models, for the cost report",
        path: "conformance/cli/src/quality/sizes.rs",
        says: &["Stem::{Op}"],
        classes: ALL,
        origin: Origin::Shared("a case of each model that uses it"),
    },
    Layer {
        what: "what its kernels cost",
        path: "kernels/hip/quality.toml",
        says: &["\n{op}"],
        classes: ALL,
        origin: Origin::Generated("assay gpu report --save kernels/hip/quality.toml"),
    },
    Layer {
        what: "bench",
        path: "benches/benches/{op}.rs",
        says: &["Stem::{Op}"],
        classes: ALL,
        origin: Origin::Scaffold(include_str!("templates/bench.txt")),
    },
];

/// The name of an op in the two forms that files use.
#[derive(Clone, Debug)]
pub struct Names {
    /// `rms_norm`
    pub op: String,
    /// `RmsNorm`
    pub ty: String,
}

impl Names {
    /// The names of an op that exists.
    pub fn of(stem: Stem) -> Self {
        Names { op: stem.name().into(), ty: stem.type_name().into() }
    }

    /// `text` with `{op}` and `{Op}` filled in.
    pub fn fill(&self, text: &str) -> String {
        text.replace("{op}", &self.op).replace("{Op}", &self.ty)
    }
}

impl Layer {
    /// Whether ops of `class` have it.
    pub fn has(&self, class: Class) -> bool {
        self.classes.contains(&class)
    }

    /// The file of an op.
    pub fn path(&self, names: &Names) -> String {
        names.fill(self.path)
    }

    /// What the op's file must say.
    pub fn says(&self, names: &Names) -> Vec<String> {
        self.says.iter().map(|said| names.fill(said)).collect()
    }

    /// Whether the file belongs to the op alone.
    pub fn is_own(&self) -> bool {
        self.path.contains("{op}")
    }
}

/// What is missing of the op `names` of `class`; `content` reads a file from the top of the repository.
pub fn omissions(names: &Names, class: Class, content: impl Fn(&str) -> Option<Vec<u8>>) -> Vec<String> {
    let mut missing = Vec::new();
    for layer in LAYERS.iter().filter(|layer| layer.has(class)) {
        let path = layer.path(names);
        let Some(bytes) = content(&path) else {
            missing.push(format!("{}: {path} ({}) is missing", names.op, layer.what));
            continue;
        };
        let text = String::from_utf8_lossy(&bytes);
        let unsaid = layer.says(names).into_iter().filter(|said| !text.contains(said.as_str()));
        missing.extend(
            unsaid.map(|said| format!("{}: {path} ({}) does not say '{said}'", names.op, layer.what)),
        );
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_omission_is_named() {
        let names = Names { op: "foo_bar".into(), ty: "FooBar".into() };
        for (nth, left_out) in LAYERS.iter().enumerate().filter(|(_, layer)| layer.has(Class::Bounded)) {
            let content = |path: &str| {
                let layers = LAYERS.iter().enumerate().filter(|(at, l)| *at != nth && l.path(&names) == path);
                let said: Vec<String> = layers.flat_map(|(_, l)| l.says(&names)).collect();
                let exists = !left_out.is_own() || left_out.path(&names) != path;
                exists.then(|| said.join("\n").into_bytes())
            };
            let missing = omissions(&names, Class::Bounded, content);
            let path = left_out.path(&names);
            assert!(!missing.is_empty() && missing.iter().all(|m| m.contains(&path)), "{path}: {missing:?}");
        }
    }
}
