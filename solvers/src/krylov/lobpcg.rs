//! Smallest eigenvalues.

use std::fmt;
use std::time::{Duration, Instant};

use evenpath::{DeviceDense, DeviceVec, Value};
use nalgebra::DMatrix;

use super::basis::{project, subtract};
use super::rayleigh_ritz::{NoRitz, Ritz, rayleigh_ritz};
use crate::columns::{aligned_columns, check_layout, column, column_mut};
use crate::error::{Error, Result};
use crate::hash::hashed;
use crate::scalars::{Scalars, epsilon};
use crate::vectors::{axpby, divide};
use crate::work::Work;
use crate::{Breakdown, LinearOperator, Outcome, Preconditioner, SolverOptions};

/// The smallest eigenvalues of a symmetric matrix and their vectors, by the locally optimal block preconditioned conjugate gradient
/// method. M is symmetric positive definite.
///
/// A pair (λ, x) counts as found when ‖Ax − λx‖₂ ≤ max(`relative`·‖A‖₂, `absolute`), with an estimate of ‖A‖₂ from below, by the
/// products with A of the vectors that are returned. Vectors that are found stay in the basis and are not improved (soft locking). A
/// step has a product for each of the others, and waits for the device a few times. The memory is that of thirteen vectors for each
/// eigenvalue. Residuals become about 1e-10·‖A‖₂ in `f64` and 1e-4·‖A‖₂ in `f32`, and not much less.
///
/// ```
/// use evenpath::prelude::*;
/// use evenpath_solvers::{CsrOperator, Identity, Lobpcg, SolverOptions};
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let device = Device::best()?;
///     let a = device.upload(&Csr::from_triplets(3, 3, [(0, 0, 3.0), (1, 1, 1.0), (2, 2, 2.0)])?)?;
///     let operator = CsrOperator::new(&a)?;
///     let mut x = device.zeros_dense(3, 2, Layout::ColumnMajor)?; // two vectors, chosen by the solver
///     let report = Lobpcg::new(&operator, &Identity, 2, SolverOptions::default())?.solve(&mut x)?;
///     assert!(report.is_converged(), "{report}");
///     assert!((report.eigenvalues[0] - 1.0).abs() < 1e-6 && (report.eigenvalues[1] - 2.0).abs() < 1e-6);
///     Ok(())
/// }
/// ```
///
/// Source: Knyazev, SIAM J. Sci. Comput. 23, 2001.
pub struct Lobpcg<'a, V: Value> {
    work: Work<'a, V>,
    options: SolverOptions,
    count: usize,
    /// The basis: approximations X, preconditioned residuals W, and directions P.
    basis: DeviceDense<V>,
    /// The products of A with the basis.
    products: DeviceDense<V>,
    /// Memory of the next basis, and of its products.
    next: [DeviceDense<V>; 2],
    residuals: DeviceDense<V>,
    small: Small<V>,
}

/// Small matrices and vectors on the device.
struct Small<V: Value> {
    /// Gram matrices of the basis and of its products.
    gram: DeviceVec<V>,
    coefficients: DeviceVec<V>,
    scalars: Scalars<V>,
}

/// Eigenvalues, and how they were found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EigenReport {
    /// How the solve ended.
    pub outcome: Outcome,
    /// Number of steps.
    pub steps: usize,
    /// The eigenvalues, the smallest first.
    pub eigenvalues: Vec<f64>,
    /// ‖Ax − λx‖₂ / ‖A‖₂ of each.
    pub residuals: Vec<f64>,
    /// The largest of these before the first step and after each.
    pub history: Vec<f64>,
    /// Time of the solve.
    pub time: Duration,
}

impl EigenReport {
    /// Returns whether all residuals are within the tolerance.
    pub fn is_converged(&self) -> bool {
        self.outcome == Outcome::Converged
    }

    /// Draws the history as text, like [`Report::plot`](crate::Report::plot).
    pub fn plot(&self, width: usize, height: usize) -> String {
        crate::plot::plot(&self.history, width, height)
    }
}

impl fmt::Display for EigenReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { outcome, steps, residuals, time, .. } = self;
        let plural = if *steps == 1 { "step" } else { "steps" };
        let largest = residuals.iter().copied().fold(0.0, f64::max);
        let milliseconds = time.as_secs_f64() * 1e3;
        write!(f, "LOBPCG: {outcome} after {steps} {plural}, residual {largest:.2e}, {milliseconds:.2} ms")
    }
}

