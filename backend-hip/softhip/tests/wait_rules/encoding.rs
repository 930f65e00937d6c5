//! The immediate of `s_waitcnt`.
//!
//! CDNA3 ISA, "SOPP Instructions", `S_WAITCNT`: `simm16[3:0]` = vmcnt low bits, `[6:4]` = expcnt, `[11:8]` = lgkmcnt, `[15:14]` =
//! vmcnt high bits.

use softhip::waits::Wait;

use crate::program::instruction;

fn immediate(text: &str) -> u16 {
    (instruction(text)[0] & 0xffff) as u16
}

#[test]
fn every_value_of_every_counter_is_what_the_assembler_wrote() {
    for vm in 0..=63 {
        let wait = Wait::decode(immediate(&format!("s_waitcnt vmcnt({vm})")));
        assert_eq!((wait.vm, wait.lgkm), (vm, 15));
    }
    for lgkm in 0..=15 {
        let wait = Wait::decode(immediate(&format!("s_waitcnt lgkmcnt({lgkm})")));
        assert_eq!((wait.vm, wait.lgkm), (63, lgkm));
    }
    for exp in 0..=7 {
        assert_eq!(Wait::decode(immediate(&format!("s_waitcnt expcnt({exp})"))), Wait::NONE);
    }
}

#[test]
fn each_bit_of_the_immediate_belongs_to_one_counter_or_none() {
    // The weight of each bit: (vmcnt, lgkmcnt).
    let weights = [
        (1, 0),
        (2, 0),
        (4, 0),
        (8, 0), // [3:0]
        (0, 0),
        (0, 0),
        (0, 0),
        (0, 0), // expcnt, unused
        (0, 1),
        (0, 2),
        (0, 4),
        (0, 8), // [11:8]
        (0, 0),
        (0, 0),
        (16, 0),
        (32, 0), // unused, [15:14]
    ];
    for imm in 0..=u16::MAX {
        let set = (0..16_usize).filter(|bit| (imm >> bit) & 1 != 0).map(|bit| weights[bit]);
        let (vm, lgkm) = set.fold((0, 0), |sum, weight| (sum.0 + weight.0, sum.1 + weight.1));
        assert_eq!(Wait::decode(imm), Wait { vm, lgkm }, "{imm:#06x}");
    }
}
