use std::fmt;
use std::sync::{Arc, Mutex};

use evenpath_kernels::bsr::{BsrSpmv, GlobalBsr, shape};
use evenpath_simt::kernel::Kernel;

use super::super::row_pieces::RowPieces;
use crate::cpu::{BsrArrays, BsrTiles};
use crate::device::{Device, DeviceError, DeviceKind, DeviceVec, Upload};
use crate::{Bsr, Offset, Value};

/// A matrix in BSR in a device's memory, uploaded by [`Device::upload`]. Clones share the memory.
///
/// ```
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(4, 4, [(0, 0, 1.0), (1, 1, 2.0), (2, 1, 3.0), (3, 0, 4.0)])?;
/// let device = Device::best()?;
/// let a = device.upload(&a.to_bsr(2)?)?;
/// let x = device.upload(&[1.0, 10.0, 100.0, 1000.0])?;
/// let mut y = device.zeros(4)?;
/// a.spmv(1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.download()?, [1.0, 20.0, 30.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct DeviceBsr<V: Value, O: Offset = u32> {
    pub(super) arrays: Arc<DeviceBsrArrays<V, O>>,
}

/// Arrays of a valid matrix.
pub(super) struct DeviceBsrArrays<V: Value, O: Offset> {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) block_size: usize,
    pub(super) row_offsets: DeviceVec<O>,
    pub(super) column_indices: DeviceVec<u32>,
    pub(super) values: DeviceVec<V>,
    /// The division of work on the CPU.
    pub(super) tiles: BsrTiles,
    /// Block rows that are cut on a GPU.
    pub(super) pieces: RowPieces,
    /// Sums of the rows of each piece: workspace of one product at a time.
    pub(super) piece_sums: Mutex<DeviceVec<V>>,
    /// Blocks of a block row that a warp multiplies at once.
    pub(super) row_slots: u32,
}

impl<V: Value, O: Offset> Upload for Bsr<V, O> {
    type OnDevice = DeviceBsr<V, O>;

    fn upload_to(&self, device: &Device) -> Result<DeviceBsr<V, O>, DeviceError> {
        device.check_threads()?;
        let columns = (self.column_indices(), self.ncols());
        let values = device.upload(self.values())?;
        DeviceBsr::from_values((self.nrows(), self.block_size()), self.row_offsets(), columns, values)
    }
}

/// Minimum number of rounds of a lane's loads, in the mean, for each block of a row that is multiplied at once.
const ROUNDS: usize = 2;

/// Number of blocks of a block row that a warp multiplies at once: of the divisors of those that it can, the largest for which lanes
/// have several rounds of loads. More rows at once keep more loads in flight.
fn row_slots<V: Value, O: Offset>(size: usize, block_rows: usize, blocks: usize) -> u32 {
    let all = shape::slots_of::<V>(size);
    let items =
        BsrSpmv::<V, O>::variant(shape::variant(size)).map_or(1, |info| info.items_per_thread as usize);
    let mean = blocks / block_rows.max(1);
    let has_work = |slots: &u32| all.is_multiple_of(*slots) && *slots as usize * items * ROUNDS <= mean;
    (1..=all).rev().find(has_work).unwrap_or(1)
}

impl<V: Value, O: Offset> DeviceBsr<V, O> {
    /// A valid matrix of these rows and blocks, whose values are on its device.
    fn from_values(
        (rows, block_size): (usize, usize),
        row_offsets: &[O],
        (column_indices, cols): (&[u32], usize),
        values: DeviceVec<V>,
    ) -> Result<Self, DeviceError> {
        let device = values.device();
        let tiles = match device.kind() {
            DeviceKind::Cpu => BsrTiles::new(row_offsets, block_size),
            _ => BsrTiles::default(),
        };
        let pieces = RowPieces::cut(device, row_offsets)?;
        let block_rows = row_offsets.len().saturating_sub(1);
        let arrays = DeviceBsrArrays {
            rows,
            cols,
            block_size,
            row_offsets: device.upload(row_offsets)?,
            column_indices: device.upload(column_indices)?,
            tiles,
            piece_sums: Mutex::new(device.uninitialized(pieces.count() * block_size)?),
            pieces,
            row_slots: row_slots::<V, O>(block_size, block_rows, column_indices.len()),
            values,
        };
        Ok(Self { arrays: Arc::new(arrays) })
    }

