//! Relaxed loads of several words by one instruction.
//!
//! Rust has no atomic access of more than one word, and compilers do not join single ones. A vector load of x86 reads
//! each word of it as one relaxed load would: within a word, and so within any part of it, nothing tears, because a load
//! can tear only where cache lines meet, and these meet between words. Its order with other accesses is that of relaxed
//! loads, too. Other hosts load word by word.
#![allow(unsafe_code, reason = "a vector load is assembly, because no other code may race")]

use std::sync::atomic::{AtomicU32, Ordering};

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
}
