//! The text of a report.

use std::fmt::{self, Display, Formatter};

use super::Report;
use super::place::{CodePlace, HostCall, Operation, ThreadPlace};
use super::problem::{
    Early, HandleKind, HazardFault, LaunchProblem, LdsFault, LdsProblem, Problem, Segment, WaitFault,
};
use crate::memory::{AccessFault, AllocationInfo, AllocationKind, FaultKind, RaceSide, Side, Site};

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Headline(&self.problem))?;
        if let Some(at) = &self.at {
            write!(f, "\n  at {at}")?;
        }
        if let Some(by) = &self.by {
            write!(f, "\n  by {by}")?;
        }
        if let Some(call) = &self.call {
            write!(f, "\n  by {call}")?;
        }
        for line in self.details().into_iter().chain(self.notes.iter().cloned()).chain(self.sites()) {
            write!(f, "\n  {line}")?;
        }
        Ok(())
    }
}

impl Report {
    /// The lines that explain the problem.
    fn details(&self) -> Vec<String> {
        match &self.problem {
            Problem::Access { fault, .. } => vec![explain(fault)],
            Problem::Lds { fault } => vec![explain_lds(fault)],
            Problem::DivergentBarrier { waiting, absent } => {
                vec![format!(
                    "waves {} wait at the barrier, waves {} never reach it",
                    list(waiting),
                    list(absent)
                )]
            }
            Problem::Budget { instructions } => {
                vec![format!("still running after {instructions} wave instructions")]
            }
            Problem::Instruction { words, reason } => {
                let words: Vec<String> = words.iter().map(|word| format!("{word:08x}")).collect();
                vec![format!("words {}: {reason}", words.join(" "))]
            }
            Problem::Trap { number } => vec![format!("trap number {number}")],
            Problem::Launch { problem, .. } => vec![problem.to_string()],
            Problem::Leak { allocation } => {
                let kind = if allocation.kind.is_host() { "host" } else { "device" };
                vec![format!("{} of {kind} memory, {}", Bytes(allocation.size), Name(allocation))]
            }
            Problem::HostAccess { address, allocation, copy, .. } => {
                let inside = allocation.as_deref().map_or_else(String::new, |allocation| {
                    format!(" is {} into {}", Bytes(address - allocation.base), Name(allocation))
                });
                vec![
                    format!("address {}{inside}", Hex(*address)),
                    format!("queued by {copy}; nothing that the host has waited for since covers it"),
                ]
            }
            Problem::DoubleFree { address, allocation } => {
                vec![format!("address {} is the start of {}, freed before", Hex(*address), Name(allocation))]
            }
            Problem::InvalidFree { address, nearest } => vec![match nearest.as_deref() {
                Some(nearest) => format!(
                    "address {} is not the start of an allocation; the nearest is {} at {}",
                    Hex(*address),
                    Name(nearest),
                    Hex(nearest.base)
                ),
                None => format!("address {} is in no allocation", Hex(*address)),
            }],
            Problem::StreamRace { address, size, allocation, first, second } => {
                let inside = allocation.as_deref().map_or_else(String::new, |allocation| {
                    format!(", {} bytes into {}", address - allocation.base, Name(allocation))
                });
                vec![
                    format!("{size} bytes at address {}{inside}", Hex(*address)),
                    format!("first: {first}"),
                    format!("second: {second}"),
                    "no event, synchronisation or common stream orders the two".to_owned(),
                ]
            }
            Problem::Handle { what, value, destroyed } => {
                let state = if *destroyed { "has been destroyed" } else { "does not exist" };
                vec![format!("{what} {} {state}", Hex(*value))]
            }
            Problem::MissingWait { fault } => explain_wait(fault),
            Problem::Hazard { fault } => explain_hazard(fault),
            Problem::CodeObject { reason } | Problem::HostRequest { reason } => vec![reason.clone()],
        }
    }

    /// The line of host sites.
    fn sites(&self) -> Option<String> {
        let allocation = self.allocation();
        let sites = [
            ("allocated", allocation.and_then(|allocation| allocation.allocated.as_ref())),
            ("freed", allocation.and_then(|allocation| allocation.freed.as_ref())),
            ("launched", self.launched.as_ref()),
        ];
        let known: Vec<String> =
            sites.into_iter().filter_map(|(verb, site)| Some(format!("{verb} at {}", site?))).collect();
        (!known.is_empty()).then(|| known.join(", "))
    }

