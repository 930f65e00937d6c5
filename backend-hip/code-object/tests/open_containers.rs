//! Opening the files that code objects arrive in: bundles, compressed bundles, programs.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use code_object::{Compression, ContainerError, MAX_UNPACKED, Packed, TargetId, extent, open, open_for};

const HOST: &str = "host-x86_64-unknown-linux-gnu-";
const OTHER: &str = "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-";
const OURS: &str = "hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+";

fn rope() -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../softhip/tests/objects/rope.hsaco")).unwrap()
}

/// A bundle as the format's description says.
fn bundle(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut file = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    file.extend((entries.len() as u64).to_le_bytes());
    let table: usize = entries.iter().map(|(name, _)| 24 + name.len()).sum();
    let mut offset = (file.len() + table) as u64;
    for (name, data) in entries {
        for word in [offset, data.len() as u64, name.len() as u64] {
            file.extend(word.to_le_bytes());
        }
        file.extend(name.as_bytes());
        offset += data.len() as u64;
    }
    entries.iter().for_each(|(_, data)| file.extend(*data));
    file
}

/// Deflate without compression, in a zlib envelope: stored blocks only.
fn zlib(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let mut chunks = data.chunks(0xFFFF).peekable();
    while let Some(chunk) = chunks.next() {
        let len = u16::try_from(chunk.len()).unwrap();
        out.push(u8::from(chunks.peek().is_none()));
        out.extend(len.to_le_bytes());
        out.extend((!len).to_le_bytes());
        out.extend(chunk);
    }
    let (mut a, mut b) = (1u32, 0u32);
    for &byte in data {
        a = (a + u32::from(byte)) % 65521;
        b = (b + a) % 65521;
    }
    out.extend((b << 16 | a).to_be_bytes());
    out
}

/// A zstd frame of raw blocks: magic, a header with the content's size in eight bytes, blocks.
fn zstd(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x28, 0xB5, 0x2F, 0xFD, 0b1110_0000];
    out.extend((data.len() as u64).to_le_bytes());
    let mut chunks = data.chunks(1 << 16).peekable();
    while let Some(chunk) = chunks.next() {
        let header = u32::try_from(chunk.len()).unwrap() << 3 | u32::from(chunks.peek().is_none());
        out.extend(&header.to_le_bytes()[..3]);
        out.extend(chunk);
    }
    out
}

fn compressed(version: u16, method: u16, claimed: u64, data: &[u8]) -> Vec<u8> {
    let mut file = b"CCOB".to_vec();
    file.extend(version.to_le_bytes());
    file.extend(method.to_le_bytes());
    let short = |number: u64| u32::try_from(number).unwrap().to_le_bytes();
    let size = data.len() as u64;
    match version {
        1 => file.extend(short(claimed)),
        2 => file.extend([short(24 + size), short(claimed)].concat()),
        _ => file.extend([(32 + size).to_le_bytes(), claimed.to_le_bytes()].concat()),
    }
    file.extend([0xAB; 8]);
    file.extend(data);
    file
}

