//! Number of threads per block as an option.

use evenpath_simt::kernel::{Kernel, KernelInfo};

use super::OpError;
use crate::device::{Device, Launcher};

/// Launcher of the instance of a kernel that has `block_size` threads per block. `name` is the method or
/// format, for the error if there is none.
pub(crate) fn launcher<K: Kernel>(
    device: &Device,
    name: &'static str,
    block_size: u32,
    instances: impl Iterator<Item = &'static KernelInfo>,
) -> Result<Launcher<K>, OpError> {
    let mut supported = Vec::new();
    for info in instances {
        if info.block_size == block_size {
            return Ok(device.instance(info));
        }
        supported.push(info.block_size);
    }
    supported.sort_unstable();
    Err(OpError::BlockSize { name, block_size, supported })
}
