//! Integer arithmetic, shifts and bit operations.

use crate::exec::core::cx::{Cx, Handler, Step};
use crate::exec::core::lanes::{map1, map2, map3};
use crate::exec::core::uop::Uop;
use crate::exec::core::vectorised::lanewise;
use crate::exec::core::word::Word;
use crate::isa::Op;
use crate::memory::WAVE;

/// `exact` where `clamp` saturates, `wrapping` otherwise.
#[inline(always)]
fn saturating2<T: Word>(
    c: &mut Cx<'_>,
    u: &Uop,
    wrapping: impl Fn(T, T) -> T,
    exact: impl Fn(T, T) -> T,
) -> Step {
    if u.clamp { map2(c, u, exact) } else { map2(c, u, wrapping) }
}

/// The exact result, saturated or wrapped to `u32`.
#[inline(always)]
fn wide_u32(c: &mut Cx<'_>, u: &Uop, f: impl Fn(u32, u32, u32) -> u64) -> Step {
    if u.clamp {
        map3(c, u, |a, b, d| f(a, b, d).min(u32::MAX.into()) as u32)
    } else {
        map3(c, u, |a, b, d| f(a, b, d) as u32)
    }
}

/// The exact result, saturated or wrapped to `i32`.
#[inline(always)]
fn wide_i32(c: &mut Cx<'_>, u: &Uop, f: impl Fn(i32, i32, i32) -> i64) -> Step {
    if u.clamp {
        map3(c, u, |a, b, d| f(a, b, d).clamp(i32::MIN.into(), i32::MAX.into()) as i32)
    } else {
        map3(c, u, |a, b, d| f(a, b, d) as i32)
    }
}

const fn u24(value: u32) -> u64 {
    (value & 0xff_ffff) as u64
}

const fn i24(value: i32) -> i64 {
    (value << 8 >> 8) as i64
}

fn mid<T: Ord + Copy>(a: T, b: T, c: T) -> T {
    a.max(b).min(a.min(b).max(c))
}

const fn bfe_u32(value: u32, at: u32, width: u32) -> u32 {
    (value >> (at & 31)) & ((1 << (width & 31)) - 1)
}

const fn bfe_i32(value: i32, at: u32, width: u32) -> i32 {
    // Bits above the sign are copies of it. No early return: lane loops become vectors.
    let spare = width.wrapping_neg() & 31;
    let field = ((value >> (at & 31)) << spare) >> spare;
    if width.is_multiple_of(32) { 0 } else { field }
}

fn lerp(a: [u8; 4], b: [u8; 4], round: [u8; 4]) -> [u8; 4] {
    std::array::from_fn(|i| ((u16::from(a[i]) + u16::from(b[i]) + u16::from(round[i] & 1)) >> 1) as u8)
}

fn perm(a: u32, b: u32, select: [u8; 4]) -> [u8; 4] {
    let bytes = (u64::from(b) | (u64::from(a) << 32)).to_le_bytes();
    let sign = |i: usize| if bytes[i] & 0x80 != 0 { 0xff } else { 0 };
    select.map(|which| match which {
        0..=7 => bytes[usize::from(which)],
        8 => sign(1),
        9 => sign(3),
        10 => sign(5),
        11 => sign(7),
        12 => 0,
        _ => 0xff,
    })
}

fn sad_u8(a: u32, b: u32) -> u32 {
    a.to_le_bytes().into_iter().zip(b.to_le_bytes()).map(|(x, y)| u32::from(x.abs_diff(y))).sum()
}

/// Bytes of `b` that are 0 are left out.
fn masked_sad_u8(a: u32, b: u32) -> u32 {
    let pairs = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
    pairs.filter(|&(_, y)| y != 0).map(|(x, y)| u32::from(x.abs_diff(y))).sum()
}

fn sad_u16(a: u32, b: u32) -> u32 {
    (a & 0xffff).abs_diff(b & 0xffff) + (a >> 16).abs_diff(b >> 16)
}

