//! Launch configurations for classes of rows.

use evenpath_kernels::spgemm::{WINDOW_COLUMNS, hash_shared_bytes, window_shared_bytes};
use evenpath_simt::kernel::{Kernel, KernelInfo};

use super::bins::{Bin, WINDOW_BLOCKS};
use crate::device::{Device, DeviceError, Launch, Launcher};

/// Approximate limit for the shared memory of a block's hash tables, in bytes: several blocks have room.
const TABLES_BYTES: u32 = 49152;

/// Limit for the shared memory of a block with sums, in bytes: two blocks have room on a multiprocessor.
const SUMS_BYTES: u32 = 110 << 10;

/// Shared memory of a block, in bytes, above which a launch asks for as much as all blocks take that fit on a multiprocessor: those that
/// need an explicit request are not left to the driver's division between shared memory and L1.
const DIVIDED_BYTES: u32 = 48 << 10;

/// The configuration for rows that use hash tables.
pub(in crate::op::spgemm) struct HashShape {
    pub(in crate::op::spgemm) lanes_log2: u32,
    pub(in crate::op::spgemm) table_log2: u32,
    pub(in crate::op::spgemm) shared_bytes: u32,
}

impl HashShape {
    pub(in crate::op::spgemm) fn new(bin: &Bin, mean: f64, info: &KernelInfo, value_bytes: u32) -> Self {
        let table_log2 = (bin.largest * 3 / 2 + 1).next_power_of_two().ilog2().max(5);
        let shared = |lanes_log2| hash_shared_bytes(info.block_size, lanes_log2, table_log2, value_bytes);
        let mut lanes_log2 = lanes_log2(mean, 2, 5);
        while lanes_log2 < 5 && shared(lanes_log2) > TABLES_BYTES {
            lanes_log2 += 1;
        }
        Self { lanes_log2, table_log2, shared_bytes: shared(lanes_log2) }
    }

    /// A launch for the rows of a bin.
    pub(in crate::op::spgemm) fn launch<K: Kernel>(
        &self,
        launcher: Launcher<K>,
        bin: &Bin,
    ) -> Result<Launch<K>, DeviceError> {
        let block_rows = launcher.info().block_size >> self.lanes_log2;
        launcher.shared_bytes(self.shared_bytes).blocks(bin.rows.div_ceil(block_rows) as usize)
    }
}

/// The configuration for rows that use windows.
pub(in crate::op::spgemm) struct WindowShape {
    pub(in crate::op::spgemm) packets: u32,
    pub(in crate::op::spgemm) sums: u32,
    pub(in crate::op::spgemm) lanes_log2: u32,
    pub(in crate::op::spgemm) shared_bytes: u32,
}

impl WindowShape {
    pub(in crate::op::spgemm) fn new(
        device: &Device,
        bin: &Bin,
        mean: f64,
        info: &KernelInfo,
        value_bytes: u32,
        offset_bytes: u32,
    ) -> Self {
        let block = info.block_size;
        let shared = |packets, sums| window_shared_bytes(block, packets, sums, value_bytes, offset_bytes);
        let limit = device.properties().shared_bytes();
        let packet_bytes = shared(1, 0) - shared(0, 0);
        let most_packets = (limit - shared(0, 0)) / packet_bytes;
        let packets = bin.widest.div_ceil(WINDOW_COLUMNS).clamp(1, most_packets);
        let room = sums_bytes(device).saturating_sub(shared(packets, 0));
        let sums =
            room.checked_div(value_bytes).unwrap_or(0).min(u32::try_from(bin.largest).unwrap_or(u32::MAX));
        let lanes_log2 = lanes_log2(mean, block.ilog2() - 5, block.ilog2());
        Self { packets, sums, lanes_log2, shared_bytes: shared(packets, sums) }
    }

    /// A launch for the rows of a bin.
    pub(in crate::op::spgemm) fn launch<K: Kernel>(
        &self,
        launcher: Launcher<K>,
        bin: &Bin,
    ) -> Result<Launch<K>, DeviceError> {
        let launch = launcher.shared_bytes(self.shared_bytes).blocks(bin.rows as usize)?;
        Ok(if self.shared_bytes > DIVIDED_BYTES { launch.room_for(u32::MAX) } else { launch })
    }
}

/// The limit in bytes for the shared memory of a block that has its sums there.
pub(in crate::op::spgemm) fn sums_bytes(device: &Device) -> u32 {
    SUMS_BYTES.min(device.properties().shared_bytes())
}

/// log2 of the lanes for rows of a mean length, within limits.
pub(in crate::op::spgemm) fn lanes_log2(mean: f64, least: u32, most: u32) -> u32 {
    (mean.min(1e9).ceil() as u32).next_power_of_two().ilog2().clamp(least, most)
}

/// The instance for rows of a class of sizes.
pub(in crate::op::spgemm) fn window_instance<K: Kernel>(size_class: usize) -> &'static KernelInfo {
    block_instance::<K>(WINDOW_BLOCKS[size_class])
}

/// The instance with blocks of `block` threads.
pub(in crate::op::spgemm) fn block_instance<K: Kernel>(block: u32) -> &'static KernelInfo {
    match K::instance(block, 1) {
        Some(info) => info,
        None => unreachable!("the kernel's table has blocks of {block} threads"),
    }
}
