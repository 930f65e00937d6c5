//! Records that do not describe an op.

use kernels::{BindError, OperandKind, Record, Role, Stem};
use serde_json::json;

use crate::{Memory, input, sample, without};

/// What comes of binding `record` to buffers as long as its operands.
fn bind(record: &Record) -> Result<(), BindError> {
    let mut buffers: Vec<_> = record.operands().iter().map(|o| Memory(o.bytes.len())).collect();
    record.bind(&mut buffers).map(drop)
}

/// Inputs without which an op is another valid op: in place, or without the addend or the divisors.
fn may_be_absent(stem: Stem, operand: &str) -> bool {
    let operands = &stem.facts().operands;
    let kind = operands.iter().find(|fact| fact.name == operand).map(|fact| fact.kind);
    matches!(kind, Some(OperandKind::InPlace | OperandKind::Optional))
}

#[test]
fn a_record_of_an_op_is_the_record_it_came_from() {
    for &stem in Stem::ALL {
        let record = sample(stem);
        let mut buffers: Vec<_> = record.operands().iter().map(|o| Memory(o.bytes.len())).collect();
        let op = record.bind(&mut buffers).unwrap();
        let mut contents = op.operands().into_iter().map(|o| record.find(o.name).unwrap().bytes.clone());
        assert_eq!(Record::of(&op, |_| Ok(contents.next().unwrap())).unwrap(), record);
    }
}

#[test]
fn rejects_a_missing_operand() {
    for &stem in Stem::ALL {
        for operand in sample(stem).operands() {
            match bind(&without(&sample(stem), &operand.name)) {
                Ok(()) => assert!(may_be_absent(stem, &operand.name), "{stem}: {}", operand.name),
                Err(BindError::MissingOperand(name)) => {
                    assert!(!may_be_absent(stem, name), "{stem}: {name}");
                    assert_eq!(name, operand.name);
                }
                Err(other) => panic!("{stem}: {}: {other}", operand.name),
            }
        }
    }
}

#[test]
fn rejects_an_operand_that_the_op_does_not_have() {
    for &stem in Stem::ALL {
        let error = bind(&input(sample(stem), "gain", &[3])).unwrap_err();
        assert_eq!(error, BindError::UnknownOperand("gain".into()));
    }
}

#[test]
fn rejects_an_operand_given_twice() {
    for &stem in Stem::ALL {
        let record = sample(stem);
        let first = record.operands()[0].clone();
        let twice = record.operand(&first.name, first.role, first.layout, first.bytes);
        assert_eq!(bind(&twice).unwrap_err(), BindError::UnknownOperand(first.name));
    }
}

#[test]
fn rejects_an_operand_in_another_role() {
    for &stem in Stem::ALL {
        for operand in sample(stem).operands() {
            let role = if operand.role == Role::Input { Role::Output } else { Role::Input };
            let (layout, bytes) = (operand.layout, operand.bytes.clone());
            let name = operand.name.as_str();
            match bind(&without(&sample(stem), name).operand(name, role, layout, bytes)).unwrap_err() {
                BindError::MissingOperand(missing) => assert_eq!(missing, name),
                BindError::UnknownOperand(unknown) => {
                    assert!(unknown == name && may_be_absent(stem, name), "{stem}: {unknown}");
                }
                other => panic!("{stem}: {name}: {other}"),
            }
        }
    }
}

#[test]
fn rejects_another_number_of_buffers_than_of_operands() {
    let record = sample(Stem::Matmul);
    let operands = record.operands().len();
    for count in [0, operands - 1, operands + 1] {
        let mut buffers: Vec<_> = (0..count).map(|_| Memory(1 << 20)).collect();
        let error = record.bind(&mut buffers).map(drop).unwrap_err();
        assert_eq!(error, BindError::BufferCount { operands, buffers: count });
    }
}

#[test]
fn rejects_a_missing_parameter_and_one_of_the_wrong_kind() {
    for &stem in Stem::ALL {
        for (name, _) in sample(stem).params {
            let mut record = sample(stem);
            record.params.insert(name.clone(), json!({"kind": "wrong"}));
            match bind(&record).unwrap_err() {
                BindError::BadParam { name: bad, why } => assert!(bad == name && !why.is_empty()),
                other => panic!("{stem}: {name}: {other}"),
            }
            record.params.remove(&name);
            match bind(&record).unwrap_err() {
                BindError::MissingParam(missing) => assert_eq!(missing, name),
                other => panic!("{stem}: {name}: {other}"),
            }
        }
    }
}

#[test]
fn rejects_a_parameter_that_json_cannot_hold() {
    for (stem, name) in [(Stem::RmsNorm, "eps"), (Stem::Scale, "factor"), (Stem::Attention, "scale")] {
        let error = bind(&sample(stem).param(name, f32::NAN)).unwrap_err();
        assert!(matches!(&error, BindError::BadParam { name: bad, .. } if *bad == name), "{error}");
    }
}

#[test]
fn rejects_a_parameter_that_the_op_does_not_have() {
    for &stem in Stem::ALL {
        let error = bind(&sample(stem).param("epsilon", 1e-5)).unwrap_err();
        assert_eq!(error, BindError::UnknownParam("epsilon".into()));
    }
}
