//! Wait states between two instructions.
//!
//! CDNA3 ISA, "Manually Inserted Wait States", table "Required Software-inserted Wait States", and "Dependency Resolution: Required
//! Independent Instructions" for matrix products. Rows name the manual's sections where they can be
//! looked up; the numbers were compared with those of LLVM's `GCNHazardRecognizer`, not with a printed copy of the manual.

use std::collections::BTreeSet;

use softhip::report::Problem;
use softhip::waits::{Certainty, Kind, RULES};

use crate::program::{instruction, lint, run};

/// What kernels that are known to work do nevertheless.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Works {
    /// Nothing: too few are an error.
    Never,
    /// So many wait states do; fewer are an error.
    From(u8),
}
use Works::{From, Never};

/// `second` needs `states` wait states after `first`.
struct Row {
    /// The device's name for the rule.
    rule: &'static str,
    first: &'static str,
    second: &'static str,
    states: u8,
    works: Works,
}

const fn row(rule: &'static str, first: &'static str, second: &'static str, states: u8, works: Works) -> Row {
    Row { rule, first, second, states, works }
}

const COMPARE: &str = "v_cmp_eq_u32_e64 s[4:5], v10, v11";
const COMPARE_VCC: &str = "v_cmp_eq_u32_e32 vcc, v10, v11";
/// Writes EXEC (all lanes are equal) and VCC.
const COMPARE_EXEC: &str = "v_cmpx_eq_u32_e32 vcc, v10, v11";
const DPP: &str = "v_mov_b32_dpp v12, v13 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf";
const MOVE: &str = "v_mov_b32_e32 v13, v10";
const SET_M0: &str = "s_mov_b32 m0, s6";
const SET_MODE: &str = "s_setreg_b32 hwreg(HW_REG_MODE), s6";
const DOT: &str = "v_dot4_i32_i8 v12, v10, v11, v13";

