//! Registers whose lanes each come from a place of their own, put together in vectors.
//!
//! A vector load of a register whose lanes have been stored one by one waits until all of them have reached the cache, and the next
//! instruction mostly does such a load.
#![allow(unsafe_code, reason = "a function with target features can be called only through an unsafe block")]

#[cfg(all(target_arch = "x86_64", not(miri)))]
use std::arch::x86_64::{
    __m128i, _mm_loadu_si128, _mm_storeu_si128, _mm256_castps_si256, _mm256_castsi256_ps,
    _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_set_m128i,
    _mm256_setr_epi32, _mm256_setr_epi64x, _mm256_setzero_si256, _mm256_shuffle_ps, _mm256_storeu_si256,
};

use super::lds::WORDS;
use crate::memory::{Lanes, WAVE};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::transpose::transposed;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::wide::Avx2;

/// Lanes that are put together at a time.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const AT_ONCE: usize = 8;

/// Gives each lane what `of` says.
#[inline(always)]
pub(super) fn fill(of: impl Fn(usize) -> u32, out: &mut Lanes) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if Avx2::get().is_some() {
        // SAFETY: `one` is a safe function but for AVX2, which this machine has.
        return unsafe { one(of, out) };
    }
    for (lane, out) in out.iter_mut().enumerate() {
        *out = of(lane);
    }
}

