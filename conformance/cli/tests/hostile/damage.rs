//! Sound inputs, damaged: bytes, words of the language, parts of other inputs, and the inside of safetensors files.

use crate::safetensors_parts;

/// Splitmix64.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Rng(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n.max(1) as u64).unwrap()
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// Numbers at which programs go wrong.
pub const NUMBERS: [u64; 14] = [
    0,
    1,
    2,
    127,
    255,
    256,
    65_535,
    1 << 20,
    (1 << 31) - 1,
    1 << 31,
    u32::MAX as u64,
    1 << 40,
    i64::MAX as u64,
    u64::MAX,
];

/// One of `sound`, damaged in one to four ways.
pub fn damaged(sound: &[Vec<u8>], words: &[&str], rng: &mut Rng) -> Vec<u8> {
    let mut input = rng.of(sound).clone();
    for _ in 0..=rng.below(4) {
        if let Some(inside) =
            (!rng.one_in(4)).then(|| safetensors_parts::damaged(&input, words, rng)).flatten()
        {
            input = inside;
            continue;
        }
        damage(&mut input, sound, words, rng);
    }
    input
}

fn damage(input: &mut Vec<u8>, sound: &[Vec<u8>], words: &[&str], rng: &mut Rng) {
    let at = rng.below(input.len() + 1);
    let end = (at + rng.below(16)).min(input.len());
    match rng.below(9) {
        0 => drop(input.drain(at..end)),
        1 => input.truncate(at),
        2 => {
            let again = input[at..end].repeat(1 + rng.below(64));
            input.splice(at..at, again);
        }
        3 => {
            let number = rng.of(&NUMBERS).to_le_bytes();
            let len = *rng.of(&[1, 2, 4, 8]);
            let end = (at + len).min(input.len());
            input.splice(at..end, number[..len].iter().copied());
        }
        4 => {
            let number = rng.of(&NUMBERS).to_string();
            input.splice(at..end, number.into_bytes());
        }
        5 => {
            let other = rng.of(sound);
            let from = rng.below(other.len() + 1);
            let to = (from + rng.below(64)).min(other.len());
            input.splice(at..end, other[from..to].iter().copied());
        }
        6 | 7 if !words.is_empty() => {
            let word = rng.of(words).as_bytes().to_vec();
            let end = if rng.one_in(2) { at } else { end };
            input.splice(at..end, word);
        }
        _ => {
            if let Some(byte) = input.get_mut(at) {
                *byte = rng.next().to_le_bytes()[0];
            }
        }
    }
}