/// "Required Software-inserted Wait States". The comment says the manual's row in short.
const WAIT_STATES: &[Row] = &[
    // VALU writes SGPR -> VMEM reads that SGPR: 5.
    row(
        "VALU writes an SGPR, vector memory reads it",
        COMPARE,
        "global_load_dword v12, v13, s[4:5]",
        5,
        Never,
    ),
    // VALU writes SGPR -> V_{READ,WRITE}LANE using that SGPR as the lane select: 4.
    row(
        "VALU writes an SGPR, v_readlane or v_writelane has it as lane number",
        COMPARE,
        "v_readlane_b32 s7, v12, s4",
        4,
        Never,
    ),
    row(
        "VALU writes an SGPR, v_readlane or v_writelane has it as lane number",
        COMPARE,
        "v_writelane_b32 v12, 1, s4",
        4,
        Never,
    ),
    // VALU writes VCC (including v_div_scale) -> V_DIV_FMAS: 4.
    row("VALU writes VCC, v_div_fmas reads it", COMPARE_VCC, "v_div_fmas_f32 v12, v13, v14, v15", 4, Never),
    row(
        "VALU writes VCC, v_div_fmas reads it",
        "v_div_scale_f32 v16, vcc, v10, v11, v10",
        "v_div_fmas_f32 v12, v13, v14, v15",
        4,
        Never,
    ),
    // VALU sets VCC or EXEC -> VALU which uses EXECZ or VCCZ as a data source: 5.
    row(
        "VALU writes VCC or EXEC, VALU reads VCCZ or EXECZ",
        COMPARE_VCC,
        "v_mov_b32_e32 v12, src_vccz",
        5,
        Never,
    ),
    row(
        "VALU writes VCC or EXEC, VALU reads VCCZ or EXECZ",
        COMPARE_EXEC,
        "v_mov_b32_e32 v12, src_execz",
        5,
        Never,
    ),
    // VALU writes EXEC -> VALU DPP op: 5.
    row("VALU writes EXEC, DPP follows", COMPARE_EXEC, DPP, 5, Never),
    // VALU writes VGPR -> VALU DPP reads that VGPR: 2.
    row("VALU writes a VGPR, DPP takes it from other lanes", MOVE, DPP, 2, From(0)),
    // VALU writes SGPR -> VALU reads that SGPR: 2.
    row("VALU writes an SGPR, VALU reads it", COMPARE, "v_add_u32_e32 v12, s4, v13", 2, From(0)),
    // VALU writes VGPR -> V_READLANE reads that VGPR: 1.
    row("VALU writes a VGPR, v_readlane reads it", MOVE, "v_readlane_b32 s7, v13, 1", 1, Never),
    row("VALU writes a VGPR, v_readlane reads it", MOVE, "v_readfirstlane_b32 s7, v13", 1, Never),
    // VALU writes EXEC -> V_READLANE, V_READFIRSTLANE, V_WRITELANE: 4.
    row(
        "VALU writes EXEC, v_readlane, v_readfirstlane or v_writelane follows",
        COMPARE_EXEC,
        "v_readfirstlane_b32 s7, v13",
        4,
        Never,
    ),
    row(
        "VALU writes EXEC, v_readlane, v_readfirstlane or v_writelane follows",
        COMPARE_EXEC,
        "v_writelane_b32 v12, s7, 1",
        4,
        Never,
    ),
    // VALU Trans Op -> non-trans VALU op consumes the result: 1.
    row(
        "a transcendental result is read by another VALU instruction",
        "v_rcp_f32_e32 v12, v10",
        "v_add_f32_e32 v13, v12, v11",
        1,
        Never,
    ),
    // VALU op which uses OPSEL or SDWA with changes the result's bit position -> VALU op consumes the result: 1.
    row(
        "a result moved by op_sel or SDWA is read by VALU",
        "v_fma_f16 v12, v10, v11, v13 op_sel:[0,0,0,1]",
        "v_add_u32_e32 v14, v12, v11",
        1,
        Never,
    ),
    row(
        "a result moved by op_sel or SDWA is read by VALU",
        "v_add_f16_sdwa v12, v10, v11 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD",
        "v_add_u32_e32 v14, v12, v11",
        1,
        Never,
    ),
    // FLAT/BUFFER_STORE_x3, x4 and format variants -> VALU writes VGPRs holding the write data: 2.
    row(
        "a store of more than 64 bits, VALU overwrites its data",
        "global_store_dwordx4 v[0:1], v[12:15], off",
        "v_mov_b32_e32 v15, v10",
        2,
        Never,
    ),
    row(
        "a store of more than 64 bits, VALU overwrites its data",
        "global_store_dwordx3 v[0:1], v[12:14], off",
        "v_mov_b32_e32 v12, v10",
        2,
        Never,
    ),
    // SALU writes M0 -> LDS "add-TID" instruction, buffer_store_LDS_dword, scratch or global with LDS = 1, S_SENDMSG, S_MOVEREL: 1.
    row(
        "SALU writes M0, LDS-DMA, add-TID, s_movrel or s_sendmsg reads it",
        SET_M0,
        "global_load_lds_dword v[0:1], off",
        1,
        Never,
    ),
    row(
        "SALU writes M0, LDS-DMA, add-TID, s_movrel or s_sendmsg reads it",
        SET_M0,
        "ds_read_addtid_b32 v12",
        1,
        Never,
    ),
    row(
        "SALU writes M0, LDS-DMA, add-TID, s_movrel or s_sendmsg reads it",
        SET_M0,
        "s_movrels_b32 s10, s12",
        1,
        Never,
    ),
    row(
        "SALU writes M0, LDS-DMA, add-TID, s_movrel or s_sendmsg reads it",
        SET_M0,
        "s_sendmsg sendmsg(MSG_INTERRUPT)",
        1,
        Never,
    ),
    // S_SETREG -> S_GETREG of the same register: 2.
    row("s_setreg, s_getreg of the same register", SET_MODE, "s_getreg_b32 s7, hwreg(HW_REG_MODE)", 2, Never),
    // S_SETREG -> S_SETREG of the same register: LLVM, GCNHazardRecognizer::checkSetRegHazards, 2.
    row("s_setreg, s_setreg of the same register", SET_MODE, SET_MODE, 2, Never),
];

