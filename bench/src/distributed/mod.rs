//! Products and steps of conjugate gradients over ranks of this machine, measured, checked, and beside what a model predicts.

mod constants;
mod measure;
mod row;

pub(crate) use constants::measure_constants;
pub(crate) use measure::{Format, Measured, Settings, measure};
pub(crate) use row::{Op, Row};