/// Four sums at byte offsets 0 to 3 of `a`, each added to 16 bits of `d`.
fn quad_sad(a: u64, b: u32, d: u64, clamp: bool, sad: impl Fn(u32, u32) -> u32) -> u64 {
    (0..4).fold(0, |packed, i| {
        let sum = sad((a >> (8 * i)) as u32, b) + ((d >> (16 * i)) as u32 & 0xffff);
        let sum = if clamp { sum.min(0xffff) } else { sum & 0xffff };
        packed | (u64::from(sum) << (16 * i))
    })
}

/// Four sums at byte offsets 0 to 3 of the first source, each added to a register of the third.
fn masked_quad_sad(c: &mut Cx<'_>, u: &Uop) -> Step {
    let [a, b, d] = u.src.map(usize::from);
    let exec = c.wave.exec();
    for lane in (0..WAVE).filter(|lane| (exec >> lane) & 1 != 0) {
        let v = &mut c.wave.v;
        let quads = u64::from(v[a][lane]) | (u64::from(v[a + 1][lane]) << 32);
        let sums: [u32; 4] = std::array::from_fn(|i| {
            let (sum, more) = (masked_sad_u8((quads >> (8 * i)) as u32, v[b][lane]), v[d + i][lane]);
            if u.clamp { sum.saturating_add(more) } else { sum.wrapping_add(more) }
        });
        for (i, sum) in sums.into_iter().enumerate() {
            v[usize::from(u.dst) + i][lane] = sum;
        }
    }
    Step::Next
}

pub(super) fn handler(op: Op) -> Option<Handler> {
    words(op).or_else(|| ternary(op)).or_else(|| halves(op))
}

