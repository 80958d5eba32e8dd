//! Sorting rows by length: stand-ins for real matrices, and synthetic ones.

mod features;
mod options;
mod run;
mod stand_ins;
mod synthetic;
mod synthetic_tables;
mod tables;
mod times;

pub(super) use run::run;
