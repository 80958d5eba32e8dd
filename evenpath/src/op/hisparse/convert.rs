//! Converts CSR and COO to trees, on the device.
//!
//! In a row of a canonical matrix, the entries of one leaf are consecutive: a run. Runs are found, and sorted stably by the
//! paths of their leaves, so that those of a leaf are ordered by row. Then the levels on which the paths of two consecutive
//! runs differ determine which nodes begin, on all levels at once.

use evenpath_kernels::Key as KernelKey;
use evenpath_kernels::hisparse::{
    self as kernels, HiSparseCountNodes, HiSparseCountRuns, HiSparseFillLeaves, HiSparseLevelStarts,
    HiSparseNumberEntries, HiSparseWriteNodes, HiSparseWriteRuns,
};

use super::device::{Content, DeviceHiSparse, Nodes, pool_view_mut};
use super::tree::{self, Shape};
use crate::device::{Device, DeviceKind, DeviceVec, Kernels};
use crate::matrix::hisparse::node::MAX_UNITS;
use crate::matrix::hisparse::tree::too_large;
use crate::matrix::hisparse::{self};
use crate::op::radix_sort::pair_kernels;
use crate::op::scan::{Operator, Scan, sum_kernel};
use crate::op::sort::{SortKey, SortOptions, sort_pairs_in_place};
use crate::op::{DeviceCoo, DeviceCsr, OpError, transpose};
use crate::{HiSparseOptions, Offset, Value};

/// The largest number of entries that the device converts. With more, the values alone exceed what references can address.
const MAX_ENTRIES: usize = (1 << 32) - (1 << 16);

impl<V: Value, O: Offset> DeviceCsr<V, O> {
    /// Converts to [`DeviceHiSparse`] with D × D nodes. Duplicates are summed. The result is bitwise the same as that of
    /// [`Csr::to_hisparse`](crate::Csr::to_hisparse) on the host.
    ///
    /// The device converts canonical matrices (Derler, *HiSparse: A Hierarchical Sparse Matrix Format for the GPU*, 2016,
    /// chapter 3, from sorted runs of a row's entries in a leaf). Other matrices, and conversions that
    /// [share](HiSparseOptions::share) equal subtrees, go through the host. Takes 4 bytes per nonzero, up to 32 bytes per
    /// run and 20 bytes per node of temporary memory, besides the matrix and the tree.
    ///
    /// ```
    /// use evenpath::hisparse::HiSparseOptions;
    /// use evenpath::{Csr, Device};
    ///
    /// let a: Csr<f64> = Csr::from_triplets(300, 300, [(0, 0, 1.0), (0, 299, 2.0), (299, 299, 3.0)])?;
    /// let tree = Device::cpu().upload(&a)?.to_hisparse::<32>(HiSparseOptions::default())?;
    /// assert_eq!((tree.nnz(), tree.pool_bytes()), (3, 16 + 32 + 3 * 16));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the nodes take more than 16 GiB ([`MatrixError::PoolTooLarge`](crate::MatrixError::PoolTooLarge)), there is not
    /// enough memory, or the device was lost.
    pub fn to_hisparse<const D: usize>(
        &self,
        options: HiSparseOptions,
    ) -> Result<DeviceHiSparse<V, D>, OpError> {
        let (device, pattern, values) = (self.device(), self.pattern(), self.values());
        if let (DeviceKind::Cpu, Some(view)) = (device.kind(), pattern.host_view(&values)) {
            return Ok(DeviceHiSparse::from_content(device, Content::Host(view.to_hisparse(options)?)));
        }
        if !options.share && self.nnz() <= MAX_ENTRIES {
            let rows = transpose::row_indices(self)?;
            let entries = Entries {
                shape: (self.rows(), self.cols()),
                rows: &rows,
                cols: &pattern.column_indices,
                values: &values,
            };
            let is_checked = pattern.canonical.get().is_some();
            if let Some(nodes) = entries.convert::<D>(is_checked)? {
                // Another thread may have set it meanwhile, to the same value.
                let _ = pattern.canonical.set(());
                return Ok(DeviceHiSparse::from_content(device, Content::Machine(nodes)));
            }
        }
        Ok(device.upload(&self.download()?.to_hisparse::<D>(options)?)?)
    }
}

