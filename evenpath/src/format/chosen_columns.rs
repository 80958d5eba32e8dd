//! Entries of chosen columns, on devices with kernels.

use evenpath_kernels::GlobalPattern;
use evenpath_kernels::csr_columns::{ChosenColumns, CopyChosen, CountChosen, GatherValues};
use evenpath_simt::Element;

use super::path_tiles::PathTiles;
use crate::device::{Device, DeviceError, DeviceSlice, DeviceVec, no_aligned_input, no_input, no_output};
use crate::operand::{OpError, countable};
use crate::operation::Operator;
use crate::sequence::scan::{self, ScanOptions};
use crate::{Complex, Offset, Storage};

/// Consecutive rows of a matrix.
#[derive(Clone, Copy)]
pub(super) struct SourceRows<'m, V: Storage, O: Offset> {
    /// Offsets of the rows, from zero, and one more.
    pub(super) row_offsets: &'m DeviceSlice<O>,
    /// The column of each nonzero.
    pub(super) columns: &'m DeviceSlice<u32>,
    /// The value of each nonzero.
    pub(super) values: &'m DeviceSlice<V>,
}

/// Entries of some rows and columns, row by row.
pub(super) struct ChosenEntries<O: Offset, T: bytemuck::Pod> {
    pub(super) row_offsets: DeviceVec<O>,
    pub(super) columns: DeviceVec<u32>,
    /// Their values, or where they come from.
    pub(super) values: DeviceVec<T>,
}

impl<V: Storage, O: Offset> SourceRows<'_, V, O> {
    /// Copies the entries of the chosen columns, in their order. Waits for the device.
    pub(super) fn choose(self, chosen: ChosenColumns) -> Result<ChosenEntries<O, V>, OpError> {
        let counted = self.count(chosen)?;
        let mut entries = ChosenEntries::with_room(self.device(), self.rows(), &counted)?;
        match V::SIZE {
            2 => self.copy::<u16>(&counted, &mut entries)?,
            4 => self.copy::<u32>(&counted, &mut entries)?,
            16 => self.copy::<Complex<f64>>(&counted, &mut entries)?,
            _ => self.copy::<u64>(&counted, &mut entries)?,
        }
        Ok(entries)
    }

    /// Copies the columns of these entries like [`choose`](Self::choose), and the index of each among the rows' nonzeros, fewer than 2³²,
    /// in place of its value. Waits for the device.
    pub(super) fn choose_sources(self, chosen: ChosenColumns) -> Result<ChosenEntries<O, u32>, OpError> {
        let counted = self.count(chosen)?;
        let mut entries = ChosenEntries::with_room(self.device(), self.rows(), &counted)?;
        if self.rows() == 0 {
            return Ok(entries);
        }
        let launch = self.device().kernel().blocks(counted.tiles.count as usize)?;
        let kernel = CopyChosen::<u32, O> {
            pattern: self.pattern(),
            columns: self.columns.as_global(),
            values: no_input(),
            tile_rows: counted.tiles.rows.as_global(),
            chosen,
            before: counted.before.as_global(),
            chosen_offsets: entries.row_offsets.as_global_mut(),
            chosen_columns: entries.columns.as_global_mut(),
            chosen_values: no_output(),
            sources: entries.values.as_global_mut(),
            has_sources: 1,
        };
        // SAFETY: the tiles are those of the rows, of the kernel's length, and were counted with these columns, so that there is room
        // for all entries; buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(entries)
    }

    fn copy<W: Element>(
        self,
        counted: &Counted,
        entries: &mut ChosenEntries<O, V>,
    ) -> Result<(), DeviceError> {
        if self.rows() == 0 {
            return Ok(());
        }
        let launch = self.device().kernel().blocks(counted.tiles.count as usize)?;
        let kernel = CopyChosen::<W, O> {
            pattern: self.pattern(),
            columns: self.columns.as_global(),
            values: self.values.as_global_of(),
            tile_rows: counted.tiles.rows.as_global(),
            chosen: counted.chosen,
            before: counted.before.as_global(),
            chosen_offsets: entries.row_offsets.as_global_mut(),
            chosen_columns: entries.columns.as_global_mut(),
            chosen_values: entries.values.as_global_mut_of(),
            sources: no_output(),
            has_sources: 0,
        };
        // SAFETY: as above; there is a value per nonzero.
        unsafe { launch.launch(kernel) }
    }

    /// Counts the entries of each tile. Waits for the device.
    fn count(self, chosen: ChosenColumns) -> Result<Counted, OpError> {
        let device = self.device();
        let (tiles, launch) = PathTiles::of_view(device, self.pattern(), device.kernel::<CountChosen<O>>())?;
        // One more, so that the scan has the total.
        let mut counts = device.zeros(tiles.count as usize + 1)?;
        let kernel = CountChosen {
            pattern: self.pattern(),
            columns: self.columns.as_global(),
            tile_rows: tiles.rows.as_global(),
            chosen,
            counts: counts.as_global_mut(),
        };
        // SAFETY: the tiles are those of the rows, of the kernel's length, each of which has a count; columns are below the number that the
        // choice is of; buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        let before = scan::values(&counts, ScanOptions::exclusive(Operator::Sum))?;
        let nonzeros = countable::<O>(before.get(tiles.count as usize)?, "use u64 offsets")?;
        Ok(Counted { tiles, before, nonzeros, chosen })
    }

    /// The rows as a kernel argument, without columns.
    fn pattern(self) -> GlobalPattern<O> {
        GlobalPattern {
            row_offsets: self.row_offsets.as_global(),
            column_indices: no_aligned_input(),
            nonzeros: self.columns.len() as u64,
            rows: self.rows() as u32,
        }
    }

    fn rows(self) -> usize {
        self.row_offsets.len() - 1
    }

    fn device(&self) -> &Device {
        self.row_offsets.device()
    }
}

