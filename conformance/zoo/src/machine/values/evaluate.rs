//! What an instruction computes from what is known of its operands.

use softhip::dataflow::Effects;
use softhip::isa::table::Ty;
use softhip::isa::{Format, Inst, Mods, Op, Operand};
use softhip::waits::{Facts, RegisterSet};

use super::bits::Bits;
use super::spread::unnamed;
use super::state::{Names, SCC, State, Term, Value};

/// An instruction of a kernel, with what holds before it.
pub(super) struct Place<'a> {
    pub at: usize,
    /// The instruction is not the kernel's own: what it writes is called by no name that anything else has, unless that is computed.
    pub foreign: bool,
    pub state: &'a State,
    /// The kernel changes the MODE register: results of floats depend on where they are computed.
    pub changes_mode: bool,
}

/// What an instruction writes to registers.
pub(super) fn results(place: &Place<'_>, names: &mut Names, inst: &Inst) -> Vec<(usize, Value)> {
    let effects = Effects::of(inst);
    let written: Vec<usize> = effects.writes.iter().map(softhip::waits::Register::index).collect();
    let sources = operands(place, names, inst);
    let copied = copied(inst, &sources);
    let function = is_function(inst, place.changes_mode);
    let mut computed = bits(inst, &sources);
    if inst.op.mnemonic().contains("d16") {
        computed = None;
    }
    let by_words = by_words(inst.op);
    let key = function.then(|| key(place, names, inst, &sources));
    let first = written.iter().copied().find(|register| *register != SCC);
    written
        .into_iter()
        .map(|register| {
            let word = first.map_or(0, |first| register.saturating_sub(first));
            let is_result = register != SCC && word_of(inst, register).is_some();
            if is_result && let Some(value) = copied.as_ref().and_then(|words| words.get(word)) {
                return (register, *value);
            }
            let mut known = if register == SCC { Bits::up_to(1) } else { Bits::WORD };
            if is_result && let Some(all) = computed {
                known = if word == 0 { all.low() } else { all.high() };
            }
            if is_result && loaded_width(inst.op).is_some() && word == 0 {
                known = Bits::up_to(loaded_width(inst.op).unwrap_or(u64::MAX));
            }
            let pair = |word: usize| {
                let mut pair = vec![sources[0].get(word)?.name, sources[1].get(word)?.name];
                pair.sort_unstable();
                Some(pair)
            };
            // SCC tells whether a word is not zero where the other one is.
            let upper_is_zero = computed.is_some_and(|all| all.high().value() == Some(0));
            let of_words = by_words.and_then(|op| match (register == SCC, upper_is_zero) {
                (false, _) => Some(Term::Apply(op, Mods::None, pair(word)?, 0)),
                (true, true) => Some(Term::Apply(op, Mods::None, pair(0)?, usize::MAX)),
                (true, false) => None,
            });
            let name = match (known.value(), of_words, &key) {
                (Some(value), _, _) => names.of(Term::Constant(value)),
                (None, Some(term), _) => names.of(term),
                (None, None, Some((op, mods, sources))) => {
                    let part = if register == SCC { usize::MAX } else { part(inst, register) };
                    names.of(Term::Apply(*op, *mods, sources.clone(), part))
                }
                (None, None, None) => {
                    let at = if place.foreign { usize::MAX } else { place.at };
                    names.of(Term::Result(at, register))
                }
            };
            (register, Value { bits: known, name })
        })
        .collect()
}

/// Which word of the first destination a register is.
pub(super) fn word_of(inst: &Inst, register: usize) -> Option<usize> {
    let words = inst.operand_types()[0].dwords();
    RegisterSet::of(inst.dst, words).iter().position(|own| own.index() == register)
}

/// Which word of an instruction's results a register gets, whichever registers they are.
fn part(inst: &Inst, register: usize) -> usize {
    let place = |operand: Operand, words: u8| {
        RegisterSet::of(operand, words).iter().position(|own| own.index() == register)
    };
    let second = |at: usize| 32 + at;
    place(inst.dst, inst.operand_types()[0].dwords())
        .or_else(|| place(inst.dst2, 2).map(second))
        .unwrap_or(64 + register)
}

/// The words of each source.
fn operands(place: &Place<'_>, names: &mut Names, inst: &Inst) -> [Vec<Value>; 3] {
    let types = inst.operand_types();
    std::array::from_fn(|source| place.state.operand(names, place.at, inst.src[source], types[source + 1]))
}