impl<V: Value> DeviceCoo<V> {
    /// Converts to [`DeviceHiSparse`] with D × D nodes. Duplicates are summed. Otherwise as [`DeviceCsr::to_hisparse`].
    ///
    /// # Errors
    ///
    /// As for [`DeviceCsr::to_hisparse`].
    pub fn to_hisparse<const D: usize>(
        &self,
        options: HiSparseOptions,
    ) -> Result<DeviceHiSparse<V, D>, OpError> {
        let device = self.device();
        if device.kind() != DeviceKind::Cpu && !options.share && self.nnz() <= MAX_ENTRIES {
            let (rows, cols, values) = self.arrays();
            let entries = Entries { shape: (self.rows(), self.cols()), rows, cols, values };
            if let Some(nodes) = entries.convert::<D>(false)? {
                return Ok(DeviceHiSparse::from_content(device, Content::Machine(nodes)));
            }
        }
        Ok(device.upload(&self.to_csr::<u64>()?.download()?.to_hisparse::<D>(options)?)?)
    }
}

/// Entries of a matrix on a machine, sorted by row; at most [`MAX_ENTRIES`].
struct Entries<'m, V: Value> {
    shape: (usize, usize),
    rows: &'m DeviceVec<u32>,
    cols: &'m DeviceVec<u32>,
    values: &'m DeviceVec<V>,
}

/// Runs sorted by the paths of their leaves.
pub(super) struct SortedRuns<K: SortKey> {
    pub(super) keys: DeviceVec<K>,
    pub(super) runs: DeviceVec<u64>,
}

/// The nodes that the runs form.
pub(super) struct RunNodes {
    pub(super) shape: Shape,
    /// The number of each node's first child or entry.
    firsts: DeviceVec<u32>,
    /// The leaf of each run, and the number of the run's first entry.
    leaves: DeviceVec<u32>,
    places: DeviceVec<u32>,
}

/// The kernels that sort runs and build a tree from them, for compilation ahead of use.
pub(super) fn run_kernels<K: SortKey + KernelKey>() -> Kernels {
    tree::kernels()
        .and_all(pair_kernels::<K, u64>())
        .and_all(sum_kernel::<u32>())
        .and_all(sum_kernel::<u64>())
        .and::<HiSparseCountNodes<K>>()
        .and::<HiSparseLevelStarts>()
        .and::<HiSparseWriteNodes<K>>()
        .and::<HiSparseNumberEntries>()
}

/// The kernels of a conversion, to be compiled ahead.
fn conversion_kernels<V: Value, K: SortKey + KernelKey>() -> Kernels {
    run_kernels::<K>().and::<HiSparseCountRuns>().and::<HiSparseFillLeaves<V>>().and::<HiSparseWriteRuns<K>>()
}

