//! All values that an instruction may meet, one by one, on the device.

use std::collections::{BTreeMap, HashMap};

use softhip::dataflow::{Effects, is_vector};
use softhip::exec::WaveState;
use softhip::isa::inst::scalar;
use softhip::isa::table::Ty;
use softhip::isa::{Inst, Op, Operand};
use softhip::memory::{Checks, LaunchMemory, Memory, WAVE};
use softhip::waits::{Register, RegisterSet};

use super::bits::Bits;
use super::spread::is_lanewise;
use super::state::{Names, SCALAR, SCC, State};

/// Runs of an instruction after which a proof takes too long.
const RUNS: u64 = 1024;

/// An instruction and its encoding.
#[derive(Clone, Copy, Debug)]
pub struct Encoded<'a> {
    /// What it is.
    pub inst: &'a Inst,
    /// How it is written.
    pub words: &'a [u32],
}

/// A value that is not known in full: the same in all lanes where it is in a scalar register, and one bit for each lane where it is a mask.
#[derive(Clone, Copy, Debug)]
struct Variable {
    bits: Bits,
    uniform: bool,
    /// Its first bit among those of all variables that are alike in this.
    at: u32,
}

impl Variable {
    fn unknown(bits: Bits) -> u64 {
        !(bits.zeros | bits.ones) & 0xffff_ffff
    }

    fn width(bits: Bits) -> u32 {
        Self::unknown(bits).count_ones()
    }

    /// The value where the unknown bits of all variables are those of `uniform`, or of `lane`.
    fn value(self, uniform: u64, lane: u64) -> u32 {
        let mut from = (if self.uniform { uniform } else { lane }) >> self.at;
        let mut unknown = Self::unknown(self.bits);
        let mut value = self.bits.ones;
        while unknown != 0 {
            if from & 1 == 1 {
                value |= unknown & unknown.wrapping_neg();
            }
            from >>= 1;
            unknown &= unknown - 1;
        }
        u32::try_from(value & 0xffff_ffff).unwrap_or(0)
    }
}

/// What is in a register.
#[derive(Clone, Copy, Debug)]
enum Content {
    /// The variable with this number.
    Word(usize),
    /// A bit of each lane, of the variable with this number.
    Mask(usize),
}

/// The bits in which registers may differ where `now` stands in the place of `was`, by trying out all values that are possible there; `None`
/// where they are too many, or where an instruction does more than to compute registers, each lane from its own.
pub(super) fn differences(
    was: Encoded<'_>,
    now: Option<Encoded<'_>>,
    state: &State,
    names: &mut Names,
    at: usize,
) -> Option<BTreeMap<usize, u32>> {
    let both: Vec<Encoded<'_>> = [Some(was), now].into_iter().flatten().collect();
    if !both.iter().all(|one| is_lanewise(one.inst) && !reads_what_is_not_here(one.inst)) {
        return None;
    }
    let exec = RegisterSet::of(Operand::Scalar(scalar::EXEC), 2);
    let (mut touched, mut written, mut masks) = (RegisterSet::EMPTY, RegisterSet::EMPTY, RegisterSet::EMPTY);
    for Encoded { inst, .. } in &both {
        let effects = Effects::of(inst);
        written = written.or(&effects.writes);
        touched = touched.or(&effects.writes).or(&effects.reads);
        masks = masks.or(&masks_of(inst));
    }
    if written.meets(&exec) {
        return None;
    }
    // What a register held that both write in full does not matter.
    let full = now.map_or(RegisterSet::EMPTY, |now| {
        Effects::of(was.inst).replaces.and(&Effects::of(now.inst).replaces)
    });
    let read = both.iter().fold(RegisterSet::EMPTY, |read, one| read.or(&Effects::of(one.inst).reads));
    let all = touched.without(&exec);
    let touched = read.or(&written.without(&full)).without(&exec);
    // A register that is a mask for one and a number for the other is followed by neither rule.
    let as_numbers = both.iter().any(|one| {
        let effects = Effects::of(one.inst);
        effects.reads.or(&effects.writes).without(&masks_of(one.inst)).meets(&masks)
    });
    if as_numbers && !masks.is_empty() {
        return None;
    }
    let contents = contents(&touched, &masks, state, names, at);
    let (variables, contents) = contents;
    let width = |uniform: bool| {
        let of = variables.iter().filter(|variable| variable.uniform == uniform);
        of.map(|variable| Variable::width(variable.bits)).sum::<u32>()
    };
    let (uniform, lanes) = (width(true), width(false));
    let in_one_run = WAVE.trailing_zeros();
    let runs = 1u64.checked_shl(uniform + lanes.saturating_sub(in_one_run)).filter(|runs| *runs <= RUNS)?;
    let memory = Memory::new(1, 1 << 16).launch(1, Checks::ALL);
    let mut differs: BTreeMap<usize, u32> = BTreeMap::new();
    for run in 0..runs {
        let (uniform, first) = (run & ((1 << uniform) - 1), (run >> uniform) << in_one_run);
        let before = start(&contents, &variables, uniform, first, &all);
        let one = executed(&before, Some(was), &memory)?;
        let other = executed(&before, now, &memory)?;
        for register in written.iter().map(Register::index) {
            let bits = difference(&one, &other, register);
            if bits != 0 {
                let mask = masks.iter().any(|mask| mask.index() == register);
                *differs.entry(register).or_default() |= if mask { u32::MAX } else { bits };
            }
        }
    }
    Some(differs)
}

