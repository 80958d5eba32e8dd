//! Krylov methods.

mod basis;
mod bicgstab;
mod cg;
mod gmres;
mod hessenberg;
mod lsqr;
mod method;
mod minres;
mod pipelined_cg;

pub use bicgstab::BiCgStab;
pub use cg::Cg;
pub use gmres::{Fgmres, Gmres};
pub use lsqr::Lsqr;
pub use method::{Method, Solver};
pub use minres::Minres;
pub use pipelined_cg::PipelinedCg;