/// One and two sources of 32 or 64 bits.
fn words(op: Op) -> Option<Handler> {
    let handler: Handler = match op {
        Op::v_add_u32 => lanewise!(|c, u| saturating2(c, u, u32::wrapping_add, u32::saturating_add)),
        Op::v_sub_u32 => lanewise!(|c, u| saturating2(c, u, u32::wrapping_sub, u32::saturating_sub)),
        Op::v_subrev_u32 => {
            lanewise!(|c, u| saturating2(c, u, |a: u32, b| b.wrapping_sub(a), |a, b| b.saturating_sub(a)))
        }
        Op::v_add_i32 => lanewise!(|c, u| saturating2(c, u, i32::wrapping_add, i32::saturating_add)),
        Op::v_sub_i32 => lanewise!(|c, u| saturating2(c, u, i32::wrapping_sub, i32::saturating_sub)),
        Op::v_mul_lo_u32 => lanewise!(|c, u| map2(c, u, u32::wrapping_mul)),
        Op::v_mul_hi_u32 => {
            lanewise!(|c, u| map2(c, u, |a: u32, b: u32| ((u64::from(a) * u64::from(b)) >> 32) as u32))
        }
        Op::v_mul_hi_i32 => {
            lanewise!(|c, u| map2(c, u, |a: i32, b: i32| ((i64::from(a) * i64::from(b)) >> 32) as i32))
        }
        Op::v_mul_u32_u24 => lanewise!(|c, u| wide_u32(c, u, |a, b, _| u24(a) * u24(b))),
        Op::v_mul_i32_i24 => lanewise!(|c, u| wide_i32(c, u, |a, b, _| i24(a) * i24(b))),
        Op::v_mul_hi_u32_u24 => {
            lanewise!(|c, u| map2(c, u, |a: u32, b: u32| ((u24(a) * u24(b)) >> 32) as u32))
        }
        Op::v_mul_hi_i32_i24 => {
            lanewise!(|c, u| map2(c, u, |a: i32, b: i32| ((i24(a) * i24(b)) >> 32) as i32))
        }
        Op::v_min_i32 => lanewise!(|c, u| map2(c, u, |a: i32, b: i32| a.min(b))),
        Op::v_max_i32 => lanewise!(|c, u| map2(c, u, |a: i32, b: i32| a.max(b))),
        Op::v_min_u32 => lanewise!(|c, u| map2(c, u, |a: u32, b: u32| a.min(b))),
        Op::v_max_u32 => lanewise!(|c, u| map2(c, u, |a: u32, b: u32| a.max(b))),
        Op::v_lshrrev_b32 => lanewise!(|c, u| map2(c, u, |by: u32, a: u32| a >> (by & 31))),
        Op::v_ashrrev_i32 => lanewise!(|c, u| map2(c, u, |by: u32, a: i32| a >> (by & 31))),
        Op::v_lshlrev_b32 => lanewise!(|c, u| map2(c, u, |by: u32, a: u32| a << (by & 31))),
        Op::v_lshlrev_b64 => lanewise!(|c, u| map2(c, u, |by: u32, a: u64| a << (by & 63))),
        Op::v_lshrrev_b64 => lanewise!(|c, u| map2(c, u, |by: u32, a: u64| a >> (by & 63))),
        Op::v_ashrrev_i64 => lanewise!(|c, u| map2(c, u, |by: u32, a: i64| a >> (by & 63))),
        Op::v_and_b32 => lanewise!(|c, u| map2(c, u, |a: u32, b: u32| a & b)),
        Op::v_or_b32 => lanewise!(|c, u| map2(c, u, |a: u32, b: u32| a | b)),
        Op::v_xor_b32 => lanewise!(|c, u| map2(c, u, |a: u32, b: u32| a ^ b)),
        Op::v_xnor_b32 => lanewise!(|c, u| map2(c, u, |a: u32, b: u32| !(a ^ b))),
        Op::v_not_b32 => lanewise!(|c, u| map1(c, u, |a: u32| !a)),
        Op::v_bfrev_b32 => lanewise!(|c, u| map1(c, u, u32::reverse_bits)),
        Op::v_ffbh_u32 => {
            lanewise!(|c, u| map1(c, u, |a: u32| if a == 0 { u32::MAX } else { a.leading_zeros() }))
        }
        Op::v_ffbl_b32 => {
            lanewise!(|c, u| map1(c, u, |a: u32| if a == 0 { u32::MAX } else { a.trailing_zeros() }))
        }
        Op::v_ffbh_i32 => lanewise!(|c, u| {
            map1(c, u, |a: i32| {
                let same = (a ^ (a >> 31)).cast_unsigned();
                if same == 0 { u32::MAX } else { same.leading_zeros() }
            })
        }),
        Op::v_bcnt_u32_b32 => lanewise!(|c, u| map2(c, u, |a: u32, b: u32| a.count_ones().wrapping_add(b))),
        Op::v_bfm_b32 => lanewise!(|c, u| map2(c, u, |a: u32, b: u32| ((1u32 << (a & 31)) - 1) << (b & 31))),
        Op::v_mov_b32 | Op::v_accvgpr_read_b32 | Op::v_accvgpr_write_b32 | Op::v_accvgpr_mov_b32 => {
            lanewise!(|c, u| map1(c, u, |a: u32| a))
        }
        Op::v_mov_b64 => lanewise!(|c, u| map1(c, u, |a: u64| a)),
        _ => return None,
    };
    Some(handler)
}

