//! Compares into a mask.
//!
//! The low bits of a compare's opcode say which relations satisfy it: 1 less, 2 equal, 4 greater, 8 unordered.
//! Integers are never unordered and have the low three.

use half::f16;

use crate::exec::core::cx::{Cx, Handler, Step};
use crate::exec::core::lanes::test2;
use crate::exec::core::uop::Uop;
use crate::exec::core::word::Word;
use crate::exec::float::Float;
use crate::isa::Op;

/// Writes the mask, and EXEC too for `v_cmpx`.
fn finish<const X: bool>(c: &mut Cx<'_>, u: &Uop, holds: u64) -> Step {
    let mask = holds & c.wave.exec();
    c.write64(u, mask);
    if X {
        c.wave.set_exec(mask);
    }
    Step::Next
}

fn compare<T: Word + PartialOrd, const RELATION: u8, const X: bool>(c: &mut Cx<'_>, u: &Uop) -> Step {
    #[expect(clippy::eq_op, reason = "a NaN is not equal to itself")]
    let holds = test2(c, u, |a: T, b: T| {
        let less = RELATION & 1 != 0 && a < b;
        let equal = RELATION & 2 != 0 && a == b;
        let greater = RELATION & 4 != 0 && a > b;
        let unordered = RELATION & 8 != 0 && (a != a || b != b);
        less | equal | greater | unordered
    });
    finish::<X>(c, u, holds)
}

fn table<T: Word + PartialOrd, const X: bool>() -> [Handler; 16] {
    [
        compare::<T, 0, X>,
        compare::<T, 1, X>,
        compare::<T, 2, X>,
        compare::<T, 3, X>,
        compare::<T, 4, X>,
        compare::<T, 5, X>,
        compare::<T, 6, X>,
        compare::<T, 7, X>,
        compare::<T, 8, X>,
        compare::<T, 9, X>,
        compare::<T, 10, X>,
        compare::<T, 11, X>,
        compare::<T, 12, X>,
        compare::<T, 13, X>,
        compare::<T, 14, X>,
        compare::<T, 15, X>,
    ]
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

fn class<F: Float, const X: bool>(c: &mut Cx<'_>, u: &Uop) -> Step {
    let holds = test2(c, u, is_class::<F>);
    finish::<X>(c, u, holds)
}

/// The relation bits by name.
fn relation(name: &str) -> Option<usize> {
    Some(match name {
        "f" => 0,
        "lt" => 1,
        "eq" => 2,
        "le" => 3,
        "gt" => 4,
        "lg" | "ne" => 5,
        "ge" => 6,
        "o" | "t" => 7,
        "u" => 8,
        "nge" => 9,
        "nlg" => 10,
        "ngt" => 11,
        "nle" => 12,
        "neq" => 13,
        "nlt" => 14,
        "tru" => 15,
        _ => return None,
    })
}

fn by_name<const X: bool>(relation_name: &str, ty: &str) -> Option<Handler> {
    let at = relation(relation_name)?;
    Some(match ty {
        "f16" => table::<f16, X>()[at],
        "f32" => table::<f32, X>()[at],
        "f64" => table::<f64, X>()[at],
        "i16" => table::<i16, X>()[at],
        "u16" => table::<u16, X>()[at],
        "i32" => table::<i32, X>()[at],
        "u32" => table::<u32, X>()[at],
        "i64" => table::<i64, X>()[at],
        "u64" => table::<u64, X>()[at],
        _ => return None,
    })
}

pub(super) fn handler(op: Op) -> Option<Handler> {
    let handler: Handler = match op {
        Op::v_cmp_class_f32 => class::<f32, false>,
        Op::v_cmpx_class_f32 => class::<f32, true>,
        Op::v_cmp_class_f64 => class::<f64, false>,
        Op::v_cmpx_class_f64 => class::<f64, true>,
        Op::v_cmp_class_f16 => class::<f16, false>,
        Op::v_cmpx_class_f16 => class::<f16, true>,
        _ => {
            let name = op.mnemonic();
            return if let Some((relation, ty)) = name.strip_prefix("v_cmp_").and_then(|rest| rest.split_once('_')) {
                by_name::<false>(relation, ty)
            } else {
                let (relation, ty) = name.strip_prefix("v_cmpx_").and_then(|rest| rest.split_once('_'))?;
                by_name::<true>(relation, ty)
            };
        }
    };
    Some(handler)
}