/// The state between steps.
struct State {
    ritz: Ritz,
    /// Number of vectors of the basis that the approximations come from.
    vectors: usize,
    /// Norms of the residuals.
    norms: Vec<f64>,
    /// The largest absolute value of an approximation so far.
    norm_a: f64,
    history: Vec<f64>,
    best: (f64, usize),
}

impl<'a, V: Value> Lobpcg<'a, V> {
    /// Allocates memory for `count` eigenvalues.
    ///
    /// # Errors
    ///
    /// If the operator is not square, there are more eigenvalues than rows, an option is out of range, or there is too little memory.
    pub fn new(
        operator: &'a dyn LinearOperator<V>,
        preconditioner: &'a dyn Preconditioner<V>,
        count: usize,
        options: SolverOptions,
    ) -> Result<Self> {
        options.check()?;
        let work = Work::new(operator, preconditioner)?;
        if count > work.global_len()? {
            let needed = "at most the number of rows";
            return Err(Error::Option {
                option: "the number of eigenvalues",
                value: count.to_string(),
                needed,
            });
        }
        let most = 3 * count;
        let zeros = |cols| aligned_columns(work.device(), work.len(), cols);
        let small = Small {
            gram: work.device().zeros(2 * most * most)?,
            coefficients: work.device().zeros(most)?,
            scalars: Scalars::new(work.device(), most.max(1))?,
        };
        let (basis, products, next) = (zeros(most)?, zeros(most)?, [zeros(most)?, zeros(most)?]);
        Ok(Self { options, count, basis, products, next, residuals: zeros(count)?, small, work })
    }

    /// Finds eigenvectors from the guesses `x`, stored by columns, and replaces them. A column of zeros is a guess of the solver's.
    ///
    /// # Errors
    ///
    /// If `x` has another shape or layout, or is on another device, or the device failed. That eigenvalues were not found is no error:
    /// see [`EigenReport::outcome`].
    pub fn solve(&mut self, x: &mut DeviceDense<V>) -> Result<EigenReport> {
        let start = Instant::now();
        let needed = self.residuals.shape();
        if x.shape() != needed {
            return Err(Error::Shape { operand: "X", found: x.shape(), needed });
        }
        check_layout(x)?;
        if self.count == 0 {
            return Ok(nothing(Outcome::Converged, 0, start.elapsed()));
        }
        self.guess(x)?;
        let (state, outcome) = match self.ritz(self.count) {
            Err(error) => return Err(error),
            Ok(Err(NoRitz::NotANumber)) => (None, Outcome::NotANumber),
            Ok(Err(NoRitz::Dependent)) => (None, Outcome::Breakdown(Breakdown::DependentVectors)),
            Ok(Ok(ritz)) => {
                let (state, outcome) = self.iterate(ritz)?;
                (Some(state), outcome)
            }
        };
        if state.is_some() {
            for at in 0..self.count {
                column_mut(x, at)?.copy_from(&*column(&self.basis, at)?)?;
            }
        }
        self.work.device().synchronize()?;
        Ok(report(state, self.count, outcome, start.elapsed()))
    }

    /// Copies guesses to the basis, and computes their products.
    fn guess(&mut self, x: &DeviceDense<V>) -> Result<()> {
        let mut batch = self.small.scalars.batch();
        for at in 0..self.count {
            batch.norm2(&*column(x, at)?)?;
        }
        for (at, norm) in batch.read_all(self.work.operator)?.into_iter().enumerate() {
            let mut own = column_mut(&mut self.basis, at)?;
            if norm == 0.0 {
                let len = own.len();
                own.copy_from_slice(&hashed::<V>(at as u64, len))?;
            } else {
                own.copy_from(&*column(x, at)?)?;
                divide(&mut own, norm)?;
            }
            self.work.apply(&own, &mut *column_mut(&mut self.products, at)?)?;
        }
        Ok(())
    }

