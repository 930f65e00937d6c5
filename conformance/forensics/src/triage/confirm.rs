//! Fail, fix, pass, revert, fail: only that makes a root cause.

use serde::Serialize;

/// What a step should show.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// The check fails.
    Fail,
    /// The check passes.
    Pass,
}

/// A step of the proof.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Step {
    /// What was done before the check: nothing, the fix, the revert.
    pub after: &'static str,
    /// What the check should show.
    pub expect: Expect,
    /// The check's exit code.
    pub code: i32,
}

/// The steps, in their order.
pub const STEPS: [(&str, Expect); 3] =
    [("as it is", Expect::Fail), ("fix", Expect::Pass), ("revert", Expect::Fail)];

/// What the steps show.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub enum Proof {
    /// It fails, passes with the fix, and fails without it again.
    #[serde(rename = "ROOT_CAUSE")]
    RootCause,
    /// Some step did not show what it should.
    #[serde(rename = "CANDIDATE")]
    Candidate(String),
}

/// Judges the steps that were made.
pub fn judge(steps: &[Step]) -> Proof {
    for step in steps {
        let passed = step.code == 0;
        if passed != (step.expect == Expect::Pass) {
            let what = if passed { "passes" } else { "fails" };
            return Proof::Candidate(format!("{}: the check {what} (exit code {})", step.after, step.code));
        }
    }
    let made = steps.len();
    if made == STEPS.len() {
        Proof::RootCause
    } else {
        Proof::Candidate(format!("{made} of {} steps were made", STEPS.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fail_pass_fail_is_a_root_cause() {
        let steps = |codes: &[i32]| {
            let steps = STEPS.iter().zip(codes).map(|((after, expect), code)| Step {
                after,
                expect: *expect,
                code: *code,
            });
            judge(&steps.collect::<Vec<_>>())
        };
        assert_eq!(steps(&[1, 0, 1]), Proof::RootCause);
        for codes in [&[0, 0, 1][..], &[1, 1, 1], &[1, 0, 0], &[1, 0], &[]] {
            assert!(matches!(steps(codes), Proof::Candidate(_)), "{codes:?}");
        }
    }
}
