//! Conjugate gradients for several right-hand sides.

use std::time::Instant;

use evenpath::spmm::{SpmmOptions, SpmmPlan};
use evenpath::{DeviceDense, DeviceSlice, Layout, Offset, Value};

use crate::columns::{aligned_columns, check_layout, column, column_mut};
use crate::driver::Progress;
use crate::error::{Error, Result, check_square};
use crate::preconditioner::check_linear;
use crate::scalars::Scalars;
use crate::vectors::{axpby, divide};
use crate::{Breakdown, CsrOperator, LinearOperator, Outcome, Preconditioner, Report, SolverOptions, Times};

/// Preconditioned conjugate gradients for several right-hand sides, AX = B, with one product of A and a dense matrix in each step.
/// A and M are symmetric positive definite.
///
/// Every column has its own step lengths, so that it takes the steps that [`Cg`](crate::Cg) takes, but for rounding. A column that is
/// solved no longer changes. A step waits for the device twice, whatever the number of columns.
///
/// ```
/// use evenpath::prelude::*;
/// use evenpath_solvers::{CsrOperator, Jacobi, MultiCg, SolverOptions};
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let device = Device::best()?;
///     let a = device.upload(&Csr::from_triplets(2, 2, [(0, 0, 4.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 3.0)])?)?;
///     let (operator, preconditioner) = (CsrOperator::new(&a)?, Jacobi::new(&a)?);
///     let b = DeviceDense::try_new(device.upload(&[5.0, 4.0, 4.0, 1.0])?, 2, 2, Layout::ColumnMajor)?;
///     let mut x = device.zeros_dense(2, 2, Layout::ColumnMajor)?;
///     let mut solver = MultiCg::new(&operator, &preconditioner, 2, SolverOptions::default())?;
///     for report in solver.solve(&b, &mut x)? {
///         assert!(report.is_converged(), "{report}");
///     }
///     Ok(())
/// }
/// ```
pub struct MultiCg<'a, V: Value, O: Offset = u32> {
    operator: &'a CsrOperator<V, O>,
    preconditioner: &'a dyn Preconditioner<V>,
    plan: SpmmPlan<V, O>,
    options: SolverOptions,
    blocks: Blocks<V>,
}

/// Vectors of all columns.
struct Blocks<V: Value> {
    r: DeviceDense<V>,
    z: DeviceDense<V>,
    p: DeviceDense<V>,
    ap: DeviceDense<V>,
    scalars: Scalars<V>,
}

/// One right-hand side.
struct Column {
    at: usize,
    norm_b: f64,
    progress: Progress,
    outcome: Option<Outcome>,
    /// The norm of the residual at the start of the cycle, by which it is divided.
    scale: f64,
    rz: f64,
    /// The state in the cycle: still going on, or ended, maybe with a breakdown.
    is_active: bool,
    breakdown: Option<Breakdown>,
    steps_before: usize,
}

impl Column {
    fn end(&mut self, breakdown: Option<Breakdown>) {
        (self.is_active, self.breakdown) = (false, breakdown);
    }
}

impl<'a, V: Value, O: Offset> MultiCg<'a, V, O> {
    /// Analyzes the matrix for products with `columns` vectors at once, and allocates four times as many.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, an option is out of range, the preconditioner is not linear, or there is too little memory.
    pub fn new(
        operator: &'a CsrOperator<V, O>,
        preconditioner: &'a dyn Preconditioner<V>,
        columns: usize,
        options: SolverOptions,
    ) -> Result<Self> {
        options.check()?;
        check_square(operator.matrix().shape())?;
        check_linear(preconditioner, "CG of several columns")?;
        let rows = operator.nrows();
        let spmm = SpmmOptions::default().with_columns(columns).with_layout(Layout::ColumnMajor);
        let plan = operator.matrix().plan_spmm(spmm)?;
        let device = operator.device();
        let zeros = || aligned_columns(device, rows, columns);
        let blocks = Blocks {
            r: zeros()?,
            z: zeros()?,
            p: zeros()?,
            ap: zeros()?,
            scalars: Scalars::new(device, 2 * columns)?,
        };
        Ok(Self { operator, preconditioner, plan, options, blocks })
    }

    /// Solves AX = B from the guess `x`, as often as needed. B and X are stored by columns, one for each right-hand side. Returns
    /// a report for each column; their times are those of the solve as a whole.
    ///
    /// # Errors
    ///
    /// If B or X has another shape or layout, or is on another device, or the device failed. That a column was not solved is no error:
    /// see [`Report::outcome`].
    pub fn solve(&mut self, b: &DeviceDense<V>, x: &mut DeviceDense<V>) -> Result<Vec<Report>> {
        self.check("B", b)?;
        self.check("X", x)?;
        let start = Instant::now();
        if b.ncols() == 0 {
            return Ok(Vec::new());
        }
        let mut columns = self.begin(b, x)?;
        while columns.iter().any(|column| column.outcome.is_none()) {
            self.cycle(&mut columns, x)?;
            for (column, residual) in columns.iter_mut().zip(self.residuals(b, x)?) {
                if column.outcome.is_none() {
                    let concluded = column.progress.conclude(column.breakdown, column.steps_before, residual);
                    column.outcome = concluded.or_else(|| column.progress.ended());
                }
            }
        }
        self.operator.device().synchronize()?;
        let times = Times { total: start.elapsed(), ..Times::default() };
        let report = |column: Column| {
            let outcome = column.outcome.unwrap_or(Outcome::MaxSteps);
            column.progress.report("CG of several right-hand sides", outcome, column.norm_b, times)
        };
        Ok(columns.into_iter().map(report).collect())
    }

