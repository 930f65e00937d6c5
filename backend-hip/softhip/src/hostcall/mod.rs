//! Requests of kernels to the host, such as `printf`.
//!
//! A launch has a buffer of packets. A wave takes one from a stack of free packets, fills it, pushes it on a stack of
//! ready ones and waits until the host has answered in it. The layout is that of ROCm's device libraries:
//!
//! | at | bytes | |
//! |---|---|---|
//! | 0 | 8, 8 | addresses of headers and payloads |
//! | 16 | 8 | address of a signal, which waves ring |
//! | 24 | 8, 8 | tops of the free and of the ready stack: an index below a tag |
//! | 40 | 8 | mask of the index |
//!
//! A header is the next entry of its stack, the lanes that ask, the service, and a flag that the host takes back. A payload is
//! 8 words for each lane.

pub(crate) mod buffered;
mod format;
mod message;
mod printed;

use crate::memory::LaunchMemory;
use message::Messages;
pub use printed::Printed;

const READY: u64 = 32;
const SIGNAL: u64 = 64;
const HEADERS: u64 = 128;
const HEADER: u64 = 24;
/// 64 lanes of 8 words.
const PAYLOAD: u64 = 64 * 64;
const LANE: u64 = 64;

/// More than the waves that the device has room for.
const MOST_PACKETS: u32 = 1 << 16;

/// Service of messages that are printed.
const PRINTF: u32 = 2;

/// Where a buffer's packets are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    packets: u64,
}

impl Layout {
    /// A packet for each of so many waves.
    pub(crate) fn new(waves: u64) -> Self {
        Self { packets: waves.max(2).next_power_of_two() }
    }

    /// Bytes of the buffer.
    pub(crate) fn size(self) -> u64 {
        self.payloads() + PAYLOAD * self.packets
    }

    fn payloads(self) -> u64 {
        (HEADERS + HEADER * self.packets).next_multiple_of(64)
    }

    /// All before the payloads of an unused buffer at an address.
    pub(crate) fn image(self, base: u64) -> Vec<u8> {
        let mask = self.packets - 1;
        let mut words = vec![0; crate::host::size(self.payloads() / 8)];
        words[..6].copy_from_slice(&[base + HEADERS, base + self.payloads(), base + SIGNAL, mask, 0, mask]);
        // A user's signal, at zero, that no interrupt follows.
        words[crate::host::size(SIGNAL / 8)] = 1;
        let headers = words[crate::host::size(HEADERS / 8)..].chunks_mut(3);
        for (index, header) in (0..self.packets).zip(headers) {
            // An entry of all zeros ends a stack: index 0 has a tag.
            header[0] = match index {
                0 => 0,
                1 => self.packets,
                _ => index - 1,
            };
        }
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }
}

/// The host's side of a launch's buffer.
#[derive(Debug)]
pub(crate) struct Host {
    buffer: u64,
    messages: Messages,
}

impl Host {
    pub(crate) fn new(buffer: u64) -> Self {
        Self { buffer, messages: Messages::default() }
    }

    /// What was printed so far.
    pub(crate) fn printed(self) -> Printed {
        self.messages.printed
    }

    /// Answers all requests, or says what is wrong with one.
    pub(crate) fn serve(&mut self, memory: &LaunchMemory) -> Result<(), String> {
        let broken = || "the kernel has damaged the buffer of its requests to the host".to_owned();
        let mut entry = memory.peek(self.buffer + READY).ok_or_else(broken)?;
        if entry != 0 {
            memory.poke(self.buffer + READY, 0).ok_or_else(broken)?;
        }
        for _ in 0..MOST_PACKETS {
            if entry == 0 {
                return Ok(());
            }
            entry = self.answer(memory, entry).ok_or_else(broken)??;
        }
        Err(broken())
    }

    /// Answers the packet of an entry; its next entry. `None`: it is outside of memory.
    fn answer(&mut self, memory: &LaunchMemory, entry: u64) -> Option<Result<u64, String>> {
        let [headers, payloads, mask] = [0, 8, 40].map(|at| memory.peek(self.buffer + at));
        let index = entry & mask?;
        let header = headers?.checked_add(HEADER.checked_mul(index)?)?;
        let payload = payloads?.checked_add(PAYLOAD.checked_mul(index)?)?;
        let [next, lanes, control] = [0, 8, 16].map(|at| memory.peek(header.wrapping_add(at)));
        let (lanes, [service, ready]) = (lanes?, halves(control?));
        for lane in (0..64).filter(|lane| lanes >> lane & 1 == 1) {
            let slot = payload.checked_add(LANE * lane)?;
            let mut words = [0; 8];
            for (at, word) in (0..).zip(&mut words) {
                *word = memory.peek(slot.checked_add(8 * at)?)?;
            }
            let answer = match service {
                PRINTF => self.messages.add(words),
                _ => Err(format!(
                    "the kernel asks the host for service {service}, which this device does not have"
                )),
            };
            match answer {
                Ok(answer) => memory.poke(slot, answer)?,
                Err(reason) => return Some(Err(reason)),
            }
        }
        memory.poke(header + 16, u64::from(service) | u64::from(ready & !1) << 32)?;
        next.map(Ok)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "takes the halves")]
fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}
