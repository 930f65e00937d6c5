//! What the tables say about an operation agrees with its mnemonic, which the tests read on their own.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use softhip::isa::table::compare::{Compare, Number, Test};
use softhip::isa::table::matrix::Element;
use softhip::isa::table::memory::{Atomic, Component, Data, Half, MemoryOp, Rmw, Width};
use softhip::isa::table::rule::{Ds, Mem};
use softhip::isa::{Format, Op, table};

/// The width in the last part of a mnemonic: `ubyte`, `sshort_d16_hi`, `dwordx4`; `u8`, `b128` for DS.
fn width(text: &str) -> Width {
    let half = match text {
        text if text.ends_with("_d16_hi") => Some(Half::High),
        text if text.ends_with("_d16") => Some(Half::Low),
        _ => None,
    };
    let (bytes, signed) = match text.trim_end_matches("_hi").trim_end_matches("_d16") {
        "byte" | "ubyte" | "u8" | "b8" => (1, false),
        "sbyte" | "i8" => (1, true),
        "short" | "ushort" | "u16" | "b16" => (2, false),
        "sshort" | "i16" => (2, true),
        "dword" | "b32" => (4, false),
        "dwordx2" | "b64" => (8, false),
        "dwordx3" | "b96" => (12, false),
        "dwordx4" | "b128" => (16, false),
        "dwordx8" => (32, false),
        "dwordx16" => (64, false),
        other => panic!("no width: {other}"),
    };
    Width { bytes, signed, half }
}

/// `format_d16_xy`: components, and how they stand in registers.
fn data(text: &str) -> Data {
    let Some(format) = text.strip_prefix("format_") else { return Data::Untyped(width(text)) };
    let (component, letters) = if let Some(letters) = format.strip_prefix("d16_hi_") {
        (Component::D16High, letters)
    } else if let Some(letters) = format.strip_prefix("d16_") {
        (Component::D16, letters)
    } else {
        (Component::Dword, format)
    };
    assert!("xyzw".starts_with(letters), "{text}");
    Data::Formatted { components: u8::try_from(letters.len()).unwrap(), component }
}

fn rmw(operation: &str, ty: &str) -> Rmw {
    let float = matches!(ty, "f32" | "f64");
    match operation {
        "swap" | "wrxchg" => Rmw::Swap,
        "cmpst" if float => Rmw::CompareSwapFloat,
        "cmpswap" | "cmpst" => Rmw::CompareSwap,
        "add" if float => Rmw::AddFloat,
        "add" => Rmw::Add,
        "sub" => Rmw::Sub,
        "rsub" => Rmw::ReverseSub,
        "inc" => Rmw::Inc,
        "dec" => Rmw::Dec,
        "min" if float => Rmw::MinFloat,
        "max" if float => Rmw::MaxFloat,
        "smin" => Rmw::SignedMin,
        "smax" => Rmw::SignedMax,
        "min" if ty.starts_with('i') => Rmw::SignedMin,
        "max" if ty.starts_with('i') => Rmw::SignedMax,
        "umin" | "min" => Rmw::UnsignedMin,
        "umax" | "max" => Rmw::UnsignedMax,
        "and" => Rmw::And,
        "or" => Rmw::Or,
        "xor" => Rmw::Xor,
        "mskor" => Rmw::MaskedOr,
        "wrap" => Rmw::Wrap,
        "pk_add" if ty == "f16" => Rmw::AddPairF16,
        "pk_add" if ty == "bf16" => Rmw::AddPairBf16,
        other => panic!("no atomic: {other}"),
    }
}

/// `add_x2`, `pk_add_f16` of global memory.
fn global_atomic(text: &str) -> Atomic {
    let bytes = if text.ends_with("_x2") || text.ends_with("_f64") { 8 } else { 4 };
    let text = text.trim_end_matches("_x2");
    let (operation, ty) = match text.rsplit_once('_') {
        Some((operation, ty @ ("f32" | "f64" | "f16" | "bf16"))) => (operation, ty),
        _ => (text, ""),
    };
    Atomic { rmw: rmw(operation, ty), bytes }
}