    fn check(&self, operand: &'static str, matrix: &DeviceDense<V>) -> Result<()> {
        let needed = self.blocks.r.shape();
        if matrix.shape() != needed {
            return Err(Error::Shape { operand, found: matrix.shape(), needed });
        }
        check_layout(matrix)
    }

    /// The columns before the first step.
    fn begin(&mut self, b: &DeviceDense<V>, x: &mut DeviceDense<V>) -> Result<Vec<Column>> {
        let mut batch = self.blocks.scalars.batch();
        for at in 0..b.ncols() {
            batch.norm2(&*column(b, at)?)?;
        }
        let norms = batch.read_all(self.operator)?;
        for (at, _) in norms.iter().enumerate().filter(|(_, norm)| **norm == 0.0) {
            column_mut(x, at)?.set_zero()?;
        }
        let residuals = self.residuals(b, x)?;
        let options = &self.options;
        let begin = |(at, (norm_b, residual)): (usize, (f64, f64))| {
            let progress = Progress::new(options.limit(norm_b), options, residual);
            let outcome = progress.ended();
            Column {
                at,
                norm_b,
                progress,
                outcome,
                scale: 1.0,
                rz: 0.0,
                is_active: false,
                breakdown: None,
                steps_before: 0,
            }
        };
        Ok(norms.into_iter().zip(residuals).enumerate().map(begin).collect())
    }

    /// R = B − AX, and the norms of its columns.
    fn residuals(&mut self, b: &DeviceDense<V>, x: &DeviceDense<V>) -> Result<Vec<f64>> {
        let Blocks { r, scalars, .. } = &mut self.blocks;
        self.plan.run(-V::ONE, x, V::ZERO, r)?;
        let mut batch = scalars.batch();
        for at in 0..b.ncols() {
            let mut r = column_mut(r, at)?;
            axpby(1.0, &*column(b, at)?, 1.0, &mut r)?;
            batch.norm2(&r)?;
        }
        batch.read_all(self.operator)
    }

    /// Does steps until each column that is not solved needs its true residual.
    fn cycle(&mut self, columns: &mut [Column], x: &mut DeviceDense<V>) -> Result<()> {
        let Blocks { r, z, p, scalars, .. } = &mut self.blocks;
        let mut batch = scalars.batch();
        for one in columns.iter_mut().filter(|one| one.outcome.is_none()) {
            let (mut r, mut z) = (column_mut(r, one.at)?, column_mut(z, one.at)?);
            one.scale = one.progress.residual();
            divide(&mut r, one.scale)?;
            self.preconditioner.apply(&r, &mut z)?;
            column_mut(p, one.at)?.copy_from(&z)?;
            batch.dot(&r, &z)?;
            (one.is_active, one.breakdown, one.steps_before) = (true, None, one.progress.steps());
        }
        let products = batch.read_all(self.operator)?;
        for (one, rz) in active(columns).zip(products) {
            one.rz = rz;
            if rz <= 0.0 {
                one.end(Some(Breakdown::IndefinitePreconditioner));
            }
        }
        while columns.iter().any(|one| one.is_active) {
            self.descend(columns, x)?;
            self.turn(columns)?;
        }
        Ok(())
    }

    /// Goes along the directions: x += αp, r −= αAp.
    fn descend(&mut self, columns: &mut [Column], x: &mut DeviceDense<V>) -> Result<()> {
        let Blocks { r, p, ap, scalars, .. } = &mut self.blocks;
        self.plan.run(V::ONE, p, V::ZERO, ap)?;
        let mut batch = scalars.batch();
        for one in active(columns) {
            batch.dot(&*column(p, one.at)?, &*column(ap, one.at)?)?;
        }
        let products = batch.read_all(self.operator)?;
        for (one, pap) in active(columns).zip(products) {
            if pap <= 0.0 {
                one.end(Some(Breakdown::IndefiniteMatrix));
                continue;
            }
            let alpha = one.rz / pap;
            axpby(one.scale * alpha, &*column(p, one.at)?, 1.0, &mut *column_mut(x, one.at)?)?;
            axpby(-alpha, &*column(ap, one.at)?, 1.0, &mut *column_mut(r, one.at)?)?;
        }
        Ok(())
    }

    /// Finds the next directions: p = M⁻¹r + βp.
    fn turn(&mut self, columns: &mut [Column]) -> Result<()> {
        let Blocks { r, z, p, scalars, .. } = &mut self.blocks;
        let mut batch = scalars.batch();
        for one in active(columns) {
            let (r, mut z) = (column(r, one.at)?, column_mut(z, one.at)?);
            self.preconditioner.apply(&r, &mut z)?;
            batch.norm2(&r)?;
            batch.dot(&r, &z)?;
        }
        let scalars = batch.read_all(self.operator)?;
        for (one, scalars) in active(columns).zip(scalars.chunks_exact(2)) {
            let (norm, rz) = (scalars[0], scalars[1]);
            if one.progress.push(one.scale * norm) {
                one.end(None);
            } else if rz <= 0.0 {
                one.end(Some(Breakdown::IndefinitePreconditioner));
            } else {
                let p: &mut DeviceSlice<V> = &mut column_mut(p, one.at)?;
                axpby(1.0, &*column(z, one.at)?, rz / one.rz, p)?;
                one.rz = rz;
            }
        }
        Ok(())
    }
}

fn active(columns: &mut [Column]) -> impl Iterator<Item = &mut Column> {
    columns.iter_mut().filter(|one| one.is_active)
}
