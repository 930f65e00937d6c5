//! Waits that are removed or weakened, one at a time, must be noticed where they matter.
//!
//! A sample of the program's own objects by default; all of them, with figures:
//! `ASSAY_WAIT_MUTANTS=1 cargo test --release -p assay-softhip --test wait_mutants -- --nocapture`

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::unwrap_used,
    missing_docs,
    reason = "a test of known sizes"
)]

#[path = "../exec_launch/mod.rs"]
mod exec_launch;
mod execution;
mod walker;

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use softhip::isa::{self, Inst, Mods};
use softhip::lint;
use softhip::object::CodeObject;
use softhip::waits::{Certainty, Unit, findings};
use walker::Line;

/// The program's own objects, and those of the tests.
fn objects() -> Vec<(String, CodeObject)> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in ["../../kernels/hip/objects", "tests/objects"] {
        let mut paths: Vec<_> = std::fs::read_dir(here.join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "hsaco"))
            .collect();
        paths.sort();
        for path in paths {
            let object = CodeObject::parse(&std::fs::read(&path).unwrap()).unwrap();
            found.push((path.file_stem().unwrap().to_string_lossy().into_owned(), object));
        }
    }
    found
}

/// Every `stride`-th wait is tried.
fn stride() -> usize {
    if std::env::var_os("ASSAY_WAIT_MUTANTS").is_some() { 1 } else { 7 }
}

#[derive(Default, Debug)]
struct Figures {
    waits: usize,
    matter: usize,
    caught: usize,
}

/// The immediate of an `s_waitcnt`, all other counters at their maximum.
fn imm(vm: u32, lgkm: u32) -> u16 {
    let (vm, lgkm) = (vm.min(63) as u16, lgkm.min(15) as u16);
    vm & 15 | vm >> 4 << 14 | 7 << 4 | lgkm << 8
}

/// Removes the wait, or lets it end one instruction earlier for one of the counters.
fn changes((vm, lgkm): (u32, u32)) -> Vec<(&'static str, (u32, u32))> {
    let mut changes = vec![("removed", (u32::MAX, u32::MAX))];
    if vm < 63 {
        changes.push(("vmcnt one more", (vm + 1, lgkm)));
    }
    if lgkm < 15 {
        changes.push(("lgkmcnt one more", (vm, lgkm + 1)));
    }
    changes
}

fn try_function(
    name: &str,
    code: &[Inst],
    counter: &mut usize,
    figures: &mut BTreeMap<&'static str, Figures>,
) -> Vec<String> {
    let index_of = |address: u64| code.binary_search_by_key(&address, |inst| inst.pc).ok();
    let lines: Vec<Line> = code.iter().map(|inst| Line::new(inst, index_of)).collect();
    let mut loads_of: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for load in (0..lines.len()).filter(|&at| walker::is_load(&lines[at])) {
        let mut passed = HashSet::new();
        let early = walker::is_used_early(&lines, load, None, &mut passed);
        assert!(!early, "{name}: {} is used early in the unchanged object", code[load]);
        for wait in passed {
            loads_of.entry(wait).or_default().push(load);
        }
    }
    let mut missed = Vec::new();
    let mut units: Vec<Unit> = code.iter().copied().map(Unit::new).collect();
    for (at, line) in lines.iter().enumerate() {
        let Some(wait) = line.wait else { continue };
        *counter += 1;
        if !counter.is_multiple_of(stride()) {
            continue;
        }
        for (change, to) in changes(wait) {
            let loads = loads_of.get(&at).map_or(&[][..], Vec::as_slice);
            let matters = loads
                .iter()
                .any(|&load| walker::is_used_early(&lines, load, Some((at, to)), &mut HashSet::new()));
            let mutant = Inst { mods: Mods::Imm(imm(to.0, to.1)), ..code[at] };
            let original = std::mem::replace(&mut units[at], Unit::new(mutant));
            let caught = findings(&units, &[0]).iter().any(|found| found.certainty == Certainty::Certain);
            units[at] = original;
            let figures = figures.entry(change).or_default();
            figures.waits += 1;
            figures.matter += usize::from(matters);
            figures.caught += usize::from(matters && caught);
            assert!(matters || !caught, "{name}+{:#x}: {change} does not matter, and is found", code[at].pc);
            if matters && !caught {
                missed.push(format!("{name} at {:#x}: {} {change}", code[at].pc, code[at]));
            }
        }
    }
    missed
}

#[test]
fn waits_that_matter_are_missed_when_they_are_gone() {
    let mut figures = BTreeMap::new();
    let mut missed = Vec::new();
    let mut counter = 0;
    for (stem, object) in objects() {
        for function in lint::functions(&object) {
            let words = object.words(function.code.clone()).unwrap();
            let code: Vec<Inst> = isa::disassemble(&words, function.code.start).map(Result::unwrap).collect();
            let name = format!("{stem}/{}", function.name);
            missed.extend(try_function(&name, &code, &mut counter, &mut figures));
        }
    }
    println!("{counter} waits");
    for (change, Figures { waits, matter, caught }) in &figures {
        println!("{change}: {waits} tried, {matter} matter, {caught} of them found");
    }
    for line in missed.iter().take(40) {
        println!("not found: {line}");
    }
    let sum = |of: fn(&Figures) -> usize| figures.values().map(of).sum::<usize>();
    let (matter, caught) = (sum(|figures| figures.matter), sum(|figures| figures.caught));
    assert!(matter > 1000, "too few that matter");
    assert!(caught * 100 >= matter * 95, "{caught} of {matter}");
}

#[test]
fn the_unchanged_objects_have_no_finding() {
    for (stem, object) in objects() {
        for function in lint::functions(&object) {
            let linted = lint::lint(&object, &function);
            assert!(linted.instructions > 0);
            let wrong = linted.found.iter().find(|found| found.certainty != Certainty::Tolerated);
            assert!(wrong.is_none(), "{stem}: {}", wrong.unwrap().report);
        }
    }
}
