//! Which wait covers which memory instruction.
//!
//! CDNA3 ISA, "Data Dependency Resolution": vector memory instructions, loads and stores alike, return in the order of issue, and so do
//! LDS instructions. Scalar loads return in any order, so that only 0 is a useful count. FLAT instructions count on both counters
//! and return in any order.

use softhip::report::{Early, Problem};
use softhip::waits::{Certainty, Kind};

use crate::program::{certain, lint, program, run};

/// What both find: what came too early, and the wait that would have covered it.
fn early(text: &str) -> Option<(Early, String)> {
    let words = program(text);
    let seen = certain(&words).first().map(|finding| match finding.kind {
        Kind::Unwaited { overwritten: false, wait } => (Early::Read, wait.to_string()),
        Kind::Unwaited { overwritten: true, wait } => (Early::Write, wait.to_string()),
        Kind::Barrier { wait } => (Early::Barrier, wait.to_string()),
        Kind::ReadOfLds { wait } => (Early::ReadOfLds, wait.to_string()),
        Kind::Hazard { rule, .. } => panic!("{text}: {}", rule.name),
    });
    let met = match run(&words) {
        Ok(()) => None,
        Err(Problem::MissingWait { fault }) => Some((fault.early, fault.wait)),
        Err(other) => panic!("{text}: {other:?}"),
    };
    assert_eq!(seen, met, "lint and execution: {text}");
    seen
}

#[track_caller]
fn covered(text: &str) {
    assert_eq!(early(text), None, "{text}");
}

#[track_caller]
fn too_early(text: &str, what: Early, wait: &str) {
    assert_eq!(early(text), Some((what, wait.to_owned())), "{text}");
}

const LOAD: &str = "global_load_dword v2, v[0:1], off";
const OTHER: &str = "global_load_dword v3, v[0:1], off";
const USE: &str = "v_add_u32_e32 v4, v2, v2";

fn others(count: usize) -> String {
    format!("{OTHER}; ").repeat(count)
}

#[test]
fn a_load_without_a_wait_is_used_too_early() {
    too_early(&format!("{LOAD}; {USE}"), Early::Read, "s_waitcnt vmcnt(0)");
    covered(&format!("{LOAD}; s_waitcnt vmcnt(0); {USE}"));
    // The counter of something else.
    too_early(&format!("{LOAD}; s_waitcnt lgkmcnt(0); {USE}"), Early::Read, "s_waitcnt vmcnt(0)");
    too_early(&format!("{LOAD}; s_waitcnt expcnt(0); {USE}"), Early::Read, "s_waitcnt vmcnt(0)");
}

#[test]
fn vector_memory_returns_in_order() {
    for after in [1, 2, 15, 16, 17, 31, 32, 47, 48, 62] {
        let enough = format!("{LOAD}; {}s_waitcnt vmcnt({after}); {USE}", others(after));
        covered(&enough);
        let short = format!("{LOAD}; {}s_waitcnt vmcnt({}); {USE}", others(after), after + 1);
        too_early(&short, Early::Read, &format!("s_waitcnt vmcnt({after})"));
    }
}

#[test]
fn vmcnt_counts_to_63_and_then_the_wave_waits_by_itself() {
    too_early(&format!("{LOAD}; {}{USE}", others(62)), Early::Read, "s_waitcnt vmcnt(62)");
    covered(&format!("{LOAD}; {}{USE}", others(63)));
}

#[test]
fn stores_count_as_loads_do() {
    let store = "global_store_dword v[0:1], v3, off";
    covered(&format!("{LOAD}; {store}; s_waitcnt vmcnt(1); {USE}"));
    too_early(&format!("{LOAD}; {store}; s_waitcnt vmcnt(2); {USE}"), Early::Read, "s_waitcnt vmcnt(1)");
    // A load behind the store.
    too_early(&format!("{store}; {LOAD}; s_waitcnt vmcnt(1); {USE}"), Early::Read, "s_waitcnt vmcnt(0)");
}

#[test]
fn a_younger_load_of_the_same_registers_is_in_order() {
    covered(&format!("{LOAD}; {LOAD}; s_waitcnt vmcnt(0); {USE}"));
    too_early(&format!("{LOAD}; v_mov_b32_e32 v2, v5"), Early::Write, "s_waitcnt vmcnt(0)");
    // LDS and global memory have no order between them.
    too_early(&format!("{LOAD}; ds_read_b32 v2, v5"), Early::Write, "s_waitcnt vmcnt(0)");
}