// Results of 2, 4, 8 and 16 passes; the manual's section on matrix instructions lists the passes of each.
const XDL_2: &str = "v_mfma_f32_4x4x4_16b_f16 v[20:23], v[50:51], v[52:53], v[20:23]";
const XDL_4: &str = "v_mfma_f32_16x16x16_f16 v[20:23], v[50:51], v[52:53], v[20:23]";
const XDL_8: &str = "v_mfma_f32_32x32x8_f16 v[20:35], v[50:51], v[52:53], v[20:35]";
const XDL_16: &str = "v_mfma_f32_32x32x4_2b_f16 v[20:51], v[60:61], v[62:63], v[20:51]";
const SPARSE_4: &str = "v_smfmac_f32_16x16x32_f16 v[20:23], v[50:51], v[52:55], v58";
const SPARSE_8: &str = "v_smfmac_f32_32x32x16_f16 v[20:35], v[50:51], v[52:55], v58";
const F32_2: &str = "v_mfma_f32_4x4x1_16b_f32 v[20:23], v50, v52, v[20:23]";
const F32_8: &str = "v_mfma_f32_16x16x4_f32 v[20:23], v50, v52, v[20:23]";
const F32_16: &str = "v_mfma_f32_32x32x2_f32 v[20:35], v50, v52, v[20:35]";
const F64_4: &str = "v_mfma_f64_4x4x4_4b_f64 v[20:21], v[50:51], v[52:53], v[20:21]";
const F64_16: &str = "v_mfma_f64_16x16x4_f64 v[20:27], v[50:51], v[52:53], v[20:27]";
/// Have a part of v[20:23] and more as addend, or v[20:21] as a factor.
const XDL_PART: &str = "v_mfma_f32_16x16x16_f16 v[70:73], v[80:81], v[82:83], v[22:25]";
const F32_PART: &str = "v_mfma_f32_16x16x4_f32 v[70:73], v80, v82, v[22:25]";
const XDL_FACTOR: &str = "v_mfma_f32_16x16x16_f16 v[70:73], v[20:21], v[82:83], v[70:73]";
const F32_FACTOR: &str = "v_mfma_f32_16x16x4_f32 v[70:73], v80, v21, v[70:73]";
const READ: &str = "v_add_u32_e32 v84, v20, v20";
const STORE: &str = "global_store_dword v[0:1], v20, off";
const DS_STORE: &str = "ds_write_b32 v13, v20";
const OVERWRITE: &str = "v_mov_b32_e32 v20, v84";

