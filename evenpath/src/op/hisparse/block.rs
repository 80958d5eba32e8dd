//! A block of a tree as a CSR matrix, with the queue scheduler.

use std::ops::Range;

use evenpath_kernels::hisparse::queue::{
    BlockEntries, BlockRange, HiSparseBlockCounts, HiSparseBlockEntries,
};

use super::QueuedOptions;
use super::device::{Content, DeviceHiSparse, Nodes};
use super::queues::{QueueMemory, grid};
use crate::device::DeviceVec;
use crate::format::csr::DevicePattern;
use crate::format::{DeviceCsr, transpose};
use crate::matrix::check_block_range;
use crate::operand::{OpError, Pairs, countable};
use crate::operation::Operator;
use crate::sequence::scan::{self, ScanOptions};
use crate::sequence::sort;
use crate::{Csr, HiSparse, MatrixError, Value};

impl<V: Value, const D: usize> DeviceHiSparse<V, D> {
    /// Returns the entries in a block of p rows and q columns as a p x q matrix, with transposition and scale applied.
    /// The result is canonical.
    ///
    /// The tree is traversed twice, to count the entries of each row and to list them; nodes outside the block are not visited.
    /// Then rows are sorted. Takes 4 bytes per row and a copy of the block's entries of temporary memory, besides queues and
    /// result. Waits for the device.
    ///
    /// ```
    /// use evenpath::{Csr, Device, hisparse};
    ///
    /// let a = Csr::from_triplets(200, 300, [(0, 299, 1.0), (150, 298, 2.0), (150, 299, 3.0)])?;
    /// let a = Device::best()?.upload(&a.to_hisparse::<128>(hisparse::Options::default())?)?;
    /// let block = a.scaled(2.0).block(100..200, 299..300, hisparse::QueuedOptions::default())?.download()?;
    /// assert_eq!((block.nrows(), block.ncols(), block.nnz()), (100, 1, 1));
    /// assert_eq!(block.get(50, 0), Some(6.0));
    /// # Ok::<(), evenpath::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the block exceeds the matrix, both the matrix's entries and the block's elements are 2³² or more,
    /// there is not enough memory, or the device was lost.
    pub fn block(
        &self,
        rows: Range<usize>,
        columns: Range<usize>,
        options: QueuedOptions,
    ) -> Result<DeviceCsr<V>, OpError> {
        self.device().refuse_in_graph("a block of a matrix waits for its size")?;
        check_block_range("rows", &rows, self.nrows())?;
        check_block_range("columns", &columns, self.ncols())?;
        let most = (rows.len() as u64).saturating_mul(columns.len() as u64).min(self.nnz() as u64);
        countable::<u32>(most, "smaller blocks have fewer entries")?;
        match self.content() {
            Content::Host(_) => {
                let matrix = self.download()?;
                Ok(self.device().upload(&host_block(&matrix, rows, columns)?)?)
            }
            Content::Machine(nodes) => self.machine_block(nodes, [rows, columns], options),
        }
    }

    fn machine_block(
        &self,
        nodes: &Nodes,
        [rows, columns]: [Range<usize>; 2],
        options: QueuedOptions,
    ) -> Result<DeviceCsr<V>, OpError> {
        let device = self.device();
        let range = BlockRange {
            first_row: rows.start as u32,
            rows: rows.len() as u32,
            first_col: columns.start as u32,
            cols: columns.len() as u32,
            is_transposed: u32::from(self.is_transposed()),
        };
        let mut counts = device.zeros::<u32>(rows.len() + 1)?;
        let mut queues = QueueMemory::for_tree(nodes, options)?;
        if !nodes.root.is_null() {
            let launch = grid(device.kernel(), options, nodes.nnz)?;
            let kernel = HiSparseBlockCounts {
                tree: nodes.tree::<V, D>(launch.grid()),
                queues: queues.next_run()?,
                range,
                counts: counts.as_global_mut(),
            };
            // SAFETY: the tree is valid and of this height, the queues are new, and there is a count for each row of the block.
            // All are on this device, and buffers are freed in the stream's order.
            unsafe { launch.launch(kernel) }?;
        }
        let row_offsets = scan::values(&counts, ScanOptions::exclusive(Operator::Sum))?;
        let nnz = row_offsets.get(rows.len())? as usize;
        let mut column_indices = device.uninitialized(nnz)?;
        let mut values = device.uninitialized(nnz)?;
        if nnz > 0 {
            let mut places: DeviceVec<u32> = row_offsets.copied()?;
            let launch = grid(device.kernel(), options, nodes.nnz)?;
            let (scale, _) = self.factor().number_and_power();
            let kernel = HiSparseBlockEntries {
                tree: nodes.tree::<V, D>(launch.grid()),
                queues: queues.next_run()?,
                entries: BlockEntries {
                    range,
                    places: places.as_global_mut(),
                    column_indices: column_indices.as_global_mut(),
                    values: values.as_global_mut(),
                    scale,
                    is_scaled: u32::from(scale != V::ONE),
                },
            };
            // SAFETY: as for the counts, which determine each row's range of entries; the queues' last run
            // has ended.
            unsafe { launch.launch(kernel) }?;
            self.finish_scaling(&mut values)?;
        }
        let entries = Pairs { keys: &column_indices, values: &values };
        let order = transpose::by_column(columns.len());
        let (column_indices, values) = sort::pairs_by_valid_offsets(&row_offsets, entries, order)?;
        let pattern = DevicePattern::canonical(rows.len(), columns.len(), row_offsets, column_indices);
        Ok(DeviceCsr::from_valid(pattern, values))
    }
}

/// The block on the CPU.
fn host_block<V: Value, const D: usize>(
    matrix: &HiSparse<V, D>,
    rows: Range<usize>,
    columns: Range<usize>,
) -> Result<Csr<V>, MatrixError> {
    let entries = matrix.block_entries(rows.clone(), columns.clone());
    let entries = entries.map(|(row, col, value)| (row - rows.start, col - columns.start, value));
    Csr::from_triplets(rows.len(), columns.len(), entries)
}
