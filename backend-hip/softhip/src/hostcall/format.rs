//! C's `printf` on words: the format, then its arguments, each from a whole word on. Numbers have one word; strings end
//! with a zero byte.

/// No field is wider than this.
const MOST: usize = 4096;

/// Prints a message.
pub(super) fn printf(message: &[u64]) -> Vec<u8> {
    let bytes: Vec<u8> = message.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut arguments = Arguments { bytes: &bytes };
    let mut format = arguments.string();
    let mut out = Vec::new();
    while let Some(at) = format.iter().position(|&byte| byte == b'%') {
        out.extend(&format[..at]);
        format = &format[at + 1..];
        if let Some((b'%', rest)) = format.split_first() {
            out.push(b'%');
            format = rest;
            continue;
        }
        let field = Field::parse(&mut format, &mut arguments).and_then(|field| field.print(&mut arguments));
        let Some(field) = field else { return out };
        out.extend(field);
    }
    out.extend(format);
    out
}

struct Arguments<'a> {
    bytes: &'a [u8],
}

impl<'a> Arguments<'a> {
    fn word(&mut self) -> Option<u64> {
        let (word, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(u64::from_le_bytes(*word))
    }

    fn string(&mut self) -> &'a [u8] {
        let len = self.bytes.iter().position(|&byte| byte == 0).unwrap_or(self.bytes.len());
        let (string, _) = self.bytes.split_at(len);
        self.bytes = &self.bytes[(len + 1).next_multiple_of(8).min(self.bytes.len())..];
        string
    }
}

/// A conversion and its flags.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "C's flags")]
struct Field {
    left: bool,
    plus: bool,
    space: bool,
    alternative: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
    /// Bits of an integer.
    bits: u32,
    conversion: u8,
}

impl Field {
    fn parse(format: &mut &[u8], arguments: &mut Arguments<'_>) -> Option<Self> {
        let mut field = Self { bits: 32, ..Self::default() };
        let mut number: Option<usize> = None;
        let mut precise = false;
        while let Some((&byte, rest)) = format.split_first() {
            *format = rest;
            match byte {
                b'-' => field.left = true,
                b'+' => field.plus = true,
                b' ' => field.space = true,
                b'#' => field.alternative = true,
                b'0' if number.is_none() && !precise => field.zeros = true,
                b'0'..=b'9' => {
                    let digits = 10 * number.unwrap_or(0) + usize::from(byte - b'0');
                    number = Some(digits.min(MOST));
                }
                b'*' => {
                    let given = signed(arguments.word()?, 32);
                    field.left |= given < 0 && !precise;
                    let size = usize::try_from(given.unsigned_abs()).map_or(MOST, |size| size.min(MOST));
                    // A negative precision is none.
                    number = (given >= 0 || !precise).then_some(size);
                    precise &= number.is_some();
                }
                b'.' => {
                    field.width = number.take().unwrap_or(0);
                    precise = true;
                }
                b'h' => field.bits /= 2,
                b'l' | b'j' | b'z' | b't' | b'L' | b'q' => field.bits = 64,
                conversion => {
                    field.conversion = conversion;
                    if precise {
                        field.precision = Some(number.unwrap_or(0));
                    } else {
                        field.width = field.width.max(number.unwrap_or(0));
                    }
                    return Some(field);
                }
            }
        }
        None
    }

