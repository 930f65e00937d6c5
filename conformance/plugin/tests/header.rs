//! `assay.h` says what the Rust side does: the same structs with the same layout, the same numbers.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use assay_plugin::{HEADER, abi};
use kernels::{DType, Role};

/// The header without its comments.
fn code() -> String {
    let mut text = String::new();
    let mut rest = HEADER;
    while let Some((before, comment)) = rest.split_once("/*") {
        text.push_str(before);
        rest = comment.split_once("*/").unwrap().1;
    }
    text + rest
}

/// Size and alignment of a C type on a machine with 64-bit pointers.
fn size(kind: &str) -> usize {
    match kind {
        "uint32_t" | "int32_t" => 4,
        "uint64_t" | "double" => 8,
        kind if kind.ends_with('*') => 8,
        other => panic!("this test does not know the type '{other}'"),
    }
}

/// Names and places of the fields of the struct called `name`, by the rules of C; and its size.
fn laid_out(name: &str) -> (Vec<(String, usize)>, usize) {
    let code = code();
    let (_, body) = code.split_once(&format!("typedef struct {name} {{")).unwrap();
    let (body, _) = body.split_once(&format!("}} {name};")).unwrap();
    let (mut fields, mut at, mut widest) = (Vec::new(), 0usize, 1);
    for declaration in body.split(';').map(str::trim).filter(|d| !d.is_empty()) {
        let (field, bytes, alignment) = if let Some((_, pointer)) = declaration.split_once("(*") {
            (pointer.split_once(')').unwrap().0.to_owned(), 8, 8)
        } else {
            let last = declaration.rfind([' ', '*']).unwrap() + 1;
            let (kind, field) = (declaration[..last].trim(), &declaration[last..]);
            let (field, count) = match field.split_once('[') {
                Some((field, count)) => (field, count.trim_end_matches(']').parse::<usize>().unwrap()),
                None => (field, 1),
            };
            (field.to_owned(), size(kind) * count, size(kind))
        };
        at = at.next_multiple_of(alignment);
        fields.push((field, at));
        at += bytes;
        widest = widest.max(alignment);
    }
    (fields, at.next_multiple_of(widest))
}

#[test]
fn structs_have_the_same_fields_in_the_same_places() {
    let same = |name: &str, fields: &[(&str, usize)], size: usize| {
        let (declared, bytes) = laid_out(name);
        let ours: Vec<_> = fields.iter().map(|(field, at)| ((*field).to_owned(), *at)).collect();
        assert_eq!(declared, ours, "{name}");
        assert_eq!(bytes, size, "{name}");
    };
    same("assay_operand", abi::Operand::FIELDS, size_of::<abi::Operand>());
    same("assay_param", abi::Param::FIELDS, size_of::<abi::Param>());
    same("assay_op", abi::Op::FIELDS, size_of::<abi::Op>());
    same("assay_numerics", abi::Numerics::FIELDS, size_of::<abi::Numerics>());
    same("assay_plugin", abi::Plugin::FIELDS, size_of::<abi::Plugin>());
    assert_eq!(code().matches("typedef struct").count(), 5);
}

#[test]
fn numbers_are_the_same_and_none_is_missing() {
    let mut ours: Vec<(String, i64)> = vec![("ABI".into(), i64::from(abi::ABI))];
    ours.extend(abi::NUMBERS.iter().map(|(name, number)| ((*name).to_owned(), *number)));
    ours.extend(DType::WEIGHTS.map(|dtype| (dtype.name().to_uppercase(), i64::from(abi::dtype(dtype)))));
    for (name, role) in [("INPUT", Role::Input), ("INDICES", Role::Indices), ("OUTPUT", Role::Output)] {
        ours.push((name.into(), i64::from(abi::role(role))));
    }
    let code = code();
    let mut declared: Vec<(String, i64)> = code
        .lines()
        .filter_map(|line| {
            let (name, number) = line.strip_prefix("#define ASSAY_")?.split_once(' ')?;
            Some((name.to_owned(), number.trim().parse().ok()?))
        })
        .collect();
    ours.sort();
    declared.sort();
    assert_eq!(declared, ours);
    assert_eq!(abi::dtype(DType::U32), abi::U32);
    assert_eq!(abi::RANK, kernels::MAX_RANK);
}

#[test]
fn the_entry_point_has_the_name_that_is_looked_for() {
    assert!(code().contains(&format!("const assay_plugin *{}(uint32_t abi);", abi::OPEN)));
}