/// Gives each lane `N` neighbouring words, of which the first is `word(lane)`. All are below [`WORDS`].
#[inline(always)]
pub(super) fn load<const N: usize>(
    words: &[u32; WORDS],
    word: impl Fn(usize) -> usize,
    registers: &mut [Lanes; N],
) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if Avx2::get().is_some() {
        match registers.as_mut_slice() {
            [a] => return fill(|lane| words[word(lane) % WORDS], a),
            // SAFETY: `two` is a safe function but for AVX2, which this machine has.
            [a, b] => return unsafe { two(words, word, [a, b]) },
            // SAFETY: as above.
            [a, b, c, d] => return unsafe { four(words, word, [a, b, c, d]) },
            _ => {}
        }
    }
    for lane in 0..WAVE {
        for (i, register) in registers.iter_mut().enumerate() {
            register[lane] = words[(word(lane) + i) % WORDS];
        }
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
fn row<const N: usize>(words: &[u32; WORDS], first: usize) -> &[u32; N] {
    words.get(first..).and_then(|words| words.first_chunk()).expect("the words are below `WORDS`")
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2")]
#[inline]
fn one(of: impl Fn(usize) -> u32, out: &mut Lanes) {
    for (part, out) in out.as_chunks_mut::<AT_ONCE>().0.iter_mut().enumerate() {
        let of = |lane| of(AT_ONCE * part + lane).cast_signed();
        let lanes = _mm256_setr_epi32(of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7));
        // SAFETY: eight words.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), lanes) };
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2")]
#[inline]
fn two(words: &[u32; WORDS], word: impl Fn(usize) -> usize, out: [&mut Lanes; 2]) {
    let [low, high] = out.map(|register| register.as_chunks_mut::<AT_ONCE>().0);
    for (part, (low, high)) in low.iter_mut().zip(high).enumerate() {
        let pair = |lane| {
            let [low, high] = *row(words, word(AT_ONCE * part + lane));
            (u64::from(low) | (u64::from(high) << 32)).cast_signed()
        };
        // Halves of vectors are shuffled apart.
        let a = _mm256_castsi256_ps(_mm256_setr_epi64x(pair(0), pair(1), pair(4), pair(5)));
        let b = _mm256_castsi256_ps(_mm256_setr_epi64x(pair(2), pair(3), pair(6), pair(7)));
        let columns = [_mm256_shuffle_ps::<0b1000_1000>(a, b), _mm256_shuffle_ps::<0b1101_1101>(a, b)];
        for (out, column) in [low, high].into_iter().zip(columns) {
            let column = _mm256_castps_si256(column);
            // SAFETY: eight words.
            unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), column) };
        }
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2")]
#[inline]
fn four(words: &[u32; WORDS], word: impl Fn(usize) -> usize, out: [&mut Lanes; 4]) {
    let mut out = out.map(|register| register.as_chunks_mut::<AT_ONCE>().0);
    for part in 0..WAVE / AT_ONCE {
        let quad = |lane| -> __m128i {
            let row: &[u32; 4] = row(words, word(AT_ONCE * part + lane));
            // SAFETY: four words.
            unsafe { _mm_loadu_si128(row.as_ptr().cast()) }
        };
        let mut rows = [_mm256_setzero_si256(); 4];
        for (lane, rows) in rows.iter_mut().enumerate() {
            *rows = _mm256_set_m128i(quad(lane + 4), quad(lane));
        }
        for (out, column) in out.iter_mut().zip(transposed(rows)) {
            // SAFETY: eight words.
            unsafe { _mm256_storeu_si256(out[part].as_mut_ptr().cast(), column) };
        }
    }
}

/// Stores four neighbouring words per lane, of which the first is `word(lane)`, in the order of lanes. `false`: this machine has no
/// vectors for that, and nothing has been stored. All words are below [`WORDS`].
#[inline(always)]
pub(super) fn store_four(words: &mut [u32; WORDS], word: impl Fn(usize) -> usize, from: &[Lanes; 4]) -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if Avx2::get().is_some() {
        // SAFETY: `store` is a safe function but for AVX2, which this machine has.
        unsafe { store(words, word, from) };
        return true;
    }
    let _ = (words, word, from);
    false
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2")]
#[inline]
fn store(words: &mut [u32; WORDS], word: impl Fn(usize) -> usize, from: &[Lanes; 4]) {
    let from = from.each_ref().map(|register| register.as_chunks::<AT_ONCE>().0);
    for part in 0..WAVE / AT_ONCE {
        let mut columns = [_mm256_setzero_si256(); 4];
        for (column, from) in columns.iter_mut().zip(from) {
            // SAFETY: eight words.
            *column = unsafe { _mm256_loadu_si256(from[part].as_ptr().cast()) };
        }
        let rows = transposed(columns);
        let mut put = |lane: usize, quad: __m128i| {
            let first = word(AT_ONCE * part + lane);
            let row: &mut [u32; 4] = words
                .get_mut(first..)
                .and_then(|words| words.first_chunk_mut())
                .expect("the words are below `WORDS`");
            // SAFETY: four words.
            unsafe { _mm_storeu_si128(row.as_mut_ptr().cast(), quad) };
        };
        // In the order of lanes: where they overlap, the highest wins.
        for (lane, row) in rows.into_iter().enumerate() {
            put(lane, _mm256_castsi256_si128(row));
        }
        for (lane, row) in rows.into_iter().enumerate() {
            put(lane + 4, _mm256_extracti128_si256::<1>(row));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::splitmix64;

    fn check<const N: usize>(words: &[u32; WORDS], first: &[usize; WAVE]) {
        let mut registers = [[0; WAVE]; N];
        load(words, |lane| first[lane], &mut registers);
        for (i, register) in registers.iter().enumerate() {
            let expected: Lanes = std::array::from_fn(|lane| words[first[lane] + i]);
            assert_eq!(*register, expected, "word {i} of {N}");
        }
    }

    #[test]
    fn lanes_get_their_own_words() {
        let mut state = 1;
        let words: Box<[u32; WORDS]> = Box::new(std::array::from_fn(|_| splitmix64(&mut state) as u32));
        let first: [usize; WAVE] =
            std::array::from_fn(
                |lane| if lane == 9 { WORDS - 4 } else { splitmix64(&mut state) as usize % 999 },
            );
        check::<1>(&words, &first);
        check::<2>(&words, &first);
        check::<3>(&words, &first);
        check::<4>(&words, &first);
        let from: [Lanes; 4] =
            std::array::from_fn(|_| std::array::from_fn(|_| splitmix64(&mut state) as u32));
        let (mut stored, mut expected) = (words.clone(), words);
        // Some overlap.
        if store_four(&mut stored, |lane| first[lane] % 200, &from) {
            for lane in 0..WAVE {
                (0..4).for_each(|i| expected[first[lane] % 200 + i] = from[i][lane]);
            }
            assert!(stored == expected);
        }
    }
}
