//! The page that `evenpath-bench report` generates from results: a summary, tables of all results, and plots.
//!
//! The same results give the same bytes.

mod hisparse;
mod operation;
#[allow(clippy::module_inception)]
mod page;
mod places;
mod plots;
mod rows;
mod summary;

pub(crate) use page::Page;
