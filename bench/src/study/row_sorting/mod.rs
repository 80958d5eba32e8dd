//! Sorting rows by length: stand-ins for real matrices, and synthetic ones.

mod options;
mod runs;
mod stand_ins;
mod synthetic;

use std::error::Error;

use super::{Bench, Report, Study};

const STUDY: Study = Study::RowSorting;

/// About the kernels for ELL, in every table that has them without options.
const BLOCK_SIZE_NOTE: &str = "ELL has blocks of 256 threads; tables of their own have 32 to 512";

/// About the CPU.
const CPU_NOTE: &str = "the CPU is evenpath's CPU device on one thread, with CSR; sorting runs on the host";

pub(super) fn run(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
    stand_ins::run(bench, report)?;
    synthetic::run(bench, report)
}
