//! The 64-byte kernel descriptor.

/// How a kernel starts: register setup and memory sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Descriptor {
    /// Bytes of LDS.
    pub lds_size: u32,
    /// Bytes of scratch per work-item.
    pub scratch_size: u32,
    /// Bytes of kernel arguments.
    pub kernarg_size: u32,
    /// Entry point, relative to the descriptor.
    pub entry_offset: i64,
    /// `COMPUTE_PGM_RSRC3`.
    pub rsrc3: u32,
    /// `COMPUTE_PGM_RSRC1`.
    pub rsrc1: u32,
    /// `COMPUTE_PGM_RSRC2`.
    pub rsrc2: u32,
    /// Which user SGPRs are set up, and other code properties.
    pub properties: u16,
    /// Kernel arguments preloaded into SGPRs: length in dwords (bits 6:0), offset (bits 15:7).
    pub kernarg_preload: u16,
}

/// Floating-point mode at kernel start, in the layout of the MODE register's low byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FloatMode {
    /// Rounding of f32: 0 nearest even, 1 up, 2 down, 3 to zero.
    pub round_32: u8,
    /// Rounding of f16 and f64.
    pub round_16_64: u8,
    /// Denormals of f32: bit 0 keeps inputs, bit 1 keeps outputs.
    pub denormal_32: u8,
    /// Denormals of f16 and f64.
    pub denormal_16_64: u8,
    /// NaN operands do not raise and clamp maps NaN to 0.
    pub dx10_clamp: bool,
    /// Quiet signalling NaNs and follow IEEE 754 in min and max.
    pub ieee: bool,
}

impl Descriptor {
    /// Bytes in the file.
    pub const SIZE: usize = 64;

    /// Reads a descriptor; `None` if there are fewer than 64 bytes.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::SIZE] = bytes.first_chunk()?;
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let entry_offset = u64::from(word(16)) | u64::from(word(20)) << 32;
        Some(Self {
            lds_size: word(0),
            scratch_size: word(4),
            kernarg_size: word(8),
            entry_offset: entry_offset.cast_signed(),
            rsrc3: word(44),
            rsrc1: word(48),
            rsrc2: word(52),
            properties: half(56),
            kernarg_preload: half(58),
        })
    }

    /// Vector registers allocated per lane, accumulation registers included.
    pub const fn allocated_vgprs(&self) -> u32 {
        ((self.rsrc1 & 63) + 1) * 8
    }

    /// First accumulation register in the unified file.
    pub const fn accum_offset(&self) -> u32 {
        ((self.rsrc3 & 63) + 1) * 4
    }

    /// Floating-point mode at kernel start.
    pub const fn float_mode(&self) -> FloatMode {
        let [_, mode, flags, _] = (self.rsrc1 >> 4).to_le_bytes();
        // Bits 12–19 of RSRC1 are the mode, 21 is DX10_CLAMP, 23 is IEEE_MODE.
        FloatMode {
            round_32: mode & 3,
            round_16_64: mode >> 2 & 3,
            denormal_32: mode >> 4 & 3,
            denormal_16_64: mode >> 6 & 3,
            dx10_clamp: flags >> 1 & 1 != 0,
            ieee: flags >> 3 & 1 != 0,
        }
    }

    /// SGPRs that hold user data; workgroup ids follow them.
    #[inline]
    pub const fn user_sgprs(&self) -> u32 {
        self.rsrc2 >> 1 & 31
    }

    /// Whether the workgroup id of dimension 0 (x), 1 (y) or 2 (z) is put into an SGPR.
    #[inline]
    pub const fn has_workgroup_id(&self, dimension: u32) -> bool {
        self.rsrc2 >> (7 + dimension) & 1 != 0
    }

    /// Whether the workgroup info word is put into an SGPR.
    pub const fn has_workgroup_info(&self) -> bool {
        self.rsrc2 >> 10 & 1 != 0
    }

    /// Work-item ids in v0: 0 x only, 1 x and y, 2 all; packed 10 bits each.
    pub const fn workitem_ids(&self) -> u32 {
        self.rsrc2 >> 11 & 3
    }

    /// Whether the wave gets scratch memory (`flat_scratch` is set up).
    pub const fn has_scratch(&self) -> bool {
        self.rsrc2 & 1 != 0
    }

    /// User SGPRs in their fixed order: private segment buffer (4), dispatch pointer (2), queue
    /// pointer (2), kernarg pointer (2), dispatch id (2), flat scratch init (2), private segment size (1).
    #[inline]
    pub const fn has_user_sgpr(&self, which: UserSgpr) -> bool {
        self.properties >> (which as u16) & 1 != 0
    }
}

/// The values a kernel may ask for in its user SGPRs, in the order in which they are placed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum UserSgpr {
    /// Buffer resource of scratch, 4 registers.
    PrivateSegmentBuffer,
    /// Address of the dispatch packet, 2 registers.
    DispatchPtr,
    /// Address of the queue, 2 registers.
    QueuePtr,
    /// Address of the kernel arguments, 2 registers.
    KernargSegmentPtr,
    /// Dispatch number, 2 registers.
    DispatchId,
    /// Scratch base and size, 2 registers.
    FlatScratchInit,
    /// Bytes of scratch per work-item, 1 register.
    PrivateSegmentSize,
}

impl UserSgpr {
    /// All, in the order in which they are placed.
    pub const ALL: [Self; 7] = [
        Self::PrivateSegmentBuffer,
        Self::DispatchPtr,
        Self::QueuePtr,
        Self::KernargSegmentPtr,
        Self::DispatchId,
        Self::FlatScratchInit,
        Self::PrivateSegmentSize,
    ];

    /// Registers it takes.
    pub const fn registers(self) -> u32 {
        match self {
            Self::PrivateSegmentBuffer => 4,
            Self::PrivateSegmentSize => 1,
            _ => 2,
        }
    }
}
