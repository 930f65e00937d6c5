//! A comparison of two runs, as text and as a page.

mod page;
mod text;

pub use page::page;
pub use text::text;

/// A share of the budget: in percent while it is near the bound, as a multiple far beyond it.
fn share_of_budget(share: f64) -> String {
    if share <= 10.0 {
        format!("{:.2} % of the budget", share * 100.0)
    } else {
        format!("{share:.2e} times the budget")
    }
}
