//! Relaxed loads of several words by one instruction.
//!
//! Rust has no atomic access of more than one word, and compilers do not join single ones. A vector load of x86 reads
//! each word of it as one relaxed load would: within a word, and so within any part of it, nothing tears, because a load
//! can tear only where cache lines meet, and these meet between words. Its order with other accesses is that of relaxed
//! loads, too. Other hosts load word by word.
#![allow(unsafe_code, reason = "a vector load is assembly, because no other code may race")]

use std::sync::atomic::{AtomicU32, Ordering};

use super::wave::{Lanes, WAVE};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::wide::Avx2;

/// The `4 * N` bytes from `byte` (0 to 3) of `words`, of which there are `N + 1`; `N` is at most 4.
#[inline]
pub(super) fn load<const N: usize>(words: &[AtomicU32], byte: usize) -> [u32; N] {
    assert!(byte < 4 && words.len() == N + 1, "the bytes are within the words");
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if N.is_multiple_of(2) {
        return vector(words, byte);
    }
    word_by_word(words, byte)
}

#[inline]
fn word_by_word<const N: usize>(words: &[AtomicU32], byte: usize) -> [u32; N] {
    let shift = 8 * byte;
    let mut low = u64::from(words[0].load(Ordering::Relaxed));
    std::array::from_fn(|i| {
        let high = u64::from(words[i + 1].load(Ordering::Relaxed));
        let [dword, _] = super::cells::halves((low | (high << 32)) >> shift);
        low = high;
        dword
    })
}

/// Two or four dwords.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
fn vector<const N: usize>(words: &[AtomicU32], byte: usize) -> [u32; N] {
    use std::arch::asm;
    use std::arch::x86_64::__m128i;

    // `byte + 4 * N` is within the words, see `load`.
    let at = words.as_ptr().cast::<u8>().wrapping_add(byte);
    let mut dwords = [0; N];
    if N == 4 {
        let value: __m128i;
        // SAFETY: 16 bytes from `at` are within `words`; they are read as relaxed loads of these words would read them,
        // and nothing else is touched.
        unsafe {
            asm!(
                "movdqu {value}, [{at}]",
                at = in(reg) at,
                value = lateout(xmm_reg) value,
                options(readonly, nostack, preserves_flags),
            );
        }
        let loaded: [u32; 4] = bytemuck::cast(value);
        dwords.copy_from_slice(&loaded);
    } else {
        let value: u64;
        // SAFETY: as above, of 8 bytes.
        unsafe {
            asm!(
                "mov {value}, [{at}]",
                at = in(reg) at,
                value = lateout(reg) value,
                options(readonly, nostack, preserves_flags),
            );
        }
        dwords.copy_from_slice(&super::cells::halves(value));
    }
    dwords
}

/// One word for each lane of a wave, one after the other.
#[inline]
pub(super) fn load_row(words: &[AtomicU32; WAVE], out: &mut Lanes) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for (words, out) in words.as_chunks::<4>().0.iter().zip(out.as_chunks_mut::<4>().0) {
        let value: std::arch::x86_64::__m128i;
        // SAFETY: the 16 bytes of `words` are read as in `vector`, and nothing else is touched.
        unsafe {
            std::arch::asm!(
                "movdqu {value}, [{at}]",
                at = in(reg) words.as_ptr(),
                value = lateout(xmm_reg) value,
                options(readonly, nostack, preserves_flags),
            );
        }
        *out = bytemuck::cast(value);
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    for (word, out) in words.iter().zip(out) {
        *out = word.load(Ordering::Relaxed);
    }
}

/// For each lane of a wave, the 16 bytes that begin `at(lane)` bytes behind the first of `words`: dword `i` goes to `out[i]`.
/// `false`: this machine has no vectors for that, and nothing has been loaded.
#[inline]
pub(super) fn load_quads(words: &[AtomicU32], at: impl Fn(usize) -> usize, out: &mut [Lanes; 4]) -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if Avx2::get().is_some() {
        // SAFETY: `quads` is a safe function but for AVX2, which this machine has.
        unsafe { quads(words, at, out) };
        return true;
    }
    let _ = (words, at, out);
    false
}

