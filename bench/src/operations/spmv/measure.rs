//! Measures y = αAx + βy, or with the transpose: every way of evenpath and every algorithm of the peers, in turns.

use std::collections::BTreeMap;

use evenpath::error::OpError;
use evenpath::{Csr, DeviceCsr, DeviceVec, RealStorage};
use evenpath_bench_support::spmv::{Reference, work};

use super::way::{Ready, Way};
use crate::input::random_scalars;
use crate::measure::{Timed, Times, sampled};
use crate::operations::bench::{Bench, Measured, contender};
use crate::peers::{
    Operation, PeerError, PeerRun, PeerScalar, PeerTimes, PeerValue, PreparedPeer, SpmvOperands,
};
use crate::results::{Contender, Figures, OWN_NAME};

/// The number of runs that are compared bitwise.
const REPEATED_RUNS: usize = 3;

/// Operation computed.
#[derive(Debug, Clone)]
pub(crate) struct Product {
    /// The ways of evenpath, either all with the matrix or all with its transpose.
    pub(crate) ways: Vec<Way>,
    /// The operation of the peers.
    pub(crate) operation: Operation,
    /// α and β.
    pub(crate) factors: (f64, f64),
}

impl Product {
    /// y = Ax in these ways.
    pub(crate) fn direct(ways: Vec<Way>) -> Self {
        Self { ways, operation: Operation::Direct, factors: (1.0, 0.0) }
    }

    /// y = Aᵀx in these ways.
    pub(crate) fn transposed(ways: Vec<Way>) -> Self {
        Self { operation: Operation::Transposed, ..Self::direct(ways) }
    }
}

/// Errors of contenders.
enum Failure {
    Own(OpError),
    Peer(PeerError),
}

/// Measures a product.
///
/// # Errors
///
/// If there is not enough device memory for matrix and vectors, or the device was lost.
pub(crate) fn measure<V: PeerValue>(bench: &Bench<'_>, matrix: &Csr<V>, product: &Product) -> Measured {
    measure_by(bench, matrix, product, Way::prepare)
}

/// Measures a product of any type of values, real or complex, in ways that multiply CSR.
///
/// # Errors
///
/// Those of [`measure`], or if a way multiplies another format or the transpose.
pub(crate) fn measure_csr<V: PeerScalar>(bench: &Bench<'_>, matrix: &Csr<V>, product: &Product) -> Measured {
    if let Some(way) = product.ways.iter().find(|way| !way.is_of_csr()) {
        return Err(format!("{} takes no values of {}", way.name(), V::NAME).into());
    }
    measure_by(bench, matrix, product, |way, _, a| way.prepare_csr(a))
}

/// Prepares a way for the matrix, which is on the host and on the device.
type Prepare<V> = fn(&Way, &Csr<V>, &DeviceCsr<V>) -> Result<Ready<V>, OpError>;

