//! Times of set-ups, of updates and of solves.

use std::time::Instant;

use evenpath::{Device, DeviceVec};
use evenpath_solvers::{AmgInfo, AmgOptions, Jacobi, Method, Outcome, Preconditioner, Result, SolverOptions};

use super::preconditioner::{Name, Ready, SolverValue};
use super::system::System;

/// Settings of each measurement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    /// Number of runs that are timed, at least 1.
    pub(super) repetitions: usize,
    /// Tolerance of the residual relative to b.
    pub(super) tolerance: f64,
    pub(super) solver: SolverOptions,
    pub(super) amg: AmgOptions,
}

/// Milliseconds of runs.
#[derive(Debug, Clone)]
pub(super) struct Runs {
    /// The first run, which compiles kernels.
    pub(super) first: f64,
    /// The others.
    pub(super) others: Vec<f64>,
}

/// Set-up of a preconditioner.
pub(super) struct SetUp {
    pub(super) times: Runs,
    /// Updates for new values.
    pub(super) updates: Option<Runs>,
    /// Bytes that the preconditioner keeps.
    pub(super) bytes: u64,
    /// Bytes that were in use at most during the set-up, beyond those before it.
    pub(super) peak_bytes: u64,
    pub(super) levels: Option<AmgInfo>,
}

/// Solves by one method.
pub(super) struct Solves {
    pub(super) times: Runs,
    pub(super) outcome: Outcome,
    pub(super) steps: usize,
    /// Residual of the solution relative to b, computed on the host.
    pub(super) residual: f64,
    /// Residuals that the method estimated.
    pub(super) history: Vec<f64>,
    /// Bytes of the method's vectors.
    pub(super) bytes: u64,
}

/// Sets the preconditioner up, once more than there are repetitions, updates it as often, and returns the last.
///
/// # Errors
///
/// Those of the preconditioner.
pub(super) fn set_up<'s, V: SolverValue>(
    name: Name,
    system: &'s System<V>,
    diagonal: &'s mut Option<Jacobi<V>>,
    settings: &Settings,
) -> Result<(Box<dyn Ready<V> + 's>, SetUp)> {
    let device = system.a.device();
    let mut times = Vec::new();
    for _ in 0..settings.repetitions {
        let mut diagonal = None;
        let (ready, ms) = timed(device, || name.set_up(system, &mut diagonal, settings.amg))?;
        drop(ready);
        times.push(ms);
    }
    device.reset_peak_memory();
    let before = device.memory()?.in_use;
    let (mut ready, ms) = timed(device, || name.set_up(system, diagonal, settings.amg))?;
    times.push(ms);
    let (after, levels) = (device.memory()?, ready.levels()?);
    let mut updates = Vec::new();
    for _ in 0..=settings.repetitions {
        let (updated, ms) = timed(device, || ready.update(&system.a).transpose())?;
        match updated {
            Some(()) => updates.push(ms),
            None => break,
        }
    }
    let set_up = SetUp {
        times: Runs::new(&times),
        updates: (!updates.is_empty()).then(|| Runs::new(&updates)),
        bytes: after.in_use.saturating_sub(before),
        peak_bytes: after.peak.saturating_sub(before),
        levels,
    };
    Ok((ready, set_up))
}

/// Solves the system, from x = 0, once more than there are repetitions.
///
/// # Errors
///
/// If an option is out of range, there is too little memory, or the device failed.
pub(super) fn solve<V: SolverValue>(
    method: Method,
    system: &System<V>,
    preconditioner: &dyn Preconditioner<V>,
    settings: &Settings,
) -> Result<Solves> {
    let device = system.a.device();
    let mut x: DeviceVec<V> = device.zeros(system.a.ncols())?;
    let before = device.memory()?.in_use;
    let mut solver = method.solver(&system.operator, preconditioner, settings.solver)?;
    let bytes = device.memory()?.in_use.saturating_sub(before);
    let mut solve = || {
        x.set_zero()?;
        device.synchronize()?;
        solver.solve(&system.b_on_device, &mut x)
    };
    let mut solved = solve()?;
    let mut times = vec![solved.times.total.as_secs_f64() * 1e3];
    for _ in 0..settings.repetitions {
        solved = solve()?;
        times.push(solved.times.total.as_secs_f64() * 1e3);
    }
    let residual = system.residual(&x.download()?);
    Ok(Solves {
        times: Runs::new(&times),
        outcome: solved.outcome,
        steps: solved.steps,
        residual,
        history: solved.history,
        bytes,
    })
}

impl Runs {
    /// Splits the first time off.
    fn new(times: &[f64]) -> Self {
        let (first, others) =
            times.split_first().map_or((f64::NAN, &[][..]), |(first, others)| (*first, others));
        Self { first, others: others.to_vec() }
    }
}

impl Solves {
    /// Rounding makes the updated residual drift from the true one: ten times the tolerance passes.
    pub(super) fn verdict(&self, tolerance: f64) -> Result<(), String> {
        let Self { residual, outcome, .. } = self;
        if *residual <= 10.0 * tolerance {
            return Ok(());
        }
        Err(format!(
            "the residual is {residual:.2e} of b, more than ten times the tolerance {tolerance:.2e} ({outcome})"
        ))
    }
}

/// The result of work, and its milliseconds from an idle device to an idle device.
fn timed<T>(device: &Device, work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    device.synchronize()?;
    let start = Instant::now();
    let result = work()?;
    device.synchronize()?;
    Ok((result, start.elapsed().as_secs_f64() * 1e3))
}
