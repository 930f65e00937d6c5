//! What targets declare and do not keep is named.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use backend_cpu::reference::Reference;
use conformance::declaration::{Contradiction, contradiction, in_question};
use conformance::outcome::{CaseResult, Outcome};
use conformance::suite::{self, Filter, JUDGE, Slice};
use conformance::target::{Bare, RunError, Target};
use kernels::{Depth, Identity, Numerics, OpForm, Record, Role, Support};

/// The reference, whose results an error is added to.
struct Planted {
    reference: Bare<Reference>,
    declared: Numerics,
    /// What becomes of an element of a row of so many.
    error: fn(f32, usize, usize) -> f32,
}

impl Target for Planted {
    fn identity(&self) -> Identity {
        self.reference.identity()
    }

    fn supports(&self, form: &OpForm) -> Support {
        self.reference.supports(form)
    }

    fn numerics(&self, _: &OpForm) -> Numerics {
        self.declared
    }

    fn run(&self, record: &Record) -> Result<Vec<Vec<u8>>, RunError> {
        let mut buffers = self.reference.run(record)?;
        for (operand, buffer) in record.operands().iter().zip(&mut buffers) {
            if operand.role == Role::Output {
                for (nth, row) in operand.layout.rows().enumerate() {
                    let n = row.len() / 4;
                    for word in buffer[row].as_chunks_mut::<4>().0 {
                        *word = (self.error)(f32::from_le_bytes(*word), nth, n).to_le_bytes();
                    }
                }
            }
        }
        Ok(buffers)
    }
}

fn planted(declared: Numerics, error: fn(f32, usize, usize) -> f32) -> Planted {
    Planted { reference: Bare::new(Reference::default()).unwrap(), declared, error }
}

/// Results of the cases of `op` with results in f32.
fn results(op: &str, target: &Planted) -> Vec<CaseResult> {
    let names = suite::names("ref", &Filter::new(&format!("{op}/ /bounded,topic=values")));
    let names = Slice::Quick.of(names.into_iter().filter(|name| !name.contains("_type=")).collect());
    names
        .iter()
        .filter(|name| suite::extent(name) < 10_000)
        .map(|name| suite::run(name, target, JUDGE).unwrap())
        .collect()
}

fn named(op: &str, target: &Planted) -> Option<Contradiction> {
    let results = results(op, target);
    let failed = results.iter().filter(|result| matches!(result.outcome, Outcome::Failed(_)));
    contradiction(&in_question(failed), target)
}

#[test]
fn results_of_f16_sums_declared_as_f32_behave_like_f16() {
    // The last 13 bits of a significand are those that f16 lacks.
    let target = planted(Numerics::F32, |y, _, _| f32::from_bits((y.to_bits() + 0x1000) & !0x1fff));
    let found = named("rms_norm", &target).unwrap();
    assert_eq!(found.declares, "an accumulator of f32", "{found}");
    assert_eq!(found.behaves_like, "an accumulator of f16", "{found}");
    assert!(found.cases > 1 && found.op == "rms_norm");
}

#[test]
fn chains_that_are_longer_than_declared_are_named() {
    let declared = Numerics { depth: Depth::Lanes(64), ..Numerics::F32 };
    // As far off, to either side, as a chain of all n makes likely and sums in 64 lanes cannot be.
    let target = planted(declared, |y, row, n| {
        let off = 2.4 * (n as f64).sqrt() * f64::from(f32::EPSILON / 2.0);
        #[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is what is meant")]
        let off = (f64::from(y) * if row % 2 == 0 { 1.0 + off } else { 1.0 - off }) as f32;
        off
    });
    let found = named("rms_norm", &target).unwrap();
    assert_eq!(found.declares, "sums in 64 lanes", "{found}");
    let lanes =
        ["sums in one chain", "sums in 2 lanes", "sums in 4 lanes", "sums in 8 lanes", "sums of any order"];
    assert!(lanes.contains(&found.behaves_like.as_str()), "{found}");
}

#[test]
fn what_is_wrong_under_every_declaration_and_what_is_right_behave_like_nothing_else() {
    let right = planted(Numerics::F32, |y, _, _| y);
    assert!(results("rms_norm", &right).iter().all(|result| result.outcome == Outcome::Passed));
    assert_eq!(named("rms_norm", &right), None);
    assert_eq!(named("rms_norm", &planted(Numerics::F32, |y, _, _| 2.0 * y)), None);
}