/// Whether the results of an instruction are a function of its sources, lane by lane.
fn is_function(inst: &Inst, changes_mode: bool) -> bool {
    let format = match inst.format {
        Format::Vop1 | Format::Vop2 | Format::Vop3 | Format::Vop3p | Format::Vopc | Format::Sdwa => {
            !changes_mode || !inst.op.mnemonic().contains("_f")
        }
        Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk => true,
        _ => false,
    };
    let name = inst.op.mnemonic();
    let special =
        ["readlane", "readfirstlane", "writelane", "getpc", "getreg", "setreg", "swap", "movrel", "clrexcp"];
    format && !special.iter().any(|special| name.contains(special))
}

/// The operation on words of which one on pairs of them consists.
fn by_words(op: Op) -> Option<Op> {
    Some(match op {
        Op::s_and_b64 => Op::s_and_b32,
        Op::s_or_b64 => Op::s_or_b32,
        Op::s_xor_b64 => Op::s_xor_b32,
        _ => return None,
    })
}

/// The operation, its modifiers and the names of all that it reads.
fn key(place: &Place<'_>, names: &mut Names, inst: &Inst, sources: &[Vec<Value>; 3]) -> (Op, Mods, Vec<u32>) {
    let mut words: Vec<Vec<u32>> =
        sources.iter().map(|source| source.iter().map(|value| value.name).collect()).collect();
    let (op, mods) = (canonical(inst, sources), plain(unsigned(inst, sources)));
    if commutes(op) && mods == Mods::None {
        words[..2].sort_unstable();
    }
    let mut key: Vec<u32> = words.concat();
    // EXEC counts where the result is a mask.
    let written = Facts::of(inst).writes;
    let exec = RegisterSet::of(Operand::Scalar(softhip::isa::inst::scalar::EXEC), 2);
    let masked = !written.scalar().is_empty() || !softhip::dataflow::is_vector(inst.format);
    let besides = if masked { unnamed(inst) } else { unnamed(inst).without(&exec) };
    key.extend(besides.iter().map(|register| place.state.read(names, place.at, register.index()).name));
    (op, mods, key)
}

/// Modifiers without the absolute values of numbers that have no sign.
fn unsigned(inst: &Inst, sources: &[Vec<Value>; 3]) -> Mods {
    let types = inst.operand_types();
    let Mods::Vop(mut mods) = inst.mods else { return inst.mods };
    if inst.format != Format::Vop3 {
        return inst.mods;
    }
    for (source, words) in sources.iter().enumerate() {
        let positive = words.last().is_some_and(|word| word.bits.zeros >> 31 & 1 == 1);
        if positive && matches!(types[source + 1], Ty::F32 | Ty::F64) {
            mods.abs &= !(1 << source);
        }
    }
    Mods::Vop(mods)
}

/// Modifiers, where they say nothing none.
fn plain(mods: Mods) -> Mods {
    if mods == Mods::Vop(softhip::isa::inst::VopMods::default()) { Mods::None } else { mods }
}

fn commutes(op: Op) -> bool {
    matches!(
        op,
        Op::s_add_u32
            | Op::s_and_b32
            | Op::s_and_b64
            | Op::s_or_b32
            | Op::s_or_b64
            | Op::s_xor_b32
            | Op::s_xor_b64
            | Op::s_mul_i32
            | Op::s_mul_hi_u32
            | Op::v_add_u32
            | Op::v_and_b32
            | Op::v_or_b32
            | Op::v_xor_b32
            | Op::v_mul_lo_u32
            | Op::v_mul_hi_u32
    )
}

/// One of the operations that are the same for what is known of the sources.
fn canonical(inst: &Inst, sources: &[Vec<Value>; 3]) -> Op {
    let word = |source: usize| sources[source].first().map_or(Bits::WORD, |value| value.bits);
    let positive = |source: usize| word(source).zeros >> 31 & 1 == 1;
    let apart = word(0).and(word(1)).value() == Some(0);
    let both = positive(0) && positive(1);
    if plain(inst.mods) != Mods::None || inst.format == Format::Sdwa {
        return inst.op;
    }
    match inst.op {
        Op::s_min_i32 if both => Op::s_min_u32,
        Op::s_max_i32 if both => Op::s_max_u32,
        Op::v_min_i32 if both => Op::v_min_u32,
        Op::v_max_i32 if both => Op::v_max_u32,
        Op::s_mul_hi_i32 if both => Op::s_mul_hi_u32,
        Op::v_mul_hi_i32 if both => Op::v_mul_hi_u32,
        Op::s_ashr_i32 if positive(0) => Op::s_lshr_b32,
        Op::v_ashrrev_i32 if positive(1) => Op::v_lshrrev_b32,
        Op::v_cvt_f32_i32 if positive(0) => Op::v_cvt_f32_u32,
        Op::v_cvt_f64_i32 if positive(0) => Op::v_cvt_f64_u32,
        Op::v_cmp_lt_i32 if both => Op::v_cmp_lt_u32,
        Op::v_cmp_le_i32 if both => Op::v_cmp_le_u32,
        Op::v_cmp_gt_i32 if both => Op::v_cmp_gt_u32,
        Op::v_cmp_ge_i32 if both => Op::v_cmp_ge_u32,
        Op::v_cmp_eq_i32 => Op::v_cmp_eq_u32,
        Op::v_cmp_ne_i32 => Op::v_cmp_ne_u32,
        Op::s_cmp_lt_i32 if both => Op::s_cmp_lt_u32,
        Op::s_cmp_le_i32 if both => Op::s_cmp_le_u32,
        Op::s_cmp_gt_i32 if both => Op::s_cmp_gt_u32,
        Op::s_cmp_ge_i32 if both => Op::s_cmp_ge_u32,
        Op::s_cmp_eq_i32 => Op::s_cmp_eq_u32,
        Op::s_cmp_lg_i32 => Op::s_cmp_lg_u32,
        Op::v_add_u32 | Op::v_xor_b32 if apart => Op::v_or_b32,
        Op::s_xor_b32 if apart => Op::s_or_b32,
        op => op,
    }
}

