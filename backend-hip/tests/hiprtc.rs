//! ROCm's run-time compiler takes the kernel sources. Needs ROCm, not a GPU: without it the trials are ignored with what to install, and
//! fail under `ASSAY_REQUIRE_HIP=1`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::ExitCode;

use backend_hip::{hiprtc, objects};
use code_object::CodeObject;
use test_needs::Need;

/// An architecture that ROCm compilers since 5.2 know and that no object comes for.
const ARCH: &str = "gfx90a";

fn main() -> ExitCode {
    let compiler = Need::new(hiprtc::available().map_err(|missing| missing.to_string()), "ASSAY_REQUIRE_HIP");
    let trials: [(&str, fn()); 3] = [
        (
            "compiles_kernels_to_ones_with_the_same_arguments",
            compiles_kernels_to_ones_with_the_same_arguments,
        ),
        (
            "a_source_that_does_not_compile_is_an_error_with_its_name",
            a_source_that_does_not_compile_is_an_error_with_its_name,
        ),
        (
            "what_was_compiled_is_kept_and_made_anew_where_it_is_broken",
            what_was_compiled_is_kept_and_made_anew_where_it_is_broken,
        ),
    ];
    test_needs::run(trials.map(|(name, test)| compiler.trial(name, move |()| test())).into())
}

/// Sources that use builtins which the compiler of ROCm 5.2, the one that Debian has, does not know or does not inline.
const TOO_NEW: [&str; 5] = ["dequantize", "embed", "matmul", "quantize", "rope"];

fn compiles_kernels_to_ones_with_the_same_arguments() {
    for stem in objects::STEMS.iter().filter(|stem| !TOO_NEW.contains(stem)) {
        let made = hiprtc::compile(stem, objects::source(stem).unwrap(), ARCH).unwrap();
        let made = CodeObject::read(&made).unwrap();
        assert_eq!(made.target().name(), Some(ARCH), "{stem}");
        let own = CodeObject::read(objects::gfx942(stem).unwrap()).unwrap();
        for kernel in own.kernels() {
            let other = made.kernel(&kernel.name).unwrap_or_else(|| panic!("{stem} lacks {}", kernel.name));
            let arguments = |kernel: &code_object::Kernel| {
                kernel.explicit_arguments().map(|a| (a.offset, a.size, a.kind.clone())).collect::<Vec<_>>()
            };
            assert_eq!(arguments(kernel), arguments(other), "{}", kernel.name);
        }
    }
}

fn a_source_that_does_not_compile_is_an_error_with_its_name() {
    let error = hiprtc::compile("broken", "this is no kernel", ARCH).unwrap_err().to_string();
    assert!(error.contains("hiprtcCompileProgram of 'broken' for gfx90a failed"), "{error}");
}

fn what_was_compiled_is_kept_and_made_anew_where_it_is_broken() {
    let folder = tempfile::tempdir().unwrap();
    let object = |stem: &str| hiprtc::object_cached(Some(folder.path()), stem, ARCH).unwrap();
    let files = || {
        let entries = std::fs::read_dir(folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    let add = object("add");
    let [file] = &files()[..] else { panic!("{:?}", files()) };
    assert_eq!(std::fs::read(file).unwrap(), add);
    // What the file holds is what is used.
    let mul = hiprtc::object_cached(None, "mul", ARCH).unwrap();
    std::fs::write(file, &mul).unwrap();
    assert_eq!(object("add"), mul);
    // But not a part of an object, nor one for another GPU.
    let broken: [&[u8]; 3] = [&add[..add.len() / 2], b"", objects::gfx942("add").unwrap()];
    for broken in broken {
        std::fs::write(file, broken).unwrap();
        assert_eq!(object("add"), add);
        assert_eq!(std::fs::read(file).unwrap(), add);
    }
}