    /// The approximations from the first `vectors` of the basis.
    fn ritz(&mut self, vectors: usize) -> Result<Result<Ritz, NoRitz>> {
        let Self { basis, products, small: Small { gram, .. }, work, .. } = self;
        let half = vectors * vectors;
        for at in 0..vectors {
            let (start, end) = (at * vectors, (at + 1) * vectors);
            basis.dots_into(&*column(basis, at)?, &mut *gram.slice_mut(start..end)?)?;
            basis.dots_into(&*column(products, at)?, &mut *gram.slice_mut(half + start..half + end)?)?;
        }
        let mut sums: Vec<f64> =
            gram.slice(..2 * half)?.download()?.iter().map(|value| value.to_f64()).collect();
        work.operator.sum_over_ranks(&mut sums)?;
        let matrix = |elements| DMatrix::from_column_slice(vectors, vectors, elements);
        let (gram, products) = (matrix(&sums[..half]), matrix(&sums[half..]));
        Ok(rayleigh_ritz(&gram, &products, self.count, epsilon::<V>().sqrt()))
    }

    /// Does steps until the eigenvalues are found, or cannot be.
    fn iterate(&mut self, ritz: Ritz) -> Result<(State, Outcome)> {
        let norm_a = ritz.largest;
        let (vectors, best) = (self.count, (f64::INFINITY, 0));
        let mut state = State { ritz, vectors, norms: Vec::new(), norm_a, history: Vec::new(), best };
        loop {
            self.combine_approximations(&state)?;
            state.norms = self.find_residuals(&state.ritz.values)?;
            let mut active = self.unsolved(&state);
            if active.is_empty() {
                // Products are combined in each step, and drift.
                for at in 0..self.count {
                    let [basis, products] = &mut self.next;
                    self.work.apply(&*column(basis, at)?, &mut *column_mut(products, at)?)?;
                }
                state.norms = self.find_residuals(&state.ritz.values)?;
                active = self.unsolved(&state);
            }
            let outcome = self.ended(&mut state, active.is_empty());
            let extended = match outcome {
                None => self.extend(&state, &active)?,
                Some(_) => 0,
            };
            let [basis, products] = &mut self.next;
            std::mem::swap(&mut self.basis, basis);
            std::mem::swap(&mut self.products, products);
            if let Some(outcome) = outcome {
                return Ok((state, outcome));
            }
            match self.ritz(extended)? {
                Ok(ritz) => {
                    state.norm_a = state.norm_a.max(ritz.largest);
                    (state.ritz, state.vectors) = (ritz, extended);
                }
                Err(NoRitz::NotANumber) => return Ok((state, Outcome::NotANumber)),
                Err(NoRitz::Dependent) => {
                    return Ok((state, Outcome::Breakdown(Breakdown::DependentVectors)));
                }
            }
        }
    }

    fn limit(&self, state: &State) -> f64 {
        self.options.limit(state.norm_a)
    }

    /// The indices of pairs whose residual is not within the limit.
    fn unsolved(&self, state: &State) -> Vec<usize> {
        let limit = self.limit(state);
        let is_unsolved = |norm: f64| norm.is_nan() || norm > limit;
        (0..self.count).filter(|&at| is_unsolved(state.norms[at])).collect()
    }

    /// Records the residuals. Returns the outcome, if the steps end here.
    fn ended(&self, state: &mut State, is_solved: bool) -> Option<Outcome> {
        let largest = state.norms.iter().copied().fold(0.0, f64::max);
        let step = state.history.len();
        state.history.push(if state.norm_a > 0.0 { largest / state.norm_a } else { largest });
        let total: f64 = state.norms.iter().sum();
        if total < 0.999 * state.best.0 {
            state.best = (total, step);
        }
        if total.is_nan() || total.is_infinite() {
            Some(Outcome::NotANumber)
        } else if is_solved {
            Some(Outcome::Converged)
        } else if step >= state.best.1 + self.options.stagnation_steps {
            Some(Outcome::Stagnation)
        } else if step >= self.options.max_steps {
            Some(Outcome::MaxSteps)
        } else {
            None
        }
    }

    /// Writes X and AX to the next basis.
    fn combine_approximations(&mut self, state: &State) -> Result<()> {
        for at in 0..self.count {
            let coefficients: Vec<f64> = state.ritz.vectors.column(at).iter().copied().collect();
            self.combine(&coefficients, at)?;
        }
        Ok(())
    }

