//! Tests of the reader and the writer.

mod files;
mod helpers;
mod reading;
mod round_trips;
mod writing;
