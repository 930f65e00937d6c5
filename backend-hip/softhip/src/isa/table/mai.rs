//! Matrix operations and accumulator moves; they share the opcode space of VOP3P.

use super::Ty::{A32, B32, B64, B128, B512, B1024, F64, F64X4};
use super::matrix::Element::{Bf8, Bf16, F16, F32, Fp8, I8, Xf32};
use super::rule::Mai;
use super::rule::mai::{ACC_READ, ACC_WRITE, mfma, mfma_f64, smfmac};
use super::{Row, row};
use crate::isa::op::Op::*;

/// MAI, by opcode.
pub const MAI: &[Row<Mai>] = &[
    row(62, v_mfma_f32_16x16x8_xf32, B128, &[B64, B64, B128], mfma([16, 8, 1], Xf32, Xf32)),
    row(63, v_mfma_f32_32x32x4_xf32, B512, &[B64, B64, B512], mfma([32, 4, 1], Xf32, Xf32)),
    row(64, v_mfma_f32_32x32x1_2b_f32, B1024, &[B32, B32, B1024], mfma([32, 1, 2], F32, F32)),
    row(65, v_mfma_f32_16x16x1_4b_f32, B512, &[B32, B32, B512], mfma([16, 1, 4], F32, F32)),
    row(66, v_mfma_f32_4x4x1_16b_f32, B128, &[B32, B32, B128], mfma([4, 1, 16], F32, F32)),
    row(68, v_mfma_f32_32x32x2_f32, B512, &[B32, B32, B512], mfma([32, 2, 1], F32, F32)),
    row(69, v_mfma_f32_16x16x4_f32, B128, &[B32, B32, B128], mfma([16, 4, 1], F32, F32)),
    row(72, v_mfma_f32_32x32x4_2b_f16, B1024, &[B64, B64, B1024], mfma([32, 4, 2], F16, F16)),
    row(73, v_mfma_f32_16x16x4_4b_f16, B512, &[B64, B64, B512], mfma([16, 4, 4], F16, F16)),
    row(74, v_mfma_f32_4x4x4_16b_f16, B128, &[B64, B64, B128], mfma([4, 4, 16], F16, F16)),
    row(76, v_mfma_f32_32x32x8_f16, B512, &[B64, B64, B512], mfma([32, 8, 1], F16, F16)),
    row(77, v_mfma_f32_16x16x16_f16, B128, &[B64, B64, B128], mfma([16, 16, 1], F16, F16)),
    row(80, v_mfma_i32_32x32x4_2b_i8, B1024, &[B32, B32, B1024], mfma([32, 4, 2], I8, I8)),
    row(81, v_mfma_i32_16x16x4_4b_i8, B512, &[B32, B32, B512], mfma([16, 4, 4], I8, I8)),
    row(82, v_mfma_i32_4x4x4_16b_i8, B128, &[B32, B32, B128], mfma([4, 4, 16], I8, I8)),
    row(86, v_mfma_i32_32x32x16_i8, B512, &[B64, B64, B512], mfma([32, 16, 1], I8, I8)),
    row(87, v_mfma_i32_16x16x32_i8, B128, &[B64, B64, B128], mfma([16, 32, 1], I8, I8)),
    row(88, v_accvgpr_read_b32, B32, &[A32], ACC_READ),
    row(89, v_accvgpr_write_b32, A32, &[B32], ACC_WRITE),
    row(93, v_mfma_f32_32x32x4_2b_bf16, B1024, &[B64, B64, B1024], mfma([32, 4, 2], Bf16, Bf16)),
    row(94, v_mfma_f32_16x16x4_4b_bf16, B512, &[B64, B64, B512], mfma([16, 4, 4], Bf16, Bf16)),
    row(95, v_mfma_f32_4x4x4_16b_bf16, B128, &[B64, B64, B128], mfma([4, 4, 16], Bf16, Bf16)),
    row(96, v_mfma_f32_32x32x8_bf16, B512, &[B64, B64, B512], mfma([32, 8, 1], Bf16, Bf16)),
    row(97, v_mfma_f32_16x16x16_bf16, B128, &[B64, B64, B128], mfma([16, 16, 1], Bf16, Bf16)),
    row(98, v_smfmac_f32_16x16x32_f16, B128, &[B64, B128, B32], smfmac([16, 32], F16, F16)),
    row(100, v_smfmac_f32_32x32x16_f16, B512, &[B64, B128, B32], smfmac([32, 16], F16, F16)),
    row(102, v_smfmac_f32_16x16x32_bf16, B128, &[B64, B128, B32], smfmac([16, 32], Bf16, Bf16)),
    row(104, v_smfmac_f32_32x32x16_bf16, B512, &[B64, B128, B32], smfmac([32, 16], Bf16, Bf16)),
    row(106, v_smfmac_i32_16x16x64_i8, B128, &[B64, B128, B32], smfmac([16, 64], I8, I8)),
    row(108, v_smfmac_i32_32x32x32_i8, B512, &[B64, B128, B32], smfmac([32, 32], I8, I8)),
    row(110, v_mfma_f64_16x16x4_f64, F64X4, &[F64, F64, F64X4], mfma_f64([16, 4, 1])),
    row(111, v_mfma_f64_4x4x4_4b_f64, F64, &[F64, F64, F64], mfma_f64([4, 4, 4])),
    row(112, v_mfma_f32_16x16x32_bf8_bf8, B128, &[B64, B64, B128], mfma([16, 32, 1], Bf8, Bf8)),
    row(113, v_mfma_f32_16x16x32_bf8_fp8, B128, &[B64, B64, B128], mfma([16, 32, 1], Bf8, Fp8)),
    row(114, v_mfma_f32_16x16x32_fp8_bf8, B128, &[B64, B64, B128], mfma([16, 32, 1], Fp8, Bf8)),
    row(115, v_mfma_f32_16x16x32_fp8_fp8, B128, &[B64, B64, B128], mfma([16, 32, 1], Fp8, Fp8)),
    row(116, v_mfma_f32_32x32x16_bf8_bf8, B512, &[B64, B64, B512], mfma([32, 16, 1], Bf8, Bf8)),
    row(117, v_mfma_f32_32x32x16_bf8_fp8, B512, &[B64, B64, B512], mfma([32, 16, 1], Bf8, Fp8)),
    row(118, v_mfma_f32_32x32x16_fp8_bf8, B512, &[B64, B64, B512], mfma([32, 16, 1], Fp8, Bf8)),
    row(119, v_mfma_f32_32x32x16_fp8_fp8, B512, &[B64, B64, B512], mfma([32, 16, 1], Fp8, Fp8)),
    row(120, v_smfmac_f32_16x16x64_bf8_bf8, B128, &[B64, B128, B32], smfmac([16, 64], Bf8, Bf8)),
    row(121, v_smfmac_f32_16x16x64_bf8_fp8, B128, &[B64, B128, B32], smfmac([16, 64], Bf8, Fp8)),
    row(122, v_smfmac_f32_16x16x64_fp8_bf8, B128, &[B64, B128, B32], smfmac([16, 64], Fp8, Bf8)),
    row(123, v_smfmac_f32_16x16x64_fp8_fp8, B128, &[B64, B128, B32], smfmac([16, 64], Fp8, Fp8)),
    row(124, v_smfmac_f32_32x32x32_bf8_bf8, B512, &[B64, B128, B32], smfmac([32, 32], Bf8, Bf8)),
    row(125, v_smfmac_f32_32x32x32_bf8_fp8, B512, &[B64, B128, B32], smfmac([32, 32], Bf8, Fp8)),
    row(126, v_smfmac_f32_32x32x32_fp8_bf8, B512, &[B64, B128, B32], smfmac([32, 32], Fp8, Bf8)),
    row(127, v_smfmac_f32_32x32x32_fp8_fp8, B512, &[B64, B128, B32], smfmac([32, 32], Fp8, Fp8)),
];
