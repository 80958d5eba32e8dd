//! Measures one matrix.

use std::time::Instant;

use evenpath::error::OpError;
use evenpath::hyb::HybOptions;
use evenpath::spmv::{SpmvMethod, SpmvOptions};
use evenpath::{Csr, Device, DeviceCsr, DeviceVec};
use thiserror::Error;

use super::{Figures, Peer, Record};
use crate::input::random_vector;
use crate::measure::{Measurement, Repetitions, Times, median, times_ms};
use crate::peers::{PeerValue, SpmvOperands};
use crate::operations::spmv::{Reference, work};

/// The number of plans made to time one.
const PLANS: usize = 5;

/// α and β of y = αAx + βy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Factors<V> {
    alpha: V,
    beta: V,
}

/// A factor that the type of the values does not have.
#[derive(Debug, Error)]
#[error("{name} = {factor} is not a finite number of type {value}")]
pub(crate) struct NotFinite {
    name: &'static str,
    factor: f64,
    value: &'static str,
}

impl<V: PeerValue> Factors<V> {
    /// The factors, rounded to the type of the values.
    ///
    /// # Errors
    ///
    /// If one is infinite or NaN, or too large for the type.
    pub(crate) fn new(alpha: f64, beta: f64) -> Result<Self, NotFinite> {
        let rounded = |name, factor| {
            let rounded = V::from_f64(factor);
            let is_finite = rounded.to_f64().is_finite();
            if is_finite { Ok(rounded) } else { Err(NotFinite { name, factor, value: V::NAME }) }
        };
        Ok(Self { alpha: rounded("alpha", alpha)?, beta: rounded("beta", beta)? })
    }
}

/// What to measure, and how.
pub(crate) struct Case<'c, V> {
    /// The device.
    pub(crate) device: &'c Device,
    /// The copy rate of the device, in GB/s.
    pub(crate) copy_gbps: f64,
    /// The library to compare with.
    pub(crate) peer: Option<&'c Peer>,
    /// α and β.
    pub(crate) factors: Factors<V>,
    /// How many runs to time.
    pub(crate) repetitions: Repetitions,
}

/// Measures all methods, and the peer. What cannot run has its reason in the record.
///
/// # Errors
///
/// If there is not enough device memory for matrix and vectors, or the device was lost.
pub(crate) fn measure<V: PeerValue>(case: &Case<'_, V>, file: String, matrix: &Csr<V>) -> Result<Record, OpError> {
    let problem = Problem::new(case, matrix)?;
    let a = case.device.upload(matrix)?;
    let planned = |method| problem.planned(&a, method).map_err(|error| error.to_string());
    let (merge, default) = (planned(SpmvMethod::MergePath), planned(SpmvMethod::Auto));
    drop(a);
    let hyb = problem.hyb();
    let peer = case.peer.map(|peer| problem.peer(peer));
    Ok(Record {
        file,
        statistics: matrix.statistics(),
        figures: [Some(merge), Some(default), Some(hyb), peer],
    })
}

/// The operands, and the result in f64.
struct Problem<'c, V: PeerValue> {
    case: &'c Case<'c, V>,
    matrix: &'c Csr<V>,
    x: Vec<V>,
    device_x: DeviceVec<V>,
    /// y before each checked run. If beta is zero it is NaN, which must not remain.
    y: Vec<V>,
    reference: Reference,
}

impl<'c, V: PeerValue> Problem<'c, V> {
    fn new(case: &'c Case<'c, V>, matrix: &'c Csr<V>) -> Result<Self, OpError> {
        let Factors { alpha, beta } = case.factors;
        let x = random_vector(matrix.cols(), 1);
        let y = if beta == V::ZERO {
            vec![V::from_f64(f64::NAN); matrix.rows()]
        } else {
            random_vector(matrix.rows(), 2)
        };
        let product = Reference::new(matrix, &x).and_then(|product| product.updating(alpha, beta, &y));
        let Ok(reference) = product else { unreachable!("the vectors have the lengths of the matrix") };
        let device_x = case.device.upload(&x)?;
        Ok(Self { case, matrix, x, device_x, y, reference })
    }

    /// A plan by this method. Its set-up is planning, after its code has been loaded.
    fn planned(&self, a: &DeviceCsr<V>, method: SpmvMethod) -> Result<Figures, OpError> {
        let Factors { alpha, beta } = self.case.factors;
        let options = SpmvOptions::default().with_method(method);
        let mut plan = a.plan_spmv(options)?;
        let mut setups_ms = Vec::new();
        for _ in 0..PLANS {
            plan = a.plan_spmv(options)?;
            setups_ms.push(plan.info()?.analysis_ms);
        }
        let name = plan.info()?.method.to_string();
        self.timed(name, median(&setups_ms), |x, y| plan.run(alpha, x, beta, y))
    }

