//! Least squares.

use std::time::Instant;

use evenpath::{DeviceSlice, DeviceVec, Scalar};

use crate::error::{Result, check_len};
use crate::vectors::{axpby, divide};
use crate::work::Work;
use crate::{Identity, LinearOperator, Outcome, Report, SolverOptions};

/// LSQR, for real or complex A of any shape and rank: the x of the least ‖b − Ax‖₂, or a solution if there is one. The operator must have its
/// conjugate transpose, Aᴴ, which is Aᵀ for real matrices. There is no preconditioner.
///
/// It ends with [`Outcome::Converged`] if ‖b − Ax‖₂ is within the tolerance, and with [`Outcome::LeastSquares`] if
/// ‖Aᴴr‖₂ ≤ `relative`·‖A‖·‖r‖₂ for r = b − Ax, with an estimate of ‖A‖ in the Frobenius norm. Both are checked for the x
/// that is returned. [`Report::residual`] is always ‖b − Ax‖₂ / ‖b‖₂. A step has one product with A and one with Aᴴ, and waits
/// for the device twice.
///
/// Source: Paige and Saunders, ACM Trans. Math. Softw. 8, 1982.
pub struct Lsqr<'a, V: Scalar> {
    work: Work<'a, V>,
    options: SolverOptions,
    vectors: Vectors<V>,
}

struct Vectors<V: Scalar> {
    /// Of the rows.
    u: DeviceVec<V>,
    av: DeviceVec<V>,
    /// Of the columns.
    v: DeviceVec<V>,
    atu: DeviceVec<V>,
    w: DeviceVec<V>,
}

impl<'a, V: Scalar> Lsqr<'a, V> {
    /// Allocates the vectors of the method.
    ///
    /// # Errors
    ///
    /// If an option is out of range, or there is too little memory.
    pub fn new(operator: &'a dyn LinearOperator<V>, options: SolverOptions) -> Result<Self> {
        options.check()?;
        let device = operator.device();
        let (rows, cols) = (operator.nrows(), operator.ncols());
        let (u, av) = (device.zeros(rows)?, device.zeros(rows)?);
        let (v, atu, w) = (device.zeros(cols)?, device.zeros(cols)?, device.zeros(cols)?);
        Ok(Self {
            work: Work::rectangular(operator, &Identity),
            options,
            vectors: Vectors { u, av, v, atu, w },
        })
    }

    /// Makes ‖b − Ax‖₂ least from the guess `x`, as often as needed. For an A of m rows and n columns, `b` has m elements
    /// and `x` has n.
    ///
    /// # Errors
    ///
    /// If the operator has no transpose, a vector has another length or is on another device, or the device failed. That x
    /// was not found is no error: see [`Report::outcome`].
    pub fn solve(&mut self, b: &DeviceSlice<V>, x: &mut DeviceSlice<V>) -> Result<Report> {
        let Self { work, options, vectors } = self;
        check_len("b", b.len(), work.operator.nrows())?;
        check_len("x", x.len(), work.operator.ncols())?;
        work.set_profiled(options.is_profiled);
        let start = Instant::now();
        let norm_b = work.norm2(b)?;
        if norm_b == 0.0 {
            x.set_zero()?;
        }
        let limit = options.limit(norm_b);
        let mut residual = work.residual(b, x, &mut vectors.u)?;
        let mut state = State::new(limit, options, residual);
        let mut before = [f64::INFINITY; 2];
        let outcome = loop {
            if !residual.is_finite() {
                break Outcome::NotANumber;
            }
            if residual <= limit {
                break Outcome::Converged;
            }
            divide(&mut vectors.u, residual)?;
            work.apply_adjoint(&vectors.u, &mut vectors.v)?;
            let slope = work.norm2(&vectors.v)?;
            if let Some(outcome) = state.ended([residual, slope], before) {
                break outcome;
            }
            before = [residual, slope];
            vectors.run(work, x, before, &mut state)?;
            residual = work.residual(b, x, &mut vectors.u)?;
        };
        let times = work.times(start)?;
        let scale = if norm_b > 0.0 { norm_b } else { 1.0 };
        Ok(Report {
            method: "LSQR",
            outcome,
            steps: state.history.len() - 1,
            residual: residual / scale,
            history: state.history.iter().map(|residual| residual / scale).collect(),
            times,
        })
    }
}

