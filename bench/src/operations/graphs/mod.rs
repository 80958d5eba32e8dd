//! Algorithms on undirected graphs: measurements and checks.

mod algorithm;
mod check;
mod measure;

pub(crate) use algorithm::Algorithm;
pub(crate) use measure::{Graph, measure};