/// Three sources.
fn ternary(op: Op) -> Option<Handler> {
    let handler: Handler = match op {
        Op::v_mad_u32_u24 => lanewise!(|c, u| wide_u32(c, u, |a, b, d| u24(a) * u24(b) + u64::from(d))),
        Op::v_mad_i32_i24 => lanewise!(|c, u| wide_i32(c, u, |a, b, d| i24(a) * i24(b) + i64::from(d))),
        Op::v_bfe_u32 => lanewise!(|c, u| map3(c, u, bfe_u32)),
        Op::v_bfe_i32 => lanewise!(|c, u| map3(c, u, bfe_i32)),
        Op::v_bfi_b32 => lanewise!(|c, u| map3(c, u, |mask: u32, a: u32, b: u32| (mask & a) | (!mask & b))),
        Op::v_lerp_u8 => lanewise!(|c, u| map3(c, u, lerp)),
        Op::v_alignbit_b32 => lanewise!(|c, u| {
            map3(c, u, |a: u32, b: u32, by: u32| (((u64::from(a) << 32) | u64::from(b)) >> (by & 31)) as u32)
        }),
        Op::v_alignbyte_b32 => lanewise!(|c, u| {
            map3(c, u, |a: u32, b: u32, by: u32| {
                (((u64::from(a) << 32) | u64::from(b)) >> (8 * (by & 3))) as u32
            })
        }),
        Op::v_min3_i32 => lanewise!(|c, u| map3(c, u, |a: i32, b: i32, d: i32| a.min(b).min(d))),
        Op::v_min3_u32 => lanewise!(|c, u| map3(c, u, |a: u32, b: u32, d: u32| a.min(b).min(d))),
        Op::v_max3_i32 => lanewise!(|c, u| map3(c, u, |a: i32, b: i32, d: i32| a.max(b).max(d))),
        Op::v_max3_u32 => lanewise!(|c, u| map3(c, u, |a: u32, b: u32, d: u32| a.max(b).max(d))),
        Op::v_med3_i32 => lanewise!(|c, u| map3(c, u, mid::<i32>)),
        Op::v_med3_u32 => lanewise!(|c, u| map3(c, u, mid::<u32>)),
        Op::v_sad_u8 => lanewise!(|c, u| wide_u32(c, u, |a, b, d| u64::from(sad_u8(a, b)) + u64::from(d))),
        Op::v_sad_hi_u8 => {
            lanewise!(|c, u| wide_u32(c, u, |a, b, d| (u64::from(sad_u8(a, b)) << 16) + u64::from(d)))
        }
        Op::v_sad_u16 => lanewise!(|c, u| wide_u32(c, u, |a, b, d| u64::from(sad_u16(a, b)) + u64::from(d))),
        Op::v_sad_u32 => lanewise!(|c, u| wide_u32(c, u, |a, b, d| u64::from(a.abs_diff(b)) + u64::from(d))),
        Op::v_msad_u8 => {
            lanewise!(|c, u| wide_u32(c, u, |a, b, d| u64::from(masked_sad_u8(a, b)) + u64::from(d)))
        }
        Op::v_qsad_pk_u16_u8 => lanewise!(|c, u| {
            let clamp = u.clamp;
            map3(c, u, move |a: u64, b: u32, d: u64| quad_sad(a, b, d, clamp, sad_u8))
        }),
        Op::v_mqsad_pk_u16_u8 => lanewise!(|c, u| {
            let clamp = u.clamp;
            map3(c, u, move |a: u64, b: u32, d: u64| quad_sad(a, b, d, clamp, masked_sad_u8))
        }),
        Op::v_mqsad_u32_u8 => masked_quad_sad,
        Op::v_perm_b32 => lanewise!(|c, u| map3(c, u, perm)),
        Op::v_xad_u32 => lanewise!(|c, u| map3(c, u, |a: u32, b: u32, d: u32| (a ^ b).wrapping_add(d))),
        Op::v_lshl_add_u32 => {
            lanewise!(|c, u| map3(c, u, |a: u32, by: u32, d: u32| (a << (by & 31)).wrapping_add(d)))
        }
        Op::v_add_lshl_u32 => {
            lanewise!(|c, u| map3(c, u, |a: u32, b: u32, by: u32| a.wrapping_add(b) << (by & 31)))
        }
        Op::v_add3_u32 => {
            lanewise!(|c, u| map3(c, u, |a: u32, b: u32, d: u32| a.wrapping_add(b).wrapping_add(d)))
        }
        Op::v_lshl_or_b32 => lanewise!(|c, u| map3(c, u, |a: u32, by: u32, d: u32| (a << (by & 31)) | d)),
        Op::v_and_or_b32 => lanewise!(|c, u| map3(c, u, |a: u32, b: u32, d: u32| (a & b) | d)),
        Op::v_or3_b32 => lanewise!(|c, u| map3(c, u, |a: u32, b: u32, d: u32| a | b | d)),
        Op::v_lshl_add_u64 => {
            lanewise!(|c, u| map3(c, u, |a: u64, by: u32, d: u64| (a << (by & 7)).wrapping_add(d)))
        }
        Op::v_mad_u32_u16 => lanewise!(|c, u| {
            let clamp = u.clamp;
            map3(c, u, move |a: u16, b: u16, d: u32| {
                let product = u32::from(a) * u32::from(b);
                if clamp { product.saturating_add(d) } else { product.wrapping_add(d) }
            })
        }),
        Op::v_mad_i32_i16 => lanewise!(|c, u| {
            let clamp = u.clamp;
            map3(c, u, move |a: i16, b: i16, d: i32| {
                let product = i32::from(a) * i32::from(b);
                if clamp { product.saturating_add(d) } else { product.wrapping_add(d) }
            })
        }),
        _ => return None,
    };
    Some(handler)
}