    /// `None`: there is no argument, or no such conversion.
    fn print(self, arguments: &mut Arguments<'_>) -> Option<Vec<u8>> {
        let (prefix, body) = match self.conversion {
            b's' => {
                let string = arguments.string();
                let taken = self.precision.unwrap_or(string.len()).min(string.len());
                return Some(self.pad(b"", &string[..taken], b' '));
            }
            b'c' => {
                let [byte, ..] = arguments.word()?.to_le_bytes();
                return Some(self.pad(b"", &[byte], b' '));
            }
            b'n' => {
                arguments.word()?;
                return Some(Vec::new());
            }
            b'd' | b'i' => {
                let value = signed(arguments.word()?, self.bits);
                (self.sign(value < 0), self.digits(value.unsigned_abs().to_string()))
            }
            b'u' => ("", self.digits(unsigned(arguments.word()?, self.bits).to_string())),
            b'o' => {
                let digits = self.digits(format!("{:o}", unsigned(arguments.word()?, self.bits)));
                (if self.alternative && !digits.starts_with('0') { "0" } else { "" }, digits)
            }
            b'x' | b'X' => {
                let value = unsigned(arguments.word()?, self.bits);
                (if self.alternative && value != 0 { "0x" } else { "" }, self.digits(format!("{value:x}")))
            }
            b'p' => ("0x", format!("{:x}", arguments.word()?)),
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                let value = f64::from_bits(arguments.word()?);
                (self.sign(value.is_sign_negative()), self.float(value.abs()))
            }
            _ => return None,
        };
        let (mut prefix, mut body) = (prefix.to_owned(), body);
        if self.conversion.is_ascii_uppercase() {
            prefix.make_ascii_uppercase();
            body.make_ascii_uppercase();
        }
        let integer = matches!(self.conversion, b'd' | b'i' | b'u' | b'o' | b'x' | b'X');
        let finite =
            body.starts_with(|first: char| first.is_ascii_hexdigit()) && !body.eq_ignore_ascii_case("inf");
        let zeros = self.zeros && !self.left && finite && !(integer && self.precision.is_some());
        Some(self.pad(prefix.as_bytes(), body.as_bytes(), if zeros { b'0' } else { b' ' }))
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, _, _) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        }
    }

    /// The digits of an integer, at least as many as the precision says.
    fn digits(&self, digits: String) -> String {
        match self.precision {
            Some(0) if digits == "0" => String::new(),
            Some(least) => format!("{digits:0>least$}"),
            None => digits,
        }
    }

    fn float(&self, value: f64) -> String {
        if value.is_nan() {
            return "nan".to_owned();
        }
        if value.is_infinite() {
            return "inf".to_owned();
        }
        let precision = self.precision.unwrap_or(6);
        match self.conversion.to_ascii_lowercase() {
            b'f' => format!("{value:.precision$}"),
            b'e' => scientific(value, precision),
            b'g' => {
                let precision = precision.max(1);
                let (_, exponent) = parts(value, precision - 1);
                let least = i32::try_from(precision).unwrap_or(i32::MAX);
                let text = if exponent < -4 || exponent >= least {
                    scientific(value, precision - 1)
                } else {
                    let digits =
                        usize::try_from(least - 1 - exponent).expect("the exponent is below the precision");
                    format!("{value:.digits$}")
                };
                if self.alternative { text } else { without_trailing_zeros(&text) }
            }
            _ => hexadecimal(value, self.precision),
        }
    }

    fn pad(&self, prefix: &[u8], body: &[u8], fill: u8) -> Vec<u8> {
        let missing = vec![fill; self.width.saturating_sub(prefix.len() + body.len())];
        match (self.left, fill) {
            (true, _) => [prefix, body, &missing].concat(),
            (false, b'0') => [prefix, &missing, body].concat(),
            _ => [&missing, prefix, body].concat(),
        }
    }
}

/// The low bits of a word.
fn unsigned(word: u64, bits: u32) -> u64 {
    word & (u64::MAX >> (64 - bits.max(1)))
}

/// The low bits of a word, with their sign.
fn signed(word: u64, bits: u32) -> i64 {
    let unused = 64 - bits.max(1);
    (word << unused).cast_signed() >> unused
}

/// The digits and the exponent, to so many digits after the point.
fn parts(value: f64, precision: usize) -> (String, i32) {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').expect("the form with an exponent has one");
    (digits.to_owned(), exponent.parse().expect("an exponent is a number"))
}