/// The words that an instruction copies.
fn copied(inst: &Inst, sources: &[Vec<Value>; 3]) -> Option<Vec<Value>> {
    if !matches!(plain(inst.mods), Mods::None) || matches!(inst.format, Format::Sdwa | Format::Dpp) {
        return None;
    }
    let [a, b, _] = sources;
    let constant = |source: &[Value]| source.first().and_then(|value| value.bits.value());
    // Words of which a mask takes nothing away.
    let keeps = |x: &[Value], mask: &[Value]| {
        x.iter().zip(mask).all(|(x, mask)| x.bits.low().zeros | mask.bits.ones == u64::MAX)
    };
    let zero = |x: &[Value]| x.iter().all(|word| word.bits.value() == Some(0));
    match inst.op {
        Op::s_mov_b32
        | Op::s_mov_b64
        | Op::v_mov_b32
        | Op::v_mov_b64
        | Op::v_accvgpr_read_b32
        | Op::v_accvgpr_write_b32
        | Op::v_accvgpr_mov_b32 => Some(a.clone()),
        Op::s_and_b32 | Op::v_and_b32 | Op::s_and_b64 if keeps(a, b) => Some(a.clone()),
        Op::s_and_b32 | Op::v_and_b32 | Op::s_and_b64 if keeps(b, a) => Some(b.clone()),
        Op::s_or_b64
        | Op::s_xor_b64
        | Op::s_or_b32
        | Op::v_or_b32
        | Op::s_xor_b32
        | Op::v_xor_b32
        | Op::s_add_u32
        | Op::s_add_i32
        | Op::v_add_u32
        | Op::s_sub_u32
        | Op::s_sub_i32
        | Op::v_sub_u32
        | Op::s_lshl_b32
        | Op::s_lshr_b32
            if zero(b) =>
        {
            Some(a.clone())
        }
        Op::s_or_b32
        | Op::v_or_b32
        | Op::s_xor_b32
        | Op::v_xor_b32
        | Op::s_add_u32
        | Op::s_add_i32
        | Op::v_add_u32
        | Op::v_lshlrev_b32
        | Op::v_lshrrev_b32
            if zero(a) =>
        {
            Some(b.clone())
        }
        Op::s_mul_i32 | Op::v_mul_lo_u32 if constant(b) == Some(1) => Some(a.clone()),
        Op::s_mul_i32 | Op::v_mul_lo_u32 if constant(a) == Some(1) => Some(b.clone()),
        _ => None,
    }
}

/// The largest number that a load without a sign leaves in a register.
fn loaded_width(op: Op) -> Option<u64> {
    match op {
        Op::global_load_ubyte | Op::flat_load_ubyte | Op::buffer_load_ubyte | Op::ds_read_u8 => Some(0xff),
        Op::global_load_ushort | Op::flat_load_ushort | Op::buffer_load_ushort | Op::ds_read_u16 => {
            Some(0xffff)
        }
        _ => None,
    }
}

