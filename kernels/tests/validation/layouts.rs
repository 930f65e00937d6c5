//! The refusals that are common to all ops: every operand of every sample, spoiled in every way.

use kernels::{Check, DType, Layout, Record, RecordOperand, Role, Stem};

use crate::{assert_accepted, assert_refusal, refusal, relaid, reshaped, sample, without};

/// Every type there is.
fn all_types() -> Vec<DType> {
    DType::WEIGHTS.into_iter().chain([DType::U32]).collect()
}

/// The types that an operand takes, as its op's page says; `copy.out` takes the type of `x`, which the sample has as f32.
fn types(stem: Stem, operand: &str) -> Vec<DType> {
    match (stem, operand) {
        (_, "ids" | "seqs" | "positions") | (Stem::Argmax, "out") => vec![DType::U32],
        (Stem::Embed, "table") | (Stem::Matmul, "weight") | (Stem::Dequantize, "x") => DType::WEIGHTS.into(),
        (_, "k_cache" | "v_cache") => DType::CACHE.into(),
        (Stem::Quantize, "out") => DType::QUANTIZABLE.into(),
        (Stem::Cast | Stem::Fill, _) => DType::FLOATS.into(),
        (Stem::Copy, "x") => all_types(),
        _ if stem.facts().floats.contains(&operand) => DType::FLOATS.into(),
        _ => vec![DType::F32],
    }
}

/// The multiple at which an operand of type `dtype` may begin.
fn alignment(dtype: DType) -> usize {
    match dtype {
        DType::F32 | DType::U32 => 4,
        DType::Mxfp4 => 1,
        _ => 2,
    }
}

fn each_operand(mut test: impl FnMut(Stem, &Record, &RecordOperand)) {
    for &stem in Stem::ALL {
        let record = sample(stem);
        for operand in record.operands() {
            test(stem, &record, operand);
        }
    }
}

/// The refusal of `operand` as `layout` in a buffer as long as in the sample.
#[track_caller]
fn assert_layout_refused(
    record: &Record,
    operand: &RecordOperand,
    layout: Layout,
    check: Check,
    want: impl std::fmt::Display,
    got: impl std::fmt::Display,
) {
    let error = refusal(&relaid(record, &operand.name, layout, operand.bytes.len()));
    assert_refusal(&error, record.stem, &operand.name, check, want, got);
}

/// The layout with another extent or stride in one dimension.
fn with(layout: &Layout, axis: usize, extent: usize, stride: usize) -> Layout {
    let (mut shape, mut strides) = (layout.shape().to_vec(), layout.strides().to_vec());
    (shape[axis], strides[axis]) = (extent, stride);
    Layout::strided(layout.dtype(), &shape, &strides).at(layout.offset())
}

#[test]
fn every_sample_is_valid() {
    for &stem in Stem::ALL {
        let record = sample(stem);
        assert_eq!(record.stem, stem);
        assert_accepted(&record);
        for operand in record.operands() {
            assert!(types(stem, &operand.name).contains(&operand.layout.dtype()), "{stem}: {}", operand.name);
        }
    }
}

#[test]
fn rejects_every_type_that_the_operand_does_not_take() {
    each_operand(|stem, record, operand| {
        let taken = types(stem, &operand.name);
        for dtype in all_types().into_iter().filter(|d| !taken.contains(d)) {
            let layout = Layout::contiguous(dtype, operand.layout.shape());
            for taken in &taken {
                assert_layout_refused(record, operand, layout, Check::DType, taken, dtype);
            }
        }
    });
}

#[test]
fn takes_floats_of_every_type_operand_by_operand() {
    each_operand(|stem, record, operand| {
        if stem.facts().floats.contains(&operand.name.as_str()) {
            for dtype in DType::FLOATS {
                assert_accepted(&reshaped(record, &operand.name, dtype, operand.layout.shape()));
            }
        }
    });
}

#[test]
fn rejects_a_dimension_too_few_or_too_many() {
    each_operand(|_, record, operand| {
        let (shape, rank) = (operand.layout.shape(), operand.layout.rank());
        for shape in [&shape[1..], &[&[1], shape].concat()] {
            let layout = Layout::contiguous(operand.layout.dtype(), shape);
            assert_layout_refused(record, operand, layout, Check::Rank, rank, shape.len());
        }
    });
}

#[test]
fn rejects_elements_of_a_row_that_lie_apart_or_coincide() {
    each_operand(|stem, record, operand| {
        let inner = operand.layout.rank() - 1;
        let transposable = stem.facts().transposable.contains(&operand.name.as_str());
        for stride in [0, 2, usize::MAX].into_iter().take(if transposable { 1 } else { 3 }) {
            let layout = with(&operand.layout, inner, operand.layout.dim(inner), stride);
            assert_layout_refused(record, operand, layout, Check::Stride, 1, stride);
        }
    });
}

