//! Gates pass healthy runs, fail the smallest drift that their thresholds promise to see, and refuse what says nothing.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use forensics::gates::distance::between;
use forensics::gates::folder::{Entry, Stored};
use forensics::gates::gate::{Drift, Gate, Overall, Thresholds, Verdict, determinism, drifts, equivalence};
use serde_json::{Map, Value};

fn metadata(pairs: &[(&str, &str)]) -> Map<String, Value> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), Value::from(*value))).collect()
}

/// 8 entries of 50 logits.
fn run(id: &str, change: impl Fn(usize, usize, f32) -> f32) -> Stored {
    let entries = (0..8).map(|at| {
        let logits =
            (0..50).map(|token| change(at, token, ((at * 7 + token * 13) % 50) as f32 * 0.125)).collect();
        Entry { token_idx: at as u64, token_id: 3 + u32::try_from(at).unwrap(), logits }
    });
    Stored::new(metadata(&[("run_id", id)]), entries.collect())
}

fn healthy(id: &str) -> Stored {
    run(id, |_, _, x| x)
}

fn compare(left: &Stored, right: &Stored) -> Gate {
    equivalence("test", left, right, &Thresholds::default(), false)
}

#[test]
fn equal_runs_pass_and_the_gate_says_how_much_it_compared() {
    let gate = compare(&healthy("a"), &healthy("b"));
    assert_eq!(gate.verdict, Verdict::PassEquiv);
    let distance = gate.distance.unwrap();
    assert_eq!((distance.entries, distance.logits, distance.identical), (8, 400, true));
    let control = gate.control.unwrap();
    for drift in ["max_abs_diff", "p99_abs_diff", "likeliest tokens", "NaN"] {
        assert!(control.contains(drift), "{control}");
    }
}

/// One step of an f32 decides.
#[test]
fn a_difference_of_the_threshold_passes_and_the_next_one_fails() {
    let limit = 0.125;
    let limits = Thresholds { max_abs_diff: limit, ..Thresholds::default() };
    let at = |by: f32| run("b", move |at, token, x| if (at, token) == (5, 0) { x + by } else { x });
    // 5·7 % 50 / 8 = 4.375: not the largest of its entry, before and after.
    assert_eq!(equivalence("t", &healthy("a"), &at(0.125), &limits, false).verdict, Verdict::PassEquiv);
    let moved = equivalence("t", &healthy("a"), &at(0.125_f32 + 1e-6), &limits, false);
    assert_eq!(moved.verdict, Verdict::FailEquiv);
    assert_eq!(moved.distance.unwrap().worst, Some((5, 0)));
}

#[test]
fn one_percent_of_the_logits_may_differ_by_more_than_p99_and_no_more() {
    // Of 400 logits, 4 may.
    let first =
        |count: usize| run("b", move |at, token, x| if at == 0 && token < count { x + 0.002 } else { x });
    assert_eq!(compare(&healthy("a"), &first(4)).verdict, Verdict::PassEquiv);
    let five = compare(&healthy("a"), &first(5));
    assert_eq!(five.verdict, Verdict::FailEquiv);
    assert!(five.why.contains("p99_abs_diff 2.000e-3"), "{}", five.why);
}

#[test]
fn one_other_likeliest_token_of_eight_fails() {
    let limits = Thresholds { max_abs_diff: 100.0, p99_abs_diff: 100.0, ..Thresholds::default() };
    let turned = run("b", |at, token, x| if (at, token) == (3, 1) { 99.0 } else { x });
    let gate = equivalence("t", &healthy("a"), &turned, &limits, false);
    assert_eq!(gate.verdict, Verdict::FailEquiv);
    assert!((gate.distance.unwrap().top1_agreement - 0.875).abs() < 1e-12);
    let limits = Thresholds { top1_agreement: 0.875, ..limits };
    assert_eq!(equivalence("t", &healthy("a"), &turned, &limits, false).verdict, Verdict::PassEquiv);
}

#[test]
fn no_number_fails() {
    for value in [f32::NAN, f32::INFINITY] {
        let broken = run("b", |at, token, x| if (at, token) == (7, 49) { value } else { x });
        assert_eq!(compare(&healthy("a"), &broken).verdict, Verdict::FailEquiv);
        assert_eq!(compare(&broken, &run("c", |_, _, x| x)).verdict, Verdict::FailEquiv);
        // Two equal NaN are no agreement.
        let same = run("c", |at, token, x| if (at, token) == (7, 49) { value } else { x });
        assert_eq!(compare(&broken, &same).verdict, Verdict::FailEquiv);
    }
}

#[test]
fn every_smallest_drift_that_the_thresholds_promise_to_see_fails() {
    let limits = Thresholds::default();
    let drifts = drifts(&healthy("a"), &limits);
    assert_eq!(drifts.len(), 4);
    for Drift { name, entries, .. } in drifts {
        let drifted = Stored::new(metadata(&[("run_id", "b")]), entries);
        assert_eq!(compare(&healthy("a"), &drifted).verdict, Verdict::FailEquiv, "{name}");
    }
}

