//! A power iteration, call by call and as a graph: the eigenvalue of largest magnitude, and the time of a
//! step.
//!
//! ```sh
//! cargo run --release --example graph -- stencil5:100
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use evenpath::error::OpError;
use evenpath::spmv::{SpmvOptions, SpmvPlan};
use evenpath::{Csr, Device, DeviceVec, vector};

/// Number of steps per graph, and of launches.
const STEPS: usize = 20;
const LAUNCHES: usize = 10;

fn main() -> ExitCode {
    support::on_matrix("stencil5:100", power_iteration)
}

/// State of a step: x becomes Ax divided by a bound on A's eigenvalues, so that it does not grow.
struct Iteration {
    plan: SpmvPlan<f64>,
    factor: f64,
}

/// x and Ax.
type Vectors = (DeviceVec<f64>, DeviceVec<f64>);

impl Iteration {
    fn steps(&self, (x, ax): &mut Vectors) -> Result<(), OpError> {
        for _ in 0..STEPS {
            self.plan.run(self.factor, x, 0.0, ax)?;
            x.copy_from(ax)?;
        }
        Ok(())
    }

    /// xᵀAx / xᵀx.
    fn eigenvalue(&self, (x, ax): &mut Vectors) -> Result<f64, OpError> {
        self.plan.run(1.0, x, 0.0, ax)?;
        Ok(vector::dot(x, ax)? / vector::dot(x, x)?)
    }
}

fn power_iteration(device: &Device, a: &Csr<f64>) -> Result<bool, Box<dyn Error>> {
    if a.nrows() != a.ncols() {
        return Err(format!("the matrix is {} x {}, but must be square", a.nrows(), a.ncols()).into());
    }
    let row_sum = |values: &[f64]| values.iter().map(|value| value.abs()).sum::<f64>();
    let bound = a.iter_rows().map(|row| row_sum(row.values())).fold(f64::MIN_POSITIVE, f64::max);
    let plan = device.upload(a)?.plan_spmv(SpmvOptions::default())?;
    let iteration = Iteration { plan, factor: 1.0 / bound };
    let start: Vec<f64> = (0..a.nrows()).map(|row| 1.0 + (row * 7 % 11) as f64).collect();

    let mut plain = (device.upload(&start)?, device.zeros(a.nrows())?);
    iteration.steps(&mut plain)?; // compiles the kernels
    plain.0.copy_from_slice(&start)?;
    let begin = Instant::now();
    for _ in 0..LAUNCHES {
        iteration.steps(&mut plain)?;
    }
    device.synchronize()?;
    let elapsed = begin.elapsed();
    report("call by call", elapsed, iteration.eigenvalue(&mut plain)?);

    let vectors = (device.upload(&start)?, device.zeros(a.nrows())?);
    let mut graph = device.capture(vectors, |vectors| iteration.steps(vectors))?;
    let begin = Instant::now();
    for _ in 0..LAUNCHES {
        graph.launch()?;
    }
    device.synchronize()?;
    let elapsed = begin.elapsed();
    let mut vectors = graph.into_state();
    report("as a graph", elapsed, iteration.eigenvalue(&mut vectors)?);
    println!("{device}: both are the same to the last bit");
    Ok(vectors.0.download()? == plain.0.download()?)
}

fn report(how: &str, elapsed: Duration, eigenvalue: f64) {
    let microseconds = elapsed.as_secs_f64() * 1e6 / (STEPS * LAUNCHES) as f64;
    println!("{how}: eigenvalue {eigenvalue:.9}, {microseconds:.2} µs per step");
}
