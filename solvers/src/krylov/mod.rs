//! Krylov methods.

mod basis;
mod bicgstab;
mod cg;
mod gmres;
mod hessenberg;
mod lobpcg;
mod lsqr;
mod method;
mod minres;
mod multi_cg;
mod pipelined_cg;
mod rayleigh_ritz;
mod solver;

pub use bicgstab::BiCgStab;
pub use cg::Cg;
pub use gmres::{Fgmres, Gmres};
pub use lobpcg::{EigenReport, Lobpcg};
pub use lsqr::Lsqr;
pub use method::{Method, Solver};
pub use minres::Minres;
pub use multi_cg::MultiCg;
pub use pipelined_cg::PipelinedCg;
