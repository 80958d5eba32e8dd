//! A number of threads of the CPU, which publications compare with.

use std::error::Error;

use evenpath::error::OpError;
use evenpath::spmv::SpmvMethod;
use evenpath::{Csr, Device};
use rayon::ThreadPoolBuilder;

use super::bench::Bench;
use super::spmv::{self, Product, Way};
use crate::measure::Repetitions;
use crate::peers::{PeerValue, Peers};
use crate::results::Contender;

/// Runs on this many threads of the CPU.
///
/// # Errors
///
/// If the threads cannot be started, or the run fails.
pub(crate) fn on_threads<T: Send>(
    count: usize,
    run: impl FnOnce(&Device) -> Result<T, OpError> + Send,
) -> Result<T, Box<dyn Error>> {
    let pool = ThreadPoolBuilder::new().num_threads(count).build()?;
    Ok(pool.install(|| run(&Device::cpu()))?)
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
    let pool = ThreadPoolBuilder::new().num_threads(count).build()?;
    let measured = pool.install(|| {
        let (device, peers) = (Device::cpu(), Peers::default());
        let bench = Bench::unlimited(&device, &peers, repetitions);
        let product = Product::direct(vec![Way::method(method)]);
        spmv::measure(&bench, matrix, &product).map_err(|error| error.to_string())
    });
    Ok(measured?.ours.pop().ok_or("a product has one way")?)
}
