//! Reading sound files: values, tensors, versions, split models, and the vote of a second reader.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod gguf_builder;
mod second_reader;

use std::fs;
use std::path::{Path, PathBuf};

use engine::gguf::Gguf;
use gguf_builder::{Builder, V, strs};
use kernels::DType;

/// A key of every type and a tensor of every type.
fn everything() -> Builder {
    let mut b = Builder::new()
        .key("u8", V::U8(200))
        .key("i8", V::I8(-100))
        .key("u16", V::U16(60_000))
        .key("i16", V::I16(-30_000))
        .key("u32", V::U32(4_000_000_000))
        .key("i32", V::I32(-2_000_000_000))
        .key("u64", V::U64(u64::MAX))
        .key("i64", V::I64(i64::MIN))
        .key("f32", 0.1_f32)
        .key("f64", V::F64(0.1))
        .key("bool", true)
        .key("string", "héllo")
        .key("strings", strs(&["", "a", "▁b"]))
        .key("floats", V::F32s(vec![1.5, f32::NAN, -0.0]))
        .key("ints", V::I32s(vec![-1, 0, 7]))
        .key("bools", V::Bools(vec![0, 1]))
        .key("empty", V::Strs(Vec::new()));
    for dtype in DType::WEIGHTS {
        b = b.tensor(dtype.name(), dtype, &[512, 3]);
    }
    b
}

fn write(folder: &Path, name: &str, builder: &Builder) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, builder.build()).unwrap();
    path
}

#[test]
fn values_come_back_with_their_types() {
    let gguf = Gguf::from_bytes(everything().build()).unwrap();
    let meta = gguf.metadata();
    assert_eq!(meta.u32("u8").unwrap(), 200);
    assert_eq!(meta.u32("u32").unwrap(), 4_000_000_000);
    assert_eq!(meta.f32("f32").unwrap().to_bits(), 0.1_f32.to_bits());
    assert_eq!(meta.f32("f64").unwrap().to_bits(), 0.1_f32.to_bits());
    assert!(meta.bool("bool").unwrap());
    assert_eq!(meta.str("string").unwrap(), "héllo");
    assert_eq!(meta.strings("strings").unwrap().collect::<Vec<_>>(), ["", "a", "▁b"]);
    assert_eq!(meta.strings("empty").unwrap().len(), 0);
    assert_eq!(meta.opt_i32s("ints").unwrap().unwrap(), [-1, 0, 7]);
    let floats = meta.opt_f32s("floats").unwrap().unwrap();
    assert!(floats[1].is_nan() && floats[2].to_bits() == (-0.0_f32).to_bits());
    assert_eq!(meta.opt_u32("absent").unwrap(), None);
}

#[test]
fn getters_name_the_key_and_what_they_found() {
    let gguf = Gguf::from_bytes(everything().build()).unwrap();
    let meta = gguf.metadata();
    assert_eq!(meta.u32("absent").unwrap_err().to_string(), "key 'absent' is missing");
    assert_eq!(meta.u32("f32").unwrap_err().to_string(), "key 'f32': found f32, want an integer");
    assert_eq!(meta.u32("i8").unwrap_err().to_string(), "key 'i8': -100 is outside 0 to 4294967295");
    assert_eq!(
        meta.f32("u32").unwrap_err().to_string(),
        "key 'u32': found u32, want a number in floating point"
    );
    assert_eq!(meta.bool("u8").unwrap_err().to_string(), "key 'u8': found u8, want bool");
    assert_eq!(meta.str("ints").unwrap_err().to_string(), "key 'ints': found array of 3 i32, want string");
    let error = meta.strings("bools").err().unwrap().to_string();
    assert_eq!(error, "key 'bools': found array of 2 bool, want an array of string");
}

#[test]
fn tensors_have_their_shape_and_bytes() {
    let builder = everything();
    let gguf = Gguf::from_bytes(builder.build()).unwrap();
    assert_eq!(gguf.tensors().len(), 16);
    for (tensor, dtype) in gguf.tensors().iter().zip(DType::WEIGHTS) {
        assert_eq!(tensor.dtype(), dtype);
        assert_eq!((tensor.dims(), tensor.shape()), (&[512, 3][..], &[3, 512][..]));
        assert_eq!(tensor.bytes().len(), dtype.bytes_of(1536).unwrap());
        let written = builder.tensors.iter().find(|t| t.name == dtype.name().as_bytes()).unwrap();
        assert_eq!(tensor.bytes(), written.data);
        assert!(tensor.range().start.is_multiple_of(32));
    }
    assert!(gguf.tensor("q4_k").is_some() && gguf.tensor("q4_K").is_none());
}

#[test]
fn a_second_reader_agrees() {
    for version in [2, 3] {
        let mut builder = everything();
        builder.version = version;
        let bytes = builder.build();
        second_reader::assert_agrees(&bytes, &Gguf::from_bytes(bytes.clone()).unwrap());
    }
    let mut aligned = everything().key("general.alignment", 64_u32);
    aligned.alignment = 64;
    let bytes = aligned.build();
    second_reader::assert_agrees(&bytes, &Gguf::from_bytes(bytes.clone()).unwrap());
}

