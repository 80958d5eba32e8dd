//! Matrices of blocks: matrices below and beside each other.

use evenpath_kernels::stack::{AddOffsets, AdvanceStarts, PlaceBlock, ShiftColumns};
use evenpath_simt::Element;

use super::DeviceCsr;
use super::path_tiles::PathTiles;
use crate::device::{Device, DeviceError, DeviceKind, DeviceSlice, DeviceVec};
use crate::format::csr::DevicePattern;
use crate::matrix::{Block, BlockRow, Blocks};
use crate::operand::OpError;
use crate::{Complex, Offset, Storage};

/// Matrices of blocks, all on one device. The result has its own memory: later changes of a block's values do not affect it.
/// It has the entries of the rows of its blocks from left to right, in their order, and is canonical if the blocks are. Nothing
/// is counted, since the number of nonzeros is known; the calls run in the order of the device's stream, and do not wait.
impl<V: Storage, O: Offset> DeviceCsr<V, O> {
    /// Returns the matrix of the rows of all blocks, one block below the other. All have the same number of columns.
    /// [`Csr::vstack`](crate::Csr::vstack) does the same on the host.
    ///
    /// ```
    /// use evenpath::{Csr, Device, DeviceCsr};
    ///
    /// let device = Device::best()?;
    /// let a = device.upload(&Csr::from_triplets(1, 2, [(0, 1, 1.0)])?)?;
    /// let b = device.upload(&Csr::from_triplets(2, 2, [(1, 0, 2.0)])?)?;
    /// let below = DeviceCsr::vstack(&[&a, &b])?;
    /// assert_eq!(below.download()?.to_dense()?, [0.0, 1.0, 0.0, 0.0, 2.0, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are no blocks, since then the number of columns and the device are unknown; if a block has another number of
    /// columns than the first, or is on another device. If the result exceeds [`MAX_DIMENSION`](crate::csr::MAX_DIMENSION), or has more nonzeros than
    /// `O` counts. If this thread captures a graph, there is too little memory, or the device was lost.
    pub fn vstack(blocks: &[&Self]) -> Result<Self, OpError> {
        join(&Blocks::below(blocks)?)
    }

    /// Returns the matrix of the columns of all blocks, one block beside the other. All have the same number of rows.
    /// [`Csr::hstack`](crate::Csr::hstack) does the same on the host.
    ///
    /// Each block is read and written once, divided by its nonzeros; its row offsets are read three times.
    ///
    /// ```
    /// use evenpath::{Csr, Device, DeviceCsr};
    ///
    /// let device = Device::best()?;
    /// let a = device.upload(&Csr::from_triplets(2, 1, [(0, 0, 1.0)])?)?;
    /// let b = device.upload(&Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 0, 3.0)])?)?;
    /// let beside = DeviceCsr::hstack(&[&a, &b])?;
    /// assert_eq!(beside.download()?.to_dense()?, [1.0, 0.0, 2.0, 0.0, 3.0, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are no blocks, or a block has another number of rows than the first; else the same as for [`vstack`](Self::vstack).
    pub fn hstack(blocks: &[&Self]) -> Result<Self, OpError> {
        join(&Blocks::beside(blocks)?)
    }

    /// Returns the matrix of blocks in rows and columns; `None` is a block of zeros. Blocks in one row have the same number of rows, and
    /// those in one column the same number of columns. [`Csr::from_blocks`](crate::Csr::from_blocks) does the same on the host.
    ///
    /// ```
    /// use evenpath::{Csr, Device, DeviceCsr};
    ///
    /// // [A  Bᵀ]
    /// // [B  0 ]
    /// let device = Device::best()?;
    /// let a = DeviceCsr::from_diagonal(&device.upload(&[1.0, 2.0])?)?;
    /// let b = device.upload(&Csr::from_triplets(1, 2, [(0, 0, 3.0), (0, 1, 4.0)])?)?;
    /// let saddle = DeviceCsr::from_blocks(&[&[Some(&a), Some(&b.transpose()?)], &[Some(&b), None]])?;
    /// assert_eq!(saddle.download()?.to_dense()?, [1.0, 0.0, 3.0, 0.0, 2.0, 4.0, 3.0, 4.0, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are no blocks, rows of blocks differ in length, sizes do not fit, or all blocks of a row or of a column are `None`, so
    /// that its size is unknown. Else the same as for [`vstack`](Self::vstack).
    pub fn from_blocks(blocks: &[&[Option<&Self>]]) -> Result<Self, OpError> {
        join(&Blocks::grid(blocks)?)
    }

