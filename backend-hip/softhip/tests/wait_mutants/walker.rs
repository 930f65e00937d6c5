//! Which waits matter, by another formulation than the product's: every load is followed on every way to the first
//! instruction whose text names one of its registers.

use std::collections::HashSet;

use softhip::isa::Inst;

/// A register of a file `v`, `a` or `s`.
type Register = (char, u32);

/// How an instruction counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Vector,
    Local,
    Scalar,
    Flat,
    None,
}

/// An instruction, as its text has it.
#[derive(Debug)]
pub struct Line {
    /// Registers of the first operand.
    first: Vec<Register>,
    /// Registers of the others.
    rest: Vec<Register>,
    kind: Kind,
    /// Its first operand is written later.
    loads: bool,
    /// `vmcnt` and `lgkmcnt` of an `s_waitcnt`.
    pub wait: Option<(u32, u32)>,
    target: Option<usize>,
    ends: bool,
}

fn registers(operand: &str) -> Vec<Register> {
    let operand = operand.trim().trim_start_matches('-').trim_matches('|');
    let word = operand.split_whitespace().next().unwrap_or("");
    if word == "vcc" {
        return vec![('s', 106), ('s', 107)];
    }
    let Some(file) = word.chars().next().filter(|c| "vas".contains(*c)) else { return Vec::new() };
    let numbers = &word[1..];
    if let Some((first, last)) =
        numbers.strip_prefix('[').and_then(|n| n.strip_suffix(']')).and_then(|n| n.split_once(':'))
    {
        let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else { return Vec::new() };
        return (first..=last).map(|n| (file, n)).collect();
    }
    numbers.parse().map(|n| vec![(file, n)]).unwrap_or_default()
}

fn counter(text: &str, name: &str, none: u32) -> u32 {
    let Some((_, rest)) = text.split_once(&format!("{name}(")) else { return none };
    rest.split(')').next().and_then(|n| n.parse().ok()).unwrap_or(none)
}

impl Line {
    /// `index_of` finds the instruction at an address.
    pub fn new(inst: &Inst, index_of: impl Fn(u64) -> Option<usize>) -> Self {
        let text = inst.to_string();
        let (mnemonic, operands) = text.split_once(' ').unwrap_or((&text, ""));
        let mut operands = operands.split(',');
        let first = registers(operands.next().unwrap_or(""));
        let rest = operands.flat_map(registers).collect();
        let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| mnemonic.starts_with(prefix));
        let kind = if starts(&["buffer_inv", "buffer_wbinv", "ds_nop"]) {
            Kind::None
        } else if starts(&["global_", "scratch_", "buffer_", "tbuffer_"]) {
            Kind::Vector
        } else if starts(&["ds_"]) {
            Kind::Local
        } else if starts(&["flat_"]) {
            Kind::Flat
        } else if starts(&["s_load", "s_buffer_load", "s_memtime", "s_memrealtime", "s_dcache"]) {
            Kind::Scalar
        } else {
            Kind::None
        };
        let loads = match kind {
            Kind::Vector | Kind::Flat => {
                mnemonic.contains("_load") && !text.ends_with(" lds")
                    || mnemonic.contains("_atomic") && text.contains(" sc0")
            }
            Kind::Local => {
                starts(&["ds_read", "ds_bpermute", "ds_permute", "ds_swizzle", "ds_consume", "ds_append"])
                    || mnemonic.contains("_rtn")
            }
            Kind::Scalar => !mnemonic.starts_with("s_dcache"),
            Kind::None => false,
        };
        let wait = (mnemonic == "s_waitcnt")
            .then(|| (counter(&text, "vmcnt", u32::MAX), counter(&text, "lgkmcnt", u32::MAX)));
        let ends = starts(&["s_endpgm", "s_setpc", "s_swappc", "s_branch"]);
        let target = inst.branch_target().and_then(index_of);
        Self { first, rest, kind, loads, wait, target, ends }
    }

    fn next(&self, at: usize, len: usize) -> impl Iterator<Item = usize> {
        let falls = (!self.ends && at + 1 < len).then_some(at + 1);
        falls.into_iter().chain(self.target)
    }
}

/// Where a load has come to: how many instructions of its kind came after it, and which counters were waited for.
type Place = (usize, u32, bool, bool);

/// Follows the load at `load` on all ways, with `changed` instead of the wait at its index. True if its registers are
/// named before it has been waited for. `passed` gets the waits on the ways.
pub fn is_used_early(
    lines: &[Line],
    load: usize,
    changed: Option<(usize, (u32, u32))>,
    passed: &mut HashSet<usize>,
) -> bool {
    let own = &lines[load];
    let mut seen: HashSet<Place> = HashSet::new();
    let mut places: Vec<Place> = own.next(load, lines.len()).map(|at| (at, 0, false, false)).collect();
    while let Some(place @ (at, mut after, mut vm, mut lgkm)) = places.pop() {
        if !seen.insert(place) {
            continue;
        }
        let line = &lines[at];
        let names = |registers: &[Register]| registers.iter().any(|register| own.first.contains(register));
        let in_order = line.loads && line.kind == own.kind && matches!(own.kind, Kind::Vector | Kind::Local);
        if names(&line.rest) || names(&line.first) && !in_order {
            return true;
        }
        // A younger load of the same registers: what follows is its affair.
        if names(&line.first) {
            continue;
        }
        if line.wait.is_some() {
            passed.insert(at);
            let wait = match changed {
                Some((index, wait)) if index == at => Some(wait),
                _ => line.wait,
            };
            let (n, k) = wait.unwrap_or((u32::MAX, u32::MAX));
            let covered = match own.kind {
                Kind::Vector => n <= after,
                Kind::Local => k <= after,
                Kind::Scalar => k == 0,
                Kind::Flat | Kind::None => {
                    vm |= n == 0;
                    lgkm |= k == 0;
                    vm && lgkm
                }
            };
            if covered {
                continue;
            }
        }
        if line.kind == own.kind && matches!(own.kind, Kind::Vector | Kind::Local) {
            after += 1;
            if after == if own.kind == Kind::Vector { 63 } else { 15 } {
                continue;
            }
        }
        places.extend(line.next(at, lines.len()).map(|next| (next, after, vm, lgkm)));
    }
    false
}

/// Whether the instruction is a load.
pub fn is_load(line: &Line) -> bool {
    line.loads
}