    /// Writes a combination of the basis, and of its products, to a column of the next ones.
    fn combine(&mut self, coefficients: &[f64], to: usize) -> Result<()> {
        let values: Vec<V> = coefficients.iter().map(|&coefficient| V::from_f64(coefficient)).collect();
        let mut on_device = self.small.coefficients.slice_mut(..values.len())?;
        on_device.copy_from_slice(&values)?;
        for (from, to_matrix) in [&self.basis, &self.products].into_iter().zip(&mut self.next) {
            let mut sum = column_mut(to_matrix, to)?;
            sum.set_zero()?;
            from.add_columns(V::ONE, &on_device, &mut sum)?;
        }
        Ok(())
    }

    /// R = AX − XΘ of the next basis, and the norms.
    fn find_residuals(&mut self, values: &[f64]) -> Result<Vec<f64>> {
        let [basis, products] = &self.next;
        let mut batch = self.small.scalars.batch();
        for (at, &value) in values.iter().enumerate() {
            let mut r = column_mut(&mut self.residuals, at)?;
            r.copy_from(&*column(products, at)?)?;
            axpby(-value, &*column(basis, at)?, 1.0, &mut r)?;
            batch.norm2(&r)?;
        }
        batch.read_all(self.work.operator)
    }

    /// Adds W and P of the `active` pairs to the next basis, and their products. Returns its number of vectors.
    fn extend(&mut self, state: &State, active: &[usize]) -> Result<usize> {
        let (count, added) = (self.count, active.len());
        // The first step has none.
        let has_directions = state.vectors > count;
        for (slot, &at) in active.iter().enumerate() {
            self.precondition(at, count + slot, state.norms[at])?;
            if has_directions {
                let mut coefficients: Vec<f64> = state.ritz.vectors.column(at).iter().copied().collect();
                coefficients[..count].fill(0.0);
                self.combine(&coefficients, count + added + slot)?;
            }
        }
        let end = count + if has_directions { 2 * added } else { added };
        let [basis, products] = &mut self.next;
        let mut batch = self.small.scalars.batch();
        for at in count..end {
            batch.norm2(&*column(basis, at)?)?;
        }
        let norms = batch.read_all(self.work.operator)?;
        for (at, norm) in (count..end).zip(norms) {
            let mut vector = column_mut(basis, at)?;
            if norm > 0.0 {
                divide(&mut vector, norm)?;
            }
            let mut product = column_mut(products, at)?;
            if at < count + added {
                self.work.apply(&vector, &mut product)?;
            } else if norm > 0.0 {
                divide(&mut product, norm)?;
            }
        }
        Ok(end)
    }

    /// Writes the residual of a pair, preconditioned and orthogonal to the approximations, to a column of the next basis.
    fn precondition(&mut self, at: usize, to: usize, norm: f64) -> Result<()> {
        let mut r = column_mut(&mut self.residuals, at)?;
        divide(&mut r, norm)?;
        let [basis, products] = &mut self.next;
        // The column of the products is free until the product is computed.
        let mut w = column_mut(products, to)?;
        self.work.precondition(&r, &mut w)?;
        let mut coefficients = self.small.coefficients.slice_mut(..self.count)?;
        project(&self.work, basis, &w, &mut coefficients)?;
        subtract(basis, &coefficients, &mut w)?;
        Ok(column_mut(basis, to)?.copy_from(&w)?)
    }
}

/// The report of a solve without approximations.
fn nothing(outcome: Outcome, count: usize, time: Duration) -> EigenReport {
    let (none, history) = (vec![f64::NAN; count], vec![f64::NAN]);
    EigenReport { outcome, steps: 0, eigenvalues: none.clone(), residuals: none, history, time }
}

fn report(state: Option<State>, count: usize, outcome: Outcome, time: Duration) -> EigenReport {
    let Some(state) = state else {
        return nothing(outcome, count, time);
    };
    let scale = if state.norm_a > 0.0 { state.norm_a } else { 1.0 };
    EigenReport {
        outcome,
        steps: state.history.len() - 1,
        eigenvalues: state.ritz.values,
        residuals: state.norms.iter().map(|norm| norm / scale).collect(),
        history: state.history,
        time,
    }
}
