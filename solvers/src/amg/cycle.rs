//! Multigrid cycles.

use evenpath::{Device, DeviceSlice, DeviceVec, Value, vector};

use super::coarse::Solve;
use super::krylov::Krylov;
use super::level::Level;
use super::matrix::{LevelMatrix, Product};
use super::options::AmgCycle;
use super::transfer::Transfer;
use crate::error::Result;
use crate::vectors::axpby;

/// Levels and what connects them: a transfer for each but the last.
pub(super) struct Hierarchy<V: Value, M: LevelMatrix<V>, C> {
    pub(super) levels: Vec<Level<V, M>>,
    pub(super) transfers: Vec<Transfer<V, M>>,
    /// The solver of the last level, if it is small.
    pub(super) coarse: Option<C>,
}

/// Vectors of a level.
pub(super) struct Work<V: Value> {
    residual: DeviceVec<V>,
    direction: DeviceVec<V>,
    scaled: DeviceVec<V>,
    /// Right-hand side and solution of the next level.
    coarse_b: DeviceVec<V>,
    coarse_x: DeviceVec<V>,
    /// Steps on the next level, of a K-cycle.
    krylov: Option<Krylov<V>>,
}

/// First guess of a level.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Guess {
    /// Zero, so that the old x is not read.
    Zero,
    Given,
}

impl<V: Value, M: LevelMatrix<V>, C: Solve<V>> Hierarchy<V, M, C> {
    /// Allocates the vectors of the levels.
    pub(super) fn work(&self, device: &Device, cycle: AmgCycle) -> Result<Vec<Work<V>>> {
        let zeros = |len: usize| device.zeros(len);
        let of_level = |at: usize, level: &Level<V, M>| -> Result<Work<V>> {
            let rows = level.len();
            let coarse_rows = self.levels.get(at + 1).map_or(0, Level::len);
            let krylov = match cycle {
                AmgCycle::K { steps } if at + 1 < self.transfers.len() => {
                    Some(Krylov::new(device, coarse_rows, steps)?)
                }
                _ => None,
            };
            Ok(Work {
                residual: zeros(rows)?,
                direction: zeros(rows)?,
                scaled: zeros(rows)?,
                coarse_b: zeros(coarse_rows)?,
                coarse_x: zeros(coarse_rows)?,
                krylov,
            })
        };
        self.levels.iter().enumerate().map(|(at, level)| of_level(at, level)).collect()
    }

    /// Runs one cycle from zero: x ≈ A⁻¹b.
    pub(super) fn run(
        &self,
        cycle: AmgCycle,
        work: &mut [Work<V>],
        b: &DeviceSlice<V>,
        x: &mut DeviceSlice<V>,
    ) -> Result<()> {
        self.improve(0, cycle, work, (b, x), Guess::Zero)
    }

    /// Improves x on a level and those below it.
    fn improve(
        &self,
        at: usize,
        cycle: AmgCycle,
        work: &mut [Work<V>],
        (b, x): (&DeviceSlice<V>, &mut DeviceSlice<V>),
        guess: Guess,
    ) -> Result<()> {
        let (level, Some((own, below))) = (&self.levels[at], work.split_first_mut()) else { return Ok(()) };
        let Some(transfer) = self.transfers.get(at) else { return self.solve_coarsest(level, own, (b, x)) };
        own.set_residual(level, b, x, guess)?;
        own.smooth(level, x, guess)?;
        level.plan.run(-V::ONE, &own.direction, V::ONE, &mut own.residual)?;
        transfer.restrict.run(V::ONE, &own.residual, V::ZERO, &mut own.coarse_b)?;
        self.correct(at + 1, cycle, own, below)?;
        transfer.prolong.run(V::ONE, &own.coarse_x, V::ONE, x)?;
        own.set_residual(level, b, x, Guess::Given)?;
        own.smooth(level, x, Guess::Given)
    }

    /// Finds the coarse correction of a level, on the next one, `at`.
    fn correct(&self, at: usize, cycle: AmgCycle, own: &mut Work<V>, below: &mut [Work<V>]) -> Result<()> {
        let Work { coarse_b: b, coarse_x: x, krylov, .. } = own;
        if let Some(krylov) = krylov {
            for step in 0..krylov.steps() {
                self.improve(at, cycle, below, (b, krylov.direction(step)), Guess::Zero)?;
                krylov.step(step, &self.levels[at].plan, b, x)?;
            }
            return Ok(());
        }
        self.improve(at, cycle, below, (b, x), Guess::Zero)?;
        if cycle == AmgCycle::W && at < self.transfers.len() {
            self.improve(at, cycle, below, (b, x), Guess::Given)?;
        }
        Ok(())
    }

    fn solve_coarsest(
        &self,
        level: &Level<V, M>,
        work: &mut Work<V>,
        (b, x): (&DeviceSlice<V>, &mut DeviceSlice<V>),
    ) -> Result<()> {
        if let Some(coarse) = &self.coarse {
            return coarse.solve(b, x);
        }
        work.set_residual(level, b, x, Guess::Zero)?;
        work.smooth(level, x, Guess::Zero)
    }
}

impl<V: Value> Work<V> {
    /// r = b − Ax.
    fn set_residual<M: LevelMatrix<V>>(
        &mut self,
        level: &Level<V, M>,
        b: &DeviceSlice<V>,
        x: &DeviceSlice<V>,
        guess: Guess,
    ) -> Result<()> {
        self.residual.copy_from(b)?;
        if guess == Guess::Given {
            level.plan.run(-V::ONE, x, V::ONE, &mut self.residual)?;
        }
        Ok(())
    }

    /// Runs the smoother on x, whose residual is there. The residual then lacks the last direction.
    fn smooth<M: LevelMatrix<V>>(
        &mut self,
        level: &Level<V, M>,
        x: &mut DeviceSlice<V>,
        guess: Guess,
    ) -> Result<()> {
        let Self { residual, direction, scaled, .. } = self;
        for (at, step) in level.smoother.steps.iter().enumerate() {
            if at > 0 {
                level.plan.run(-V::ONE, direction, V::ONE, residual)?;
            }
            level.smoother.apply(&level.analysis.inverse_diagonal, residual, scaled)?;
            axpby(step.step, scaled, step.momentum, direction)?;
            if at == 0 && guess == Guess::Zero {
                x.copy_from(direction)?;
            } else {
                vector::axpby(V::ONE, direction, V::ONE, x)?;
            }
        }
        Ok(())
    }
}
