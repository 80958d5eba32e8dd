//! Converts CSR and COO to trees, on the device; by default from runs.
//!
//! In a row of a canonical matrix, the entries of one leaf are consecutive: a run. Runs are found, and sorted stably by the
//! paths of their leaves, so that those of a leaf are ordered by row. Then the levels on which the paths of two consecutive
//! runs differ determine which nodes begin, on all levels at once.

use evenpath_kernels::Key as KernelKey;
use evenpath_kernels::hisparse::{
    self as kernels, HiSparseFillLeaves, HiSparseWriteRuns, RUN_RESULTS, run_state_words,
};

use super::device::{Content, DeviceHiSparse, Nodes, pool_view_mut};
use super::sorted_entries::SortedEntries;
use super::tree::{self, SortedRuns};
use super::{ConversionMethod, ConversionOptions};
use crate::device::{DeviceKind, Kernels};
use crate::format::{DeviceCoo, DeviceCsr, transpose};
use crate::keys::SortKey;
use crate::matrix::hisparse;
use crate::operand::OpError;
use crate::sequence::radix_sort::pair_kernels;
use crate::sequence::sort::{self, SortOptions};
use crate::{Offset, Value};

/// Maximum number of entries that the device converts. With more, the values alone exceed the range of
/// references.
const MAX_ENTRIES: usize = (1 << 32) - (1 << 16);

impl<V: Value, O: Offset> DeviceCsr<V, O> {
    /// Converts an m x n matrix to an m x n [`DeviceHiSparse`] with D × D nodes. Duplicates are summed. The content
    /// is bitwise the same as that of [`Csr::to_hisparse`](crate::Csr::to_hisparse) on the host.
    ///
    /// The device converts canonical matrices (Derler, *HiSparse: A Hierarchical Sparse Matrix Format for the GPU*, 2016,
    /// chapter 3), by default from sorted runs of a row's entries in a leaf. Other matrices, and conversions that
    /// [share](ConversionOptions::share) equal subtrees, go through the host; the CPU has its own method. By default, takes up to 20 bytes
    /// per nonzero, and 24 bytes per run of a row's entries in a leaf, of temporary memory, besides the matrix and the tree.
    /// [`ConversionMethod::Queues`], the method of the thesis, takes more, and the nodes of its pool are in any order.
    ///
    /// ```
    /// use evenpath::{Csr, Device, hisparse};
    ///
    /// let a = Csr::from_triplets(300, 300, [(0, 0, 1.0), (0, 299, 2.0), (299, 299, 3.0)])?;
    /// let tree = Device::cpu().upload(&a)?.to_hisparse::<32>(hisparse::Options::default())?;
    /// assert_eq!((tree.nnz(), tree.pool_bytes()), (3, 16 + 32 + 3 * 16));
    ///
    /// // By the method of the thesis.
    /// let options = hisparse::ConversionOptions::default().with_method(hisparse::ConversionMethod::Queues);
    /// let tree = Device::best()?.upload(&a)?.to_hisparse::<32>(options)?;
    /// assert_eq!(tree.pool_bytes(), 16 + 32 + 3 * 16);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the nodes take more than 16 GiB ([`MatrixError::PoolTooLarge`](crate::MatrixError::PoolTooLarge)), there is not
    /// enough memory, or the device was lost.
    pub fn to_hisparse<const D: usize>(
        &self,
        options: impl Into<ConversionOptions>,
    ) -> Result<DeviceHiSparse<V, D>, OpError> {
        self.device().refuse_in_graph("a matrix is converted")?;
        let options = options.into();
        let (device, pattern, values) = (self.device(), self.pattern(), self.values_now());
        if let (DeviceKind::Cpu, Some(view)) = (device.kind(), pattern.host_view(&values)) {
            return Ok(DeviceHiSparse::from_content(
                device,
                Content::Host(view.to_hisparse(options.on_host())?),
            ));
        }
        if !options.share && self.nnz() <= MAX_ENTRIES {
            let rows = transpose::row_indices(self)?;
            let entries = SortedEntries {
                shape: self.shape(),
                rows: &rows,
                cols: &pattern.column_indices,
                values: &values,
            };
            let is_checked = pattern.is_canonical();
            if let Some(nodes) = entries.convert::<D>(is_checked, options)? {
                // Another thread may have set it meanwhile, to the same value.
                let _ = pattern.canonical.set(());
                return Ok(DeviceHiSparse::from_content(device, Content::Machine(nodes)));
            }
        }
        Ok(device.upload(&self.download()?.to_hisparse::<D>(options.on_host())?)?)
    }
}