#[test]
fn a_run_is_not_compared_with_itself() {
    let itself = compare(&healthy("a"), &healthy("a"));
    assert_eq!(itself.verdict, Verdict::Inconclusive);
    assert!(itself.why.contains("compared with itself") && itself.why.contains("run_id"), "{}", itself.why);
    // Two engines do not give equal bits.
    let copied = equivalence("t", &healthy("a"), &healthy("b"), &Thresholds::default(), true);
    assert_eq!(copied.verdict, Verdict::Inconclusive);
    assert!(copied.why.contains("every bit is equal"), "{}", copied.why);
    let folder = tempfile::tempdir().unwrap();
    healthy("a").write(folder.path()).unwrap();
    let (left, right) =
        (Stored::read(folder.path()).unwrap(), Stored::read(&folder.path().join(".")).unwrap());
    assert!(compare(&left, &right).why.contains("both are the file"));
    // Another folder and another run_id, with a link to the same logits.
    let links: [fn(PathBuf, PathBuf) -> std::io::Result<()>; 2] =
        [|from, to| std::fs::hard_link(from, to), |from, to| std::os::unix::fs::symlink(from, to)];
    for link in links {
        let linked = tempfile::tempdir().unwrap();
        healthy("b").write(linked.path()).unwrap();
        std::fs::remove_file(linked.path().join("logits.jsonl.gz")).unwrap();
        let name = |folder: &Path| folder.join("logits.jsonl.gz");
        link(name(folder.path()), name(linked.path())).unwrap();
        let gate = compare(&left, &Stored::read(linked.path()).unwrap());
        assert_eq!(gate.verdict, Verdict::Inconclusive);
        assert!(gate.why.contains("both are the file"), "{}", gate.why);
    }
}

/// Of equal logits no token is the likeliest, so that nothing was compared there; yet a NaN fails.
#[test]
fn equal_logits_pass_no_gate() {
    for value in [0.0, 7.5] {
        let gate = compare(&run("a", |_, _, _| value), &run("b", |_, _, _| value));
        assert_eq!(gate.verdict, Verdict::Inconclusive);
        assert!(gate.why.contains("all logits of an entry are equal"), "{}", gate.why);
    }
    let nan = compare(&run("a", |_, _, _| f32::NAN), &run("b", |_, _, _| f32::NAN));
    assert_eq!(nan.verdict, Verdict::FailEquiv);
}

#[test]
fn what_could_not_be_compared_is_inconclusive() {
    let short = Stored::new(metadata(&[("run_id", "b")]), healthy("b").entries[..5].to_vec());
    let gate = compare(&healthy("a"), &short);
    assert_eq!(gate.verdict, Verdict::Inconclusive);
    assert!(
        gate.why.contains("only 5 entries were compared: 8 entries on one side, 5 on the other"),
        "{}",
        gate.why
    );
    let mut other = healthy("b");
    other.entries[2].token_id = 77;
    assert!(compare(&healthy("a"), &other).why.contains("token_id is 5 on one side and 77 on the other"));
    let none = Stored::new(metadata(&[("run_id", "b")]), Vec::new());
    assert_eq!(compare(&healthy("a"), &none).verdict, Verdict::Inconclusive);
    let mut model = healthy("b");
    model.metadata.insert("model_sha256".into(), "y".into());
    let mut mine = healthy("a");
    mine.metadata.insert("model_sha256".into(), "x".into());
    assert_eq!(compare(&mine, &model).verdict, Verdict::Inconclusive);
}

#[test]
fn runs_of_the_same_are_deterministic_jittering_or_neither() {
    let moved =
        |id: &str, by: f32| run(id, move |at, token, x| if (at, token) == (5, 0) { x + by } else { x });
    let verdict =
        |third: Stored| determinism(&[healthy("a"), healthy("b"), third], &Thresholds::default()).verdict;
    assert_eq!(verdict(healthy("c")), Verdict::PassDeterministic);
    assert_eq!(verdict(moved("c", 1e-6)), Verdict::NumericalJitter);
    assert_eq!(verdict(moved("c", 0.006)), Verdict::NonDeterministic);
    assert_eq!(verdict(healthy("b")), Verdict::Inconclusive, "one process twice");
    assert_eq!(determinism(&[healthy("a")], &Thresholds::default()).verdict, Verdict::Inconclusive);
}

#[test]
fn one_word_for_all() {
    let gate = |verdict| Gate { verdict, ..compare(&healthy("a"), &healthy("b")) };
    let of = |all: &[Verdict]| Overall::of(&all.iter().copied().map(gate).collect::<Vec<_>>());
    assert_eq!(of(&[Verdict::PassDeterministic, Verdict::PassEquiv]), Overall::PassGuardrail);
    assert_eq!(of(&[Verdict::Inconclusive, Verdict::PassEquiv]), Overall::Incomplete);
    assert_eq!(of(&[Verdict::Inconclusive, Verdict::FailEquiv]), Overall::FailGuardrail);
    assert_eq!(of(&[Verdict::NumericalJitter]), Overall::FailGuardrail);
    assert_eq!(of(&[]), Overall::Incomplete);
}

#[test]
fn a_run_in_a_folder_is_the_same_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = run("a", |at, token, x| if at == token { f32::NAN } else { x / 3.0 });
    run.write(folder.path()).unwrap();
    let read = Stored::read(folder.path()).unwrap();
    assert_eq!(read.metadata, run.metadata);
    assert_eq!(between(&run, &read).entries, 8);
    let bits = |run: &Stored| {
        run.entries.iter().flat_map(|e| e.logits.clone()).map(f32::to_bits).collect::<Vec<_>>()
    };
    assert_eq!(bits(&run), bits(&read));
    std::fs::write(folder.path().join("logits.jsonl.gz"), "no gzip").unwrap();
    assert!(Stored::read(folder.path()).unwrap_err().to_string().contains("no gzip file"));
}
