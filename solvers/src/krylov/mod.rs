//! Krylov methods.

mod basis;
mod bicgstab;
mod cg;
mod gmres;
mod hessenberg;
mod method;
mod minres;

pub use bicgstab::BiCgStab;
pub use cg::Cg;
pub use gmres::{Fgmres, Gmres};
pub use method::{Method, Solver};
pub use minres::Minres;
