//! Direct solvers.

use std::time::Instant;

use evenpath::spmv::{SpmvOptions, SpmvPlan};
use evenpath::{Csr, DeviceCsr, DeviceDense, DeviceSlice, Layout, Offset, vector};

use super::check::{Accuracy, check, residual};
use super::columns::Columns;
use super::engine::Engine;
use super::info::{DirectBackend, DirectInfo};
use super::options::{DirectOptions, Factorization};
use super::symmetry::first_difference;
use super::value::DirectValue;
use crate::Preconditioner;
use crate::error::{Error, Result, check_len, check_square};

/// A factorization of a square matrix A, which solves Ax = b for any number of right-hand sides.
///
/// On an NVIDIA GPU the library cuDSS factorizes and solves. It is opened at run time: the environment variable `EVENPATH_CUDSS` names
/// its file, or the system's loader finds it. On the CPU and the simulated GPU it is [faer](https://docs.rs/faer).
///
/// ```
/// use evenpath::{Csr, Device};
/// use evenpath_solvers::{DirectOptions, DirectSolver};
///
/// let device = Device::cpu();
/// let a = device.upload(&Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 0, 4.0), (1, 1, 1.0)])?)?;
/// let solver = DirectSolver::new(&a, DirectOptions::default())?;
/// let (b, mut x) = (device.upload(&[2.0, 9.0])?, device.zeros(2)?);
/// solver.solve(&b, &mut x)?;
/// assert_eq!(x.download()?, [2.0, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DirectSolver<V: DirectValue, O: Offset = u32> {
    options: DirectOptions,
    /// Canonical, with values of its own.
    matrix: DeviceCsr<V, O>,
    plan: SpmvPlan<V, O>,
    /// `None` if there are no rows.
    engine: Option<Engine<V>>,
    /// `None` after an update failed.
    factorized: Option<Factorized>,
    analysis_ms: f64,
}

/// Accuracy and times of a factorization.
#[derive(Debug, Clone, Copy, Default)]
struct Factorized {
    accuracy: Accuracy,
    factorization_ms: f64,
    check_ms: f64,
}

impl<V: DirectValue, O: Offset> DirectSolver<V, O> {
    /// Analyzes a square matrix and factorizes it. Then solves a test system, so that a factorization without a correct digit is an
    /// error. Entries with the same position are summed. Waits for the device.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, has values that are not finite, is singular to working precision, or is not symmetric or
    /// not positive definite, where the factorization needs that. [`Error::NoLibrary`] if the device is an NVIDIA GPU, there is no
    /// cuDSS, and `options` do not allow the [host](DirectOptions::with_host_fallback). If there is too little memory, or the device
    /// was lost.
    pub fn new(a: &DeviceCsr<V, O>, options: DirectOptions) -> Result<Self> {
        check_square(a.shape())?;
        check_finite(a)?;
        let (matrix, on_host) = canonical(a)?;
        let start = Instant::now();
        let engine = match a.nrows() {
            0 => None,
            _ => Some(Engine::analyze(&matrix, &on_host, &options)?),
        };
        let analysis_ms = milliseconds(start);
        let plan = matrix.plan_spmv(SpmvOptions::default())?;
        let mut solver = Self { options, matrix, plan, engine, factorized: None, analysis_ms };
        solver.factorize(Some(&on_host))?;
        Ok(solver)
    }

    /// Factorizes a matrix of the same pattern, without another analysis. Waits for the device.
    ///
    /// # Errors
    ///
    /// If the pattern differs or values are not finite: then the old factorization stays. Otherwise those of [`new`](Self::new):
    /// then there is none before another update.
    pub fn update(&mut self, a: &DeviceCsr<V, O>) -> Result<()> {
        if a.shape() != self.matrix.shape() {
            return Err(Error::OtherPattern);
        }
        check_finite(a)?;
        if shares_pattern(a, &self.matrix) {
            self.matrix.set_values_from(&a.values())?;
            return self.factorize(None);
        }
        let (_, on_host) = canonical(a)?;
        let is_same = on_host.nnz() == self.matrix.nnz()
            && on_host.row_offsets() == self.matrix.row_offsets().download()?
            && on_host.column_indices() == self.matrix.column_indices().download()?;
        if !is_same {
            return Err(Error::OtherPattern);
        }
        self.matrix.set_values(on_host.values())?;
        self.factorize(Some(&on_host))
    }

