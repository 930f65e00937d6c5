//! Packed and mixed-precision vector operations.

use super::Ty::{B32, F16, F32, PB16, PB32, PF16, PF32};
use super::rule::Vop;
use super::rule::vop::{MIX, PACKED};
use super::{Row, row};
use crate::isa::op::Op::*;

/// VOP3P, by opcode.
pub const VOP3P: &[Row<Vop>] = &[
    row(0, v_pk_mad_i16, PB16, &[PB16, PB16, PB16], PACKED),
    row(1, v_pk_mul_lo_u16, PB16, &[PB16, PB16], PACKED),
    row(2, v_pk_add_i16, PB16, &[PB16, PB16], PACKED),
    row(3, v_pk_sub_i16, PB16, &[PB16, PB16], PACKED),
    row(4, v_pk_lshlrev_b16, PB16, &[PB16, PB16], PACKED),
    row(5, v_pk_lshrrev_b16, PB16, &[PB16, PB16], PACKED),
    row(6, v_pk_ashrrev_i16, PB16, &[PB16, PB16], PACKED),
    row(7, v_pk_max_i16, PB16, &[PB16, PB16], PACKED),
    row(8, v_pk_min_i16, PB16, &[PB16, PB16], PACKED),
    row(9, v_pk_mad_u16, PB16, &[PB16, PB16, PB16], PACKED),
    row(10, v_pk_add_u16, PB16, &[PB16, PB16], PACKED),
    row(11, v_pk_sub_u16, PB16, &[PB16, PB16], PACKED),
    row(12, v_pk_max_u16, PB16, &[PB16, PB16], PACKED),
    row(13, v_pk_min_u16, PB16, &[PB16, PB16], PACKED),
    row(14, v_pk_fma_f16, PF16, &[PF16, PF16, PF16], PACKED),
    row(15, v_pk_add_f16, PF16, &[PF16, PF16], PACKED),
    row(16, v_pk_mul_f16, PF16, &[PF16, PF16], PACKED),
    row(17, v_pk_min_f16, PF16, &[PF16, PF16], PACKED),
    row(18, v_pk_max_f16, PF16, &[PF16, PF16], PACKED),
    row(32, v_fma_mix_f32, F32, &[F32, F32, F32], MIX),
    row(33, v_fma_mixlo_f16, F16, &[F32, F32, F32], MIX),
    row(34, v_fma_mixhi_f16, F16, &[F32, F32, F32], MIX),
    row(35, v_dot2_f32_f16, F32, &[PF16, PF16, F32], PACKED),
    row(38, v_dot2_i32_i16, B32, &[B32, B32, B32], PACKED),
    row(39, v_dot2_u32_u16, B32, &[B32, B32, B32], PACKED),
    row(40, v_dot4_i32_i8, B32, &[B32, B32, B32], PACKED),
    row(41, v_dot4_u32_u8, B32, &[B32, B32, B32], PACKED),
    row(42, v_dot8_i32_i4, B32, &[B32, B32, B32], PACKED),
    row(43, v_dot8_u32_u4, B32, &[B32, B32, B32], PACKED),
    row(48, v_pk_fma_f32, PF32, &[PF32, PF32, PF32], PACKED),
    row(49, v_pk_mul_f32, PF32, &[PF32, PF32], PACKED),
    row(50, v_pk_add_f32, PF32, &[PF32, PF32], PACKED),
    row(51, v_pk_mov_b32, PB32, &[PB32, PB32], PACKED),
];
