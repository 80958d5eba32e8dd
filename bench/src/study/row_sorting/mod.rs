//! Sorting rows by length: stand-ins for real matrices, and synthetic ones.

mod notes;
mod options;
mod run;
mod stand_ins;
mod synthetic;

pub(super) use run::run;