/// Eight lanes at a time: four vectors of the rows of two lanes each, turned into columns.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2")]
fn quads(words: &[AtomicU32], at: impl Fn(usize) -> usize, out: &mut [Lanes; 4]) {
    use std::arch::x86_64::{_mm256_setzero_si256, _mm256_storeu_si256};

    use crate::transpose::transposed;

    const AT_ONCE: usize = 8;
    let last = (4 * words.len()).checked_sub(16).expect("the words have 16 bytes");
    for first in (0..WAVE).step_by(AT_ONCE) {
        let row = |lane: usize| {
            let start = at(lane);
            assert!(start <= last, "the bytes are within the words");
            words.as_ptr().cast::<u8>().wrapping_add(start)
        };
        let mut rows = [_mm256_setzero_si256(); 4];
        for (lane, rows) in (first..).zip(&mut rows) {
            // SAFETY: 16 bytes from each row's first are within `words`.
            *rows = unsafe { two(row(lane), row(lane + 4)) };
        }
        for (register, column) in out.iter_mut().zip(transposed(rows)) {
            let lanes = &mut register.as_chunks_mut::<AT_ONCE>().0[first / AT_ONCE];
            // SAFETY: eight words.
            unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), column) };
        }
    }
}

/// The 16 bytes at `low` and those at `high`.
///
/// # Safety
///
/// Both are within words that other threads use only as atomics.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn two(low: *const u8, high: *const u8) -> std::arch::x86_64::__m256i {
    let value;
    // SAFETY: the caller vouches for the bytes, which are read as in `vector`; nothing else is touched.
    unsafe {
        std::arch::asm!(
            "vmovdqu {value:x}, [{low}]",
            "vinserti128 {value}, {value}, [{high}], 1",
            low = in(reg) low,
            high = in(reg) high,
            value = out(ymm_reg) value,
            options(readonly, nostack, preserves_flags),
        );
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_load_what_words_do() {
        let words: [AtomicU32; 5] =
            std::array::from_fn(|i| AtomicU32::new(0x0403_0201 + 0x0404_0404 * u32::try_from(i).unwrap()));
        for byte in 0..4 {
            assert_eq!(load::<4>(&words, byte), word_by_word::<4>(&words, byte));
            assert_eq!(load::<3>(&words[..4], byte), word_by_word::<3>(&words[..4], byte));
            assert_eq!(load::<2>(&words[..3], byte), word_by_word::<2>(&words[..3], byte));
            assert_eq!(load::<1>(&words[..2], byte), word_by_word::<1>(&words[..2], byte));
        }
        assert_eq!(load::<2>(&words[..3], 1), [0x0504_0302, 0x0908_0706]);
    }

    #[test]
    fn a_row_is_its_words() {
        let words = std::array::from_fn(|i| AtomicU32::new(u32::try_from(i).unwrap() * 0x0101));
        let mut out = [0; WAVE];
        load_row(&words, &mut out);
        assert_eq!(out, words.map(AtomicU32::into_inner));
    }

    #[test]
    fn quads_of_lanes_are_what_each_lane_loads() {
        let words: Vec<AtomicU32> =
            (0..3000u32).map(|i| AtomicU32::new(i.wrapping_mul(0x9E37_79B1))).collect();
        for (first, step) in [(0, 16), (2, 34), (3, 128), (1, 0), (4 * 3000 - 16, 0)] {
            let mut out = [[7; WAVE]; 4];
            if !load_quads(&words, |lane| first + step * (lane % 50), &mut out) {
                return;
            }
            for lane in 0..WAVE {
                let start = first + step * (lane % 50);
                let bytes = |i: usize| words[i / 4].load(Ordering::Relaxed).to_le_bytes()[i % 4];
                for (i, register) in out.iter().enumerate() {
                    let dword = std::array::from_fn(|byte| bytes(start + 4 * i + byte));
                    assert_eq!(register[lane], u32::from_le_bytes(dword), "lane {lane} of {first}, {step}");
                }
            }
        }
    }

    #[test]
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[should_panic(expected = "within the words")]
    fn quads_end_with_the_words() {
        let words: Vec<AtomicU32> = (0..16).map(AtomicU32::new).collect();
        let at = |lane| if lane == 63 { 49 } else { 48 };
        assert!(load_quads(&words, at, &mut [[0; WAVE]; 4]), "no vectors, and all within the words");
    }
}
