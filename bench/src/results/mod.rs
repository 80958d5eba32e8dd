//! Results: one line of JSON per measurement, in the same form for every operation, on stdout and in files.
//!
//! A file has a [`Setting`] and the [`Row`]s measured in it, possibly followed by the setting and rows of a resumed run.
//! If several rows have the same [`Key`], the last counts.

mod comparison;
mod contender;
mod file;
mod judgement;
mod op;
mod ratios;
mod row;
mod setting;
mod size;

pub(crate) use comparison::Comparison;
pub(crate) use contender::{AUTO, Contender, MAY_COPY, OWN_NAME};
pub(crate) use file::{
    AppendFile, Results, ResultsError, ResultsFile, SettingLine, check_setting, failed, to_line, whole_lines,
};
pub(crate) use judgement::judgements;
pub(crate) use op::Op;
pub(crate) use ratios::{OTHERS, Ratio, SUMS};
pub(crate) use row::{Figures, Key, Outcome, Row, Shape};
pub(crate) use setting::{Setting, VERSION};
pub(crate) use size::Size;
