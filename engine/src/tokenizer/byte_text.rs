//! The alphabet of byte-level BPE: one printable character for each byte.
//!
//! Bytes that are printable in Latin-1 are their own characters; the other 68 become the characters from U+0100
//! on, in order: space is `Ġ`, line feed `Ċ`.

/// The character of each byte, and back.
#[derive(Debug)]
pub(super) struct ByteText {
    chars: [char; 256],
    /// Byte of each character below U+0144.
    bytes: [Option<u8>; 0x144],
}

impl ByteText {
    pub(super) fn new() -> Self {
        let mut chars = ['\0'; 256];
        let mut bytes = [None; 0x144];
        let mut substitutes = 0x100_u32..;
        for byte in 0..=u8::MAX {
            let itself = matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..);
            let code = if itself { None } else { substitutes.next() }.unwrap_or(byte.into());
            chars[usize::from(byte)] = char::from_u32(code).expect("all codes below U+0144 are characters");
            bytes[code as usize] = Some(byte);
        }
        Self { chars, bytes }
    }

    pub(super) fn char(&self, byte: u8) -> char {
        self.chars[usize::from(byte)]
    }

    /// The text in the alphabet.
    pub(super) fn encode(&self, text: &str) -> String {
        text.bytes().map(|b| self.char(b)).collect()
    }

    /// Appends the bytes of `text`; `None` (and nothing appended) if a character is not in the alphabet.
    pub(super) fn decode_into(&self, text: &str, out: &mut Vec<u8>) -> Option<()> {
        let start = out.len();
        for c in text.chars() {
            if let Some(&Some(byte)) = self.bytes.get(c as usize) {
                out.push(byte);
            } else {
                out.truncate(start);
                return None;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alphabet_matches_the_published_characters() {
        let t = ByteText::new();
        assert_eq!(t.encode(" \n\tA~"), "ĠĊĉA~");
        assert_eq!(t.char(0x7F), 'ġ');
        assert_eq!(t.char(0xA0), 'ł');
        assert_eq!(t.char(0xAD), 'Ń');
        assert_eq!(t.char(0xFF), 'ÿ');
    }

    #[test]
    fn every_byte_comes_back() {
        let t = ByteText::new();
        for byte in 0..=u8::MAX {
            let mut out = Vec::new();
            assert!(t.decode_into(&t.char(byte).to_string(), &mut out).is_some());
            assert_eq!(out, [byte]);
        }
    }

    #[test]
    fn foreign_characters_append_nothing() {
        let mut out = b"x".to_vec();
        assert!(ByteText::new().decode_into("a中", &mut out).is_none());
        assert_eq!(out, b"x");
    }
}
