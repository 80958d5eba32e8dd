//! The CPU that publications compare with.

use std::error::Error;

use evenpath::Device;
use evenpath::error::OpError;
use rayon::ThreadPoolBuilder;

/// Runs on this many threads of the CPU.
///
/// # Errors
///
/// If the threads cannot be started, or the run fails.
pub(super) fn on_threads<T: Send>(
    count: usize,
    run: impl FnOnce(&Device) -> Result<T, OpError> + Send,
) -> Result<T, Box<dyn Error>> {
    let pool = ThreadPoolBuilder::new().num_threads(count).build()?;
    Ok(pool.install(|| run(&Device::cpu()))?)
}
