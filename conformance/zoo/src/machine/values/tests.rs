//! What is said of values, against the device: every instruction of the program's own kernels that computes registers alone, on random
//! values that are what is known of them.

use backend_hip::objects::gfx942;
use code_object::CodeObject;
use kernels::{SplitMix64, Stem};
use softhip::exec::WaveState;
use softhip::isa::decode;
use softhip::lint;
use softhip::memory::{Checks, Memory};
use softhip::waits::Register;

use super::bits::Bits;
use super::evaluate::{Place, results};
use super::spread;
use super::state::{Names, SCALAR, SCC, State, Term};
use super::*;

/// The instructions, each once, with their encodings.
fn instructions() -> Vec<(Inst, Vec<u32>)> {
    let mut all = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for stem in Stem::ALL {
        let Some(object) = gfx942(stem.name()).and_then(|bytes| CodeObject::read(bytes).ok()) else {
            continue;
        };
        for function in lint::functions(&object) {
            let mut pc = function.code.start;
            while pc < function.code.end {
                let Some(words) = object.words(pc..function.code.end) else { break };
                let Ok(inst) = decode(&words, pc) else { break };
                let own = words[..usize::from(inst.size) / 4].to_vec();
                pc = inst.next_pc();
                if spread::is_lanewise(&inst) && seen.insert(own.clone()) {
                    all.push((inst, own));
                }
            }
        }
    }
    all
}

fn word(state: &WaveState, register: usize) -> u32 {
    match register {
        SCC => state.scc.into(),
        0..256 => state.vgprs[register][0],
        256..SCALAR => state.agprs[register - 256][0],
        _ => state.scalars[register - SCALAR],
    }
}

fn set(state: &mut WaveState, register: usize, value: u32) {
    match register {
        SCC => state.scc = value & 1 == 1,
        0..256 => state.vgprs[register][0] = value,
        256..SCALAR => state.agprs[register - 256][0] = value,
        _ => state.scalars[register - SCALAR] = value,
    }
}

/// One bit pattern of many kinds: masks, small numbers, floats.
fn pattern(random: &mut SplitMix64) -> u32 {
    let bits = u32::try_from(random.next_u64() >> 32).unwrap();
    match random.next_u64() % 5 {
        0 => bits,
        1 => bits >> 20,
        2 => 1 << (bits % 32),
        3 => (bits as f32).to_bits(),
        _ => !0 << (bits % 32),
    }
}

#[test]
fn what_is_said_of_results_and_of_differences_is_what_the_device_does() {
    let memory = Memory::new(1, 1 << 20).launch(1, Checks::ALL);
    let random = &mut SplitMix64::new(5);
    let all = instructions();
    assert!(all.len() > 5000, "{}", all.len());
    for (inst, words) in all.iter().step_by(9) {
        let names = &mut Names::default();
        let mut known = State::entry(names, 1024, None);
        let mut before = WaveState::new(256, 256, 0);
        let reads = Effects::of(inst).reads;
        for register in
            reads.iter().map(Register::index).filter(|register| !(SCALAR + 126..).contains(register))
        {
            let (value, mask) = (pattern(random), pattern(random));
            set(&mut before, register, value);
            let value = u64::from(word(&before, register));
            let bits = Bits { zeros: !value & u64::from(mask) | !0xffff_ffff, ones: value & u64::from(mask) };
            if register != SCC {
                known.know(register, bits);
            }
        }
        let mut after = before.clone();
        after.run(words, &memory).unwrap();
        let place = Place { at: 1, foreign: false, state: &known, changes_mode: false };
        for (register, value) in results(&place, names, inst) {
            let got = word(&after, register);
            let wrong = u64::from(got) & value.bits.zeros | !u64::from(got) & value.bits.ones;
            assert_eq!(
                wrong & 0xffff_ffff,
                0,
                "{inst}: register {register} is {got:#x}, not {:?}",
                value.bits
            );
            for source in reads.iter().map(Register::index) {
                if names.of(Term::Entry(source)) == value.name {
                    assert_eq!(
                        got,
                        word(&before, source),
                        "{inst}: register {register} is not a copy of {source}"
                    );
                }
            }
        }
        // The same with some bits of one source turned.
        let readable: Vec<usize> =
            reads.iter().map(Register::index).filter(|r| *r < SCALAR + 106 || *r == SCC).collect();
        let Some(turned) =
            readable.get(usize::try_from(random.next_u64() % 64).unwrap() % readable.len().max(1))
        else {
            continue;
        };
        let bits = if *turned == SCC { 1 } else { pattern(random) };
        let mut other = before.clone();
        set(&mut other, *turned, word(&before, *turned) ^ bits);
        other.run(words, &memory).unwrap();
        let predicted = spread::results(inst, *turned, bits, &known, names);
        for register in Effects::of(inst).writes.iter().map(Register::index) {
            let got = word(&after, register) ^ word(&other, register);
            let (Some(predicted), false) = (&predicted, register == *turned) else { continue };
            let said = predicted.iter().find(|result| result.0 == register).map_or(0, |result| result.1);
            assert_eq!(
                got & !said,
                0,
                "{inst}: {bits:#x} of {turned} turned, register {register} differs in {got:#x}, said {said:#x}"
            );
        }
    }
}

