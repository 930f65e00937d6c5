//! Every block format against what the Python package `gguf` makes of the same bytes, bit for bit.
//!
//! The files are `golden/quant/<format>.safetensors`; `golden/quant/make.py` remakes them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::PathBuf;

use kernels::DType;
use kernels::quant::{decode_row, encode_row};
use safetensors::{Dtype, SafeTensors};

fn golden_bytes(dtype: DType) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../golden/quant/{dtype}.safetensors"));
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn bytes(golden: &SafeTensors<'_>, name: &str) -> Vec<u8> {
    let tensor = golden.tensor(name).unwrap();
    assert_eq!(tensor.dtype(), Dtype::U8, "{name}");
    tensor.data().to_vec()
}

fn floats(golden: &SafeTensors<'_>, name: &str) -> Vec<f32> {
    let tensor = golden.tensor(name).unwrap();
    assert_eq!(tensor.dtype(), Dtype::F32, "{name}");
    let (values, rest) = tensor.data().as_chunks();
    assert!(rest.is_empty() && !values.is_empty(), "{name}");
    values.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// Decodes `{set}blocks` and compares with `{set}values`: the same bits, or NaN on both sides.
#[track_caller]
fn compare_decoded(dtype: DType, golden: &SafeTensors<'_>, set: &str) {
    let want = floats(golden, &format!("{set}values"));
    let mut got = vec![0.0; want.len()];
    decode_row(dtype, &bytes(golden, &format!("{set}blocks")), &mut got).unwrap();
    for (i, (got, want)) in got.iter().zip(&want).enumerate() {
        let same = got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan());
        let (block, value) = (i / dtype.block_len(), i % dtype.block_len());
        assert!(same, "{dtype}: {set}block {block}, value {value}: got {got:e}, gguf has {want:e}");
    }
}

#[track_caller]
fn decodes_as_gguf_does(dtype: DType) {
    let file = golden_bytes(dtype);
    let golden = SafeTensors::deserialize(&file).unwrap();
    compare_decoded(dtype, &golden, "");
    if dtype != DType::Mxfp4 {
        compare_decoded(dtype, &golden, "nonfinite.");
    }
}

#[track_caller]
fn encodes_as_gguf_does(dtype: DType) {
    let file = golden_bytes(dtype);
    let golden = SafeTensors::deserialize(&file).unwrap();
    let values = floats(&golden, "encode.values");
    let want = bytes(&golden, "encode.blocks");
    let mut got = vec![0; want.len()];
    encode_row(dtype, &values, &mut got).unwrap();
    let rows = values.chunks(dtype.block_len());
    let blocks = got.chunks(dtype.block_bytes()).zip(want.chunks(dtype.block_bytes()));
    for (i, (row, (got, want))) in rows.zip(blocks).enumerate() {
        assert_eq!(got, want, "{dtype}: row {i}, {row:?}");
    }
}

macro_rules! decodes {
    ($($test:ident: $dtype:ident,)*) => {
        $(#[test]
        fn $test() {
            decodes_as_gguf_does(DType::$dtype);
        })*

        #[test]
        fn every_format_is_compared() {
            assert_eq!([$(DType::$dtype),*], DType::WEIGHTS);
        }
    };
}

macro_rules! encodes {
    ($($test:ident: $dtype:ident,)*) => {
        $(#[test]
        fn $test() {
            encodes_as_gguf_does(DType::$dtype);
        })*
    };
}

decodes! {
    f32_decodes_as_gguf_does: F32,
    f16_decodes_as_gguf_does: F16,
    bf16_decodes_as_gguf_does: BF16,
    q4_0_decodes_as_gguf_does: Q4_0,
    q4_1_decodes_as_gguf_does: Q4_1,
    q5_0_decodes_as_gguf_does: Q5_0,
    q5_1_decodes_as_gguf_does: Q5_1,
    q8_0_decodes_as_gguf_does: Q8_0,
    q2_k_decodes_as_gguf_does: Q2K,
    q3_k_decodes_as_gguf_does: Q3K,
    q4_k_decodes_as_gguf_does: Q4K,
    q5_k_decodes_as_gguf_does: Q5K,
    q6_k_decodes_as_gguf_does: Q6K,
    iq4_nl_decodes_as_gguf_does: Iq4Nl,
    iq4_xs_decodes_as_gguf_does: Iq4Xs,
    mxfp4_decodes_as_gguf_does: Mxfp4,
}

encodes! {
    f32_encodes_as_gguf_does: F32,
    f16_encodes_as_gguf_does: F16,
    bf16_encodes_as_gguf_does: BF16,
    q4_0_encodes_as_gguf_does: Q4_0,
    q4_1_encodes_as_gguf_does: Q4_1,
    q5_0_encodes_as_gguf_does: Q5_0,
    q5_1_encodes_as_gguf_does: Q5_1,
    q8_0_encodes_as_gguf_does: Q8_0,
}

#[test]
fn every_file_names_its_generator_versions_and_seed() {
    for dtype in DType::WEIGHTS {
        let file = golden_bytes(dtype);
        let (_, header) = SafeTensors::read_metadata(&file).unwrap();
        let metadata = header.metadata().as_ref().unwrap();
        assert_eq!(metadata["format"].to_lowercase(), dtype.name());
        for key in ["generator", "gguf", "numpy", "python", "seed"] {
            assert!(metadata.get(key).is_some_and(|value| !value.is_empty()), "{dtype}: no '{key}'");
        }
    }
}

#[test]
fn scales_of_finite_sets_are_finite() {
    for dtype in DType::WEIGHTS.into_iter().filter(|d| *d != DType::Mxfp4) {
        let file = golden_bytes(dtype);
        let golden = SafeTensors::deserialize(&file).unwrap();
        assert!(floats(&golden, "values").iter().all(|v| v.is_finite()), "{dtype}");
        assert!(floats(&golden, "nonfinite.values").iter().any(|v| !v.is_finite()), "{dtype}");
    }
}
