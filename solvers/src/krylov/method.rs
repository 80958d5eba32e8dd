//! Methods chosen at run time.

use std::fmt;
use std::str::FromStr;

use evenpath::{DeviceSlice, Scalar};

use super::{BiCgStab, Cg, Fgmres, Gmres, Lsqr, Minres, PipelinedCg};
use crate::error::{Error, Result};
use crate::{LinearOperator, Preconditioner, Report, SolverOptions};

/// A solver of Ax = b, whatever its method.
pub trait Solver<V: Scalar> {
    /// Solves Ax = b from the guess `x`, as often as needed. For an A of m rows and n columns, `b` has m elements and `x`
    /// has n.
    ///
    /// # Errors
    ///
    /// If a vector has another length or is on another device, or the device failed. That x was not found is no error:
    /// see [`Report::outcome`].
    fn solve(&mut self, b: &DeviceSlice<V>, x: &mut DeviceSlice<V>) -> Result<Report>;
}

macro_rules! methods {
    ($($(#[$doc:meta])+ $method:ident = $name:literal by $new:path,)+) => {
        /// A method for programs that choose at run time.
        ///
        /// ```
        /// use evenpath::prelude::*;
        /// use evenpath_solvers::{CsrOperator, Identity, Method, SolverOptions};
        ///
        /// fn main() -> Result<(), Box<dyn std::error::Error>> {
        ///     let device = Device::best()?;
        ///     let a = device.upload(&Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 0, 4.0)])?)?;
        ///     let (b, mut x) = (device.upload(&[2.0, 8.0])?, device.zeros(2)?);
        ///     let operator = CsrOperator::new(&a)?;
        ///     let method: Method = "gmres".parse()?;
        ///     let mut solver = method.solver(&operator, &Identity, SolverOptions::default())?;
        ///     let report = solver.solve(&b, &mut x)?;
        ///     assert!(report.is_converged(), "{report}");
        ///     Ok(())
        /// }
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Method {
            $($(#[$doc])+ $method,)+
        }

        impl Method {
            /// All methods.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$method),+];

            /// Name of the method, used by [`Display`](fmt::Display) and [`FromStr`].
            pub const fn name(self) -> &'static str {
                match self { $(Self::$method => $name),+ }
            }

            /// Returns a solver by this method. [`Lsqr`] does not use the preconditioner.
            ///
            /// # Errors
            ///
            /// If the operator is not square, except for [`Lsqr`], an option is out of range, or there is too little memory.
            pub fn solver<'a, V: Scalar>(
                self,
                operator: &'a dyn LinearOperator<V>,
                preconditioner: &'a dyn Preconditioner<V>,
                options: SolverOptions,
            ) -> Result<Box<dyn Solver<V> + 'a>> {
                Ok(match self { $(Self::$method => Box::new($new(operator, preconditioner, options)?)),+ })
            }
        }

        $(impl<V: Scalar> Solver<V> for $method<'_, V> {
            fn solve(&mut self, b: &DeviceSlice<V>, x: &mut DeviceSlice<V>) -> Result<Report> {
                Self::solve(self, b, x)
            }
        })+
    };
}
methods! {
    /// `cg`: [`Cg`], for symmetric positive definite matrices, or Hermitian ones.
    Cg = "cg" by Cg::new,
    /// `pipelined-cg`: [`PipelinedCg`], for the same.
    PipelinedCg = "pipelined-cg" by PipelinedCg::new,
    /// `minres`: [`Minres`], for symmetric or Hermitian matrices.
    Minres = "minres" by Minres::new,
    /// `bicgstab`: [`BiCgStab`].
    BiCgStab = "bicgstab" by BiCgStab::new,
    /// `gmres`: [`Gmres`].
    Gmres = "gmres" by Gmres::new,
    /// `fgmres`: [`Fgmres`], whose preconditioner may change.
    Fgmres = "fgmres" by Fgmres::new,
    /// `lsqr`: [`Lsqr`], for matrices of any shape, without the preconditioner.
    Lsqr = "lsqr" by lsqr,
}

fn lsqr<'a, V: Scalar>(
    operator: &'a dyn LinearOperator<V>,
    _preconditioner: &'a dyn Preconditioner<V>,
    options: SolverOptions,
) -> Result<Lsqr<'a, V>> {
    Lsqr::new(operator, options)
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Method {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name).ok_or_else(|| Error::UnknownMethod {
            name: name.into(),
            known: Self::ALL.map(Self::name).join(", "),
        })
    }
}
