//! A number of threads of the CPU, which publications compare with.

use std::error::Error;

use evenpath::spmv::SpmvMethod;
use evenpath::{Csr, Device};
use rayon::ThreadPoolBuilder;

use super::bench::{Bench, Measured};
use super::spmv::{self, Product, Way};
use crate::measure::Repetitions;
use crate::peers::{PeerValue, Peers};
use crate::results::{Contender, Figures};

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