/// Section "Dependency Resolution: Required Independent Instructions". The comment says the manual's row in short; a list is for 2, 4, 8, 16 passes.
const MATRIX: &[Row] = &[
    // DOT -> same opcode, SrcA/B is the result: 3; different opcode, RAW and WAW: 3.
    row(
        "a dot product's result is a factor of the same operation",
        DOT,
        "v_dot4_i32_i8 v14, v12, v11, v13",
        3,
        Never,
    ),
    row("a dot product's result is read by another operation", DOT, "v_add_u32_e32 v14, v12, v11", 3, Never),
    row(
        "a dot product's result is overwritten by another operation",
        DOT,
        "v_mov_b32_e32 v12, v10",
        3,
        Never,
    ),
    // VALU write EXEC -> MFMA: 4.
    row("VALU writes EXEC, MFMA follows", COMPARE_EXEC, XDL_4, 4, Never),
    // non-DOT VALU write VGPR -> MFMA read: 2.
    row("VALU writes a VGPR, MFMA reads it", "v_mov_b32_e32 v50, v84", XDL_4, 2, Never),
    row("VALU writes a VGPR, MFMA reads it", "v_mov_b32_e32 v22, v84", XDL_4, 2, Never),
    // DGEMM -> FMA_F64: LLVM, GCNHazardRecognizer::checkMAIVALUHazards, 2.
    row("f64 MFMA, f64 FMA follows", F64_4, "v_fma_f64 v[84:85], v[86:87], v[88:89], v[90:91]", 2, Never),
    row("f64 MFMA, f64 FMA follows", F64_16, "v_fma_f64 v[84:85], v[86:87], v[88:89], v[90:91]", 2, Never),
    // XDL or SGEMM write -> MFMA read SrcC exactly same: 2 for 2 passes, else 0.
    row("MFMA of 2 passes, its result is the addend of an MFMA", XDL_2, XDL_2, 2, Never),
    row("MFMA of 2 passes, its result is the addend of an MFMA", F32_2, F32_2, 2, Never),
    // DGEMM 4x4x4 -> DGEMM 4x4x4 SrcC exactly same: 4.
    row("f64 4x4 MFMA, its result is the addend of another", F64_4, F64_4, 4, Never),
    // XDL write -> MFMA SrcC overlapped: 3, 5, 9, 17.
    row("XDL MFMA, a part of its result is in the addend of an MFMA", XDL_2, XDL_PART, 3, Never),
    row("XDL MFMA, a part of its result is in the addend of an MFMA", XDL_4, XDL_PART, 5, Never),
    row("XDL MFMA, a part of its result is in the addend of an MFMA", XDL_4, F32_PART, 5, Never),
    row("XDL MFMA, a part of its result is in the addend of an MFMA", SPARSE_4, F32_PART, 5, Never),
    row("XDL MFMA, a part of its result is in the addend of an MFMA", XDL_8, XDL_PART, 9, Never),
    row("XDL MFMA, a part of its result is in the addend of an MFMA", SPARSE_8, XDL_PART, 9, Never),
    row("XDL MFMA, a part of its result is in the addend of an MFMA", XDL_16, XDL_PART, 17, Never),
    // SGEMM write -> SGEMM SrcC overlapped: 2, -, 8, 16; -> XDL: 0.
    row("f32 MFMA, a part of its result is in the addend of an MFMA", F32_2, F32_PART, 2, Never),
    row("f32 MFMA, a part of its result is in the addend of an MFMA", F32_8, F32_PART, 8, Never),
    row("f32 MFMA, a part of its result is in the addend of an MFMA", F32_16, F32_PART, 16, Never),
    // DGEMM 4x4x4 write -> SrcC overlapped: 4; DGEMM 16x16x4: 9.
    row("f64 4x4 MFMA, a part of its result is in the addend of an MFMA", F64_4, F64_16, 4, Never),
    row("f64 16x16 MFMA, a part of its result is in the addend of an MFMA", F64_16, F64_4, 9, Never),
    // XDL write -> MFMA SrcA/B: 5, 7, 11, 19.
    row("XDL MFMA, its result is a factor of an MFMA", XDL_2, XDL_FACTOR, 5, Never),
    row("XDL MFMA, its result is a factor of an MFMA", XDL_4, F32_FACTOR, 7, Never),
    row("XDL MFMA, its result is a factor of an MFMA", XDL_8, XDL_FACTOR, 11, Never),
    row("XDL MFMA, its result is a factor of an MFMA", XDL_16, F32_FACTOR, 19, Never),
    // SGEMM write -> MFMA SrcA/B: 4, -, 10, 18.
    row("f32 MFMA, its result is a factor of an MFMA", F32_2, XDL_FACTOR, 4, Never),
    row("f32 MFMA, its result is a factor of an MFMA", F32_8, F32_FACTOR, 10, Never),
    row("f32 MFMA, its result is a factor of an MFMA", F32_16, XDL_FACTOR, 18, Never),
    // DGEMM write -> MFMA SrcA/B: 6 and 11.
    row("f64 4x4 MFMA, its result is a factor of an MFMA", F64_4, XDL_FACTOR, 6, Never),
    row("f64 16x16 MFMA, its result is a factor of an MFMA", F64_16, F32_FACTOR, 11, Never),
    // XDL write -> VALU, VMEM, LDS, FLAT read (RAW): 5, 7, 11, 19.
    row("XDL MFMA, its result is read by VALU, vector memory or LDS", XDL_2, READ, 5, From(1)),
    row("XDL MFMA, its result is read by VALU, vector memory or LDS", XDL_4, STORE, 7, From(2)),
    row("XDL MFMA, its result is read by VALU, vector memory or LDS", XDL_8, DS_STORE, 11, From(4)),
    row("XDL MFMA, its result is read by VALU, vector memory or LDS", XDL_16, READ, 19, From(8)),
    // SGEMM write -> the same: 4, -, 10, 18.
    row("f32 MFMA, its result is read by VALU, vector memory or LDS", F32_2, DS_STORE, 4, Never),
    row("f32 MFMA, its result is read by VALU, vector memory or LDS", F32_8, READ, 10, Never),
    row("f32 MFMA, its result is read by VALU, vector memory or LDS", F32_16, STORE, 18, Never),
    // DGEMM 4x4x4 write -> VALU read: 6; VMEM, LDS, FLAT read: 9. DGEMM 16x16x4: 11 and 18.
    row("f64 4x4 MFMA, its result is read by VALU", F64_4, READ, 6, Never),
    row("f64 4x4 MFMA, its result is read by vector memory or LDS", F64_4, STORE, 9, Never),
    row("f64 16x16 MFMA, its result is read by VALU", F64_16, READ, 11, Never),
    row("f64 16x16 MFMA, its result is read by vector memory or LDS", F64_16, DS_STORE, 18, Never),
    // XDL write -> VALU write (WAW): 5, 7, 11, 19; SGEMM: 4, -, 10, 18; DGEMM: 6 and 11.
    row(
        "XDL MFMA, its result is overwritten",
        "v_mfma_f32_4x4x4_16b_f16 v[20:23], v[50:51], v[52:53], 0",
        OVERWRITE,
        5,
        From(1),
    ),
    row(
        "XDL MFMA, its result is overwritten",
        "v_mfma_f32_16x16x16_f16 v[20:23], v[50:51], v[52:53], 0",
        OVERWRITE,
        7,
        From(2),
    ),
    row(
        "XDL MFMA, its result is overwritten",
        "v_mfma_f32_32x32x8_f16 v[20:35], v[50:51], v[52:53], 0",
        OVERWRITE,
        11,
        From(4),
    ),
    row(
        "XDL MFMA, its result is overwritten",
        "v_mfma_f32_32x32x4_2b_f16 v[20:51], v[60:61], v[62:63], 0",
        OVERWRITE,
        19,
        From(8),
    ),
    row("f32 MFMA, its result is overwritten", F32_2, OVERWRITE, 4, Never),
    row("f32 MFMA, its result is overwritten", F32_8, OVERWRITE, 10, Never),
    row("f32 MFMA, its result is overwritten", F32_16, OVERWRITE, 18, Never),
    row("f64 4x4 MFMA, its result is overwritten", F64_4, OVERWRITE, 6, Never),
    row("f64 16x16 MFMA, its result is overwritten", F64_16, OVERWRITE, 11, Never),
    // XDL read SrcC -> VALU write (WAR): 1, 3, 7, 15.
    row(
        "XDL MFMA, its addend is overwritten",
        "v_mfma_f32_4x4x4_16b_f16 v[70:73], v[50:51], v[52:53], v[20:23]",
        OVERWRITE,
        1,
        Never,
    ),
    row(
        "XDL MFMA, its addend is overwritten",
        "v_mfma_f32_16x16x16_f16 v[70:73], v[50:51], v[52:53], v[20:23]",
        OVERWRITE,
        3,
        Never,
    ),
    row(
        "XDL MFMA, its addend is overwritten",
        "v_mfma_f32_32x32x8_f16 v[100:115], v[50:51], v[52:53], v[20:35]",
        OVERWRITE,
        7,
        Never,
    ),
    row(
        "XDL MFMA, its addend is overwritten",
        "v_mfma_f32_32x32x4_2b_f16 v[100:131], v[60:61], v[62:63], v[20:51]",
        OVERWRITE,
        15,
        Never,
    ),
];