/// Whether what an instruction does depends on more than registers: clocks, hardware registers, the program counter.
fn reads_what_is_not_here(inst: &Inst) -> bool {
    let name = inst.op.mnemonic();
    ["getreg", "getpc", "clrexcp", "mbcnt", "dpp"].iter().any(|part| name.contains(part))
        || inst.src.iter().any(|source| matches!(source, Operand::Special(special) if *special != softhip::isa::inst::SpecialSource::Scc))
}

/// The registers that hold masks for an instruction that works lane by lane.
fn masks_of(inst: &Inst) -> RegisterSet {
    if !is_vector(inst.format) {
        return RegisterSet::EMPTY;
    }
    let types = inst.operand_types();
    let named = (0..3).filter(|source| types[source + 1] == Ty::MASK).map(|source| inst.src[source]);
    let results = [(types[0] == Ty::MASK).then_some(inst.dst), Some(inst.dst2)].into_iter().flatten();
    let all = named.chain(results).filter(|operand| operand.is_some());
    let set = all.fold(RegisterSet::EMPTY, |set, operand| set.or(&RegisterSet::of(operand, 2)));
    let divides = matches!(inst.op, Op::v_div_fmas_f32 | Op::v_div_fmas_f64);
    if divides { set.or(&RegisterSet::of(Operand::VCC, 2)) } else { set }
}

type Contents = (Vec<Variable>, HashMap<usize, Content>);

/// What is in each register, values of the same name as one variable.
fn contents(
    touched: &RegisterSet,
    masks: &RegisterSet,
    state: &State,
    names: &mut Names,
    at: usize,
) -> Contents {
    let mut variables: Vec<Variable> = Vec::new();
    let mut known: HashMap<(u32, bool), usize> = HashMap::new();
    let mut contents = HashMap::new();
    for register in touched.iter().map(Register::index) {
        let value = state.read(names, at, register);
        let mask = masks.iter().any(|mask| mask.index() == register);
        // Of a mask, both words are one bit of each lane: the name of its lower word is that of the variable.
        let (name, bits) = if mask { (value.name, Bits::up_to(1)) } else { (value.name, value.bits) };
        let variable = *known.entry((name, mask)).or_insert_with(|| {
            variables.push(Variable { bits, uniform: !mask, at: 0 });
            variables.len() - 1
        });
        // A value that is in a vector register alone may be another one in each lane.
        contents.insert(register, if mask { Content::Mask(variable) } else { Content::Word(variable) });
    }
    for (number, variable) in variables.iter_mut().enumerate() {
        let scalar = |(register, content): (&usize, &Content)| {
            *register >= SCALAR && matches!(content, Content::Word(of) if *of == number)
        };
        variable.uniform &= contents.iter().any(scalar);
    }
    let mut next = [0, 0];
    for variable in &mut variables {
        let next = &mut next[usize::from(variable.uniform)];
        variable.at = *next;
        *next += Variable::width(variable.bits);
    }
    (variables, contents)
}

/// The registers of a wave in one run: lane `l` has the values with number `first + l`.
fn start(
    contents: &HashMap<usize, Content>,
    variables: &[Variable],
    uniform: u64,
    first: u64,
    touched: &RegisterSet,
) -> WaveState {
    let most = |range: std::ops::Range<usize>| {
        let within = touched.iter().map(Register::index).filter(|register| range.contains(register));
        within.map(|register| register - range.start + 1).max().unwrap_or(0)
    };
    // Pairs that begin with a register count, too.
    let mut state = WaveState::new(most(0..256) + 2, most(256..SCALAR) + 2, 0);
    for (&register, &content) in contents {
        let of_lane = |variable: usize, lane: usize| variables[variable].value(uniform, first + lane as u64);
        match (content, register) {
            (Content::Word(of), SCC) => state.scc = of_lane(of, 0) & 1 == 1,
            (Content::Word(of), 0..256) => {
                state.vgprs[register] = std::array::from_fn(|lane| of_lane(of, lane));
            }
            (Content::Word(of), 256..SCALAR) => {
                state.agprs[register - 256] = std::array::from_fn(|lane| of_lane(of, lane));
            }
            (Content::Word(of), _) => state.scalars[register - SCALAR] = of_lane(of, 0),
            (Content::Mask(of), _) => {
                let half = (register - SCALAR) % 2 * 32;
                let bit = |lane: usize| of_lane(of, half + lane) << lane;
                state.scalars[register - SCALAR] = (0..32).map(bit).fold(0, |mask, bit| mask | bit);
            }
        }
    }
    state
}

/// What an instruction makes of it.
fn executed(before: &WaveState, one: Option<Encoded<'_>>, memory: &LaunchMemory) -> Option<WaveState> {
    let mut state = before.clone();
    if let Some(one) = one {
        state.run(one.words, memory).ok()?;
    }
    Some(state)
}

/// The bits in which a register differs, in any lane.
fn difference(one: &WaveState, other: &WaveState, register: usize) -> u32 {
    let lanes = |a: &[u32; WAVE], b: &[u32; WAVE]| a.iter().zip(b).fold(0, |bits, (a, b)| bits | (a ^ b));
    match register {
        SCC => u32::from(one.scc != other.scc),
        0..256 => lanes(&one.vgprs[register], &other.vgprs[register]),
        256..SCALAR => lanes(&one.agprs[register - 256], &other.agprs[register - 256]),
        _ => one.scalars[register - SCALAR] ^ other.scalars[register - SCALAR],
    }
}
