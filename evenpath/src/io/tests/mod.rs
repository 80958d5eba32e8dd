//! Tests of the reader and the writer.

mod dense;
mod files;
mod graphs;
mod helpers;
mod reading;
mod round_trips;
mod writing;
