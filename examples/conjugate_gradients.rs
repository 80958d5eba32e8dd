//! Conjugate gradients with Jacobi preconditioning: solves Ax = b for a symmetric positive definite A, call
//! by call, and with several steps as one graph whose scalars stay on the device. The default is the
//! stiffness matrix of a dam.
//!
//! ```sh
//! cargo run --release --example conjugate_gradients
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use evenpath::device::Graph;
use evenpath::error::OpError;
use evenpath::spmv::{SpmvOptions, SpmvPlan};
use evenpath::{Csr, Device, DeviceVec, Factor, vector};

/// Residual relative to b at which the solver stops.
const TOLERANCE: f64 = 1e-8;
const MAX_STEPS: usize = 10_000;
/// Number of steps per graph. The host reads the residual after each launch.
const GRAPH_STEPS: usize = 16;

fn main() -> ExitCode {
    support::on_matrix(concat!(env!("CARGO_MANIFEST_DIR"), "/data/bcsstk16.mtx.gz"), conjugate_gradients)
}

fn conjugate_gradients(device: &Device, a: &Csr<f64>) -> Result<bool, Box<dyn Error>> {
    if a.nrows() != a.ncols() {
        return Err(format!("the matrix is {} x {}, but must be square", a.nrows(), a.ncols()).into());
    }
    let b: Vec<f64> = a.iter_rows().map(|row| row.values().iter().sum()).collect(); // so that x is all ones
    let system = System::new(device, a, &b)?;
    system.solve(system.start()?, 1)?; // compiles the kernels
    let state = system.start()?;
    let begin = Instant::now();
    let (plain, steps) = system.solve(state, MAX_STEPS)?;
    report("call by call", begin.elapsed(), steps);

    let mut graph = system.capture(device)?;
    let begin = Instant::now();
    let mut graph_steps = 0;
    let mut is_solved = false;
    while !is_solved && graph_steps + GRAPH_STEPS <= MAX_STEPS {
        graph.launch()?;
        is_solved = system.is_solved(graph.state().0.residual.get(0)?);
        graph_steps += if is_solved { 0 } else { GRAPH_STEPS };
    }
    // Steps after the solution divide by a residual that may be zero: the last launch is undone, and its
    // steps are done one by one.
    let (state, before) = graph.into_state();
    let (captured, last_steps) =
        system.solve(if is_solved { before } else { state }, MAX_STEPS - graph_steps)?;
    graph_steps += last_steps;
    report("as a graph", begin.elapsed(), graph_steps);

    // The true residual, b − Ax. It differs by rounding from the one that the steps update.
    let x = plain.x.download()?;
    let (mut residual, mut norm_b) = (0.0, 0.0);
    for (row, b) in a.iter_rows().zip(&b) {
        let ax: f64 = row.iter().map(|(col, value)| value * x[col as usize]).sum();
        residual += (b - ax) * (b - ax);
        norm_b += b * b;
    }
    println!("{device}: residual {:.2e}, relative to b {:.2e}", residual.sqrt(), (residual / norm_b).sqrt());
    let is_same = graph_steps == steps && captured.x.download()? == x;
    println!("both are {} to the last bit", if is_same { "the same" } else { "not the same" });
    Ok(is_same && residual.sqrt() <= 10.0 * TOLERANCE * norm_b.sqrt())
}

fn report(how: &str, elapsed: Duration, steps: usize) {
    let microseconds = elapsed.as_secs_f64() * 1e6 / steps.max(1) as f64;
    println!("{how}: {steps} steps, {microseconds:.2} µs per step");
}

/// Ax = b, and the constants of a step.
struct System {
    plan: SpmvPlan<f64>,
    inverse_diagonal: DeviceVec<f64>,
    b: DeviceVec<f64>,
    /// Residual at which the solver stops.
    limit: f64,
}

/// State of the iteration, all in the device's memory.
struct State {
    x: DeviceVec<f64>,
    /// The residual, b − Ax.
    r: DeviceVec<f64>,
    /// The residual, preconditioned.
    z: DeviceVec<f64>,
    /// The search direction.
    p: DeviceVec<f64>,
    ap: DeviceVec<f64>,
    /// rᵀz.
    rz: DeviceVec<f64>,
    next_rz: DeviceVec<f64>,
    /// pᵀAp.
    pap: DeviceVec<f64>,
    alpha: DeviceVec<f64>,
    beta: DeviceVec<f64>,
    /// √(rᵀr), as left by a graph.
    residual: DeviceVec<f64>,
}

