//! All tables of the study.

use std::error::Error;

use super::primitives::{block_sorts, unions};
use super::{beyond_cache, table2};
use crate::operations::Bench;
use crate::study::report::Report;
use crate::study::table::Table;

pub(in crate::study) fn run(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
    let mut tables = vec![table(report, "unions", || unions(bench))?];
    tables.push(table(report, "block sorts", || block_sorts(bench))?);
    tables.extend(table2::run(bench, report)?);
    tables.extend(beyond_cache::run(bench, report)?);
    tables.into_iter().try_for_each(|table| report.table(table))
}

/// A table that the report has as a case, or that is made now.
fn table(
    report: &mut Report<'_>,
    case: &str,
    make: impl FnOnce() -> Result<Table, Box<dyn Error>>,
) -> Result<Table, Box<dyn Error>> {
    if let Some(table) = report.case(case)? {
        return Ok(table);
    }
    let table = make()?;
    report.record(case, &table)?;
    Ok(table)
}
