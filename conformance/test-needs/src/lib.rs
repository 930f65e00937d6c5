//! What tests need: things that a machine may lack (a model, a compiler, a GPU), and a measure of [memory].
//!
//! A trial whose need is not met is *ignored*, with the reason in front of its name; it never counts as passed. Where a variable such as
//! `ASSAY_REQUIRE_MODEL=1` insists, it fails with the reason.

pub mod memory;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

pub use libtest_mimic::{Arguments, Trial};

/// Something that tests need.
#[derive(Clone, Debug)]
pub struct Need<T> {
    found: Result<T, String>,
    required: bool,
}

impl<T: Clone + Send + 'static> Need<T> {
    /// What was found, or why not. The variable `required_by`, set to 1, makes its absence a failure.
    pub fn new(found: Result<T, String>, required_by: &str) -> Self {
        Need { found, required: std::env::var(required_by).is_ok_and(|value| value == "1") }
    }

    /// The need where `why` makes it one that cannot be met.
    #[must_use]
    pub fn missing(self, why: &str) -> Self {
        Need { found: Err(why.into()), ..self }
    }

    /// A trial that runs `test` on what was found.
    pub fn trial(&self, name: &str, test: impl FnOnce(T) + Send + 'static) -> Trial {
        match self.found.clone() {
            Ok(found) => Trial::test(name, move || {
                test(found);
                Ok(())
            }),
            Err(why) => Trial::test(name, {
                let why = why.clone();
                move || Err(why.into())
            })
            .with_kind(why)
            .with_ignored_flag(!self.required),
        }
    }
}

/// The model file of the tests, `SmolLM2-135M-Instruct.Q4_1.gguf`.
pub fn model() -> Need<PathBuf> {
    let path = std::env::var_os("ASSAY_MODEL").map(PathBuf::from);
    let found = match path {
        None => Err("ASSAY_MODEL is not set; bash golden/fetch_model.sh DIR fetches the model".into()),
        Some(path) if !path.is_file() => Err(format!("ASSAY_MODEL: {} is no file", path.display())),
        Some(path) => Ok(path),
    };
    Need::new(found, "ASSAY_REQUIRE_MODEL")
}

/// A C compiler.
pub fn c_compiler() -> Need<String> {
    let program = "cc".to_owned();
    let found = match Command::new(&program).arg("--version").output() {
        Ok(_) => Ok(program),
        Err(error) => Err(format!("cc: {error}; apt-get install gcc")),
    };
    Need::new(found, "ASSAY_REQUIRE_CC")
}

/// A program of LLVM 19: the one that `variable` names, or else `default`.
pub fn llvm(variable: &str, default: &str) -> Need<String> {
    let program = std::env::var(variable).unwrap_or_else(|_| default.into());
    let found = match Command::new(&program).arg("--version").output() {
        Ok(_) => Ok(program),
        Err(error) => Err(format!("{program}: {error}; apt-get install llvm-19, or set {variable}")),
    };
    Need::new(found, "ASSAY_REQUIRE_LLVM")
}

/// Runs trials as the arguments of the test program ask.
pub fn run(trials: Vec<Trial>) -> ExitCode {
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Trials named after the functions that they run, each on a reference to what `$need` found.
#[macro_export]
macro_rules! trials {
    ($need:expr; $($test:ident),+ $(,)?) => {{
        let need = $need;
        vec![$(need.trial(stringify!($test), |found| $test(&found))),+]
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_without_what_it_needs_is_ignored_with_the_reason() {
        let need: Need<()> = Need { found: Err("no model".into()), required: false };
        let trial = need.trial("runs", |()| ());
        assert!(trial.has_ignored_flag());
        assert_eq!((trial.name(), trial.kind()), ("runs", "no model"));
    }

    #[test]
    fn a_trial_that_is_required_is_not_ignored() {
        let need: Need<()> = Need { found: Err("no model".into()), required: true };
        assert!(!need.trial("runs", |()| ()).has_ignored_flag());
    }

    #[test]
    fn what_is_missing_is_the_reason() {
        let need = Need { found: Ok(7), required: false }.missing("another system");
        assert_eq!(need.trial("runs", |_| ()).kind(), "another system");
    }

    #[test]
    fn a_trial_that_has_what_it_needs_runs() {
        let need = Need { found: Ok(7), required: false };
        assert!(!need.trial("runs", |n| assert_eq!(n, 7)).has_ignored_flag());
    }
}