/// `s_endpgm`
const END: u32 = 0xbf81_0000;

fn code(words: &[u32]) -> Vec<Inst> {
    let mut pc = 0;
    let mut code = Vec::new();
    for at in 0..words.len() {
        if 4 * at as u64 == pc {
            let inst = decode(&words[at..], pc).unwrap();
            pc = inst.next_pc();
            code.push(inst);
        }
    }
    code
}

/// What replacing the instruction `index` by `now` changes.
fn same(words: &[u32], index: usize, now: &[u32]) -> Option<Sameness> {
    let code = code(words);
    let was = &code[index];
    let own = usize::try_from(was.pc / 4).unwrap()..usize::try_from(was.next_pc() / 4).unwrap();
    let inst = decode(now, was.pc).unwrap();
    Values::of(&code, 64, None).unwrap().same(index, &words[own], Some(Encoded { inst: &inst, words: now }))
}

#[test]
fn a_register_of_the_same_value_in_its_place_changes_nothing_and_one_of_another_value_does() {
    // v_mov_b32 v1, 0; v_mov_b32 v2, 0; v_mov_b32 v3, v1; global_store_dword v0, v3, s[0:1]
    let words = [0x7e02_0280, 0x7e04_0280, 0x7e06_0301, 0xdc70_8000, 0x0000_0300, END];
    assert_eq!(same(&words, 2, &[0x7e06_0302]), Some(Sameness::Values));
    assert_eq!(same(&words, 2, &[0x7e06_0304]), None);
    // On one way only: s_cbranch_scc0 over v_mov_b32 v2, 0.
    let words =
        [0x7e02_0280, 0x7e04_0281, 0xbf84_0001, 0x7e04_0280, 0x7e06_0301, 0xdc70_8000, 0x0000_0300, END];
    assert_eq!(same(&words, 4, &[0x7e06_0302]), None);
}

#[test]
fn values_of_an_earlier_turn_of_a_loop_are_not_those_of_this_one() {
    // v_mov v3, v2; loop: v_add_u32 v1, v1, v4; v_mov v5, v3; v_mov v3, v1; s_cbranch_scc0 loop; store v5
    let words =
        [0x7e06_0302, 0x6802_0901, 0x7e0a_0303, 0x7e06_0301, 0xbf84_fffc, 0xdc70_8000, 0x0000_0500, END];
    // v_mov v5, v1 is this turn's.
    assert_eq!(same(&words, 2, &[0x7e0a_0301]), None);
}

#[test]
fn bits_that_a_mask_takes_away_do_not_matter() {
    // v_and_b32 v1, 0xff, v2; v_and_b32 v1, 15, v1; store: the mask of the first may be 0x8f.
    let words = [0x2602_04ff, 0xff, 0x2602_028f, 0xdc70_8000, 0x0000_0100, END];
    assert_eq!(same(&words, 0, &[0x2602_04ff, 0x8f]), Some(Sameness::Unused));
    assert_eq!(same(&words, 0, &[0x2602_04ff, 0xf7]), None);
    // v0 is a place in a block of 64: a mask of 0x3ff takes nothing away, nor does one of 0x13f.
    let words = [0x2602_00ff, 0x3ff, 0xdc70_8000, 0x0000_0100, END];
    assert_eq!(same(&words, 0, &[0x2602_00ff, 0x13f]), Some(Sameness::Values));
    assert_eq!(same(&words, 0, &[0x2602_00ff, 0x3df]), None);
}

#[test]
fn values_of_which_few_are_possible_are_tried_out_one_by_one() {
    // v_mov_b32 v1, 0, twice; global_store_dword v0, v1, s[0:1]: v_cvt_f32_ubyte0 of 0 is 0, v_exp_f16 of 0 is not.
    let words = [0x7e02_0280, 0x7e02_0280, 0xdc70_8000, 0x0000_0100, END];
    assert_eq!(same(&words, 1, &[0x7e02_2280]), Some(Sameness::Enumerated));
    assert_eq!(same(&words, 1, &[0x7e02_8280]), None);
    // v_and_b32 v1, 3, v0; v_cmp_eq_u32 vcc, 3, v1; v_cndmask_b32 v2, 0, 1, vcc; store v2: of 0 to 3, those that are 3 are those that are
    // at least 3, and those that are 3 and not those that are at least 2.
    let words = [0x2602_0083, 0x7d94_0283, 0xd100_0002, 0x01a9_0280, 0xdc70_8000, 0x0000_0200, END];
    assert_eq!(same(&words, 1, &[0x7d96_0283]), Some(Sameness::Enumerated));
    assert_eq!(same(&words, 1, &[0x7d96_0282]), None);
    // A mask is a bit of each lane: v_cndmask_b32 v2, 0, 0, vcc is 0 whatever vcc is.
    let words = [0x7e04_0280, 0xd100_0002, 0x01a9_0080, 0xdc70_8000, 0x0000_0200, END];
    assert!(same(&words, 1, &[0xd100_0002, 0x0011_0080]).is_some());
    assert_eq!(same(&words, 1, &[0xd100_0002, 0x01a9_0280]), None);
}