impl<V: Value> DeviceCoo<V> {
    /// Converts an m x n matrix to an m x n [`DeviceHiSparse`] with D × D nodes. Duplicates are summed. Otherwise like
    /// [`DeviceCsr::to_hisparse`].
    ///
    /// ```
    /// use evenpath::{Coo, Device, hisparse};
    ///
    /// let a = Coo::from_triplets(2, 300, [(0, 299, 1.0), (0, 299, 2.0)])?;
    /// let tree = Device::best()?.upload(&a)?.to_hisparse::<32>(hisparse::Options::default())?;
    /// assert_eq!((tree.shape(), tree.nnz()), ((2, 300), 1));
    /// # Ok::<(), evenpath::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as for [`DeviceCsr::to_hisparse`].
    pub fn to_hisparse<const D: usize>(
        &self,
        options: impl Into<ConversionOptions>,
    ) -> Result<DeviceHiSparse<V, D>, OpError> {
        let (device, options) = (self.device(), options.into());
        device.refuse_in_graph("a matrix is converted")?;
        if device.kind() != DeviceKind::Cpu && !options.share && self.nnz() <= MAX_ENTRIES {
            let (rows, cols, values) = self.arrays();
            let entries = SortedEntries { shape: self.shape(), rows, cols, values };
            if let Some(nodes) = entries.convert::<D>(false, options)? {
                return Ok(DeviceHiSparse::from_content(device, Content::Machine(nodes)));
            }
        }
        Ok(device
            .upload(&self.to_csr_with_offsets::<u64>()?.download()?.to_hisparse::<D>(options.on_host())?)?)
    }
}

/// The kernels that sort runs and build a tree from them, for compilation ahead of use.
pub(super) fn run_kernels<K: SortKey + KernelKey>() -> Kernels {
    tree::kernels::<K>().and_all(pair_kernels::<K, u64>())
}

/// The kernels of a conversion, to be compiled ahead.
fn conversion_kernels<V: Value, K: SortKey + KernelKey>() -> Kernels {
    run_kernels::<K>().and::<HiSparseFillLeaves<V>>().and::<HiSparseWriteRuns<K>>()
}

impl<V: Value> SortedEntries<'_, V> {
    /// The tree; `None` if columns do not ascend in every row. `is_checked` means that they are known to ascend.
    fn convert<const D: usize>(
        &self,
        is_checked: bool,
        options: ConversionOptions,
    ) -> Result<Option<Nodes>, OpError> {
        match options.method {
            ConversionMethod::Sorted => self.convert_by_sort::<D>(is_checked),
            ConversionMethod::Queues => self.convert_by_queues::<D>(is_checked, options.queues),
        }
    }

    /// The tree, from sorted runs.
    fn convert_by_sort<const D: usize>(&self, is_checked: bool) -> Result<Option<Nodes>, OpError> {
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
        if bits <= u32::BITS {
            self.convert_runs::<u32, D>(is_checked, bits)
        } else {
            self.convert_runs::<u64, D>(is_checked, bits)
        }
    }

    /// A view of the entries' positions, for nodes of `d_log2`.
    fn view(&self, d_log2: u32) -> kernels::EntryPositions {
        kernels::EntryPositions {
            row_indices: self.rows.as_aligned(),
            column_indices: self.cols.as_aligned(),
            len: self.cols.len() as u32,
            d_log2,
        }
    }

    /// The tree, by paths of type `K`; `None` if columns do not ascend.
    fn convert_runs<K: SortKey + KernelKey, const D: usize>(
        &self,
        is_checked: bool,
        bits: u32,
    ) -> Result<Option<Nodes>, OpError> {
        let device = self.cols.device();
        let (rows, cols) = self.shape;
        let Some(sorted) = self.sorted_runs::<K, D>(is_checked, bits)? else { return Ok(None) };
        let mut tree = sorted.tree::<V, D>(rows, cols)?;
        let SortedRuns { runs, keys } = sorted;
        drop(keys);
        let launch = device.kernel().threads(runs.len().max(tree.len()))?;
        let kernel = HiSparseFillLeaves {
            runs: runs.as_global(),
            leaves: tree.leaves.as_global(),
            places: tree.places.as_global(),
            nodes: tree.nodes(),
            column_indices: self.cols.as_global(),
            values: self.values.as_global(),
            pool: pool_view_mut(&mut tree.pool),
        };
        // SAFETY: the runs are of these entries, and their leaves are nodes of this tree with room for them. Links name nodes, and
        // there is a thread for each node and each run. All are on this device, and buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(Some(tree.into_nodes(rows, cols)))
    }

    /// The runs; `None` if columns do not ascend. Waits for the device to learn how many there are.
    fn sorted_runs<K: SortKey + KernelKey, const D: usize>(
        &self,
        is_checked: bool,
        bits: u32,
    ) -> Result<Option<SortedRuns<K>>, OpError> {
        let device = self.cols.device();
        let mut keys = device.uninitialized::<K>(self.cols.len())?;
        let mut runs = device.uninitialized::<u64>(self.cols.len())?;
        let (rows, cols) = self.shape;
        let launch = device.kernel().items(self.cols.len())?;
        let mut state = device.zeros::<u64>(run_state_words(launch.grid() as usize))?;
        let kernel = HiSparseWriteRuns {
            entries: self.view(D.ilog2()),
            keys: keys.as_global_mut(),
            runs: runs.as_global_mut(),
            state: state.as_global_mut(),
            depth: hisparse::depth(rows, cols, D) as u32,
        };
        // SAFETY: the arrays of rows and columns have equal length, and there is room for a run and a key per entry. The state has
        // words for all tiles, all zero. All are on this device.
        unsafe { launch.launch(kernel) }?;
        let [len, descents] = state.first::<RUN_RESULTS>()?;
        if !is_checked && descents > 0 {
            return Ok(None);
        }
        keys.truncate(len as usize);
        runs.truncate(len as usize);
        sort::pairs_in_place(&mut keys, &mut runs, SortOptions::default().with_bits(0..bits))?;
        Ok(Some(SortedRuns { keys, runs }))
    }
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
