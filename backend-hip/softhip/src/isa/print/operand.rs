//! Registers and constants.

use std::fmt::{self, Display, Formatter};

use crate::isa::inst::{FloatConst, Operand, SpecialSource, scalar};
use crate::isa::table::Ty;

/// An operand with the type that decides its width and how its constant is written.
#[derive(Clone, Copy)]
pub struct Typed {
    pub operand: Operand,
    pub ty: Ty,
}

impl Display for Typed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let registers = self.ty.dwords();
        match self.operand {
            Operand::None => f.write_str("off"),
            Operand::Vgpr(n) => register(f, "v", n, registers),
            Operand::Agpr(n) => register(f, "a", n, registers),
            Operand::Scalar(n) => scalar_register(f, n, registers),
            Operand::Int(n) => write!(f, "{n}"),
            Operand::Float(c) if self.ty == Ty::B16 => write!(f, "{:#x}", c.f16_bits()),
            Operand::Float(c) => f.write_str(float_name(c, is_64_bit(self.ty))),
            Operand::Literal(bits) => literal(f, bits, self.ty),
            Operand::Special(source) => f.write_str(special_name(source)),
        }
    }
}

fn register(f: &mut Formatter<'_>, file: &str, first: u8, registers: u8) -> fmt::Result {
    match registers {
        0 | 1 => write!(f, "{file}{first}"),
        n => write!(f, "{file}[{first}:{}]", u32::from(first) + u32::from(n) - 1),
    }
}

fn scalar_register(f: &mut Formatter<'_>, first: u8, registers: u8) -> fmt::Result {
    let name = match (first, registers) {
        (0..=101, n) => return register(f, "s", first, n),
        (108..=123, n) => return register(f, "ttmp", first - scalar::TTMP0, n),
        (scalar::NULL, _) => "null",
        (scalar::FLAT_SCRATCH, 2) => "flat_scratch",
        (scalar::XNACK_MASK, 2) => "xnack_mask",
        (scalar::VCC, 2) => "vcc",
        (scalar::EXEC, 2) => "exec",
        (102, _) => "flat_scratch_lo",
        (103, _) => "flat_scratch_hi",
        (104, _) => "xnack_mask_lo",
        (105, _) => "xnack_mask_hi",
        (106, _) => "vcc_lo",
        (107, _) => "vcc_hi",
        (124, _) => "m0",
        (126, _) => "exec_lo",
        _ => "exec_hi",
    };
    f.write_str(name)
}

const fn is_64_bit(ty: Ty) -> bool {
    matches!(ty, Ty::B64 | Ty::F64 | Ty::F64X4 | Ty::S64)
}

const fn float_name(constant: FloatConst, wide: bool) -> &'static str {
    match constant {
        FloatConst::Half => "0.5",
        FloatConst::NegHalf => "-0.5",
        FloatConst::One => "1.0",
        FloatConst::NegOne => "-1.0",
        FloatConst::Two => "2.0",
        FloatConst::NegTwo => "-2.0",
        FloatConst::Four => "4.0",
        FloatConst::NegFour => "-4.0",
        FloatConst::InvTwoPi if wide => "0.15915494309189532",
        FloatConst::InvTwoPi => "0.15915494",
    }
}

const fn special_name(source: SpecialSource) -> &'static str {
    match source {
        SpecialSource::SharedBase => "src_shared_base",
        SpecialSource::SharedLimit => "src_shared_limit",
        SpecialSource::PrivateBase => "src_private_base",
        SpecialSource::PrivateLimit => "src_private_limit",
        SpecialSource::PopsExitingWaveId => "src_pops_exiting_wave_id",
        SpecialSource::Vccz => "src_vccz",
        SpecialSource::Execz => "src_execz",
        SpecialSource::Scc => "src_scc",
        SpecialSource::LdsDirect => "src_lds_direct",
    }
}

fn is_inline(n: i64) -> bool {
    (-16..=64).contains(&n)
}

/// The inline constant whose bits, in the format `bits_of`, are `value`.
fn float_with<T: PartialEq + Copy>(value: T, bits_of: impl Fn(FloatConst) -> T) -> Option<FloatConst> {
    FloatConst::ALL.into_iter().find(|&c| bits_of(c) == value)
}

/// A literal is written like the inline constant that has the same value, if there is one.
fn literal(f: &mut Formatter<'_>, bits: u32, ty: Ty) -> fmt::Result {
    let low = bits & 0xffff;
    let [b0, b1, ..] = bits.to_le_bytes();
    let half = u16::from_le_bytes([b0, b1]);
    let signed = i64::from(bits.cast_signed());
    let (number, float, hex) = match ty {
        Ty::F16 => (i64::from(half.cast_signed()), float_with(half, FloatConst::f16_bits), low),
        Ty::B16 => (signed, float_with(bits, FloatConst::f32_bits), low),
        Ty::PF16 | Ty::PB16 => {
            let float = if bits == low { float_with(half, FloatConst::f16_bits) } else { None };
            (signed, float, bits)
        }
        Ty::F64 => {
            let value = u64::from(bits) << 32;
            let number = if bits == 0 { 0 } else { i64::MAX };
            (number, float_with(value, FloatConst::f64_bits), bits)
        }
        Ty::B64 => (i64::from(bits), None, bits),
        _ => (signed, float_with(bits, FloatConst::f32_bits), bits),
    };
    if is_inline(number) {
        write!(f, "{number}")
    } else if let Some(constant) = float {
        f.write_str(float_name(constant, is_64_bit(ty)))
    } else {
        write!(f, "{hex:#x}")
    }
}
