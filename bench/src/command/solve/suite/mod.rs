//! Twenty symmetric positive definite problems, each solved by conjugate gradients with multigrid.

mod elements;
mod finite_elements;
mod graphs;
mod grids;
mod problem;
mod row;
mod run;

pub(super) use run::run;
