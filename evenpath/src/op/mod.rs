//! Operations on matrices and sequences in a device's memory: plan, launch, result.

mod device_csr;
mod error;
pub mod merge;
pub mod sets;
mod spmv;

pub use device_csr::DeviceCsr;
pub use error::OpError;
pub use spmv::{SpmvMethod, SpmvOptions, SpmvPlan, SpmvPlanInfo};

use evenpath_simt::kernel::{Kernel, KernelInfo};

/// Blocks of a grid, at most.
const MAX_GRID: u64 = i32::MAX as u64;

/// The one instance of a kernel for its types.
fn instance<K: Kernel>() -> &'static KernelInfo {
    match K::first() {
        Some(info) => info,
        None => unreachable!("the kernels' tables have an instance for every type"),
    }
}

/// Elements in a tile of a kernel.
fn tile_items(info: &KernelInfo) -> u32 {
    info.block_size * info.items_per_thread
}

/// Tiles of a kernel that `elements` make.
fn tile_count(info: &KernelInfo, elements: u64) -> Result<u32, OpError> {
    let tiles = elements.div_ceil(u64::from(tile_items(info)));
    if tiles < MAX_GRID {
        Ok(tiles as u32)
    } else {
        Err(OpError::TooManyElements { elements, tiles, limit: MAX_GRID })
    }
}