impl<V: Value> Entries<'_, V> {
    /// The tree; `None` if columns do not ascend in every row. `is_checked` means that they are known to ascend.
    fn convert<const D: usize>(&self, is_checked: bool) -> Result<Option<Nodes>, OpError> {
        let device = self.cols.device();
        let (rows, cols) = self.shape;
        if self.cols.is_empty() {
            return tree::empty(device, rows, cols).map(Some);
        }
        let bits = path_bits::<D>(rows, cols);
        device.prepare(if bits <= u32::BITS {
            conversion_kernels::<V, u32>
        } else {
            conversion_kernels::<V, u64>
        })?;
        let Some(ends) = self.count_runs::<D>(is_checked)? else { return Ok(None) };
        if bits <= u32::BITS {
            self.convert_runs::<u32, D>(&ends, bits)
        } else {
            self.convert_runs::<u64, D>(&ends, bits)
        }
        .map(Some)
    }

    /// A view of the entries' positions, for nodes of `d_log2`.
    fn view(&self, d_log2: u32) -> kernels::Entries {
        kernels::Entries {
            row_indices: self.rows.as_global(),
            column_indices: self.cols.as_global(),
            len: self.cols.len() as u32,
            d_log2,
        }
    }

    /// The number of runs of each tile of entries and all before it; `None` if columns do not ascend.
    fn count_runs<const D: usize>(&self, is_checked: bool) -> Result<Option<DeviceVec<u32>>, OpError> {
        let device = self.cols.device();
        let launch = device.kernel().items(self.cols.len())?;
        let mut counts = device.uninitialized::<u32>(launch.grid() as usize)?;
        let mut descents = device.zeros::<u32>(1)?;
        let kernel = HiSparseCountRuns {
            entries: self.view(D.ilog2()),
            counts: counts.as_global_mut(),
            descents: descents.as_global_mut(),
        };
        // SAFETY: the arrays of rows and columns have equal length, and there is a count for each tile; all are on this
        // device.
        unsafe { launch.launch(kernel) }?;
        if !is_checked && descents.get(0)? > 0 {
            return Ok(None);
        }
        Ok(Some(Scan::inclusive(Operator::Sum).run(&counts)?))
    }

    fn convert_runs<K: SortKey + KernelKey, const D: usize>(
        &self,
        ends: &DeviceVec<u32>,
        bits: u32,
    ) -> Result<Nodes, OpError> {
        let device = self.cols.device();
        let (rows, cols) = self.shape;
        let sorted = self.sorted_runs::<K, D>(ends, bits)?;
        let nodes = sorted.nodes::<D>(hisparse::depth(rows, cols, D))?;
        let RunNodes { shape, firsts, leaves, places } = nodes;
        let SortedRuns { runs, keys } = sorted;
        drop(keys);
        let mut tree = shape.build::<V>(device, D.ilog2())?;
        let launch = device.kernel().threads(runs.len())?;
        let kernel = HiSparseFillLeaves {
            runs: runs.as_global(),
            leaves: leaves.as_global(),
            places: places.as_global(),
            firsts: firsts.as_global(),
            counts: tree.shape.counts.as_global(),
            references: tree.references.as_global(),
            column_indices: self.cols.as_global(),
            values: self.values.as_global(),
            pool: pool_view_mut(&mut tree.pool),
            len: runs.len() as u32,
            d_log2: D.ilog2(),
        };
        // SAFETY: the runs are of these entries, and their leaves are nodes of this tree with room for them; all are on this
        // device, and buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(tree.into_nodes(rows, cols))
    }

    /// The runs. Waits for the device to learn how many there are.
    fn sorted_runs<K: SortKey + KernelKey, const D: usize>(
        &self,
        ends: &DeviceVec<u32>,
        bits: u32,
    ) -> Result<SortedRuns<K>, OpError> {
        let device = self.cols.device();
        let len = ends.get(ends.len() - 1)? as usize;
        let mut keys = device.uninitialized::<K>(len)?;
        let mut runs = device.uninitialized::<u64>(len)?;
        let (rows, cols) = self.shape;
        let launch = device.kernel().items(self.cols.len())?;
        let kernel = HiSparseWriteRuns {
            entries: self.view(D.ilog2()),
            ends: ends.as_global(),
            keys: keys.as_global_mut(),
            runs: runs.as_global_mut(),
            depth: hisparse::depth(rows, cols, D) as u32,
        };
        // SAFETY: the arrays of rows and columns have equal length, and the columns ascend; the runs were counted by tiles
        // of the same length, and there is a key and a run for each. All are on this device.
        unsafe { launch.launch(kernel) }?;
        sort_pairs_in_place(&mut keys, &mut runs, SortOptions::default().with_bits(0..bits))?;
        Ok(SortedRuns { keys, runs })
    }
}

