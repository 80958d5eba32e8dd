use evenpath_kernels::spgemm::{CLASSES, COUNTERS, Class, SpgemmClassify, SpgemmListRows};

use crate::device::DeviceVec;
use crate::op::{OpError, grid, instance, tile_count};

/// Rows up to this size are never done by windows.
pub(super) const ALWAYS_HASH: u32 = 64;

/// Larger ones are if their span has no more columns than this an entry.
const COLUMNS_AN_ENTRY: u32 = 256;

/// Rows by what they take.
pub(super) struct Bins {
    /// Those that are not empty.
    pub(super) filled: Vec<Bin>,
    /// Rows of one bin after the other; nothing where all are of one.
    pub(super) list: DeviceVec<u32>,
    /// Sum of all sizes.
    pub(super) total: u64,
}

/// Rows of one class.
pub(super) struct Bin {
    pub(super) class: Class,
    /// The first in the list.
    pub(super) start: u32,
    /// How many they are.
    pub(super) rows: u32,
    /// The largest size.
    pub(super) largest: u64,
    /// The widest span of columns.
    pub(super) widest: u32,
}

impl Bins {
    /// Sorts rows into bins by their sizes and spans; waits for the device.
    pub(super) fn find(
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
        // SAFETY: the views are of arrays with an element a row, and of the counters; buffers are freed in the stream's
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
