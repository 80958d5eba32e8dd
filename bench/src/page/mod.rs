//! The pages that `evenpath-bench report` generates from results: a summary, a page for each operation and study, plots, and
//! tables of all rows as CSV.
//!
//! The same results give the same bytes.

mod choice;
mod data;
mod hisparse;
mod operation;
#[allow(clippy::module_inception)]
mod page;
mod places;
mod plots;
mod rows;
mod study;
mod summary;

pub(crate) use page::Page;