    /// The allocation that the report is about.
    pub fn allocation(&self) -> Option<&AllocationInfo> {
        match &self.problem {
            Problem::Access { fault, .. } => fault.nearest.as_deref(),
            Problem::Launch { problem: LaunchProblem::StaleArgument { allocation, .. }, .. }
            | Problem::DoubleFree { allocation, .. }
            | Problem::Leak { allocation } => Some(allocation),
            Problem::InvalidFree { nearest, .. } => nearest.as_deref(),
            Problem::StreamRace { allocation, .. } | Problem::HostAccess { allocation, .. } => {
                allocation.as_deref()
            }
            _ => None,
        }
    }
}

/// The first line.
struct Headline<'a>(&'a Problem);

impl Display for Headline<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Problem::Access { segment, fault } => {
                let word = match fault.kind {
                    FaultKind::Uninitialised { .. } => "Uninitialised",
                    FaultKind::Misaligned { .. } => "Misaligned",
                    FaultKind::Race { .. } => "Racing",
                    _ => "Invalid",
                };
                write!(f, "{word} {segment} {} of size {}", fault.access, Bytes(fault.size))
            }
            Problem::Lds { fault } => {
                let word = match fault.problem {
                    LdsProblem::OutOfBounds { .. } => "Invalid",
                    LdsProblem::Uninitialised { .. } => "Uninitialised",
                    LdsProblem::Misaligned { .. } => "Misaligned",
                    LdsProblem::Race { .. } => "Racing",
                };
                write!(f, "{word} {} {} of size {}", fault.segment, fault.access, Bytes(fault.size))
            }
            Problem::DivergentBarrier { .. } => f.write_str("Divergent barrier"),
            Problem::Budget { .. } => f.write_str("Kernel does not end"),
            Problem::Instruction { .. } => f.write_str("Unsupported instruction"),
            Problem::Trap { .. } => f.write_str("Trap"),
            Problem::HostRequest { .. } => f.write_str("Invalid request to the host"),
            Problem::Launch { kernel, .. } => write!(f, "Invalid launch of {kernel}"),
            Problem::Leak { .. } => f.write_str("Memory that was never freed"),
            Problem::HostAccess { writes: true, .. } => {
                f.write_str("Host writes the source of a copy that may not have run")
            }
            Problem::HostAccess { writes: false, .. } => {
                f.write_str("Host reads the destination of a copy that may not have run")
            }
            Problem::DoubleFree { .. } => f.write_str("Double free"),
            Problem::InvalidFree { .. } => f.write_str("Invalid free"),
            Problem::StreamRace { .. } => f.write_str("Race between streams"),
            Problem::Handle { what, .. } => write!(f, "Invalid {what}"),
            Problem::MissingWait { fault } => match fault.early {
                Early::Read => f.write_str("Missing wait before a read"),
                Early::Write => f.write_str("Missing wait before a write"),
                Early::Barrier => f.write_str("Missing wait before a barrier"),
                Early::ReadOfLds => f.write_str("Missing wait before a read of LDS"),
            },
            Problem::Hazard { .. } => f.write_str("Missing wait states"),
            Problem::CodeObject { .. } => f.write_str("Invalid code object"),
        }
    }
}