    /// Solves Ax = b. `b` and `x` have as many elements as A has rows; old contents of `x` are not read. The host waits for the
    /// solution unless cuDSS computes it.
    ///
    /// # Errors
    ///
    /// If a vector has the wrong length or is on another device, the last update failed, a graph is being captured, there is too
    /// little memory, or the device was lost.
    pub fn solve(&self, b: &DeviceSlice<V>, x: &mut DeviceSlice<V>) -> Result<()> {
        let engine = self.engine(b.len(), x.len())?;
        let Some(engine) = engine else { return Ok(()) };
        let columns = Columns::one(self.matrix.nrows());
        engine.solve((b, columns), (x, columns))?;
        self.refine(engine, b, x)
    }

    /// Solves AX = B for several right-hand sides, by columns. B and X have as many rows as A, the same number of columns, and are
    /// [column-major](Layout::ColumnMajor); old contents of X are not read.
    ///
    /// # Errors
    ///
    /// If the shapes or layouts do not fit, and those of [`solve`](Self::solve).
    pub fn solve_many(&self, b: &DeviceDense<V>, x: &mut DeviceDense<V>) -> Result<()> {
        let engine = self.engine(b.nrows(), x.nrows())?;
        if x.ncols() != b.ncols() {
            let (operand, found, needed) = ("each row of X", x.ncols(), b.ncols());
            return Err(Error::Length { operand, found, needed });
        }
        for (operand, layout) in [("B", b.layout()), ("X", x.layout())] {
            if layout != Layout::ColumnMajor {
                return Err(Error::RowMajor { operand });
            }
        }
        let Some(engine) = engine.filter(|_| b.ncols() > 0) else { return Ok(()) };
        let (rows, count) = b.shape();
        let of_b = Columns { rows, count, stride: b.leading_dimension() };
        let of_x = Columns { rows, count, stride: x.leading_dimension() };
        engine.solve((b.as_vec(), of_b), (x.as_mut_slice(), of_x))?;
        for column in 0..count {
            let b = b.as_vec().slice(of_b.range(column))?;
            self.refine(engine, &b, &mut x.as_mut_slice().slice_mut(of_x.range(column))?)?;
        }
        Ok(())
    }

    /// The matrix that was factorized, with entries of the same position summed.
    pub fn matrix(&self) -> &DeviceCsr<V, O> {
        &self.matrix
    }

    /// Returns the library, and the sizes, accuracy and times of the factorization.
    ///
    /// # Errors
    ///
    /// [`Error::NotFactorized`] if the last update failed.
    pub fn info(&self) -> Result<DirectInfo> {
        let Factorized { accuracy, factorization_ms, check_ms } =
            self.factorized.ok_or(Error::NotFactorized)?;
        Ok(DirectInfo {
            backend: self.engine.as_ref().map_or(DirectBackend::Faer, Engine::backend),
            factorization: self.options.factorization,
            factor_nonzeros: self.engine.as_ref().map_or(Some(0), Engine::nonzeros),
            residual: accuracy.residual,
            correction: accuracy.correction,
            analysis_ms: self.analysis_ms,
            factorization_ms,
            check_ms,
        })
    }