fn rows() -> impl Iterator<Item = &'static Row> {
    WAIT_STATES.iter().chain(MATRIX)
}

/// The row's two instructions with so many wait states between them: `s_nop` has up to 16.
fn apart(row: &Row, states: u8) -> Vec<u32> {
    const NOP: u32 = 0xbf80_0000;
    let mut words = instruction(row.first);
    let mut left = states;
    while left > 0 {
        let now = left.min(16);
        words.push(NOP | u32::from(now - 1));
        left -= now;
    }
    words.extend(instruction(row.second));
    words
}

/// The rule that looking at a program finds broken, the wait states that it needs and has, and how certain that is.
fn seen(words: &[u32]) -> Option<(&'static str, u8, u8, Certainty)> {
    lint(words).into_iter().find_map(|finding| match finding.kind {
        Kind::Hazard { rule, needed, had } => Some((rule.name, needed, had, finding.certainty)),
        _ => None,
    })
}

/// The rule that a wave breaks.
fn met(words: &[u32]) -> Option<(String, u8, u8)> {
    match run(words) {
        Err(Problem::Hazard { fault }) => Some((fault.rule.clone(), fault.needed, fault.had)),
        // A comparison is no address, and add-TID is decoded only.
        Ok(()) | Err(Problem::Access { .. } | Problem::Instruction { .. }) => None,
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn one_wait_state_too_few_breaks_each_rule_and_enough_do_not() {
    for row in rows() {
        let about = format!("{}: {}, then {}", row.rule, row.first, row.second);
        let (short, enough) = (apart(row, row.states - 1), apart(row, row.states));
        let certainty = if row.works == Never { Certainty::Certain } else { Certainty::Tolerated };
        assert_eq!(seen(&short), Some((row.rule, row.states, row.states - 1, certainty)), "{about}");
        assert_eq!(seen(&enough), None, "{about}");
        let fault = (row.works == Never).then(|| (row.rule.to_owned(), row.states, row.states - 1));
        assert_eq!(met(&short), fault, "{about}");
        assert_eq!(met(&enough), None, "{about}");
    }
}

#[test]
fn what_works_in_practice_is_an_error_below_its_limit() {
    for row in rows() {
        let From(limit) = row.works else { continue };
        let about = format!("{}: {}, then {}", row.rule, row.first, row.second);
        assert_eq!(met(&apart(row, limit)), None, "{about}");
        if limit > 0 {
            let words = apart(row, limit - 1);
            assert_eq!(seen(&words), Some((row.rule, row.states, limit - 1, Certainty::Certain)), "{about}");
            assert_eq!(met(&words), Some((row.rule.to_owned(), row.states, limit - 1)), "{about}");
        }
    }
}

#[test]
fn every_rule_has_a_row_and_a_source() {
    let tried: BTreeSet<&str> = rows().map(|row| row.rule).collect();
    let rules: BTreeSet<&str> = RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(tried, rules);
    assert!(
        RULES.iter().all(|rule| ["CDNA3 ISA, ", "LLVM, "].iter().any(|from| rule.source.starts_with(from)))
    );
}

#[test]
fn rules_that_almost_apply_do_not() {
    let pairs = [
        // A scalar register that the other does not have.
        (COMPARE, "global_load_dword v12, v13, s[8:9]"),
        // SALU wrote it.
        ("s_mov_b32 s4, s6", "v_readlane_b32 s7, v12, s4"),
        // Another register of the hardware.
        (SET_MODE, "s_getreg_b32 s7, hwreg(HW_REG_HW_ID)"),
        // An addend of the same dot product.
        (DOT, "v_dot4_i32_i8 v14, v10, v11, v12"),
        // A transcendental function after another.
        ("v_rcp_f32_e32 v12, v10", "v_rsq_f32_e32 v13, v12"),
        // 64 bits.
        ("global_store_dwordx2 v[0:1], v[12:13], off", "v_mov_b32_e32 v12, v10"),
        // The whole result as addend, of more than two passes.
        (XDL_4, XDL_4),
        (F32_8, F32_8),
        (F64_16, F64_16),
        // An f32 product, then one of the other unit.
        (F32_8, XDL_PART),
    ];
    for (first, second) in pairs {
        let words = [instruction(first), instruction(second)].concat();
        assert_eq!(seen(&words), None, "{first}, then {second}");
        assert_eq!(met(&words), None, "{first}, then {second}");
    }
}