#[test]
fn lds_returns_in_order() {
    let (load, other) = ("ds_read_b32 v2, v5", "ds_read_b32 v3, v5");
    too_early(&format!("{load}; {USE}"), Early::Read, "s_waitcnt lgkmcnt(0)");
    covered(&format!("{load}; {other}; s_waitcnt lgkmcnt(1); {USE}"));
    too_early(&format!("{load}; {other}; s_waitcnt lgkmcnt(2); {USE}"), Early::Read, "s_waitcnt lgkmcnt(1)");
    let others = |count: usize| format!("{other}; ").repeat(count);
    too_early(&format!("{load}; {}{USE}", others(14)), Early::Read, "s_waitcnt lgkmcnt(14)");
    covered(&format!("{load}; {}{USE}", others(15)));
}

#[test]
fn scalar_loads_return_in_any_order() {
    let (load, other) = ("s_load_dword s4, s[8:9], 0x0", "s_load_dword s6, s[8:9], 0x8");
    let reader = "s_add_u32 s5, s4, s4";
    covered(&format!("{load}; {other}; s_waitcnt lgkmcnt(0); {reader}"));
    too_early(
        &format!("{load}; {other}; s_waitcnt lgkmcnt(1); {reader}"),
        Early::Read,
        "s_waitcnt lgkmcnt(0)",
    );
    too_early(&format!("{load}; {reader}"), Early::Read, "s_waitcnt lgkmcnt(0)");
}

#[test]
fn a_scalar_load_says_nothing_about_lds() {
    let (lds, scalar) = ("ds_read_b32 v2, v5", "s_load_dword s4, s[8:9], 0x0");
    too_early(&format!("{lds}; {scalar}; s_waitcnt lgkmcnt(1); {USE}"), Early::Read, "s_waitcnt lgkmcnt(0)");
    covered(&format!("{lds}; {scalar}; s_waitcnt lgkmcnt(0); {USE}"));
    // Of three, two of them LDS: if the first were under way, the second would be, too.
    covered(&format!("{lds}; ds_read_b32 v3, v5; {scalar}; s_waitcnt lgkmcnt(1); {USE}"));
}

#[test]
fn flat_counts_on_both_counters_and_in_no_order() {
    let flat = "flat_load_dword v2, v[0:1]";
    let both = "s_waitcnt vmcnt(0) lgkmcnt(0)";
    covered(&format!("{flat}; {both}; {USE}"));
    covered(&format!("{flat}; s_waitcnt vmcnt(0); s_waitcnt lgkmcnt(0); {USE}"));
    too_early(&format!("{flat}; {USE}"), Early::Read, both);
    too_early(&format!("{flat}; s_waitcnt vmcnt(0); {USE}"), Early::Read, "s_waitcnt lgkmcnt(0)");
    too_early(&format!("{flat}; s_waitcnt lgkmcnt(0); {USE}"), Early::Read, "s_waitcnt vmcnt(0)");
    too_early(
        &format!("{flat}; {OTHER}; s_waitcnt vmcnt(1) lgkmcnt(0); {USE}"),
        Early::Read,
        "s_waitcnt vmcnt(0)",
    );
    // It may come back before the load that was issued first.
    too_early(
        &format!("{LOAD}; flat_load_dword v3, v[0:1]; s_waitcnt vmcnt(1); {USE}"),
        Early::Read,
        "s_waitcnt vmcnt(0)",
    );
}

#[test]
fn stored_data_may_be_overwritten() {
    // CDNA3 has no export counter for it; stores of more than 64 bits need wait states, see `hazards`.
    covered("global_store_dword v[0:1], v3, off; v_mov_b32_e32 v3, v5");
    covered("global_store_dwordx2 v[0:1], v[2:3], off; v_mov_b32_e32 v3, v5");
    covered("ds_write_b32 v5, v3; v_mov_b32_e32 v3, v5");
}

#[test]
fn a_write_to_lds_before_a_barrier_wants_a_wait() {
    let found = |text: &str| lint(&program(text)).first().map(|finding| (finding.certainty, finding.kind));
    // Kernels that are known to work do without.
    let Some((Certainty::Tolerated, Kind::Barrier { wait })) = found("ds_write_b32 v5, v3; s_barrier") else {
        panic!("not found")
    };
    assert_eq!(wait.to_string(), "s_waitcnt lgkmcnt(0)");
    assert!(found("ds_write_b32 v5, v3; s_waitcnt lgkmcnt(0); s_barrier").is_none());
}

