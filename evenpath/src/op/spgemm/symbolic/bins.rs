use evenpath_kernels::spgemm::{CLASSES, COUNTERS, Class, SpgemmClassify, SpgemmListRows};

use evenpath_simt::Global;

use crate::device::DeviceVec;
use crate::op::{OpError, grid, instance, tile_count};

/// Rows up to this size are never done by windows.
pub(in crate::op::spgemm) const ALWAYS_HASH: u32 = 64;

/// Larger ones are if their span has at most this many columns per entry.
const COLUMNS_AN_ENTRY: u32 = 256;

/// The rows of C by the work that they take.
pub(in crate::op::spgemm) struct Bins {
    /// The bins that have rows.
    pub(in crate::op::spgemm) filled: Vec<Bin>,
    /// The rows, bin by bin; empty where all are in one.
    pub(in crate::op::spgemm) list: DeviceVec<u32>,
    /// Sum of all sizes.
    pub(in crate::op::spgemm) total: u64,
}

/// Rows of one class.
pub(in crate::op::spgemm) struct Bin {
    pub(in crate::op::spgemm) class: Class,
    /// The first in the list.
    pub(in crate::op::spgemm) start: u32,
    /// How many rows.
    pub(in crate::op::spgemm) rows: u32,
    /// The largest size.
    pub(in crate::op::spgemm) largest: u64,
    /// The widest span of columns.
    pub(in crate::op::spgemm) widest: u32,
}

impl Bins {
    /// Sorts rows into bins by their sizes and spans; waits for the device.
    pub(in crate::op::spgemm) fn find(
        sizes: &DeviceVec<u64>,
        firsts: &DeviceVec<u32>,
        lasts: &DeviceVec<u32>,
        rows: usize,
    ) -> Result<Self, OpError> {
        let device = sizes.device();
        let mut classes = device.uninitialized(rows)?;
        let mut counters = device.zeros(COUNTERS)?;
        let kernel = SpgemmClassify {
            sizes: sizes.as_global(),
            firsts: firsts.as_global(),
            lasts: lasts.as_global(),
            classes: classes.as_global_mut(),
            counters: counters.as_global_mut(),
            rows: rows as u32,
            always_hash: ALWAYS_HASH,
            columns_an_entry: COLUMNS_AN_ENTRY,
        };
        let info = instance::<SpgemmClassify>();
        // SAFETY: the views are of arrays with an element per row, and of the counters; buffers are freed in the stream's
        // order.
        unsafe { device.launch(kernel, info, tile_count("a matrix product", info, rows)?, 0) }?;
        let counts = counters.download()?;
        let mut start = 0;
        let filled: Vec<Bin> = (0..CLASSES)
            .map(|class| {
                let count = counts[3 * class] as u32;
                start += count;
                Bin {
                    class: Class::from_index(class),
                    start: start - count,
                    rows: count,
                    largest: counts[3 * class + 1],
                    widest: counts[3 * class + 2] as u32,
                }
            })
            .filter(|bin| bin.rows > 0)
            .collect();
        let total = counts[3 * CLASSES];
        if filled.len() <= 1 {
            return Ok(Self { filled, list: device.uninitialized(0)?, total });
        }
        let mut list = device.uninitialized(rows)?;
        let mut listed = device.zeros(CLASSES)?;
        let kernel = SpgemmListRows {
            classes: classes.as_global(),
            counters: counters.as_global(),
            listed: listed.as_global_mut(),
            list: list.as_global_mut(),
            rows: rows as u32,
        };
        let info = instance::<SpgemmListRows>();
        let blocks = grid(rows, 0, (rows as u64).div_ceil(u64::from(info.block_size)))?;
        // SAFETY: as above; the list has room for all rows.
        unsafe { device.launch(kernel, info, blocks, 0) }?;
        Ok(Self { filled, list, total })
    }
}

impl Bins {
    /// The rows of a bin, and whether they are listed.
    pub(in crate::op::spgemm) fn list(&self, bin: &Bin) -> (Global<u32>, u32) {
        self.list_from(bin.start)
    }

    /// The rows from the `start`th on, and whether they are listed.
    pub(in crate::op::spgemm) fn list_from(&self, start: u32) -> (Global<u32>, u32) {
        let is_listed = !self.list.is_empty();
        (self.list.as_global().skip(if is_listed { start as usize } else { 0 }), u32::from(is_listed))
    }
}