    /// Factorizes the matrix, and solves a test system. `on_host` is the same matrix, if it is there.
    fn factorize(&mut self, on_host: Option<&Csr<V, O>>) -> Result<()> {
        self.factorized = None;
        let Some(engine) = &mut self.engine else {
            self.factorized = Some(Factorized::default());
            return Ok(());
        };
        let start = Instant::now();
        let had_pivots = engine.has_pivots();
        engine.factorize(&self.matrix)?;
        let (factorization_ms, start) = (milliseconds(start), Instant::now());
        let mut accuracy = check(engine, &self.matrix, &self.plan);
        if had_pivots && matches!(accuracy, Err(Error::Singular { .. })) {
            engine.forget_pivots();
            engine.factorize(&self.matrix)?;
            accuracy = check(engine, &self.matrix, &self.plan);
        }
        let accuracy = accuracy.map_err(|error| match error {
            Error::Singular { .. } if self.options.factorization != Factorization::Lu => {
                let downloaded =
                    on_host.map_or_else(|| self.matrix.download().ok(), |on_host| Some(on_host.clone()));
                downloaded.as_ref().and_then(first_difference).unwrap_or(error)
            }
            other => other,
        })?;
        self.factorized = Some(Factorized { accuracy, factorization_ms, check_ms: milliseconds(start) });
        Ok(())
    }

    /// The engine, unless there are no rows, after a check of lengths.
    fn engine(&self, b: usize, x: usize) -> Result<Option<&Engine<V>>> {
        check_len("b", b, self.matrix.nrows())?;
        check_len("x", x, self.matrix.nrows())?;
        self.factorized.ok_or(Error::NotFactorized)?;
        Ok(self.engine.as_ref())
    }

    /// Does the steps of iterative refinement.
    fn refine(&self, engine: &Engine<V>, b: &DeviceSlice<V>, x: &mut DeviceSlice<V>) -> Result<()> {
        for _ in 0..self.options.refinement {
            let residual = residual(&self.plan, b, x)?;
            let (mut correction, columns) = (x.device().zeros(x.len())?, Columns::one(x.len()));
            engine.solve((&residual, columns), (&mut correction, columns))?;
            vector::axpby(V::ONE, &correction, V::ONE, x)?;
        }
        Ok(())
    }
}

/// Solves with the factorization, without refinement. It also preconditions systems of nearby matrices.
impl<V: DirectValue, O: Offset> Preconditioner<V> for DirectSolver<V, O> {
    fn apply(&self, r: &DeviceSlice<V>, z: &mut DeviceSlice<V>) -> Result<()> {
        let Some(engine) = self.engine(r.len(), z.len())? else { return Ok(()) };
        let columns = Columns::one(r.len());
        engine.solve((r, columns), (z, columns))
    }
}

/// The matrix with sorted rows and without duplicates, on its device with values of its own, and on the host.
fn canonical<V: DirectValue, O: Offset>(a: &DeviceCsr<V, O>) -> Result<(DeviceCsr<V, O>, Csr<V, O>)> {
    let mut on_host = a.download()?;
    if on_host.is_canonical() {
        return Ok((a.copy()?, on_host));
    }
    on_host.canonicalize();
    Ok((a.device().upload(&on_host)?, on_host))
}

/// Returns whether two matrices share the arrays of their pattern.
fn shares_pattern<V: DirectValue, O: Offset>(a: &DeviceCsr<V, O>, b: &DeviceCsr<V, O>) -> bool {
    let of = |a: &DeviceCsr<V, O>| (a.row_offsets().raw_address(), a.column_indices().raw_address());
    a.device().is_same(b.device()) && a.nnz() == b.nnz() && of(a) == of(b)
}

fn check_finite<V: DirectValue, O: Offset>(a: &DeviceCsr<V, O>) -> Result<()> {
    let norm = vector::norm2(&a.values())?;
    if norm.to_f64().is_finite() { Ok(()) } else { Err(Error::NotFinite { operand: "the matrix" }) }
}

fn milliseconds(start: Instant) -> f64 {
    1e3 * start.elapsed().as_secs_f64()
}