/// The operand with its last dimension outermost, and the one before it innermost, one element apart from the next of either.
fn transposed(dtype: DType, shape: &[usize]) -> Layout {
    let inner = shape.len() - 1;
    let mut strides = Layout::contiguous(dtype, shape).strides().to_vec();
    (strides[inner - 1], strides[inner]) = (1, shape[inner - 1] + 1);
    if inner > 1 {
        strides[inner - 2] = strides[inner] * shape[inner];
        (0..inner - 2).rev().for_each(|axis| strides[axis] = strides[axis + 1] * shape[axis + 1]);
    }
    Layout::strided(dtype, shape, &strides)
}

#[test]
fn accepts_a_transposed_operand_where_the_page_says_so_and_the_type_has_no_blocks() {
    let mut accepted = Vec::new();
    each_operand(|stem, record, operand| {
        if !stem.facts().transposable.contains(&operand.name.as_str()) {
            return;
        }
        for dtype in types(stem, &operand.name).into_iter().filter(|&d| stem != Stem::Copy || d == DType::F32)
        {
            let layout = transposed(dtype, operand.layout.shape());
            let relaid = relaid(record, &operand.name, layout, 1 << 20);
            if dtype.is_quantised() {
                let stride = layout.stride(layout.rank() - 1);
                let want = format!("innermost stride 1 ({dtype} has blocks of {})", dtype.block_len());
                let error = refusal(&relaid);
                assert_refusal(&error, stem, &operand.name, Check::Stride, want, stride);
            } else {
                assert_accepted(&relaid);
                accepted.push(format!("{stem}.{}", operand.name));
            }
        }
    });
    accepted.dedup();
    let all =
        ["matmul.weight", "kv_write.k_cache", "kv_write.v_cache", "attention.k_cache", "attention.v_cache"];
    assert_eq!(accepted, [&all[..], &["copy.x"]].concat());
}

#[test]
fn rejects_transposed_elements_that_leave_the_buffer_or_coincide_in_an_output() {
    each_operand(|stem, record, operand| {
        if !stem.facts().transposable.contains(&operand.name.as_str()) {
            return;
        }
        let layout = transposed(DType::F32, operand.layout.shape());
        let inner = layout.rank() - 1;
        let end = layout.byte_range().unwrap().end;
        let error = refusal(&relaid(record, &operand.name, layout, end - 1));
        assert_refusal(&error, stem, &operand.name, Check::Extent, end - 1, end);
        assert_accepted(&relaid(record, &operand.name, layout, end));
        if operand.role == Role::Output {
            let (extent, least) = (layout.dim(inner), layout.dim(inner - 1));
            let close = with(&layout, inner, extent, least - 1);
            let error = refusal(&relaid(record, &operand.name, close, end));
            assert_refusal(&error, stem, &operand.name, Check::Stride, least, least - 1);
        }
    });
}

#[test]
fn rejects_a_dimension_of_zero() {
    each_operand(|_, record, operand| {
        for axis in 0..operand.layout.rank() {
            let layout = with(&operand.layout, axis, 0, operand.layout.stride(axis));
            let shape = format!("{:?}", layout.shape());
            assert_layout_refused(record, operand, layout, Check::Shape, "at least 1", shape);
        }
    });
}

#[test]
fn rejects_extents_whose_product_overflows() {
    each_operand(|_, record, operand| {
        let mut shape = operand.layout.shape().to_vec();
        shape[0] = usize::MAX;
        let layout = Layout::contiguous(operand.layout.dtype(), &shape);
        assert_layout_refused(record, operand, layout, Check::Overflow, "64 bits", usize::MAX);
    });
}

#[test]
fn rejects_strides_whose_product_with_the_extents_overflows() {
    each_operand(|_, record, operand| {
        for axis in 0..operand.layout.rank() - 1 {
            // Two steps of 2^63 elements, whole blocks of any type.
            let layout = with(&operand.layout, axis, 3, 1 << 63);
            assert_layout_refused(record, operand, layout, Check::Overflow, "64 bits", 1u64 << 63);
        }
    });
}

#[test]
fn rejects_an_offset_that_overflows() {
    each_operand(|_, record, operand| {
        let offset = usize::MAX - 3;
        let layout = operand.layout.at(offset);
        assert_layout_refused(record, operand, layout, Check::Overflow, "64 bits", offset);
    });
}

#[test]
fn rejects_an_operand_that_ends_one_past_the_end_of_its_buffer() {
    each_operand(|_, record, operand| {
        let (len, step) = (operand.bytes.len(), alignment(operand.layout.dtype()));
        let layout = operand.layout.at(step);
        assert_layout_refused(record, operand, layout, Check::Extent, len, len + step);
    });
}

#[test]
fn rejects_a_last_row_that_a_stride_carries_out_of_its_buffer() {
    each_operand(|_, record, operand| {
        let block = operand.layout.dtype().block_len();
        for axis in 0..operand.layout.rank() - 1 {
            let (extent, stride) = (operand.layout.dim(axis), operand.layout.stride(axis) + block);
            let layout = with(&operand.layout, axis, extent, stride);
            let end = layout.byte_range().unwrap().end;
            assert_layout_refused(record, operand, layout, Check::Extent, operand.bytes.len(), end);
        }
    });
}