fn measure_by<V: PeerScalar>(
    bench: &Bench<'_>,
    matrix: &Csr<V>,
    product: &Product,
    prepare: Prepare<V>,
) -> Measured {
    let Product { ways, operation, factors } = product;
    let (rows, cols) = operation.shape(matrix.nrows(), matrix.ncols());
    let real_factors = [factors.0, factors.1].map(V::Real::from_f64);
    let [alpha, beta] = real_factors.map(|factor| V::from_parts(factor, V::Real::from_f64(0.0)));
    let x: Vec<V> = random_scalars(cols, 1);
    // An element that is not written stays NaN.
    let nan = V::Real::from_f64(f64::NAN);
    let y = if beta == V::ZERO { vec![V::from_parts(nan, nan); rows] } else { random_scalars(rows, 2) };
    let transposed = (*operation == Operation::Transposed).then(|| matrix.transpose()).transpose()?;
    let mut reference = Reference::new(transposed.as_ref().unwrap_or(matrix), &x)?;
    if (alpha, beta) != (V::ONE, V::ZERO) {
        reference = reference.updating(real_factors[0], real_factors[1], &y)?;
    }

    let operands = SpmvOperands { alpha, x: &x, beta, y: &y };
    let on_gpu = bench.peers.spmv_problem(matrix, *operation, operands);
    let mut peers = bench.peers.prepare_spmv(on_gpu.as_ref(), matrix, *operation, operands);
    let (a, device_x) = (bench.device.upload(matrix)?, bench.device.upload(&x)?);
    let (host, factors, reference) = (matrix, (alpha, beta), &reference);
    let problem = Problem { bench, prepare, host, a, x: device_x, y: &y, factors, reference };
    let mut own: Vec<Result<Prepared<V>, OpError>> = ways.iter().map(|way| problem.prepare(way)).collect();
    let (own_times, peer_times) = problem.race(&mut own, &mut peers);

    let mut peer_times = peer_times.into_iter();
    let peers = peers.into_iter().map(|peer| {
        let run = run_of(peer, || peer_times.next().unwrap_or_else(|| unreachable!("one for each peer")));
        let largest_difference = run.outcome.as_ref().ok().and_then(|run| difference(reference, &run.result));
        Contender { largest_difference, ..contender(run, |result| reference.check(result)) }
    });
    let peers = peers.collect();
    let mut own_times = own_times.into_iter();
    let mut ours = Vec::new();
    for (way, prepared) in ways.iter().zip(own) {
        let measured = prepared.and_then(|prepared| {
            let times = own_times.next().unwrap_or_else(|| unreachable!("one for each that is prepared"))?;
            problem.contender(way, prepared, &times)
        });
        ours.push(match measured {
            Err(OpError::Device(lost)) => return Err(lost.into()),
            measured => measured.unwrap_or_else(|error| Contender::refused(OWN_NAME, way.name(), &error)),
        });
    }
    let work = work(matrix);
    let statistics = matrix.statistics();
    let more = [
        ("effective bytes", work.effective_bytes as f64),
        ("longest row", statistics.row_length_max as f64),
        ("deviation of row lengths", statistics.row_length_std_dev),
    ];
    let more = BTreeMap::from(more.map(|(name, value)| (name.to_owned(), value)));
    Ok(Figures::new((matrix.nnz() as u64, work.operations, work.bytes), ours, peers, more))
}

/// The largest absolute difference of a result, if it is finite.
fn difference<V: PeerScalar>(reference: &Reference, result: &[V]) -> Option<f64> {
    Some(reference.largest_difference(result)).filter(|difference| difference.is_finite())
}

/// The run of a peer's algorithm, given its times.
fn run_of<V: PeerScalar>(
    peer: PreparedPeer<'_, V>,
    times: impl FnOnce() -> Result<Times, PeerError>,
) -> PeerRun<Vec<V>> {
    peer.and_then(|mut ready| {
        let times = times()?;
        let (setup_ms, bytes) = (ready.preprocessing_ms, ready.workspace_bytes as u64);
        Ok(PeerTimes { times, values: None, setup_ms, bytes, result: ready.prepared.result()? })
    })
}

/// Operands on the device.
struct Problem<'c, V: PeerScalar> {
    bench: &'c Bench<'c>,
    prepare: Prepare<V>,
    host: &'c Csr<V>,
    a: DeviceCsr<V>,
    x: DeviceVec<V>,
    /// y before each checked run.
    y: &'c [V],
    /// α and β.
    factors: (V, V),
    reference: &'c Reference,
}

/// A way that is ready to run, and its y.
struct Prepared<V: PeerScalar> {
    ready: Ready<V>,
    y: DeviceVec<V>,
}

