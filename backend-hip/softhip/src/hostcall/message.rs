//! Messages of several requests.
//!
//! The first word of a request says what the others, up to seven, are: bit 0 begins a message, bit 1 ends it, bits 5 to 7
//! count the words, and the bits from 8 on are the message's number, which the host gave in its answer to the first.

use std::collections::HashMap;

use super::Printed;
use super::format::printf;

/// Words of a message, and bytes that a launch may print: what is more is left out.
const MOST: usize = 1 << 20;

/// Messages that have begun, and what those that have ended printed.
#[derive(Debug, Default)]
pub(super) struct Messages {
    begun: HashMap<u64, Vec<u64>>,
    numbers: u64,
    pub(super) printed: Printed,
}

impl Messages {
    /// Takes a request; what its first word is answered by.
    pub(super) fn add(&mut self, request: [u64; 8]) -> Result<u64, String> {
        let [what, words @ ..] = request;
        let (begins, ends, count) = (what & 1 == 1, what & 2 == 2, crate::host::size(what >> 5 & 7));
        let mut number = what >> 8;
        if begins {
            self.numbers += 1;
            number = self.numbers;
            self.begun.insert(number, Vec::new());
        }
        let message = self.begun.get_mut(&number);
        let message =
            message.ok_or_else(|| format!("the kernel adds to message {number}, which has not begun"))?;
        if message.len() < MOST {
            message.extend(&words[..count]);
        }
        if !ends {
            return Ok(what & 0xfe | number << 8);
        }
        let message = self.begun.remove(&number).unwrap_or_default();
        let [stream @ (0 | 1), text @ ..] = &message[..] else { return Ok(u64::MAX) };
        let printed = printf(text);
        if self.printed.bytes() + printed.len() <= MOST {
            self.printed.stream(*stream).extend(&printed);
        }
        Ok(printed.len() as u64)
    }
}
