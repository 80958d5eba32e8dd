use evenpath_simt::kernel::Kernel;

use crate::device::{Device, Launcher};
use crate::op::spmv::method::SpmvMethod;
use crate::operand::{OpError, block_size};

/// The launcher of a method's instance with `block_size` threads per block, and one item for each thread.
pub(super) fn with_block_size<K: Kernel>(
    device: &Device,
    method: SpmvMethod,
    block_size: u32,
) -> Result<Launcher<K>, OpError> {
    let instances = K::variants("").filter(|info| info.items_per_thread == 1);
    block_size::launcher(device, method.name(), block_size, instances)
}