    /// Returns the matrix with the blocks along its diagonal: each begins one row below and one column beside the last entry of the one
    /// before. Blocks need not be square. [`Csr::block_diagonal`](crate::Csr::block_diagonal) does the same on the host.
    ///
    /// ```
    /// use evenpath::{Csr, Device, DeviceCsr};
    ///
    /// let device = Device::best()?;
    /// let a = device.upload(&Csr::from_triplets(1, 2, [(0, 1, 1.0)])?)?;
    /// let twice = DeviceCsr::block_diagonal(&[&a, &a])?;
    /// assert_eq!(twice.download()?.to_dense()?, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are no blocks; else the same as for [`vstack`](Self::vstack).
    pub fn block_diagonal(blocks: &[&Self]) -> Result<Self, OpError> {
        join(&Blocks::diagonal(blocks)?)
    }
}

impl<V: Storage, O: Offset> Block for &DeviceCsr<V, O> {
    fn shape(self) -> (usize, usize) {
        DeviceCsr::shape(self)
    }

    fn nnz(self) -> usize {
        DeviceCsr::nnz(self)
    }
}

/// Copies the blocks, of which there is at least one, to one matrix.
fn join<V: Storage, O: Offset>(blocks: &Blocks<&DeviceCsr<V, O>>) -> Result<DeviceCsr<V, O>, OpError> {
    let Some(device) = blocks.iter().next().map(DeviceCsr::device) else {
        unreachable!("every row of blocks has one")
    };
    for block in blocks.iter() {
        device.check_same(block.device())?;
    }
    device.refuse_in_graph("a matrix of blocks has a new pattern")?;
    blocks.check_offsets::<O>()?;
    if device.kind() == DeviceKind::Cpu {
        return join_on_host(device, blocks);
    }
    let mut target = Target {
        row_offsets: device.uninitialized(blocks.rows + 1)?,
        columns: device.uninitialized(blocks.nnz)?,
        values: device.uninitialized(blocks.nnz)?,
    };
    let mut nonzeros = 0;
    for row in &blocks.block_rows {
        target.add_offsets(row, nonzeros)?;
        match row.blocks[..] {
            [(block, first_column)] => target.append(block, first_column, nonzeros)?,
            _ => target.place(row)?,
        }
        nonzeros += row.blocks.iter().map(|(block, _)| block.nnz()).sum::<usize>();
    }
    let Target { row_offsets, columns, values } = target;
    let is_canonical = blocks.iter().all(|block| block.pattern().is_canonical());
    let pattern = DevicePattern::known((blocks.rows, blocks.cols), row_offsets, columns, is_canonical);
    Ok(DeviceCsr::from_valid(pattern, values))
}

fn join_on_host<V: Storage, O: Offset>(
    device: &Device,
    blocks: &Blocks<&DeviceCsr<V, O>>,
) -> Result<DeviceCsr<V, O>, OpError> {
    let values: Vec<_> = blocks.iter().map(DeviceCsr::values_now).collect();
    let mut values = values.iter();
    let views = blocks.map(|block| {
        let view = values.next().and_then(|values| block.pattern().host_view(values));
        let Some(view) = view else { unreachable!("the CPU's buffers are the host's") };
        view
    });
    Ok(DeviceCsr::adopt(device, views.join()?)?)
}

/// The arrays of the result, on a device with kernels.
struct Target<V: Storage, O: Offset> {
    row_offsets: DeviceVec<O>,
    columns: DeviceVec<u32>,
    values: DeviceVec<V>,
}

