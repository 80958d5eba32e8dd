//! A number of threads of the CPU, which publications compare with.

use std::collections::BTreeMap;
use std::error::Error;

use evenpath::spmv::{SpmvMethod, SpmvOptions};
use evenpath::{Csr, Device};
use rayon::ThreadPoolBuilder;

use super::bench::{Bench, Measured};
use super::spmv::{self, Product, Reference, Way, work};
use crate::input::random_vector;
use crate::measure::{Repetitions, times_ms};
use crate::peers::{PeerValue, Peers};
use crate::results::{Contender, Figures, OWN_NAME};

/// Measures on this many threads of the CPU, without peers.
///
/// # Errors
///
/// If the threads cannot be started, or the measurement fails.
pub(crate) fn on_threads(
    count: usize,
    repetitions: Repetitions,
    measure: impl FnOnce(&Bench<'_>) -> Measured + Send,
) -> Result<Figures, Box<dyn Error>> {
    let pool = ThreadPoolBuilder::new().num_threads(count).build()?;
    let measured = pool.install(|| {
        let (device, peers) = (Device::cpu(), Peers::default());
        measure(&Bench::unlimited(&device, &peers, repetitions)).map_err(|error| error.to_string())
    });
    Ok(measured?)
}

/// y = Ax by a method on this many threads of the CPU.
///
/// # Errors
///
/// If the threads cannot be started, or the product fails.
pub(crate) fn spmv_on_threads<V: PeerValue>(
    count: usize,
    matrix: &Csr<V>,
    method: SpmvMethod,
    repetitions: Repetitions,
) -> Result<Contender, Box<dyn Error>> {
    let product = Product::direct(vec![Way::method(method)]);
    let mut figures = on_threads(count, repetitions, |bench| spmv::measure(bench, matrix, &product))?;
    Ok(figures.ours.pop().ok_or("a product has one way")?)
}

/// y = Ax with x, y and sums in double precision on this many threads of the CPU.
///
/// # Errors
///
/// If the threads cannot be started, or the product fails.
pub(crate) fn spmv_mixed_on_threads(
    count: usize,
    matrix: &Csr<f32>,
    repetitions: Repetitions,
) -> Result<Contender, Box<dyn Error>> {
    let mut figures = on_threads(count, repetitions, |bench| {
        let host_x = random_vector::<f64>(matrix.ncols(), 1);
        let reference = Reference::new(&matrix.clone().into_values::<f64>(), &host_x)?;
        let x = bench.device.upload(&host_x)?;
        let mut y = bench.device.zeros(matrix.nrows())?;
        let plan = bench.device.upload(matrix)?.plan_spmv_mixed(SpmvOptions::default())?;
        let times = times_ms(bench.device, bench.repetitions, || plan.run(1.0, &x, 0.0, &mut y))?;
        let ran = Contender::ran(OWN_NAME, "mixed", &times, reference.check(&y.download()?));
        let work = work(matrix);
        let work = (matrix.nnz() as u64, work.operations, work.bytes);
        Ok(Figures::new(work, vec![ran], Vec::new(), BTreeMap::new()))
    })?;
    Ok(figures.ours.pop().ok_or("a product has one way")?)
}
