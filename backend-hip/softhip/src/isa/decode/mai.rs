//! Matrix instructions and accumulator moves.

use super::operand::{self, Allowed};
use super::{Code, DecodeError, bits, byte, flag};
use crate::isa::inst::{Format, Inst, Mfma, Mods, Operand};
use crate::isa::op::Op;
use crate::isa::table::rule::Mai;
use crate::isa::table::{Row, Ty};

pub fn decode(code: Code, row: &Row<Mai>, second: u32) -> Result<Inst, DecodeError> {
    let op = row.op;
    let mut inst = code.start(row, Format::Mai, 8);
    let acc_cd = flag(code.first, 15);
    let vdst = code.first_bits(0, 8);
    let fields = [bits(second, 0, 9), bits(second, 9, 9), bits(second, 18, 9)];
    match row.rule {
        Mai::AccRead | Mai::AccWrite => {
            let read = row.rule == Mai::AccRead;
            let spare = code.first_bits(8, 6) | fields[1] | fields[2] | bits(second, 29, 3);
            code.require(spare == 0, op, "unused field")?;
            inst.dst = operand::vector(code, op, vdst, row.dst, !read)?;
            let allowed = if read { Allowed::Vector } else { Allowed::Inline };
            inst.src[0] = matrix_source(code, op, fields[0], row.src[0], read, allowed)?;
        }
        Mai::Mfma(_) | Mai::MfmaF64(_) | Mai::Smfmac(_) => {
            inst.dst = operand::vector(code, op, vdst, row.dst, acc_cd)?;
            for (i, acc_bit) in [27, 28].into_iter().enumerate() {
                let acc = flag(second, acc_bit);
                inst.src[i] = matrix_source(code, op, fields[i], row.src[i], acc, Allowed::Vector)?;
            }
            let (acc, allowed) = match row.rule {
                Mai::Smfmac(_) => (false, Allowed::Vector),
                _ => (acc_cd, Allowed::VectorInline),
            };
            inst.src[2] = matrix_source(code, op, fields[2], row.src[2], acc, allowed)?;
            let control = Mfma {
                cbsz: byte(code.first_bits(8, 3)),
                abid: byte(code.first_bits(11, 4)),
                blgp: byte(bits(second, 29, 3)),
            };
            code.require(!matches!(row.rule, Mai::Smfmac(_)) || control.blgp == 0, op, "blgp")?;
            inst.mods = Mods::Mfma(control);
        }
    }
    Ok(inst)
}

fn matrix_source(
    code: Code,
    op: Op,
    field: u32,
    ty: Ty,
    acc: bool,
    allowed: Allowed,
) -> Result<Operand, DecodeError> {
    match operand::source(code, op, field, ty, allowed)? {
        Operand::Vgpr(n) if acc => Ok(Operand::Agpr(n)),
        operand => Ok(operand),
    }
}