impl<V: Storage, O: Offset> Target<V, O> {
    /// Writes the offsets of a row of blocks, which has `before` nonzeros before it, and of the row after it.
    fn add_offsets(&mut self, row: &BlockRow<&DeviceCsr<V, O>>, before: usize) -> Result<(), DeviceError> {
        let device = self.columns.device().clone();
        let len = row.rows.len() + 1;
        let mut offsets = self.row_offsets.slice_mut(row.rows.start..=row.rows.end)?;
        for (at, (block, _)) in row.blocks.iter().enumerate() {
            let launch = device.kernel().threads(len)?;
            let kernel = AddOffsets {
                source: block.pattern().row_offsets.as_global(),
                target: offsets.as_global_mut(),
                base: before as u64,
                is_first: u32::from(at == 0),
                len: len as u64,
            };
            // SAFETY: the block and the result have `len` offsets for these rows; buffers are freed in the stream's order.
            unsafe { launch.launch(kernel) }?;
        }
        Ok(())
    }

    /// Copies a block that has its rows to itself, behind `before` nonzeros.
    fn append(
        &mut self,
        block: &DeviceCsr<V, O>,
        first_column: usize,
        before: usize,
    ) -> Result<(), DeviceError> {
        let nonzeros = before..before + block.nnz();
        self.values.slice_mut(nonzeros.clone())?.copy_from(&block.values_now())?;
        let (source, mut target) = (&block.pattern().column_indices, self.columns.slice_mut(nonzeros)?);
        if first_column == 0 {
            return target.copy_from(source);
        }
        let launch = source.device().kernel().threads(source.len())?;
        let kernel = ShiftColumns {
            source: source.as_global(),
            target: target.as_global_mut(),
            shift: first_column as u32,
            len: source.len() as u64,
        };
        // SAFETY: both have `len` elements; buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }
    }

    /// Copies blocks beside each other, from left to right; the offsets of their rows are there.
    fn place(&mut self, row: &BlockRow<&DeviceCsr<V, O>>) -> Result<(), DeviceError> {
        let device = self.columns.device().clone();
        // Where the next block's part of each row starts.
        let mut starts = device.uninitialized(row.rows.len())?;
        starts.copy_from(&self.row_offsets.slice(row.rows.clone())?)?;
        for (at, &(block, first_column)) in row.blocks.iter().enumerate() {
            match V::SIZE {
                2 => self.place_words::<u16>(block, first_column, &starts)?,
                4 => self.place_words::<u32>(block, first_column, &starts)?,
                16 => self.place_words::<Complex<f64>>(block, first_column, &starts)?,
                _ => self.place_words::<u64>(block, first_column, &starts)?,
            }
            if at + 1 < row.blocks.len() {
                let launch = device.kernel().threads(row.rows.len())?;
                let kernel = AdvanceStarts {
                    row_offsets: block.pattern().row_offsets.as_global(),
                    starts: starts.as_global_mut(),
                    rows: row.rows.len() as u32,
                };
                // SAFETY: there is a start per row of the block; buffers are freed in the stream's order.
                unsafe { launch.launch(kernel) }?;
            }
        }
        Ok(())
    }

    /// Copies a block whose part of each row starts at `starts`, with values as words of their size.
    fn place_words<W: Element>(
        &mut self,
        block: &DeviceCsr<V, O>,
        first_column: usize,
        starts: &DeviceSlice<O>,
    ) -> Result<(), DeviceError> {
        let (tiles, launch) = PathTiles::find(block, self.columns.device().kernel())?;
        let values = block.values_now();
        let kernel = PlaceBlock::<W, O> {
            block: block.pattern().view(),
            values: values.as_global_of(),
            tile_rows: tiles.rows.as_global(),
            starts: starts.as_global(),
            first_column: first_column as u32,
            target_columns: self.columns.as_global_mut(),
            target_values: self.values.as_global_mut_of(),
        };
        // SAFETY: the tiles are the block's, of the kernel's length; the result has room for the block's entries at the starts of their
        // rows; buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }
    }
}
