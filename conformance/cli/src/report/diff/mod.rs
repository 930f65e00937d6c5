//! A comparison of two runs, as text and as a page.

mod page;
mod text;

pub use page::page;
pub use text::text;

use forensics::diff::Cell;

use super::Budget;

/// How much of its error budget the op at a cell used; `None` where there is no oracle.
fn budget(cell: &Cell) -> Option<Budget> {
    Some(Budget::new(cell.share?, cell.ulps.unwrap_or(f64::INFINITY)))
}

/// The same in words.
fn in_words(budget: Budget) -> String {
    match budget {
        Budget::Exact => "equal to the oracle".into(),
        Budget::Rounded => "correctly rounded".into(),
        Budget::Share(share) => share_of_budget(share),
    }
}

/// A share of the budget: in percent while it is near the bound, as a multiple far beyond it.
fn share_of_budget(share: f64) -> String {
    if share <= 10.0 {
        format!("{:.2} % of the budget", share * 100.0)
    } else {
        format!("{share:.2e} times the budget")
    }
}
