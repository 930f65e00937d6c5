//! A sweep as a page: one file, no outside resource.

use super::Sweep;

/// The page.
pub fn html(_sweep: &Sweep) -> String {
    String::new()
}
