//! Registers, LDS and scratch of a kernel, and the occupancy that follows from them on CDNA3.
//!
//! A compute unit has 4 SIMDs. Of each lane's 512 registers, VGPRs and AGPRs together, a wave takes multiples of 8; a SIMD holds 8
//! waves at most, 7 where they have more than 100 SGPRs. A compute unit has 64 KiB of LDS, which a block takes in multiples of
//! 512 bytes, and room for 16 blocks of more than one wave. The waves of a block run on one compute unit, all of them or none: where
//! that leaves registers over, the figure is below what the compiler remarks (`-Rpass-analysis=kernel-resource-usage`).

use serde::{Deserialize, Serialize};
use softhip::object::Kernel;

const SIMDS: u32 = 4;
const WAVES_PER_SIMD: u32 = 8;
const VGPRS: u32 = 512;
const VGPR_GRANULE: u32 = 8;
const LDS_BYTES: u32 = 64 << 10;
const LDS_GRANULE: u32 = 512;
const BLOCKS: u32 = 16;

/// What a kernel takes of a compute unit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// Its name.
    pub kernel: String,
    /// Vector registers, AGPRs included.
    pub vgprs: u32,
    /// Scalar registers.
    pub sgprs: u32,
    /// Accumulation registers.
    pub agprs: u32,
    /// Bytes of LDS of a block.
    pub lds: u32,
    /// Bytes of scratch of a thread.
    pub scratch: u32,
    /// Threads of a block.
    pub block: u32,
    /// Waves that fit on a SIMD at once.
    pub waves: f64,
}

impl Resources {
    /// Those of a kernel with the largest block that it allows.
    pub fn of(kernel: &Kernel) -> Self {
        let block =
            kernel.required_workgroup_size.map_or(kernel.max_flat_workgroup_size, |b| b.iter().product());
        Self::launched(kernel, block, 0)
    }

    /// Those of a launch with `block` threads, and `dynamic_lds` bytes beyond what the kernel declares.
    pub fn launched(kernel: &Kernel, block: u32, dynamic_lds: u32) -> Self {
        let lds = kernel.lds_size + dynamic_lds;
        Resources {
            kernel: kernel.name.clone(),
            vgprs: kernel.vgprs,
            sgprs: kernel.sgprs,
            agprs: kernel.agprs,
            lds,
            scratch: kernel.scratch_size,
            block,
            waves: waves_per_simd(kernel.vgprs, kernel.sgprs, lds, block.div_ceil(kernel.wavefront_size)),
        }
    }
}

/// Waves on a SIMD, on average over the SIMDs of a compute unit.
fn waves_per_simd(vgprs: u32, sgprs: u32, lds: u32, waves_of_block: u32) -> f64 {
    let waves_of_block = waves_of_block.max(1);
    let by_vgprs = VGPRS / vgprs.max(1).next_multiple_of(VGPR_GRANULE);
    let by_sgprs = if sgprs > 100 { WAVES_PER_SIMD - 1 } else { WAVES_PER_SIMD };
    let blocks_by_registers = SIMDS * by_vgprs.min(by_sgprs) / waves_of_block;
    let blocks_by_lds = LDS_BYTES / lds.max(1).next_multiple_of(LDS_GRANULE);
    let slots = if waves_of_block == 1 { SIMDS * WAVES_PER_SIMD } else { BLOCKS };
    f64::from(blocks_by_registers.min(blocks_by_lds).min(slots) * waves_of_block) / f64::from(SIMDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "quarters are exact")]
    fn occupancy_is_what_the_scarcest_resource_leaves() {
        // Vector registers, scalar registers, LDS, waves of a block.
        assert_eq!(waves_per_simd(12, 28, 16, 4), 8.0, "nothing is scarce");
        assert_eq!(waves_per_simd(100, 86, 16, 4), 4.0, "104 registers of 512");
        assert_eq!(waves_per_simd(65, 20, 0, 1), 7.0, "72 registers of 512");
        assert_eq!(waves_per_simd(64, 20, 0, 1), 8.0, "64 registers of 512");
        assert_eq!(waves_per_simd(16, 104, 0, 1), 7.0, "more than 100 scalar registers");
        assert_eq!(waves_per_simd(16, 20, 32 << 10, 4), 2.0, "two blocks' LDS");
        assert_eq!(waves_per_simd(16, 20, (32 << 10) + 1, 4), 1.0, "LDS goes by 512 bytes");
        assert_eq!(waves_per_simd(16, 20, 64 << 10, 1), 0.25, "one wave on four SIMDs");
        assert_eq!(waves_per_simd(256, 20, 0, 16), 0.0, "a block of 16 waves does not fit");
    }
}
