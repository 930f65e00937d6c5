//! What this program was built from and for.

use std::sync::LazyLock;

/// Features that it was built with.
pub const FEATURES: &str = if cfg!(feature = "hip") { "hip" } else { "none" };

static LONG: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{}\ncommit:   {}\ntarget:   {}\nprofile:  {}\nfeatures: {FEATURES}",
        env!("CARGO_PKG_VERSION"),
        env!("BUILD_COMMIT"),
        env!("BUILD_TARGET"),
        env!("BUILD_PROFILE"),
    )
});

/// The text of `--version`: version, commit, target, profile and features.
pub fn long() -> &'static str {
    &LONG
}