#[test]
fn a_barrier_is_no_wait_and_kernels_take_it_for_one() {
    let load = "ds_read_b32 v2, v5";
    too_early(&format!("{load}; s_barrier; {USE}"), Early::Read, "s_waitcnt lgkmcnt(0)");
    covered(&format!("{load}; s_waitcnt lgkmcnt(0); s_barrier; {USE}"));
    let words = program(&format!("{load}; s_barrier; s_nop 5; {USE}"));
    assert!(matches!(lint(&words)[..], [one] if one.certainty == Certainty::Tolerated));
    assert!(run(&words).is_ok());
    too_early(&format!("{LOAD}; s_barrier; s_nop 5; {USE}"), Early::Read, "s_waitcnt vmcnt(0)");
}

/// 256 bytes to LDS + M0; M0 is 0.
const TO_LDS: &str = "global_load_lds_dword v[0:1], off";

#[test]
fn a_load_to_lds_is_waited_for_before_the_bytes_are_read() {
    let read = "ds_read_b32 v2, v5";
    for text in [format!("{TO_LDS}; {read}"), format!("{TO_LDS}; s_barrier; {read}")] {
        too_early(&text, Early::ReadOfLds, "s_waitcnt vmcnt(0)");
    }
    covered(&format!("{TO_LDS}; s_waitcnt vmcnt(0); s_barrier; {read}"));
    too_early(
        &format!("{TO_LDS}; s_waitcnt lgkmcnt(0); s_barrier; {read}"),
        Early::ReadOfLds,
        "s_waitcnt vmcnt(0)",
    );
    // In order with the wave's other vector memory.
    covered(&format!("{TO_LDS}; {OTHER}; s_waitcnt vmcnt(1); s_barrier; {read}"));
    too_early(
        &format!("{TO_LDS}; {OTHER}; s_waitcnt vmcnt(2); s_barrier; {read}"),
        Early::ReadOfLds,
        "s_waitcnt vmcnt(1)",
    );
    too_early(
        &format!("{TO_LDS}; s_barrier; ds_read2_b32 v[2:3], v5 offset1:1"),
        Early::ReadOfLds,
        "s_waitcnt vmcnt(0)",
    );
}

#[test]
fn other_bytes_may_be_read_while_lds_is_loaded() {
    // M0 + 0..256 is under way, 256 and up is not.
    let end = "s_waitcnt vmcnt(0)";
    covered(&format!("{TO_LDS}; s_barrier; ds_read_b32 v2, v5 offset:256; {end}"));
    let words = program(&format!("{TO_LDS}; s_barrier; ds_read_b32 v2, v5 offset:252; {end}"));
    let Err(Problem::MissingWait { fault }) = run(&words) else { panic!("the last bytes are not checked") };
    assert_eq!((fault.early, fault.wait.as_str()), (Early::ReadOfLds, "s_waitcnt vmcnt(0)"));
    // Looking at the program cannot tell the two apart.
    assert!(certain(&words).is_empty());
}

#[test]
fn what_no_way_has_waited_for_is_certain_however_many_branches_there_are() {
    // Three times: over the next instruction, or not.
    let skips = "s_cbranch_scc1 1; v_mov_b32_e32 v6, v7; ".repeat(3);
    // A wait that does not cover the load must not make it less certain.
    for wait in ["s_waitcnt lgkmcnt(0)", "s_waitcnt vmcnt(1)"] {
        too_early(&format!("{LOAD}; {wait}; {skips}{USE}"), Early::Read, "s_waitcnt vmcnt(0)");
    }
    covered(&format!("{LOAD}; s_waitcnt vmcnt(0); {skips}{USE}"));
    let scalar = "s_load_dword s4, s[8:9], 0x0";
    too_early(
        &format!("{scalar}; s_waitcnt lgkmcnt(1); {skips}s_add_u32 s5, s4, s4"),
        Early::Read,
        "s_waitcnt lgkmcnt(0)",
    );
    let flat = "flat_load_dword v2, v[0:1]";
    too_early(&format!("{flat}; s_waitcnt vmcnt(0); {skips}{USE}"), Early::Read, "s_waitcnt lgkmcnt(0)");
    covered(&format!("{flat}; s_waitcnt vmcnt(0) lgkmcnt(0); {skips}{USE}"));
}

#[test]
fn a_wait_on_some_ways_only_makes_it_less_certain_to_the_eye_and_not_to_the_wave() {
    // The wait is skipped where SCC is 0 (it is), after two branches that change nothing.
    let skip = "s_cbranch_scc1 1; v_mov_b32_e32 v6, v7";
    let text = [LOAD, skip, skip, "s_cbranch_scc0 1; s_waitcnt vmcnt(0)", USE].join("; ");
    let words = program(&text);
    let found = lint(&words);
    assert!(matches!(found[..], [one] if one.certainty == Certainty::SomeWay), "{found:?}");
    assert!(matches!(run(&words), Err(Problem::MissingWait { .. })));
}
