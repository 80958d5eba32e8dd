//! Entries of rows that a list names, on devices with kernels.

use evenpath_kernels::GlobalPattern;
use evenpath_kernels::csr_rows::{COLUMNS, CopyListedRows, ListedLengths, VALUES};
use evenpath_kernels::spmv::MergePartition;
use evenpath_simt::Element;

use super::offsets::convert_offsets;
use super::path_tiles::PathTiles;
use crate::device::{DeviceError, DeviceSlice, DeviceVec, Kernels, no_aligned_input, no_input, no_output};
use crate::format::csr::DevicePattern;
use crate::operand::{OpError, countable};
use crate::operation::Operator;
use crate::sequence::scan::{self, ScanOptions};
use crate::{Complex, MatrixError, Offset, Storage};

/// The kernels of listed rows, to be compiled ahead.
pub(crate) fn kernels<V: Storage, O: Offset>() -> Kernels {
    let kernels = Kernels::default().and::<ListedLengths<O>>().and::<MergePartition<O>>();
    match V::SIZE {
        2 => kernels.and::<CopyListedRows<u16, O>>(),
        4 => kernels.and::<CopyListedRows<u32, O>>(),
        16 => kernels.and::<CopyListedRows<Complex<f64>, O>>(),
        _ => kernels.and::<CopyListedRows<u64, O>>(),
    }
}

/// The row offsets of the matrix of listed rows, and the number of its nonzeros; waits for the device.
pub(crate) fn listed_offsets<O: Offset>(
    whole: &DevicePattern<O>,
    list: &DeviceSlice<u32>,
) -> Result<(DeviceVec<O>, usize), OpError> {
    let device = list.device();
    let launch = device.kernel().items(list.len() + 1)?;
    let mut lengths = device.uninitialized(list.len() + 1)?;
    let mut totals = device.zeros(2)?;
    let kernel = ListedLengths {
        row_offsets: whole.row_offsets.as_global(),
        list: list.as_global(),
        lengths: lengths.as_global_mut(),
        totals: totals.as_global_mut(),
        rows: whole.rows as u32,
        len: list.len() as u32,
    };
    // SAFETY: the views are of the offsets of `rows` rows, of the list, of an element more than it has, and of two words that
    // are zero; buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    let [nonzeros, missing] = totals.first::<2>()?;
    if missing > 0 {
        let position = list.len() - missing as usize;
        let row = list.get(position)? as usize;
        return Err(MatrixError::RowOutOfRange { position, row, rows: whole.rows }.into());
    }
    let nonzeros = countable::<O>(nonzeros, "use u64 offsets")?;
    let offsets = scan::values(&lengths, ScanOptions::exclusive(Operator::Sum))?;
    Ok((convert_offsets(&offsets)?, nonzeros))
}

/// Rows of a matrix, listed, and the matrix that has only these. All are on a device with kernels, and the rows exist.
#[derive(Clone, Copy)]
pub(crate) struct ListedRows<'l, O: Offset> {
    /// The list.
    pub(crate) list: &'l DeviceSlice<u32>,
    /// Row offsets of the matrix with all rows.
    pub(crate) whole: &'l DeviceSlice<O>,
    /// Row offsets of the matrix of the listed rows.
    pub(crate) listed: &'l DeviceSlice<O>,
    /// Nonzeros of that.
    pub(crate) nonzeros: usize,
}

/// Arrays that are read, with an element per nonzero; those that are not copied are left out.
#[derive(Clone, Copy)]
pub(crate) struct Entries<'e, V: Storage> {
    pub(crate) columns: Option<&'e DeviceSlice<u32>>,
    pub(crate) values: Option<&'e DeviceSlice<V>>,
}

/// The same for arrays that are written.
pub(crate) struct EntriesMut<'e, V: Storage> {
    pub(crate) columns: Option<&'e mut DeviceSlice<u32>>,
    pub(crate) values: Option<&'e mut DeviceSlice<V>>,
}

/// The matrix that entries are copied to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Listed,
    /// No row is listed twice.
    Whole,
}

impl<O: Offset> ListedRows<'_, O> {
    /// Divides the entries of the listed rows into tiles.
    pub(crate) fn tiles(&self) -> Result<PathTiles, DeviceError> {
        let device = self.list.device();
        // The kernels have the same tiles for all types.
        let (tiles, _) = PathTiles::of_view(device, self.view(), device.kernel::<CopyListedRows<u32, O>>())?;
        Ok(tiles)
    }

    /// The listed matrix as a kernel argument, without columns.
    fn view(&self) -> GlobalPattern<O> {
        GlobalPattern {
            row_offsets: self.listed.as_global(),
            column_indices: no_aligned_input(),
            nonzeros: self.nonzeros as u64,
            rows: self.list.len() as u32,
        }
    }

    /// Copies the entries that `source` has of the listed rows to `target`, which has the same arrays. The tiles are those of
    /// [`tiles`](Self::tiles).
    pub(crate) fn copy<V: Storage>(
        &self,
        tiles: &PathTiles,
        source: Entries<'_, V>,
        target: EntriesMut<'_, V>,
        to: Target,
    ) -> Result<(), DeviceError> {
        match V::SIZE {
            2 => self.copy_words::<u16, V>(tiles, source, target, to),
            4 => self.copy_words::<u32, V>(tiles, source, target, to),
            16 => self.copy_words::<Complex<f64>, V>(tiles, source, target, to),
            _ => self.copy_words::<u64, V>(tiles, source, target, to),
        }
    }

    /// Copies values as words of their size.
    fn copy_words<W: Element, V: Storage>(
        &self,
        tiles: &PathTiles,
        source: Entries<'_, V>,
        target: EntriesMut<'_, V>,
        to: Target,
    ) -> Result<(), DeviceError> {
        let launch = self.list.device().kernel().blocks(tiles.count as usize)?;
        let has_columns = source.columns.is_some() && target.columns.is_some();
        let has_values = source.values.is_some() && target.values.is_some();
        let kernel = CopyListedRows::<W, O> {
            row_offsets: self.whole.as_global(),
            list: self.list.as_global(),
            listed: self.view(),
            tile_rows: tiles.rows.as_global(),
            source_columns: source.columns.map_or_else(no_input, DeviceSlice::as_global),
            source_values: source.values.map_or_else(no_input, DeviceSlice::as_global_of),
            target_columns: target.columns.map_or_else(no_output, DeviceSlice::as_global_mut),
            target_values: target.values.map_or_else(no_output, DeviceSlice::as_global_mut_of),
            arrays: if has_columns { COLUMNS } else { 0 } | if has_values { VALUES } else { 0 },
            to_whole: u32::from(to == Target::Whole),
        };
        // SAFETY: the tiles are those of the listed matrix, of the kernel's length; its rows are as long as those of the whole
        // matrix that the list names; arrays have an element per nonzero, and are copied if they are there. Buffers are
        // freed in the stream's order.
        unsafe { launch.launch(kernel) }
    }
}