#[test]
fn rejects_a_buffer_that_is_a_byte_short() {
    each_operand(|stem, record, operand| {
        let len = operand.bytes.len();
        let error = refusal(&relaid(record, &operand.name, operand.layout, len - 1));
        assert_refusal(&error, stem, &operand.name, Check::Extent, len - 1, len);
    });
}

#[test]
fn rejects_a_first_byte_that_does_not_suit_the_type() {
    each_operand(|stem, record, operand| {
        let align = alignment(operand.layout.dtype());
        for offset in 1..align {
            let len = operand.bytes.len() + align;
            let error = refusal(&relaid(record, &operand.name, operand.layout.at(offset), len));
            assert_refusal(&error, stem, &operand.name, Check::Alignment, align, offset);
        }
    });
}

#[test]
fn rejects_rows_of_an_output_that_coincide_or_overlap() {
    each_operand(|_, record, operand| {
        let (layout, block) = (operand.layout, operand.layout.dtype().block_len());
        if operand.role != Role::Output {
            return;
        }
        for axis in 0..layout.rank() - 1 {
            let (extent, dense) = (layout.dim(axis), layout.stride(axis));
            for (stride, want) in [(0, 1), (dense - block, dense)] {
                let layout = with(&layout, axis, extent, stride);
                assert_layout_refused(record, operand, layout, Check::Stride, want, stride);
            }
        }
    });
}

#[test]
fn rejects_part_of_a_block_and_rows_that_begin_inside_one() {
    each_operand(|stem, record, operand| {
        for dtype in types(stem, &operand.name).into_iter().filter(|d| d.is_quantised()) {
            let block = dtype.block_len();
            let mut shape = operand.layout.shape().to_vec();
            let inner = shape.len() - 1;
            let whole = Layout::contiguous(dtype, &shape);
            for axis in 0..inner {
                let stride = whole.stride(axis) + block / 2;
                let layout = with(&whole, axis, whole.dim(axis), stride);
                assert_layout_refused(record, operand, layout, Check::Stride, block, stride);
            }
            shape[inner] += 1;
            let layout = Layout::contiguous(dtype, &shape);
            assert_layout_refused(record, operand, layout, Check::Shape, block, shape[inner]);
        }
    });
}

#[test]
fn accepts_rows_that_lie_apart_anywhere_in_the_buffer() {
    each_operand(|_, record, operand| {
        let mut layout = operand.layout.at(16);
        for axis in 0..layout.rank() - 1 {
            layout = with(&layout, axis, layout.dim(axis), 2 * layout.stride(axis));
        }
        let end = layout.byte_range().unwrap().end;
        assert_accepted(&relaid(record, &operand.name, layout, end));
    });
}

#[test]
fn accepts_one_row_of_an_input_for_all() {
    each_operand(|_, record, operand| {
        if operand.role == Role::Input && operand.layout.rank() > 1 {
            let layout = with(&operand.layout, 0, operand.layout.dim(0), 0);
            assert_accepted(&relaid(record, &operand.name, layout, layout.byte_range().unwrap().end));
        }
    });
}

#[test]
fn accepts_an_output_with_its_outer_dimensions_in_another_order() {
    each_operand(|_, record, operand| {
        let layout = operand.layout;
        if operand.role == Role::Output && layout.rank() > 2 {
            let (rows, inside) = (layout.dim(0), layout.dim(1));
            let row = layout.stride(1);
            let swapped = with(&with(&layout, 0, rows, row), 1, inside, rows * row);
            assert_accepted(&relaid(record, &operand.name, swapped, operand.bytes.len()));
        }
    });
}

#[test]
fn every_dimension_agrees_with_another_or_is_free() {
    each_operand(|stem, record, operand| {
        for axis in 0..operand.layout.rank() {
            let free = matches!(
                (stem, operand.name.as_str(), axis),
                (Stem::Embed, "table", 0) | (Stem::Argmax, "x", 1) | (Stem::Fill, ..)
            );
            let mut shape = operand.layout.shape().to_vec();
            shape[axis] += operand.layout.dtype().block_len();
            let grown = reshaped(record, &operand.name, operand.layout.dtype(), &shape);
            if free {
                assert_accepted(&grown);
            } else {
                let error = refusal(&grown);
                assert_eq!((error.op, error.check), (stem.name(), Check::Shape), "{error}");
            }
        }
    });
}

#[test]
fn an_absent_source_is_the_output() {
    let sources = [
        (Stem::RmsNorm, "x"),
        (Stem::Rope, "x"),
        (Stem::Softmax, "x"),
        (Stem::SiluMul, "gate"),
        (Stem::GeluMul, "gate"),
        (Stem::Add, "a"),
        (Stem::Mul, "a"),
        (Stem::Scale, "x"),
    ];
    for (stem, source) in sources {
        let in_place = without(&sample(stem), source);
        assert_accepted(&in_place);
        let out = in_place.find("out").unwrap();
        let error = refusal(&relaid(&in_place, "out", out.layout, out.bytes.len() - 1));
        assert_refusal(&error, stem, "out", Check::Extent, out.bytes.len() - 1, out.bytes.len());
    }
}
