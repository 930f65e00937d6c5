//! Environment variables: the known ones, and a warning about those that have no effect.

use assay_cli::spelling;

use super::Trouble;

/// Every variable with one of [`PREFIXES`] that Assay reads, in its build, in its commands or in its tests.
const KNOWN: [&str; 37] = [
    "GCORE_D2H_AUDIT",
    "GCORE_D2H_AUDIT_LOG",
    "GRETA_D2H_DEBUG",
    "GRETA_TRACE_MEMCPY",
    "GRETA_DISABLE_GUARD_RAIL",
    "ASSAY_COMMIT",
    "ASSAY_HIP_OBJECTS",
    "ASSAY_REQUIRE_HIP",
    "ASSAY_LIBAMDHIP64",
    "ASSAY_HIP_FORWARD",
    "ASSAY_FORWARD",
    "ASSAY_PLUGIN",
    "ASSAY_PYTHON",
    "ASSAY_MODEL",
    "ASSAY_REQUIRE_MODEL",
    "ASSAY_VOCAB",
    "ASSAY_REQUIRE_VOCAB",
    "ASSAY_REQUIRE_LLVM",
    "ASSAY_REQUIRE_CC",
    "ASSAY_REQUIRE_PYTHON",
    "ASSAY_REQUIRE_HIP_COMPILER",
    "ASSAY_FAILING_HIP_CALL",
    "ASSAY_FAULTS",
    "ASSAY_FUZZ_ITERS",
    "ASSAY_FUZZ_INPUTS",
    "ASSAY_FUZZ_LAUNCHES",
    "ASSAY_FUZZ_OBJECTS",
    "ASSAY_FUZZ_SEED",
    "ASSAY_DECODE_SAMPLES",
    "ASSAY_DECODE_SEED",
    "ASSAY_DECODE_SHOW",
    "ASSAY_DECODE_WORDS",
    "ASSAY_MATRIX_TILES",
    "ASSAY_WAIT_MUTANTS",
    "ASSAY_SANITIZE",
    "ASSAY_SIMD",
    "ASSAY_VECTORS",
];

/// Variables that begin like this are meant for us.
const PREFIXES: [&str; 3] = ["GCORE_", "GRETA_", "ASSAY_"];

/// Whether the switch `name` is set to 1. Unset, empty and 0 are off; anything else is a mistake.
pub fn switch(name: &str) -> Result<bool, Trouble> {
    match std::env::var_os(name) {
        None => Ok(false),
        Some(value) if value.is_empty() || value == "0" => Ok(false),
        Some(value) if value == "1" => Ok(true),
        Some(value) => Err(Trouble::Input(format!("{name} is '{}', want 0 or 1", value.display()))),
    }
}

/// A line for each variable with our prefix that has no effect.
pub fn warnings() -> Vec<String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut unknown: Vec<String> = names.filter(|name| is_unknown(name)).collect();
    unknown.sort_unstable();
    let line =
        |name: String| format!("{name} is set, but nothing reads it; did you mean {}?", nearest(&name));
    unknown.into_iter().map(line).collect()
}

fn is_unknown(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) && !KNOWN.contains(&name)
}

fn nearest(name: &str) -> &'static str {
    spelling::nearest(name, KNOWN).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_variables_lead_to_the_right_ones() {
        assert!(is_unknown("GRETA_DISABLE_GUARDRAIL") && !is_unknown("GRETA_DISABLE_GUARD_RAIL"));
        assert!(!is_unknown("PATH"));
        assert_eq!(nearest("GRETA_DISABLE_GUARDRAIL"), "GRETA_DISABLE_GUARD_RAIL");
        assert_eq!(nearest("GCORE_D2H_AUDIT_FILE"), "GCORE_D2H_AUDIT_LOG");
        assert_eq!(nearest("ASSAY_REQUIRES_HIP"), "ASSAY_REQUIRE_HIP");
    }
}
