//! Compares into a mask.
//!
//! A relation has one bit per outcome that satisfies it: 1 less, 2 equal, 4 greater, 8 unordered.
//! Integers are never unordered and have the low three.

use std::marker::PhantomData;

use half::f16;

use crate::exec::core::cx::{Cx, Handler, Step};
use crate::exec::core::lanes::test2;
use crate::exec::core::uop::Uop;
use crate::exec::core::vectorised::{Operation, lanewise, vectorised};
use crate::exec::core::word::Word;
use crate::exec::float::Float;
use crate::isa::table::compare::{Compare, Number, Test};
use crate::isa::{Op, table};

/// Writes the mask, and EXEC too for `v_cmpx`.
fn finish(c: &mut Cx<'_>, u: &Uop, holds: u64) -> Step {
    let mask = holds & c.wave.exec();
    c.write64(u, mask);
    if u.writes_exec {
        c.wave.set_exec(mask);
    }
    Step::Next
}

/// A relation between numbers.
struct Related<T, const RELATION: u8>(PhantomData<T>);

impl<T: Word + PartialOrd, const RELATION: u8> Operation for Related<T, RELATION> {
    #[inline(always)]
    fn run(c: &mut Cx<'_>, u: &Uop) -> Step {
        #[expect(clippy::eq_op, reason = "a NaN is not equal to itself")]
        let holds = test2(c, u, |a: T, b: T| {
            let less = RELATION & 1 != 0 && a < b;
            let equal = RELATION & 2 != 0 && a == b;
            let greater = RELATION & 4 != 0 && a > b;
            let unordered = RELATION & 8 != 0 && (a != a || b != b);
            less | equal | greater | unordered
        });
        finish(c, u, holds)
    }
}

fn compare<T: Word + PartialOrd, const RELATION: u8>() -> Handler {
    vectorised::<Related<T, RELATION>>()
}

/// Relations among integers.
fn ordered<T: Word + Ord>(relation: usize) -> Option<Handler> {
    Some(match relation {
        0 => compare::<T, 0>(),
        1 => compare::<T, 1>(),
        2 => compare::<T, 2>(),
        3 => compare::<T, 3>(),
        4 => compare::<T, 4>(),
        5 => compare::<T, 5>(),
        6 => compare::<T, 6>(),
        7 => |c, u| finish(c, u, u64::MAX),
        _ => return None,
    })
}

/// Relations among floating-point numbers.
fn partial<T: Word + PartialOrd>(relation: usize) -> Option<Handler> {
    Some(match relation {
        0 => compare::<T, 0>(),
        1 => compare::<T, 1>(),
        2 => compare::<T, 2>(),
        3 => compare::<T, 3>(),
        4 => compare::<T, 4>(),
        5 => compare::<T, 5>(),
        6 => compare::<T, 6>(),
        7 => compare::<T, 7>(),
        8 => compare::<T, 8>(),
        9 => compare::<T, 9>(),
        10 => compare::<T, 10>(),
        11 => compare::<T, 11>(),
        12 => compare::<T, 12>(),
        13 => compare::<T, 13>(),
        14 => compare::<T, 14>(),
        15 => |c, u| finish(c, u, u64::MAX),
        _ => return None,
    })
}

/// One of the classes in `mask`: signalling and quiet NaN, then −∞, −normal, −denormal, −0, and their mirror images.
fn is_class<F: Float>(value: F, mask: u32) -> bool {
    let class = if value.is_nan() {
        u32::from(!value.is_signalling())
    } else {
        let size = if value.is_infinite() {
            0
        } else if value.magnitude() == 0 {
            3
        } else if value.is_denormal() {
            2
        } else {
            1
        };
        if value.is_negative() { 2 + size } else { 9 - size }
    };
    (mask >> class) & 1 != 0
}

#[inline(always)]
fn class<F: Float>(c: &mut Cx<'_>, u: &Uop) -> Step {
    let holds = test2(c, u, is_class::<F>);
    finish(c, u, holds)
}

pub(super) fn handler(op: Op) -> Option<Handler> {
    let Compare { test, number, .. } = table::compare(op)?;
    match (test, number) {
        (Test::Class, Number::F16) => Some(lanewise!(class::<f16>)),
        (Test::Class, Number::F32) => Some(lanewise!(class::<f32>)),
        (Test::Class, Number::F64) => Some(lanewise!(class::<f64>)),
        (Test::Class, _) => unreachable!("integers have no classes: the table has none"),
        (Test::Relation(relation), number) => {
            let relation = usize::from(relation.bits());
            match number {
                Number::F16 => partial::<f16>(relation),
                Number::F32 => partial::<f32>(relation),
                Number::F64 => partial::<f64>(relation),
                Number::I16 => ordered::<i16>(relation),
                Number::U16 => ordered::<u16>(relation),
                Number::I32 => ordered::<i32>(relation),
                Number::U32 => ordered::<u32>(relation),
                Number::I64 => ordered::<i64>(relation),
                Number::U64 => ordered::<u64>(relation),
            }
        }
    }
}
