//! Rows of C that are computed elsewhere.

use evenpath_kernels::spgemm::{SpgemmPlaceLengths, SpgemmTakeRows};

use super::bins::{ALWAYS_HASH, COLUMNS_AN_ENTRY};
use super::rows::ClassifiedRows;
use crate::device::{DeviceSlice, DeviceVec, Kernels};
use crate::operand::OpError;

/// The kernels of rows that are computed elsewhere, to be compiled ahead.
pub(in crate::op::spgemm) fn kernels() -> Kernels {
    Kernels::default().and::<SpgemmTakeRows>().and::<SpgemmPlaceLengths>()
}

/// Rows of C that were taken out of the analysis.
pub(in crate::op::spgemm) struct TakenRows {
    /// The rows, ascending.
    pub(in crate::op::spgemm) list: DeviceVec<u32>,
    /// Their products.
    pub(in crate::op::spgemm) products: u64,
}

/// Rows of C whose lengths are known.
pub(in crate::op::spgemm) struct GivenRows<'g> {
    /// The rows.
    pub(in crate::op::spgemm) list: &'g DeviceSlice<u32>,
    /// Their offsets, one more.
    pub(in crate::op::spgemm) offsets: &'g DeviceSlice<u64>,
    /// Their entries.
    pub(in crate::op::spgemm) nonzeros: u64,
}

impl TakenRows {
    /// Lists the rows of the classes that have a bit, and sets their sizes to zero; waits for the device.
    pub(super) fn take(
        sizes: &mut DeviceSlice<u64>,
        rows: &ClassifiedRows,
        classes: u32,
    ) -> Result<Self, OpError> {
        let device = sizes.device().clone();
        let is_taken = |number: u32| classes >> number & 1 != 0;
        let bins = rows.bins.filled.iter().filter(|bin| is_taken(bin.number));
        let mut list = device.uninitialized(bins.map(|bin| bin.rows as usize).sum())?;
        let all = rows.firsts.len();
        let launch = device.kernel().threads(all)?;
        let mut states = device.zeros(launch.grid() as usize + 2)?;
        let kernel = SpgemmTakeRows {
            sizes: sizes.as_global_mut(),
            spans: rows.spans(),
            taken: list.as_global_mut(),
            states: states.as_global_mut(),
            classes,
            rows: all as u32,
            always_hash: ALWAYS_HASH,
            columns_an_entry: COLUMNS_AN_ENTRY,
        };
        // SAFETY: there is a size and a span for each row, room for all rows of the classes, and the states of the blocks, all
        // zero; buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(Self { list, products: states.get(0)? })
    }
}

impl GivenRows<'_> {
    /// Writes the lengths of the rows.
    pub(super) fn place_lengths(&self, lengths: &mut DeviceSlice<u64>) -> Result<(), OpError> {
        let launch = lengths.device().kernel().threads(self.list.len())?;
        let kernel = SpgemmPlaceLengths {
            list: self.list.as_global(),
            offsets: self.offsets.as_global(),
            lengths: lengths.as_global_mut(),
            len: self.list.len() as u32,
        };
        // SAFETY: the list has rows of C, each once, and there is an offset more; buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }
}