    /// The hybrid of ELL and COO. Its set-up is the conversion on the host, and the copy to the device.
    fn hyb(&self) -> Result<Figures, String> {
        let Factors { alpha, beta } = self.case.factors;
        let start = Instant::now();
        let hyb = self.matrix.to_hyb(HybOptions::default()).map_err(|error| error.to_string())?;
        let uploaded = self.case.device.upload(&hyb).and_then(|hyb| {
            self.case.device.synchronize()?;
            Ok(hyb)
        });
        let hyb = uploaded.map_err(|error| error.to_string())?;
        let setup_ms = start.elapsed().as_secs_f64() * 1e3;
        self.timed("HYB".into(), setup_ms, |x, y| hyb.spmv(alpha, x, beta, y))
            .map_err(|error| error.to_string())
    }

    /// The fastest algorithm of the peer for CSR, preferably one with a correct result.
    fn peer(&self, peer: &Peer) -> Result<Figures, String> {
        let Factors { alpha, beta } = self.case.factors;
        let operands = SpmvOperands { alpha, x: &self.x, beta, y: &self.y };
        let runs = peer.runs(self.matrix, operands, self.case.repetitions);
        let mut best: Option<Figures> = None;
        let mut reason = "it has no algorithm for CSR".to_owned();
        for run in runs.map_err(|error| error.to_string())? {
            let name = peer.algorithm_name(&run);
            match run.outcome {
                Ok(times) => {
                    let found = self.figures(name, times.preprocessing_ms, &times.times_ms, &times.result);
                    let rank = |figures: &Figures| (figures.wrong.is_some(), figures.measured.ms);
                    if best.as_ref().is_none_or(|best| rank(&found) < rank(best)) {
                        best = Some(found);
                    }
                }
                Err(error) => reason = error.to_string(),
            }
        }
        best.ok_or(reason)
    }

    /// Times runs, which update the same y again and again, then checks one of the given y.
    fn timed(
        &self,
        method: String,
        setup_ms: f64,
        run: impl Fn(&DeviceVec<V>, &mut DeviceVec<V>) -> Result<(), OpError>,
    ) -> Result<Figures, OpError> {
        let device = self.case.device;
        let mut y = device.upload(&self.y)?;
        let times = times_ms(device, self.case.repetitions, || run(&self.device_x, &mut y))?;
        let mut y = device.upload(&self.y)?;
        run(&self.device_x, &mut y)?;
        Ok(self.figures(method, setup_ms, &times, &y.download()?))
    }

    fn figures(&self, method: String, setup_ms: f64, times_ms: &Times, result: &[V]) -> Figures {
        let mean_ms = times_ms.iter().sum::<f64>() / times_ms.len() as f64;
        let measured = Measurement::new(work(self.matrix), &Times::of_runs(vec![mean_ms]));
        Figures {
            method,
            value: V::NAME,
            setup_ms,
            copy_percent: 100.0 * measured.effective_gbps / self.case.copy_gbps,
            largest_difference: self.reference.largest_difference(result),
            wrong: self.reference.check(result).err(),
            measured,
        }
    }
}

#[cfg(test)]
mod tests {
    use evenpath::device::SimulatedOptions;

    use super::*;

    fn matrix() -> Csr<f64> {
        Csr::from_triplets(3, 2, [(0, 0, 2.0), (0, 1, 1.0), (2, 1, -4.0)]).unwrap()
    }

    fn with_case(device: &Device, alpha: f64, beta: f64, test: impl Fn(&Case<'_, f64>)) {
        let factors = Factors::new(alpha, beta).unwrap();
        test(&Case { device, copy_gbps: 10.0, peer: None, factors, repetitions: 2.into() });
    }

    #[test]
    fn every_method_gets_both_factors() {
        for device in [Device::cpu(), Device::simulated(SimulatedOptions::default())] {
            for (alpha, beta) in [(1.0, 0.0), (2.0, -0.5), (0.0, 3.0), (-1.5, 0.0)] {
                with_case(&device, alpha, beta, |case| {
                    let record = measure(case, "a".into(), &matrix()).unwrap();
                    assert!(record.is_right(), "{:?}", record.failures().collect::<Vec<_>>());
                    assert!(record.figures[3].is_none());
                });
            }
        }
    }

    #[test]
    fn a_product_with_other_factors_is_wrong() {
        let device = Device::cpu();
        let matrix = matrix();
        let a = device.upload(&matrix).unwrap();
        let plan = a.plan_spmv(SpmvOptions::default()).unwrap();
        with_case(&device, 2.0, -0.5, |case| {
            let problem = Problem::new(case, &matrix).unwrap();
            let is_right = |alpha, beta| {
                let figures = problem.timed("a".into(), 0.0, |x, y| plan.run(alpha, x, beta, y)).unwrap();
                assert_eq!(figures.wrong.is_none(), figures.largest_difference < 1e-12);
                figures.wrong.is_none()
            };
            assert!(is_right(2.0, -0.5));
            assert!(!is_right(1.0, -0.5) && !is_right(2.0, 0.0) && !is_right(2.0, 0.5));
        });
    }

    #[test]
    fn factors_are_those_of_the_type() {
        assert!(Factors::<f64>::new(1e39, 0.0).is_ok());
        let error = Factors::<f32>::new(1.0, 1e39).unwrap_err().to_string();
        assert!(
            error.starts_with("beta = 1") && error.ends_with("is not a finite number of type f32"),
            "{error}"
        );
        assert!(Factors::<f64>::new(f64::NAN, 0.0).is_err());
    }
}
