//! What validation refuses, op by op, and that each refusal names the op, the operand and both numbers.
//!
//! Each op has a file with a valid sample and the refusals that are its own. [`layouts`] spoils every operand of every sample
//! in every way that is common to all; [`binding`] does the same to records.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod binding;
mod layouts;

use std::fmt::Display;

use kernels::{Buffer, Check, DType, Layout, Op, OpError, Record, Role, Stem};

/// Memory that has a length and no content: validation looks at nothing else.
#[derive(Debug)]
struct Memory(usize);

impl Buffer for Memory {
    fn len(&self) -> usize {
        self.0
    }

    fn label(&self) -> &'static str {
        "memory"
    }
}

/// Declares a module per op, with its `sample`.
macro_rules! ops {
    ($($op:ident $Op:ident,)+) => {
        $(mod $op;)+

        /// A valid op: dense operands at the first byte of buffers that they fill, at least three rows each.
        fn sample(stem: Stem) -> Record {
            match stem { $(Stem::$Op => $op::sample(),)+ }
        }
    };
}
kernels::for_each_op!(ops);

/// Adds a dense operand in a buffer that it fills.
fn dense(record: Record, name: &str, role: Role, dtype: DType, shape: &[usize]) -> Record {
    let layout = Layout::contiguous(dtype, shape);
    record.operand(name, role, layout, vec![0; layout.byte_range().unwrap().end])
}

/// Adds a dense f32 input.
fn input(record: Record, name: &str, shape: &[usize]) -> Record {
    dense(record, name, Role::Input, DType::F32, shape)
}

/// Adds a dense f32 output.
fn output(record: Record, name: &str, shape: &[usize]) -> Record {
    dense(record, name, Role::Output, DType::F32, shape)
}

/// Adds indices with the given values.
fn indices(record: Record, name: &str, values: &[u32]) -> Record {
    let layout = Layout::contiguous(DType::U32, &[values.len()]);
    record.operand(name, Role::Indices, layout, bytemuck::cast_slice(values).to_vec())
}

/// The record without operand `name`.
fn without(record: &Record, name: &str) -> Record {
    let mut bare = Record::new(record.stem);
    bare.params.clone_from(&record.params);
    let kept = record.operands().iter().filter(|o| o.name != name);
    kept.fold(bare, |r, o| r.operand(&o.name, o.role, o.layout, o.bytes.clone()))
}

/// The record with operand `name`, content included, lying as `layout` in a buffer of `len` bytes.
fn relaid(record: &Record, name: &str, layout: Layout, len: usize) -> Record {
    let operand = record.find(name).unwrap();
    let mut bytes = vec![0; len];
    for (to, from) in bytes.iter_mut().skip(layout.offset()).zip(&operand.bytes) {
        *to = *from;
    }
    without(record, name).operand(name, operand.role, layout, bytes)
}

/// The record with operand `name` dense, of another type and shape, in a buffer that it fills.
fn reshaped(record: &Record, name: &str, dtype: DType, shape: &[usize]) -> Record {
    let layout = Layout::contiguous(dtype, shape);
    relaid(record, name, layout, layout.byte_range().unwrap().end)
}

/// The record with other values in the indices `name`.
fn reindexed(record: &Record, name: &str, values: &[u32]) -> Record {
    indices(without(record, name), name, values)
}

/// Validates the op of `record` after `change`.
fn validate(record: &Record, change: impl FnOnce(&mut Op<'_, Memory>)) -> Result<(), OpError> {
    let mut buffers: Vec<_> = record.operands().iter().map(|o| Memory(o.bytes.len())).collect();
    let mut op = record.bind(&mut buffers).unwrap();
    change(&mut op);
    op.validate().map(drop)
}

#[track_caller]
fn assert_accepted(record: &Record) {
    validate(record, |_| ()).unwrap_or_else(|error| panic!("{error}"));
}

#[track_caller]
fn refusal(record: &Record) -> OpError {
    validate(record, |_| ()).expect_err("a refusal")
}

/// The refusal of the sample of `stem` after `change`, which sets what a record cannot hold: JSON has no NaN.
#[track_caller]
fn refusal_after(stem: Stem, change: impl FnOnce(&mut Op<'_, Memory>)) -> OpError {
    validate(&sample(stem), change).expect_err("a refusal")
}

/// What `error` says, to be compared with what it should.
#[track_caller]
fn assert_refusal(
    error: &OpError,
    stem: Stem,
    operand: &str,
    check: Check,
    want: impl Display,
    got: impl Display,
) {
    assert_eq!((error.op, error.operand, error.check), (stem.name(), operand, check), "{error}");
    for (said, due) in [(&error.want, want.to_string()), (&error.got, got.to_string())] {
        let said = words(said);
        assert!(words(&due).iter().all(|word| said.contains(word)), "'{due}' is not in: {error}");
    }
    let message = error.to_string();
    let named = format!("{stem}: {operand}: ");
    assert!(message.starts_with(&named) && message.contains(&error.want) && message.ends_with(&error.got));
}

fn words(text: &str) -> Vec<&str> {
    let between = |c: char| c.is_whitespace() || "()[],".contains(c);
    text.split(between).filter(|word| !word.is_empty()).collect()
}