impl<V: PeerScalar> Problem<'_, V> {
    fn prepare(&self, way: &Way) -> Result<Prepared<V>, OpError> {
        let ready = (self.prepare)(way, self.host, &self.a)?;
        let mut y = self.bench.device.upload(self.y)?;
        // The first run also loads code.
        (ready.run)(self.factors, &self.x, &mut y)?;
        Ok(Prepared { ready, y })
    }

    /// The times of all that is prepared: evenpath's, and the peers'.
    #[allow(clippy::type_complexity)]
    fn race(
        &self,
        own: &mut [Result<Prepared<V>, OpError>],
        peers: &mut [PreparedPeer<'_, V>],
    ) -> (Vec<Result<Times, OpError>>, Vec<Result<Times, PeerError>>) {
        let own_count = own.iter().flatten().count();
        let mut contenders: Vec<Timed<'_, Failure>> = Vec::new();
        for Prepared { ready, y } in own.iter_mut().flatten() {
            contenders.push(Box::new(|runs| {
                let run = || (ready.run)(self.factors, &self.x, y);
                sampled(self.bench.device, run)(runs).map_err(Failure::Own)
            }));
        }
        for ready in peers.iter_mut().filter_map(|peer| peer.outcome.as_mut().ok()) {
            contenders.push(Box::new(|runs| ready.prepared.time_ms(runs).map_err(Failure::Peer)));
        }
        let (mut own_times, mut peer_times) = (Vec::new(), Vec::new());
        for (index, times) in self.bench.repetitions.interleaved(contenders).into_iter().enumerate() {
            match times {
                Err(Failure::Own(error)) => own_times.push(Err(error)),
                Err(Failure::Peer(error)) => peer_times.push(Err(error)),
                Ok(times) if index < own_count => own_times.push(Ok(times)),
                Ok(times) => peer_times.push(Ok(times)),
            }
        }
        (own_times, peer_times)
    }

    /// The contender that a way is. Its result is that of a run on the given y, which others repeat, the last by a new plan.
    fn contender(&self, way: &Way, prepared: Prepared<V>, times: &Times) -> Result<Contender, OpError> {
        let Prepared { mut ready, y } = prepared;
        drop(y);
        let result = self.result(&ready)?;
        let mut repeatable = true;
        for run in 0..REPEATED_RUNS {
            if run + 1 == REPEATED_RUNS && ready.stored.is_none() {
                ready.run = (self.prepare)(way, self.host, &self.a)?.run;
            }
            repeatable &= bits(&self.result(&ready)?) == bits(&result);
        }
        let mut checked = self.reference.check(&result);
        if way.is_ordered() && !repeatable {
            checked = checked.and(Err("differs from run to run".into()));
        }
        let (matrix_bytes, slots) = ready.stored.unzip();
        Ok(Contender {
            chosen: ready.chosen,
            reason: ready.reason,
            setup_ms: Some(ready.setup_ms),
            bytes: Some(ready.workspace_bytes),
            matrix_bytes,
            slots,
            repeatable: Some(repeatable),
            largest_difference: difference(self.reference, &result),
            ..Contender::ran(OWN_NAME, way.name(), times, checked)
        })
    }

    fn result(&self, ready: &Ready<V>) -> Result<Vec<V>, OpError> {
        let mut y = self.bench.device.upload(self.y)?;
        (ready.run)(self.factors, &self.x, &mut y)?;
        Ok(y.download()?)
    }
}

fn bits<V: PeerScalar>(values: &[V]) -> &[u8] {
    bytemuck::cast_slice(values)
}

#[cfg(test)]
mod tests {
    use evenpath::Device;
    use evenpath::device::SimulatedOptions;
    use evenpath::ell::PaddingLimit;
    use evenpath::spmv::SpmvMethod;

    use super::*;
    use crate::peers::Peers;

    #[test]
    fn every_way_gets_both_factors() {
        let matrix: Csr<f64> = Csr::from_triplets(3, 2, [(0, 0, 2.0), (0, 1, 1.0), (2, 1, -4.0)]).unwrap();
        for device in [Device::cpu(), Device::simulated(SimulatedOptions::default())] {
            let (peers, limit) = (Peers::default(), PaddingLimit::default());
            let bench = Bench::unlimited(&device, &peers, 2);
            let mut ways = Way::formats(limit);
            ways.extend([
                Way::method(SpmvMethod::MergePath),
                Way::anew(SpmvMethod::MergePath),
                Way::unplanned(),
            ]);
            for factors in [(1.0, 0.0), (2.0, -0.5), (0.0, 3.0), (-1.5, 0.0)] {
                let product = Product { factors, ..Product::direct(ways.clone()) };
                let figures = measure(&bench, &matrix, &product).unwrap();
                assert_eq!((figures.ours.len(), figures.verified), (12, Some(true)), "{figures:?}");
                assert!(figures.ours.iter().all(|own| own.error.is_none()), "{figures:?}");
            }
        }
    }

    /// A result in which one element is another product's is wrong.
    #[test]
    fn the_transpose_is_not_the_matrix() {
        let matrix: Csr<f64> = Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 1, 1.0)]).unwrap();
        let (device, peers) = (Device::cpu(), Peers::default());
        let ways = vec![Way::method(SpmvMethod::Auto)];
        let bench = Bench::unlimited(&device, &peers, 1);
        assert_eq!(measure(&bench, &matrix, &Product::direct(ways.clone())).unwrap().verified, Some(true));
        assert_eq!(measure(&bench, &matrix, &Product::transposed(ways)).unwrap().verified, Some(false));
    }
}