/// `a · b + d`, saturated or wrapped.
pub(super) fn mad_u16(a: u16, b: u16, d: u16, clamp: bool) -> u16 {
    let exact = u64::from(a) * u64::from(b) + u64::from(d);
    if clamp { exact.min(u16::MAX.into()) as u16 } else { exact as u16 }
}

/// See [`mad_u16`].
pub(super) fn mad_i16(a: i16, b: i16, d: i16, clamp: bool) -> i16 {
    let exact = i64::from(a) * i64::from(b) + i64::from(d);
    if clamp { exact.clamp(i16::MIN.into(), i16::MAX.into()) as i16 } else { exact as i16 }
}

/// 16 bits.
fn halves(op: Op) -> Option<Handler> {
    let handler: Handler = match op {
        Op::v_add_u16 => lanewise!(|c, u| saturating2(c, u, u16::wrapping_add, u16::saturating_add)),
        Op::v_sub_u16 => lanewise!(|c, u| saturating2(c, u, u16::wrapping_sub, u16::saturating_sub)),
        Op::v_subrev_u16 => {
            lanewise!(|c, u| saturating2(c, u, |a: u16, b| b.wrapping_sub(a), |a, b| b.saturating_sub(a)))
        }
        Op::v_add_i16 => lanewise!(|c, u| saturating2(c, u, i16::wrapping_add, i16::saturating_add)),
        Op::v_sub_i16 => lanewise!(|c, u| saturating2(c, u, i16::wrapping_sub, i16::saturating_sub)),
        Op::v_mul_lo_u16 => lanewise!(|c, u| map2(c, u, u16::wrapping_mul)),
        Op::v_lshlrev_b16 => lanewise!(|c, u| map2(c, u, |by: u16, a: u16| a << (by & 15))),
        Op::v_lshrrev_b16 => lanewise!(|c, u| map2(c, u, |by: u16, a: u16| a >> (by & 15))),
        Op::v_ashrrev_i16 => lanewise!(|c, u| map2(c, u, |by: u16, a: i16| a >> (by & 15))),
        Op::v_max_u16 => lanewise!(|c, u| map2(c, u, |a: u16, b: u16| a.max(b))),
        Op::v_max_i16 => lanewise!(|c, u| map2(c, u, |a: i16, b: i16| a.max(b))),
        Op::v_min_u16 => lanewise!(|c, u| map2(c, u, |a: u16, b: u16| a.min(b))),
        Op::v_min_i16 => lanewise!(|c, u| map2(c, u, |a: i16, b: i16| a.min(b))),
        Op::v_min3_i16 => lanewise!(|c, u| map3(c, u, |a: i16, b: i16, d: i16| a.min(b).min(d))),
        Op::v_min3_u16 => lanewise!(|c, u| map3(c, u, |a: u16, b: u16, d: u16| a.min(b).min(d))),
        Op::v_max3_i16 => lanewise!(|c, u| map3(c, u, |a: i16, b: i16, d: i16| a.max(b).max(d))),
        Op::v_max3_u16 => lanewise!(|c, u| map3(c, u, |a: u16, b: u16, d: u16| a.max(b).max(d))),
        Op::v_med3_i16 => lanewise!(|c, u| map3(c, u, mid::<i16>)),
        Op::v_med3_u16 => lanewise!(|c, u| map3(c, u, mid::<u16>)),
        Op::v_mad_u16 | Op::v_mad_legacy_u16 => lanewise!(|c, u| {
            let clamp = u.clamp;
            map3(c, u, move |a, b, d| mad_u16(a, b, d, clamp))
        }),
        Op::v_mad_i16 | Op::v_mad_legacy_i16 => lanewise!(|c, u| {
            let clamp = u.clamp;
            map3(c, u, move |a, b, d| mad_i16(a, b, d, clamp))
        }),
        _ => return None,
    };
    Some(handler)
}