/// The entries of chosen columns, counted.
struct Counted {
    tiles: PathTiles,
    /// The number before each tile, and of all.
    before: DeviceVec<u64>,
    nonzeros: usize,
    chosen: ChosenColumns,
}

impl<O: Offset, T: bytemuck::Pod> ChosenEntries<O, T> {
    fn with_room(device: &Device, rows: usize, counted: &Counted) -> Result<Self, DeviceError> {
        // Without rows nothing is launched.
        let row_offsets = if rows == 0 { device.zeros(1)? } else { device.uninitialized(rows + 1)? };
        let (columns, values) =
            (device.uninitialized(counted.nonzeros)?, device.uninitialized(counted.nonzeros)?);
        Ok(Self { row_offsets, columns, values })
    }
}

/// Gathers the values at the given positions, fewer than 2³².
///
/// # Safety
///
/// The positions are below the number of values, and both are on one device with kernels.
pub(super) unsafe fn gather_values<V: Storage>(
    values: &DeviceSlice<V>,
    positions: &DeviceSlice<u32>,
) -> Result<DeviceVec<V>, DeviceError> {
    match V::SIZE {
        // SAFETY: guaranteed by the caller.
        2 => unsafe { gather_words::<u16, V>(values, positions) },
        // SAFETY: guaranteed by the caller.
        4 => unsafe { gather_words::<u32, V>(values, positions) },
        // SAFETY: guaranteed by the caller.
        16 => unsafe { gather_words::<Complex<f64>, V>(values, positions) },
        // SAFETY: guaranteed by the caller.
        _ => unsafe { gather_words::<u64, V>(values, positions) },
    }
}

/// Gathers values as words of their size.
///
/// # Safety
///
/// The same as for [`gather_values`].
unsafe fn gather_words<W: Element, V: Storage>(
    values: &DeviceSlice<V>,
    positions: &DeviceSlice<u32>,
) -> Result<DeviceVec<V>, DeviceError> {
    let device = values.device();
    let mut result = device.uninitialized(positions.len())?;
    let launch = device.kernel().threads(positions.len())?;
    let kernel = GatherValues::<W> {
        source: values.as_global_of(),
        positions: positions.as_global(),
        result: result.as_global_mut_of(),
        len: positions.len() as u32,
    };
    // SAFETY: guaranteed by the caller; there is an element for each position, and buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok(result)
}