/// Residuals so far, and when to stop.
struct State<'o> {
    limit: f64,
    options: &'o SolverOptions,
    history: Vec<f64>,
    /// The least residual and ‖Aᴴr‖ / ‖r‖, and the step after which one of them became less.
    best: [f64; 2],
    best_step: usize,
    /// The estimate of ‖A‖.
    norm: f64,
}

impl<'o> State<'o> {
    fn new(limit: f64, options: &'o SolverOptions, first: f64) -> Self {
        Self { limit, options, history: vec![first], best: [first, f64::INFINITY], best_step: 0, norm: 0.0 }
    }

    fn is_least(&self, slope: f64) -> bool {
        slope <= self.options.relative * self.norm
    }

    fn is_spent(&self) -> bool {
        self.history.len() > self.options.max_steps
    }

    fn is_stagnant(&self) -> bool {
        self.history.len() > self.best_step + self.options.stagnation_steps
    }

    /// Records a step: the residual, and ‖Aᴴr‖ / ‖r‖. Returns whether the steps end here.
    fn push(&mut self, residual: f64, slope: f64) -> bool {
        self.history.push(residual);
        for (best, value) in self.best.iter_mut().zip([residual, slope]) {
            if value < 0.999 * *best {
                *best = value;
                self.best_step = self.history.len() - 1;
            }
        }
        residual.is_nan()
            || residual <= self.limit
            || self.is_least(slope)
            || self.is_spent()
            || self.is_stagnant()
    }

    /// The outcome, if the steps end at a true residual above the limit.
    fn ended(&self, [residual, slope]: [f64; 2], before: [f64; 2]) -> Option<Outcome> {
        if !slope.is_finite() {
            Some(Outcome::NotANumber)
        } else if self.is_least(slope) {
            Some(Outcome::LeastSquares)
        } else if self.is_spent() {
            Some(Outcome::MaxSteps)
        } else if self.is_stagnant() || residual > 0.5 * before[0] && slope > 0.5 * before[1] {
            Some(Outcome::Stagnation)
        } else {
            None
        }
    }
}

impl<V: Scalar> Vectors<V> {
    /// Does steps from a residual, of norm `beta`, whose direction is u. v is Aᴴu, of norm `alpha`.
    fn run(
        &mut self,
        work: &mut Work<V>,
        x: &mut DeviceSlice<V>,
        [beta, alpha]: [f64; 2],
        state: &mut State,
    ) -> Result<()> {
        let Self { u, av, v, atu, w } = self;
        divide(v, alpha)?;
        w.copy_from(v)?;
        let (mut alpha, mut rho_bar, mut phi_bar) = (alpha, alpha, beta);
        state.norm = alpha;
        loop {
            // u = (Av − αu) / β, v = (Aᴴu − βv) / α
            work.apply(v, av)?;
            axpby(1.0, av, -alpha, u)?;
            let beta = work.norm2(u)?;
            if beta > 0.0 {
                divide(u, beta)?;
                work.apply_adjoint(u, atu)?;
                axpby(1.0, atu, -beta, v)?;
                alpha = work.norm2(v)?;
            }
            let next = if beta > 0.0 { alpha } else { 0.0 };
            state.norm = state.norm.hypot(beta).hypot(next);
            let rho = rho_bar.hypot(beta);
            let (cosine, sine) = (rho_bar / rho, beta / rho);
            axpby(cosine * phi_bar / rho, w, 1.0, x)?;
            phi_bar *= sine;
            rho_bar = -cosine * next;
            if state.push(phi_bar, next * cosine.abs()) || next == 0.0 {
                return Ok(());
            }
            divide(v, next)?;
            axpby(1.0, v, -sine * next / rho, w)?;
        }
    }
}
