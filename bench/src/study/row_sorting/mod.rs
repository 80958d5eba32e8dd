//! Sorting rows by length: stand-ins for real matrices, and synthetic ones.

mod run;
mod stand_ins;
mod synthetic;
mod tables;

pub(super) use run::run;