impl State {
    /// Copies the input of a step.
    fn copy_from(&mut self, other: &Self) -> Result<(), OpError> {
        self.x.copy_from(&other.x)?;
        self.r.copy_from(&other.r)?;
        self.p.copy_from(&other.p)?;
        Ok(self.rz.copy_from(&other.rz)?)
    }
}

impl System {
    fn new(device: &Device, a: &Csr<f64>, b: &[f64]) -> Result<Self, Box<dyn Error>> {
        let inverse_diagonal: Vec<f64> = (0..a.nrows()).map(|i| 1.0 / a.get(i, i).unwrap_or(0.0)).collect();
        if let Some(row) = inverse_diagonal.iter().position(|inverse| !inverse.is_finite() || *inverse < 0.0)
        {
            return Err(format!("row {row} has no positive entry on the diagonal").into());
        }
        let inverse_diagonal = device.upload(&inverse_diagonal)?;
        let plan = device.upload(a)?.plan_spmv(SpmvOptions::default())?;
        let b = device.upload(b)?;
        let limit = TOLERANCE * vector::norm2(&b)?;
        Ok(Self { plan, inverse_diagonal, b, limit })
    }

    /// x = 0.
    fn start(&self) -> Result<State, OpError> {
        let device = self.b.device();
        let vector = || device.zeros(self.b.len());
        let scalar = || device.zeros(1);
        let (x, mut r, mut z, mut p, ap) = (vector()?, vector()?, vector()?, vector()?, vector()?);
        r.copy_from(&self.b)?;
        vector::multiply_elements(&self.inverse_diagonal, &r, &mut z)?;
        p.copy_from(&z)?;
        let mut rz = scalar()?;
        vector::dot_into(&r, &z, &mut rz)?;
        let (next_rz, pap, alpha, beta, residual) = (scalar()?, scalar()?, scalar()?, scalar()?, scalar()?);
        Ok(State { x, r, z, p, ap, rz, next_rz, pap, alpha, beta, residual })
    }

    /// Returns whether the solver stops; also for a residual of NaN.
    fn is_solved(&self, residual: f64) -> bool {
        residual.is_nan() || residual <= self.limit
    }

    /// Solves by the method of Hestenes and Stiefel (J. Res. Nat. Bur. Standards 49, 1952), call by call.
    /// Returns the final state and the number of steps. The vectors stay on the device; the host reads three
    /// scalars per step.
    fn solve(&self, mut state: State, most_steps: usize) -> Result<(State, usize), OpError> {
        let mut rz = state.rz.get(0)?;
        let State { x, r, z, p, ap, .. } = &mut state;
        for step in 0..most_steps {
            if self.is_solved(vector::norm2(r)?) {
                return Ok((state, step));
            }
            self.plan.run(1.0, p, 0.0, ap)?;
            let alpha = rz / vector::dot(p, ap)?;
            vector::axpby(alpha, p, 1.0, x)?; // x += αp
            vector::axpby(-alpha, ap, 1.0, r)?; // r −= αAp
            vector::multiply_elements(&self.inverse_diagonal, r, z)?;
            let next_rz = vector::dot(r, z)?;
            vector::axpby(1.0, z, next_rz / rz, p)?; // p = z + βp
            rz = next_rz;
        }
        Ok((state, most_steps))
    }

    /// Does a step of [`solve`](Self::solve) without the host.
    fn step(&self, state: &mut State) -> Result<(), OpError> {
        let State { x, r, z, p, ap, rz, next_rz, pap, alpha, beta, .. } = state;
        self.plan.run(1.0, p, 0.0, ap)?;
        vector::dot_into(p, ap, pap)?;
        vector::divide_elements(rz, pap, alpha)?;
        vector::axpby(&*alpha, p, 1.0, x)?;
        vector::axpby(-Factor::from(&*alpha), ap, 1.0, r)?;
        vector::multiply_elements(&self.inverse_diagonal, r, z)?;
        vector::dot_into(r, z, next_rz)?;
        vector::divide_elements(next_rz, rz, beta)?;
        rz.copy_from(next_rz)?;
        vector::axpby(1.0, z, &*beta, p)
    }

    /// Captures a graph of steps. Its state also has the state before them.
    fn capture(&self, device: &Device) -> Result<Graph<'_, (State, State), OpError>, OpError> {
        device.capture((self.start()?, self.start()?), |(state, before)| {
            before.copy_from(state)?;
            for _ in 0..GRAPH_STEPS {
                self.step(state)?;
            }
            vector::norm2_into(&state.r, &mut state.residual)
        })
    }
}
