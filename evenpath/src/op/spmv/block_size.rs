//! Threads per block, where the options give them.

use evenpath_simt::kernel::Kernel;

use super::{SpmvMethod, SpmvOptions};
use crate::device::{Device, Launcher};
use crate::op::OpError;

/// The number of threads per block that is asked for, if the method takes one.
pub(super) fn check(options: SpmvOptions) -> Result<Option<u32>, OpError> {
    let SpmvOptions { method, block_size, .. } = options;
    match block_size {
        Some(threads) if !method.takes_block_size() => Err(unsupported(method, threads, Vec::new())),
        block_size => Ok(block_size),
    }
}

/// The method's instance of `threads` threads per block, with one item per thread.
pub(super) fn launcher<K: Kernel>(
    device: &Device,
    method: SpmvMethod,
    threads: u32,
) -> Result<Launcher<K>, OpError> {
    let instances = || K::variants("").filter(|info| info.items_per_thread == 1);
    match instances().find(|info| info.block_size == threads) {
        Some(info) => Ok(device.instance(info)),
        None => Err(unsupported(method, threads, instances().map(|info| info.block_size).collect())),
    }
}

/// That there is no such kernel.
fn unsupported(method: SpmvMethod, block_size: u32, supported: Vec<u32>) -> OpError {
    OpError::BlockSize { kernel: method.name(), block_size, supported }
}
