//! Measurement of each rank.

use std::time::Instant;

use evenpath::hisparse;
use evenpath::spmv::SpmvOptions;
use evenpath_distributed::error::Result;
use evenpath_distributed::{DistributedCsr, DistributedHiSparse, DistributedVec, Rank};

use crate::scale::{Problem, RankVolume, Rows};

/// Storage and division of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    Csr,
    Hisparse,
}

impl Format {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Csr => "csr",
            Self::Hisparse => "hisparse",
        }
    }
}

/// Measurement, and its number of repetitions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) format: Format,
    /// Rounds that are timed, after one that is not.
    pub(crate) rounds: u32,
    /// Products in a round.
    pub(crate) products: u32,
    /// Steps of conjugate gradients in a round; none if 0.
    pub(crate) steps: u32,
}

/// Measurements of one rank. Times are µs, round by round.
pub(crate) struct Measured {
    pub(crate) device: String,
    /// Engine that carried elements.
    pub(crate) engine: String,
    pub(crate) volume: RankVolume,
    /// Seconds to make the matrix, and to plan products.
    pub(crate) build_s: f64,
    pub(crate) plan_s: f64,
    pub(crate) product: Series,
    /// One inner product.
    pub(crate) dot: Series,
    /// A step of conjugate gradients.
    pub(crate) step: Series,
    /// The product with the rank's own columns by the device alone: of one rank, that with the whole matrix.
    pub(crate) local: Series,
    /// Faults of the product, and of the steps.
    pub(crate) wrong_product: Option<String>,
    pub(crate) wrong_steps: Option<String>,
}

/// Times of something, and the part of them that the rank waited for messages.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series {
    pub(crate) us: Vec<f64>,
    pub(crate) waited: f64,
}

/// Rows of each rank that are compared with a reference, at most.
const SAMPLES: u64 = 64;
/// The residual that the steps keep may differ from the true one by this, relative to b.
const DRIFT: f64 = 1e-8;

/// The elements of x: small integers.
fn element(index: u64) -> f64 {
    (index % 7) as f64
}

/// Makes a matrix on all ranks and measures it.
pub(crate) fn measure(rank: &Rank, problem: Problem, settings: Settings) -> Result<Measured> {
    let Settings { rounds, products, steps, format } = settings;
    let (rows, start) = (problem.nrows(), Instant::now());
    let a = DistributedCsr::from_fn(rank, rows, rows, |row, entries| problem.row(row, entries))?;
    rank.barrier()?;
    let (build_s, start) = (start.elapsed().as_secs_f64(), Instant::now());
    let multiply = product(&a, format)?;
    rank.barrier()?;
    let plan_s = start.elapsed().as_secs_f64();
    let x = DistributedVec::from_fn(rank, a.col_partition(), element)?;
    let mut y = DistributedVec::zeros(rank, a.row_partition())?;
    let product = timed(rank, (rounds, products), |_| multiply(&x, &mut y))?;
    let wrong_product = check_rows(rank, problem, &y)?;
    let dot = timed(rank, (rounds, products), |_| x.dot(&x).map(|_| ()))?;
    let plan = a.local().plan_spmv(SpmvOptions::default())?;
    let local = timed(rank, (rounds, products), |_| Ok(plan.run(1.0, x.local(), 0.0, y.local_mut())?))?;
    drop((x, y, plan));
    let (mut step, mut wrong_steps) = (Series::default(), None);
    if steps > 0 {
        let mut solver = ConjugateGradients::new(&a, multiply)?;
        step = timed(rank, (rounds, steps), |number| {
            if number == 0 {
                solver.begin()?;
            }
            solver.step()
        })?;
        wrong_steps = solver.check()?;
    }
    Ok(Measured {
        device: rank.device().name().to_owned(),
        engine: rank.exchange().to_string(),
        volume: RankVolume::of(&a),
        build_s,
        plan_s,
        product,
        dot,
        step,
        local,
        wrong_product,
        wrong_steps,
    })
}

