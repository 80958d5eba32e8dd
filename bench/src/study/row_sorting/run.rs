//! All tables of the study.

use std::error::Error;

use super::{stand_ins, synthetic};
use crate::operations::Bench;
use crate::study::report::Report;

pub(in crate::study) fn run(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
    stand_ins::run(bench, report)?;
    synthetic::run(bench, report)
}