#[test]
fn what_lanes_that_were_off_hold_is_not_what_the_others_got() {
    // v_mov v1, 1; s_and_saveexec s[0:1], vcc; v_mov v1, 0; s_or_b64 exec, exec, s[0:1]; v_mov v2, v1; store v2
    let words =
        [0x7e02_0281, 0xbe80_206a, 0x7e02_0280, 0x87fe_007e, 0x7e04_0301, 0xdc70_8000, 0x0000_0200, END];
    // v_mov v2, 0 is right for some lanes only.
    assert_eq!(same(&words, 4, &[0x7e04_0280]), None);
    // But all of them hold a number below 2: v_and_b32 v2, 1, v1.
    assert_eq!(same(&words, 4, &[0x2604_0281]), Some(Sameness::Values));
}

#[test]
fn a_mask_that_is_restored_to_something_else_at_the_end_does_not_matter_and_before_a_store_it_does() {
    // s_and_saveexec_b64 s[0:1], vcc; v_mov_b32 v1, 0; s_or_b64 exec, exec, s[0:1]; the lanes are kept in s[2:3] instead.
    let restored = [0xbe80_206a, 0x7e02_0280, 0x87fe_007e, END];
    assert_eq!(same(&restored, 0, &[0xbe82_206a]), Some(Sameness::Unused));
    let stores = [0xbe80_206a, 0x7e02_0280, 0x87fe_007e, 0xdc70_8000, 0x0000_0100, END];
    assert_eq!(same(&stores, 0, &[0xbe82_206a]), None);
}

#[test]
fn lanes_that_are_on_may_be_in_a_mask_of_which_those_that_are_off_are_taken() {
    // s_and_saveexec_b64 s[0:1], vcc; s_xor_b64 s[0:1], exec, s[0:1], or to s[64:65]; v_mov v1, 0; s_andn2_saveexec_b64 s[0:1], s[0:1];
    // v_mov v1, 1; s_or_b64 exec, exec, s[0:1]; store v1
    let otherwise = |between: &[u32]| {
        let begin = [0xbe80_206a, 0x8880_007e, 0x7e02_0280];
        let end = [0xbe80_2300, 0x7e02_0281, 0x87fe_007e, 0xdc70_8000, 0x0000_0100, END];
        let words: Vec<u32> = begin.iter().chain(between).chain(&end).copied().collect();
        same(&words, 1, &[0x88c0_007e])
    };
    assert_eq!(otherwise(&[]), Some(Sameness::Unused));
    // s_and_b64 exec, exec, s[4:5]: lanes that were on are off, and in the mask.
    assert_eq!(otherwise(&[0x86fe_047e]), None);
    // s_mov_b64 s[6:7], s[0:1], which is stored: s_mov_b32 s8, s6; v_mov_b32 v1, s8
    assert_eq!(otherwise(&[0xbe86_0100, 0x7e06_0206, 0xdc70_8000, 0x0000_0300]), None);
}

#[test]
fn what_is_said_of_bits_of_words_is_what_the_device_does() {
    let memory = Memory::new(1, 1 << 20).launch(1, Checks::ALL);
    let random = &mut SplitMix64::new(6);
    let (mut tried, mut partly) = (0, 0);
    for (inst, own) in instructions().iter().step_by(67) {
        for bit in 0..32 * own.len() {
            let mut other = own.clone();
            other[bit / 32] ^= 1 << (bit % 32);
            let Ok(now) = decode(&other, inst.pc) else { continue };
            let names = &mut Names::default();
            let state = State::entry(names, 1024, None);
            let Some(said) = words::differing(inst, &now, &state, 1, names) else { continue };
            let mut before = WaveState::new(256, 256, 0);
            for register in Effects::of(inst).reads.or(&Effects::of(&now).reads).iter().map(Register::index) {
                if !(SCALAR + 126..).contains(&register) && register != 0 {
                    set(&mut before, register, pattern(random));
                }
            }
            let (mut one, mut two) = (before.clone(), before);
            if one.run(own, &memory).is_err() || two.run(&other, &memory).is_err() {
                continue;
            }
            let register = RegisterSet::of(inst.dst, 1).iter().next().unwrap().index();
            let differs = word(&one, register) ^ word(&two, register);
            assert_eq!(differs & !said, 0, "{inst} and {now}: {differs:#x}, said {said:#x}");
            tried += 1;
            partly += usize::from(said != u32::MAX);
        }
    }
    assert!(tried > 200 && partly > 50, "{tried}, {partly}");
}