/// Times rounds, each of the given number of runs. A run is told its number within the round.
pub(super) fn timed(
    rank: &Rank,
    (rounds, runs): (u32, u32),
    mut run: impl FnMut(u32) -> Result<()>,
) -> Result<Series> {
    let waited = || rank.traffic().iter().map(|traffic| traffic.waited.as_secs_f64()).sum::<f64>();
    let mut series = Series::default();
    let (mut all, mut waited_before) = (Instant::now(), waited());
    for round in 0..=rounds {
        rank.device().synchronize()?;
        rank.barrier()?;
        let start = Instant::now();
        for number in 0..runs {
            run(number)?;
        }
        rank.device().synchronize()?;
        // All are done.
        rank.barrier()?;
        if round == 0 {
            (all, waited_before) = (Instant::now(), waited());
        } else {
            series.us.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(runs));
        }
    }
    series.waited = (waited() - waited_before) / all.elapsed().as_secs_f64();
    Ok(series)
}

/// Computes y = Ax.
type Product = Box<dyn Fn(&DistributedVec<f64>, &mut DistributedVec<f64>) -> Result<()>>;

/// The product with a matrix in a format.
fn product(a: &DistributedCsr<f64>, format: Format) -> Result<Product> {
    match format {
        Format::Csr => {
            let plan = a.plan_spmv(SpmvOptions::default())?;
            Ok(Box::new(move |x, y| plan.run(1.0, x, 0.0, y)))
        }
        Format::Hisparse => {
            let a: DistributedHiSparse<f64> = a.to_hisparse(hisparse::Options::default())?;
            let plan = a.plan_spmv(hisparse::SpmvOptions::default())?;
            Ok(Box::new(move |x, y| plan.run(1.0, x, 0.0, y)))
        }
    }
}

/// Compares some of the rank's rows of y, the first and the last among them, with the same rows computed here. Says which is wrong.
fn check_rows(rank: &Rank, problem: Problem, y: &DistributedVec<f64>) -> Result<Option<String>> {
    let own = y.partition().range(rank.index());
    let len = own.end - own.start;
    let samples = SAMPLES.min(len);
    let mut entries: Vec<(u64, f64)> = Vec::new();
    for sample in 0..samples {
        let at = if samples > 1 { sample * (len - 1) / (samples - 1) } else { 0 };
        entries.clear();
        problem.row(own.start + at, &mut entries);
        let terms = || entries.iter().map(|&(column, value)| value * element(column));
        let (sum, magnitude) = (terms().sum::<f64>(), terms().map(f64::abs).sum::<f64>());
        // Sums of n terms in two orders, each off by n roundings at most.
        let bound = 2.0 * entries.len() as f64 * f64::EPSILON * magnitude;
        let found = y.local().get(at as usize)?;
        let is_right = (found - sum).abs() <= bound;
        if !is_right {
            return Ok(Some(format!("row {} is {found}, and must be {sum}", own.start + at)));
        }
    }
    Ok(None)
}

/// The method of Hestenes and Stiefel, as the example `distributed_cg` has it, for a fixed number of steps from x = 0 with b = 1.
struct ConjugateGradients {
    multiply: Product,
    b: DistributedVec<f64>,
    x: DistributedVec<f64>,
    r: DistributedVec<f64>,
    p: DistributedVec<f64>,
    ap: DistributedVec<f64>,
    /// rᵀr.
    rr: f64,
}

impl ConjugateGradients {
    fn new(a: &DistributedCsr<f64>, multiply: Product) -> Result<Self> {
        let zeros = || DistributedVec::zeros(a.rank(), a.row_partition());
        let b = DistributedVec::from_fn(a.rank(), a.row_partition(), |_| 1.0)?;
        Ok(Self { multiply, b, x: zeros()?, r: zeros()?, p: zeros()?, ap: zeros()?, rr: 0.0 })
    }