    /// The square matrix of these blocks on the diagonal, one for each block row.
    pub(crate) fn block_diagonal(
        rows: usize,
        block_size: usize,
        blocks: DeviceVec<V>,
    ) -> Result<Self, DeviceError> {
        let count = rows.div_ceil(block_size);
        // A matrix of as many block rows has offsets for them.
        let row_offsets: Vec<O> = (0..=count).filter_map(O::try_from_usize).collect();
        let column_indices: Vec<u32> = (0..count as u32).collect();
        Self::from_values((rows, block_size), &row_offsets, (&column_indices, rows), blocks)
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.arrays.rows
    }

    /// Number of columns.
    pub fn ncols(&self) -> usize {
        self.arrays.cols
    }

    /// Number of rows and number of columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.nrows(), self.ncols())
    }

    /// Rows of a block, and columns of a block.
    pub fn block_size(&self) -> usize {
        self.arrays.block_size
    }

    /// Number of block rows: the number of rows over the block size, rounded up.
    pub fn block_rows(&self) -> usize {
        self.nrows().div_ceil(self.block_size())
    }

    /// Number of block columns: the number of columns over the block size, rounded up.
    pub fn block_cols(&self) -> usize {
        self.ncols().div_ceil(self.block_size())
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.arrays.column_indices.len()
    }

    /// The device that stores it.
    pub fn device(&self) -> &Device {
        self.arrays.values.device()
    }

    /// Copies the matrix to the host.
    ///
    /// # Errors
    ///
    /// If the device was lost or the host has too little memory.
    pub fn download(&self) -> Result<Bsr<V, O>, DeviceError> {
        let DeviceBsrArrays { row_offsets, column_indices, values, .. } = &*self.arrays;
        let (offsets, columns, values) =
            (row_offsets.download()?, column_indices.download()?, values.download()?);
        Ok(Bsr::from_valid(self.shape(), self.block_size(), offsets, columns, values))
    }

    /// The matrix as a kernel argument.
    pub(crate) fn view(&self) -> GlobalBsr<V, O> {
        let DeviceBsrArrays { row_offsets, column_indices, values, .. } = &*self.arrays;
        GlobalBsr {
            row_offsets: row_offsets.as_global(),
            column_indices: column_indices.as_global(),
            values: values.as_aligned(),
            block_size: self.block_size() as u32,
            block_rows: self.block_rows() as u32,
        }
    }

    /// The block rows that are cut on a GPU.
    pub(crate) fn pieces(&self) -> &RowPieces {
        &self.arrays.pieces
    }

    /// The arrays, if the device is the CPU.
    pub(crate) fn host_arrays(&self) -> Option<BsrArrays<'_, V, O>> {
        let DeviceBsrArrays { block_size, row_offsets, column_indices, values, .. } = &*self.arrays;
        Some(BsrArrays {
            size: *block_size,
            row_offsets: row_offsets.host_slice()?,
            column_indices: column_indices.host_slice()?,
            values: values.host_slice()?,
        })
    }
}

impl<V: Value, O: Offset> fmt::Debug for DeviceBsr<V, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((rows, cols), blocks, size) = (self.shape(), self.blocks(), self.block_size());
        let (value, offset, device) = (V::NAME, O::NAME, self.device());
        write!(
            f,
            "DeviceBsr<{value}, {offset}>({rows} x {cols}, {blocks} blocks of {size} x {size}, on {device})"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warp_has_rows_for_all_its_lanes() {
        let of_blocks_of_3 = |mean: usize| row_slots::<f32, u32>(3, 100, 100 * mean);
        assert_eq!([0, 16, 47, 48, 100].map(of_blocks_of_3), [1, 1, 1, 3, 3]);
        let of_blocks_of_4 = |mean: usize| row_slots::<f32, u64>(4, 100, 100 * mean);
        assert_eq!([0, 8, 15, 16, 32, 63, 64, 99].map(of_blocks_of_4), [1, 1, 1, 2, 4, 4, 8, 8]);
        assert_eq!([1, 7, 32].map(|size| row_slots::<f64, u32>(size, 1, 1000)), [1, 1, 1]);
        assert_eq!(row_slots::<f64, u32>(2, 0, 0), 1);
    }
}