fn scientific(value: f64, precision: usize) -> String {
    let (digits, exponent) = parts(value, precision);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

fn without_trailing_zeros(text: &str) -> String {
    let (digits, exponent) = text.split_at(text.find('e').unwrap_or(text.len()));
    let digits =
        if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
    format!("{digits}{exponent}")
}

/// `%a`, rounded to even at the last digit.
fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let bits = value.to_bits();
    let (biased, fraction) = (bits >> 52 & 0x7ff, bits & ((1 << 52) - 1));
    let exponent = match (biased, fraction) {
        (0, 0) => 0,
        (0, _) => -1022,
        _ => i64::try_from(biased).expect("11 bits") - 1023,
    };
    let mut mantissa = fraction | u64::from(biased != 0) << 52;
    let digits = precision.unwrap_or(13);
    if digits < 13 {
        let dropped = 4 * u32::try_from(13 - digits).expect("below 13");
        let (kept, rest, half) = (mantissa >> dropped, mantissa & ((1 << dropped) - 1), 1 << (dropped - 1));
        let up = rest > half || (rest == half && kept & 1 == 1);
        mantissa = (kept + u64::from(up)) << dropped;
    }
    let fraction = format!("{:013x}", mantissa & ((1 << 52) - 1));
    let fraction = match precision {
        None => fraction.trim_end_matches('0').to_owned(),
        Some(digits) => format!("{fraction:0<digits$}")[..digits].to_owned(),
    };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("0x{:x}{point}{fraction}p{exponent:+}", mantissa >> 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<u64> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize((bytes.len() + 1).next_multiple_of(8), 0);
        bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
    }

    fn print(format: &str, arguments: &[u64]) -> String {
        let message = [words(format), arguments.to_vec()].concat();
        String::from_utf8(printf(&message)).unwrap()
    }

    /// As the C library prints them.
    #[test]
    fn integers() {
        let minus = u64::MAX;
        assert_eq!(
            print("%d %i %u %ld %llu", &[minus, 5, minus, minus, minus]),
            "-1 5 4294967295 -1 18446744073709551615"
        );
        assert_eq!(
            print("%hhd|%hu|%5d|%-5d|%05d|%+d|% d", &[0x1ff, 0x12345, 42, 42, minus - 41, 3, 3]),
            "-1|9029|   42|42   |-0042|+3| 3"
        );
        assert_eq!(print("%x %X %#x %o %#o %#x", &[255, 255, 255, 8, 8, 0]), "ff FF 0xff 10 010 0");
        assert_eq!(print("%.3d|%8.3d|%08.3d|%.0d|", &[7, 7, 7, 0]), "007|     007|     007||");
        assert_eq!(print("%*d|%-*d|%.*d", &[4, 7, 4, 7, 2, 7]), "   7|7   |07");
        assert_eq!(print("%c%c %p %%", &[72, 105, 0xabc]), "Hi 0xabc %");
    }

    #[test]
    fn floats() {
        let f = |value: f64| value.to_bits();
        assert_eq!(
            print(
                "%f %.0f %.2f %8.3f|%-8.1f|%08.2f",
                &[f(1.5), f(2.5), f(-0.125), f(3.1421), f(2.0), f(-3.5)]
            ),
            "1.500000 2 -0.12    3.142|2.0     |-0003.50"
        );
        assert_eq!(
            print("%e %.2E %e", &[f(12345.678), f(0.00012), f(0.0)]),
            "1.234568e+04 1.20E-04 0.000000e+00"
        );
        assert_eq!(
            print(
                "%g %g %g %g %g %#g",
                &[f(0.0001), f(0.00001), f(123_456.0), f(1_234_567.0), f(100.0), f(1.0)]
            ),
            "0.0001 1e-05 123456 1.23457e+06 100 1.00000"
        );
        assert_eq!(
            print(
                "%f %5F|%-6g|%06f",
                &[f(f64::NAN), f(f64::INFINITY), f(f64::NEG_INFINITY), f(f64::INFINITY)]
            ),
            "nan   INF|-inf  |   inf"
        );
        assert_eq!(
            print("%a %.1a %A %a", &[f(1.0), f(1.97), f(-0.5), f(0.1)]),
            "0x1p+0 0x2.0p+0 -0X1P-1 0x1.999999999999ap-4"
        );
    }

    #[test]
    fn strings_end_at_their_zero_and_what_is_missing_ends_all() {
        let text = [
            words("[%s] [%-6s] [%.2s] %d"),
            words("a string of 20 bytes"),
            words("abc"),
            words("abc"),
            vec![9],
        ]
        .concat();
        assert_eq!(printf(&text), b"[a string of 20 bytes] [abc   ] [ab] 9");
        assert_eq!(print("x %d y %d z", &[1]), "x 1 y ");
        assert_eq!(print("x %", &[1]), "x ");
        assert_eq!(print("%999999999d", &[1]).len(), MOST);
        assert_eq!(printf(&[]), b"");
    }
}