    fn begin(&mut self) -> Result<()> {
        self.x.axpby(0.0, &self.b, 0.0)?;
        self.r.copy_from(&self.b)?;
        self.p.copy_from(&self.b)?;
        self.rr = self.r.dot(&self.r)?;
        Ok(())
    }

    fn step(&mut self) -> Result<()> {
        (self.multiply)(&self.p, &mut self.ap)?;
        let alpha = self.rr / self.p.dot(&self.ap)?;
        self.x.axpby(alpha, &self.p, 1.0)?;
        self.r.axpby(-alpha, &self.ap, 1.0)?;
        let next = self.r.dot(&self.r)?;
        self.p.axpby(1.0, &self.r, next / self.rr)?; // p = r + βp
        self.rr = next;
        Ok(())
    }

    /// Compares the residual that the steps keep with b − Ax. Says what is wrong.
    fn check(&mut self) -> Result<Option<String>> {
        let kept = self.rr.sqrt();
        (self.multiply)(&self.x, &mut self.ap)?;
        self.r.copy_from(&self.b)?;
        self.r.axpby(-1.0, &self.ap, 1.0)?;
        let (found, limit) = (self.r.norm2()?, DRIFT * self.b.norm2()?);
        let is_right = (found - kept).abs() <= limit;
        Ok((!is_right).then(|| format!("the residual is {found:e}, and by the steps {kept:e}")))
    }
}

#[cfg(test)]
mod tests {
    use evenpath::Device;
    use evenpath_distributed::{Cluster, Error};

    use super::*;

    fn on_two<R: Send>(body: impl Fn(&Rank, &DistributedCsr<f64>) -> Result<R> + Sync) -> Vec<R> {
        let problem: Problem = "stencil5:8".parse().unwrap();
        let mut cluster = Cluster::local([Device::cpu(), Device::cpu()]).unwrap();
        let results = cluster.run(|rank| {
            let a = DistributedCsr::from_fn(rank, 64, 64, |row, entries| problem.row(row, entries))?;
            body(rank, &a)
        });
        results.unwrap()
    }

    #[test]
    fn wrong_rows_are_named() {
        let problem: Problem = "stencil5:8".parse().unwrap();
        let found = on_two(|rank, a| {
            let x = DistributedVec::from_fn(rank, a.col_partition(), element)?;
            let mut y = DistributedVec::zeros(rank, a.row_partition())?;
            product(a, Format::Csr)?(&x, &mut y)?;
            let right = check_rows(rank, problem, &y)?;
            // One element of the last row.
            let last =
                DistributedVec::from_fn(rank, a.row_partition(), |row| f64::from(u8::from(row == 63)))?;
            y.axpby(1e-6, &last, 1.0)?;
            Ok::<_, Error>((right, check_rows(rank, problem, &y)?))
        });
        assert_eq!(found[0], (None, None));
        assert!(found[1].0.is_none() && found[1].1.as_ref().unwrap().starts_with("row 63 is "), "{found:?}");
    }

    #[test]
    fn steps_that_went_astray_are_named() {
        let found = on_two(|_, a| {
            let mut solver = ConjugateGradients::new(a, product(a, Format::Csr)?)?;
            solver.begin()?;
            (0..4).try_for_each(|_| solver.step())?;
            let kept = solver.rr;
            let right = solver.check()?;
            // A residual that is half as long.
            solver.rr = kept / 4.0;
            Ok((right, solver.check()?))
        });
        for (right, wrong) in found {
            assert!(right.is_none() && wrong.unwrap().starts_with("the residual is "), "{right:?}");
        }
    }

    #[test]
    fn every_round_has_its_runs() {
        let series = on_two(|rank, _| {
            let mut numbers = Vec::new();
            let series = timed(rank, (2, 3), |number| {
                numbers.push(number);
                Ok(())
            })?;
            Ok((series.us.len(), numbers))
        });
        assert_eq!(series, vec![(2, [0, 1, 2].repeat(3)); 2]);
    }
}