fn targets(packed: &[Packed<'_>]) -> Vec<String> {
    packed.iter().map(|packed| packed.target.to_string()).collect()
}

/// A 64-bit x86 ELF file with one section of a name.
fn program(name: &str, content: &[u8]) -> Vec<u8> {
    let names = format!("\0{name}\0.shstrtab\0");
    let names_at = 64 + content.len();
    let table = (names_at + names.len()).next_multiple_of(8);
    let mut file = b"\x7fELF\x02\x01\x01\x00".to_vec();
    file.extend([0; 8]);
    file.extend([3, 0, 62, 0, 1, 0, 0, 0]);
    file.extend([0; 16]);
    file.extend((table as u64).to_le_bytes());
    file.extend([0, 0, 0, 0, 64, 0, 56, 0, 0, 0, 64, 0, 3, 0, 2, 0]);
    assert_eq!(file.len(), 64);
    file.extend(content);
    file.extend(names.as_bytes());
    file.resize(table, 0);
    let sections = [(0, 0, 0, 0), (1, 1, 64, content.len()), (name.len() + 2, 3, names_at, names.len())];
    for (name, kind, offset, size) in sections {
        file.extend(u32::try_from(name).unwrap().to_le_bytes());
        file.extend(u32::to_le_bytes(kind));
        file.extend([0; 16]);
        file.extend((offset as u64).to_le_bytes());
        file.extend((size as u64).to_le_bytes());
        file.extend([0; 24]);
    }
    file
}

#[test]
fn a_code_object_is_its_own_only_content() {
    let rope = rope();
    let packed = open(&rope).unwrap();
    assert_eq!(targets(&packed), ["gfx942"]);
    assert_eq!(packed[0].bytes, rope);
}

#[test]
fn a_bundle_lists_its_gpu_entries() {
    let file = bundle(&[(HOST, b""), (OTHER, b"other"), (OURS, b"ours")]);
    assert_eq!(targets(&open(&file).unwrap()), ["gfx90a:xnack-", "gfx942:sramecc+"]);
    let picked = open_for(&file, &TargetId::gfx942()).unwrap();
    assert_eq!(picked.len(), 1);
    assert_eq!(*picked[0].bytes, *b"ours");
    let error = open_for(&file, &"gfx1100".parse().unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "no code object for gfx1100; the file has gfx90a:xnack-, gfx942:sramecc+");
}

#[test]
fn compressed_bundles_of_all_versions_and_methods_open() {
    let inside = bundle(&[(HOST, b""), (OURS, &rope())]);
    for version in 1..=3 {
        for (method, data) in [(0, zlib(&inside)), (1, zstd(&inside))] {
            let file = compressed(version, method, inside.len() as u64, &data);
            let packed = open(&file).unwrap_or_else(|error| panic!("{version} {method}: {error}"));
            assert_eq!(targets(&packed), ["gfx942:sramecc+"]);
            assert_eq!(packed[0].bytes, rope());
        }
    }
}

#[test]
fn programs_give_every_bundle_of_their_fatbin() {
    let plain = bundle(&[(HOST, b""), (OURS, b"first")]);
    let inside = bundle(&[(OTHER, b"second"), (OURS, b"third")]);
    let mut section = plain;
    section.resize(section.len().next_multiple_of(4096), 0);
    // Version 1 does not say how long it is: the compressed data does.
    for version in 1..=3 {
        for (method, data) in [(0, zlib(&inside)), (1, zstd(&inside))] {
            section.extend(compressed(version, method, inside.len() as u64, &data));
            section.resize(section.len().next_multiple_of(4096), 0);
        }
    }
    let file = program(".hip_fatbin", &section);
    let packed = open_for(&file, &TargetId::gfx942()).unwrap();
    let contents: Vec<_> = packed.iter().map(|packed| std::str::from_utf8(&packed.bytes).unwrap()).collect();
    assert_eq!(contents, ["first", "third", "third", "third", "third", "third", "third"]);
}

#[test]
fn files_without_code_objects_say_what_they_are() {
    assert!(matches!(open(b"MZ\x90\x00 and more"), Err(ContainerError::Unknown { .. })));
    assert!(matches!(open(b""), Err(ContainerError::Unknown { .. })));
    assert_eq!(
        open(&program(".text", b"code")),
        Err(ContainerError::NoFatbin { machine: 62, section: ".hip_fatbin" })
    );
    assert_eq!(open(&0x4B50_4948_u32.to_le_bytes()), Err(ContainerError::Kpack));
    assert_eq!(open(&program(".rocm_kpack_ref", b"")), Err(ContainerError::Kpack));
    assert_eq!(open(&program(".hipFatBinSegment", b"HIPK\x01\0\0\0")), Err(ContainerError::Kpack));
    assert_eq!(open(&0x4849_5046_u32.to_le_bytes()), Err(ContainerError::Wrapper));
    assert!(ContainerError::Kpack.to_string().contains("HIPK"));
}

#[test]
fn a_header_that_lies_about_sizes_is_refused() {
    let inside = bundle(&[(OURS, b"ours")]);
    let len = inside.len() as u64;
    for (method, data, kind) in [(0, zlib(&inside), Compression::Zlib), (1, zstd(&inside), Compression::Zstd)]
    {
        let claims = |claimed| open(&compressed(3, method, claimed, &data)).map(|_| ()).unwrap_err();
        assert_eq!(claims(MAX_UNPACKED + 1), ContainerError::TooLarge { limit: MAX_UNPACKED });
        assert_eq!(claims(len + 1), ContainerError::Size { header: len + 1, found: len });
        assert!(matches!(claims(len - 1), ContainerError::Size { .. } | ContainerError::Corrupt { .. }));
        let broken = compressed(3, method, len, &data[..data.len() / 2]);
        assert_eq!(open(&broken), Err(ContainerError::Corrupt { method: kind }));
    }
    assert_eq!(open(&compressed(4, 0, 1, b"")), Err(ContainerError::Version { version: 4 }));
    assert_eq!(open(&compressed(3, 2, 1, b"")), Err(ContainerError::Method { method: 2 }));
    let mut many = bundle(&[(OURS, b"ours")]);
    many[24..32].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(matches!(open(&many), Err(ContainerError::TooManyEntries { .. })));
}

/// Six small bundles that together claim more than the limit: the sum counts.
#[test]
fn the_limit_holds_for_a_whole_file() {
    let zeros = vec![0; 1 << 20];
    let inside = bundle(&[(OURS, &zeros)]);
    let one = compressed(3, 1, inside.len() as u64, &zstd(&inside));
    let mut second = one.clone();
    second[16..24].copy_from_slice(&(MAX_UNPACKED - 5).to_le_bytes());
    let file = program(".hip_fatbin", &[one, second].concat());
    assert_eq!(open(&file), Err(ContainerError::TooLarge { limit: MAX_UNPACKED }));
}

#[test]
fn files_in_memory_say_how_long_they_are() {
    let inside = bundle(&[(HOST, b""), (OURS, b"ours")]);
    let long = |file: &[u8]| {
        let longer = [file, &[0xEE; 100]].concat();
        extent(&&*longer)
    };
    assert_eq!(long(&rope()), Ok(rope().len() as u64));
    assert_eq!(long(&inside), Ok(inside.len() as u64));
    for version in [2, 3] {
        let file = compressed(version, 0, inside.len() as u64, &zlib(&inside));
        assert_eq!(long(&file), Ok(file.len() as u64));
    }
    assert_eq!(long(&compressed(1, 0, 5, b"data")), Err(ContainerError::NoLength));
}

#[test]
fn survives_truncation_and_mutation() {
    let inside = bundle(&[(HOST, b""), (OURS, &rope()[..2000]), (OTHER, b"other")]);
    let files = [
        inside.clone(),
        compressed(1, 0, inside.len() as u64, &zlib(&inside)),
        compressed(2, 1, inside.len() as u64, &zstd(&inside)),
        program(".hip_fatbin", &compressed(3, 1, inside.len() as u64, &zstd(&inside))),
    ];
    for file in files {
        for len in 0..file.len() {
            let _ = open(&file[..len]);
            let _ = extent(&&file[..len]);
        }
        for at in 0..file.len() {
            for mask in [0x01, 0x80, 0xFF] {
                let mut mutant = file.clone();
                mutant[at] ^= mask;
                let _ = open(&mutant);
                let _ = extent(&&*mutant);
            }
        }
    }
}
