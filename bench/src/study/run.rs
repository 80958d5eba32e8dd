//! Runs a study.

use std::error::Error;

use super::name::Study;
use super::report::Report;
use super::{csr_adaptive, hisparse, merge_path, merge_spmv, row_sorting};
use crate::operations::Bench;

/// Runs the experiments of the report's study, that on HiSparse with stand-ins of this fraction of the published sizes. Experiments that the device does not support give a note or a cell with the
/// reason.
///
/// # Errors
///
/// If a table or a case cannot be reported, or the device was lost.
pub(crate) fn run(bench: &Bench<'_>, scale: f64, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
    match report.study() {
        Study::MergePath => merge_path::run(bench, report),
        Study::CsrAdaptive => csr_adaptive::run(bench, report),
        Study::RowSorting => row_sorting::run(bench, report),
        Study::MergeSpmv => merge_spmv::run(bench, report),
        Study::Hisparse => hisparse::run(bench, scale, report),
    }
}
