use evenpath_kernels::spgemm::{CLASSES, Class, RowList, Spans, SpgemmClassify, SpgemmListRows};

use super::zeroed::CountWords;
use crate::device::{Device, DeviceSlice, DeviceVec};
use crate::operand::OpError;

/// Rows up to this size never use windows.
pub(in crate::op::spgemm) const ALWAYS_HASH: u32 = 64;

/// Larger rows do if their span has at most this many columns per entry.
pub(super) const COLUMNS_AN_ENTRY: u32 = 256;

/// Threads of a block for a row that uses windows, by the class of its size.
pub(super) const WINDOW_BLOCKS: [u32; 4] = [32, 128, 128, 512];

/// The rows of C by their work.
pub(in crate::op::spgemm) struct Bins {
    /// The bins that have rows.
    pub(in crate::op::spgemm) filled: Vec<Bin>,
    /// The rows, bin by bin; empty if all are in one bin.
    pub(in crate::op::spgemm) list: DeviceVec<u32>,
    /// Sum of all sizes.
    pub(in crate::op::spgemm) total: u64,
}

/// Rows of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::op::spgemm) struct Bin {
    pub(in crate::op::spgemm) class: Class,
    /// The number of the class, by size and span.
    pub(in crate::op::spgemm) number: u32,
    /// The index in the list of the first row.
    pub(in crate::op::spgemm) start: u32,
    /// The number of rows.
    pub(in crate::op::spgemm) rows: u32,
    /// The largest size.
    pub(in crate::op::spgemm) largest: u64,
    /// The widest span of columns.
    pub(in crate::op::spgemm) widest: u32,
}

impl Bins {
    /// Sorts rows into bins by their sizes and spans; waits for the device.
    pub(super) fn find(
        sizes: &DeviceSlice<u64>,
        spans: Spans,
        rows: usize,
        mut words: CountWords<'_>,
    ) -> Result<Self, OpError> {
        let device = sizes.device();
        let mut classes = device.uninitialized(rows)?;
        let launch = device.kernel().items(rows)?;
        let kernel = SpgemmClassify {
            sizes: sizes.as_global(),
            spans,
            classes: classes.as_global_mut(),
            counters: words.counters(),
            rows: rows as u32,
            always_hash: ALWAYS_HASH,
            columns_an_entry: COLUMNS_AN_ENTRY,
        };
        // SAFETY: the views are of arrays with an element per row, and of the counters; buffers are freed in the stream's
        // order.
        unsafe { launch.launch(kernel) }?;
        let counts = words.download()?;
        let mut start = 0;
        let filled: Vec<Bin> = (0..CLASSES)
            .map(|class| {
                let count = counts[3 * class] as u32;
                start += count;
                Bin {
                    class: Class::from_index(class),
                    number: class as u32,
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
        let launch = device.kernel().threads(rows)?;
        let kernel = SpgemmListRows {
            classes: classes.as_global(),
            counters: words.counted(),
            listed: words.listed(),
            list: list.as_global_mut(),
            rows: rows as u32,
        };
        // SAFETY: as above; the list has room for all rows.
        unsafe { launch.launch(kernel) }?;
        Ok(Self { filled, list, total })
    }
}

/// Rows for each multiprocessor up to which windows of several classes share a launch: four for each block that it runs at once.
const SHARED_LAUNCH_ROWS: u32 = 32;

/// The bins as they are launched on a device with this number of multiprocessors. Window bins of the same block size are joined
/// if they have few rows, so that no bin waits for the longest rows of the one before.
fn launches(bins: &[Bin], multiprocessors: u32) -> Vec<Bin> {
    let most_rows = SHARED_LAUNCH_ROWS.saturating_mul(multiprocessors);
    let mut launches: Vec<Bin> = Vec::new();
    for bin in bins {
        match launches.last_mut() {
            Some(last) if may_join(last, bin) && last.rows + bin.rows <= most_rows => {
                *last = Bin {
                    class: bin.class,
                    number: bin.number,
                    start: last.start,
                    rows: last.rows + bin.rows,
                    largest: last.largest.max(bin.largest),
                    widest: last.widest.max(bin.widest),
                };
            }
            _ => launches.push(*bin),
        }
    }
    launches
}

/// Returns whether both are of classes of windows, which blocks of the same size take, and follow each other in the list.
fn may_join(one: &Bin, other: &Bin) -> bool {
    match (one.class, other.class) {
        (Class::Window { size_class: one_class }, Class::Window { size_class: other_class }) => {
            WINDOW_BLOCKS[one_class] == WINDOW_BLOCKS[other_class] && one.start + one.rows == other.start
        }
        _ => false,
    }
}

impl Bins {
    /// The bins that have rows, as they are launched.
    pub(in crate::op::spgemm) fn launches(&self, device: &Device) -> Vec<Bin> {
        launches(&self.filled, device.properties().multiprocessors)
    }

    /// The rows of a bin.
    pub(in crate::op::spgemm) fn rows(&self, bin: &Bin) -> RowList {
        self.rows_from(bin.start, bin.rows)
    }

    /// `len` rows from the `start`th on.
    pub(in crate::op::spgemm) fn rows_from(&self, start: u32, len: u32) -> RowList {
        let is_listed = !self.list.is_empty();
        let rows = self.list.as_global().skip(if is_listed { start as usize } else { 0 });
        RowList { rows, len, is_listed: u32::from(is_listed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_of_windows_with_the_same_blocks_share_a_launch() {
        let bin =
            |class, start, rows, largest, widest| Bin { class, number: 9, start, rows, largest, widest };
        let window = |size_class| Class::Window { size_class };
        let bins = [
            bin(Class::Hash { size: 64 }, 0, 5, 60, 900),
            bin(window(0), 5, 7, 200, 100),
            bin(window(1), 12, 100, 1000, 9000),
            bin(window(1), 112, 20, 900, 40_000),
            bin(window(2), 132, 8, 4000, 3000),
            bin(window(3), 140, 1, 90_000, 70_000),
        ];
        let together = bin(window(2), 12, 128, 4000, 40_000);
        assert_eq!(launches(&bins, 4), [bins[0], bins[1], together, bins[5]]);
        assert_eq!(launches(&bins, 1)[2..4], [bins[2], bin(window(2), 112, 28, 4000, 40_000)]);
        assert_eq!(launches(&bins, 0), bins);
        assert_eq!(launches(&[], 4), []);
        // Rows between them were taken out.
        let apart = [bins[2], bin(window(2), 132, 8, 4000, 3000)];
        assert_eq!(launches(&apart, 4), apart);
    }
}