/// Why an access to device memory is refused, in one line.
fn explain(fault: &AccessFault) -> String {
    let address = Hex(fault.address);
    let name = fault.nearest.as_deref().map(|nearest| Name(nearest).to_string()).unwrap_or_default();
    match &fault.kind {
        FaultKind::Null => format!("address {address} is a null pointer"),
        FaultKind::WildPointer => format!("address {address} is near no allocation"),
        FaultKind::OutOfBounds { side: Side::Before, distance, .. } => {
            format!("address {address} is out of bounds: {} before the start of {name}", Bytes(*distance))
        }
        FaultKind::OutOfBounds { side: Side::After, distance: 0, outside } if *outside < fault.size => {
            format!(
                "address {address} is out of bounds: the last {} are past the end of {name}",
                Bytes(*outside)
            )
        }
        FaultKind::OutOfBounds { side: Side::After, distance: 0, .. } => {
            format!("address {address} is out of bounds: at the end of {name}")
        }
        FaultKind::OutOfBounds { side: Side::After, distance, .. } => {
            format!("address {address} is out of bounds: {} past the end of {name}", Bytes(*distance))
        }
        FaultKind::UseAfterFree { offset } => {
            format!("address {address} is freed memory: {} into {name}", Bytes(*offset))
        }
        FaultKind::Reserved { offset, mapped: false } => {
            format!(
                "address {address} is reserved, and no memory is mapped there: {} into {name}",
                Bytes(*offset)
            )
        }
        FaultKind::Reserved { offset, mapped: true } => format!(
            "address {address} is mapped, and hipMemSetAccess has not given access to it: {} into {name}",
            Bytes(*offset)
        ),
        FaultKind::Uninitialised { offset } => {
            format!("address {address} has never been written: byte {offset} of {name}")
        }
        FaultKind::Misaligned { required } => format!("address {address} is not a multiple of {required}"),
        FaultKind::ReadOnly { offset } => {
            format!("address {address} may only be read: {} into {name}", Bytes(*offset))
        }
        FaultKind::Race { offset, other, value } => {
            let values = match (other.value, value) {
                (Some(its), Some(value)) => format!(": {its:#04x} against {value:#04x}"),
                (Some(its), None) => format!(": it wrote {its:#04x}"),
                (None, Some(value)) => format!(": {value:#04x} is written"),
                (None, None) => String::new(),
            };
            format!("byte {offset} of {name}, address {address}, also has {}{values}", RaceOther(other))
        }
    }
}

fn explain_lds(fault: &LdsFault) -> String {
    let offset = fault.offset;
    match &fault.problem {
        LdsProblem::OutOfBounds { limit } => {
            format!("offset {offset:#x} is out of bounds: {} has {}", fault.segment, Bytes(*limit))
        }
        LdsProblem::Uninitialised { byte } => {
            format!("offset {offset:#x} has never been written: byte {byte} of {}", fault.segment)
        }
        LdsProblem::Misaligned { required } => format!("offset {offset:#x} is not a multiple of {required}"),
        LdsProblem::Race { byte, wave, other, other_offset } => {
            let at = other_offset.map_or_else(String::new, |offset| format!(" at +{offset:#x}"));
            format!(
                "byte {byte} of {} also has a {other} by wave {wave}{at}, with no barrier between",
                fault.segment
            )
        }
    }
}

fn explain_wait(fault: &WaitFault) -> Vec<String> {
    let WaitFault { early, first, register, wait } = fault;
    let register = register.as_deref().unwrap_or("the register");
    let what = match early {
        Early::Read => format!("{register} has no value until its load has landed: {first}"),
        Early::Write => format!("{register} is still to be written by {first}"),
        Early::Barrier => format!("other waves may not see what is written to LDS by {first}"),
        Early::ReadOfLds => format!("LDS has no value there until this load has landed: {first}"),
    };
    let place = if *early == Early::ReadOfLds { "by the wave that loads" } else { "between the two" };
    vec![what, format!("`{wait}` {place} would cover it")]
}

fn explain_hazard(fault: &HazardFault) -> Vec<String> {
    let HazardFault { first, rule, source, register, needed, had } = fault;
    let register = register.as_deref().map_or_else(String::new, |register| format!(" ({register})"));
    vec![
        format!("too soon after {first}"),
        format!("{rule}{register}: needs {needed} wait states, has {had}"),
        format!("rule: {source}"),
    ]
}

impl Display for LaunchProblem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty { grid, block } => {
                write!(f, "grid {} of blocks {} has no thread", Triple(*grid), Triple(*block))
            }
            Self::GridTooLarge { grid, block } => {
                write!(f, "grid {} of blocks {} has too many threads", Triple(*grid), Triple(*block))
            }
            Self::BlockTooLarge { threads, limit } => {
                write!(f, "a block of {threads} threads; the kernel was compiled for at most {limit}")
            }
            Self::LdsTooLarge { fixed, dynamic, limit } => {
                write!(f, "{fixed} + {dynamic} bytes of LDS; a block has at most {limit}")
            }
            Self::TooManyGroups { groups, limit } => {
                write!(f, "{groups} workgroups that run together; the device has room for {limit}")
            }
            Self::MissingArgument { index, name } => {
                write!(f, "argument {} is missing", Arg(*index, name.as_deref()))
            }
            Self::ExtraArguments { given, expected } => {
                write!(f, "{given} bytes of arguments; the kernel takes {expected}")
            }
            Self::ShortArguments { given, expected, index, name } => write!(
                f,
                "{given} bytes of arguments; the kernel takes {expected}: argument {} is not all there",
                Arg(*index, name.as_deref())
            ),
            Self::StaleArgument { index, name, address, allocation } => write!(
                f,
                "argument {} is address {}, freed memory of {}",
                Arg(*index, name.as_deref()),
                Hex(*address),
                Name(allocation)
            ),
            Self::BlockShape { required, block } => {
                write!(f, "a block of {}; the kernel demands {}", Triple(*block), Triple(*required))
            }
        }
    }
}