/// What a mnemonic without its prefix says, for memory other than LDS.
fn global(text: &str, lds_bit: bool) -> Mem {
    if let Some(rest) = text.strip_prefix("load_lds_") {
        Mem::LoadLds(width(rest))
    } else if let Some(rest) = text.strip_prefix("store_lds_") {
        Mem::StoreLds(width(rest))
    } else if let Some(rest) = text.strip_prefix("load_") {
        if lds_bit { Mem::LoadOrLds(data(rest)) } else { Mem::Load(data(rest)) }
    } else if let Some(rest) = text.strip_prefix("store_") {
        Mem::Store(data(rest))
    } else if let Some(rest) = text.strip_prefix("atomic_") {
        Mem::Atomic(global_atomic(rest))
    } else if text.starts_with("mem") && text.ends_with("time") {
        Mem::Time
    } else if text.starts_with("atc_probe") {
        Mem::Probe
    } else if text.starts_with("dcache_discard") {
        Mem::Discard
    } else {
        assert!(["dcache", "wb", "inv"].iter().any(|start| text.starts_with(start)), "{text}");
        Mem::Cache
    }
}

fn local(text: &str) -> Ds {
    let two = |rest: &str| {
        let (rest, stride) = rest.strip_prefix("st64").map_or((rest, 1), |rest| (rest, 64));
        (width(rest.trim_start_matches("_rtn").trim_start_matches('_')).bytes, stride)
    };
    match text {
        "nop" => Ds::Nop,
        "consume" | "append" => Ds::Count,
        "permute_b32" | "bpermute_b32" => Ds::Permute,
        "swizzle_b32" => Ds::Swizzle,
        "read_addtid_b32" => Ds::LoadThread,
        "write_addtid_b32" => Ds::StoreThread,
        "condxchg32_rtn_b64" => Ds::ConditionalExchange,
        _ if text.starts_with("gws_") => Ds::Gws,
        _ => {
            if let Some(rest) = text.strip_prefix("read2") {
                let (bytes, stride) = two(rest);
                return Ds::Load2 { bytes, stride };
            }
            if let Some(rest) = text.strip_prefix("write2") {
                let (bytes, stride) = two(rest);
                return Ds::Store2 { bytes, stride };
            }
            if let Some(rest) = text.strip_prefix("wrxchg2") {
                let (bytes, stride) = two(rest);
                return Ds::Exchange2 { bytes, stride };
            }
            if let Some(rest) = text.strip_prefix("read_") {
                return Ds::Load(width(rest));
            }
            if let Some(rest) = text.strip_prefix("write_") {
                return Ds::Store(width(rest));
            }
            let (operation, ty) = text.rsplit_once('_').unwrap();
            let bytes = if ty.ends_with("64") { 8 } else { 4 };
            Ds::Atomic(Atomic { rmw: rmw(operation.trim_end_matches("_rtn"), ty), bytes })
        }
    }
}

/// What a mnemonic says about memory.
fn read(op: Op, format: Format) -> MemoryOp {
    let name = op.mnemonic();
    let after = |prefixes: &[&str]| {
        prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)).expect("the format's prefix")
    };
    // The instruction can choose LDS as the destination of loads of one untyped or formatted dword at most.
    let lds_bit = ["ubyte", "sbyte", "ushort", "sshort", "dword", "format_x"]
        .iter()
        .any(|data| name.strip_prefix("buffer_load_") == Some(data));
    match format {
        Format::Smem => MemoryOp::Scalar(global(after(&["s_buffer_", "s_scratch_", "s_"]), false)),
        Format::Flat => MemoryOp::Flat(global(after(&["flat_"]), false)),
        Format::Global => MemoryOp::Global(global(after(&["global_"]), false)),
        Format::Scratch => MemoryOp::Scratch(global(after(&["scratch_"]), false)),
        Format::Mubuf => MemoryOp::Buffer(global(after(&["buffer_"]), lds_bit)),
        Format::Mtbuf => MemoryOp::TypedBuffer(global(after(&["tbuffer_"]), false)),
        Format::Ds => MemoryOp::Local(local(after(&["ds_"]))),
        other => panic!("{other:?} is no format of memory operations"),
    }
}

#[test]
fn memory_operations_do_what_their_mnemonic_says() {
    let mut checked = 0;
    for listing in table::listings() {
        let memory = matches!(
            listing.format,
            Format::Smem
                | Format::Flat
                | Format::Global
                | Format::Scratch
                | Format::Mubuf
                | Format::Mtbuf
                | Format::Ds
        );
        let expected = memory.then(|| read(listing.op, listing.format));
        assert_eq!(table::memory(listing.op), expected, "{:?}", listing.op);
        checked += usize::from(memory);
    }
    assert!(checked > 400, "{checked}");
}

