//! How far an operation's result can be trusted.

use crate::isa::{Format, Op, table};

/// What stands behind an operation's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fidelity {
    /// Integer arithmetic, moves, or one rounding of IEEE 754: the hardware has the same bits.
    Exact,
    /// A published model of the hardware: the order and the rounding of sums in matrix and dot products.
    Modelled,
    /// Correctly rounded here, within about one unit in the last place on the hardware: transcendental functions, reciprocals,
    /// roots.
    Approximate,
}

/// What stands behind an operation's result.
pub fn fidelity(op: Op) -> Fidelity {
    let home = table::listings().find(|listing| listing.op == op);
    home.map_or(Fidelity::Exact, |listing| in_format(op, listing.format))
}

/// As [`fidelity`], of an operation in an encoding.
pub(super) fn in_format(op: Op, format: Format) -> Fidelity {
    match op {
        Op::v_exp_f32
        | Op::v_exp_legacy_f32
        | Op::v_exp_f16
        | Op::v_log_f32
        | Op::v_log_legacy_f32
        | Op::v_log_f16
        | Op::v_rcp_f32
        | Op::v_rcp_iflag_f32
        | Op::v_rcp_f64
        | Op::v_rcp_f16
        | Op::v_rsq_f32
        | Op::v_rsq_f64
        | Op::v_rsq_f16
        | Op::v_sqrt_f32
        | Op::v_sqrt_f64
        | Op::v_sqrt_f16
        | Op::v_sin_f32
        | Op::v_sin_f16
        | Op::v_cos_f32
        | Op::v_cos_f16 => Fidelity::Approximate,
        Op::v_mfma_i32_32x32x4_2b_i8
        | Op::v_mfma_i32_16x16x4_4b_i8
        | Op::v_mfma_i32_4x4x4_16b_i8
        | Op::v_mfma_i32_32x32x16_i8
        | Op::v_mfma_i32_16x16x32_i8
        | Op::v_smfmac_i32_16x16x64_i8
        | Op::v_smfmac_i32_32x32x32_i8
        | Op::v_accvgpr_read_b32
        | Op::v_accvgpr_write_b32
        | Op::v_accvgpr_mov_b32 => Fidelity::Exact,
        Op::v_dot2_f32_f16 | Op::v_dot2c_f32_f16 => Fidelity::Modelled,
        _ if format == Format::Mai => Fidelity::Modelled,
        _ => Fidelity::Exact,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_of_floats_are_modelled_and_integers_are_exact() {
        assert_eq!(fidelity(Op::v_mfma_f32_32x32x8_f16), Fidelity::Modelled);
        assert_eq!(fidelity(Op::v_mfma_i32_16x16x32_i8), Fidelity::Exact);
        assert_eq!(fidelity(Op::v_fma_f32), Fidelity::Exact);
        assert_eq!(fidelity(Op::v_rsq_f32), Fidelity::Approximate);
    }
}
