//! NVIDIA's cuSPARSE, through its generic functions, in one version or several side by side.

mod blocks;
mod bsrmv;
mod call;
mod dense;
mod factorization;
mod formats;
mod functions;
mod result;
mod sddmm;
mod spadd;
mod spgeam;
mod spgemm;
mod spmm;
mod spmv;
mod spmv_op;
mod spmv_problem;
mod spsv;
mod transpose;
mod vector;
mod version;

pub(crate) use spmv_problem::SpmvProblem;
pub(super) use version::Cusparse;
