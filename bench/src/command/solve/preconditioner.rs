//! Preconditioners by name, with what they tell about themselves.

use evenpath::{DeviceCsr, Value};
use evenpath_solvers::{
    AmgInfo, AmgOptions, Chebyshev, Identity, IncompleteCholesky, IncompleteLu, Jacobi,
    MulticolorGaussSeidel, Preconditioner, Result, SinglePrecision, SmoothedAggregation,
    SymmetricGaussSeidel,
};

use super::system::System;

/// Degree of the Chebyshev polynomial.
const DEGREE: usize = 4;

/// The name of a preconditioner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Name {
    /// No preconditioner.
    None,
    /// Division by the diagonal.
    Jacobi,
    /// Symmetric Gauss–Seidel.
    GaussSeidel,
    /// Symmetric Gauss–Seidel by colors.
    MulticolorGaussSeidel,
    /// Incomplete LU factorization without fill.
    Ilu,
    /// Incomplete Cholesky factorization without fill.
    Ic,
    /// A Chebyshev polynomial of degree 4, over Jacobi.
    Chebyshev,
    /// Smoothed aggregation.
    Amg,
    /// Smoothed aggregation in f32.
    AmgF32,
}

impl Name {
    /// The name on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Jacobi => "jacobi",
            Self::GaussSeidel => "gauss-seidel",
            Self::MulticolorGaussSeidel => "multicolor-gauss-seidel",
            Self::Ilu => "ilu",
            Self::Ic => "ic",
            Self::Chebyshev => "chebyshev",
            Self::Amg => "amg",
            Self::AmgF32 => "amg-f32",
        }
    }

    /// Sets the preconditioner up. `diagonal` is empty, and keeps what the preconditioner borrows.
    ///
    /// # Errors
    ///
    /// Those of the preconditioner.
    pub(super) fn set_up<'s, V: SolverValue>(
        self,
        system: &'s System<V>,
        diagonal: &'s mut Option<Jacobi<V>>,
        amg: AmgOptions,
    ) -> Result<Box<dyn Ready<V> + 's>> {
        let a = &system.a;
        Ok(match self {
            Self::None => Box::new(Identity),
            Self::Jacobi => Box::new(Jacobi::new(a)?),
            Self::GaussSeidel => Box::new(SymmetricGaussSeidel::new(a)?),
            Self::MulticolorGaussSeidel => Box::new(MulticolorGaussSeidel::new(a)?),
            Self::Ilu => Box::new(IncompleteLu::new(a)?),
            Self::Ic => Box::new(IncompleteCholesky::new(a)?),
            Self::Chebyshev => {
                let jacobi = &*diagonal.insert(Jacobi::new(a)?);
                Box::new(Chebyshev::new(&system.operator, jacobi, DEGREE)?)
            }
            Self::Amg if system.near_null.is_empty() => Box::new(SmoothedAggregation::new(a, amg)?),
            Self::Amg => Box::new(SmoothedAggregation::with_near_null(a, &system.near_null, amg)?),
            Self::AmgF32 => V::amg_in_single(a, amg)?,
        })
    }
}

/// A preconditioner that was set up.
pub(super) trait Ready<V: Value>: Preconditioner<V> {
    /// Takes the values of a matrix of the same pattern; `None` if it cannot.
    fn update(&mut self, a: &DeviceCsr<V>) -> Option<Result<()>> {
        let _ = a;
        None
    }

    /// The levels of multigrid.
    fn levels(&self) -> Result<Option<AmgInfo>> {
        Ok(None)
    }
}

impl<V: Value> Ready<V> for Identity {}
impl<V: Value> Ready<V> for Jacobi<V> {}
impl<V: Value> Ready<V> for Chebyshev<'_, V> {}

impl<V: Value> Ready<V> for SymmetricGaussSeidel<V> {
    fn update(&mut self, _: &DeviceCsr<V>) -> Option<Result<()>> {
        Some(self.update()) // of the matrix that it keeps
    }
}

impl<V: Value> Ready<V> for MulticolorGaussSeidel<V> {
    fn update(&mut self, _: &DeviceCsr<V>) -> Option<Result<()>> {
        Some(self.update()) // of the matrix that it keeps
    }
}

impl<V: Value> Ready<V> for IncompleteLu<V> {
    fn update(&mut self, a: &DeviceCsr<V>) -> Option<Result<()>> {
        Some(self.update(a))
    }
}

impl<V: Value> Ready<V> for IncompleteCholesky<V> {
    fn update(&mut self, a: &DeviceCsr<V>) -> Option<Result<()>> {
        Some(self.update(a))
    }
}

impl<V: Value> Ready<V> for SmoothedAggregation<V> {
    fn update(&mut self, a: &DeviceCsr<V>) -> Option<Result<()>> {
        Some(self.update(a))
    }

    fn levels(&self) -> Result<Option<AmgInfo>> {
        self.info().map(Some)
    }
}

impl Ready<f64> for SinglePrecision<SmoothedAggregation<f32>> {
    fn update(&mut self, a: &DeviceCsr<f64>) -> Option<Result<()>> {
        Some(a.narrow().map_err(Into::into).and_then(|single| self.get_mut().update(&single)))
    }

    fn levels(&self) -> Result<Option<AmgInfo>> {
        self.get().info().map(Some)
    }
}

/// The types of values that systems can have.
pub(super) trait SolverValue: Value {
    /// Sets up multigrid in single precision.
    ///
    /// # Errors
    ///
    /// Those of [`SmoothedAggregation::new`].
    fn amg_in_single(a: &DeviceCsr<Self>, options: AmgOptions) -> Result<Box<dyn Ready<Self>>>;
}

impl SolverValue for f32 {
    fn amg_in_single(a: &DeviceCsr<f32>, options: AmgOptions) -> Result<Box<dyn Ready<Self>>> {
        Ok(Box::new(SmoothedAggregation::new(a, options)?))
    }
}

impl SolverValue for f64 {
    fn amg_in_single(a: &DeviceCsr<f64>, options: AmgOptions) -> Result<Box<dyn Ready<Self>>> {
        let multigrid = SmoothedAggregation::new(&a.narrow()?, options)?;
        Ok(Box::new(SinglePrecision::new(a.device(), a.nrows(), multigrid)?))
    }
}
