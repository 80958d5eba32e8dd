//! Converts entries to a tree by queues, on the device (Derler 2016, chapter 3): binned top-down, filled bottom-up.

use std::sync::{Arc, OnceLock};

use evenpath_kernels::hisparse::binning::{
    BINNING_RESULTS, BinnedEntries, BinningQueues, DESCENTS, HiSparseBinEntries, HiSparseFillBinned,
    HiSparseStartBinning, INNER_WORDS, LEAF_WORDS, LEAVES, REFERENCE_OF_ROOT, Skeleton, UNITS, count_words,
};

use super::device::{Nodes, pool_view_mut};
use super::queues::{QueueMemory, capacity, grid};
use super::sorted_entries::SortedEntries;
use super::{QueuedOptions, tree};
use crate::Value;
use crate::device::{Device, DeviceVec};
use crate::matrix::hisparse::node::MAX_UNITS;
use crate::matrix::hisparse::tree::too_large;
use crate::matrix::hisparse::{self, Reference, Unit};
use crate::operand::OpError;

/// Entries per place of a queue.
const ENTRIES_PER_PLACE: usize = 8;
/// log2 of the maximum number of leaves that one warp fills.
const MAX_LEAVES_LOG2: u32 = 5;
/// Warps of a block of the kernel that fills.
const FILL_WARPS: usize = 4;

/// A conversion in progress.
struct Binning<const D: usize> {
    shape: (usize, usize),
    positions: DeviceVec<u64>,
    sources: DeviceVec<u32>,
    leaves: DeviceVec<u32>,
    inner: DeviceVec<u32>,
    results: DeviceVec<u64>,
}

impl<V: Value> SortedEntries<'_, V> {
    /// Builds the tree by queues; `None` if columns do not ascend in every row. `is_checked` means that they are known to ascend.
    /// Waits for the device twice.
    pub(super) fn convert_by_queues<const D: usize>(
        &self,
        is_checked: bool,
        options: QueuedOptions,
    ) -> Result<Option<Nodes>, OpError> {
        let device = self.cols.device();
        let (rows, cols) = self.shape;
        if self.cols.is_empty() {
            return tree::empty(device, rows, cols).map(Some);
        }
        let mut binning = Binning::<D>::new(device, self.shape, self.cols.len())?;
        binning.bin(self, options)?;
        let results = binning.results.first::<BINNING_RESULTS>()?;
        if !is_checked && results[DESCENTS] > 0 {
            return Ok(None);
        }
        // The first unit belongs to no node.
        let units = 1 + results[UNITS];
        if units > MAX_UNITS as u64 {
            return Err(too_large().into());
        }
        let mut pool = device.zeros::<Unit>(units as usize)?;
        binning.fill(self, results[LEAVES] as usize, &mut pool)?;
        let root = Reference(binning.results.first::<BINNING_RESULTS>()?[REFERENCE_OF_ROOT] as u32);
        let (nnz, level_sizes) = (self.cols.len(), OnceLock::new());
        Ok(Some(Nodes { rows, cols, nnz, pool: Arc::new(pool), root, level_sizes }))
    }
}

impl<const D: usize> Binning<D> {
    /// Allocates memory for the entries and all nodes that they may have.
    fn new(device: &Device, shape: (usize, usize), len: usize) -> Result<Self, OpError> {
        let (leaves, inner) = most_nodes::<D>(shape, len);
        if inner > u32::MAX as usize {
            let what = "numbering the inner nodes of a tree by its entries";
            let levels = hisparse::depth(shape.0, shape.1, D) - 1;
            return Err(OpError::TooLong { what, len, limit: u32::MAX as usize / levels });
        }
        Ok(Self {
            shape,
            positions: device.uninitialized(len)?,
            sources: device.uninitialized(len)?,
            leaves: device.uninitialized(leaves * LEAF_WORDS)?,
            inner: device.uninitialized(inner * INNER_WORDS)?,
            results: device.zeros(BINNING_RESULTS)?,
        })
    }