#[test]
fn gaps_between_tensors_are_no_error() {
    let builder = Builder::new()
        .tensor("a", DType::F32, &[8])
        .tensor("b", DType::F32, &[8])
        .change("b", |t| t.offset = Some(64));
    let mut bytes = builder.build();
    bytes.resize(bytes.len() + 32, 0);
    let gguf = Gguf::from_bytes(bytes).unwrap();
    assert_eq!(gguf.tensors()[1].range().start - gguf.tensors()[0].range().start, 64);
}

#[test]
fn files_are_mapped_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "m.gguf", &everything());
    let gguf = Gguf::open(&path).unwrap();
    let [first, .., last] = gguf.tensors() else { panic!("no tensors") };
    let base = |t: &engine::gguf::Tensor| (**t.owner()).as_ref().as_ptr();
    assert_eq!(base(first), base(last));
    assert!((**first.owner()).as_ref().as_ptr_range().contains(&last.bytes().as_ptr()));
}

/// Parts `1..=3` of a model of four tensors.
fn parts() -> [Builder; 3] {
    let part = |no: u16| {
        Builder::new()
            .key("split.no", V::U16(no))
            .key("split.count", V::U16(3))
            .key("split.tensors.count", V::I32(4))
    };
    [
        part(0).key("general.architecture", "llama").tensor("a", DType::F32, &[8]),
        part(1).tensor("b", DType::F16, &[16]).tensor("c", DType::F32, &[4]),
        part(2).tensor("d", DType::Q8_0, &[32]),
    ]
}

fn write_parts(folder: &Path, parts: &[Builder]) -> PathBuf {
    for (i, part) in (1..).zip(parts) {
        write(folder, &format!("m-{i:05}-of-00003.gguf"), part);
    }
    folder.join("m-00001-of-00003.gguf")
}

/// Error of a split model, without the folder.
fn split_error(parts: &[Builder], open: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    write_parts(folder.path(), parts);
    let error = Gguf::open(folder.path().join(open)).unwrap_err().to_string();
    error.replace(&format!("{}/", folder.path().display()), "")
}

#[test]
fn split_models_load_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let gguf = Gguf::open(write_parts(folder.path(), &parts())).unwrap();
    let names: Vec<_> = gguf.tensors().iter().map(|t| (t.name(), t.part())).collect();
    assert_eq!(names, [("a", 0), ("b", 1), ("c", 1), ("d", 2)]);
    assert_eq!(gguf.metadata().str("general.architecture").unwrap(), "llama");
    assert_eq!(gguf.tensor("d").unwrap().bytes().len(), 34);
}

#[test]
fn split_models_with_wrong_parts_are_refused() {
    let first = "m-00001-of-00003.gguf";
    assert!(split_error(&parts()[..2], first).starts_with("m-00003-of-00003.gguf: No such file"));
    assert_eq!(
        split_error(&parts(), "m-00002-of-00003.gguf"),
        "m-00002-of-00003.gguf: this is part 2 of 3 of a split model; open its first part, 'm-00001-of-00003.gguf'"
    );
    let [a, b, c] = parts();
    assert_eq!(
        split_error(&[a.clone(), c.clone(), b.clone()], first),
        "m-00002-of-00003.gguf: key 'split.no': found 2, want 1"
    );
    let other = c.clone().set("split.count", Some(V::U16(4)));
    assert_eq!(
        split_error(&[a.clone(), b.clone(), other], first),
        "m-00003-of-00003.gguf: key 'split.count': found 4, want 3"
    );
    let twice = c.clone().tensor("a", DType::F32, &[8]);
    assert_eq!(
        split_error(&[a.clone(), b.clone(), twice], first),
        "m-00001-of-00003.gguf: tensor 'a' occurs twice: entries 0 and 4"
    );
    let short = b.without("b");
    assert_eq!(
        split_error(&[a.clone(), short, c], first),
        "m-00001-of-00003.gguf: key 'split.tensors.count': found 4, want 3"
    );
    let folder = tempfile::tempdir().unwrap();
    let error = Gguf::open(write(folder.path(), "renamed.gguf", &a)).unwrap_err().to_string();
    assert!(error.ends_with("must be named '…-00001-of-00003.gguf', found 'renamed.gguf'"), "{error}");
}

#[test]
fn unreadable_paths_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = Gguf::open(folder.path().join("none.gguf")).unwrap_err().to_string();
    assert!(error.contains("none.gguf: No such file"), "{error}");
    let error = Gguf::open(folder.path()).unwrap_err().to_string();
    assert!(error.ends_with("is a directory, want a file"), "{error}");
    fs::write(folder.path().join("empty.gguf"), "").unwrap();
    let error = Gguf::open(folder.path().join("empty.gguf")).unwrap_err().to_string();
    assert!(error.ends_with("not a GGUF file: it begins with bytes [], want [47, 47, 55, 46]"), "{error}");
}