impl<K: SortKey + KernelKey> SortedRuns<K> {
    /// The nodes. Waits for the device to learn how many there are.
    pub(super) fn nodes<const D: usize>(&self, depth: usize) -> Result<RunNodes, OpError> {
        let (device, len, d_log2) = (self.keys.device(), self.keys.len(), D.ilog2());
        let launch = device.kernel().items(len)?;
        let tiles = launch.grid();
        let mut counts = device.uninitialized::<u64>((depth + 1) * tiles as usize)?;
        let runs = kernels::SortedRuns {
            keys: self.keys.as_global(),
            runs: self.runs.as_global(),
            len: len as u32,
            d_log2,
            depth: depth as u32,
            tiles,
        };
        let kernel = HiSparseCountNodes { runs, counts: counts.as_global_mut() };
        // SAFETY: there is a run for each key, and a count for each tile on each level and for its entries.
        unsafe { launch.launch(kernel) }?;
        let ends = Scan::inclusive(Operator::Sum).run(&counts)?;
        let starts = level_starts(&ends, depth, tiles)?;
        if starts[depth] > MAX_UNITS as u64 {
            return Err(too_large().into());
        }
        let nodes = starts[depth] as usize;
        let level_sizes = starts[..=depth].windows(2).map(|level| (level[1] - level[0]) as usize).collect();
        let mut firsts = device.uninitialized(nodes + 1)?;
        let mut links = device.uninitialized(nodes)?;
        let (mut leaves, mut places) = (device.uninitialized(len)?, device.uninitialized(len)?);
        let launch = device.kernel().items(len)?;
        let kernel = HiSparseWriteNodes {
            runs,
            ends: ends.as_global(),
            firsts: firsts.as_global_mut(),
            links: links.as_global_mut(),
            leaves: leaves.as_global_mut(),
            places: places.as_global_mut(),
        };
        // SAFETY: as above; the nodes were counted by tiles of the same length, there is a link for each and a first for one
        // more, and a leaf and a place for each run.
        unsafe { launch.launch(kernel) }?;
        let mut counts = device.uninitialized(nodes)?;
        let launch = device.kernel().threads(nodes)?;
        let kernel = HiSparseNumberEntries {
            firsts: firsts.as_global(),
            counts: counts.as_global_mut(),
            links: links.as_global_mut(),
            nodes: nodes as u32,
        };
        // SAFETY: there is a count and a link for each node, and a first for one more; links name nodes.
        unsafe { launch.launch(kernel) }?;
        Ok(RunNodes { shape: Shape { level_sizes, counts, links }, firsts, leaves, places })
    }
}

/// The number of each level's first node, that of the first entry, and one past the last entry.
fn level_starts(ends: &DeviceVec<u64>, depth: usize, tiles: u32) -> Result<Vec<u64>, OpError> {
    let device: &Device = ends.device();
    let mut starts = device.uninitialized(depth + 2)?;
    let launch = device.kernel().blocks(1)?;
    let kernel = HiSparseLevelStarts {
        ends: ends.as_global(),
        starts: starts.as_global_mut(),
        depth: depth as u32,
        tiles,
    };
    // SAFETY: there are `tiles` sums for each level and for entries, and room for a start of each and an end.
    unsafe { launch.launch(kernel) }?;
    Ok(starts.download()?)
}

/// The number of bits of the longest path of a leaf.
pub(super) fn path_bits<const D: usize>(rows: usize, cols: usize) -> u32 {
    let d_log2 = D.ilog2();
    let depth = hisparse::depth(rows, cols, D) as u32;
    if depth == 1 {
        return 0;
    }
    let width = |len: usize| usize::BITS - (len.saturating_sub(1) >> (d_log2 * (depth - 1))).leading_zeros();
    let first = if width(rows) > 0 { width(rows) + d_log2 } else { width(cols) };
    first + 2 * d_log2 * (depth - 2)
}