    fn skeleton(&mut self) -> Skeleton {
        Skeleton {
            leaves: self.leaves.as_global_mut(),
            inner: self.inner.as_global_mut(),
            results: self.results.as_global_mut(),
            height: hisparse::depth(self.shape.0, self.shape.1, D) as u32 - 1,
        }
    }

    /// Bins the entries, and makes the skeleton.
    fn bin<V: Value>(
        &mut self,
        matrix: &SortedEntries<'_, V>,
        options: QueuedOptions,
    ) -> Result<(), OpError> {
        let (device, len) = (matrix.cols.device(), matrix.cols.len());
        let mut moved_positions = device.uninitialized::<u64>(len)?;
        let mut moved_sources = device.uninitialized::<u32>(len)?;
        let mut counts = device.uninitialized::<u32>(count_words(len, D.ilog2()))?;
        let mut queues =
            QueueMemory::<BinningQueues>::new(device, capacity(options, len, ENTRIES_PER_PLACE))?;
        let entries = BinnedEntries {
            positions: self.positions.as_global_mut(),
            sources: self.sources.as_global_mut(),
            moved_positions: moved_positions.as_global_mut(),
            moved_sources: moved_sources.as_global_mut(),
            d_log2: D.ilog2(),
        };
        let launch = device.kernel().threads(len)?;
        let kernel = HiSparseStartBinning {
            row_indices: matrix.rows.as_global(),
            column_indices: matrix.cols.as_global(),
            len: len as u32,
            entries,
            skeleton: self.skeleton(),
        };
        // SAFETY: there is room for all entries and the root, and the results are zero. All are on this device, and buffers are
        // freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        let launch = grid(device.kernel(), options, len)?;
        let kernel = HiSparseBinEntries {
            entries,
            skeleton: self.skeleton(),
            counts: counts.as_global_mut(),
            value_bytes: V::SIZE as u32,
            queues: queues.next_run()?,
        };
        // SAFETY: there is room for all nodes that the entries may have, and for the counts. The queues are new. The rest is as
        // above.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }

    /// Writes the nodes of the skeleton, of which `leaves` are leaves, to the pool.
    fn fill<V: Value>(
        &mut self,
        matrix: &SortedEntries<'_, V>,
        leaves: usize,
        pool: &mut DeviceVec<Unit>,
    ) -> Result<(), OpError> {
        let device = matrix.cols.device();
        let launcher = device.kernel();
        // Where leaves are few, each has a warp.
        let warps = launcher.resident_blocks()? as usize * FILL_WARPS;
        let leaves_log2 = (leaves / warps).checked_ilog2().unwrap_or(0).min(MAX_LEAVES_LOG2);
        let launch = launcher.warps(leaves.div_ceil(1 << leaves_log2))?;
        let kernel = HiSparseFillBinned {
            entries: BinnedEntries {
                positions: self.positions.as_global_mut(),
                sources: self.sources.as_global_mut(),
                // The entries are not moved any more.
                moved_positions: self.positions.as_global_mut(),
                moved_sources: self.sources.as_global_mut(),
                d_log2: D.ilog2(),
            },
            values: matrix.values.as_global(),
            skeleton: self.skeleton(),
            pool: pool_view_mut(pool),
            leaves: leaves as u32,
            leaves_log2,
        };
        // SAFETY: the skeleton is that of these entries, whose numbers are those of values, and the pool has room for its nodes.
        // There is a warp for every group of leaves. All are on this device, and buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }
}

/// The largest numbers of leaves and of inner nodes that the tree of `len` entries can have.
fn most_nodes<const D: usize>((rows, cols): (usize, usize), len: usize) -> (usize, usize) {
    let depth = hisparse::depth(rows, cols, D) as u32;
    let most = |height: u32| {
        let side = |len: usize| (len as u64).div_ceil((D as u64).pow(height + 1));
        side(rows).saturating_mul(side(cols)).min(len as u64) as usize
    };
    (most(0), (1..depth).map(most).sum())
}
