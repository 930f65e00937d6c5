//! The committed test objects: fresh and decodable. `decode_agrees_with_llvm.rs` compares their text with LLVM's.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use code_object::CodeObject;
use object::read::elf::ElfFile64;
use object::{Endianness, Object as _, ObjectSection as _};
use sha2::{Digest as _, Sha256};
use softhip::isa::disassemble;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/objects")
}

fn files_with(extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(directory())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .collect();
    files.sort();
    files
}

#[test]
fn objects_are_built_from_the_present_sources() {
    let recorded = std::fs::read_to_string(directory().join("SHA256SUMS")).unwrap();
    let mut listed = BTreeSet::new();
    for line in recorded.lines() {
        let (hash, name) = line.split_once("  ").unwrap();
        let bytes = std::fs::read(directory().join(name)).unwrap();
        let actual =
            Sha256::digest(&bytes).iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        assert_eq!(actual, hash, "{name} has changed: run tests/objects/build.sh");
        listed.insert(name.to_owned());
    }
    for path in [files_with("hip"), files_with("h"), files_with("hsaco")].concat() {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(listed.contains(name), "{name} is not recorded: run tests/objects/build.sh");
    }
}

#[test]
fn no_object_holds_an_absolute_path() {
    for path in files_with("hsaco") {
        let bytes = std::fs::read(&path).unwrap();
        let elf = ElfFile64::<Endianness>::parse(&*bytes).unwrap();
        for name in [".debug_line_str", ".debug_str"] {
            let strings = elf.section_by_name(name).unwrap().data().unwrap();
            let absolute = strings.split(|byte| *byte == 0).find(|text| text.starts_with(b"/"));
            assert_eq!(absolute.map(String::from_utf8_lossy), None, "{}", path.display());
        }
    }
}

#[test]
fn every_instruction_of_every_kernel_decodes() {
    for path in files_with("hsaco") {
        let object = CodeObject::parse(&std::fs::read(&path).unwrap()).unwrap();
        assert!(!object.kernels().is_empty());
        for kernel in object.kernels() {
            let words = object.words(kernel.code.clone()).unwrap();
            for inst in disassemble(&words, kernel.code.start) {
                inst.unwrap_or_else(|error| panic!("{}: {}: {error}", path.display(), kernel.name));
            }
        }
    }
}
