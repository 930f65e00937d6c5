//! How far the results of software devices can be trusted.

use std::fmt::Write;

use conformance::name::CaseName;
use conformance::outcome::Fidelity;

use super::{Sweep, thousands};

/// What stands behind the results of a backend, over all its cases; `None` where it is no software device, or ran nothing.
pub(super) fn of_backend(sweep: &Sweep, backend: &str) -> Option<Fidelity> {
    let on_it = |name: &str| CaseName::parse(name).is_ok_and(|(_, on)| on == backend);
    let parts = sweep.results.iter().filter(|result| on_it(&result.name)).filter_map(|r| r.fidelity.as_ref());
    parts.fold(None, |sum, part| {
        let mut sum: Fidelity = sum.unwrap_or_default();
        sum += part;
        Some(sum)
    })
}

/// The numbers in words.
pub(super) fn sentence(fidelity: &Fidelity) -> String {
    let Fidelity { exact, modelled, approximate, untested } = fidelity;
    let all = exact + modelled + approximate;
    // Counts of instructions are far below 2^53.
    #[expect(clippy::cast_precision_loss, reason = "a share in per cent")]
    let share = |part: u64| 100.0 * part as f64 / all.max(1) as f64;
    let untested = if untested.is_empty() {
        "every operation has a test of its own".to_owned()
    } else {
        let names: Vec<&str> = untested.iter().map(String::as_str).collect();
        format!("operations without a test of their own: {}", names.join(" "))
    };
    format!(
        "{} wave instructions, {:.2} % exact, {:.2} % by a model of the hardware, {:.2} % approximate; {untested}",
        thousands(all),
        share(*exact),
        share(*modelled),
        share(*approximate)
    )
}

/// A line for each backend that is a software device.
pub fn fidelity(sweep: &Sweep) -> String {
    let mut text = String::new();
    for tested in &sweep.backends {
        if let Some(fidelity) = of_backend(sweep, &tested.name) {
            let _ = writeln!(text, "{}: {}", tested.name, sentence(&fidelity));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use conformance::outcome::{CaseResult, Outcome};

    use super::*;

    fn case(name: &str, fidelity: Option<Fidelity>) -> CaseResult {
        CaseResult {
            name: name.into(),
            outcome: Outcome::Passed,
            worst: None,
            compared: 1,
            micros: 1,
            fidelity,
        }
    }

    #[test]
    fn the_cases_of_a_backend_are_summed_and_untested_operations_named() {
        let part = |exact, modelled, approximate, untested: &[&str]| Fidelity {
            exact,
            modelled,
            approximate,
            untested: untested.iter().map(|&name| name.to_owned()).collect(),
        };
        let results = vec![
            case("add/soft/f32/exact,n=1", Some(part(900, 0, 0, &["v_two"]))),
            case("add/soft/f32/exact,n=2", Some(part(1000, 50, 50, &["v_one", "v_two"]))),
            case("add/soft-random/f32/exact,n=2", Some(part(7, 0, 0, &[]))),
            case("add/cpu/f32/exact,n=2", None),
        ];
        let sweep = Sweep { results, ..Sweep::default() };
        let sum = of_backend(&sweep, "soft").expect("it is a software device");
        assert_eq!(sum, part(1900, 50, 50, &["v_one", "v_two"]));
        assert_eq!(
            sentence(&sum),
            "2,000 wave instructions, 95.00 % exact, 2.50 % by a model of the hardware, 2.50 % approximate; operations \
             without a test of their own: v_one v_two"
        );
        assert!(of_backend(&sweep, "cpu").is_none());
        let all = sentence(&part(7, 0, 0, &[]));
        assert!(all.ends_with("; every operation has a test of its own"), "{all}");
    }
}
