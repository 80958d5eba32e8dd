//! Iterative and direct solvers of sparse linear systems, built on [`evenpath`]. The work of iterative methods stays on the device.
//!
//! ```
//! use evenpath::prelude::*;
//! use evenpath_solvers::{Cg, CsrOperator, Jacobi, SolverOptions};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let device = Device::best()?;
//!     let a = device.upload(&Csr::from_triplets(2, 2, [(0, 0, 4.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 3.0)])?)?;
//!     let b = device.upload(&[1.0, 2.0])?;
//!     let mut x = device.zeros(2)?; // the initial guess
//!     let (operator, preconditioner) = (CsrOperator::new(&a)?, Jacobi::new(&a)?);
//!     let mut solver = Cg::new(&operator, &preconditioner, SolverOptions::default())?;
//!     let report = solver.solve(&b, &mut x)?;
//!     assert!(report.is_converged(), "{report}");
//!     Ok(())
//! }
//! ```

mod amg;
mod chebyshev;
mod columns;
mod direct;
mod driver;
mod error;
mod gauss_seidel;
mod hash;
mod incomplete;
mod krylov;
mod multicolor;
mod number;
mod operator;
mod options;
mod plot;
mod polynomial;
mod preconditioner;
#[cfg(feature = "distributed")]
mod ranks;
mod real_csr;
mod report;
mod scalars;
mod single_precision;
mod vectors;
mod work;

#[cfg(feature = "distributed")]
pub use amg::DistributedSmoothedAggregation;
pub use amg::{
    AmgCycle, AmgInfo, AmgLevel, AmgLevelInfo, AmgOptions, AmgSetUpMs, AmgSmoother, SmoothedAggregation,
};
pub use chebyshev::Chebyshev;
pub use direct::{DirectBackend, DirectInfo, DirectOptions, DirectSolver, DirectValue, Factorization};
pub use error::{Error, Result};
pub use gauss_seidel::SymmetricGaussSeidel;
pub use incomplete::{IncompleteCholesky, IncompleteLu};
pub use krylov::{
    BiCgStab, Cg, EigenReport, Fgmres, Gmres, Lobpcg, Lsqr, Method, Minres, MultiCg, PipelinedCg, Solver,
};
pub use multicolor::MulticolorGaussSeidel;
pub use operator::{CsrOperator, LinearOperator};
pub use options::SolverOptions;
pub use preconditioner::{Identity, Jacobi, Preconditioner};
#[cfg(feature = "distributed")]
pub use ranks::DistributedOperator;
pub use real_csr::RealCsr;
pub use report::{Breakdown, Outcome, Report, Times};
pub use single_precision::SinglePrecision;

/// The programs of the guide's page, which compile and run as tests of documentation.
#[cfg(doctest)]
#[doc = include_str!("../../docs/guide/solving.md")]
mod guide {}
