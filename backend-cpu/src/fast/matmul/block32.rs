//! Blocks of one group of 32: `Q4_0`, `Q4_1`, `Q5_0`, `Q5_1`, `Q8_0`, `IQ4_NL`, `MXFP4`.

use super::super::blocks::{DOUBLED_E2M1, LEVELS, half_scale};
use super::super::simd::{RowPanel, Simd};
use super::format::{Factors, Format, bytes, half, levels, nibbles, two_halves};
use super::operation::{Shifted, Signed, Unsigned};

/// A format of one group whose header is its factors.
macro_rules! format {
    (
        $name:ident, $bytes:literal, $operation:ty,
        |$s:ident, $rows:ident, $at:ident| factors $factors:expr, codes $codes:expr
    ) => {
        pub struct $name;

        impl Format<$bytes, 1> for $name {
            type Operation = $operation;
            const SHARING: usize = 1;
            type Header<S: Simd> = Factors<S>;
            type Bits<S: Simd> = [S::W; 8];

            #[inline(always)]
            fn header<S: Simd>($s: S, $rows: RowPanel<'_>, $at: usize) -> Factors<S> {
                $factors
            }

            #[inline(always)]
            fn factors<S: Simd>(_: S, header: &Factors<S>, _: usize) -> Factors<S> {
                *header
            }

            #[inline(always)]
            fn bits<S: Simd>($s: S, $rows: RowPanel<'_>, $at: usize, _: usize) -> [S::W; 8] {
                $codes
            }

            #[inline(always)]
            fn codes<S: Simd>(_: S, codes: &[S::W; 8], _: usize) -> [S::W; 8] {
                *codes
            }
        }
    };
}

format!(Q4_0, 18, Unsigned<8>, |s, rows, at|
    factors Factors::plain(s, half(s, rows, at)),
    codes nibbles(s, rows, at + 2));

format!(Q4_1, 20, Shifted, |s, rows, at|
    factors scale_and_offset(s, rows, at),
    codes nibbles(s, rows, at + 4));

format!(Q5_0, 22, Unsigned<16>, |s, rows, at|
    factors Factors::plain(s, half(s, rows, at)),
    codes with_fifth_bits(s, rows, at + 2));

format!(Q5_1, 24, Shifted, |s, rows, at|
    factors scale_and_offset(s, rows, at),
    codes with_fifth_bits(s, rows, at + 4));

format!(Q8_0, 34, Signed, |s, rows, at|
    factors Factors::plain(s, half(s, rows, at)),
    codes bytes(s, rows, at + 2));

format!(Iq4Nl, 18, Signed, |s, rows, at|
    factors Factors::plain(s, half(s, rows, at)),
    codes levels(s, nibbles(s, rows, at + 2), &LEVELS));

format!(Mxfp4, 17, Signed, |s, rows, at|
    factors {
        let exponents = s.int_array16(s.words(rows, at));
        Factors::plain(s, s.load16(&exponents.map(|word| half_scale(word.to_le_bytes()[0]))))
    },
    codes levels(s, nibbles(s, rows, at + 1), &DOUBLED_E2M1));

/// Two f16: scale and offset.
#[inline(always)]
fn scale_and_offset<S: Simd>(s: S, rows: RowPanel<'_>, at: usize) -> Factors<S> {
    let [scale, offset] = two_halves(s, s.words(rows, at));
    Factors::with_offset(s, scale, offset)
}

/// Codes of five bits: 32 bits, the highest of each, then the others by nibbles.
#[inline(always)]
fn with_fifth_bits<S: Simd>(s: S, rows: RowPanel<'_>, at: usize) -> [S::W; 8] {
    let bits = s.words(rows, at);
    let mut codes = nibbles(s, rows, at + 4);
    for (quad, code) in (0..).zip(&mut codes) {
        *code = s.or_shifted16(*code, s.bits16(bits, quad, 16), 0);
    }
    codes
}