#[test]
fn widths_agree_with_the_registers_of_the_row() {
    for listing in table::listings() {
        let Some(width) = table::memory(listing.op).and_then(MemoryOp::width) else { continue };
        let [dst, _, data, scalar] = listing.types.map(table::Ty::dwords);
        let registers = width.bytes.div_ceil(4);
        let two = match table::memory(listing.op) {
            Some(MemoryOp::Local(Ds::Load2 { .. } | Ds::Exchange2 { .. })) => 2,
            _ => 1,
        };
        let held = if dst != 0 {
            dst
        } else if listing.format == Format::Smem {
            scalar
        } else {
            data
        };
        let from_memory_to_lds = held == 0;
        assert!(from_memory_to_lds || u32::from(held) == two * registers, "{:?}", listing.op);
    }
}

#[test]
fn compares_test_what_their_mnemonic_says() {
    let mut checked = 0;
    for &op in Op::ALL {
        let name = op.mnemonic();
        let rest = name.strip_prefix("v_cmp_").or_else(|| name.strip_prefix("v_cmpx_"));
        let Some((relation, ty)) = rest.and_then(|rest| rest.split_once('_')) else {
            assert_eq!(table::compare(op), None, "{op:?}");
            continue;
        };
        let Compare { test, number, writes_exec } = table::compare(op).unwrap();
        assert_eq!(writes_exec, name.starts_with("v_cmpx_"), "{op:?}");
        assert_eq!(format!("{number:?}").to_lowercase(), ty, "{op:?}");
        let float = matches!(number, Number::F16 | Number::F32 | Number::F64);
        // Less, equal, greater, unordered.
        let bits = match relation {
            "class" => None,
            "f" => Some(0),
            "lt" => Some(1),
            "eq" => Some(2),
            "le" => Some(3),
            "gt" => Some(4),
            "lg" | "ne" => Some(5),
            "ge" => Some(6),
            "o" | "t" => Some(7),
            "u" => Some(8),
            "tru" => Some(15),
            negated => Some(
                15 & !["", "lt", "eq", "le", "gt", "lg", "ge"]
                    .iter()
                    .position(|name| negated.strip_prefix('n') == Some(name))
                    .and_then(|bits| u8::try_from(bits).ok())
                    .unwrap(),
            ),
        };
        match test {
            Test::Class => assert!(bits.is_none() && float, "{op:?}"),
            Test::Relation(relation) => {
                assert_eq!(Some(relation.bits()), bits, "{op:?}");
                assert!(float || relation.bits() < 8, "{op:?}: integers are never unordered");
            }
        }
        checked += 1;
    }
    assert_eq!(checked, 198);
}

#[test]
fn matrix_operations_multiply_what_their_mnemonic_says() {
    let mut checked = 0;
    for &op in Op::ALL {
        let Some(rest) = op.mnemonic().strip_prefix("v_mfma_") else {
            assert_eq!(table::dense_matrix(op), None, "{op:?}");
            continue;
        };
        let matrix = table::dense_matrix(op).unwrap();
        let element = |element: Element| format!("{element:?}").to_lowercase();
        let (m, k, blocks) = (matrix.m, matrix.k, matrix.blocks);
        let blocks = if blocks == 1 { String::new() } else { format!("_{blocks}b") };
        let mut expected = format!("{m}x{m}x{k}{blocks}_{}", element(matrix.a));
        if expected.ends_with("fp8") || expected.ends_with("bf8") {
            expected = format!("{expected}_{}", element(matrix.b));
        } else {
            assert_eq!(matrix.a, matrix.b, "{op:?}");
        }
        let (result, shape) = rest.split_once('_').unwrap();
        assert_eq!(shape, expected);
        let wanted = match matrix.a {
            Element::F64 => "f64",
            Element::I8 => "i32",
            _ => "f32",
        };
        assert_eq!(result, wanted, "{op:?}");
        checked += 1;
    }
    assert_eq!(checked, 32);
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The executor prints mnemonics in messages and does nothing else with them.
#[test]
fn the_executor_takes_no_meaning_from_a_mnemonic() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/exec"), &mut files);
    assert!(files.len() > 30, "{}", files.len());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            let at = format!("{}:{}: {line}", file.display(), number + 1);
            let printed = line.contains("format!(") && !line.contains(".mnemonic().");
            assert!(
                printed || !line.contains(".mnemonic()"),
                "a mnemonic is used other than in a message: {at}"
            );
            let calls =
                ["strip_prefix(\"", "strip_suffix(\"", "starts_with(\"", "ends_with(\"", "contains(\""];
            assert!(!calls.iter().any(|call| line.contains(call)), "text is taken apart: {at}");
        }
    }
}
