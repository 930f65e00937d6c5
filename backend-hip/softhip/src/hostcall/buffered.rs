//! Messages that a launch leaves in a buffer, as `-mprintf-kind=buffered` makes them. They are printed when it has ended.
//!
//! The buffer begins with two dwords: the bytes that are taken, and those of the buffer, these eight included. Then the
//! messages follow, each with a dword before it: its bytes, this dword included, above bit 2; bit 1 says that the format
//! is one of the code object's, by its hash; otherwise it stands there itself. Bit 0 selects the stream. The arguments come last; with a
//! format that the compiler does not know, strings are pointers.

use super::format::printf;
use super::{Printed, halves};
use crate::memory::LaunchMemory;

/// Bytes of the buffer. A message for which there is no room is left out.
pub(crate) const SIZE: u32 = 1 << 20;
const HEAD: u32 = 8;
/// More is not printed, whatever the widths of the fields.
const MOST: usize = 1 << 22;

/// The first bytes of an empty buffer.
pub(crate) fn head() -> Vec<u8> {
    [0, SIZE].into_iter().flat_map(u32::to_le_bytes).collect()
}

/// What the messages in a buffer print. The error says what is wrong with one, after those before it.
pub(crate) fn printed<'a>(
    memory: &LaunchMemory,
    buffer: u64,
    format: impl Fn(u64) -> Option<&'a str>,
) -> (Printed, Result<(), String>) {
    let mut out = Printed::default();
    let outcome = print(memory, buffer, format, &mut out);
    (out, outcome)
}

fn print<'a>(
    memory: &LaunchMemory,
    buffer: u64,
    format: impl Fn(u64) -> Option<&'a str>,
    out: &mut Printed,
) -> Result<(), String> {
    let broken = || "the kernel has damaged the buffer of its messages".to_owned();
    let word = |at: u32| memory.peek(buffer + u64::from(at)).ok_or_else(broken);
    let [taken, _] = halves(word(0)?);
    if taken > SIZE - HEAD {
        return Err(broken());
    }
    let (mut at, end) = (HEAD, HEAD + taken);
    while at < end && out.bytes() < MOST {
        let [control, _] = halves(word(at)?);
        let size = control >> 2;
        // The dword, and words.
        if size < 12 || size % 8 != 4 || size > end - at {
            return Err(broken());
        }
        let mut words = (at + 4..at + size).step_by(8).map(word).collect::<Result<Vec<u64>, _>>()?;
        if control & 2 != 0 {
            let hash = words.remove(0);
            let format =
                format(hash).ok_or_else(|| format!("the code object has no message {hash:#x} to print"))?;
            let mut bytes = format.as_bytes().to_vec();
            bytes.resize((bytes.len() + 1).next_multiple_of(8), 0);
            words.splice(..0, bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)));
        }
        out.stream(control.into()).extend(printf(&words));
        at += size;
    }
    Ok(())
}