impl Display for HandleKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stream => "stream",
            Self::Event => "event",
        })
    }
}

impl Display for Segment {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Global => "global",
            Self::Flat => "flat",
            Self::Scalar => "scalar (s_load)",
            Self::Scratch => "scratch",
            Self::Lds => "LDS",
            Self::Copy => "copy",
        })
    }
}

impl Display for CodePlace {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // A function that the kernel calls may stand before it.
        let signed = self.offset.cast_signed();
        let sign = if signed < 0 { '-' } else { '+' };
        write!(f, "{}{sign}{:#x}", self.kernel, signed.unsigned_abs())?;
        if let Some(Site { file, line, .. }) = &self.source {
            let name = file.rsplit('/').next().unwrap_or(file);
            write!(f, "  ({name}:{line})")?;
        }
        write!(f, "  {}", self.instruction)
    }
}

impl Display for ThreadPlace {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let block = Triple(self.block);
        match self.lane {
            Some(lane) => {
                write!(f, "thread {} in block {block}, wave {} lane {lane}", Triple(self.thread), self.wave)
            }
            None => write!(f, "block {block}, wave {}", self.wave),
        }
    }
}

impl Display for HostCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.function)?;
        self.site.as_ref().map_or(Ok(()), |site| write!(f, " at {site}"))
    }
}

impl Display for Operation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let verb = if self.writes { "write" } else { "read" };
        write!(f, "{verb} on stream {} by {}", self.stream, self.call)?;
        self.kernel.as_ref().map_or(Ok(()), |kernel| write!(f, ", kernel {kernel}"))
    }
}

/// The other side of a race between workgroups.
struct RaceOther<'a>(&'a RaceSide);

impl Display for RaceOther<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "a {} by ", self.0.access)?;
        match self.0.workgroup {
            Some(group) => write!(f, "workgroup {group}")?,
            None => f.write_str("several workgroups")?,
        }
        self.0.wave.map_or(Ok(()), |wave| write!(f, ", wave {wave}"))?;
        self.0.lane.map_or(Ok(()), |lane| write!(f, " lane {lane}"))?;
        self.0.pc.map_or(Ok(()), |pc| write!(f, " at +{pc:#x}"))?;
        f.write_str(" with no order between them")
    }
}

/// `'q' (4096 bytes)`.
struct Name<'a>(&'a AllocationInfo);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (&self.0.label, self.0.kind) {
            (Some(label), _) => write!(f, "'{label}'")?,
            (None, AllocationKind::Device) => write!(f, "the allocation at {}", Hex(self.0.base))?,
            (None, AllocationKind::Pinned) => write!(f, "the pinned allocation at {}", Hex(self.0.base))?,
            (None, AllocationKind::Registered) => write!(f, "the registered memory at {}", Hex(self.0.base))?,
            (None, AllocationKind::Mapped) => write!(f, "the addresses from {}", Hex(self.0.base))?,
            (None, AllocationKind::Kernarg) => f.write_str("the kernel's arguments")?,
            (None, AllocationKind::Image) => f.write_str("the code object")?,
        }
        write!(f, " ({})", Bytes(self.0.size))
    }
}

/// `0x5_0000_1004`.
pub(super) struct Hex(pub(super) u64);

impl Display for Hex {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let digits = format!("{:x}", self.0);
        f.write_str("0x")?;
        for (i, digit) in digits.chars().enumerate() {
            if i > 0 && (digits.len() - i).is_multiple_of(4) {
                f.write_str("_")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

struct Bytes(u64);

impl Display for Bytes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} byte{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

struct Triple([u32; 3]);

impl Display for Triple {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "({x},{y},{z})")
    }
}

struct Arg<'a>(usize, Option<&'a str>);

impl Display for Arg<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        self.1.map_or(Ok(()), |name| write!(f, " '{name}'"))
    }
}

/// `0, 1, 2`.
fn list(numbers: &[u32]) -> String {
    if numbers.is_empty() {
        return "none".to_owned();
    }
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}