/// What is known of a result's bits, two words where it has two.
fn bits(inst: &Inst, sources: &[Vec<Value>; 3]) -> Option<Bits> {
    if !matches!(plain(inst.mods), Mods::None | Mods::Imm(_))
        || matches!(inst.format, Format::Sdwa | Format::Dpp)
    {
        return None;
    }
    let word = |source: usize| sources[source].first().map_or(Bits::WORD, |value| value.bits);
    let pair = |source: usize| match sources[source].as_slice() {
        [low, high, ..] => Bits::pair(low.bits, high.bits),
        _ => Bits { zeros: 0, ones: 0 },
    };
    let (a, b, c) = (word(0), word(1), word(2));
    let count = |bits: Bits, width: u64| {
        let known = bits.value().map(|count| count & (width - 1));
        known.and_then(|count| u32::try_from(count).ok())
    };
    let field = |x: Bits, offset: u32, width: u32| x.shr(offset).and(Bits::constant((1u64 << width) - 1));
    let result = match inst.op {
        Op::s_movk_i32 => Bits::constant(i64::from(inst.imm().cast_signed()).cast_unsigned()).low(),
        Op::s_and_b32 | Op::v_and_b32 => a.and(b),
        Op::s_or_b32 | Op::v_or_b32 => a.or(b),
        Op::s_xor_b32 | Op::v_xor_b32 => a.xor(b),
        Op::s_not_b32 | Op::v_not_b32 => a.not().low(),
        Op::s_andn2_b32 => a.and(b.not()),
        Op::s_lshl_b32 => a.shl(count(b, 32)?).low(),
        Op::v_lshlrev_b32 => b.shl(count(a, 32)?).low(),
        Op::s_lshr_b32 => a.shr(count(b, 32)?),
        Op::v_lshrrev_b32 => b.shr(count(a, 32)?),
        Op::s_ashr_i32 if a.zeros >> 31 & 1 == 1 => a.shr(count(b, 32)?),
        Op::v_ashrrev_i32 if b.zeros >> 31 & 1 == 1 => b.shr(count(a, 32)?),
        Op::s_lshl_b64 => pair(0).shl(count(b, 64)?),
        Op::v_lshlrev_b64 => pair(1).shl(count(a, 64)?),
        Op::s_lshr_b64 => pair(0).shr(count(b, 64)?),
        Op::v_lshrrev_b64 => pair(1).shr(count(a, 64)?),
        Op::s_and_b64 => pair(0).and(pair(1)),
        Op::s_or_b64 => pair(0).or(pair(1)),
        Op::s_xor_b64 => pair(0).xor(pair(1)),
        Op::s_add_u32 | Op::s_add_i32 | Op::v_add_u32 | Op::v_add_co_u32 => a.add(b, Some(false)).low(),
        Op::s_addc_u32 | Op::v_addc_co_u32 => a.add(b, None).low(),
        Op::s_sub_u32 | Op::s_sub_i32 | Op::v_sub_u32 => a.sub(b),
        Op::v_subrev_u32 => b.sub(a),
        Op::v_add3_u32 => a.add(b, Some(false)).add(c, Some(false)).low(),
        Op::v_lshl_add_u32 => a.shl(count(b, 32)?).low().add(c, Some(false)).low(),
        Op::v_add_lshl_u32 => a.add(b, Some(false)).low().shl(count(c, 32)?).low(),
        Op::v_lshl_or_b32 => a.shl(count(b, 32)?).low().or(c),
        Op::v_and_or_b32 => a.and(b).or(c),
        Op::v_or3_b32 => a.or(b).or(c),
        Op::s_mul_i32 | Op::v_mul_lo_u32 => a.mul(b).low(),
        Op::s_mul_hi_u32 | Op::v_mul_hi_u32 => a.mul(b).high(),
        Op::v_mul_u32_u24 => {
            let low = |x: Bits| x.and(Bits::constant(0xff_ffff));
            low(a).mul(low(b)).low()
        }
        Op::v_mad_u64_u32 => {
            let (product, addend) = (a.mul(b), pair(2));
            let fits = product.max().checked_add(addend.max()).is_some();
            if fits { product.add(addend, Some(false)) } else { return None }
        }
        Op::v_bfe_u32 => field(a, count(b, 32)?, count(c, 32)?),
        Op::s_bfe_u32 => {
            let (offset, width) = (count(b, 32)?, u32::try_from(b.value()? >> 16 & 0x7f).ok()?);
            if width < 32 { field(a, offset, width) } else { a.shr(offset) }
        }
        Op::v_cndmask_b32 | Op::s_cselect_b32 => a.meet(b),
        Op::s_min_u32 | Op::v_min_u32 => Bits::up_to(a.max().min(b.max())),
        Op::s_max_u32 | Op::v_max_u32 => Bits::up_to(a.max().max(b.max())),
        Op::v_mbcnt_lo_u32_b32 => Bits::up_to(b.max().saturating_add(32)),
        Op::v_mbcnt_hi_u32_b32 => Bits::up_to(b.max().saturating_add(31)),
        _ => return None,
    };
    // Sums of words may be longer than their register.
    let two = inst.operand_types()[0].dwords() == 2;
    Some(if two { result } else { result.low() })
}
